/* Boxes as scripts see them: open, close, freeze, run commands, read and write files. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "ops/op.h"
#include "ops/script_tree.h"
#include "supervisor/box/box_request.h"
#include "supervisor/box/super_box.h"
#include "supervisor/people/policy_files.h"
#include "base/paths.h"
#include "sandbox/batch.h"

/* --- open and close --- */

/* Directories of the host that the script alone has chosen, outside of its project: each is an
 * action of its own before the box is opened, so that a rule sees the path and a user may be
 * asked. */
struct chosen {
	struct call *call;
	struct strv path;
	size_t at;
	struct effector effector;
};

static void free_chosen(void *data)
{
	struct chosen *ch = data;
	policy_forget(ch->call->super, ch);
	strv_release(&ch->path);
	free(ch);
}

static void show_start(void *self, struct action *a)
{
	(void)self;
	action_ended(a, END_OK, json_object()); /* what it allows is done with the box */
}

static void show_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how;
}

static void box_open_now(void *self)
{
	struct err err = ERR_INIT;
	struct chosen *ch = self;
	struct call *c = ch->call;
	c->data = NULL;
	c->free_data = NULL;
	c->cancel = NULL;
	free_chosen(ch);
	if (super_box_open(c, &err) < 0)
		call_fail_err(c, &err);
}

static void cancel_rules_wait(struct call *c)
{
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

static void show_next(struct call *c);

static void shown_one(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	((struct chosen *)c->data)->at++;
	show_next(c);
}

static void show_next(struct call *c)
{
	struct chosen *ch = c->data;
	if (ch->at == ch->path.nr) {
		c->cancel = cancel_rules_wait;
		policy_when_read(c->super, box_open_now, ch);
		return;
	}
	struct action_spec spec = { .kind = ACT_PUT,
				    .tool = "sandbox",
				    .path = "/workspace",
				    .host_path = ch->path.item[ch->at],
				    .leaves_box = true,
				    .parallel = true };
	call_action(c, &spec, &ch->effector, shown_one);
}

static void choose_shown(const struct call *c, struct strv *out, const json_t *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(free_ptr)
	char *full = json_get_bytes(path, &b) ? realpath(buf_cstr(&b), NULL) : NULL;
	if (full && !script_tree_dir(c, full))
		strv_push(out, full);
}

/* The rules of its project hold from before it can be opened. */
static void choose_repo(const struct call *c, struct chosen *ch, const json_t *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (json_get_bytes(path, &b))
		policy_load_repo(c->super, buf_cstr(&b));
	choose_shown(c, &ch->path, path);
}

void op_box_open(struct call *c)
{
	struct err none = ERR_INIT; /* said when it is opened */
	CLEANUP(json_release) json_t *repos = json_array();
	struct chosen *ch = NEW(struct chosen);
	size_t i;
	json_t *one;
	ch->call = c;
	ch->effector =
		(struct effector){ .name = "sandbox", .start = show_start, .cancel = show_cancel };
	if (box_request_repos(c->args, repos, &none) == 0)
		json_array_foreach(repos, i, one) choose_repo(c, ch, json_object_get(one, "dir"));
	json_array_foreach(json_object_get(c->args, "roots"), i, one)
		choose_shown(c, &ch->path, one);
	c->data = ch;
	c->free_data = free_chosen;
	show_next(c);
}

void op_box_close(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	if (!json_flag(c->args, "asleep", false))
		super_box_over(c->super, id);
	bool waits = json_flag(c->args, "wait", false) && super_box_await_end(c, id);
	super_box_close(c->super, id);
	if (!waits)
		call_answer(c, NULL);
}

void op_box_restore(struct call *c)
{
	struct err err = ERR_INIT;
	uint64_t id;
	if (!call_box(c, &id))
		return;
	if (!boxes_lost(c->super->boxes, id))
		call_answer(c, NULL);
	else if (super_box_fork(c, id, record_head(c->super->record), &err) < 0)
		call_fail_err(c, &err);
}

/* A call that waits until its box stands still; the box answers also when the call has gone. */
struct freezer {
	struct call *c; /* NULL = gone */
};

static void forget_call(void *freezer)
{
	struct freezer *f = freezer;
	f->c = NULL;
}

static void op_box_on_frozen(void *self, const struct err *err)
{
	struct freezer *f = self;
	if (f->c && err)
		call_fail_err(f->c, err);
	else if (f->c)
		call_answer(f->c, NULL);
	free(f);
}

static void op_box_set_frozen(struct call *c, bool frozen)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	struct freezer *f = NEW(struct freezer);
	f->c = c;
	c->data = f;
	c->free_data = forget_call;
	boxes_freeze_then(c->super->boxes, id, frozen, c->agent ? c->agent : c->super->start_seq,
			  op_box_on_frozen, f);
}

void op_box_freeze(struct call *c)
{
	op_box_set_frozen(c, true);
}

void op_box_thaw(struct call *c)
{
	op_box_set_frozen(c, false);
}

/* --- commands --- */

bool op_command_spec(struct call *c, struct action_spec *spec, struct buf *in)
{
	uint64_t id;
	struct box *box = call_box(c, &id);
	if (!box)
		return false;
	const char *cmd, *cwd;
	if (!call_bytes(c, "cmd", &cmd) || !call_bytes(c, "cwd", &cwd))
		return false;
	CLEANUP(buf_release) struct buf batch = BUF_INIT;
	if (json_object_get(c->args, "batch") && !(box->driver->caps & CAP_SHELL)) {
		call_fail(c, "backend", NULL, NULL, id,
			  "batch: a sandbox of %s has no shell; use exec", box->driver->name);
		return false;
	}
	if (command_batch_text(json_object_get(c->args, "batch"), &batch)) {
		json_put_str(c->args, "cmd", buf_cstr(&batch)); /* lives as long as the call */
		cmd = json_str(c->args, "cmd", NULL);
	}
	if (cmd) {
		strv_push(&spec->argv, "sh");
		strv_push(&spec->argv, "-c");
		strv_push(&spec->argv, cmd);
		spec->cmdline = cmd;
	} else if (!json_get_argv(json_object_get(c->args, "argv"), &spec->argv) ||
		   !spec->argv.nr) {
		strv_release(&spec->argv);
		call_fail(c, "script", NULL, NULL, 0,
			  "exec needs a command: a string, or a list of words");
		return false;
	}
	for (size_t i = 0; i < spec->argv.nr; i++)
		if (strlen(spec->argv.item[i]) != spec->argv.len[i]) {
			strv_release(&spec->argv);
			call_fail(c, "script", NULL, NULL, 0,
				  "an argument can't contain a NUL byte");
			return false;
		}
	spec->kind = ACT_EXEC;
	spec->box = id;
	spec->tool = "exec";
	spec->cwd = cwd;
	spec->timeout_us = json_int(c->args, "timeout_us", 0);
	spec->may_write = true;
	spec->parallel = json_flag(c->args, "parallel", false);
	spec->args = c->args;
	op_env(json_object_get(c->args, "env"), &spec->env);
	if (json_get_bytes(json_object_get(c->args, "stdin"), in)) {
		spec->stdin_bytes = buf_cstr(in);
		spec->stdin_len = in->len;
	}
	return true;
}

/* 127 means that the command was not found in the box. If the host has it, the box was not
 * given it. */
static void explain_127(struct call *c, const struct action_result *res, json_t *v)
{
	if (json_int(res->body, "code", 0) != 127)
		return;
	CLEANUP(buf_release) struct buf hint = BUF_INIT;
	if (super_box_explain_missing(c->super, buf_cstr(&c->out[1].head), c->args, &hint))
		json_put_str(v, "hint", hint.data);
}

static void exec_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = call_res(c, res);
	explain_127(c, res, v);
	call_answer(c, v);
}

void op_box_exec(struct call *c)
{
	struct action_spec spec = { 0 };
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	if (!op_command_spec(c, &spec, &in))
		return;
	call_action(c, &spec, boxes_effector(c->super->boxes, spec.box), exec_done);
	strv_release(&spec.argv);
	strv_release(&spec.env);
}

/* --- files --- */

static void file_action(struct call *c, struct action_spec *spec,
			void (*done)(struct call *c, const struct action_result *res))
{
	uint64_t id;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (!call_box(c, &id))
		return;
	spec->box = id;
	spec->path =
		json_get_bytes(json_object_get(c->args, "path"), &path) ? buf_cstr(&path) : NULL;
	spec->args = c->args;
	call_action(c, spec, boxes_effector(c->super->boxes, id), done);
}

static void read_output(struct call *c, enum record_stream s, const void *bytes, size_t len)
{
	(void)s;
	buf_append(c->data, bytes, len);
}

static void free_buf(void *data)
{
	buf_release(data);
	free(data);
}

/* A script holds what it reads, so one answer is bounded; BOX_FILE_MAX is what a driver hands out
 * of a file. */
enum { READ_ANSWER_MAX = 16 << 20 };

static void op_box_read_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	struct buf *b = c->data;
	size_t off = (size_t)json_int(c->args, "off", 0),
	       len = (size_t)json_int(c->args, "len", (json_int_t)b->len);
	bool beyond = b->len >= BOX_FILE_MAX && len &&
		      (off >= b->len || (json_object_get(c->args, "len") && len > b->len - off));
	off = off > b->len ? b->len : off;
	len = len > b->len - off ? b->len - off : len;
	if (beyond || len > READ_ANSWER_MAX) {
		const char *advice =
			beyond ? "run a command in the sandbox to read the target"
			       : "read a part of it ({ from =, len = }), or run a command in the sandbox";
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(json_object_get(c->args, "path"), &path);
		call_fail(c, "limit", NULL, NULL, res->id, "'%s' is larger than %d MiB: %s",
			  buf_cstr(&path),
			  (beyond ? (int)BOX_FILE_MAX : (int)READ_ANSWER_MAX) >> 20, advice);
		return;
	}
	json_t *v = json_object();
	json_put_bytes(v, "data", buf_cstr(b) + off, len);
	json_put_int(v, "event", (int64_t)res->id);
	json_put_int(v, "bytes", (int64_t)b->len);
	call_answer(c, v);
}

void op_box_read(struct call *c)
{
	struct action_spec spec = { .kind = ACT_READ, .tool = "read" };
	c->data = NEW(struct buf);
	c->free_data = free_buf;
	c->on_output = read_output;
	file_action(c, &spec, op_box_read_done);
}

static void event_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	json_put_int(v, "count", 1);
	call_answer(c, v);
}

void op_box_write(struct call *c)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	struct action_spec spec = { .kind = ACT_WRITE, .tool = "write", .may_write = true };
	if (!json_get_bytes(json_object_get(c->args, "data"), &data)) {
		call_fail(c, "script", NULL, NULL, 0, "write needs the data");
		return;
	}
	spec.data = buf_cstr(&data);
	spec.data_len = data.len;
	file_action(c, &spec, event_done);
}

void op_box_edit(struct call *c)
{
	struct action_spec spec = { .kind = ACT_EDIT, .tool = "edit", .may_write = true };
	file_action(c, &spec, event_done);
}

/* The paths are lines of its output, but names may hold line ends: as long as all are in the end's
 * body, they are taken from there. */
static json_t *op_box_globbed(const struct buf *lines, const json_t *body)
{
	json_t *paths = json_object_get(body, "paths");
	if ((int64_t)json_array_size(paths) == json_int(body, "files", -1))
		return json_incref(paths);
	paths = json_array();
	for (size_t at = 0; at < lines->len;) {
		const char *eol = memchr(lines->data + at, '\n', lines->len - at);
		size_t len = eol ? (size_t)(eol - lines->data) - at : lines->len - at;
		json_array_append_new(paths, json_bytes(lines->data + at, len));
		at += len + 1;
	}
	return paths;
}

static void glob_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put(v, "paths", op_box_globbed(c->data, res->body));
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

void op_box_glob(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	CLEANUP(json_release) json_t *args = json_object();
	const char *pattern;
	if (!call_bytes(c, "pattern", &pattern))
		return;
	json_put_bytes(args, "glob", pattern ? pattern : "*", strlen(pattern ? pattern : "*"));
	struct action_spec spec = { .kind = ACT_READ, .tool = "glob", .box = id, .args = args };
	spec.path = "/workspace";
	c->data = NEW(struct buf);
	c->free_data = free_buf;
	c->on_output = read_output;
	call_action(c, &spec, boxes_effector(c->super->boxes, id), glob_done);
}
