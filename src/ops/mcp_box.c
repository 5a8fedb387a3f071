/* Part of mcp_hub.c: a server in a sandbox is a command, whose streams carry its messages. */
#include <string.h>
#include <unistd.h>

#include "ops/mcp_hub_priv.h"
#include "ops/op.h"
#include "supervisor/core/call.h"
#include "mcp/conn.h"
#include "record/record_event.h"

/* --- a server in a box ------------------------------------------------------------------------ */

static void write_box(void *self)
{
	struct server *v = self;
	struct err err = ERR_INIT;
	v->writing = false;
	if (!v->out.len || v->dead)
		return;
	if (boxes_stdin(v->hub->super->boxes, v->box_action, v->out.data, v->out.len, false,
			&err) == 0) {
		buf_reset(&v->out);
		return;
	}
	loop_timer_set(v->timer, WRITE_AGAIN_MS, 0); /* it does not run yet */
}

static void to_box(void *self, const void *bytes, size_t len)
{
	struct server *v = self;
	struct super *s = v->hub->super;
	uint64_t seq = record_ev_proc_stdin(
		s->record, &(struct event){ .cause = v->box_action, .action = v->box_action },
		&(struct ev_proc_stdin){ .data = { bytes, len }, EV_SET(eof, false) });
	buf_append(&v->out, bytes, len);
	if (!v->writing)
		record_barrier(s->record, seq, write_box, v);
	v->writing = true;
}

static void box_output(void *self, enum record_stream stream, const void *bytes, size_t len)
{
	struct server *v = self;
	if (stream == STREAM_OUT && v->conn)
		mcp_conn_feed(v->conn, bytes, len);
}

static void box_done(void *self, const struct action_result *res)
{
	struct server *v = self;
	record_barrier_forget(v->hub->super->record, v);
	mcp_hub_die(v);
	v->over = true;
	if (v->call && res->end == END_DENIED) {
		struct call *c = v->call;
		v->call = NULL;
		call_outcome(c, res);
	}
	if (v->conn)
		mcp_conn_ended(v->conn,
			       res->why ? res->why : "its command in the sandbox has ended");
	if (v->closed)
		server_free(v);
}

void open_in_box(struct call *c, struct strv *argv)
{
	struct mcp_hub *h = hub_of(c->super);
	uint64_t box;
	const char *cwd;
	if (!call_box(c, &box) || !call_bytes(c, "cwd", &cwd))
		return;
	struct server *v = server_new(h, json_str(c->args, "name", "server"));
	struct action_spec spec = { .kind = ACT_EXEC,
				    .box = box,
				    .tool = "sg.mcp",
				    .parallel = true,
				    .may_write = true,
				    .agent = c->agent,
				    .cause = c->agent ? c->agent : c->super->start_seq,
				    .said = c->said };
	const struct action_client client = { .done = box_done, .output = box_output, .self = v };
	CLEANUP(json_release) json_t *args = json_object();
	json_put_flag(args, "spawn", true);
	json_put_flag(args, "stdin", true);
	spec.args = args;
	spec.argv = *argv;
	spec.cwd = cwd;
	op_env(json_object_get(c->args, "env"), &spec.env);
	v->box = true;
	v->call = c;
	v->timer = loop_timer_new(c->super->loop, write_box, v);
	v->id = v->box_action =
		gate_submit(c->super->gate, &spec, boxes_effector(c->super->boxes, box), &client);
	strv_release(&spec.env);
	const struct mcp_conn_spec how = { .write = to_box,
					   .open_us = json_int(c->args, "timeout_us", 0) };
	struct err err = ERR_INIT;
	if (mcp_conn_open(&v->conn, c->super->loop, &how, &mcp_hub_conn_ops, v, &err) < 0)
		mcp_hub_on_ready(v, &err);
}
