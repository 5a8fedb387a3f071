/* The diff for users and programs: stat, patch, JSON. */
#include <inttypes.h>
#include <string.h>

#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/git.h"

static const char *const diff_text_what_name[] = {
	[PATCH_TEXT] = "text",	     [PATCH_NONE] = "none",	      [PATCH_BINARY] = "binary",
	[PATCH_TOO_BIG] = "too big", [PATCH_HASH_ONLY] = "hash only",
};

void ws_quote_path(struct buf *out, const char *prefix, const char *path, size_t len)
{
	bool plain = true;
	for (size_t i = 0; i < len && plain; i++) {
		unsigned char c = (unsigned char)path[i];
		plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
	}
	if (plain) {
		buf_puts(out, prefix);
		buf_append(out, path, len);
		return;
	}
	buf_putc(out, '"');
	buf_puts(out, prefix);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)path[i];
		static const char from[] = "\a\b\t\n\v\f\r\"\\", to[] = "abtnvfr\"\\";
		const char *hit = c ? strchr(from, c) : NULL;
		if (hit)
			buf_printf(out, "\\%c", to[hit - from]);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(out, "\\%03o", c);
		else
			buf_putc(out, (char)c);
	}
	buf_putc(out, '"');
}

int ws_diff_stat(const struct ws_diff *d, const struct ws_store *st, struct buf *out,
		 struct err *err)
{
	size_t added = 0, removed = 0;
	for (size_t i = 0; i < d->nr; i++) {
		const struct ws_change *c = &d->item[i];
		struct ws_patch p;
		if (ws_patch_make(&p, st, c, 0, err) < 0)
			return -1;
		buf_printf(out, "%c  ", c->op);
		if (c->from) {
			ws_quote_path(out, "", c->from, c->from_len);
			buf_puts(out, " -> ");
		}
		ws_quote_path(out, "", c->path, c->len);
		if (c->now.kind == WS_DIR || (c->now.kind == WS_NONE && c->was.kind == WS_DIR))
			buf_putc(out, '/');
		if (p.what == PATCH_TEXT || p.what == PATCH_TOO_BIG)
			buf_printf(out, "  +%zu -%zu", p.added, p.removed);
		if (p.what != PATCH_TEXT && p.what != PATCH_NONE)
			buf_printf(out, "  %s", diff_text_what_name[p.what]);
		if (c->op == 'm' || (c->was.kind == c->now.kind && c->was.mode != c->now.mode))
			buf_printf(out, "  mode %o -> %o", c->was.mode, c->now.mode);
		if (c->now.flags & WS_TORN)
			buf_puts(out, "  written while it was read");
		buf_putc(out, '\n');
		added += p.added;
		removed += p.removed;
		ws_patch_release(&p);
	}
	buf_printf(out, "%zu file%s  +%zu -%zu\n", d->nr, d->nr == 1 ? "" : "s", added, removed);
	return 0;
}

/* --- patch --- */

static void put_lines(struct buf *out, char op, const struct patch_line *l)
{
	buf_putc(out, op);
	buf_append(out, l->text, l->len);
	if (l->no_eol)
		buf_puts(out, "\n\\ No newline at end of file\n");
}

static void put_range(struct buf *out, char sign, unsigned start, unsigned lines)
{
	buf_printf(out, "%c%u", sign, start);
	if (lines != 1)
		buf_printf(out, ",%u", lines);
}

static void put_hunks(struct buf *out, const struct ws_patch *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct patch_hunk *h = &p->hunk[i];
		buf_puts(out, "@@ ");
		put_range(out, '-', h->old_start, h->old_lines);
		buf_putc(out, ' ');
		put_range(out, '+', h->new_start, h->new_lines);
		buf_puts(out, " @@");
		if (h->section_len) {
			buf_putc(out, ' ');
			buf_append(out, h->section, h->section_len);
		}
		buf_putc(out, '\n');
		for (size_t k = 0; k < h->nr; k++)
			put_lines(out, h->line[k].op, &h->line[k]);
	}
}

/* One side as a whole, if it is too big for line by line. */
static void put_whole(struct buf *out, char op, const struct buf *b)
{
	const char *s = buf_cstr(b), *end = s + b->len;
	while (s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		struct patch_line l = { .text = s,
					.len = (size_t)((nl ? nl + 1 : end) - s),
					.no_eol = !nl };
		put_lines(out, op, &l);
		s += l.len;
	}
}

static int put_binary(struct buf *out, const struct ws_patch *p, struct err *err)
{
	git_diff_options o;
	git_patch *g = NULL;
	git_buf text = { 0 };
	git_diff_options_init(&o, GIT_DIFF_OPTIONS_VERSION);
	o.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_FORCE_BINARY;
	ws_git_ready();
	int rc = git_patch_from_buffers(&g, buf_cstr(&p->old), p->old.len, "a", buf_cstr(&p->new),
					p->new.len, "a", &o);
	if (rc == 0)
		rc = git_patch_to_buf(&text, g);
	const char *at = rc == 0 ? memmem(text.ptr, text.size, "GIT binary patch\n", 17) : NULL;
	if (at)
		buf_append(out, at, text.size - (size_t)(at - text.ptr));
	git_buf_dispose(&text);
	git_patch_free(g);
	return at ? 0 : ws_git_err(err, "binary diff");
}

/* The two header lines and what changed besides the lines; @c's kinds are those of one side of
 * git. */
static void diff_text_put_header(struct buf *out, const struct ws_change *c,
				 const struct ws_patch *p)
{
	char a[41], b[41];
	const char *from = c->from ? c->from : c->path;
	size_t from_len = c->from ? c->from_len : c->len;
	unsigned old_mode = ws_git_mode(&c->was), new_mode = ws_git_mode(&c->now);
	object_hex(&c->was.oid, a);
	object_hex(&c->now.oid, b);
	buf_puts(out, "diff --git ");
	ws_quote_path(out, "a/", from, from_len);
	buf_putc(out, ' ');
	ws_quote_path(out, "b/", c->path, c->len);
	buf_putc(out, '\n');
	if (c->was.kind == WS_NONE)
		buf_printf(out, "new file mode %06o\n", new_mode);
	else if (c->now.kind == WS_NONE)
		buf_printf(out, "deleted file mode %06o\n", old_mode);
	else if (old_mode != new_mode)
		buf_printf(out, "old mode %06o\nnew mode %06o\n", old_mode, new_mode);
	if (c->from) {
		buf_puts(out, "rename from ");
		ws_quote_path(out, "", from, from_len);
		buf_puts(out, "\nrename to ");
		ws_quote_path(out, "", c->path, c->len);
		buf_putc(out, '\n');
	}
	if (p->what == PATCH_NONE)
		return;
	buf_printf(out, "index %s..%s", a, b);
	if (old_mode && old_mode == new_mode)
		buf_printf(out, " %06o", old_mode);
	buf_putc(out, '\n');
}

static int put_patch(struct buf *out, const struct ws_change *c, const struct ws_patch *p,
		     struct err *err)
{
	diff_text_put_header(out, c, p);
	if (p->what == PATCH_BINARY)
		return put_binary(out, p, err);
	if (p->what != PATCH_TEXT && p->what != PATCH_TOO_BIG)
		return 0;
	const char *from = c->from ? c->from : c->path;
	size_t from_len = c->from ? c->from_len : c->len;
	buf_puts(out, "--- ");
	if (c->was.kind == WS_NONE)
		buf_puts(out, "/dev/null");
	else
		ws_quote_path(out, "a/", from, from_len);
	buf_puts(out,
		 memchr(from, ' ', from_len) && c->was.kind != WS_NONE ? "\t\n+++ " : "\n+++ ");
	if (c->now.kind == WS_NONE)
		buf_puts(out, "/dev/null");
	else
		ws_quote_path(out, "b/", c->path, c->len);
	buf_puts(out, memchr(c->path, ' ', c->len) && c->now.kind != WS_NONE ? "\t\n" : "\n");
	if (p->what == PATCH_TEXT) {
		put_hunks(out, p);
	} else {
		buf_printf(out, "@@ -%u,%zu +%u,%zu @@\n", p->removed ? 1u : 0u, p->removed,
			   p->added ? 1u : 0u, p->added);
		put_whole(out, '-', &p->old);
		put_whole(out, '+', &p->new);
	}
	return 0;
}

/* One change as what git can say: another kind is a removal and an addition. */
static int put_change(struct buf *head, struct buf *out, const struct ws_change *c,
		      const struct ws_store *st, struct err *err)
{
	struct ws_change part[2] = { *c, *c };
	size_t nr = 1;
	if (c->op == 'T') {
		nr = 2;
		part[0].now = part[1].was = (struct ws_state){ 0 };
		part[0].op = 'D';
		part[1].op = 'A';
	}
	for (size_t i = 0; i < nr; i++) {
		const struct ws_change *x = &part[i];
		const struct ws_state *s = x->now.kind ? &x->now : &x->was;
		if (x->was.kind == WS_DIR && x->now.kind == WS_DIR && x->op == 'm')
			continue; /* git has no modes of directories */
		struct ws_patch p;
		if (ws_patch_make(&p, st, x, 3, err) < 0)
			return -1;
		bool said = ws_has_content(s) && p.what != PATCH_HASH_ONLY;
		bool mute = s->kind == WS_DIR ||
			    (x->op == 'm' && ws_git_mode(&x->was) == ws_git_mode(&x->now));
		int rc = 0;
		if (said && !mute) {
			rc = put_patch(out, x, &p, err);
		} else if (!mute) {
			buf_printf(head, "# not in this patch: ");
			ws_quote_path(head, "", x->path, x->len);
			buf_printf(head, " (%s)\n",
				   ws_has_content(s) ? diff_text_what_name[p.what]
						     : ws_kind_name((enum ws_kind)s->kind));
		}
		ws_patch_release(&p);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int ws_diff_patch(const struct ws_diff *d, const struct ws_store *st, struct buf *out,
		  struct err *err)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	for (size_t i = 0; i < d->nr; i++)
		if (put_change(&head, &body, &d->item[i], st, err) < 0)
			return -1;
	buf_append(out, buf_cstr(&head), head.len);
	buf_append(out, buf_cstr(&body), body.len);
	return 0;
}

/* --- JSON --- */

static json_t *hunks_json(const struct ws_patch *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->nr; i++) {
		const struct patch_hunk *h = &p->hunk[i];
		json_t *o = json_object(), *lines = json_array();
		json_put_int(o, "old_start", h->old_start);
		json_put_int(o, "old_lines", h->old_lines);
		json_put_int(o, "new_start", h->new_start);
		json_put_int(o, "new_lines", h->new_lines);
		json_put_bytes(o, "section", h->section, h->section_len);
		for (size_t k = 0; k < h->nr; k++) {
			json_t *l = json_object();
			char op[2] = { h->line[k].op, 0 };
			json_put_str(l, "op", op);
			json_put_bytes(l, "text", h->line[k].text, h->line[k].len);
			if (h->line[k].no_eol)
				json_put_flag(l, "no_eol", true);
			json_array_append_new(lines, l);
		}
		json_put(o, "lines", lines);
		json_array_append_new(list, o);
	}
	return list;
}

static void put_side(json_t *o, const char *mode_key, const char *oid_key, const struct ws_state *s)
{
	char mode[16], hex[41];
	if (s->kind == WS_NONE)
		return;
	snprintf(mode, sizeof(mode), "%04o", s->mode);
	json_put_str(o, mode_key, mode);
	object_hex(&s->oid, hex);
	if (!object_is_null(&s->oid))
		json_put_str(o, oid_key, hex);
}

json_t *ws_diff_json(const struct ws_diff *d, const struct ws_store *st, bool hunks,
		     struct err *err)
{
	json_t *files = json_array();
	size_t added = 0, removed = 0;
	for (size_t i = 0; i < d->nr; i++) {
		const struct ws_change *c = &d->item[i];
		struct ws_patch p;
		if (ws_patch_make(&p, st, c, 3, err) < 0) {
			json_decref(files);
			return NULL;
		}
		json_t *o = json_object();
		char op[2] = { c->op, 0 };
		json_put_str(o, "op", op);
		json_put_bytes(o, "path", c->path, c->len);
		if (c->from)
			json_put_bytes(o, "from", c->from, c->from_len);
		json_put_str(o, "kind",
			     ws_kind_name((enum ws_kind)(c->now.kind ? c->now.kind : c->was.kind)));
		put_side(o, "mode", "oid", &c->now);
		put_side(o, "was_mode", "was_oid", &c->was);
		json_put_str(o, "what", diff_text_what_name[p.what]);
		json_put_int(o, "added", (int64_t)p.added);
		json_put_int(o, "removed", (int64_t)p.removed);
		if (hunks && p.what == PATCH_TEXT)
			json_put(o, "hunks", hunks_json(&p));
		json_array_append_new(files, o);
		added += p.added;
		removed += p.removed;
		ws_patch_release(&p);
	}
	json_t *out = json_object();
	json_put(out, "files", files);
	json_put_int(out, "added", (int64_t)added);
	json_put_int(out, "removed", (int64_t)removed);
	return out;
}
