#include "sandbox/workspace/upper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/content.h"

enum { RACY_NS = 20000000, WAIT_SIZE = 1 << 20 };

/* A directory that is to be looked at. @deep: all below it as well. */
struct item {
	struct ws_node *node;
	bool deep;
};

struct walk {
	struct upper *u;
	struct item *todo;
	size_t nr, cap;
	int upper_dir, lower_dir; /* of the directory under way; lower_dir -2: not opened yet */
	struct ws_node *dir;
	struct buf path, bytes, base_bytes;
	char *list;               /* getdents64 buffer */
};
enum { LIST_SIZE = 64 << 10 };

void upper_init(struct upper *u)
{
	*u = (struct upper){ .upper_fd = -1, .lower_fd = -1, .keep_max = 16 << 20, .removed_max = 64 << 20 };
	u->root = node_new(NULL, "", 0);
	u->root->base = u->root->now = (struct ws_state){ .kind = WS_DIR, .mode = 0755, .nlink = 1 };
	u->root->base_known = u->root->in_upper = true;
}

void upper_release(struct upper *u)
{
	if (u->root)
		node_free(u->root);
	free(u->changed);
	strv_release(&u->unlisted);
	*u = (struct upper){ .upper_fd = -1, .lower_fd = -1 };
}

/* --- opening --- */

static int open_step(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	for (int i = 0; i < 8; i++) {
		int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return -1;
}

int upper_open_beneath(int root, const char *path, size_t len, int flags)
{
	enum { STEP = 3800 }; /* below PATH_MAX: longer paths are opened in pieces */
	if (len == 0)
		return openat(root, ".", flags | O_CLOEXEC);
	if (len <= STEP) {
		CLEANUP(free_ptr) char *p = xstrndup(path, len);
		return open_step(root, p, flags);
	}
	int at = -1;
	size_t pos = 0;
	while (len - pos > STEP) {
		size_t cut = pos + STEP;
		while (cut > pos && path[cut] != '/')
			cut--;
		if (cut == pos) {
			errno = ENAMETOOLONG;
			break;
		}
		CLEANUP(free_ptr) char *p = xstrndup(path + pos, cut - pos);
		int next = open_step(at < 0 ? root : at, p, O_PATH | O_DIRECTORY);
		int saved = errno;
		fd_close(&at);
		errno = saved;
		if (next < 0)
			return -1;
		at = next;
		pos = cut + 1;
	}
	if (len - pos > STEP) {
		fd_close(&at);
		return -1;
	}
	CLEANUP(free_ptr) char *p = xstrndup(path + pos, len - pos);
	int fd = open_step(at, p, flags), saved = errno;
	fd_close(&at);
	errno = saved;
	return fd;
}

/* Asks whoever may open what our uid may not. */
static int open_for_us(struct walk *w, const char *which, const struct ws_node *n)
{
	if (!w->u->open)
		return -1;
	node_path(n, &w->path);
	struct err err = ERR_INIT;
	int fd = w->u->open(w->u->open_self, which, buf_cstr(&w->path), &err);
	return fd;
}

static int open_entry(struct walk *w, const char *which, int dir, const struct ws_node *n)
{
	int fd = openat(dir, n->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? open_for_us(w, which, n) : fd;
}

/* The lower's directory that belongs to the one under way; -1 if there is none. */
static int lower_dir(struct walk *w)
{
	if (w->lower_dir == -2) {
		w->lower_dir = -1;
		if (w->u->lower_fd >= 0 && w->dir->base.kind == WS_DIR) {
			node_path(w->dir, &w->path);
			w->lower_dir = upper_open_beneath(w->u->lower_fd, buf_cstr(&w->path), w->path.len,
							  O_PATH | O_DIRECTORY);
		}
	}
	return w->lower_dir;
}

/* --- states --- */

static void set_now(struct upper *u, struct ws_node *n, const struct ws_state *now)
{
	bool same = n->now.kind == now->kind && n->now.flags == now->flags && n->now.nlink == now->nlink &&
		    n->now.mode == now->mode && !memcmp(&n->now.oid, &now->oid, sizeof(now->oid));
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

/* What lies in the workspace's own .git is kept whatever the rules say. */
static bool is_admin(const struct buf *path)
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
			hit = !is_admin(&w->path) && ignore_match(w->u->ignore, buf_cstr(&w->path), w->path.len, true);
		}
	}
	d->hash_only = hit;
	d->hash_only_known = true;
	return hit;
}

static struct content_rule rule_of(struct walk *w, struct ws_node *n)
{
	struct content_rule r = { .keep_max = w->u->keep_max };
	if (!w->u->ignore || !n->up)
		return r;
	bool hit = dir_hash_only(w, n->up);
	node_path(n, &w->path);
	if (!hit && !is_admin(&w->path))
		hit = ignore_match(w->u->ignore, buf_cstr(&w->path), w->path.len, false);
	r.hash_only = hit && !ignore_tracked(w->u->ignore, buf_cstr(&w->path), w->path.len);
	return r;
}

/* State of entry @n of the lower's directory @dir; what it holds goes into base_bytes. */
static struct ws_state lower_state(struct walk *w, struct ws_node *n, int dir)
{
	struct ws_state s = { .kind = WS_NONE, .nlink = 1 };
	struct stat st;
	buf_reset(&w->base_bytes);
	if (dir < 0 || fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return s;
	if (S_ISREG(st.st_mode)) {
		CLEANUP(fd_close) int fd = open_entry(w, "lower", dir, n);
		struct content_rule r = rule_of(w, n);
		if (fd >= 0)
			content_file(fd, r, &s, &w->base_bytes, &st);
		else
			s = (struct ws_state){ .kind = WS_FILE, .mode = (uint16_t)(st.st_mode & 07777), .nlink = 1,
					       .size = (uint64_t)st.st_size, .flags = WS_UNREADABLE };
		s.nlink = 1; /* links of the base are not the box's doing */
	} else if (S_ISLNK(st.st_mode)) {
		content_link(dir, n->name, &s, &w->base_bytes);
	} else {
		content_other(&st, &s);
	}
	return s;
}

static void keep_bytes(struct upper *u, const struct ws_state *s, const struct buf *bytes)
{
	struct object_id id;
	if ((s->kind == WS_FILE || s->kind == WS_LINK) && !(s->flags & (WS_HASH_ONLY | WS_UNREADABLE)))
		u->store.add(u->store.self, OBJECT_BLOB, buf_cstr(bytes), bytes->len, &id);
}

/* Learns what the base has at @n (the directory under way is its parent). */
static void learn_base(struct walk *w, struct ws_node *n)
{
	if (n->base_known)
		return;
	n->base = n->up->base.kind == WS_DIR ? lower_state(w, n, lower_dir(w)) : (struct ws_state){ .nlink = 1 };
	n->base_known = true;
	if (!n->below && !n->changed)
		n->now = n->base;
}

/* Once a path differs from the base, what the base has is kept too: the session file explains itself. @fresh: base_bytes
 * holds it already. */
static void keep_base(struct walk *w, struct ws_node *n, bool fresh)
{
	if (n->base_kept || !node_differs(n) || (n->base.kind != WS_FILE && n->base.kind != WS_LINK))
		return;
	n->base_kept = true;
	if (!fresh) {
		struct ws_state again = lower_state(w, n, lower_dir(w));
		if (!ws_state_eq(&again, &n->base)) {
			n->base.flags |= WS_HASH_ONLY; /* the lower has changed meanwhile: drift, see base.h */
			return;
		}
	}
	keep_bytes(w->u, &n->base, &w->base_bytes);
}

static struct ws_stamp stamp_of(const struct stat *st)
{
	return (struct ws_stamp){ .ino = st->st_ino, .size = (uint64_t)st->st_size, .mode = st->st_mode,
				  .nlink = (uint32_t)st->st_nlink,
				  .mtime_ns = st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
				  .ctime_ns = st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec };
}

static bool stamp_eq(const struct ws_stamp *a, const struct ws_stamp *b)
{
	return a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
	       a->mode == b->mode && a->nlink == b->nlink;
}

static int64_t wall_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Clocks of file systems tick in milliseconds: a second write within the tick leaves no trace in the stamp. */
static bool too_fresh(const struct stat *st)
{
	return st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec > wall_ns() - RACY_NS;
}

/* --- what hides what --- */

/* All below @top, each once, parents first. The list is made first because callers change states on the way. */
static struct ws_node **all_below(struct ws_node *top, size_t *nr_out)
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

static const struct ws_state nothing = { .kind = WS_NONE, .nlink = 1 };

static struct ws_node *new_node(struct walk *w, struct ws_node *up, const char *name, size_t len, struct err *err)
{
	if (w->u->nr_nodes >= UPPER_NODES_MAX) {
		err_set(err, ERR_FULL, "more than %d changed paths in the workspace; keep them out of it or split it",
			UPPER_NODES_MAX);
		return NULL;
	}
	struct ws_node *n = node_new(up, name, len);
	n->now.nlink = n->base.nlink = 1;
	w->u->nr_nodes++;
	return n;
}

struct dent {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

typedef int dent_fn(struct walk *w, int dir, const struct dent *d, void *arg, struct err *err);

static int each_dent(struct walk *w, int dir, dent_fn *fn, void *arg, struct err *err)
{
	char *list = xmalloc(LIST_SIZE);
	int rc = 0;
	for (long n; rc == 0 && (n = syscall(SYS_getdents64, dir, list, LIST_SIZE)) != 0;) {
		if (n < 0) {
			rc = 1;
			break;
		}
		for (long at = 0; rc == 0 && at < n;) {
			const struct dent *d = (const void *)(list + at);
			at += d->len;
			if (d->name[0] == '.' && (!d->name[1] || (d->name[1] == '.' && !d->name[2])))
				continue;
			rc = fn(w, dir, d, arg, err);
		}
	}
	free(list);
	return rc;
}

/* One more path of the base that is there no longer. */
static int expand_entry(struct walk *w, int dir, const struct dent *d, void *arg, struct err *err)
{
	struct ws_node *up = arg;
	size_t len = strlen(d->name);
	struct ws_node *n = node_child(up, d->name, len);
	if (!n)
		n = new_node(w, up, d->name, len, err);
	if (!n)
		return -1;
	if (n->base_known)
		return 0;
	n->base = lower_state(w, n, dir);
	n->base_known = true;
	if (n->in_upper)
		return 0;
	n->now = n->base;
	bool keep = n->base.kind == WS_FILE && w->u->removed_kept + n->base.size <= w->u->removed_max;
	if (n->base.kind == WS_FILE && !keep)
		n->base.flags |= WS_HASH_ONLY;
	set_now(w->u, n, &nothing);
	n->base_kept = true;
	keep_bytes(w->u, &n->base, &w->base_bytes);
	if (keep && !(n->base.flags & WS_HASH_ONLY))
		w->u->removed_kept += n->base.size;
	return 0;
}

/* Gives every path that the base has below @top a node of its own. */
static int expand(struct walk *w, struct ws_node *top, struct err *err)
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
		CLEANUP(fd_close) int fd = upper_open_beneath(w->u->lower_fd, buf_cstr(&path), path.len,
							      O_RDONLY | O_DIRECTORY);
		if (fd < 0 || (rc = each_dent(w, fd, expand_entry, d, err)) > 0) {
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

/* In a copy nothing is known of the base of a file until it changes. */
static void learn_lazy(struct walk *w, struct ws_node *n)
{
	if (!n->lazy)
		return;
	int saved = w->lower_dir;
	struct ws_node *dir = w->dir;
	w->dir = n->up;
	w->lower_dir = -2;
	struct ws_state s = lower_state(w, n, lower_dir(w));
	if (s.kind == n->base.kind && (s.kind == WS_FILE || s.kind == WS_LINK))
		s.mode = n->base.mode; /* the copy may have been made with another owner's rights */
	n->base = n->now = s;
	n->lazy = false;
	keep_bytes(w->u, &n->base, &w->base_bytes);
	n->base_kept = true;
	fd_close(&w->lower_dir);
	w->lower_dir = saved;
	w->dir = dir;
}

/* Nothing is left of @n's children: a whiteout, a file or an opaque directory stands there now. @all: also of those in
 * the upper (false for an opaque directory, whose upper part is walked afterwards). */
static int hide_below(struct walk *w, struct ws_node *n, bool all, struct err *err)
{
	size_t nr;
	struct ws_node **list = all_below(n, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (list[i]->in_upper && !all)
			continue;
		learn_lazy(w, list[i]);
		list[i]->in_upper = list[i]->opaque = false;
		set_now(w->u, list[i], &nothing);
	}
	free(list);
	return n->base.kind == WS_DIR && !w->u->copy ? expand(w, n, err) : 0;
}

static bool hidden(const struct ws_node *n)
{
	for (n = n->up; n; n = n->up)
		if (n->opaque)
			return true;
	return false;
}

/* An entry of the upper has gone: what lies below shows through again. */
static int vanish(struct walk *w, struct ws_node *n, struct err *err)
{
	if (w->u->copy) {
		if (hide_below(w, n, true, err) < 0)
			return -1;
		learn_lazy(w, n);
		n->in_upper = false;
		set_now(w->u, n, &nothing);
		keep_base(w, n, false);
		return 0;
	}
	bool gone = hidden(n);
	size_t nr;
	struct ws_node **list = all_below(n, &nr);
	n->in_upper = n->opaque = n->expanded = false;
	set_now(w->u, n, gone ? &nothing : n->below ? n->below : &n->base);
	for (size_t i = 0; i < nr; i++) {
		struct ws_node *c = list[i];
		c->in_upper = c->opaque = c->expanded = false;
		set_now(w->u, c, gone ? &nothing : c->below ? c->below : &c->base);
	}
	free(list);
	return 0;
}

/* --- entries --- */

static int look_dir(struct walk *w, struct ws_node *n, const struct stat *st, bool deep, struct err *err)
{
	bool was_dir = n->in_upper && S_ISDIR(n->stamp.mode);
	if (n->in_upper && !was_dir && vanish(w, n, err) < 0)
		return -1;
	n->in_upper = true;
	struct ws_state s;
	content_other(st, &s);
	if (node_depth(n) >= UPPER_DEPTH_MAX)
		s.flags = WS_UNREADABLE;
	set_now(w->u, n, &s);
	if (!was_dir)
		n->stamp = (struct ws_stamp){ .mode = st->st_mode }; /* so that its own attributes are read */
	if (!(s.flags & WS_UNREADABLE) && (deep || !was_dir)) {
		GROW(w->todo, w->nr, w->cap);
		w->todo[w->nr++] = (struct item){ .node = n, .deep = true };
	}
	return 0;
}

static void read_file(struct walk *w, struct ws_node *n, struct stat *st, struct ws_state *s)
{
	if (too_fresh(st) && st->st_size >= WAIT_SIZE) { /* cheaper than reading it twice */
		struct timespec t = { .tv_nsec = RACY_NS };
		nanosleep(&t, NULL);
	}
	n->racy = too_fresh(st);
	CLEANUP(fd_close) int fd = open_entry(w, "upper", w->upper_dir, n);
	struct stat now;
	if (fd >= 0 && fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) {
		content_file(fd, rule_of(w, n), s, &w->bytes, st);
		n->racy |= (s->flags & WS_TORN) != 0;
		return;
	}
	buf_reset(&w->bytes);
	*s = (struct ws_state){ .kind = WS_FILE, .flags = WS_UNREADABLE, .mode = (uint16_t)(st->st_mode & 07777),
				.nlink = (uint32_t)st->st_nlink, .size = (uint64_t)st->st_size };
}

static int look_other(struct walk *w, struct ws_node *n, struct stat *st, struct err *err)
{
	if (n->in_upper && S_ISDIR(n->stamp.mode) && vanish(w, n, err) < 0)
		return -1;
	if ((n->base.kind == WS_DIR || n->nr) && hide_below(w, n, true, err) < 0)
		return -1;
	bool whiteout = S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0) && !w->u->copy;
	struct ws_state s = nothing;
	buf_reset(&w->bytes);
	n->racy = false;
	if (whiteout)
		;
	else if (S_ISREG(st->st_mode))
		read_file(w, n, st, &s);
	else if (S_ISLNK(st->st_mode))
		content_link(w->upper_dir, n->name, &s, &w->bytes);
	else
		content_other(st, &s);
	bool fresh = !n->base_known || n->lazy;
	learn_lazy(w, n);
	learn_base(w, n);
	n->rewritten = n->in_upper && S_ISREG(st->st_mode) && S_ISREG(n->stamp.mode) && n->stamp.ino == st->st_ino;
	n->in_upper = true;
	n->opaque = false;
	n->stamp = stamp_of(st);
	set_now(w->u, n, &s);
	if (node_differs(n))
		keep_bytes(w->u, &s, &w->bytes);
	keep_base(w, n, fresh);
	return 0;
}

static bool stat_entry(struct walk *w, const struct dent *d, struct ws_node *dir, struct stat *st)
{
	if (fstatat(w->upper_dir, d->name, st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (errno != EACCES)
		return false;
	/* A directory that may be listed but not entered: what can be opened for us is, the rest is known by its type. */
	struct ws_node *tmp = node_new(NULL, d->name, strlen(d->name));
	tmp->up = dir;
	CLEANUP(fd_close) int fd = d->type == DT_REG || d->type == DT_DIR ? open_for_us(w, "upper", tmp) : -1;
	free(tmp);
	if (fd >= 0 && fstat(fd, st) == 0)
		return true;
	memset(st, 0, sizeof(*st));
	st->st_ino = d->ino;
	st->st_nlink = 1;
	st->st_mode = (mode_t)(d->type << 12);
	return d->type != DT_UNKNOWN;
}

static int look_entry(struct walk *w, int dir, const struct dent *d, void *arg, struct err *err)
{
	(void)dir;
	bool deep = *(const bool *)arg;
	struct stat st;
	w->u->looked++;
	if (!stat_entry(w, d, w->dir, &st))
		return 0; /* gone again */
	size_t len = strlen(d->name);
	struct ws_node *n = node_child(w->dir, d->name, len);
	bool fresh = !n;
	if (fresh)
		n = new_node(w, w->dir, d->name, len, err);
	if (!n)
		return -1;
	n->seen = w->u->walk;
	if (fresh && w->u->copy && !w->u->primed) { /* the copy as it was made is the base */
		content_other(&st, &n->base);
		if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
			n->base.size = (uint64_t)st.st_size;
		n->now = n->base;
		n->lazy = !S_ISDIR(st.st_mode);
		n->base_known = n->in_upper = true;
		n->stamp = S_ISDIR(st.st_mode) ? (struct ws_stamp){ .mode = st.st_mode } : stamp_of(&st);
	} else if (fresh && w->u->copy) {
		n->base_known = true;
	}
	if (S_ISDIR(st.st_mode)) {
		learn_base(w, n);
		return look_dir(w, n, &st, deep, err);
	}
	struct ws_stamp stamp = stamp_of(&st);
	if (n->in_upper && !n->racy && stamp_eq(&n->stamp, &stamp))
		return 0;
	if (!n->base_known && !n->lazy && (S_ISCHR(st.st_mode) || w->dir->base.kind == WS_DIR)) {
		/* a directory of the base may stand here: it must be known before it is hidden */
		struct stat low;
		int ld = lower_dir(w);
		if (ld >= 0 && fstatat(ld, n->name, &low, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(low.st_mode))
			learn_base(w, n);
	}
	return look_other(w, n, &st, err);
}

/* --- directories --- */

static bool has_opaque(int fd)
{
	char v[4];
	return fgetxattr(fd, "user.overlay.opaque", v, sizeof(v)) > 0 ? v[0] == 'y'
	       : fgetxattr(fd, "trusted.overlay.opaque", v, sizeof(v)) > 0 && v[0] == 'y';
}

static int open_upper_dir(struct walk *w, struct ws_node *d)
{
	node_path(d, &w->path);
	int fd = upper_open_beneath(w->u->upper_fd, buf_cstr(&w->path), w->path.len, O_RDONLY | O_DIRECTORY);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? open_for_us(w, "upper", d) : fd;
}

static int look_at_dir(struct walk *w, struct ws_node *d, bool deep, struct err *err)
{
	if (!d->in_upper || (d->up && !S_ISDIR(d->stamp.mode)))
		return 0; /* hidden or replaced since it was put on the list */
	CLEANUP(fd_close) int fd = open_upper_dir(w, d);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) /* gone, or its parent will tell what it is now */
			return d->up ? vanish(w, d, err) : err_sys(err, "cannot open the workspace's files");
		struct ws_state s = d->now;
		s.flags = WS_UNREADABLE;
		set_now(w->u, d, &s);
		node_path(d, &w->path);
		strv_push_bytes(&w->u->unlisted, buf_cstr(&w->path), w->path.len);
		return 0;
	}
	w->dir = d;
	w->upper_dir = fd;
	w->lower_dir = -2;
	struct ws_stamp stamp = stamp_of(&st);
	int rc = 0;
	if (!w->u->copy && !stamp_eq(&d->stamp, &stamp) && !d->opaque && has_opaque(fd)) {
		d->opaque = true;
		rc = hide_below(w, d, false, err);
	}
	d->stamp = stamp;
	if (rc == 0)
		rc = each_dent(w, fd, look_entry, &deep, err);
	if (rc > 0) {
		strv_push_bytes(&w->u->unlisted, buf_cstr(&w->path), w->path.len);
		rc = 0;
	} else if (rc == 0) {
		for (uint32_t i = 0; rc == 0 && i < d->nr; i++)
			if (d->child[i]->in_upper && d->child[i]->seen != w->u->walk)
				rc = vanish(w, d->child[i], err);
	}
	fd_close(&w->lower_dir);
	w->lower_dir = -1;
	return rc;
}

static int run(struct walk *w, struct err *err)
{
	int rc = 0;
	while (rc == 0 && w->nr) {
		struct item it = w->todo[--w->nr];
		rc = look_at_dir(w, it.node, it.deep, err);
	}
	free(w->todo);
	buf_release(&w->path);
	buf_release(&w->bytes);
	buf_release(&w->base_bytes);
	return rc;
}

static void begin(struct walk *w, struct upper *u)
{
	*w = (struct walk){ .u = u, .upper_dir = -1, .lower_dir = -1 };
	u->walk++;
	u->looked = 0;
	u->removed_kept = 0;
	strv_release(&u->unlisted);
}

static void add(struct walk *w, struct ws_node *n, bool deep)
{
	GROW(w->todo, w->nr, w->cap);
	w->todo[w->nr++] = (struct item){ .node = n, .deep = deep };
}

int upper_walk(struct upper *u, struct err *err)
{
	struct walk w;
	begin(&w, u);
	add(&w, u->root, true);
	int rc = run(&w, err);
	if (rc == 0)
		u->primed = true;
	return rc;
}

int upper_walk_only(struct upper *u, const struct strv *dirs, struct err *err)
{
	struct walk w;
	begin(&w, u);
	for (size_t i = dirs->nr; i-- > 0;) { /* a list that is taken from its end: parents come first */
		size_t len = dirs->len[i];
		struct ws_node *n = node_find(u->root, dirs->item[i], len);
		if (n && n->in_upper) {
			add(&w, n, false);
			continue;
		}
		/* new: found and walked as a whole when the nearest directory that is known is looked at */
		while (len && (!n || !n->in_upper)) {
			while (len && dirs->item[i][len - 1] != '/')
				len--;
			len -= len > 0;
			n = node_find(u->root, dirs->item[i], len);
		}
		add(&w, n && n->in_upper ? n : u->root, false);
	}
	return run(&w, err);
}

void upper_rotated(struct upper *u)
{
	size_t nr;
	struct ws_node **list = all_below(u->root, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct ws_node *n = list[i];
		n->in_upper = n->opaque = n->expanded = n->racy = false;
		if (node_differs(n)) {
			if (!n->below)
				n->below = NEW(struct ws_state);
			*n->below = n->now;
		} else {
			free(n->below);
			n->below = NULL;
		}
	}
	free(list);
	u->root->stamp = (struct ws_stamp){ 0 };
}

void upper_settled(struct upper *u)
{
	bool gone = false;
	for (size_t i = 0; i < u->nr_changed; i++) {
		struct ws_node *n = u->changed[i];
		n->changed = false;
		n->was = n->now;
		gone |= !n->in_upper && !n->below && !node_differs(n);
	}
	u->nr_changed = 0;
	if (gone)
		u->nr_nodes = node_prune(u->root);
}
