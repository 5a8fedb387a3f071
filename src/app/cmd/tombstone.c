#include "app/cmd/tombstone.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cmd/cmd_inner.h"
#include "app/exchange/export.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/share.h"
#include "record/read/session.h"

enum { LIST_MAX = 64 << 20 };

static void put_hex(json_t *o, const char *key, const uint8_t *bytes, size_t len)
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
		put_hex(o, "uuid", end.uuid, sizeof(end.uuid));
		put_hex(o, "chain", end.chain.b, sizeof(end.chain.b));
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
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, line.data, line.len, err) < 0 || fsync(fd) < 0)
		return err_sys(err, "cannot note in '%s' that %s is removed, so it stays", path, f->id);
	return 0;
}

static void print_one(struct cmd_ctx *ctx, const char *text, size_t len)
{
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
	buf_printf(&line, "  %" PRId64 " events  chain %.16s  by %s  %s%s%s\n", (int64_t)json_int(o, "events", 0), json_str(o, "chain", "unknown"),
		   json_str(o, "by", "?"), json_str(o, "name", ""), *json_str(o, "why", "") ? ": " : "", json_str(o, "why", ""));
	cmd_print_safe(ctx->out, buf_cstr(&line), line.len, true);
}

int tombstone_list(struct cmd_ctx *ctx, const char *dir, struct err *err)
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
		print_one(ctx, at, (size_t)(nl - at));
	}
	return 0;
}
