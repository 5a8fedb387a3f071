/* A text of a file is replaced: found as it is, or else with the line ends that the file has; what
 * it gives keeps them, line by line, and a mark of UTF-8 at the beginning (BOM). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/effect_file.h"

enum { NEAR_LINES = 5, NEAR_WIDTH = 80 };
static const char utf8_mark[] = "\xef\xbb\xbf";

int edit_find(const char *text, size_t text_len, const char *old, size_t old_len, size_t *at_out)
{
	const char *p = old_len ? memmem(text, text_len, old, old_len) : NULL;
	if (!p)
		return 0;
	*at_out = (size_t)(p - text);
	return memmem(p + 1, text_len - *at_out - 1, old, old_len) ? 2 : 1;
}

/* How much two lines have in common: the longest common run of bytes, blanks at the ends aside. */
static size_t edit_likeness(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t best = 0;
	for (size_t i = 0; i < a_len; i++)
		for (size_t k = 0; k < b_len; k++) {
			size_t n = 0;
			while (i + n < a_len && k + n < b_len && a[i + n] == b[k + n])
				n++;
			if (n > best)
				best = n;
		}
	return best;
}

static size_t line_len(const char *p, size_t left)
{
	const char *end = memchr(p, '\n', left);
	return end ? (size_t)(end - p) : left;
}

static int edit_count_lines(const char *text, size_t len)
{
	int n = 0;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n + (len && text[len - 1] != '\n');
}

void edit_near(const char *text, size_t text_len, const char *old, size_t old_len, struct buf *out)
{
	int lines = edit_count_lines(old, old_len);
	while (old_len && (*old == ' ' || *old == '\t' || *old == '\n' || *old == '\r')) {
		old++;
		old_len--;
	}
	size_t want = line_len(old, old_len);
	want = want > 120 ? 120 : want;
	size_t best = 3, best_line = 0, line = 1; /* fewer bytes in common say nothing */
	const char *best_at = NULL;
	for (size_t at = 0; at < text_len && line <= 5000; line++) {
		size_t len = line_len(text + at, text_len - at);
		size_t like = edit_likeness(text + at, len < 200 ? len : 200, old, want);
		if (like > best) {
			best = like;
			best_at = text + at;
			best_line = line;
		}
		at += len + 1;
	}
	if (!best_at)
		return;
	const char *end = text + text_len;
	lines = lines < 1 ? 1 : lines > NEAR_LINES ? NEAR_LINES : lines;
	buf_puts(out, lines > 1 ? "; the nearest lines are:" : "; the nearest line is:");
	for (const char *p = best_at; lines-- > 0 && p < end; best_line++) {
		size_t len = line_len(p, (size_t)(end - p)),
		       shown = len && p[len - 1] == '\r' ? len - 1 : len;
		buf_printf(out, "\n%zu: %.*s", best_line,
			   (int)(shown < NEAR_WIDTH ? shown : NEAR_WIDTH), p);
		p += len + 1;
	}
}

/* --- where it stands --- */

struct place {
	size_t at, end; /* bytes of the file */
};
struct places {
	struct place *item;
	size_t nr, cap;
};

static void edit_find_all(const char *text, size_t len, const struct buf *old, struct places *out)
{
	for (size_t at = 0; old->len && at < len;) {
		const char *p = memmem(text + at, len - at, old->data, old->len);
		if (!p)
			return;
		GROW(out->item, out->nr, out->cap);
		out->item[out->nr++] =
			(struct place){ (size_t)(p - text), (size_t)(p - text) + old->len };
		at = (size_t)(p - text) + old->len;
	}
}

/* Without the CR of each CR LF; @from (may be NULL): where each byte stood. */
static void without_cr(const struct buf *in, struct buf *out, size_t *from)
{
	for (size_t i = 0; i < in->len; i++)
		if (in->data[i] != '\r' || i + 1 == in->len || in->data[i + 1] != '\n') {
			if (from)
				from[out->len] = i;
			buf_putc(out, in->data[i]);
		}
}

static void find_by_lines(const struct buf *was, const struct buf *old, struct places *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf want = BUF_INIT;
	size_t *from = mem_calloc(was->len + 1, sizeof(*from));
	without_cr(was, &text, from);
	without_cr(old, &want, NULL);
	edit_find_all(buf_cstr(&text), text.len, &want, out);
	for (size_t i = 0; i < out->nr; i++)
		out->item[i] =
			(struct place){ from[out->item[i].at], from[out->item[i].end - 1] + 1 };
	free(from);
}

/* --- what is put there --- */

static bool crlf_at(const char *text, const char *nl)
{
	return nl > text && nl[-1] == '\r';
}

/* How the line ends that the byte @at is in; of the last one: as the one before it. */
static bool crlf_around(const struct buf *was, size_t at)
{
	const char *nl = at < was->len ? memchr(was->data + at, '\n', was->len - at) : NULL;
	if (!nl)
		nl = was->len ? memrchr(was->data, '\n', was->len) : NULL;
	return nl && crlf_at(was->data, nl);
}

static void put_new(const struct buf *was, struct place p, const struct buf *new, bool as_is,
		    struct buf *out)
{
	bool mark = p.at == 0 && p.end >= 3 && was->len >= 3 && !memcmp(was->data, utf8_mark, 3);
	if (mark && (new->len < 3 || memcmp(new->data, utf8_mark, 3) != 0))
		buf_puts(out, utf8_mark);
	if (as_is) {
		buf_append(out, buf_cstr(new), new->len);
		return;
	}
	size_t old_at = p.at;
	bool crlf = crlf_around(was, p.end ? p.end - 1 : 0);
	for (size_t i = 0; i < new->len; i++) {
		bool ends = new->data[i] == '\n' && !(i && new->data[i - 1] == '\r');
		if (ends) { /* as the line ends that stood in its place */
			const char *nl = old_at < p.end
						 ? memchr(was->data + old_at, '\n', p.end - old_at)
						 : NULL;
			crlf = nl ? crlf_at(was->data, nl) : crlf;
			old_at = nl ? (size_t)(nl - was->data) + 1 : p.end;
			if (crlf)
				buf_putc(out, '\r');
		}
		buf_putc(out, new->data[i]);
	}
}

int edit_make(const char *path, const struct buf *was, const json_t *args, struct edit_made *out,
	      struct err *err)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT;
	CLEANUP(buf_release) struct buf new = BUF_INIT;
	struct places found = { 0 };
	bool all = json_flag(args, "all", false);
	if (!json_get_bytes(json_object_get(args, "old"), &old) ||
	    !json_get_bytes(json_object_get(args, "new"), &new))
		return err_set(err, ERR_INVALID, "edit of '%s': missing old or new text", path);
	edit_find_all(buf_cstr(was), was->len, &old, &found);
	if (!found.nr && memchr(buf_cstr(&old), '\n', old.len))
		find_by_lines(was, &old, &found);
	if (found.nr != 1 && !(all && found.nr)) {
		CLEANUP(buf_release) struct buf near = BUF_INIT;
		if (!found.nr)
			edit_near(buf_cstr(was), was->len, buf_cstr(&old), old.len, &near);
		free(found.item);
		return err_set(err, ERR_INVALID, "the old text occurs %s in '%s'%s",
			       found.nr ? "more than once" : "nowhere", path,
			       found.nr ? "; give more of the surrounding text" : buf_cstr(&near));
	}
	size_t at = 0, first = found.item[0].at, nr = found.nr;
	bool as_is = memchr(buf_cstr(&old), '\r', old.len);
	for (size_t i = 0; i < nr; i++) {
		buf_append(&out->text, was->data + at, found.item[i].at - at);
		put_new(was, found.item[i], &new, as_is, &out->text);
		at = found.item[i].end;
	}
	buf_append(&out->text, was->data + at, was->len - at);
	out->line =
		edit_count_lines(was->data, first) + (first == 0 || was->data[first - 1] == '\n');
	out->removed = edit_count_lines(old.data, old.len) * (int)nr;
	out->added = edit_count_lines(buf_cstr(&new), new.len) * (int)nr;
	free(found.item);
	return 0;
}
