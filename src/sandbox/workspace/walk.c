#include "sandbox/workspace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/beneath.h"

enum { LIST_SIZE = 64 << 10 };

const struct ws_state walk_nothing = { .kind = WS_NONE, .nlink = 1 };

int walk_open(struct walk *w, const char *which, const struct ws_node *n)
{
	if (!w->u->open)
		return -1;
	node_path(n, &w->path);
	struct err err = ERR_INIT;
	int fd = w->u->open(w->u->open_self, which, buf_cstr(&w->path), &err);
	return fd;
}

int walk_open_entry(struct walk *w, const char *which, int dir, const struct ws_node *n)
{
	int fd = openat(dir, n->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? walk_open(w, which, n) : fd;
}

int walk_lower_dir(struct walk *w)
{
	if (w->lower_dir == -2) {
		w->lower_dir = -1;
		if (w->u->lower_fd >= 0 && w->dir->base.kind == WS_DIR) {
			node_path(w->dir, &w->path);
			w->lower_dir = beneath_open(w->u->lower_fd, buf_cstr(&w->path), w->path.len,
						    O_PATH | O_DIRECTORY);
		}
	}
	return w->lower_dir;
}

/* --- states --- */

void walk_set_now(struct upper *u, struct ws_node *n, const struct ws_state *now)
{
	bool same = n->now.kind == now->kind && n->now.flags == now->flags &&
		    n->now.nlink == now->nlink && n->now.mode == now->mode &&
		    !memcmp(&n->now.oid, &now->oid, sizeof(now->oid));
	if (same || (now->kind == WS_NONE && n->now.kind == WS_NONE))
		return;
	if (!n->changed) {
		n->changed = true;
		n->was = n->now;
		GROW(u->changed, u->nr_changed, u->cap_changed);
		u->changed[u->nr_changed++] = n;
	}
	n->now = *now;
	n->lazy = false;
	node_dirty(n->up ? n->up : n);
	if (n->up && (n->now.kind == WS_DIR || n->was.kind == WS_DIR))
		node_dirty(n);
}

/* Files of the workspace's own .git are kept whatever the rules say. */
static bool walk_is_admin(const struct buf *path)
{
	const char *p = buf_cstr(path);
	return !strncmp(p, ".git", 4) && (p[4] == 0 || p[4] == '/');
}

static bool dir_hash_only(struct walk *w, struct ws_node *d)
{
	if (d->hash_only_known)
		return d->hash_only;
	bool hit = false;
	if (d->up && w->u->ignore) {
		hit = dir_hash_only(w, d->up);
		if (!hit) {
			node_path(d, &w->path);
			hit = !walk_is_admin(&w->path) &&
			      ignore_match(w->u->ignore, buf_cstr(&w->path), w->path.len, true);
		}
	}
	d->hash_only = hit;
	d->hash_only_known = true;
	return hit;
}

struct content_rule walk_rule(struct walk *w, struct ws_node *n)
{
	struct content_rule r = { .keep_max = w->u->keep_max };
	if (!w->u->ignore || !n->up)
		return r;
	bool hit = dir_hash_only(w, n->up);
	node_path(n, &w->path);
	if (!hit && !walk_is_admin(&w->path))
		hit = ignore_match(w->u->ignore, buf_cstr(&w->path), w->path.len, false);
	r.hash_only = hit && !ignore_tracked(w->u->ignore, buf_cstr(&w->path), w->path.len);
	return r;
}

void walk_hide(struct upper *u, struct ws_state *s, struct buf *bytes)
{
	if (!u->store.hide || (s->flags & (WS_HASH_ONLY | WS_UNREADABLE)) ||
	    !u->store.hide(u->store.self, &s->oid, buf_cstr(bytes), bytes->len))
		return;
	s->flags |= WS_HASH_ONLY;
	buf_reset(bytes);
}

/* State of entry @n of the lower's directory @dir; its content goes into base_bytes. */
static struct ws_state lower_state(struct walk *w, struct ws_node *n, int dir)
{
	struct ws_state s = { .kind = WS_NONE, .nlink = 1 };
	struct stat st;
	buf_reset(&w->base_bytes);
	if (dir < 0 || fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return s;
	if (S_ISREG(st.st_mode)) {
		CLEANUP(fd_close) int fd = walk_open_entry(w, "lower", dir, n);
		struct content_rule r = walk_rule(w, n);
		if (fd >= 0)
			content_file(fd, r, &s, &w->base_bytes, &st);
		else
			s = (struct ws_state){ .kind = WS_FILE,
					       .mode = (uint16_t)(st.st_mode & 07777),
					       .nlink = 1,
					       .size = (uint64_t)st.st_size,
					       .flags = WS_UNREADABLE };
		walk_hide(w->u, &s, &w->base_bytes);
		s.nlink = 1; /* links of the base are not the box's doing */
	} else if (S_ISLNK(st.st_mode)) {
		content_link(dir, n->name, &s, &w->base_bytes);
	} else {
		content_other(&st, &s);
	}
	return s;
}

void walk_keep(struct upper *u, const struct ws_state *s, const struct buf *bytes)
{
	struct object_id id;
	if (ws_has_content(s) && !(s->flags & (WS_HASH_ONLY | WS_UNREADABLE)))
		u->store.add(u->store.self, OBJECT_BLOB, buf_cstr(bytes), bytes->len, &id);
}

void walk_learn_base(struct walk *w, struct ws_node *n)
{
	if (n->base_known)
		return;
	n->base = n->up->base.kind == WS_DIR ? lower_state(w, n, walk_lower_dir(w))
					     : (struct ws_state){ .nlink = 1 };
	n->base_known = true;
	if (!n->changed)
		n->now = n->base;
}

void walk_keep_base(struct walk *w, struct ws_node *n, bool fresh)
{
	if (n->base_kept || !node_differs(n) ||
	    (n->base.kind != WS_FILE && n->base.kind != WS_LINK))
		return;
	n->base_kept = true;
	if (!fresh) {
		struct ws_state again = lower_state(w, n, walk_lower_dir(w));
		if (!ws_state_eq(&again, &n->base)) {
			/* the lower has changed meanwhile: drift, see base.h */
			n->base.flags |= WS_HASH_ONLY;
			return;
		}
	}
	walk_keep(w->u, &n->base, &w->base_bytes);
}

/* --- what hides what --- */

struct ws_node **walk_all_below(struct ws_node *top, size_t *nr_out)
{
	struct ws_node **list = NULL;
	size_t nr = 0, cap = 0, at = 0;
	for (uint32_t i = 0; i < top->nr; i++) {
		GROW(list, nr, cap);
		list[nr++] = top->child[i];
	}
	for (; at < nr; at++)
		for (uint32_t i = 0; i < list[at]->nr; i++) {
			GROW(list, nr, cap);
			list[nr++] = list[at]->child[i];
		}
	*nr_out = nr;
	return list;
}

struct ws_node *walk_new_node(struct walk *w, struct ws_node *up, const char *name, size_t len,
			      struct err *err)
{
	if (w->u->nr_nodes >= UPPER_NODES_MAX) {
		err_set(err, ERR_FULL,
			"more than %d changed paths in the workspace; keep large trees out of it, or split it",
			UPPER_NODES_MAX);
		return NULL;
	}
	struct ws_node *n = node_new(up, name, len);
	n->now.nlink = n->base.nlink = 1;
	w->u->nr_nodes++;
	return n;
}

int walk_list(struct walk *w, int dir, walk_dent_fn *fn, void *arg, struct err *err)
{
	char *list = mem_alloc(LIST_SIZE);
	int rc = 0;
	for (long n; rc == 0 && (n = syscall(SYS_getdents64, dir, list, LIST_SIZE)) != 0;) {
		if (n < 0) {
			rc = 1;
			break;
		}
		for (long at = 0; rc == 0 && at < n;) {
			const struct walk_dent *d = (const void *)(list + at);
			at += d->len;
			if (d->name[0] == '.' &&
			    (!d->name[1] || (d->name[1] == '.' && !d->name[2])))
				continue;
			rc = fn(w, dir, d, arg, err);
		}
	}
	free(list);
	return rc;
}

/* One more path of the base that is there no longer. */
static int expand_entry(struct walk *w, int dir, const struct walk_dent *d, void *arg,
			struct err *err)
{
	struct ws_node *up = arg;
	size_t len = strlen(d->name);
	struct ws_node *n = node_child(up, d->name, len);
	if (!n)
		n = walk_new_node(w, up, d->name, len, err);
	if (!n)
		return -1;
	if (n->base_known)
		return 0;
	n->base = lower_state(w, n, dir);
	n->base_known = true;
	if (n->in_upper)
		return 0;
	n->now = n->base;
	bool keep =
		n->base.kind == WS_FILE && w->u->removed_kept + n->base.size <= w->u->removed_max;
	if (n->base.kind == WS_FILE && !keep)
		n->base.flags |= WS_HASH_ONLY;
	walk_set_now(w->u, n, &walk_nothing);
	n->base_kept = true;
	walk_keep(w->u, &n->base, &w->base_bytes);
	if (keep && !(n->base.flags & WS_HASH_ONLY))
		w->u->removed_kept += n->base.size;
	return 0;
}

/* Gives every path that the base has below @top a node of its own. */
static int walk_expand(struct walk *w, struct ws_node *top, struct err *err)
{
	struct ws_node **todo = NULL;
	size_t nr = 0, cap = 0;
	int rc = 0;
	GROW(todo, nr, cap);
	todo[nr++] = top;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	while (rc == 0 && nr) {
		struct ws_node *d = todo[--nr];
		if (d->base.kind != WS_DIR || d->expanded || w->u->lower_fd < 0)
			continue;
		d->expanded = true;
		node_path(d, &path);
		CLEANUP(fd_close)
		int fd = beneath_open(w->u->lower_fd, buf_cstr(&path), path.len,
				      O_RDONLY | O_DIRECTORY);
		if (fd < 0 || (rc = walk_list(w, fd, expand_entry, d, err)) > 0) {
			strv_push_bytes(&w->u->unlisted, buf_cstr(&path), path.len);
			rc = 0;
		}
		for (uint32_t i = 0; i < d->nr; i++) {
			GROW(todo, nr, cap);
			todo[nr++] = d->child[i];
		}
	}
	free(todo);
	return rc;
}

void walk_learn_lazy(struct walk *w, struct ws_node *n)
{
	if (!n->lazy)
		return;
	int saved = w->lower_dir;
	struct ws_node *dir = w->dir;
	w->dir = n->up;
	w->lower_dir = -2;
	struct ws_state s = lower_state(w, n, walk_lower_dir(w));
	if (s.kind == n->base.kind && ws_has_content(&s))
		s.mode = n->base.mode; /* the copy may have been made with another owner's rights */
	n->base = n->now = s;
	n->lazy = false;
	walk_keep(w->u, &n->base, &w->base_bytes);
	n->base_kept = true;
	fd_close(&w->lower_dir);
	w->lower_dir = saved;
	w->dir = dir;
}

int walk_hide_below(struct walk *w, struct ws_node *n, bool all, struct err *err)
{
	size_t nr;
	struct ws_node **list = walk_all_below(n, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (list[i]->in_upper && !all)
			continue;
		walk_learn_lazy(w, list[i]);
		list[i]->in_upper = list[i]->opaque = false;
		walk_set_now(w->u, list[i], &walk_nothing);
	}
	free(list);
	return n->base.kind == WS_DIR && !w->u->copy ? walk_expand(w, n, err) : 0;
}

static bool walk_hidden(const struct ws_node *n)
{
	for (n = n->up; n; n = n->up)
		if (n->opaque)
			return true;
	return false;
}

/* An overlay keeps no whiteout of a removed file if the user has removed the file below it, too. A
 * layer that is an overlay itself may show the file still: without a name. */
static bool walk_gone_below(struct walk *w, const struct ws_node *n)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct stat st;
	if (n->base.kind == WS_NONE || w->u->lower_fd < 0)
		return false;
	node_path(n, &path);
	CLEANUP(fd_close)
	int fd = beneath_open(w->u->lower_fd, buf_cstr(&path), path.len, O_PATH);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static void walk_uncover(struct walk *w, struct ws_node *n, bool hidden)
{
	bool gone = hidden || walk_gone_below(w, n);
	n->in_upper = n->opaque = n->expanded = false;
	walk_set_now(w->u, n, gone ? &walk_nothing : &n->base);
}

int walk_vanish(struct walk *w, struct ws_node *n, struct err *err)
{
	if (w->u->copy) {
		if (walk_hide_below(w, n, true, err) < 0)
			return -1;
		walk_learn_lazy(w, n);
		n->in_upper = false;
		walk_set_now(w->u, n, &walk_nothing);
		walk_keep_base(w, n, false);
		return 0;
	}
	bool hidden = walk_hidden(n);
	size_t nr;
	struct ws_node **list = walk_all_below(n, &nr);
	walk_uncover(w, n, hidden);
	for (size_t i = 0; i < nr; i++)
		walk_uncover(w, list[i], hidden);
	free(list);
	return 0;
}
