#include "sandbox/workspace/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/workspace/content.h"
#include "base/beneath.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"
#include "wire/plan.h"

static void add_op(struct ws_plan *p, const struct plan_op *op)
{
	plan_add(&p->plan, op);
	p->nr_ops++;
}

static void add_fd(struct ws_plan *p, int fd)
{
	GROW(p->fd, p->nr_fds, p->cap_fds);
	p->fd[p->nr_fds++] = fd;
}

static bool workspace_apply_below(const char *path, size_t len, const char *dir, size_t dir_len)
{
	return len > dir_len && path[dir_len] == '/' && !memcmp(path, dir, dir_len);
}

static bool workspace_apply_is_admin(const struct ws_change *c)
{
	return !strcmp(c->path, ".git") || workspace_apply_below(c->path, c->len, ".git", 4);
}

static bool must_go(const struct ws_change *c)
{
	return c->was.kind != WS_NONE && (c->now.kind == WS_NONE || c->now.kind != c->was.kind);
}

/* Can the wanted state be made at all? Also decides before anything is removed for it. */
static bool workspace_apply_makeable(const struct ws_state *s)
{
	return s->kind == WS_NONE || s->kind == WS_FILE || s->kind == WS_LINK ||
	       s->kind == WS_DIR || s->kind == WS_FIFO;
}

static bool workspace_apply_goes(const struct ws_change *c)
{
	return must_go(c) && workspace_apply_makeable(&c->now);
}

/* Does one of the directories above @c go as a whole? */
static bool gone_above(const struct ws_diff *d, const struct ws_change *c)
{
	for (size_t i = 1; i < c->len; i++) {
		if (c->path[i] != '/')
			continue;
		size_t lo = 0, hi = d->nr;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (ws_path_cmp(d->item[mid].path, d->item[mid].len, c->path, i) < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < d->nr && d->item[lo].len == i && !memcmp(d->item[lo].path, c->path, i) &&
		    workspace_apply_goes(&d->item[lo]))
			return true;
	}
	return false;
}

/* A file of the base with exactly these bytes; -1 if there is none. */
static int from_lower(int lower, const struct ws_change *c)
{
	if (lower < 0)
		return -1;
	int fd = beneath_open(lower, c->path, c->len, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	struct ws_state s;
	CLEANUP(buf_release) struct buf none = BUF_INIT;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return -1;
	}
	content_file(fd, (struct content_rule){ .hash_only = true }, &s, &none, &st);
	if (memcmp(&s.oid, &c->now.oid, sizeof(s.oid)) != 0 || s.flags & WS_TORN)
		fd_close(&fd);
	return fd;
}

/* The session's content of it. 0 found, 1 not held (@err is unchanged), -1 failure. */
static int workspace_apply_held(const struct ws_change *c, const struct ws_store *st,
				struct buf *out, struct err *err)
{
	struct err why = ERR_INIT;
	enum object_type type;
	if (st->get(st->self, &c->now.oid, &type, out, &why) == 0)
		return 0;
	if (why.code == ERR_NOENT || why.code == ERR_CANCELLED)
		return 1;
	*err = why;
	return -1;
}

/* Where the wanted bytes are: fills the operation. 0 found, 1 nowhere, -1 failure. */
static int find_content(struct ws_plan *p, const struct ws_change *c, const struct ws_store *st,
			int lower, uint64_t *used, struct plan_op *op, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int rc = workspace_apply_held(c, st, &b, err);
	if (rc == 0) {
		op->off = *used;
		op->len = b.len;
		*used += b.len;
		return fd_write_all(p->fd[0], buf_cstr(&b), b.len, err);
	}
	if (rc < 0)
		return -1;
	int fd = from_lower(lower, c);
	struct stat s;
	if (fd < 0)
		return 1;
	if (fstat(fd, &s) < 0) {
		fd_close(&fd);
		return 1;
	}
	op->fd = (uint32_t)p->nr_fds;
	op->len = (uint64_t)s.st_size;
	add_fd(p, fd);
	return 0;
}

static int make_op(struct ws_plan *p, const struct ws_change *c, const struct ws_store *st,
		   int lower, uint64_t *used, struct err *err)
{
	struct plan_op op = { .path = c->path, .path_len = c->len, .mode = c->now.mode & 01777u };
	CLEANUP(buf_release) struct buf target = BUF_INIT;
	if (c->op == 'm' && c->now.kind != WS_LINK) {
		op.kind = c->now.kind == WS_DIR ? PLAN_DIR : PLAN_CHMOD;
		add_op(p, &op);
		return 0;
	}
	int rc = 0;
	switch ((enum ws_kind)c->now.kind) {
	case WS_FILE:
		op.kind = PLAN_FILE;
		rc = find_content(p, c, st, lower, used, &op, err);
		break;
	case WS_LINK:
		op.kind = PLAN_SYMLINK;
		op.mode = 0;
		rc = workspace_apply_held(c, st, &target, err);
		op.target = buf_cstr(&target);
		op.target_len = target.len;
		break;
	case WS_DIR:
		op.kind = PLAN_DIR;
		break;
	case WS_FIFO:
		op.kind = PLAN_FIFO;
		break;
	case WS_NONE:
		return 0;
	case WS_SOCK:
	case WS_CHR:
	case WS_BLK:
		rc = 1;
		break;
	}
	if (rc < 0)
		return err_wrap(err, "'%s'", c->path);
	if (rc > 0)
		strv_push_bytes(&p->missing, c->path, c->len);
	else
		add_op(p, &op);
	return 0;
}

static int workspace_apply_fill(struct ws_plan *p, const struct ws_diff *d,
				const struct ws_store *st, int lower, bool keep_git,
				struct err *err)
{
	int fd = memfd_create("sandglass-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_sys(err, "can't create a file in memory");
	add_fd(p, fd);
	plan_begin(&p->plan);
	for (size_t i = 0; i < d->nr; i++) {
		const struct ws_change *c = &d->item[i];
		if (!(keep_git && workspace_apply_is_admin(c)) && workspace_apply_goes(c) &&
		    !gone_above(d, c))
			add_op(p, &(struct plan_op){ .kind = PLAN_REMOVE,
						     .path = c->path,
						     .path_len = c->len });
	}
	uint64_t used = 0;
	for (size_t i = 0; i < d->nr; i++)
		if (!(keep_git && workspace_apply_is_admin(&d->item[i])) &&
		    make_op(p, &d->item[i], st, lower, &used, err) < 0)
			return -1;
	return 0;
}

int ws_plan_make(struct ws_plan *p, const struct ws_diff *d, const struct ws_store *st, int lower,
		 bool keep_git, struct err *err)
{
	struct ws_plan out = WS_PLAN_INIT;
	if (workspace_apply_fill(&out, d, st, lower, keep_git, err) < 0) {
		ws_plan_release(&out);
		return err_wrap(err, "plan");
	}
	*p = out;
	return 0;
}

void ws_plan_times(struct ws_plan *p, const struct ws_diff *d,
		   int64_t (*when)(void *self, const char *path, size_t len), void *self)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct ws_change *c = &d->item[i];
		bool made = c->op != 'm' && ws_has_content(&c->now);
		int64_t us = made ? when(self, c->path, c->len) : 0;
		if (us > 0) /* not one of @nr_ops, which counts what differs */
			plan_add(&p->plan, &(struct plan_op){ .kind = PLAN_TIME,
							      .path = c->path,
							      .path_len = c->len,
							      .off = (uint64_t)us });
	}
}

void ws_plan_release(struct ws_plan *p)
{
	for (size_t i = 0; i < p->nr_fds; i++)
		fd_close(&p->fd[i]);
	free(p->fd);
	buf_release(&p->plan);
	strv_release(&p->missing);
	*p = WS_PLAN_INIT;
}

/* --- choosing --- */

static bool workspace_apply_chosen(const struct ws_change *c, char *const *paths,
				   const size_t *lens, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if ((c->len == lens[i] && !memcmp(c->path, paths[i], lens[i])) ||
		    workspace_apply_below(c->path, c->len, paths[i], lens[i]) ||
		    /* a parent that is needed */
		    (workspace_apply_below(paths[i], lens[i], c->path, c->len) &&
		     c->now.kind == WS_DIR))
			return true;
	return nr == 0;
}

int ws_diff_only(struct ws_diff *d, char *const *paths, const size_t *lens, size_t nr,
		 struct err *err)
{
	size_t keep = 0;
	for (size_t i = 0; i < d->nr; i++)
		if (workspace_apply_chosen(&d->item[i], paths, lens, nr))
			d->item[keep++] = d->item[i];
	d->nr = keep;
	return keep || !nr ? 0
			   : err_set(err, ERR_NOENT, "no changes at '%s'%s", paths[0],
				     nr > 1 ? " or the other paths" : "");
}

static const struct ws_state *state_in(const struct ws_view *v, const struct ws_change *c,
				       const struct ws_view *other)
{
	const struct ws_path *p = ws_view_find(v, c->path, c->len);
	if (p)
		return &p->now;
	p = ws_view_find(other, c->path, c->len);
	return p ? &p->base : NULL;
}

/* Three-way, the undone state as the common one: true and @c leads from @present to the state
 * without that change. */
static bool undo_lines(struct ws_change *c, const struct ws_state *present,
		       const struct ws_store *st)
{
	const struct ws_state *side[] = { &c->was, present, &c->now };
	struct buf text[3] = { BUF_INIT, BUF_INIT, BUF_INIT };
	CLEANUP(buf_release) struct buf merged = BUF_INIT;
	struct err none = ERR_INIT;
	enum object_type type;
	bool good = c->was.mode == present->mode || c->was.mode == c->now.mode;
	for (size_t i = 0; i < ARRAY_LEN(side) && good; i++)
		good = side[i]->kind == WS_FILE &&
		       !(side[i]->flags & (WS_HASH_ONLY | WS_UNREADABLE | WS_TORN)) &&
		       st->get(st->self, &side[i]->oid, &type, &text[i], &none) == 0;
	ws_git_ready();
	good = good && merge_lines(&text[0], &text[1], &text[2], &merged, &none) == 0;
	if (good) {
		uint16_t mode = c->was.mode == present->mode ? c->now.mode : present->mode;
		c->op = 'M';
		c->was = *present;
		c->now = *present;
		c->now.mode = mode;
		c->now.size = merged.len;
		st->add(st->self, OBJECT_BLOB, buf_cstr(&merged), merged.len, &c->now.oid);
	}
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_release(&text[i]);
	return good;
}

int ws_diff_undo(struct ws_diff *d, const struct ws_view *before, const struct ws_view *after,
		 const struct ws_view *now, const struct ws_store *st, struct strv *conflicts,
		 struct err *err)
{
	struct ws_diff back;
	if (ws_diff_views(&back, after, before, false, NULL, err) < 0)
		return -1;
	size_t keep = 0;
	for (size_t i = 0; i < back.nr; i++) {
		struct ws_change *c = &back.item[i];
		/* a path of which @now says nothing is as in the base there: @after or @before know
		 * how that is */
		const struct ws_state *s = state_in(now, c, after);
		if (!s)
			s = state_in(now, c, before);
		if (s && !ws_state_eq(s, &c->was)) {
			if (ws_state_eq(s, &c->now)) /* it is undone already */
				continue;
			if (!st || !undo_lines(c, s, st)) {
				strv_push_bytes(conflicts, c->path, c->len);
				continue;
			}
			if (ws_state_eq(s, &c->now)) /* these lines are so already */
				continue;
		}
		back.item[keep++] = *c;
	}
	back.nr = keep;
	*d = back;
	return 0;
}
