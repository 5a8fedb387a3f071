/* What a person needs who comes to sessions that others have begun: show --handover (one page on one session) and ls
 * --waiting (one line for each thing that waits, over all of them). */
#include <inttypes.h>
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/front/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ui/model/handover.h"

/* Everything that is recorded up to now. NULL with @err. Returns owned. */
static json_t *made(const char *path, struct err *err)
{
	struct source *s;
	if (source_open(&s, path, err) < 0)
		return NULL;
	json_t *h = NULL;
	if (source_sync(s, 0, 0) < 0)
		*err = s->why;
	else
		h = handover_make(s, session_live(s->session), clock_wall_us());
	source_close(&s);
	return h;
}

int show_handover(struct cmd_ctx *ctx, struct session *s)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_t *h = made(session_path(s), &err);
	if (!h)
		return cmd_fail(ctx, &err);
	if (ctx->json) {
		cmd_json(ctx, h);
		return EXIT_DONE;
	}
	handover_text(h, &text);
	json_decref(h);
	fwrite(buf_cstr(&text), 1, text.len, ctx->out);
	return EXIT_DONE;
}

static const char *text_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	return json_is_string(v) ? json_string_value(v) : "(bytes that are no text)";
}

/* "s-7k2m9q#405  0:41  fix-parser exec: git push origin fix/parser  (no-push)" */
static void print_waiting(struct cmd_ctx *ctx, const json_t *h, const json_t *w)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, age = BUF_INIT, what = BUF_INIT;
	const char *text = text_of(w, "what");
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

static size_t list_one(struct cmd_ctx *ctx, const json_t *h)
{
	const json_t *list = json_object_get(h, "waits");
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *w = json_array_get(list, i);
		if (!ctx->json) {
			print_waiting(ctx, h, w);
			continue;
		}
		json_t *o = json_object();
		json_put_str(o, "session", json_str(h, "session", ""));
		json_put_str(o, "name", json_str(h, "name", ""));
		json_object_update(o, w);
		cmd_json(ctx, o);
	}
	return json_array_size(list);
}

int ls_waiting(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct err err = ERR_INIT;
	size_t nr = 0;
	if (session_files_list(&files, ctx->sessions, &err) < 0)
		return cmd_fail(ctx, &err);
	for (size_t i = files.nr; i > 0; i--) { /* oldest first: what has waited longest is on top */
		struct session *s;
		struct err none = ERR_INIT;
		if (session_open(&s, files.item[i - 1].path, &none) < 0)
			continue;
		bool live = session_live(s);
		session_close(&s);
		json_t *h = live ? made(files.item[i - 1].path, &none) : NULL;
		if (h)
			nr += list_one(ctx, h);
		json_decref(h);
	}
	session_files_release(&files);
	if (!nr && !ctx->quiet && !ctx->json)
		fputs("sandglass: nothing waits for a person\n", ctx->err);
	return EXIT_DONE;
}
