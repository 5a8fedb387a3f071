/* A user's own shell in a sandbox: an action of kind shell, with its input and terminal size.
 * Its output is read from the recording. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/core/parts.h"
#include "supervisor/people/operator_input.h"
#include "supervisor/people/super_cmd.h"
#include "supervisor/people/terminal_hub.h"
#include "sandbox/shell.h"
#include "record/record_event.h"

struct own_shell { /* one that has not ended, and who typed for it */
	struct own_shell *next;
	struct super *s;
	uint64_t action, client;
	bool end; /* the session is for it alone */
};

struct own_shells {
	struct own_shell *first;
};

static struct own_shells *own_shells_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct own_shells), NULL };
	return super_part(s, &part);
}

static void shell_done(void *self, const struct action_result *res)
{
	struct own_shell *o = self, **at = &own_shells_of(o->s)->first;
	terminal_ended(o->s, res->id);
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	free(o);
}

struct hang_up {
	struct super *s;
	uint64_t action;
};

static void hang_up_now(void *self)
{
	struct hang_up *h = self;
	struct err err = ERR_INIT;
	if (boxes_signal(h->s->boxes, h->action, SIGHUP, &err) < 0)
		err = ERR_INIT; /* it has ended meanwhile */
	free(h);
}

/* As the terminal of a machine does when its line is lost. */
static void hang_up(struct super *s, const struct action *act)
{
	struct hang_up *h = NEW(struct hang_up);
	*h = (struct hang_up){ s, action_id(act) };
	uint64_t seq = record_ev_proc_signal(s->record,
					     &(struct event){ .cause = h->action,
							      .box = action_spec(act)->box,
							      .action = h->action },
					     &(struct ev_proc_signal){ .signal = SIGHUP });
	record_barrier(s->record, seq, hang_up_now, h);
}

void shells_left(struct super *s, uint64_t client)
{
	for (struct own_shell *o = own_shells_of(s)->first, *next; o; o = next) {
		next = o->next;
		const struct action *act =
			o->client == client ? gate_action(s->gate, o->action) : NULL;
		if (act && o->end) {
			super_stop(s, false, "the client that opened its sandbox has disconnected");
			return;
		}
		if (act && action_state(act) == ACTION_RUNNING)
			hang_up(s, act);
		else if (act)
			gate_cancel(s->gate, o->action, "cancel",
				    "the client that opened this shell has disconnected");
	}
}

int cmd_open_shell(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	int64_t cols = 80, rows = 24;
	if (command_args_one_box(a, command_args_word(a, 0), &id, err) < 0 ||
	    command_opt_int(a->line, "cols", 1, 1000, &cols, err) < 0 ||
	    command_opt_int(a->line, "rows", 1, 1000, &rows, err) < 0)
		return -1;
	const struct box *b = boxes_get(a->s->boxes, id);
	if (b && box_has_terminals(b, err) < 0)
		return -1;
	CLEANUP(json_release) json_t *args = json_object();
	json_put_flag(args, "pty", true);
	json_put_int(args, "cols", cols);
	json_put_int(args, "rows", rows);
	json_put(args, "who", json_incref(a->rq->who));
	struct action_spec spec = { .kind = ACT_SHELL,
				    .cause = a->rq->cause,
				    .box = id,
				    .tool = "shell",
				    .args = args,
				    .may_write = true,
				    .parallel = true };
	struct own_shells *all = own_shells_of(a->s);
	struct own_shell *o = NEW(struct own_shell);
	const struct action_client client = { .done = shell_done, .self = o };
	strv_push(&spec.argv, b && !(b->driver->caps & CAP_SHELL) ? "python" : "bash");
	strv_push(&spec.argv, "-i");
	strv_push(&spec.env, "TERM=xterm-256color");
	*o = (struct own_shell){ .next = all->first,
				 .s = a->s,
				 .client = a->rq->client,
				 .end = command_has(a->line, "end") };
	o->action = gate_submit(a->s->gate, &spec, boxes_effector(a->s->boxes, id), &client);
	all->first = o;
	terminal_expect(a->s, o->action, "shell");
	json_put_int(out, "action", (int64_t)o->action);
	strv_release(&spec.argv);
	strv_release(&spec.env);
	return 0;
}

/* Input for a shell that does not read (its sandbox is frozen, or its program is busy) waits, up
 * to this limit. */
enum { TYPED_AHEAD = 64 << 10 };

struct typed {
	struct typed *next;
	struct super *s;
	uint64_t action, box, ticket;
	struct buf bytes;
};

static struct typed *on_their_way; /* recorded, not committed yet */

static size_t typed_ahead(struct super *s, uint64_t action)
{
	size_t n = boxes_stdin_queued(s->boxes, action);
	for (const struct typed *t = on_their_way; t; t = t->next)
		n += t->s == s && t->action == action ? t->bytes.len : 0;
	return n;
}

static void typed_now(void *self)
{
	struct typed *t = self, **at = &on_their_way;
	struct err err = ERR_INIT;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (boxes_stdin(t->s->boxes, t->action, buf_cstr(&t->bytes), t->bytes.len, false, &err) < 0)
		control_refuse(t->s->server, t->ticket, &err);
	else
		control_answer(t->s->server, t->ticket,
			       boxes_frozen(t->s->boxes, t->box) ? json_pack("{sb}", "frozen", 1)
								 : NULL);
	buf_release(&t->bytes);
	free(t);
}

/* A user's typed or piped input passes behind a barrier, like all input. */
int cmd_input(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	const char *b64 = command_opt(a->line, "base64");
	(void)out;
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return -1;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	bool eof = command_has(a->line, "eof");
	if ((!b64 && !eof) || (b64 && !base64_parse(b64, strlen(b64), &bytes)))
		return err_set(err, ERR_USAGE, "missing option: --base64 or --eof");
	struct action *act = gate_action(a->s->gate, id);
	if (!act || action_spec(act)->kind != ACT_SHELL)
		return operator_input(a, id, &bytes, eof, err) < 0 ? -1 : 1;
	if (typed_ahead(a->s, id) + bytes.len > TYPED_AHEAD)
		return err_set(
			err, ERR_FULL, "input dropped: the shell hasn't read the previous input%s",
			boxes_frozen(a->s->boxes, action_spec(act)->box) ? "; its sandbox is frozen"
									 : "");
	struct typed *t = NEW(struct typed);
	*t = (struct typed){ .next = on_their_way,
			     .s = a->s,
			     .action = id,
			     .box = action_spec(act)->box,
			     .ticket = a->rq->ticket,
			     .bytes = bytes };
	bytes = BUF_INIT;
	on_their_way = t;
	bool hidden = t->bytes.len && boxes_stdin_hidden(a->s->boxes, id);
	struct ev_proc_stdin body = { .hidden = hidden,
				      .has_data_bytes = hidden,
				      .data_bytes = (int64_t)t->bytes.len };
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (!hidden)
		body.held_bytes =
			record_typed_input(a->s->record, id, t->bytes.data, t->bytes.len, &clean);
	if (!hidden)
		body.data = (struct ev_text){ buf_cstr(&clean), clean.len };
	uint64_t seq = record_ev_proc_stdin(
		a->s->record,
		&(struct event){ .cause = id, .box = action_spec(act)->box, .action = id }, &body);
	record_barrier(a->s->record, seq, typed_now, t);
	return 1;
}
