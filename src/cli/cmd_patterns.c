/* sandglass compare --patterns: runs agents/patterns.lua in a session of its own and prints what it
 * measured. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/follow.h"
#include "cli/front/front.h"
#include "sessions/spawn.h"
#include "luahost/library.h"
#include "base/fd.h"
#include "base/mem.h"

#define IMAGE_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@"

int patterns_canary(struct err *err)
{
	unsigned char r[8];
	if (getentropy(r, sizeof r) < 0)
		return err_sys(err, "can't read random bytes");
	CLEANUP(free_ptr)
	char *value = mem_printf("canary-key-%llu", (unsigned long long)get_u64le(r));
	return setenv("CANARY_KEY", value, 1) < 0 ? err_sys(err, "can't set CANARY_KEY") : 0;
}

struct seen {
	json_t *table; /* what the script printed last */
	bool ended, ok;
	char *why;
};

static void take_event(struct cmd_ctx *ctx, struct seen *to, const struct event *ev)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
	const char *text = json_str(body, "text", "");
	if (ev->kind == EV_NOTE && *text == '{') {
		json_release(&to->table);
		to->table = json_parse(text, strlen(text), "table", &none);
	} else if (ev->kind == EV_HOST_END && !json_flag(body, "ok", false)) {
		free(to->why);
		to->why = mem_strdup(json_str(body, "why", json_str(body, "text", "")));
	} else if (ev->kind == EV_NOTE && !strcmp(json_str(body, "level", ""), "progress") &&
		   !ctx->quiet && !ctx->json && isatty(2)) {
		fprintf(ctx->err, "\r\033[K%s", text);
	} else if (ev->kind == EV_SESSION_END) {
		to->ended = true;
		to->ok = json_flag(body, "ok", false);
	}
}

/* Until the session has ended. */
static int cmd_patterns_watch(struct cmd_ctx *ctx, const char *path, struct seen *to,
			      struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct feed *feed = NULL;
	struct event ev;
	if (session_open(&s, path, err) < 0)
		return -1;
	struct follow *f = follow_new(s);
	int rc = feed_new(&feed, s, FEED_ALL, 0, err);
	uint64_t at = 0;
	while (rc >= 0 && !to->ended) {
		while ((rc = feed_next(feed, &ev, &a, 0, err)) > 0) {
			at = ev.seq;
			take_event(ctx, to, &ev);
			arena_reset(&a);
		}
		if (rc == 0 && !to->ended && !follow_wait(f, at))
			break;
	}
	if (!ctx->quiet && !ctx->json && isatty(2))
		fprintf(ctx->err, "\r\033[K");
	feed_free(&feed);
	follow_free(&f);
	session_close(&s);
	return rc < 0 ? -1 : 0;
}

static void cmd_patterns_print(struct cmd_ctx *ctx, const json_t *table)
{
	const json_t *row;
	size_t i;
	fprintf(ctx->out, "%-31s %-25s %-25s %s\n", "measured here and now", "sandbox as tool",
		"agent inside", "how");
	json_array_foreach(json_object_get(table, "rows"), i, row)
	{
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		const char *how = json_str(row, "how", "");
		int64_t event = json_int(row, "event", 0);
		buf_printf(&line, "%-31s %-25s %-25s %s", json_str(row, "what", ""),
			   json_str(row, "tool", ""), json_str(row, "inside", ""), how);
		if (event)
			buf_printf(&line, "%s#%lld", *how ? "  " : "", (long long)event);
		buf_putc(&line, '\n');
		cmd_print_safe(ctx->out, line.data, line.len, true);
	}
}

/* Writes the files that an image of the agent is built from, as directory "image" in @dir. Its
 * prompt is a build argument, so that a changed prompt requires a build. */
static int put_dockerfile(const char *dir, const char *image, struct err *err)
{
	if (!isalnum((unsigned char)*image) || image[strspn(image, IMAGE_NAME)])
		return err_set(err, ERR_USAGE, "--image: expected an image name, got '%s'", image);
	CLEANUP(free_ptr)
	char *folder = mem_printf("%s/image", dir), *path = mem_printf("%s/Dockerfile", folder),
	     *text = mem_printf("FROM %s\nARG PROMPT\nRUN echo \"$PROMPT\" >/AGENT.md\n", image);
	if (mkdir(folder, 0755) < 0)
		return err_sys(err, "can't create '%s'", folder);
	return file_write_renamed(path, text, strlen(text), 0644, err);
}

static int cmd_patterns_run(struct cmd_ctx *ctx, const char *dir, struct seen *to, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct spawned sp = { 0 };
	size_t len;
	const char *text = library_file("agents/patterns.lua", &len);
	if (!text)
		return err_set(err, ERR_NOENT, "'agents/patterns.lua' not found in this build");
	const char *image = cmd_opt(ctx, "image");
	if (patterns_canary(err) < 0 || (image && put_dockerfile(dir, image, err) < 0))
		return -1;
	json_put_str(o, "name", "patterns");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", cmd_has(ctx, "keep") ? ctx->sessions : dir);
	json_put_flag(o, "no_input", true);
	if (image) {
		CLEANUP(free_ptr) char *context = mem_printf("%s/image", dir);
		json_put(o, "args", json_pack("[s, s]", "--context", context));
	}
	if (spawn_supervisor(o, &sp, err))
		return -1;
	int rc = cmd_patterns_watch(ctx, sp.path, to, err);
	if (rc == 0 && !ctx->quiet && cmd_has(ctx, "keep"))
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	spawned_release(&sp);
	return rc;
}

int cmd_patterns(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT, ignored = ERR_INIT;
	struct seen seen = { 0 };
	char dir[] = "/tmp/sandglass-patterns-XXXXXX";
	if (!mkdtemp(dir))
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "can't create a directory in '/tmp'");
	int rc = cmd_patterns_run(ctx, dir, &seen, &err), status = EXIT_UNSUCCESSFUL;
	(void)!dir_remove(dir, &ignored);
	if (rc < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		if (seen.table && ctx->json)
			cmd_json(ctx, json_incref(seen.table));
		else if (seen.table)
			cmd_patterns_print(ctx, seen.table);
		if (seen.ok)
			status = EXIT_DONE;
		else
			cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
				      "--patterns: measurement incomplete: %s",
				      seen.why && *seen.why ? seen.why : "its session ended early");
	}
	json_release(&seen.table);
	free(seen.why);
	return status;
}
