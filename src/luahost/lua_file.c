#include "luahost/lua_file.h"

#include <poll.h>
#include <string.h>

#include "luahost/luahost_start.h"
#include "luahost/library.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "wire/frame.h"
#include "wire/host.h"

enum { FILE_MAX = 1 << 20, LIMIT_MS = 10000, HOST_MEM = 64 << 20 };

struct eval {
	const struct lua_file_run *run;
	struct host_process host;
	char *dir; /* where its own modules lie */
	int64_t end_us;
	json_t *data;
};

static int lua_file_send_json(struct eval *e, uint16_t type, uint64_t id, json_t *body,
			      struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_put_int(body, "t", clock_wall_us());
	json_dump_buf(body, &b);
	json_decref(body);
	return frame_send(e->host.sock, type, id, b.data, b.len, NULL, 0, err);
}

static int send_start(struct eval *e, const struct buf *text, struct err *err)
{
	json_t *body = json_object();
	json_put_str(body, "mode", e->run->mode);
	json_put_str(body, "script", e->run->path);
	json_put_bytes(body, "text", text->data, text->len);
	json_put(body, "args", e->run->args ? json_incref(e->run->args) : json_array());
	json_put_str(body, "seed", "0000000000000001"); /* nothing in such a file is random */
	json_put_int(body, "mem_bytes", HOST_MEM);
	json_put(body, "env", json_object());
	return lua_file_send_json(e, HOST_START, 0, body, err);
}

/* "a.b" is a/b.lua beside the file; a name can never leave that directory. */
static char *lua_file_beside(const struct eval *e, const char *name)
{
	if (!*name || name[0] == '.' || strchr(name, '/') || strstr(name, ".."))
		return NULL;
	char *file = mem_printf("%s/%s.lua", e->dir, name);
	for (char *p = file + strlen(e->dir) + 1; p < file + strlen(file) - 4; p++)
		if (*p == '.')
			*p = '/';
	return file;
}

static int answer_module(struct eval *e, uint64_t id, const char *name, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	size_t len;
	const char *ours = library_find(name, &len);
	CLEANUP(free_ptr) char *path = ours ? NULL : lua_file_beside(e, name);
	struct err none = ERR_INIT;
	json_t *body = json_object();
	bool there = ours || (path && file_read(path, &text, FILE_MAX, &none) == 0);
	json_t *o = json_object();
	if (there) {
		json_put_bytes(o, "text", ours ? ours : buf_cstr(&text), ours ? len : text.len);
		json_put_str(o, "path", ours ? name : path);
	} else {
		CLEANUP(free_ptr)
		char *msg = mem_printf("%s%s", path ? "no file " : "no module of that name",
				       path ? path : "");
		json_put_str(o, "code", "io");
		json_put_str(o, "msg", msg);
	}
	json_put(body, there ? "value" : "err", o);
	return lua_file_send_json(e, HOST_ANSWER, id, body, err);
}

static int lua_file_answer(struct eval *e, uint64_t id, const json_t *call, struct err *err)
{
	const char *op = json_str(call, "op", "");
	const json_t *args = json_object_get(call, "args");
	struct err why = ERR_INIT;
	json_t *value = NULL;
	if (!strcmp(op, "module"))
		return answer_module(e, id, json_str(args, "name", ""), err);
	json_t *body = json_object();
	int rc = e->run->call
			 ? e->run->call(e->run->self, op, args, &value, &why)
			 : err_set(&why, ERR_SCRIPT, "a file of this kind can't call '%s'", op);
	if (rc == 0) {
		json_put(body, "value", value);
	} else {
		json_t *o = json_object();
		json_put_str(o, "code", "script");
		json_put_str(o, "msg", why.text);
		json_put(body, "err", o);
	}
	return lua_file_send_json(e, HOST_ANSWER, id, body, err);
}

/* 1 = continue, 0 = the end. */
static int one_frame(struct eval *e, const struct frame *f, const json_t *body, struct err *err)
{
	if (f->type == HOST_RESULT) {
		json_decref(e->data);
		e->data = json_deep_copy(body);
		return 0;
	}
	if (f->type == HOST_CALL)
		return lua_file_answer(e, f->id, body, err) < 0 ? -1 : 1;
	if (f->type != HOST_END)
		return 1;
	if (json_flag(body, "ok", false) && e->data)
		return 0;
	const char *msg = json_str(json_object_get(body, "err"), "msg", NULL);
	const char *at = json_str(body, "at", NULL);
	if (msg && at && !strstr(msg, at)) /* "config.lua:2": the line that is wrong */
		return err_set(err, ERR_SCRIPT, "%s: %s", at, msg);
	return err_set(err, ERR_SCRIPT, "%s",
		       msg ? msg : json_str(body, "why", "can't run the file"));
}

static int limit_ms(const struct lua_file_run *run)
{
	return run->limit_ms ? run->limit_ms : LIMIT_MS;
}

static int lua_file_serve(struct eval *e, struct err *err)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	for (;;) {
		struct frame f;
		int64_t left = (e->end_us - clock_mono_us()) / 1000;
		struct pollfd p = { .fd = e->host.sock, .events = POLLIN };
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return err_set(err, ERR_SCRIPT, "ran for %d s without ending",
				       limit_ms(e->run) / 1000);
		if (frame_recv(e->host.sock, HOST_BODY_MAX, &f, &body, NULL, NULL, err) < 0)
			return err_wrap(err, "the Lua host ended");
		CLEANUP(json_release)
		json_t *j = json_parse(f.body, f.len, "a frame of the Lua host", err);
		if (!j)
			return -1;
		int rc = one_frame(e, &f, j, err);
		if (rc <= 0)
			return rc;
	}
}

int lua_file_run(const struct lua_file_run *run, json_t **data_out, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct eval e = { .run = run,
			  .host = HOST_PROCESS_NONE,
			  .end_us = clock_mono_us() + limit_ms(run) * 1000LL };
	if (run->text)
		buf_puts(&text, run->text);
	else if (file_read(run->path, &text, FILE_MAX, err) < 0)
		return -1;
	const char *slash = strrchr(run->path, '/');
	e.dir = slash ? mem_strndup(run->path, (size_t)(slash - run->path)) : mem_strdup(".");
	int rc = luahost_process_start(&e.host, err);
	if (rc == 0)
		rc = send_start(&e, &text, err);
	if (rc == 0)
		rc = lua_file_serve(&e, err);
	luahost_process_end(&e.host);
	free_ptr(&e.dir);
	if (rc < 0) {
		json_decref(e.data);
		return -1;
	}
	*data_out = e.data ? e.data : json_object();
	return 0;
}

int lua_file_read(const char *mode, const char *path, json_t **data_out, struct err *err)
{
	return lua_file_run(&(struct lua_file_run){ .mode = mode, .path = path }, data_out, err);
}
