#include "ui/rows/textdiff.h"

#include <stdlib.h>
#include <string.h>

enum { DIFFERENCES_MAX = 2000, BINARY_LOOK = 8000 };

struct text_line {
	const char *s;
	size_t len;
	bool open; /* no line end */
};

struct text_lines {
	struct text_line *line;
	size_t nr, cap;
};

static void textdiff_split(const char *s, size_t len, struct text_lines *out)
{
	while (len > 0) {
		const char *nl = memchr(s, '\n', len);
		size_t n = nl ? (size_t)(nl - s) : len, step = nl ? n + 1 : n;
		GROW(out->line, out->nr, out->cap);
		out->line[out->nr++] = (struct text_line){ s, n, !nl };
		s += step;
		len -= step;
	}
}

static bool textdiff_same(const struct text_line *a, const struct text_line *b)
{
	return a->len == b->len && a->open == b->open && memcmp(a->s, b->s, a->len) == 0;
}

/* Which lines of the old text went and which of the new came. */
struct marks {
	const struct text_line *a, *b;
	bool *gone, *came;
	int n, m;
};

static void textdiff_replace_all(struct marks *k)
{
	memset(k->gone, 1, (size_t)k->n);
	memset(k->came, 1, (size_t)k->m);
}

/* Walks the recorded furthest points back from the end; each step off the diagonal is one line that
 * went or came. */
static void walk_back(struct marks *k, int *const *trace, int d)
{
	int x = k->n, y = k->m;
	for (; d > 0; d--) {
		const int *v = trace[d - 1] + d; /* v[-d] .. v[d] */
		int diag = x - y;
		bool down = diag == -d || (diag != d && v[diag - 1] < v[diag + 1]);
		int from = down ? diag + 1 : diag - 1, px = v[from], py = px - from;
		if (down)
			k->came[py] = true;
		else
			k->gone[px] = true;
		x = px;
		y = py;
	}
}

static void textdiff_myers(struct marks *k)
{
	int limit = k->n + k->m < DIFFERENCES_MAX ? k->n + k->m : DIFFERENCES_MAX, d;
	int **trace = mem_calloc((size_t)limit + 1, sizeof(*trace));
	int *v = mem_calloc((size_t)(2 * limit + 3), sizeof(*v)), *mid = v + limit + 1;
	bool done = false;
	for (d = 0; d <= limit && !done; d++) {
		for (int diag = -d; diag <= d; diag += 2) {
			bool down = diag == -d || (diag != d && mid[diag - 1] < mid[diag + 1]);
			int x = d == 0 ? 0 : down ? mid[diag + 1] : mid[diag - 1] + 1, y = x - diag;
			while (x < k->n && y < k->m && textdiff_same(&k->a[x], &k->b[y]))
				x++, y++;
			mid[diag] = x;
			done = done || (x >= k->n && y >= k->m);
		}
		/* what the next round will need to be walked back: mid[-d] .. mid[d], with a
		 * margin */
		trace[d] = mem_calloc((size_t)(2 * d + 3), sizeof(int));
		memcpy(trace[d], mid - d - 1, (size_t)(2 * d + 3) * sizeof(int));
	}
	if (done)
		walk_back(k, trace, d - 1);
	else
		textdiff_replace_all(k);
	for (int i = 0; i <= limit; i++)
		free(trace[i]);
	free(trace);
	free(v);
}

static void mark_middle(struct text_lines *a, struct text_lines *b, bool *gone, bool *came)
{
	size_t head = 0, tail = 0;
	memset(gone, !b->nr, a->nr);
	memset(came, !a->nr, b->nr);
	if (!a->nr || !b->nr)
		return;
	while (head < a->nr && head < b->nr && textdiff_same(&a->line[head], &b->line[head]))
		head++;
	while (tail < a->nr - head && tail < b->nr - head &&
	       textdiff_same(&a->line[a->nr - 1 - tail], &b->line[b->nr - 1 - tail]))
		tail++;
	struct marks k = { a->line + head,
			   b->line + head,
			   gone + head,
			   came + head,
			   (int)(a->nr - head - tail),
			   (int)(b->nr - head - tail) };
	if (k.n == 0 || k.m == 0)
		textdiff_replace_all(&k);
	else
		textdiff_myers(&k);
}

/* --- hunks ------------------------------------------------------------------------------------ */

struct writer {
	struct text_lines a, b;
	bool *gone, *came;
	struct arena *arena;
	struct text_diff *out;
	size_t cap;
};

static void textdiff_add(struct writer *w, char op, const struct text_line *l, size_t old_no,
			 size_t new_no)
{
	GROW(w->out->line, w->out->nr, w->cap);
	w->out->line[w->out->nr++] =
		(struct diff_line){ op, l->s, l->len, (uint32_t)old_no, (uint32_t)new_no };
	if (l->open && op != '@') {
		GROW(w->out->line, w->out->nr, w->cap);
		w->out->line[w->out->nr++] =
			(struct diff_line){ '\\', "No newline at end of file", 25, 0, 0 };
	}
}

/* One step through both texts; false at the end. *op is what stands there. */
static bool textdiff_step(const struct writer *w, size_t *i, size_t *j, char *op)
{
	if (*i < w->a.nr && w->gone[*i])
		*op = '-', ++*i;
	else if (*j < w->b.nr && w->came[*j])
		*op = '+', ++*j;
	else if (*i < w->a.nr && *j < w->b.nr)
		*op = ' ', ++*i, ++*j;
	else
		return false;
	return true;
}

/* From (i, j), the first line of a hunk: how far it goes, which is up to 2 * context equal lines
 * after a change. */
static void hunk_end(const struct writer *w, size_t i, size_t j, int context, size_t *i_end,
		     size_t *j_end)
{
	int equal = 0;
	char op;
	size_t ii = i, jj = j;
	*i_end = i;
	*j_end = j;
	while (textdiff_step(w, &ii, &jj, &op)) {
		equal = op == ' ' ? equal + 1 : 0;
		if (op != ' ')
			*i_end = ii, *j_end = jj;
		if (equal > 2 * context && (*i_end > i || *j_end > j))
			break;
	}
	for (int c = 0; c < context && *i_end < w->a.nr && *j_end < w->b.nr; c++)
		++*i_end, ++*j_end;
}

static void write_hunk(struct writer *w, size_t *i, size_t *j, int context)
{
	size_t back = *i < (size_t)context ? *i : (size_t)context, i_end, j_end;
	size_t a = *i - back, b = *j - back;
	hunk_end(w, *i, *j, context, &i_end, &j_end);
	char *text = arena_printf(w->arena, "@@ -%zu,%zu +%zu,%zu @@", i_end > a ? a + 1 : a,
				  i_end - a, j_end > b ? b + 1 : b, j_end - b);
	textdiff_add(w, '@', &(struct text_line){ text, strlen(text), false }, a + 1, b + 1);
	w->out->hunks++;
	char op;
	while (a < i_end || b < j_end) {
		size_t i0 = a, j0 = b;
		if (!textdiff_step(w, &a, &b, &op))
			break;
		textdiff_add(w, op, op == '+' ? &w->b.line[j0] : &w->a.line[i0],
			     op == '+' ? 0 : i0 + 1, op == '-' ? 0 : j0 + 1);
		w->out->added += op == '+';
		w->out->removed += op == '-';
	}
	*i = a;
	*j = b;
}

static bool textdiff_is_binary(const void *p, size_t len)
{
	return len > 0 && memchr(p, 0, len < BINARY_LOOK ? len : BINARY_LOOK);
}

void diff_texts(const void *old, size_t old_len, const void *new_, size_t new_len, int context,
		struct arena *arena, struct text_diff *out)
{
	*out = (struct text_diff){ .binary = textdiff_is_binary(old, old_len) ||
					     textdiff_is_binary(new_, new_len) };
	if (out->binary)
		return;
	struct writer w = { .arena = arena, .out = out };
	textdiff_split(old, old_len, &w.a);
	textdiff_split(new_, new_len, &w.b);
	w.gone = mem_calloc(w.a.nr + 1, 1);
	w.came = mem_calloc(w.b.nr + 1, 1);
	mark_middle(&w.a, &w.b, w.gone, w.came);
	size_t i = 0, j = 0;
	char op;
	for (;;) {
		if ((i < w.a.nr && w.gone[i]) || (j < w.b.nr && w.came[j]))
			write_hunk(&w, &i, &j, context);
		else if (!textdiff_step(&w, &i, &j, &op))
			break;
	}
	struct diff_line *kept = out->nr ? arena_alloc(arena, out->nr * sizeof(*kept)) : NULL;
	if (kept)
		memcpy(kept, out->line, out->nr * sizeof(*kept));
	free(out->line);
	out->line = kept;
	free(w.gone);
	free(w.came);
	free(w.a.line);
	free(w.b.line);
}
