/* put and get: single files between the host and a box. They leave the box, so no rule allows
 * them by default. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/box/box_ops.h"
#include "base/fd.h"
#include "sandbox/effect_file.h"
#include "sandbox/view/own_places.h"

struct copy {
	struct copy *next; /* of those that wait for the disk */
	struct super *s;
	struct action *action;
	char *host, *path; /* path: in the sandbox */
	json_t *result;	   /* get: what the sandbox has answered; owned */
	struct buf data;   /* put: what the host file holds */
	mode_t mode;
	size_t len;
	struct err err;
};

/* Set-uid and the like never cross, nor what lets others write: a plain file of its owner's. */
static mode_t op_copy_plain(mode_t mode)
{
	return (mode & 0755) | 0600;
}

static void op_copy_free(struct copy *cp)
{
	free(cp->host);
	free(cp->path);
	json_decref(cp->result);
	buf_release(&cp->data);
	free(cp);
}

static void copy_end(struct copy *cp, json_t *body, const struct err *err)
{
	struct action *a = cp->action;
	op_copy_free(cp);
	if (!a)
		json_decref(body);
	else if (err)
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

/* --- Files from the sandbox are on disk before their action ends. A worker decodes and writes them,
 * as a large one takes long. Many at once (a directory) share one sync of the file system. --- */

struct flush {
	struct loop *loop;
	struct copy *batch;
};
static struct copy *op_copy_unflushed, **unflushed_last = &op_copy_unflushed;
static struct flush *op_copy_flushing;

static int op_copy_flush_one(struct copy *cp, bool all)
{
	const char *slash = strrchr(cp->host, '/');
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(cp->host, (size_t)(slash - cp->host) + 1) : mem_strdup(".");
	CLEANUP(fd_close) int fd = open(cp->host, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP(fd_close) int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0 || (all ? syncfs(at) : fd < 0 ? -1 : fsync(fd)) < 0 || (!all && fsync(at) < 0))
		return err_sys(&cp->err, "can't sync '%s'", cp->host);
	return 0;
}

static void op_copy_write(struct copy *cp)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	if (file_whole(cp->result, cp->path, &data, &cp->err) < 0)
		return;
	cp->len = data.len;
	if (file_write_renamed(cp->host, buf_cstr(&data), data.len,
			       op_copy_plain((mode_t)json_int(cp->result, "mode", 0644)),
			       &cp->err) < 0 &&
	    !cp->err.code)
		err_set(&cp->err, ERR_IO, "can't write '%s'", cp->host);
	json_release(&cp->result); /* here, as freeing much takes long, too */
}

static void flush_work(void *self)
{
	struct flush *f = self;
	dev_t synced = 0;
	for (struct copy *cp = f->batch; cp; cp = cp->next)
		op_copy_write(cp);
	for (struct copy *cp = f->batch; cp; cp = cp->next) {
		struct stat st;
		if (cp->err.code)
			continue;
		bool many = f->batch->next != NULL, known = many && lstat(cp->host, &st) == 0;
		if (known && st.st_dev == synced)
			continue;
		if (op_copy_flush_one(cp, many) == 0 && known)
			synced = st.st_dev;
	}
}

static void flush_begin(struct loop *l);

static void flush_done(void *self)
{
	struct flush *f = self;
	struct loop *l = f->loop;
	op_copy_flushing = NULL;
	for (struct copy *cp = f->batch, *next; cp; cp = next) {
		struct super *s = cp->s;
		struct err err = cp->err;
		next = cp->next;
		copy_end(cp, err.code ? NULL : bytes_body(cp->len), err.code ? &err : NULL);
		if (s) {
			s->background--;
			super_maybe_finish(s);
		}
	}
	free(f);
	flush_begin(l);
}

static void flush_begin(struct loop *l)
{
	if (op_copy_flushing || !op_copy_unflushed)
		return;
	struct flush *f = NEW(struct flush);
	*f = (struct flush){ .loop = l, .batch = take(&op_copy_unflushed) };
	unflushed_last = &op_copy_unflushed;
	op_copy_flushing = f;
	loop_job_run(l, flush_work, flush_done, f);
}

void op_copy_leave(void)
{
	for (struct copy *cp = op_copy_flushing ? op_copy_flushing->batch : NULL; cp;
	     cp = cp->next) {
		cp->action = NULL;
		cp->s = NULL;
	}
	for (struct copy *cp; (cp = op_copy_unflushed);) {
		op_copy_unflushed = cp->next;
		op_copy_free(cp);
	}
	unflushed_last = &op_copy_unflushed;
}

static void get_done(void *self, json_t *result, const struct err *err)
{
	struct copy *cp = self;
	if (err) {
		copy_end(cp, NULL, err);
		return;
	}
	cp->result = json_incref(result);
	cp->s->background++; /* the session stays until the disk has it */
	*unflushed_last = cp;
	unflushed_last = &cp->next;
	flush_begin(cp->s->loop);
}

static void op_copy_read(void *self)
{
	struct copy *cp = self;
	if (file_read(cp->host, &cp->data, BOX_FILE_MAX, &cp->err) < 0 && !cp->err.code)
		err_set(&cp->err, ERR_IO, "can't read '%s'", cp->host);
}

static void op_copy_send(void *self)
{
	struct copy *cp = self;
	struct super *s = cp->s;
	struct box *b = boxes_get(s->boxes, action_spec(cp->action)->box);
	if (!b && !cp->err.code)
		err_set(&cp->err, ERR_CLOSED, "the sandbox has ended");
	if (cp->err.code) {
		struct err err = cp->err;
		copy_end(cp, NULL, &err);
	} else if (b->driver->write_taken) {
		b->driver->write_taken(b, cp->path, &cp->data, (int)cp->mode, put_done, cp);
	} else {
		b->driver->write(b, cp->path, buf_cstr(&cp->data), cp->data.len, (int)cp->mode,
				 put_done, cp);
	}
	s->background--;
	super_maybe_finish(s);
}

static void op_copy_start(void *self, struct action *a)
{
	struct super *s = self;
	const struct action_spec *spec = action_spec(a);
	struct box *b = boxes_get(s->boxes, spec->box);
	struct err err = ERR_INIT;
	struct stat st = { .st_mode = S_IFREG };
	int rc = b ? 0 : err_set(&err, ERR_CLOSED, "the sandbox has ended");
	if (rc == 0)
		rc = own_places_refuse(spec->host_path, &err);
	if (rc == 0 && spec->kind == ACT_PUT && stat(spec->host_path, &st) < 0)
		rc = err_sys(&err, "can't read '%s'", spec->host_path);
	if (rc == 0 && !S_ISREG(st.st_mode)) /* a pipe would be waited for */
		rc = err_set(&err, ERR_INVALID, "'%s' is not a file", spec->host_path);
	if (rc < 0) {
		action_fail(a, &err);
		return;
	}
	struct copy *cp = NEW(struct copy);
	cp->s = s;
	cp->action = a;
	cp->host = mem_strdup(spec->host_path);
	cp->path = mem_strdup(spec->path);
	cp->mode = op_copy_plain(st.st_mode);
	if (spec->kind == ACT_GET) {
		b->driver->read(b, spec->path, BOX_FILE_MAX, get_done, cp);
		return;
	}
	s->background++; /* the worker needs it */
	loop_job_run(s->loop, op_copy_read, op_copy_send, cp);
}

static void op_copy_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* one file: its end is near */
	(void)a;
	(void)how;
}

void op_copy_effector(struct super *s, struct effector *out)
{
	*out = (struct effector){
		.name = "copy", .start = op_copy_start, .cancel = op_copy_cancel, .self = s
	};
}

static void op_copy_answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

static void op_copy(struct call *c, enum action_kind kind, const char *tool)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	CLEANUP(buf_release) struct buf host = BUF_INIT, path = BUF_INIT;
	if (!json_get_bytes(json_object_get(c->args, "host"), &host) ||
	    !json_get_bytes(json_object_get(c->args, "path"), &path)) {
		call_fail(c, "script", NULL, NULL, 0,
			  "%s: expected a path on the host and a path in the sandbox", tool);
		return;
	}
	struct effector *eff = NEW(struct effector);
	op_copy_effector(c->super, eff);
	c->data = eff;
	c->free_data = free;
	struct action_spec spec = {
		.kind = kind,
		.tool = tool,
		.box = id,
		.path = buf_cstr(&path),
		.host_path = buf_cstr(&host),
		.leaves_box = true,
		.may_write = kind == ACT_PUT,
	};
	call_action(c, &spec, eff, op_copy_answer);
}

void op_box_put(struct call *c)
{
	op_copy(c, ACT_PUT, "put");
}

void op_box_get(struct call *c)
{
	op_copy(c, ACT_GET, "get");
}
