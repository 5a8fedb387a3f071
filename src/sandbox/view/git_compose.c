/* The files of a .git that is put together: those of the git directory, and for a linked worktree
 * those of the common one that it shares. Objects are not among them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/git_view.h"

enum { DEPTH_MAX = 100, TEXT_MAX = 64 << 20, CONFIG_MAX = 1 << 20 };
static const int64_t git_compose_bytes_max = INT64_C(1) << 30;

struct compose {
	struct buf path; /* below the git directory, for filters and messages */
	int64_t bytes;
	/* the common directory of a linked worktree: existing files stay */
	bool shared;
	struct err *err;
};

static bool git_compose_ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), t = strlen(tail);
	return n >= t && !strcmp(s + n - t, tail);
}

/* Of the git directory itself: files that are composed in another way, belong to others, or have no
 * place in a sandbox. */
static bool is_left_out(const char *path)
{
	static const char *const names[] = { "objects",
					     "worktrees",
					     "modules",
					     "commondir",
					     "gitdir",
					     "locked",
					     "config",
					     "config.worktree",
					     "lfs",
					     "annex",
					     "gc.pid",
					     "fsmonitor--daemon",
					     "fsmonitor--daemon.ipc",
					     "branches" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	return !strncmp(path, "credentials", 11) || git_compose_ends_with(path, ".lock") ||
	       (!strncmp(path, "hooks/", 6) && git_compose_ends_with(path, ".sample"));
}

/* Of the common directory: what all worktrees have together. */
static bool is_shared(const char *path)
{
	static const char *const names[] = { "packed-refs", "refs",  "logs",	    "info",
					     "shallow",	    "hooks", "description", "rr-cache" };
	static const char *const own[] = { "refs/bisect", "refs/worktree", "refs/rewritten",
					   "logs/HEAD", "info/sparse-checkout" };
	if (strchr(path, '/')) {
		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			if (!strcmp(path, own[i]))
				return false;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	return false;
}

/* Logs and FETCH_HEAD name remotes. */
static bool names_urls(const char *path)
{
	return !strncmp(path, "logs/", 5) || !strcmp(path, "FETCH_HEAD") ||
	       !strncmp(path, "refs/logs/", 10);
}

static int git_compose_copy_bytes(struct compose *c, int in, int out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (names_urls(buf_cstr(&c->path))) {
		if (fd_read_all(in, &text, TEXT_MAX, c->err) < 0)
			return -1;
		git_clean_urls(buf_cstr(&text), text.len, &clean);
		return fd_write_all(out, buf_cstr(&clean), clean.len, c->err);
	}
	for (;;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
		if (n == 0)
			return 0;
		if (n < 0)
			break;
	}
	static const size_t chunk = 1 << 18;
	CLEANUP(free_ptr) char *bytes = mem_alloc(chunk);
	for (ssize_t n; (n = read(in, bytes, chunk)) != 0;)
		if (n < 0 ? errno != EINTR : fd_write_all(out, bytes, (size_t)n, c->err) < 0)
			return n < 0 ? err_sys(c->err, "can't read '%s'", buf_cstr(&c->path)) : -1;
	return 0;
}

static int copy_regular(struct compose *c, int in, int to, const char *name, const struct stat *st)
{
	CLEANUP(fd_close)
	int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	if (out < 0)
		return c->shared && errno == EEXIST
			       ? 0
			       : err_sys(c->err, "can't write '%s'", buf_cstr(&c->path));
	c->bytes += st->st_size;
	if (c->bytes > git_compose_bytes_max)
		return err_set(c->err, ERR_FULL, "files without objects exceed %lld MiB",
			       (long long)(git_compose_bytes_max >> 20));
	if (git_compose_copy_bytes(c, in, out) < 0)
		return -1;
	/* the index has the time that git compares with those of the files */
	return fchmod(out, (st->st_mode & 0777) | 0600) < 0 || futimens(out, times) < 0
		       ? err_sys(c->err, "can't finish '%s'", buf_cstr(&c->path))
		       : 0;
}

static int copy_folder(struct compose *c, int from, int to, int depth);

static int git_compose_copy_entry(struct compose *c, int from, int to, const char *name, int depth)
{
	struct stat st;
	char target[4097];
	const char *path = buf_cstr(&c->path);
	if (c->shared ? !is_shared(path) || is_left_out(path) : is_left_out(path))
		return 0;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	/* a symbolic ref of the old kind */
	if (S_ISLNK(st.st_mode) && (depth > 0 || !strcmp(name, "HEAD"))) {
		ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
		if (n < 0)
			return err_sys(c->err, "can't read '%s'", path);
		target[n] = 0;
		return *target == '/' || (symlinkat(target, to, name) < 0 && errno != EEXIST)
			       ? err_set(c->err, ERR_INVALID, "'%s' is a link to a path outside",
					 path)
			       : 0;
	}
	/* of its own entries some are links where several work trees share one repository without
	 * git knowing */
	CLEANUP(fd_close)
	int in =
		openat(from, name,
		       O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (depth > 0 ? O_NOFOLLOW : 0));
	if (in < 0 || fstat(in, &st) < 0)
		return errno == ENOENT || errno == EACCES || errno == ENXIO
			       ? 0
			       : err_sys(c->err, "can't open '%s'", path);
	if (S_ISREG(st.st_mode))
		return copy_regular(c, in, to, name, &st);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (mkdirat(to, name, 0755) < 0 && errno != EEXIST)
		return err_sys(c->err, "can't create '%s'", path);
	CLEANUP(fd_close)
	int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return out < 0 ? err_sys(c->err, "can't open '%s'", path)
		       : copy_folder(c, in, out, depth + 1);
}

static int copy_folder(struct compose *c, int from, int to, int depth)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 || depth > DEPTH_MAX ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t len = c->path.len;
	int rc = 0;
	if (!d) {
		fd_close(&fd);
		return err_sys(c->err, "can't list '%s'", buf_cstr(&c->path));
	}
	while (rc == 0 && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		buf_printf(&c->path, "%s%s", len ? "/" : "", e->d_name);
		rc = git_compose_copy_entry(c, from, to, e->d_name, depth);
		c->path.len = len;
		c->path.data[len] = 0;
	}
	closedir(d);
	return rc;
}

static int copy_from(const char *from, const char *to, bool shared, struct err *err)
{
	struct compose c = { .shared = shared, .err = err };
	CLEANUP(fd_close) int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_close) int out = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = in < 0 || out < 0 ? err_sys(err, "can't open '%s'", from)
				   : copy_folder(&c, in, out, 0);
	buf_release(&c.path);
	return rc;
}

static int put_config(const struct git_made *m, const char *dir, const char *name, const char *to,
		      const struct git_shown *shown, struct err *err)
{
	CLEANUP(free_ptr)
	char *from = path_join(dir, name), *path = path_join(to, name),
	     *branch = git_place_branch(&m->place);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf made = BUF_INIT;
	struct git_shown how = *shown;
	const struct git_config_of of = { .git_dir = m->place.dir, .branch = branch };
	bool first = !strcmp(name, "config");
	if (!git_read_file(from, &text, CONFIG_MAX))
		return first ? err_sys(err, "can't read '%s'", from) : 0;
	how.git_dir = dir;
	how.moved = true;
	how.part = m->prefix != NULL;
	if (!first)
		how.own = NULL;
	if (!first || *m->at)
		how.attributes = NULL;
	else if (m->prefix)
		how.attributes = ".git/" GIT_VIEW_ATTRIBUTES;
	bool as_is = git_config_shown(buf_cstr(&text), text.len, &how, &of, &made) == GIT_AS_IS;
	const struct buf *out = as_is ? &text : &made;
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 ? err_sys(err, "can't write '%s'", path)
		      : fd_write_all(fd, buf_cstr(out), out->len, err);
}

int git_compose(const struct git_made *m, const char *to, const struct git_shown *shown,
		struct err *err)
{
	static const char *const dirs[] = { "",	    "objects",	  "objects/info", "objects/pack",
					    "refs", "refs/heads", "refs/tags",	  "info" };
	const struct git_place *p = &m->place;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		CLEANUP(free_ptr) char *path = *dirs[i] ? path_join(to, dirs[i]) : mem_strdup(to);
		if (mkdir(path, 0755) < 0)
			return err_sys(err, "can't create '%s'", path);
	}
	if (copy_from(p->dir, to, false, err) < 0 ||
	    (p->worktree && copy_from(p->common, to, true, err) < 0))
		return -1;
	if (put_config(m, p->common, "config", to, shown, err) < 0 ||
	    put_config(m, p->dir, "config.worktree", to, shown, err) < 0)
		return -1;
	return m->prefix ? git_sub_finish(m, to, err) : 0;
}
