/* Data for a reviewer before a merge: flags, and contents made of chosen hunks. */
#include <stdlib.h>
#include <string.h>

#include "base/watched.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/merge.h"

static bool review_left_out(const unsigned *left, size_t nr, unsigned hunk)
{
	for (size_t i = 0; i < nr; i++)
		if (left[i] == hunk)
			return true;
	return false;
}

/* Bytes of lines @from to @to (1-based, @to not included), beginning the search at *off which
 * stands at line *at. */
static void copy_lines(const struct buf *b, size_t *off, unsigned *at, unsigned to, struct buf *out)
{
	const char *p = buf_cstr(b);
	size_t from = *off;
	while (*at < to && *off < b->len) {
		const char *nl = memchr(p + *off, '\n', b->len - *off);
		*off = nl ? (size_t)(nl - p) + 1 : b->len;
		++*at;
	}
	buf_append(out, p + from, *off - from);
}

void merge_take_hunks(const struct ws_patch *p, const unsigned *left, size_t nr_left,
		      struct buf *out)
{
	size_t off = 0;
	unsigned at = 1;
	buf_reset(out);
	for (size_t i = 0; i < p->nr; i++) {
		const struct patch_hunk *h = &p->hunk[i];
		/* a hunk without old lines stands behind the line that it names */
		unsigned first = h->old_lines ? h->old_start : h->old_start + 1;
		bool take = !review_left_out(left, nr_left, (unsigned)i + 1);
		copy_lines(&p->old, &off, &at, first, out);
		struct buf skipped = BUF_INIT;
		copy_lines(&p->old, &off, &at, first + h->old_lines, take ? &skipped : out);
		buf_release(&skipped);
		for (size_t k = 0; take && k < h->nr; k++)
			if (h->line[k].op != '-')
				buf_append(out, h->line[k].text, h->line[k].len);
	}
	copy_lines(&p->old, &off, &at, UINT32_MAX, out);
}

static size_t skip_lines(const struct buf *b, size_t off, unsigned nr)
{
	for (; nr && off < b->len; nr--) {
		const char *nl = memchr(b->data + off, '\n', b->len - off);
		off = nl ? (size_t)(nl - b->data) + 1 : b->len;
	}
	return nr ? SIZE_MAX : off;
}

static bool open_end(const struct buf *b)
{
	return b->len && b->data[b->len - 1] != '\n';
}

bool merge_take_ranges(const struct buf *old, const struct buf *new,
		       const struct merge_range *range, size_t nr, struct buf *out)
{
	size_t at = 0;
	buf_reset(out);
	for (size_t i = 0; i < nr; i++) {
		const struct merge_range *r = &range[i];
		size_t from = skip_lines(old, 0, r->old_skip),
		       mine = skip_lines(new, 0, r->new_skip);
		size_t to = from == SIZE_MAX ? from : skip_lines(old, from, r->old_lines);
		size_t end = mine == SIZE_MAX ? mine : skip_lines(new, mine, r->new_lines);
		if (to == SIZE_MAX || end == SIZE_MAX || from < at)
			return false;
		buf_append(out, buf_cstr(old) + at, from - at);
		const char *lines = r->text ? r->text : buf_cstr(new) + mine;
		size_t len = r->text ? r->text_len : end - mine;
		if (open_end(out) && len)
			return false;
		buf_append(out, lines, len);
		at = to;
	}
	if (open_end(out) && at < old->len)
		return false;
	buf_append(out, buf_cstr(old) + at, old->len - at);
	return true;
}

/* --- flags --- */

size_t merge_flags(const struct ws_change *c, const struct ws_store *st, const char **out)
{
	size_t nr = 0;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	enum object_type type;
	struct err err = ERR_INIT;
	const char *what = watched_path(c->path, c->len);
	if (what)
		out[nr++] = what;
	if (c->now.kind == WS_FILE && (c->now.mode & 0111) &&
	    !(c->was.kind == WS_FILE && (c->was.mode & 0111)))
		out[nr++] = "executable";
	if (c->now.kind == WS_FILE && (c->now.mode & 06000))
		out[nr++] = "set-uid";
	if (c->now.kind != WS_FILE && c->now.kind != WS_LINK)
		return nr;
	if ((c->now.flags & WS_HASH_ONLY) || st->get(st->self, &c->now.oid, &type, &b, &err) < 0)
		return nr;
	if (c->now.kind == WS_LINK && watched_link(c->path, c->len, buf_cstr(&b), b.len))
		out[nr++] = "link out of the tree";
	if (b.len > 1 << 20)
		out[nr++] = "large";
	if (c->now.kind == WS_FILE && memchr(buf_cstr(&b), 0, b.len < 8000 ? b.len : 8000))
		out[nr++] = "binary";
	return nr;
}
