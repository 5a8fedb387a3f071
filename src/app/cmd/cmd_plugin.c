/* sandglass plugin: which plugins for boxes there are, and does one do what a box must do. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cmd/cmd_inner.h"
#include "app/cmd/follow.h"
#include "app/front/front_line.h"
#include "app/front/spawn.h"
#include "app/host/library.h"
#include "app/rent/rent.h"
#include "base/mem.h"
#include "record/read/session.h"
#include "wire/event.h"

#define SUITE "agents/conformance.lua"

static int list(struct cmd_ctx *ctx)
{
	for (size_t i = 0; rent_name(i); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("plugins/sandboxes/%s.lua", rent_name(i));
		size_t len;
		const char *text = library_file(path, &len), *dash = text ? strstr(text, "-- ") : NULL;
		CLEANUP(free_ptr) char *about = dash == text && dash ? xstrndup(dash + 3, strcspn(dash + 3, "\n")) : xstrdup("");
		if (ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "name", rent_name(i));
			json_put_str(o, "kind", "sandbox");
			json_put_str(o, "about", about);
			cmd_json(ctx, o);
		} else {
			fprintf(ctx->out, "%-10s sandbox  %s\n", rent_name(i), about);
		}
	}
	return 0;
}

/* The suite's lines, as they come. */
static int print_notes(struct cmd_ctx *ctx, struct session *s, struct err *err)
{
	struct feed *f;
	if (feed_new(&f, s, FEED_ALL, 0, err) < 0)
		return -1;
	struct follow *w = follow_new(s);
	struct event ev;
	bool ended = false;
	int rc = 0;
	do {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
			if (ev.kind == EV_NOTE && ev.body) {
				CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "note", err);
				const char *text = json_str(body, "text", "");
				cmd_print_safe(ctx->out, text, strlen(text), false);
				fputc('\n', ctx->out);
			}
			ended |= ev.kind == EV_SESSION_END;
			arena_reset(&a);
		}
		fflush(ctx->out);
	} while (rc == 0 && !ended && follow_wait(w, feed_seq(f)));
	follow_free(&w);
	feed_free(&f);
	return rc;
}

static int test(struct cmd_ctx *ctx)
{
	const char *name = cmd_word(ctx, 1);
	char full[PATH_MAX];
	size_t len, name_len = name ? strlen(name) : 0;
	struct err err = ERR_INIT;
	if (!name)
		return cmd_usage(ctx, "which? sandglass plugin test FILE.lua (or the name of a kind of box: plugin ls)");
	if (name_len > 4 && !strcmp(name + name_len - 4, ".lua")) {
		if (!realpath(name, full)) {
			err_sys(&err, "cannot read '%s'", name);
			return cmd_fail(ctx, &err);
		}
		name = full;
	}
	const char *text = library_file(SUITE, &len);
	CLEANUP(json_release) json_t *o = json_object();
	json_put_str(o, "name", "plugin-test");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_str(o, "backend", name);
	json_put_flag(o, "no_input", true);
	json_put(o, "args", json_pack("[s]", name));
	struct spawned sp = { 0 };
	struct session *s = NULL;
	int status = spawn_supervisor(o, &sp, &err);
	if (status)
		return cmd_fail_with(ctx, status, "%s", err.text);
	if (session_open(&s, sp.path, &err) < 0 || print_notes(ctx, s, &err) < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		CLEANUP(buf_release) struct buf why = BUF_INIT;
		status = front_status(s, &why);
		if (status > 1 && why.len) {
			fprintf(ctx->err, "sandglass: ");
			cmd_print_safe(ctx->err, why.data, why.len, false);
			fputc('\n', ctx->err);
		}
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	}
	session_close(&s);
	spawned_release(&sp);
	return status;
}

int cmd_plugin(struct cmd_ctx *ctx)
{
	const char *what = cmd_word(ctx, 0);
	if (!what || !strcmp(what, "ls"))
		return list(ctx);
	if (!strcmp(what, "test"))
		return test(ctx);
	return cmd_usage(ctx, "plugin ls, or plugin test FILE");
}
