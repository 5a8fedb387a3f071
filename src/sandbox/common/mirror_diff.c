#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/common/mirror_priv.h"
#include "wire/guest.h"
#include "wire/plan.h"
#include "wire/tool.h"

/* --- listings --- */

int listing_read(struct listing *l, struct err *err)
{
	struct manifest_at at = { 0 };
	struct manifest_entry e;
	int rc;
	while ((rc = manifest_next(buf_cstr(&l->bytes), l->bytes.len, &at, &e, err)) > 0) {
		GROW(l->item, l->nr, l->cap);
		l->item[l->nr++] = e;
	}
	return rc;
}

void listing_release(struct listing *l)
{
	buf_release(&l->bytes);
	buf_release(&l->digest);
	free(l->item);
	*l = (struct listing){ 0 };
}

static int by_order(const void *a, const void *b)
{
	return manifest_cmp(*(char *const *)a, *(char *const *)b);
}

/* Is @path one of the sorted @item, or below one? */
static bool mirror_diff_concerned(char *const *item, size_t nr, const char *path)
{
	CLEANUP(free_ptr) char *p = mem_strdup(path);
	for (char *slash = p; slash; slash = strrchr(p, '/')) {
		if (slash != p)
			*slash = 0;
		const char *key = p;
		if (bsearch(&key, item, nr, sizeof(*item), by_order))
			return true;
	}
	return false;
}

/* In order, from both; -1: only in a, 1: only in b, 0: in both. */
static int mirror_diff_side(const struct listing *a, size_t i, const struct listing *b, size_t k)
{
	if (i >= a->nr)
		return 1;
	if (k >= b->nr)
		return -1;
	int rc = manifest_cmp(a->item[i].path, b->item[k].path);
	return rc < 0 ? -1 : rc > 0;
}

static bool mirror_diff_same(const struct manifest_entry *a, const struct manifest_entry *b)
{
	if (a->kind != b->kind || a->mode != b->mode)
		return false;
	if (a->kind == MANIFEST_FILE)
		return a->size == b->size && a->mtime_ns == b->mtime_ns &&
		       a->ctime_ns == b->ctime_ns && a->ino == b->ino;
	return strcmp(a->target, b->target) == 0;
}

void listing_adopt(struct listing *far, struct listing *now, const struct strv *paths)
{
	struct listing merged = { 0 };
	struct err never = ERR_INIT;
	char **sorted = paths->nr ? mem_dup(paths->item, paths->nr * sizeof(*sorted)) : NULL;
	bool differs = false;
	if (sorted)
		qsort(sorted, paths->nr, sizeof(*sorted), by_order);
	for (size_t i = 0, k = 0; i < far->nr || k < now->nr;) {
		int s = mirror_diff_side(far, i, now, k);
		const struct manifest_entry *old = s <= 0 ? &far->item[i++] : NULL,
					    *new = s >= 0 ? &now->item[k++] : NULL;
		bool ours = sorted &&
			    mirror_diff_concerned(sorted, paths->nr, new ? new->path : old->path);
		const struct manifest_entry *e = ours ? new : old;
		if (e)
			manifest_put(&merged.bytes, e);
		differs |= !ours && (!old || !new || !mirror_diff_same(old, new));
	}
	free(sorted);
	if (!differs)
		buf_append(&merged.digest, now->digest.data, now->digest.len);
	(void)!listing_read(&merged, &never); /* what was made here keeps the rules */
	listing_release(far);
	*far = merged;
}

/* --- what has changed --- */

static const struct manifest_entry *mirror_diff_find(const struct listing *l, const char *path,
						     size_t len)
{
	CLEANUP(free_ptr) char *key = mem_strndup(path, len);
	size_t lo = 0, hi = l->nr;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int rc = manifest_cmp(l->item[mid].path, key);
		if (rc == 0)
			return &l->item[mid];
		if (rc < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static void mirror_diff_open_up(struct mirror_news *c, const struct manifest_entry *dir)
{
	if (!dir || dir->kind != MANIFEST_DIR || (dir->mode & 0300) == 0300)
		return;
	if (!c->opened.nr || strcmp(c->opened.item[c->opened.nr - 1], dir->path) != 0)
		strv_push(&c->opened, dir->path);
}

static void mirror_diff_open_parent(struct mirror_news *c, const struct listing *old,
				    const char *path)
{
	const char *slash = strrchr(path, '/');
	if (slash)
		mirror_diff_open_up(c, mirror_diff_find(old, path, (size_t)(slash - path)));
}

static void mirror_diff_removed(struct mirror_news *c, const struct listing *old,
				const struct manifest_entry *e)
{
	const char *top = c->nr_removed ? c->removed[c->nr_removed - 1]->path : NULL;
	size_t len = top ? strlen(top) : 0;
	mirror_diff_open_up(c, e);
	if (top && strncmp(e->path, top, len) == 0 && e->path[len] == '/')
		return;
	mirror_diff_open_parent(c, old, e->path);
	GROW(c->removed, c->nr_removed, c->cap_removed);
	c->removed[c->nr_removed++] = e;
}

static void mirror_diff_set(struct mirror_news *c, const struct listing *old,
			    struct manifest_entry *e)
{
	if (e->kind == MANIFEST_OTHER)
		return;
	mirror_diff_open_parent(c, old, e->path);
	GROW(c->set, c->nr_set, c->cap_set);
	c->set[c->nr_set++] = e;
	if (e->kind != MANIFEST_FILE)
		return;
	GROW(c->want, c->nr_want, c->cap_want);
	c->want[c->nr_want++] = (struct want){ .e = e, .size = e->size };
}

void mirror_find(struct mirror_news *c, const struct listing *old, struct listing *now)
{
	c->now = now;
	for (size_t i = 0, k = 0; i < old->nr || k < now->nr;) {
		int s = mirror_diff_side(old, i, now, k);
		const struct manifest_entry *was = s <= 0 ? &old->item[i++] : NULL;
		struct manifest_entry *is = s >= 0 ? &now->item[k++] : NULL;
		if (was && is && mirror_diff_same(was, is))
			continue;
		if (was && (!is || was->kind != is->kind))
			mirror_diff_removed(c, old, was);
		if (is)
			mirror_diff_set(c, old, is);
	}
}

/* --- contents --- */

size_t mirror_ask(const struct mirror_news *c, size_t i, struct buf *in)
{
	uint64_t bytes = 0;
	size_t end = i;
	do {
		const struct want *w = &c->want[end++];
		uint64_t left = w->size - w->got, n = left < TOOL_PIECE ? left : TOOL_PIECE;
		pack_str(in, w->e->path);
		buf_u64le(in, w->got);
		buf_u64le(in, n);
		bytes += n + 512;
	} while (end < c->nr_want && !c->want[end].whole &&
		 bytes + c->want[end].size <= TOOL_PIECE);
	return end;
}

static void mirror_diff_stamp(struct mirror_news *c, struct want *w,
			      const struct manifest_entry *is)
{
	struct manifest_entry *e = w->e;
	bool torn = is->size != w->size || (w->begun && is->mtime_ns != e->mtime_ns);
	if (is->size != e->size || is->mtime_ns != e->mtime_ns || is->ctime_ns != e->ctime_ns ||
	    is->ino != e->ino)
		buf_reset(&c->now->digest);
	e->size = is->size;
	e->mode = is->mode;
	e->mtime_ns = is->mtime_ns;
	e->ctime_ns = torn ? 0 : is->ctime_ns; /* torn: asked for again the next time */
	e->ino = is->ino;
	w->begun = true;
}

static int mirror_diff_keep(struct mirror_news *c, struct want *w, const char *bytes, uint64_t n,
			    struct err *err)
{
	if (!w->got)
		w->off = c->contents_len;
	for (uint64_t done = 0; done < n;) {
		ssize_t k = pwrite(c->contents, bytes + done, n - done,
				   (off_t)(c->contents_len + done));
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_sys(err, "can't keep the new content of '%s'", w->e->path);
		done += (uint64_t)k;
	}
	c->contents_len += n;
	w->got += n;
	w->whole = w->got >= w->size || n == 0;
	return 0;
}

/* The tool's answer about one file. */
struct said {
	struct manifest_entry is;
	const char *bytes;
	uint64_t len;
};

/* 1, 0 for a file that is not there, -1 where it makes no sense. */
static int said_next(struct unpack *u, struct said *out, struct err *err)
{
	struct manifest_at at = { 0 };
	if (!unpack_u8(u) && !u->bad)
		return 0;
	if (u->bad || manifest_next(u->p, u->left, &at, &out->is, err) <= 0 ||
	    out->is.kind != MANIFEST_FILE)
		return err_set(err, ERR_PARSE, "the content of a file is missing");
	u->p += at.pos;
	u->left -= at.pos;
	out->len = unpack_u64(u);
	if (u->bad || out->len > u->left || out->len > TOOL_PIECE)
		return err_set(err, ERR_PARSE, "the content of '%s' is incomplete", out->is.path);
	out->bytes = u->p;
	u->p += out->len;
	u->left -= out->len;
	return 1;
}

static int take_said(struct mirror_news *c, struct want *w, const struct said *s, struct err *err)
{
	mirror_diff_stamp(c, w, &s->is);
	return mirror_diff_keep(c, w, s->bytes, s->len, err);
}

int mirror_take(struct mirror_news *c, size_t i, size_t end, const struct buf *out, struct err *err)
{
	struct unpack u = { .p = buf_cstr(out), .left = out->len };
	for (; i < end; i++) {
		struct want *w = &c->want[i];
		struct said s;
		int rc = said_next(&u, &s, err);
		if (rc > 0 && strcmp(s.is.path, w->e->path) != 0)
			return err_set(err, ERR_PARSE, "the content of '%s' is missing",
				       w->e->path);
		if (rc < 0 || (rc > 0 && take_said(c, w, &s, err) < 0))
			return -1;
		if (rc == 0)
			w->gone = w->whole = true;
	}
	return 0;
}

int mirror_take_any(struct mirror_news *c, const char *bytes, size_t len, struct err *err)
{
	struct unpack u = { .p = bytes, .left = len };
	for (size_t i = 0; u.left;) {
		struct said s;
		int rc = said_next(&u, &s, err);
		if (rc < 0)
			return -1;
		while (rc > 0 && i < c->nr_want && manifest_cmp(c->want[i].e->path, s.is.path) < 0)
			i++;
		bool wanted =
			rc > 0 && i < c->nr_want && strcmp(c->want[i].e->path, s.is.path) == 0;
		if (wanted && take_said(c, &c->want[i++], &s, err) < 0)
			return -1;
	}
	return 0;
}

/* --- contents that were ours --- */

static struct want *mirror_diff_wanted(struct mirror_news *c, const struct mirror_put *p)
{
	for (size_t i = 0; i < c->nr_want; i++) {
		struct want *w = &c->want[i];
		if (!w->begun && !w->whole && w->size == p->bytes.len &&
		    strcmp(w->e->path, p->path) == 0)
			return w;
	}
	return NULL;
}

void mirror_ask_sums(struct mirror_news *c, const struct mirror_put *puts, size_t nr,
		     struct buf *in)
{
	for (size_t i = 0; i < nr; i++)
		if (mirror_diff_wanted(c, &puts[i]))
			pack_str(in, puts[i].path);
}

/* 1, 0 for a file without an answer, -1 for an invalid answer. */
static int sum_next(struct unpack *u, struct manifest_entry *is, struct hash *sum)
{
	struct manifest_at at = { 0 };
	struct err none = ERR_INIT;
	if (!unpack_u8(u))
		return u->bad ? -1 : 0;
	if (manifest_next(u->p, u->left, &at, is, &none) <= 0 || u->left - at.pos < HASH_LEN)
		return -1;
	memcpy(sum->b, u->p + at.pos, HASH_LEN);
	u->p += at.pos + HASH_LEN;
	u->left -= at.pos + HASH_LEN;
	return 1;
}

void mirror_take_sums(struct mirror_news *c, struct mirror_put *puts, size_t nr,
		      const struct buf *out)
{
	struct unpack u = { .p = buf_cstr(out), .left = out->len };
	struct err none = ERR_INIT;
	for (size_t i = 0; i < nr; i++) {
		struct want *w = mirror_diff_wanted(c, &puts[i]);
		struct manifest_entry is;
		struct hash there, ours;
		int rc = w ? sum_next(&u, &is, &there) : 0;
		if (rc < 0)
			return;
		if (rc == 0 || is.kind != MANIFEST_FILE || is.size != w->size ||
		    strcmp(is.path, w->e->path) != 0)
			continue;
		hash_of(buf_cstr(&puts[i].bytes), puts[i].bytes.len, &ours);
		const struct said s = { .is = is,
					.bytes = buf_cstr(&puts[i].bytes),
					.len = puts[i].bytes.len };
		if (hash_eq(&there, &ours) && take_said(c, w, &s, &none) < 0)
			return;
		buf_release(&puts[i].bytes);
	}
}

/* --- the plan --- */

static void mirror_diff_add(struct mirror_news *c, enum plan_kind kind, const char *path,
			    unsigned mode, const struct want *w, const char *target)
{
	const struct plan_op op = { .kind = kind,
				    .mode = mode & 01777,
				    .path = path,
				    .path_len = strlen(path),
				    .off = w ? w->off : 0,
				    .len = w ? w->got : 0,
				    .target = target,
				    .target_len = target ? strlen(target) : 0 };
	plan_add(&c->plan, &op);
	c->nr_ops++;
}

static void add_set(struct mirror_news *c, const struct manifest_entry *e, const struct want *w)
{
	switch (e->kind) {
	case MANIFEST_FILE:
		if (!w->gone)
			mirror_diff_add(c, PLAN_FILE, e->path, e->mode, w, NULL);
		break;
	case MANIFEST_DIR:
		/* its own mode comes last */
		mirror_diff_add(c, PLAN_DIR, e->path, e->mode | 0700, NULL, NULL);
		if ((e->mode & 0700) != 0700)
			strv_push(&c->opened, e->path);
		break;
	case MANIFEST_LINK:
		mirror_diff_add(c, PLAN_SYMLINK, e->path, 0, NULL, e->target);
		break;
	case MANIFEST_FIFO:
		mirror_diff_add(c, PLAN_FIFO, e->path, e->mode, NULL, NULL);
		break;
	case MANIFEST_OTHER:
		break;
	}
}

void mirror_plan(struct mirror_news *c)
{
	plan_begin(&c->plan);
	for (size_t i = 0; i < c->opened.nr; i++)
		mirror_diff_add(c, PLAN_CHMOD, c->opened.item[i], 0700, NULL, NULL);
	for (size_t i = 0; i < c->nr_removed; i++)
		mirror_diff_add(c, PLAN_REMOVE, c->removed[i]->path, 0, NULL, NULL);
	size_t next = 0;
	for (size_t i = 0; i < c->nr_set; i++)
		add_set(c, c->set[i], c->set[i]->kind == MANIFEST_FILE ? &c->want[next++] : NULL);
	for (size_t i = c->opened.nr; i-- > 0;) {
		const struct manifest_entry *e =
			mirror_diff_find(c->now, c->opened.item[i], strlen(c->opened.item[i]));
		if (e && e->kind == MANIFEST_DIR)
			mirror_diff_add(c, PLAN_CHMOD, e->path, e->mode, NULL, NULL);
	}
}

void mirror_release(struct mirror_news *c)
{
	fd_close(&c->contents);
	strv_release(&c->opened);
	buf_release(&c->plan);
	free(c->want);
	free(c->removed);
	free(c->set);
}
