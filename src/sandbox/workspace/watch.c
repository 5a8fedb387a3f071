#include "sandbox/workspace/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/beneath.h"

enum {
	MASK = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM |
	       IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW,
};

struct watch {
	int fd, root;
	char **path; /* by watch descriptor; NULL = none */
	size_t *len;
	size_t cap, nr;
	bool lost;
};

static bool add_one(struct watch *w, const char *path, size_t len)
{
	CLEANUP(fd_close) int dir = beneath_open(w->root, path, len, O_PATH | O_DIRECTORY);
	char proc[40];
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/.", dir);
	int wd = dir < 0 ? -1 : inotify_add_watch(w->fd, proc, MASK);
	if (wd < 0)
		return errno == ENOENT || errno == ENOTDIR; /* gone again */
	while ((size_t)wd >= w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 256;
		w->path = mem_realloc(w->path, cap * sizeof(*w->path));
		w->len = mem_realloc(w->len, cap * sizeof(*w->len));
		memset(w->path + w->cap, 0, (cap - w->cap) * sizeof(*w->path));
		w->cap = cap;
	}
	w->nr += w->path[wd] == NULL;
	free(w->path[wd]); /* the same directory under another name */
	w->path[wd] = mem_strndup(path, len);
	w->len[wd] = len;
	return w->nr <= WATCH_DIRS_MAX;
}

/* Watches @path and all directories below; what appears meanwhile is seen by the watch of its
 * parent. */
static bool add_tree(struct watch *w, const char *path, size_t len)
{
	struct strv todo = STRV_INIT;
	bool good = true;
	strv_push_bytes(&todo, path, len);
	CLEANUP(buf_release) struct buf sub = BUF_INIT;
	while (todo.nr && good) {
		char *at = todo.item[--todo.nr];
		size_t at_len = todo.len[todo.nr];
		good = add_one(w, at, at_len);
		int fd = beneath_open(w->root, at, at_len, O_RDONLY | O_DIRECTORY);
		DIR *d = fd < 0 ? NULL : fdopendir(fd);
		const struct dirent *e;
		while (d && (e = readdir(d))) {
			if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") ||
			    !strcmp(e->d_name, ".."))
				continue;
			buf_reset(&sub);
			buf_append(&sub, at, at_len);
			if (at_len)
				buf_putc(&sub, '/');
			buf_puts(&sub, e->d_name);
			strv_push_bytes(&todo, buf_cstr(&sub), sub.len);
		}
		if (d)
			closedir(d);
		else
			fd_close(&fd);
		free(at);
	}
	strv_release(&todo);
	return good;
}

int watch_new(struct watch **out, int root, struct err *err)
{
	struct watch *w = NEW(struct watch);
	w->root = root;
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0 || !add_tree(w, "", 0)) {
		err_sys(err, "can't watch the directories of the workspace");
		watch_free(&w);
		return -1;
	}
	*out = w;
	return 0;
}

void watch_free(struct watch **wp)
{
	struct watch *w = *wp;
	if (!w)
		return;
	for (size_t i = 0; i < w->cap; i++)
		free(w->path[i]);
	free(w->path);
	free(w->len);
	fd_close(&w->fd);
	free(w);
	*wp = NULL;
}

static void watch_on_event(struct watch *w, const struct inotify_event *e, struct strv *told)
{
	if (e->mask & IN_Q_OVERFLOW)
		w->lost = true;
	if (e->wd < 0 || (size_t)e->wd >= w->cap || !w->path[e->wd])
		return;
	if (e->mask & IN_IGNORED) { /* the directory is gone; its parent told so */
		free(w->path[e->wd]);
		w->path[e->wd] = NULL;
		w->nr--;
		return;
	}
	if (!e->len)
		return; /* about the directory itself: its parent tells too */
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_append(&path, w->path[e->wd], w->len[e->wd]);
	if (path.len)
		buf_putc(&path, '/');
	buf_puts(&path, e->name);
	bool come = (e->mask & IN_ISDIR) && (e->mask & (IN_CREATE | IN_MOVED_TO));
	if (come) {
		w->lost |= !add_tree(w, buf_cstr(&path), path.len);
		buf_putc(&path, '/');
	}
	/* a program writes many times into one file */
	if (!told->nr || told->len[told->nr - 1] != path.len ||
	    memcmp(told->item[told->nr - 1], path.data, path.len) != 0)
		strv_push_bytes(told, buf_cstr(&path), path.len);
}

struct named {
	char *item;
	size_t len;
};

static int cmp_named(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;
	int c = memcmp(a->item, b->item, a->len < b->len ? a->len : b->len);
	return c ? c : (a->len > b->len) - (a->len < b->len);
}

static void sort_once(struct strv *v)
{
	struct named *n = mem_calloc(v->nr, sizeof(*n));
	size_t keep = 0;
	for (size_t i = 0; i < v->nr; i++)
		n[i] = (struct named){ v->item[i], v->len[i] };
	qsort(n, v->nr, sizeof(*n), cmp_named);
	for (size_t i = 0; i < v->nr; i++) {
		if (keep &&
		    cmp_named(&n[i], &(struct named){ v->item[keep - 1], v->len[keep - 1] }) == 0) {
			free(n[i].item);
			continue;
		}
		v->item[keep] = n[i].item;
		v->len[keep++] = n[i].len;
	}
	v->nr = keep;
	v->item[keep] = NULL;
	free(n);
}

bool watch_collect(struct watch *w, struct strv *told)
{
	UNSET _Alignas(struct inotify_event) char b[16384];
	ssize_t n;
	while ((n = read(w->fd, b, sizeof(b))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(b + at);
			watch_on_event(w, e, told);
			at += (ssize_t)sizeof(*e) + e->len;
		}
	if (n < 0 && errno != EAGAIN)
		w->lost = true;
	if (told->nr > 1)
		sort_once(told);
	bool good = !w->lost;
	w->lost = false;
	return good;
}
