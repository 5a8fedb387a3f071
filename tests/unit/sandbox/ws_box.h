/* For tests of the workspace: a repository with an overlay above it, as in a sandbox. An oracle
 * reads both trees from end to end and compares the snapshot with the real files. */
#ifndef WS_BOX_H
#define WS_BOX_H

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/memstore.h"
#include "sandbox/workspace/snapshot.h"
#include "sandbox/workspace/view.h"
#include "tap.h"

struct ws_box {
	char *dir, *lower, *upper, *work, *merged;
	bool copy, mounted;
	int layer; /* which upper: counted up by who wants a fresh one */
	struct memstore *mem;
	struct ws_store store;
	struct ws *ws;
	json_t *body; /* of the last snapshot that said something */
};

__attribute__((unused, format(printf, 2, 3))) static int sh_in(const char *dir, const char *fmt,
							       ...)
{
	char *words, *cmd;
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&words, fmt, ap) < 0 ||
	    asprintf(&cmd,
		     "export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null "
		     "GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org "
		     "GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org\n%s",
		     words) < 0)
		abort();
	va_end(ap);
	pid_t pid = fork();
	if (pid == 0) { /* a thread of ours may hold the allocator: nothing here may ask it */
		if (chdir(dir) < 0)
			_exit(126);
		execl("/bin/sh", "sh", "-ec", cmd, (char *)NULL);
		_exit(127);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	if (status)
		printf("# command failed (%d): %s\n", status, words);
	free(words);
	free(cmd);
	return status;
}

/* Enters a private mount namespace; returns false if this is impossible. */
__attribute__((unused)) static bool own_mounts(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	if (uid != 0) {
		struct err err;
		char text[64];
		snprintf(text, sizeof(text), "%d %d 1", (int)uid, (int)uid);
		CLEANUP(fd_close) int u = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (fd_write_all(u, text, strlen(text), &err) < 0)
			return false;
		CLEANUP(fd_close) int s = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
		if (fd_write_all(s, "deny", 4, &err) < 0)
			return false;
		snprintf(text, sizeof(text), "%d %d 1", (int)gid, (int)gid);
		CLEANUP(fd_close) int g = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
		if (fd_write_all(g, text, strlen(text), &err) < 0)
			return false;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void box_paths(struct ws_box *b)
{
	b->upper = mem_printf("%s/u%d", b->dir, b->layer);
	b->work = mem_printf("%s/w%d", b->dir, b->layer);
	mkdir(b->upper, 0755);
	mkdir(b->work, 0755);
}

static bool box_mount(struct ws_box *b)
{
	char *o = mem_printf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", b->lower, b->upper,
			     b->work);
	b->mounted = mount("overlay", b->merged, "overlay", 0, o) == 0;
	if (!b->mounted)
		perror("# mount overlay");
	free(o);
	return b->mounted;
}

/* Makes the directories; the repository ("lower") is empty. */
__attribute__((unused)) static bool box_init(struct ws_box *b, bool copy)
{
	memset(b, 0, sizeof(*b));
	char tmp[] = "/tmp/sandglass-ws-XXXXXX";
	hash_init();
	if (!mkdtemp(tmp))
		return false;
	b->dir = mem_strdup(tmp);
	b->lower = mem_printf("%s/lower", tmp);
	b->merged = mem_printf("%s/merged", tmp);
	b->copy = copy;
	mkdir(b->lower, 0755);
	mkdir(b->merged, 0755);
	b->mem = memstore_new(NULL);
	b->store = memstore_store(b->mem);
	return true;
}

/* Attaches the overlay (or makes the copy) and begins the workspace. */
__attribute__((unused)) static bool box_open(struct ws_box *b, const struct ws_opts *opts)
{
	struct ws_opts o = opts ? *opts : (struct ws_opts){ 0 };
	o.copy = b->copy;
	box_paths(b);
	if (b->copy)
		sh_in(b->dir, "cp -a '%s/.' merged/", b->lower);
	else if (!box_mount(b))
		return false;
	b->ws = ws_new(&o, open(b->copy ? b->merged : b->upper, O_PATH | O_DIRECTORY | O_CLOEXEC),
		       open(b->lower, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return true;
}

/* Opens the workspace as a resumed session does: nothing in memory, the files in place. */
__attribute__((unused)) static void box_again(struct ws_box *b)
{
	struct ws_opts o = { .copy = b->copy, .again = true };
	ws_free(&b->ws);
	b->ws = ws_new(&o, open(b->copy ? b->merged : b->upper, O_PATH | O_DIRECTORY | O_CLOEXEC),
		       open(b->lower, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

__attribute__((unused)) static int box_take(struct ws_box *b)
{
	struct err err = ERR_INIT;
	json_t *body = NULL;
	int rc = ws_take(b->ws, &b->store, &(struct ws_how){ .why = "action" }, &body, &err);
	if (rc < 0)
		printf("# take: %s\n", err.text);
	if (rc > 0) {
		json_decref(b->body);
		b->body = body;
	}
	return rc;
}

__attribute__((unused)) static void box_end(struct ws_box *b)
{
	struct err err = ERR_INIT;
	ws_free(&b->ws);
	json_decref(b->body);
	while (umount2(b->merged, MNT_DETACH) == 0)
		;
	char *cmd = mem_printf("chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", b->dir, b->dir);
	if (dir_remove(b->dir, &err) < 0 && system(cmd) != 0)
		printf("# %s stays: %s\n", b->dir, err.text);
	free(cmd);
	memstore_free(&b->mem);
	free(b->dir);
	free(b->lower);
	free(b->upper);
	free(b->work);
	free(b->merged);
}

/* --- the oracle --- */

struct truth {
	struct ws_path *item;
	size_t nr, cap;
	struct arena arena;
};

static void truth_read(struct truth *t, const char *root, const char *rel)
{
	char *dir = *rel ? mem_printf("%s/%s", root, rel) : mem_strdup(root);
	DIR *d = opendir(dir);
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		char *path = *rel ? mem_printf("%s/%s", rel, e->d_name) : mem_strdup(e->d_name);
		char *full = mem_printf("%s/%s", root, path);
		struct stat st;
		struct buf b = BUF_INIT;
		struct err err;
		if (lstat(full, &st) == 0) {
			GROW(t->item, t->nr, t->cap);
			struct ws_path *p = &t->item[t->nr++];
			*p = (struct ws_path){ .path = arena_strdup(&t->arena, path),
					       .len = strlen(path) };
			p->now.kind = (uint8_t)ws_kind_of(st.st_mode);
			p->now.mode = (uint16_t)(st.st_mode & 07777);
			if (S_ISREG(st.st_mode) && file_read(full, &b, SIZE_MAX - 1, &err) == 0)
				object_name(OBJECT_BLOB, buf_cstr(&b), b.len, &p->now.oid);
			if (S_ISLNK(st.st_mode)) {
				char target[4096];
				ssize_t n = readlink(full, target, sizeof(target));
				object_name(OBJECT_BLOB, target, n < 0 ? 0 : (size_t)n,
					    &p->now.oid);
			}
			if (S_ISDIR(st.st_mode))
				truth_read(t, root, path);
		}
		buf_release(&b);
		free(full);
		free(path);
	}
	if (d)
		closedir(d);
	free(dir);
}

static int truth_cmp(const void *pa, const void *pb)
{
	const struct ws_path *a = pa, *b = pb;
	return ws_path_cmp(a->path, a->len, b->path, b->len);
}

static void truth_load(struct truth *t, const char *root)
{
	*t = (struct truth){ 0 };
	truth_read(t, root, "");
	if (t->nr)
		qsort(t->item, t->nr, sizeof(*t->item), truth_cmp);
}

static const struct ws_state *truth_at(const struct truth *t, const struct ws_path *key)
{
	static const struct ws_state none;
	const struct ws_path *p =
		t->nr ? bsearch(key, t->item, t->nr, sizeof(*t->item), truth_cmp) : NULL;
	return p ? &p->now : &none;
}

static void truth_free(struct truth *t)
{
	free(t->item);
	arena_release(&t->arena);
}

static bool oracle_path(const struct ws_view *v, const struct ws_path *key, const struct truth *low,
			const struct truth *now)
{
	const struct ws_state *a = truth_at(low, key), *b = truth_at(now, key);
	const struct ws_path *p = ws_view_find(v, key->path, key->len);
	bool differs = !ws_state_eq(a, b);
	if (!differs && !p)
		return true;
	if (differs && p && ws_state_eq(&p->base, a) && ws_state_eq(&p->now, b))
		return true;
	printf("# %s: really %s %o -> %s %o; snapshot %s %s %o -> %s %o\n", key->path,
	       ws_kind_name(a->kind), a->mode, ws_kind_name(b->kind), b->mode,
	       p ? "says" : "is silent", p ? ws_kind_name(p->base.kind) : "", p ? p->base.mode : 0,
	       p ? ws_kind_name(p->now.kind) : "", p ? p->now.mode : 0);
	return false;
}

/* True if the last snapshot says of every path what is there, and of no other. */
__attribute__((unused)) static bool oracle(struct ws_box *b)
{
	struct err err = ERR_INIT;
	struct ws_view v = WS_VIEW_INIT;
	if (ws_view_load(&v, &b->store, b->body, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	struct truth low, now;
	truth_load(&low, b->lower);
	truth_load(&now, b->merged);
	bool good = true;
	for (size_t i = 0; i < low.nr; i++)
		good &= oracle_path(&v, &low.item[i], &low, &now);
	for (size_t i = 0; i < now.nr; i++)
		good &= oracle_path(&v, &now.item[i], &low, &now);
	for (size_t i = 0; i < v.nr; i++)
		good &= oracle_path(&v, &v.item[i], &low, &now);
	if ((size_t)json_int(b->body, "touched", -1) != v.nr) {
		printf("# touched says %d, there are %zu\n", (int)json_int(b->body, "touched", -1),
		       v.nr);
		good = false;
	}
	truth_free(&low);
	truth_free(&now);
	ws_view_release(&v);
	return good;
}

/* The op letter that the last snapshot's changes have for @path, "-" if none. */
__attribute__((unused)) static const char *op_at(const struct ws_box *b, const char *path)
{
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(b->body, "changes"), i,
			   c) if (!strcmp(json_str(c, "path", ""), path)) return json_str(c, "op",
											  "?");
	return "-";
}

#endif
