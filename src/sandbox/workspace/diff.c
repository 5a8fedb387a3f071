#include "sandbox/workspace/diff.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/git.h"

/* --- which files --- */

static void diff_push(struct ws_diff *d, const struct ws_path *p, const struct ws_state *a,
		      const struct ws_state *b)
{
	if (ws_state_eq(a, b))
		return;
	GROW(d->item, d->nr, d->cap);
	d->item[d->nr++] = (struct ws_change){ .op = ws_state_op(a, b),
					       .path = arena_strndup(&d->arena, p->path, p->len),
					       .len = p->len,
					       .was = *a,
					       .now = *b };
}

/* Lines of a file as sorted hashes weighed by their length: what two files have in common is what
 * both lists hold. */
struct line_hash {
	uint64_t hash;
	uint32_t len;
};
struct lines {
	struct line_hash *item;
	size_t nr, cap;
	uint64_t bytes;
};

static int cmp_line(const void *pa, const void *pb)
{
	const struct line_hash *a = pa, *b = pb;
	return (a->hash > b->hash) - (a->hash < b->hash);
}

static void lines_of(struct lines *l, const char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		const char *nl = memchr(p + i, '\n', len - i);
		size_t end = nl ? (size_t)(nl - p) + 1 : len;
		uint64_t h = 0xcbf29ce484222325u;
		for (size_t k = i; k < end; k++)
			h = (h ^ (unsigned char)p[k]) * 0x100000001b3u;
		GROW(l->item, l->nr, l->cap);
		l->item[l->nr++] = (struct line_hash){ h, (uint32_t)(end - i) };
		i = end;
	}
	l->bytes = len;
	if (l->nr)
		qsort(l->item, l->nr, sizeof(*l->item), cmp_line);
}

static unsigned diff_similarity(const struct lines *a, const struct lines *b)
{
	uint64_t common = 0, most = a->bytes > b->bytes ? a->bytes : b->bytes;
	for (size_t i = 0, k = 0; i < a->nr && k < b->nr;) {
		if (a->item[i].hash == b->item[k].hash) {
			common += a->item[i].len;
			i++;
			k++;
		} else if (a->item[i].hash < b->item[k].hash) {
			i++;
		} else {
			k++;
		}
	}
	return most ? (unsigned)(common * 100 / most) : 0;
}

enum { RENAME_PAIRS_MAX = 400, RENAME_BYTES_MAX = 1 << 20, RENAME_LIKE = 50 };

static bool diff_renamable(const struct ws_change *c, char op)
{
	const struct ws_state *s = op == 'D' ? &c->was : &c->now;
	return c->op == op && s->kind == WS_FILE && !(s->flags & WS_UNREADABLE);
}

static void make_rename(struct ws_change *gone, struct ws_change *come)
{
	come->op = 'R';
	come->from = gone->path;
	come->from_len = gone->len;
	come->was = gone->was;
	gone->op = 0;
}

static bool empty_blob(const struct ws_state *s)
{
	static const uint8_t id[20] = {
		0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b,
		0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4, 0x8c, 0x53, 0x91
	};
	return memcmp(s->oid.b, id, sizeof(id)) == 0;
}

static int cmp_by_oid(const void *pa, const void *pb)
{
	const struct ws_change *a = *(struct ws_change *const *)pa,
			       *b = *(struct ws_change *const *)pb;
	int c = memcmp(a->was.oid.b, b->was.oid.b, sizeof(a->was.oid.b));
	return c ? c : (a > b) - (a < b);
}

static void exact_renames(struct ws_diff *d)
{
	struct ws_change **gone = mem_calloc(d->nr, sizeof(*gone));
	size_t nr = 0;
	for (size_t i = 0; i < d->nr; i++)
		if (diff_renamable(&d->item[i], 'D') && !empty_blob(&d->item[i].was))
			gone[nr++] = &d->item[i];
	if (nr)
		qsort(gone, nr, sizeof(*gone), cmp_by_oid);
	for (size_t i = 0; i < d->nr && nr; i++) {
		if (!diff_renamable(&d->item[i], 'A'))
			continue;
		size_t lo = 0, hi = nr;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (memcmp(gone[mid]->was.oid.b, d->item[i].now.oid.b,
				   sizeof(struct object_id)) < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < nr &&
		       !memcmp(gone[lo]->was.oid.b, d->item[i].now.oid.b, sizeof(struct object_id));
		     lo++)
			if (gone[lo]->op == 'D') {
				make_rename(gone[lo], &d->item[i]);
				break;
			}
	}
	free(gone);
}

static bool diff_load_lines(struct lines *l, const struct ws_store *st, const struct ws_state *s)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	enum object_type type;
	if ((s->flags & WS_HASH_ONLY) || st->get(st->self, &s->oid, &type, &b, &err) < 0 ||
	    b.len > RENAME_BYTES_MAX)
		return false;
	lines_of(l, buf_cstr(&b), b.len);
	return true;
}

static void like_renames(struct ws_diff *d, const struct ws_store *st)
{
	size_t gone[RENAME_PAIRS_MAX], come[RENAME_PAIRS_MAX], ng = 0, nc = 0;
	for (size_t i = 0; i < d->nr; i++) {
		if (diff_renamable(&d->item[i], 'D') && ng < RENAME_PAIRS_MAX)
			gone[ng++] = i;
		if (diff_renamable(&d->item[i], 'A') && nc < RENAME_PAIRS_MAX)
			come[nc++] = i;
	}
	if (!ng || !nc)
		return;
	struct lines *lg = mem_calloc(ng, sizeof(*lg)), *lc = mem_calloc(nc, sizeof(*lc));
	for (size_t i = 0; i < ng; i++)
		diff_load_lines(&lg[i], st, &d->item[gone[i]].was);
	for (size_t i = 0; i < nc; i++)
		diff_load_lines(&lc[i], st, &d->item[come[i]].now);
	for (size_t i = 0; i < nc; i++) {
		unsigned best = RENAME_LIKE - 1;
		size_t at = ng;
		for (size_t k = 0; k < ng; k++) {
			unsigned s = d->item[gone[k]].op == 'D' && lg[k].nr && lc[i].nr
					     ? diff_similarity(&lg[k], &lc[i])
					     : 0;
			if (s > best) {
				best = s;
				at = k;
			}
		}
		if (at < ng)
			make_rename(&d->item[gone[at]], &d->item[come[i]]);
	}
	for (size_t i = 0; i < ng; i++)
		free(lg[i].item);
	for (size_t i = 0; i < nc; i++)
		free(lc[i].item);
	free(lg);
	free(lc);
}

int ws_diff_views(struct ws_diff *d, const struct ws_view *a, const struct ws_view *b, bool renames,
		  const struct ws_store *st, struct err *err)
{
	(void)err;
	*d = WS_DIFF_INIT;
	size_t i = 0, k = 0;
	while (i < a->nr || k < b->nr) {
		int c = i == a->nr   ? 1
			: k == b->nr ? -1
				     : ws_path_cmp(a->item[i].path, a->item[i].len, b->item[k].path,
						   b->item[k].len);
		if (c == 0) {
			diff_push(d, &a->item[i], &a->item[i].now, &b->item[k].now);
			i++;
			k++;
		} else if (c < 0) { /* @b has it as the base does */
			diff_push(d, &a->item[i], &a->item[i].now, &a->item[i].base);
			i++;
		} else {
			diff_push(d, &b->item[k], &b->item[k].base, &b->item[k].now);
			k++;
		}
	}
	if (renames && d->nr) {
		exact_renames(d);
		if (st)
			like_renames(d, st);
		size_t keep = 0;
		for (size_t n = 0; n < d->nr; n++)
			if (d->item[n].op)
				d->item[keep++] = d->item[n];
		d->nr = keep;
	}
	return 0;
}

void ws_diff_release(struct ws_diff *d)
{
	free(d->item);
	arena_release(&d->arena);
	*d = WS_DIFF_INIT;
}

/* --- lines --- */

static size_t diff_count_lines(const struct buf *b)
{
	size_t n = 0;
	const char *p = buf_cstr(b), *end = p + b->len;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		n++;
		p = nl ? nl + 1 : end;
	}
	return n;
}

static bool diff_is_binary(const struct buf *b)
{
	return memchr(buf_cstr(b), 0, b->len < 8000 ? b->len : 8000) != NULL;
}

static int take_hunk(struct ws_patch *p, git_patch *g, size_t i, struct err *err)
{
	const git_diff_hunk *h;
	size_t nr;
	if (git_patch_get_hunk(&h, &nr, g, i) < 0)
		return ws_git_err(err, "diff");
	struct patch_hunk *out = &p->hunk[i];
	*out = (struct patch_hunk){ .old_start = (unsigned)h->old_start,
				    .old_lines = (unsigned)h->old_lines,
				    .new_start = (unsigned)h->new_start,
				    .new_lines = (unsigned)h->new_lines };
	const char *sect = memmem(h->header, h->header_len, " @@ ", 4);
	size_t off = sect ? (size_t)(sect - h->header) + 4 : h->header_len;
	size_t len = h->header_len - off;
	while (len && (h->header[off + len - 1] == '\n' || h->header[off + len - 1] == '\r'))
		len--;
	out->section = arena_strndup(&p->arena, h->header + off, len);
	out->section_len = len;
	out->line = arena_alloc(&p->arena, (nr + 1) * sizeof(*out->line));
	for (size_t k = 0; k < nr; k++) {
		const git_diff_line *l;
		if (git_patch_get_line_in_hunk(&l, g, i, k) < 0)
			return ws_git_err(err, "diff");
		/* "\ No newline at end of file" */
		if (l->origin != ' ' && l->origin != '+' && l->origin != '-') {
			if (out->nr)
				out->line[out->nr - 1].no_eol = true;
			continue;
		}
		out->line[out->nr++] =
			(struct patch_line){ .op = l->origin,
					     .len = l->content_len,
					     .text = arena_strndup(&p->arena, l->content,
								   l->content_len) };
		p->added += l->origin == '+';
		p->removed += l->origin == '-';
	}
	return 0;
}

/* libgit2 hands a last line without newline out in one piece or with the marker's newline: only the
 * file's end tells.
 */
static void mend_last(struct patch_hunk *h)
{
	for (size_t i = 0; i < h->nr; i++) {
		struct patch_line *l = &h->line[i];
		if (l->len == 0 || l->text[l->len - 1] != '\n')
			l->no_eol = true;
		else if (l->no_eol)
			l->len--;
	}
}

static int make_hunks(struct ws_patch *p, unsigned context, struct err *err)
{
	git_diff_options o;
	git_patch *g = NULL;
	git_diff_options_init(&o, GIT_DIFF_OPTIONS_VERSION);
	o.context_lines = context;
	o.flags = GIT_DIFF_FORCE_TEXT;
	ws_git_ready();
	if (git_patch_from_buffers(&g, buf_cstr(&p->old), p->old.len, "a", buf_cstr(&p->new),
				   p->new.len, "a", &o) < 0)
		return ws_git_err(err, "diff");
	p->nr = git_patch_num_hunks(g);
	p->hunk = arena_alloc(&p->arena, (p->nr + 1) * sizeof(*p->hunk));
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->nr; i++) {
		rc = take_hunk(p, g, i, err);
		mend_last(&p->hunk[i]);
	}
	git_patch_free(g);
	return rc;
}

static int judge_and_make(struct ws_patch *p, unsigned context, struct err *err)
{
	if (p->old.len == p->new.len && !memcmp(buf_cstr(&p->old), buf_cstr(&p->new), p->old.len)) {
		p->what = PATCH_NONE;
		return 0;
	}
	if (diff_is_binary(&p->old) || diff_is_binary(&p->new)) {
		p->what = PATCH_BINARY;
		return 0;
	}
	size_t old_lines = diff_count_lines(&p->old), new_lines = diff_count_lines(&p->new);
	if (p->old.len > DIFF_BYTES_MAX || p->new.len > DIFF_BYTES_MAX ||
	    old_lines > DIFF_LINES_MAX || new_lines > DIFF_LINES_MAX) {
		p->what = PATCH_TOO_BIG;
		p->removed = old_lines;
		p->added = new_lines;
		return 0;
	}
	p->what = PATCH_TEXT;
	return make_hunks(p, context, err);
}

int ws_patch_buffers(struct ws_patch *p, const void *old, size_t old_len, const void *new,
		     size_t new_len, unsigned context, struct err *err)
{
	struct ws_patch out = WS_PATCH_INIT;
	buf_append(&out.old, old, old_len);
	buf_append(&out.new, new, new_len);
	if (judge_and_make(&out, context, err) < 0) {
		ws_patch_release(&out);
		return -1;
	}
	*p = out;
	return 0;
}

/* 1: there are bytes (or none are needed), 0: not held. */
static int diff_load_side(const struct ws_store *st, const struct ws_state *s, struct buf *out,
			  struct err *err)
{
	enum object_type type;
	if (s->kind != WS_FILE && s->kind != WS_LINK)
		return 1;
	if (s->flags & (WS_HASH_ONLY | WS_UNREADABLE))
		return 0;
	if (st->get(st->self, &s->oid, &type, out, err) == 0)
		return 1;
	return err->code == ERR_NOENT || err->code == ERR_CANCELLED ? 0 : -1;
}

int ws_patch_make(struct ws_patch *p, const struct ws_store *st, const struct ws_change *c,
		  unsigned context, struct err *err)
{
	struct ws_patch out = WS_PATCH_INIT;
	bool same = c->was.kind == c->now.kind &&
		    !memcmp(&c->was.oid, &c->now.oid, sizeof(c->was.oid)) &&
		    !((c->was.flags | c->now.flags) & WS_UNREADABLE);
	int a = same ? 1 : diff_load_side(st, &c->was, &out.old, err);
	int b = a <= 0 || same ? a : diff_load_side(st, &c->now, &out.new, err);
	int rc = a < 0 || b < 0 ? -1 : 0;
	if (rc == 0 && same)
		out.what = PATCH_NONE;
	else if (rc == 0 && (!a || !b))
		out.what = PATCH_HASH_ONLY;
	else if (rc == 0)
		rc = judge_and_make(&out, context, err);
	if (rc < 0) {
		ws_patch_release(&out);
		return err_wrap(err, "'%s'", c->path);
	}
	*p = out;
	return 0;
}

void ws_patch_release(struct ws_patch *p)
{
	buf_release(&p->old);
	buf_release(&p->new);
	arena_release(&p->arena);
	*p = WS_PATCH_INIT;
}
