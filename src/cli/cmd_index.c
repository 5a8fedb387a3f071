/* sandglass index: what the end of a session left out of its search index is added. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catalog/catalog.h"
#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "record/deferred_index.h"

struct work {
	struct cmd_ctx *ctx;
	const char *id; /* borrowed */
	bool shows;
	size_t done, left, failed;
};

enum { END_SECONDS = 3 };
static volatile sig_atomic_t asked_to_end;

static void cmd_index_on_signal(int nr)
{
	(void)nr;
	asked_to_end = 1;
	/* ends a step that hangs: the committed part is intact at any time */
	alarm(END_SECONDS);
}

static void cmd_index_listen(void)
{
	struct sigaction sa = { .sa_handler = cmd_index_on_signal, .sa_flags = SA_RESTART };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static bool cmd_index_step(void *self, uint64_t at, uint64_t head)
{
	struct work *w = self;
	if (w->shows && head)
		fprintf(w->ctx->err, "\r%s: %3" PRIu64 " %% of %" PRIu64 " events\x1b[K", w->id,
			at * 100 / head, head);
	return !asked_to_end;
}

static void cmd_index_told(struct work *w, int rc, const struct err *err)
{
	if (w->shows)
		fprintf(w->ctx->err, "\r\x1b[K");
	if (rc < 0) {
		w->failed++;
		cmd_tell_error(w->ctx, w->id, err);
	} else if (w->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", w->id);
		json_put_flag(o, "complete", rc > 0);
		cmd_json(w->ctx, o);
	} else if (!w->ctx->quiet) {
		fprintf(w->ctx->out, "%s: search index %s\n", w->id,
			rc ? "complete" : "incomplete: interrupted, or the file is in use");
	}
	w->done += rc > 0;
	w->left += rc == 0;
}

static void cmd_index_one(struct work *w, const char *path, bool named)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) < 0) {
		w->id = path;
		if (named)
			cmd_index_told(w, -1, &err);
		return;
	}
	CLEANUP(free_ptr) char *id = mem_strdup(session_id(s));
	bool whole =
		session_short(s) || (session_indexed(s) >= session_head(s) && session_valued(s));
	int may = whole ? 0 : deferred_index_may(s, &err);
	session_close(&s); /* its journal changes */
	w->id = id;
	if (!whole && may == 0)
		cmd_index_told(w, deferred_index_build(path, cmd_index_step, w, &err), &err);
	else if (named)
		cmd_index_told(w, whole ? 1 : -1, &err);
}

static bool cmd_index_catalog_step(void *self, size_t done, size_t all, const char *file,
				   const char *left_out)
{
	struct work *w = self;
	if (left_out) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		cmd_safe(&line, file, strlen(file), false);
		buf_puts(&line, ": ");
		cmd_safe(&line, left_out, strlen(left_out), false);
		fprintf(w->ctx->err, "%ssandglass: catalog: left out %s\n",
			w->shows ? "\r\x1b[K" : "", buf_cstr(&line));
	}
	if (w->shows && all)
		fprintf(w->ctx->err, "\rcatalog: %3zu %% of %zu sessions, ^C ends it\x1b[K",
			done * 100 / all, all);
	return !asked_to_end;
}

/* Does nothing if fewer than @least finished sessions are missing. */
static int cmd_index_catalog(struct work *w, size_t least)
{
	struct err err = ERR_INIT;
	size_t added;
	int rc = catalog_build(w->ctx->sessions, least, cmd_index_catalog_step, w, &added, &err);
	if (w->shows)
		fprintf(w->ctx->err, "\r\x1b[K");
	if (rc < 0)
		return cmd_fail(w->ctx, &err);
	if (w->ctx->json)
		cmd_json(w->ctx, json_pack("{s:I}", "catalog_added", (json_int_t)added));
	else if (added && !w->ctx->quiet)
		fprintf(w->ctx->out, "catalog: %zu sessions added\n", added);
	return EXIT_DONE;
}

int cmd_index(struct cmd_ctx *ctx)
{
	struct work w = { .ctx = ctx, .shows = !ctx->quiet && isatty(fileno(ctx->err)) };
	struct session_files files = SESSION_FILES_INIT;
	struct err err = ERR_INIT;
	cmd_index_listen();
	if (cmd_has(ctx, "behind"))
		setpriority(PRIO_PROCESS, 0, 19);
	if (cmd_has(ctx, "catalog"))
		return cmd_index_catalog(&w, cmd_has(ctx, "behind") ? CATALOG_DUE : 1);
	for (size_t i = 0; cmd_word(ctx, i) && !asked_to_end; i++) {
		CLEANUP(free_ptr) char *path = NULL;
		if (session_find(ctx->sessions, cmd_word(ctx, i), &path, &err) < 0)
			return cmd_fail(ctx, &err);
		cmd_index_one(&w, path, true);
	}
	if (!cmd_word(ctx, 0) && session_files_list(&files, ctx->sessions, &err) < 0)
		return cmd_fail(ctx, &err);
	for (size_t i = 0; i < files.nr && !asked_to_end; i++)
		cmd_index_one(&w, files.item[i].path, false);
	if (!cmd_word(ctx, 0) && !w.done && !w.left && !w.failed && !ctx->quiet && !ctx->json)
		fprintf(ctx->out, "every index is intact\n");
	session_files_release(&files);
	if (!cmd_word(ctx, 0) && !asked_to_end)
		w.failed += cmd_index_catalog(&w, CATALOG_DUE) != EXIT_DONE;
	return w.failed || w.left || asked_to_end ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
