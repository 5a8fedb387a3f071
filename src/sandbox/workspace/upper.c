#include "sandbox/workspace/upper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/beneath.h"
#include "sandbox/workspace/walk.h"

enum { RACY_NS = 20000000, WAIT_SIZE = 1 << 20 };

void upper_init(struct upper *u)
{
	*u = (struct upper){
		.upper_fd = -1, .lower_fd = -1, .keep_max = 16 << 20, .removed_max = 64 << 20
	};
	u->root = node_new(NULL, "", 0);
	u->root->base = u->root->now =
		(struct ws_state){ .kind = WS_DIR, .mode = 0755, .nlink = 1 };
	u->root->base_known = u->root->in_upper = true;
}

void upper_release(struct upper *u)
{
	if (u->root)
		node_free(u->root);
	free(u->changed);
	strv_release(&u->unlisted);
	strv_release(&u->deep);
	strv_release(&u->unread);
	*u = (struct upper){ .upper_fd = -1, .lower_fd = -1 };
}

static struct ws_stamp stamp_of(const struct stat *st)
{
	return (struct ws_stamp){ .ino = st->st_ino,
				  .size = (uint64_t)st->st_size,
				  .mode = st->st_mode,
				  .nlink = (uint32_t)st->st_nlink,
				  .mtime_ns = st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
				  .ctime_ns =
					  st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec };
}

static bool stamp_eq(const struct ws_stamp *a, const struct ws_stamp *b)
{
	return a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns && a->mode == b->mode && a->nlink == b->nlink;
}

static int64_t wall_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Clocks of file systems tick in milliseconds: a second write within the tick leaves no trace in
 * the stamp. */
static bool too_fresh(const struct stat *st)
{
	return st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec > wall_ns() - RACY_NS;
}

/* --- entries --- */

/* So much of a path is named: it can be as long as the sandbox likes. */
enum { NAMED_BYTES = 512, CLOCK_EVERY = 256 };

static void name_left_out(const struct ws_node *n, struct strv *list)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (list->nr >= UPPER_NAMED)
		return;
	node_path(n, &path);
	strv_push_bytes(list, buf_cstr(&path), path.len < NAMED_BYTES ? path.len : NAMED_BYTES);
}

static int look_dir(struct walk *w, struct ws_node *n, const struct stat *st, bool deep,
		    struct err *err)
{
	bool was_dir = n->in_upper && S_ISDIR(n->stamp.mode);
	if (n->in_upper && !was_dir && walk_vanish(w, n, err) < 0)
		return -1;
	n->in_upper = true;
	struct ws_state s;
	content_other(st, &s);
	if (node_depth(n) >= UPPER_DEPTH_MAX) {
		s.flags = WS_UNREADABLE;
		name_left_out(n, &w->u->deep);
	}
	walk_set_now(w->u, n, &s);
	if (!was_dir)
		/* so that its own attributes are read */
		n->stamp = (struct ws_stamp){ .mode = st->st_mode };
	if (!(s.flags & WS_UNREADABLE) && (deep || !was_dir)) {
		GROW(w->todo, w->nr, w->cap);
		w->todo[w->nr++] = (struct item){ .node = n, .deep = true };
	}
	return 0;
}

static void upper_read_file(struct walk *w, struct ws_node *n, struct stat *st, struct ws_state *s)
{
	if (too_fresh(st) && st->st_size >= WAIT_SIZE) { /* cheaper than reading it twice */
		struct timespec t = { .tv_nsec = RACY_NS };
		nanosleep(&t, NULL);
	}
	n->racy = too_fresh(st);
	CLEANUP(fd_close) int fd = walk_open_entry(w, "upper", w->upper_dir, n);
	struct stat now;
	if (fd >= 0 && fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) {
		content_file(fd, walk_rule(w, n), s, &w->bytes, st);
		walk_hide(w->u, s, &w->bytes);
		n->racy |= (s->flags & WS_TORN) != 0;
		return;
	}
	buf_reset(&w->bytes);
	name_left_out(n, &w->u->unread);
	*s = (struct ws_state){ .kind = WS_FILE,
				.flags = WS_UNREADABLE,
				.mode = (uint16_t)(st->st_mode & 07777),
				.nlink = (uint32_t)st->st_nlink,
				.size = (uint64_t)st->st_size };
}

static int look_other(struct walk *w, struct ws_node *n, struct stat *st, struct err *err)
{
	if (n->in_upper && S_ISDIR(n->stamp.mode) && walk_vanish(w, n, err) < 0)
		return -1;
	if ((n->base.kind == WS_DIR || n->nr) && walk_hide_below(w, n, true, err) < 0)
		return -1;
	bool whiteout = S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0) && !w->u->copy;
	struct ws_state s = walk_nothing;
	buf_reset(&w->bytes);
	n->racy = false;
	if (whiteout)
		;
	else if (S_ISREG(st->st_mode))
		upper_read_file(w, n, st, &s);
	else if (S_ISLNK(st->st_mode))
		content_link(w->upper_dir, n->name, &s, &w->bytes);
	else
		content_other(st, &s);
	bool fresh = !n->base_known || n->lazy;
	walk_learn_lazy(w, n);
	walk_learn_base(w, n);
	n->rewritten = n->in_upper && S_ISREG(st->st_mode) && S_ISREG(n->stamp.mode) &&
		       n->stamp.ino == st->st_ino;
	n->in_upper = true;
	n->opaque = false;
	n->stamp = stamp_of(st);
	walk_set_now(w->u, n, &s);
	if (node_differs(n))
		walk_keep(w->u, &s, &w->bytes);
	walk_keep_base(w, n, fresh);
	return 0;
}

static bool stat_entry(struct walk *w, const struct walk_dent *d, struct ws_node *dir,
		       struct stat *st)
{
	if (fstatat(w->upper_dir, d->name, st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (errno != EACCES)
		return false;
	/* A directory that may be listed but not entered: entries that can be opened for us are,
	 * the rest is known by its type.
	 */
	struct ws_node *tmp = node_new(NULL, d->name, strlen(d->name));
	tmp->up = dir;
	CLEANUP(fd_close)
	int fd = d->type == DT_REG || d->type == DT_DIR ? walk_open(w, "upper", tmp) : -1;
	free(tmp);
	if (fd >= 0 && fstat(fd, st) == 0)
		return true;
	memset(st, 0, sizeof(*st));
	st->st_ino = d->ino;
	st->st_nlink = 1;
	st->st_mode = (mode_t)(d->type << 12);
	return d->type != DT_UNKNOWN;
}

static int look_entry(struct walk *w, int dir, const struct walk_dent *d, void *arg,
		      struct err *err)
{
	(void)dir;
	bool deep = *(const bool *)arg;
	struct stat st;
	if (++w->u->looked % CLOCK_EVERY == 0 && clock_awake_us() > w->until_us)
		return err_set(
			err, ERR_TIMEOUT,
			"the scan of the files stopped after %d s, at %zu entries; keep large trees out of "
			"the workspace",
			UPPER_WALK_S, w->u->looked);
	if (!stat_entry(w, d, w->dir, &st))
		return 0; /* gone again */
	size_t len = strlen(d->name);
	struct ws_node *n = node_child(w->dir, d->name, len);
	bool fresh = !n;
	if (fresh)
		n = walk_new_node(w, w->dir, d->name, len, err);
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
		n->stamp = S_ISDIR(st.st_mode) ? (struct ws_stamp){ .mode = st.st_mode }
					       : stamp_of(&st);
	} else if (fresh && w->u->copy) {
		n->base_known = true;
	}
	if (S_ISDIR(st.st_mode)) {
		bool known = n->base_known;
		walk_learn_base(w, n);
		if (look_dir(w, n, &st, deep, err) < 0)
			return -1;
		walk_keep_base(w, n, !known); /* a file or link may have stood here */
		return 0;
	}
	struct ws_stamp stamp = stamp_of(&st);
	if (n->in_upper && !n->racy && stamp_eq(&n->stamp, &stamp))
		return 0;
	if (!n->base_known && !n->lazy && (S_ISCHR(st.st_mode) || w->dir->base.kind == WS_DIR)) {
		/* a directory of the base may stand here: it must be known before it is hidden */
		struct stat low;
		int ld = walk_lower_dir(w);
		if (ld >= 0 && fstatat(ld, n->name, &low, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(low.st_mode))
			walk_learn_base(w, n);
	}
	return look_other(w, n, &st, err);
}

/* --- directories --- */

static bool has_opaque(int fd)
{
	char v[4];
	return fgetxattr(fd, "user.overlay.opaque", v, sizeof(v)) > 0
		       ? v[0] == 'y'
		       : fgetxattr(fd, "trusted.overlay.opaque", v, sizeof(v)) > 0 && v[0] == 'y';
}

static int open_upper_dir(struct walk *w, struct ws_node *d)
{
	node_path(d, &w->path);
	int fd = beneath_open(w->u->upper_fd, buf_cstr(&w->path), w->path.len,
			      O_RDONLY | O_DIRECTORY);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? walk_open(w, "upper", d) : fd;
}

static int look_at_dir(struct walk *w, struct ws_node *d, bool deep, struct err *err)
{
	if (!d->in_upper || (d->up && !S_ISDIR(d->stamp.mode)))
		return 0; /* hidden or replaced since it was put on the list */
	CLEANUP(fd_close) int fd = open_upper_dir(w, d);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP) /* gone, or its parent will tell what it is now */
			return d->up ? walk_vanish(w, d, err)
				     : err_sys(err, "can't open the workspace's files");
		struct ws_state s = d->now;
		s.flags = WS_UNREADABLE;
		walk_set_now(w->u, d, &s);
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
		rc = walk_hide_below(w, d, false, err);
	}
	d->stamp = stamp;
	if (rc == 0)
		rc = walk_list(w, fd, look_entry, &deep, err);
	if (rc > 0) {
		strv_push_bytes(&w->u->unlisted, buf_cstr(&w->path), w->path.len);
		rc = 0;
	} else if (rc == 0) {
		for (uint32_t i = 0; rc == 0 && i < d->nr; i++)
			if (d->child[i]->in_upper && d->child[i]->seen != w->u->walk)
				rc = walk_vanish(w, d->child[i], err);
	}
	fd_close(&w->lower_dir);
	w->lower_dir = -1;
	return rc;
}

static int upper_run(struct walk *w, struct err *err)
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

static void upper_begin(struct walk *w, struct upper *u)
{
	*w = (struct walk){ .u = u, .upper_dir = -1, .lower_dir = -1 };
	u->walk++;
	u->looked = 0;
	u->removed_kept = 0;
	strv_release(&u->unlisted);
	strv_release(&u->deep);
	strv_release(&u->unread);
	w->until_us =
		u->until_us ? u->until_us : clock_awake_us() + (int64_t)UPPER_WALK_S * 1000000;
}

static void upper_add(struct walk *w, struct ws_node *n, bool deep)
{
	GROW(w->todo, w->nr, w->cap);
	w->todo[w->nr++] = (struct item){ .node = n, .deep = deep };
}

int upper_walk(struct upper *u, struct err *err)
{
	struct walk w;
	upper_begin(&w, u);
	upper_add(&w, u->root, true);
	int rc = upper_run(&w, err);
	if (rc == 0)
		u->primed = true;
	return rc;
}

int upper_prime(struct upper *u, struct err *err)
{
	int fd = u->upper_fd;
	if (!u->copy || u->primed)
		return 0;
	if (u->lower_fd < 0) { /* it began empty */
		u->primed = true;
		return 0;
	}
	u->upper_fd = u->lower_fd;
	int rc = upper_walk(u, err);
	u->upper_fd = fd;
	return rc;
}

/* Looks at one entry of the directory under way by its name. */
static int look_name(struct walk *w, const char *name, size_t len, bool deep, struct err *err)
{
	_Alignas(struct walk_dent) char room[sizeof(struct walk_dent) + NAME_MAX + 1];
	struct walk_dent *d = (void *)room;
	struct stat st;
	if (len > NAME_MAX)
		return 0;
	memset(d, 0, sizeof(*d));
	memcpy(d->name, name, len);
	d->name[len] = 0;
	if (fstatat(w->upper_dir, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return look_entry(w, w->upper_dir, d, &deep, err);
	w->u->looked++;
	struct ws_node *n = node_child(w->dir, name, len);
	return n && n->in_upper ? walk_vanish(w, n, err) : 0;
}

/* The entries of @told from @from on that are in the same directory. Returns the first that is
 * not. */
static size_t look_names(struct walk *w, const struct strv *told, size_t from, int *rc,
			 struct err *err)
{
	const char *first = told->item[from];
	size_t len = told->len[from];
	bool deep = len && first[len - 1] == '/';
	const char *slash = memrchr(first, '/', len - deep);
	size_t dir_len = slash ? (size_t)(slash - first) : 0, skip = slash ? dir_len + 1 : 0,
	       i = from;
	struct ws_node *d = node_find(w->u->root, first, dir_len);
	bool known = d && d->in_upper && (!d->up || S_ISDIR(d->stamp.mode));
	CLEANUP(fd_close) int fd = known ? open_upper_dir(w, d) : -1;
	w->dir = d;
	w->upper_dir = fd;
	w->lower_dir = -2;
	for (; i < told->nr && *rc == 0; i++) {
		const char *p = told->item[i];
		size_t n = told->len[i];
		deep = n && p[n - 1] == '/';
		n -= deep;
		if (n <= skip || memcmp(p, first, skip) != 0 || memchr(p + skip, '/', n - skip))
			break;
		/* else its directory has gone or come: told of by that one's own entry */
		if (fd >= 0)
			*rc = look_name(w, p + skip, n - skip, deep, err);
	}
	fd_close(&w->lower_dir);
	w->lower_dir = -1;
	return i > from ? i : from + 1;
}

int upper_walk_only(struct upper *u, const struct strv *told, struct err *err)
{
	struct walk w;
	int rc = 0;
	upper_begin(&w, u);
	for (size_t i = 0; rc == 0 && i < told->nr;)
		i = look_names(&w, told, i, &rc, err);
	if (rc < 0)
		w.nr = 0;
	return upper_run(&w, err) < 0 ? -1 : rc;
}

void upper_settled(struct upper *u)
{
	bool gone = false;
	for (size_t i = 0; i < u->nr_changed; i++) {
		struct ws_node *n = u->changed[i];
		n->changed = false;
		n->was = n->now;
		gone |= !n->in_upper && !node_differs(n);
	}
	u->nr_changed = 0;
	if (gone)
		u->nr_nodes = node_prune(u->root);
}
