/* put and get: single files between this machine and a box. They leave the box, so no rule allows them by default. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/host/op.h"
#include "base/fd.h"
#include "sandbox/effect_file.h"

struct copy {
	struct action *action;
	char *host;
};

/* Set-uid and the like never cross, nor what lets others write: a plain file of its owner's. */
static mode_t plain(mode_t mode)
{
	return (mode & 0755) | 0600;
}

static void copy_end(struct copy *cp, json_t *body, const struct err *err)
{
	struct action *a = cp->action;
	free(cp->host);
	free(cp);
	if (err)
		action_fail(a, err);
	else
		action_ended(a, END_OK, body);
}

static json_t *bytes_body(size_t len)
{
	json_t *body = json_object();
	json_put_int(body, "bytes", (int64_t)len);
	return body;
}

static void put_done(void *self, json_t *result, const struct err *err)
{
	struct copy *cp = self;
	copy_end(cp, err ? NULL : bytes_body((size_t)json_int(result, "size", 0)), err);
}

static void get_done(void *self, json_t *result, const struct err *err)
{
	struct copy *cp = self;
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	struct err why = ERR_INIT;
	if (!err && file_whole(result, action_spec(cp->action)->path, &data, &why) < 0)
		err = &why;
	if (err) {
		copy_end(cp, NULL, err);
		return;
	}
	if (file_write_atomic(cp->host, buf_cstr(&data), data.len, plain((mode_t)json_int(result, "mode", 0644)), &why) < 0)
		copy_end(cp, NULL, &why);
	else
		copy_end(cp, bytes_body(data.len), NULL);
}

static void start(void *self, struct action *a)
{
	struct super *s = self;
	const struct action_spec *spec = action_spec(a);
	struct box *b = boxes_get(s->boxes, spec->box);
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	struct stat st = { .st_mode = S_IFREG };
	int rc = b ? 0 : err_set(&err, ERR_CLOSED, "the box is gone");
	if (rc == 0 && spec->kind == ACT_PUT && stat(spec->host_path, &st) < 0)
		rc = err_sys(&err, "cannot read '%s'", spec->host_path);
	if (rc == 0 && !S_ISREG(st.st_mode)) /* a pipe would be waited for */
		rc = err_set(&err, ERR_INVALID, "'%s' is not a file", spec->host_path);
	if (rc == 0 && spec->kind == ACT_PUT)
		rc = file_read(spec->host_path, &data, BOX_FILE_MAX, &err);
	if (rc < 0) {
		action_fail(a, &err);
		return;
	}
	struct copy *cp = NEW(struct copy);
	cp->action = a;
	cp->host = xstrdup(spec->host_path);
	if (spec->kind == ACT_PUT)
		b->driver->write(b, spec->path, buf_cstr(&data), data.len, (int)plain(st.st_mode), put_done, cp);
	else
		b->driver->read(b, spec->path, BOX_FILE_MAX, get_done, cp);
}

static void cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* one file: its end is near */
	(void)a;
	(void)how;
}

void op_copy_effector(struct super *s, struct effector *out)
{
	*out = (struct effector){ .name = "copy", .start = start, .cancel = cancel, .self = s };
}

static void answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

static void copy(struct call *c, enum action_kind kind, const char *tool)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	const char *host = json_str(c->args, "host", NULL), *path = json_str(c->args, "path", NULL);
	if (!host || !path) {
		call_fail(c, "script", NULL, NULL, 0, "%s needs a path on this machine and a path in the box", tool);
		return;
	}
	struct effector *eff = NEW(struct effector);
	op_copy_effector(c->super, eff);
	c->data = eff;
	c->free_data = free;
	struct action_spec spec = {
		.kind = kind, .tool = tool, .box = id, .path = path, .host_path = host, .leaves_box = true,
		.may_write = kind == ACT_PUT,
	};
	call_action(c, &spec, eff, answer);
}

void op_box_put(struct call *c)
{
	copy(c, ACT_PUT, "put");
}

void op_box_get(struct call *c)
{
	copy(c, ACT_GET, "get");
}
