/* Summaries for a user who takes over sessions: show --handover (the handoff summary of one
 * session) and ls --waiting (one line for each pending action, over all sessions). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ui/rows/handoff.h"

/* Everything that is recorded up to now. NULL with @err. Returns owned. */
static json_t *cmd_handoff_made(const char *path, struct err *err)
{
	struct source *s;
	if (source_open(&s, path, err) < 0)
		return NULL;
	json_t *h = NULL;
	if (source_sync(s, 0, 0) < 0)
		*err = s->why;
	else
		h = handoff_make(s, session_live(s->session), clock_wall_us());
	source_close(&s);
	return h;
}

int show_handover(struct cmd_ctx *ctx, struct session *s)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_t *h = cmd_handoff_made(session_path(s), &err);
	if (!h)
		return cmd_fail(ctx, &err);
	if (ctx->json) {
		cmd_json(ctx, h);
		return EXIT_DONE;
	}
	handoff_text(h, &text);
	json_decref(h);
	fwrite(buf_cstr(&text), 1, text.len, ctx->out);
	return EXIT_DONE;
}

static const char *cmd_handoff_text_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	return json_is_string(v) ? json_string_value(v) : "(bytes that are no text)";
}

/* "s-7k2m9q#405  0:41  fix-parser exec: git push origin fix/parser  (no-push)" */
static void print_waiting(struct cmd_ctx *ctx, const json_t *h, const json_t *w)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, age = BUF_INIT, what = BUF_INIT;
	const char *text = cmd_handoff_text_of(w, "what");
	size_t first = strcspn(text, "\n");
	clock_span(clock_wall_us() - json_int(w, "since_us", 0), &age);
	buf_printf(&line, "%s#%" PRId64, json_str(h, "session", ""), json_int(w, "event", 0));
	while (line.len < 14)
		buf_putc(&line, ' ');
	buf_printf(&line, " %7s  ", buf_cstr(&age));
	const char *agent = json_str(w, "agent", "");
	cmd_safe(&line, agent, strlen(agent), false);
	buf_printf(&line, " %s: ", json_str(w, "kind", ""));
	cmd_safe(&what, text, first, false);
	if (text[first])
		buf_puts(&what, " ..");
	buf_append(&line, what.data, what.len);
	const char *why = json_str(w, "why", "");
	buf_puts(&line, "  (");
	cmd_safe(&line, why, strlen(why), false);
	fprintf(ctx->out, "%s)\n", buf_cstr(&line));
}

struct waiting {
	json_t *h; /* of its session; owned */
	const json_t *w;
};
struct waitings {
	struct waiting *item;
	size_t nr, cap;
};

static void cmd_handoff_add_waiting(struct waitings *all, const json_t *h)
{
	const json_t *list = json_object_get(h, "waits");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_flag(json_array_get(list, i), "paused", false))
			continue;
		GROW(all->item, all->nr, all->cap);
		all->item[all->nr++] = (struct waiting){ json_incref((json_t *)(uintptr_t)h),
							 json_array_get(list, i) };
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	int64_t l = json_int(x->w, "since_us", 0), r = json_int(y->w, "since_us", 0);
	if (l == r)
		l = json_int(x->w, "event", 0), r = json_int(y->w, "event", 0);
	return (l > r) - (l < r);
}

static void put_waiting(struct cmd_ctx *ctx, const struct waiting *one)
{
	if (!ctx->json) {
		print_waiting(ctx, one->h, one->w);
		return;
	}
	json_t *o = json_object();
	json_put_str(o, "session", json_str(one->h, "session", ""));
	json_put_str(o, "name", json_str(one->h, "name", ""));
	json_object_update(o, (json_t *)(uintptr_t)one->w);
	cmd_json(ctx, o);
}

int ls_waiting(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct waitings all = { 0 };
	struct err err = ERR_INIT;
	if (session_files_list(&files, ctx->sessions, &err) < 0)
		return cmd_fail(ctx, &err);
	session_files_shared(&files);
	for (size_t i = 0; i < files.nr; i++) {
		struct session *s;
		struct err none = ERR_INIT;
		if (session_open(&s, files.item[i].path, &none) < 0)
			continue;
		bool live = session_live(s);
		session_close(&s);
		CLEANUP(json_release)
		json_t *h = live ? cmd_handoff_made(files.item[i].path, &none) : NULL;
		if (h)
			cmd_handoff_add_waiting(&all, h);
	}
	session_files_release(&files);
	if (all.nr)
		qsort(all.item, all.nr, sizeof(*all.item), longest_first);
	for (size_t i = 0; i < all.nr; i++) {
		put_waiting(ctx, &all.item[i]);
		json_decref(all.item[i].h);
	}
	if (!all.nr && !ctx->quiet && !ctx->json)
		fputs("sandglass: ls: no pending approvals\n", ctx->err);
	free(all.item);
	return EXIT_DONE;
}
