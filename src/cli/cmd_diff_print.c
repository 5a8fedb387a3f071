/* Part of cmd_diff.c: differences are printed, for the eyes, as a patch, or as JSON. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_diff_priv.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/state.h"

/* --- printing ---------------------------------------------------------------------------------
 */

static const char *git_says(const char *command, char out[256])
{
	FILE *f = popen(command, "re");
	out[0] = 0;
	if (!f)
		return out;
	if (!fgets(out, 256, f))
		out[0] = 0;
	pclose(f);
	out[strcspn(out, "\n")] = 0;
	return out;
}

/* Where the lines go: a pager if a user looks, as git would choose it. */
FILE *open_pager(struct cmd_ctx *ctx)
{
	char pager[256];
	const char *p = getenv("GIT_PAGER");
	if (!isatty(fileno(ctx->out)))
		return NULL;
	if (!p)
		p = git_says("git var GIT_PAGER 2>/dev/null", pager);
	if (!*p)
		p = getenv("PAGER");
	if (!p || !*p)
		p = "less";
	if (!strcmp(p, "cat"))
		return NULL;
	setenv("LESS", "FRX", 0);
	fflush(ctx->out);
	return popen(p, "we");
}

bool git_colors(const struct cmd_ctx *ctx)
{
	char answer[256];
	const char *when = cmd_opt(ctx, "color");
	if (when)
		return ctx->color;
	return ctx->color &&
	       strcmp(git_says("git config --get-colorbool color.diff true 2>/dev/null", answer),
		      "false") != 0;
}

static const char *color_of(const char *line, size_t len)
{
	if (len >= 2 && !memcmp(line, "@@", 2))
		return "36";
	if (len >= 4 && (!memcmp(line, "diff", 4) || !memcmp(line, "--- ", 4) ||
			 !memcmp(line, "+++ ", 4) || !memcmp(line, "inde", 4)))
		return "1";
	return len && line[0] == '+' ? "32" : len && line[0] == '-' ? "31" : NULL;
}

/* For a terminal: harmless, line by line, colored. */
/* The change whose header line is @line; NULL if @line is not a header. */
static const struct ws_change *change_of_header(const struct ws_diff *d, const char *line,
						size_t len)
{
	for (size_t i = 0; i < d->nr; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		buf_putc(&b, ' ');
		ws_quote_path(&b, "b/", d->item[i].path, d->item[i].len);
		if (len > b.len && !memcmp(line + len - b.len, b.data, b.len))
			return &d->item[i];
	}
	return NULL;
}

static void print_binary(FILE *to, const struct ws_change *c, const struct ws_store *st)
{
	CLEANUP(buf_release) struct buf now = BUF_INIT;
	struct err none = ERR_INIT;
	enum object_type type;
	if (c->now.kind == WS_NONE)
		fputs("binary file removed\n", to);
	else if (st->get(st->self, &c->now.oid, &type, &now, &none) < 0)
		fputs("binary file changed\n", to);
	else
		fprintf(to, "binary file changed, %zu bytes\n", now.len);
}

/* For a terminal: control characters as text; @sizes instead of the patches of binary files, NULL
 * prints those. */
static void print_for_eyes(FILE *to, const char *text, size_t len, bool color,
			   const struct ws_diff *sizes, const struct ws_store *st)
{
	const struct ws_change *at = NULL;
	bool inside = false;
	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len, whole = n + (nl != NULL);
		bool header = n > 11 && !memcmp(text, "diff --git ", 11);
		if (sizes && header) {
			at = change_of_header(sizes, text, n);
			inside = false;
		} else if (at && n == 16 && !memcmp(text, "GIT binary patch", n)) {
			inside = true;
			print_binary(to, at, st);
		}
		if (inside) {
			text += whole;
			len -= whole;
			continue;
		}
		const char *c = color ? color_of(text, n) : NULL;
		if (c)
			fprintf(to, "\033[%sm", c);
		cmd_print_safe(to, text, n, false);
		fputs(c ? "\033[m\n" : "\n", to);
		text += whole;
		len -= whole;
	}
}

static int cmd_diff_text_of(struct cmd_ctx *ctx, const struct ws_diff *d, const struct ws_store *st,
			    struct buf *out, struct err *err)
{
	if (cmd_has(ctx, "stat"))
		return ws_diff_stat(d, st, out, err);
	if (!cmd_has(ctx, "name-only"))
		return ws_diff_patch(d, st, out, err);
	for (size_t i = 0; i < d->nr; i++) {
		ws_quote_path(out, "", d->item[i].path, d->item[i].len);
		buf_putc(out, '\n');
	}
	return 0;
}

static int cmd_diff_print_json(struct cmd_ctx *ctx, const struct layer *l, const struct ws_diff *d,
			       const struct ws_store *st, struct err *err)
{
	json_t *o = json_object(),
	       *diff = ws_diff_json(d, st, !cmd_has(ctx, "stat") && !cmd_has(ctx, "name-only"),
				    err);
	if (!diff) {
		json_decref(o);
		return -1;
	}
	json_put_int(o, "box", (int64_t)l->box);
	json_put_str(o, "box_name", l->box_name);
	json_put_str(o, "repo", l->repo);
	json_object_update(o, diff);
	json_decref(diff);
	cmd_json(ctx, o);
	return 0;
}

int print_layer(struct printer *p, const struct layer *l, const struct ws_store *st,
		struct err *err)
{
	struct ws_view from = WS_VIEW_INIT, to = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	int rc = ws_view_load(&from, st, l->from, err);
	if (rc == 0)
		rc = ws_view_load(&to, st, l->to, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &from, &to, true, st, err);
	if (rc == 0)
		keep_wanted(p->ctx, &d);
	if (rc == 0 && p->ctx->json)
		rc = cmd_diff_print_json(p->ctx, l, &d, st, err);
	else if (rc == 0)
		rc = cmd_diff_text_of(p->ctx, &d, st, &text, err);
	if (rc == 0 && text.len && p->titles)
		fprintf(p->to, "# sandbox %s%s%s\n", l->box_name, *l->repo ? ", " : "", l->repo);
	if (rc == 0 && p->eyes)
		print_for_eyes(p->to, buf_cstr(&text), text.len, p->color,
			       cmd_has(p->ctx, "binary") ? NULL : &d, st);
	else if (rc == 0)
		fwrite(buf_cstr(&text), 1, text.len, p->to);
	ws_diff_release(&d);
	ws_view_release(&from);
	ws_view_release(&to);
	return rc;
}
