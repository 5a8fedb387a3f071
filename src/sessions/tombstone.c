#include "sessions/tombstone.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "exchange/export.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/share.h"
#include "record/read/session.h"

enum { LIST_MAX = 64 << 20 };

static void tombstone_put_hex(json_t *o, const char *key, const uint8_t *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, bytes, len);
	json_put_str(o, key, buf_cstr(&hex));
}

static void put_proof(json_t *o, const char *path)
{
	struct session *s;
	struct session_end end;
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) < 0) {
		json_put_str(o, "unreadable", err.text);
		return;
	}
	if (session_end(s, &end, &err) == 0) {
		json_put_int(o, "events", (int64_t)end.seq);
		tombstone_put_hex(o, "uuid", end.uuid, sizeof(end.uuid));
		tombstone_put_hex(o, "chain", end.chain.b, sizeof(end.chain.b));
	} else {
		json_put_str(o, "unreadable", err.text);
	}
	session_close(&s);
}

int tombstone_write(const char *dir, const struct session_file *f, const char *why, struct err *err)
{
	const char *base = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
	CLEANUP(json_release) json_t *o = json_object();
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	CLEANUP(free_ptr) char *path = path_join(dir, "removed.jsonl"), *name = share_own_name();
	json_put_str(o, "session", f->id);
	json_put_str(o, "name", f->name);
	json_put_bytes(o, "file", base, strlen(base));
	json_put(o, "removed", json_time(clock_wall_us()));
	json_put_str(o, "by", name);
	json_put_int(o, "uid", getuid());
	json_put_str(o, "why", why ? why : "");
	json_put_int(o, "size_bytes", f->size);
	put_proof(o, f->path);
	json_dump_buf(o, &line);
	buf_putc(&line, '\n');
	CLEANUP(fd_close)
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, line.data, line.len, err) < 0 || fsync(fd) < 0)
		return err_sys(err, "can't write to '%s'; session %s not removed", path, f->id);
	return 0;
}

static void tombstone_print_one(void *self, const char *text, size_t len)
{
	struct cmd_ctx *ctx = self;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *o = json_parse(text, len, "removed.jsonl", &none);
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (!o)
		return;
	if (ctx->json) {
		cmd_json(ctx, json_incref(o));
		return;
	}
	buf_printf(&line, "%.19s  %s  ", json_str(o, "removed", "?"), json_str(o, "session", "?"));
	cmd_size((uint64_t)json_int(o, "size_bytes", 0), &line);
	buf_printf(&line, "  %" PRId64 " events  chain %.16s  by %s  %s%s%s\n",
		   (int64_t)json_int(o, "events", 0), json_str(o, "chain", "unknown"),
		   json_str(o, "by", "?"), json_str(o, "name", ""),
		   *json_str(o, "why", "") ? ": " : "", json_str(o, "why", ""));
	cmd_print_safe(ctx->out, buf_cstr(&line), line.len, true);
}

typedef void stone_fn(void *self, const char *text, size_t len);

static int tombstone_each(const char *dir, stone_fn *fn, void *self, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(dir, "removed.jsonl");
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	if (access(path, F_OK) < 0)
		return 0; /* nothing was ever removed */
	if (file_read(path, &all, LIST_MAX, err) < 0)
		return -1;
	for (const char *at = buf_cstr(&all), *end = at + all.len, *nl; at < end; at = nl + 1) {
		nl = memchr(at, '\n', (size_t)(end - at));
		nl = nl ? nl : end;
		fn(self, at, (size_t)(nl - at));
	}
	return 0;
}

int tombstone_list(struct cmd_ctx *ctx, const char *dir, struct err *err)
{
	return tombstone_each(dir, tombstone_print_one, ctx, err);
}

struct sought {
	const char *text;
	json_t *found; /* owned */
};

static void seek_one(void *self, const char *text, size_t len)
{
	struct sought *w = self;
	struct err none = ERR_INIT;
	json_t *o = json_parse(text, len, "removed.jsonl", &none);
	const char *id = json_str(o, "session", ""), *key = strncmp(id, "s-", 2) ? id : id + 2;
	size_t n = strlen(w->text);
	bool begins = n >= 2 && (!strncmp(id, w->text, n) || !strncmp(key, w->text, n));
	if (!begins && strcmp(json_str(o, "name", ""), w->text) != 0) {
		json_decref(o);
		return;
	}
	json_decref(w->found);
	w->found = o;
}

bool tombstone_find(const char *dir, const char *text, struct err *err)
{
	struct sought w = { .text = text };
	struct err none = ERR_INIT;
	if (tombstone_each(dir, seek_one, &w, &none) < 0 || !w.found)
		return false;
	const char *why = json_str(w.found, "why", "");
	err_set(err, ERR_NOENT,
		"session %s (%s) was removed on %.10s by %s%s%s: 'sandglass prune --removed' lists removed sessions",
		json_str(w.found, "session", "?"), json_str(w.found, "name", ""),
		json_str(w.found, "removed", "?"), json_str(w.found, "by", "?"), *why ? ", " : "",
		why);
	json_decref(w.found);
	return true;
}
