#include "sandbox/view/git_place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/git_config.h"

enum { POINTER_MAX = 16384, STORES_MAX = 64, ALTERNATE_DEPTH_MAX = 6 };

bool git_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return !strncmp(path, folder, n) &&
	       (!path[n] || path[n] == '/' || (n && folder[n - 1] == '/'));
}

void git_place_release(struct git_place *p)
{
	free(p->top);
	free(p->dir);
	free(p->common);
	strv_release(&p->stores);
	strv_release(&p->no_store);
	*p = (struct git_place){ 0 };
}

static char *real_from(const char *dir, const char *path)
{
	CLEANUP(free_ptr) char *full = *path == '/' ? mem_strdup(path) : path_join(dir, path);
	return realpath(full, NULL);
}

static bool git_place_is_folder(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool git_place_is_there(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	struct stat st;
	return lstat(path, &st) == 0;
}

static bool is_link(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The first line of a file that names a path; NULL: none. @prefix must stand before it. */
static char *read_pointer(const char *dir, const char *name, const char *prefix)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	size_t n = strlen(prefix);
	if (!git_read_file(path, &text, POINTER_MAX) || text.len < n ||
	    memcmp(text.data, prefix, n) != 0)
		return NULL;
	while (text.len > n && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.data[--text.len] = 0;
	if (text.len == n || strlen(text.data) != text.len)
		return NULL;
	return real_from(dir, text.data + n);
}

/* --- objects --- */

/* Nothing but what git puts there: a directory of something else must not be shown because a file
 * names it. */
static bool like_objects(const char *dir)
{
	static const char *const others[] = { "pack", "info", "maintenance.lock", "schedule.lock",
					      "bundles" };
	DIR *d = opendir(dir);
	bool good = d != NULL;
	const struct dirent *e;
	while (good && (e = readdir(d))) {
		const char *n = e->d_name;
		bool known = !strcmp(n, ".") || !strcmp(n, "..") || !strncmp(n, ".nfs", 4) ||
			     !strncmp(n, "tmp_", 4) || !strncmp(n, "incoming-", 9) ||
			     (strlen(n) == 2 && isxdigit((unsigned char)n[0]) &&
			      isxdigit((unsigned char)n[1]));
		for (size_t i = 0; i < ARRAY_LEN(others) && !known; i++)
			known = !strcmp(n, others[i]);
		good = known;
	}
	if (d)
		closedir(d);
	return good;
}

static bool same_owner(const char *a, const char *b)
{
	struct stat sa, sb;
	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_uid == sb.st_uid;
}

static bool known_store(const struct git_place *p, const char *dir)
{
	for (size_t i = 0; i < p->stores.nr; i++)
		if (!strcmp(p->stores.item[i], dir))
			return true;
	return false;
}

static void add_store(struct git_place *p, const char *dir, int depth);

/* A line in quotes is one of C's strings. */
static char *git_place_unquoted(const char *line, size_t len)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (len < 2 || line[0] != '"' || line[len - 1] != '"')
		return mem_strndup(line, len);
	for (size_t i = 1; i + 1 < len; i++) {
		if (line[i] != '\\') {
			buf_putc(&out, line[i]);
		} else if (i + 3 < len && line[i + 1] >= '0' && line[i + 1] <= '3') {
			buf_putc(&out, (char)((line[i + 1] - '0') << 6 | (line[i + 2] - '0') << 3 |
					      (line[i + 3] - '0')));
			i += 3;
		} else {
			char c = line[++i];
			buf_putc(&out, c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
		}
	}
	return buf_take(&out);
}

static void add_alternates(struct git_place *p, const char *dir, int depth)
{
	CLEANUP(free_ptr) char *path = path_join(dir, "info/alternates");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!git_read_file(path, &text, POINTER_MAX * 4))
		return;
	for (size_t at = 0; at < text.len;) {
		const char *line = text.data + at, *nl = memchr(line, '\n', text.len - at);
		size_t n = nl ? (size_t)(nl - line) : text.len - at;
		at += n + 1;
		if (!n || *line == '#')
			continue;
		CLEANUP(free_ptr) char *name = git_place_unquoted(line, n);
		CLEANUP(free_ptr) char *real = real_from(dir, name);
		if (real && known_store(p, real))
			continue;
		if (!real || depth >= ALTERNATE_DEPTH_MAX || p->stores.nr >= STORES_MAX ||
		    !like_objects(real) || (geteuid() == 0 && !same_owner(real, p->stores.item[0])))
			strv_push(&p->no_store, name);
		else
			add_store(p, real, depth + 1);
	}
}

static void add_store(struct git_place *p, const char *dir, int depth)
{
	strv_push(&p->stores, dir);
	add_alternates(p, dir, depth);
}

/* --- the place --- */

static void read_format(struct git_place *p)
{
	struct git_settings s = { 0 };
	CLEANUP(free_ptr) char *config = path_join(p->common, "config");
	git_settings_file(&s, config, NULL);
	const char *objects = git_settings_get(&s, "extensions", NULL, "objectformat"),
		   *refs = git_settings_get(&s, "extensions", NULL, "refstorage");
	p->format = objects && !strcasecmp(objects, "sha256") ? GIT_SHA256 : GIT_SHA1;
	p->reftable = refs && !strcasecmp(refs, "reftable");
	git_settings_release(&s);
}

static bool links_within(const struct git_place *p)
{
	static const char *const needed[] = { "objects", "refs",  "config", "packed-refs", "info",
					      "logs",	 "index", "hooks",  "shallow" };
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (is_link(p->dir, needed[i]))
			return true;
	return false;
}

/* A file in the directory must not lead a root user to another owner's repository. */
static int check_owner(const struct git_place *p, struct err *err)
{
	struct stat top;
	if (geteuid() != 0 || stat(p->top, &top) < 0 || top.st_uid == 0)
		return 0;
	if (same_owner(p->top, p->dir) && same_owner(p->top, p->common))
		return 0;
	return err_set(err, ERR_DENIED, "'%s/.git' names a repository of another user: '%s'",
		       p->top, p->common);
}

static int fill_place(struct git_place *p, struct err *err)
{
	p->worktree = git_place_is_there(p->dir, "commondir");
	p->common = p->worktree ? read_pointer(p->dir, "commondir", "") : mem_strdup(p->dir);
	if (!p->common || !git_place_is_there(p->dir, "HEAD") ||
	    !git_place_is_folder(p->common, "objects") || !git_place_is_folder(p->common, "refs"))
		return err_set(err, ERR_INVALID, "'%s/.git' doesn't name a git directory", p->top);
	if (check_owner(p, err) < 0)
		return -1;
	p->link |= links_within(p);
	read_format(p);
	CLEANUP(free_ptr) char *objects = real_from(p->common, "objects");
	if (!objects)
		return err_sys(err, "can't open '%s/objects'", p->common);
	add_store(p, objects, 0);
	return 1;
}

int git_place_at(const char *top, struct git_place *out, struct err *err)
{
	struct stat st;
	CLEANUP(free_ptr) char *real = realpath(top, NULL);
	CLEANUP(free_ptr) char *git = real ? path_join(real, ".git") : NULL;
	*out = (struct git_place){ 0 };
	if (!git || lstat(git, &st) < 0)
		return 0;
	struct git_place p = { .top = mem_strdup(real),
			       .file = S_ISREG(st.st_mode),
			       .link = S_ISLNK(st.st_mode) };
	p.dir = p.file ? read_pointer(real, ".git", "gitdir: ") : realpath(git, NULL);
	int rc = p.dir ? fill_place(&p, err)
		       : err_set(err, ERR_INVALID, "'%s' doesn't name a git directory", git);
	if (rc < 0)
		git_place_release(&p);
	else
		*out = p;
	return rc;
}

int git_place_above(const char *dir, struct git_place *out, struct err *err)
{
	CLEANUP(free_ptr) char *at = realpath(dir, NULL);
	struct stat first, st;
	*out = (struct git_place){ 0 };
	if (!at || stat(at, &first) < 0)
		return 0;
	for (;;) {
		if (git_place_is_there(at, ".git"))
			return git_place_at(at, out, err);
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			return 0;
		*slash = 0;
		if (stat(at, &st) < 0 || st.st_dev != first.st_dev)
			return 0;
	}
}

char *git_place_branch(const struct git_place *p)
{
	static const char heads[] = "ref: refs/heads/";
	CLEANUP(free_ptr) char *path = path_join(p->dir, "HEAD");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!git_read_file(path, &text, POINTER_MAX) || text.len < sizeof(heads) ||
	    memcmp(text.data, heads, sizeof(heads) - 1) != 0)
		return NULL;
	text.data[strcspn(text.data, "\r\n")] = 0;
	return mem_strdup(text.data + sizeof(heads) - 1);
}
