#include "sandbox/workspace/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/content.h"
#include "sandbox/workspace/tree.h"
#include "base/beneath.h"

struct listed {
	const char *path; /* in the arena */
	uint32_t len, mode;
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
	bool drifted;
};

struct list {
	struct listed *item; /* sorted by bytes of path */
	size_t nr, cap;
	struct arena arena;
	uint64_t files, dirs, links, other, bytes, foreign;
	size_t unlisted; /* directories that could not be opened */
	bool truncated;
};

struct base {
	struct list first; /* at open */
	struct list last;  /* at the last base_drift; empty before */
	bool have_last;
	struct strv drifted; /* sorted paths */
	int64_t took_us;
};

static void list_release(struct list *l)
{
	free(l->item);
	arena_release(&l->arena);
	*l = (struct list){ 0 };
}

static int cmp_listed(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;
	return ws_path_cmp(a->path, a->len, b->path, b->len);
}

static void base_count_entry(struct list *l, const struct stat *st, uid_t uid)
{
	if (S_ISREG(st->st_mode)) {
		l->files++;
		l->bytes += (uint64_t)st->st_size;
	} else if (S_ISDIR(st->st_mode)) {
		l->dirs++;
	} else if (S_ISLNK(st->st_mode)) {
		l->links++;
	} else {
		l->other++;
	}
	l->foreign += st->st_uid != uid;
}

static void list_entry(struct list *l, const struct buf *path, const struct stat *st)
{
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr++] = (struct listed){
		.path = arena_strndup(&l->arena, buf_cstr(path), path->len),
		.len = (uint32_t)path->len,
		.mode = st->st_mode,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
	};
}

static int list_dir(struct list *l, int lower, const char *dir, size_t dir_len, uid_t uid,
		    struct strv *todo)
{
	int fd = beneath_open(lower, dir, dir_len, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		fd_close(&fd);
		l->unlisted++;
		return dir_len ? 0 : -1;
	}
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_append(&path, dir, dir_len);
	if (dir_len)
		buf_putc(&path, '/');
	size_t keep = path.len;
	const struct dirent *e;
	while ((e = readdir(d)) && !l->truncated) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		path.len = keep;
		buf_puts(&path, e->d_name);
		base_count_entry(l, &st, uid);
		list_entry(l, &path, &st);
		l->truncated = l->nr >= BASE_FILES_MAX;
		if (S_ISDIR(st.st_mode))
			strv_push_bytes(todo, buf_cstr(&path), path.len);
	}
	closedir(d);
	return 0;
}

static int base_list_all(struct list *l, int lower, uid_t uid, struct err *err)
{
	struct strv todo = STRV_INIT;
	int rc = list_dir(l, lower, "", 0, uid, &todo);
	if (rc < 0)
		err_sys(err, "can't list the repository below the sandbox");
	while (rc == 0 && todo.nr && !l->truncated) {
		char *dir = todo.item[--todo.nr];
		rc = list_dir(l, lower, dir, todo.len[todo.nr], uid, &todo);
		free(dir); /* pushes went to other places of the list, the pointer is still ours */
	}
	strv_release(&todo);
	if (l->nr)
		qsort(l->item, l->nr, sizeof(*l->item), cmp_listed);
	return rc;
}

int base_list(struct base **out, int lower, uid_t uid, struct err *err)
{
	struct base *b = NEW(struct base);
	int64_t began = clock_mono_us();
	if (base_list_all(&b->first, lower, uid, err) < 0) {
		base_free(&b);
		return -1;
	}
	b->took_us = clock_mono_us() - began;
	*out = b;
	return 0;
}

void base_free(struct base **b)
{
	if (!*b)
		return;
	list_release(&(*b)->first);
	list_release(&(*b)->last);
	strv_release(&(*b)->drifted);
	free(*b);
	*b = NULL;
}

size_t base_count(const struct base *b)
{
	return b->first.nr;
}

json_t *base_body(const struct base *b)
{
	const struct list *l = &b->first;
	struct hash_ctx c;
	struct hash h;
	hash_begin(&c);
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	for (size_t i = 0; i < l->nr; i++) {
		const struct listed *e = &l->item[i];
		buf_reset(&line);
		buf_u32le(&line, e->len);
		buf_append(&line, e->path, e->len);
		buf_u32le(&line, e->mode);
		buf_u64le(&line, e->size);
		buf_u64le(&line, (uint64_t)e->mtime_ns);
		hash_add(&c, buf_cstr(&line), line.len);
	}
	hash_end(&c, &h);
	buf_reset(&line);
	hex_append(&line, h.b, sizeof(h.b));
	json_t *o = json_object();
	json_put_int(o, "files", (int64_t)l->files);
	json_put_int(o, "dirs", (int64_t)l->dirs);
	json_put_int(o, "links", (int64_t)l->links);
	json_put_int(o, "other", (int64_t)l->other);
	json_put_int(o, "bytes", (int64_t)l->bytes);
	json_put_int(o, "foreign", (int64_t)l->foreign);
	json_put_int(o, "unlisted", (int64_t)l->unlisted);
	json_put_str(o, "listing_hash", buf_cstr(&line));
	json_put_flag(o, "truncated", l->truncated);
	json_put_int(o, "took_us", b->took_us);
	return o;
}

/* --- drift --- */

static bool base_is_admin(const struct listed *e)
{
	return !strncmp(e->path, ".git", 4) && (e->path[4] == '/' || e->path[4] == 0);
}

static bool base_same(const struct listed *a, const struct listed *b)
{
	if (a->mode != b->mode)
		return false;
	if (S_ISDIR(a->mode)) /* what is in it says itself */
		return true;
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

struct drift {
	json_t *list;
	size_t nr;
	bool (*touched)(void *self, const char *path, size_t len);
	void *self;
};
enum { DRIFT_MAX = 1000 };

static void base_report(struct drift *d, const struct listed *e, const char *was, const char *now)
{
	if (d->nr++ >= DRIFT_MAX)
		return;
	json_t *o = json_object();
	json_put_bytes(o, "path", e->path, e->len);
	json_put_str(o, "was", was);
	json_put_str(o, "now", now);
	json_put_flag(o, "touched", d->touched && d->touched(d->self, e->path, e->len));
	json_array_append_new(d->list, o);
}

/* Walks two lists side by side; @fn-less: reports into @d when given, marks @b's entries that are
 * not as in @a. */
static void base_compare(const struct list *a, struct list *b, struct drift *d,
			 struct strv *changed)
{
	for (size_t i = 0, k = 0; i < a->nr || k < b->nr;) {
		int c = i == a->nr ? 1 : k == b->nr ? -1 : cmp_listed(&a->item[i], &b->item[k]);
		const struct listed *x = c <= 0 ? &a->item[i] : NULL,
				    *y = c >= 0 ? &b->item[k] : NULL;
		const struct listed *any = x ? x : y;
		i += x != NULL;
		k += y != NULL;
		if (base_is_admin(any) || (x && y && base_same(x, y)))
			continue;
		if (d)
			base_report(d, any, x ? "listed" : "absent", y ? "other" : "absent");
		if (changed)
			strv_push_bytes(changed, any->path, any->len);
	}
}

int base_drift(struct base *b, int lower, bool (*touched)(void *self, const char *path, size_t len),
	       void *self, json_t **body_out, struct err *err)
{
	struct list now = { 0 };
	struct drift d = { .list = json_array(), .touched = touched, .self = self };
	if (base_list_all(&now, lower, 0, err) < 0) {
		list_release(&now);
		json_decref(d.list);
		return -1;
	}
	base_compare(b->have_last ? &b->last : &b->first, &now, &d, NULL);
	strv_release(&b->drifted);
	base_compare(&b->first, &now, NULL, &b->drifted);
	list_release(&b->last);
	b->last = now;
	b->have_last = true;
	if (!d.nr) {
		json_decref(d.list);
		return 0;
	}
	json_t *body = json_object();
	json_put(body, "changes", d.list);
	if (d.nr > DRIFT_MAX)
		json_put_int(body, "more", (int64_t)(d.nr - DRIFT_MAX));
	*body_out = body;
	return 1;
}

bool base_drifted(const struct base *b, const char *path, size_t len)
{
	return ws_path_in(&b->drifted, path, len);
}

/* --- contents --- */

struct hasher {
	int lower;
	const struct ws_store *st;
	struct oid_cache *cache;
	struct tree_edit *edit;
	size_t nr, cap;
	uint64_t files, bytes, cached;
};

/* Git's name of one listed file or link; false when it is unknown (gone, unreadable, changed). */
static bool base_name_of(struct hasher *h, const struct listed *e, struct object_id *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct oid_key k = { e->dev, e->ino, e->size, e->mtime_ns, e->ctime_ns };
	struct ws_state s;
	struct stat st;
	if (oid_cache_get(h->cache, &k, out)) {
		h->cached++;
		return true;
	}
	if (S_ISLNK(e->mode)) {
		const char *slash = memrchr(e->path, '/', e->len);
		size_t dir_len = slash ? (size_t)(slash - e->path) : 0;
		CLEANUP(fd_close)
		int dir = beneath_open(h->lower, e->path, dir_len, O_PATH | O_DIRECTORY);
		if (dir < 0)
			return false;
		content_link(dir, slash ? slash + 1 : e->path, &s, &b);
	} else {
		CLEANUP(fd_close)
		int fd = beneath_open(h->lower, e->path, e->len, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return false;
		content_file(fd, (struct content_rule){ .hash_only = true }, &s, &b, &st);
		if ((uint64_t)st.st_size != e->size ||
		    st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != e->mtime_ns)
			return false; /* drift */
	}
	if (s.flags & (WS_UNREADABLE | WS_TORN))
		return false;
	*out = s.oid;
	h->bytes += e->size;
	oid_cache_put(h->cache, &k, out);
	return true;
}

int base_hash(struct base *b, int lower, const struct ws_store *st, const char *cache,
	      bool (*stop)(void *self), void *self, json_t **body_out, struct err *err)
{
	int64_t began = clock_mono_us();
	struct hasher h = { .lower = lower, .st = st, .cache = oid_cache_open(cache) };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < b->first.nr; i++) {
		const struct listed *e = &b->first.item[i];
		struct object_id id;
		if (base_is_admin(e) || (!S_ISREG(e->mode) && !S_ISLNK(e->mode)))
			continue;
		if (stop && i % 64 == 0 && stop(self))
			rc = err_set(err, ERR_CANCELLED, "hashing of the base was canceled");
		else if (base_name_of(&h, e, &id)) {
			GROW(h.edit, h.nr, h.cap);
			h.edit[h.nr++] = (struct tree_edit){
				.path = e->path,
				.len = e->len,
				.oid = id,
				.mode = S_ISLNK(e->mode) ? (unsigned)TREE_MODE_LINK
					: e->mode & 0100 ? 0100755u
							 : 0100644u,
			};
			h.files++;
		}
	}
	oid_cache_close(&h.cache);
	struct object_id root;
	if (rc == 0)
		rc = tree_edit(st, NULL, h.edit, h.nr, &root, err);
	free(h.edit);
	if (rc < 0)
		return -1;
	char hex[41];
	object_hex(&root, hex);
	json_t *o = json_object();
	json_put_str(o, "tree", hex);
	json_put_int(o, "files", (int64_t)h.files);
	json_put_int(o, "bytes", (int64_t)h.bytes);
	json_put_int(o, "cached", (int64_t)h.cached);
	json_put_int(o, "took_us", clock_mono_us() - began);
	*body_out = o;
	return 0;
}
