#include "sandbox/view/masks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/view/git_config.h"
#include "sandbox/view/git_place.h"
#include "sandbox/view/masks_git.h"
#include "sandbox/view/masks_look.h"
#include "sandbox/view/own_places.h"

enum { DEPTH_MAX = 200, TEXT_MAX = 1 << 20 };

static bool sandbox_masks_starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool sandbox_masks_ends(const char *s, const char *with)
{
	size_t n = strlen(s), w = strlen(with);
	return n >= w && strcmp(s + n - w, with) == 0;
}

/* Histories of shells and other prompts: often with a password. */
static bool is_history(const char *name)
{
	static const char *const files[] = { "fish_history", ".zhistory", ".histfile",
					     ".viminfo",     ".lesshst",  ".psql_history" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (strcmp(name, files[i]) == 0)
			return true;
	return *name == '.' &&
	       (sandbox_masks_ends(name, "_history") || sandbox_masks_ends(name, ".history"));
}

bool masks_name_suspect(const char *name, bool dir)
{
	static const char *const folders[] = { ".aws",	".ssh",	   ".gnupg",
					       ".kube", ".docker", ".azure" };
	static const char *const files[] = { ".env",	    ".netrc",	    "_netrc",
					     ".npmrc",	    ".pypirc",	    ".git-credentials",
					     ".htpasswd",   ".pgpass",	    ".vault-token",
					     "kubeconfig",  ".boto",	    ".s3cfg",
					     "secrets.yml", "secrets.yaml", "secrets.json",
					     "secrets.toml" };
	static const char *const tails[] = { ".pem",	  ".key",  ".p12", ".pfx",   ".jks",
					     ".keystore", ".kdbx", ".ppk", ".tfvars" };
	static const char *const samples[] = { ".env.example", ".env.sample",	".env.template",
					       ".env.dist",    ".env.defaults", ".env.schema" };
	if (dir) {
		for (size_t i = 0; i < ARRAY_LEN(folders); i++)
			if (strcmp(name, folders[i]) == 0)
				return true;
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (strcmp(name, samples[i]) == 0)
			return false;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (strcmp(name, files[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(tails); i++)
		if (sandbox_masks_ends(name, tails[i]))
			return true;
	if (is_history(name))
		return true;
	if (sandbox_masks_starts(name, ".env.") ||
	    (sandbox_masks_starts(name, "credentials") && sandbox_masks_ends(name, ".json")) ||
	    (sandbox_masks_starts(name, "service-account") && sandbox_masks_ends(name, ".json")))
		return true;
	return sandbox_masks_starts(name, "id_") && !strchr(name, '.') &&
	       (sandbox_masks_starts(name, "id_rsa") || sandbox_masks_starts(name, "id_dsa") ||
		sandbox_masks_starts(name, "id_ecdsa") || sandbox_masks_starts(name, "id_ed25519"));
}

static bool token_chars(const char *p, const char *end, size_t nr)
{
	size_t n = 0;
	for (; p < end && n < nr && (isalnum((unsigned char)*p) || *p == '_' || *p == '-'); p++)
		n++;
	return n >= nr;
}

bool masks_text_suspect(const char *text, size_t len)
{
	static const struct {
		const char *head;
		size_t more;
	} forms[] = {
		{ "ghp_", 30 },	       { "gho_", 30 },	   { "ghs_", 30 },    { "ghu_", 30 },
		{ "github_pat_", 30 }, { "glpat-", 18 },   { "sk-ant-", 20 }, { "sk-proj-", 20 },
		{ "sk-", 32 },	       { "AKIA", 16 },	   { "ASIA", 16 },    { "AIza", 30 },
		{ "xoxb-", 20 },       { "xoxp-", 20 },	   { "npm_", 30 },    { "pypi-", 40 },
		{ "sk_live_", 20 },    { "rk_live_", 20 }, { "hf_", 30 },     { "dop_v1_", 40 },
		{ "e2b_", 30 },
	};
	if (memmem(text, len, "PRIVATE KEY-----", 16) || memmem(text, len, "_authToken=", 11))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t n = strlen(forms[i].head);
		for (const char *p = text;
		     (p = memmem(p, len - (size_t)(p - text), forms[i].head, n)); p += n)
			if ((p == text || !isalnum((unsigned char)p[-1])) &&
			    token_chars(p + n, text + len, forms[i].more))
				return true;
	}
	return false;
}

/* --- the walk --- */

struct walk {
	struct masks *out;
	const struct strv *expose;
	struct tracked *tracked;
	struct look *look;
	struct own_places own;
	int filled;	 /* how many directories above are filled by tools */
	struct buf path; /* of the directory that is being listed, "" or ending in a slash */
	uid_t owner;
	gid_t group;
	int closed;	 /* how many directories above the sandbox's user may not enter */
	const char *top; /* of the repository */
	const struct git_shown *shown;
	struct err *err;
};

bool masks_exposed(const struct strv *expose, const char *path)
{
	for (size_t i = 0; i < expose->nr; i++) {
		const char *e = expose->item[i];
		size_t n = strlen(e);
		if (strcmp(e, "*") == 0 || strcmp(e, path) == 0 ||
		    (n && sandbox_masks_starts(path, e) && (e[n - 1] == '/' || path[n] == '/')))
			return true;
	}
	return false;
}

/* Not even "expose" shows these: their contents are not the repository's. */
static const char own_place[] = "sandglass's own directory",
		  host_socket[] = "a socket of a program on the host";

static void add_mask(struct walk *w, const char *path, const char *why, struct buf *text)
{
	struct masks *m = w->out;
	if (why != own_place && why != host_socket && masks_exposed(w->expose, path)) {
		strv_push(&m->exposed, path);
		return;
	}
	GROW(m->item, m->nr, m->cap);
	m->item[m->nr] = (struct mask){
		.path = mem_strdup(path), .len = strlen(path), .why = why, .clean = text != NULL
	};
	m->item[m->nr].tracked = !text && w->tracked &&
				 (tracked_has(w->tracked, path) || tracked_below(w->tracked, path));
	if (text) {
		m->item[m->nr].text = *text;
		*text = BUF_INIT;
	}
	m->nr++;
}

static bool read_small(int dir, const char *name, struct buf *out)
{
	struct err ignored = ERR_INIT;
	CLEANUP(fd_close)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	return fd_read_all(fd, out, TEXT_MAX, &ignored) == 0;
}

static void judge_file(struct walk *w, int dir, const char *name, const char *path,
		       const struct stat *st)
{
	if (S_ISSOCK(st->st_mode)) {
		add_mask(w, path, host_socket, NULL);
		return;
	}
	if (own_places_session_name(name) && !tracked_has(w->tracked, path)) {
		add_mask(w, path, "a session file", NULL);
		return;
	}
	if (!masks_name_suspect(name, false)) {
		const char *why = look_into(w->look, dir, name, st, tracked_has(w->tracked, path),
					    w->filled > 0);
		if (why)
			add_mask(w, path, why, NULL);
		return;
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	bool read = st->st_size <= TEXT_MAX && read_small(dir, name, &text);
	if (read && masks_certificates_only(buf_cstr(&text), text.len))
		return;
	if (!tracked_has(w->tracked, path)) {
		add_mask(w, path, "named like a secret", NULL);
		return;
	}
	if (!read || masks_text_suspect(buf_cstr(&text), text.len))
		add_mask(w, path, "tracked, holds what looks like a live token", NULL);
}

static bool masked_already(const struct masks *m, const char *path)
{
	for (size_t i = 0; i < m->nr; i++)
		if (strcmp(m->item[i].path, path) == 0)
			return true;
	return false;
}

void masks_show(struct masks *m, const char *path, const char *why, struct buf *text)
{
	if (masked_already(m, path))
		return;
	GROW(m->item, m->nr, m->cap);
	m->item[m->nr++] = (struct mask){ .path = mem_strdup(path),
					  .len = strlen(path),
					  .why = why,
					  .clean = true,
					  .quiet = true,
					  .text = *text };
	*text = BUF_INIT;
}

void masks_hide(struct masks *m, const char *path)
{
	if (masked_already(m, path))
		return;
	GROW(m->item, m->nr, m->cap);
	m->item[m->nr++] = (struct mask){ .path = mem_strdup(path),
					  .len = strlen(path),
					  .why = "on a file system of its own",
					  .quiet = true };
}

static const char without_credentials[] = "credentials taken out";

/* Its configuration: without credentials and without what works on the host only. */
static void show_config(struct walk *w, int dir, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf made = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("%s%s", buf_cstr(&w->path), name);
	CLEANUP(free_ptr)
	char *git_dir = mem_printf("%s/%.*s", w->top, (int)(w->path.len ? w->path.len - 1 : 0),
				   buf_cstr(&w->path));
	struct git_shown how = w->shown ? *w->shown : (struct git_shown){ .programs = true };
	const struct git_config_of of = { .git_dir = git_dir };
	how.git_dir = git_dir;
	if (strcmp(buf_cstr(&w->path), ".git/") != 0)
		how.attributes = NULL;
	if (strcmp(name, "config") != 0) { /* the settings are in the other one */
		how.own = NULL;
		how.attributes = NULL;
	}
	if (!read_small(dir, name, &text) || masked_already(w->out, path))
		return;
	enum git_change change = git_config_shown(buf_cstr(&text), text.len, &how, &of, &made);
	if (change == GIT_CLEANED)
		add_mask(w, path, without_credentials, &made);
	else if (change == GIT_ADAPTED && !masks_exposed(w->expose, path))
		masks_show(w->out, path, "as git in the sandbox needs it", &made);
}

/* Git's own files that can hold credentials: its configuration, and logs that name remotes. */
static void clean_git_file(struct walk *w, int dir, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (strncmp(name, "config", 6) == 0) {
		show_config(w, dir, name);
		return;
	}
	if (!read_small(dir, name, &text) || !masks_clean_config(buf_cstr(&text), text.len, &clean))
		return;
	CLEANUP(free_ptr) char *path = mem_printf("%s%s", buf_cstr(&w->path), name);
	if (!masked_already(w->out, path))
		add_mask(w, path, without_credentials, &clean);
}

/* The sandbox's user is the owner of the repository, and in its group. */
static bool is_readable(const struct walk *w, const struct stat *st)
{
	mode_t bits = st->st_mode >> (st->st_uid == w->owner   ? 6
				      : st->st_gid == w->group ? 3
							       : 0),
	       want = S_ISDIR(st->st_mode) ? 5 : 4;
	return S_ISLNK(st->st_mode) || (bits & want) == want;
}

static void note_unreadable(struct walk *w, const char *path, const struct stat *st)
{
	struct masks *m = w->out;
	if (w->closed || is_readable(w, st) || m->unreadable.nr >= MASKS_UNREADABLE_SHOWN)
		return;
	if (!m->nr || strcmp(m->item[m->nr - 1].path, path) != 0) /* hidden, and told so */
		strv_push(&m->unreadable, path);
}

static int walk_dir(struct walk *w, int fd, int depth, bool in_git);

static int sandbox_masks_enter(struct walk *w, int dir, const char *name, int depth, bool in_git)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) /* unreadable to us is unreadable to the box, which is the same owner or less */
		return errno == EACCES || errno == ENOENT
			       ? 0
			       : err_sys(w->err, "can't open '%s%s'", buf_cstr(&w->path), name);
	size_t len = w->path.len;
	buf_printf(&w->path, "%s/", name);
	int rc = walk_dir(w, fd, depth + 1, in_git);
	w->path.len = len;
	w->path.data[len] = 0;
	return rc;
}

static int git_dir(struct walk *w, int fd, int depth)
{
	static const char *const files[] = { "config", "config.worktree", "FETCH_HEAD",
					     "credentials" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		clean_git_file(w, fd, files[i]);
	if (sandbox_masks_enter(w, fd, "logs", depth, true) < 0 ||
	    sandbox_masks_enter(w, fd, "worktrees", depth, true) < 0)
		return -1;
	return sandbox_masks_enter(w, fd, "modules", depth, true);
}

static int one_entry(struct walk *w, int dir, const struct dirent *e, int depth, bool in_git)
{
	const char *name = e->d_name;
	struct stat st;
	if (in_git) {
		if (e->d_type == DT_DIR && strcmp(name, "objects") != 0 && depth < DEPTH_MAX)
			return sandbox_masks_enter(w, dir, name, depth, true);
		if (e->d_type == DT_REG &&
		    (strncmp(name, "config", 6) == 0 || strcmp(name, "HEAD") == 0 ||
		     strcmp(name, "FETCH_HEAD") == 0))
			clean_git_file(w, dir, name);
		return 0;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (strcmp(name, ".git") == 0)
		strv_push_bytes(&w->out->git_at, buf_cstr(&w->path),
				w->path.len ? w->path.len - 1 : 0);
	CLEANUP(free_ptr) char *path = mem_printf("%s%s", buf_cstr(&w->path), name);
	w->out->files++;
	if (st.st_uid != w->owner) {
		w->out->foreign++;
		if (w->out->foreign_path.nr < MASKS_FOREIGN_SHOWN)
			strv_push(&w->out->foreign_path, path);
	}
	if (!S_ISDIR(st.st_mode)) {
		judge_file(w, dir, name, path, &st);
		note_unreadable(w, path, &st);
		return 0;
	}
	if (own_places_at(&w->own, &st)) {
		add_mask(w, path, own_place, NULL);
		return 0;
	}
	if (masks_name_suspect(name, true) && !tracked_below(w->tracked, path)) {
		add_mask(w, path, "named like a directory of secrets", NULL);
		return 0;
	}
	if (strcmp(name, ".git") != 0) {
		bool filled = look_filled(name), closed = !is_readable(w, &st);
		note_unreadable(w, path, &st);
		size_t nr = w->out->nr;
		if (depth >= DEPTH_MAX) {
			add_mask(w, path, "more directories deep than are looked at", NULL);
			if (w->out->nr > nr) /* else it is exposed */
				w->out->item[nr].deep = true;
			return 0;
		}
		w->filled += filled;
		w->closed += closed;
		int rc = sandbox_masks_enter(w, dir, name, depth, false);
		w->filled -= filled;
		w->closed -= closed;
		return rc;
	}
	CLEANUP(fd_close)
	int git = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = w->path.len;
	buf_puts(&w->path, ".git/");
	int rc = git < 0 ? 0 : git_dir(w, git, depth + 1);
	w->path.len = len;
	w->path.data[len] = 0;
	return rc;
}

static int walk_dir(struct walk *w, int fd, int depth, bool in_git)
{
	DIR *d = depth > DEPTH_MAX ? NULL : fdopendir(fd);
	int rc = 0;
	const struct dirent *e;
	if (!d) {
		fd_close(&fd);
		return depth > DEPTH_MAX
			       ? err_set(w->err, ERR_FULL, "'%s' is deeper than %d directories",
					 buf_cstr(&w->path), DEPTH_MAX)
			       : err_sys(w->err, "can't list '%s'", buf_cstr(&w->path));
	}
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = one_entry(w, fd, e, depth, in_git);
	closedir(d);
	return rc;
}

/* The tracked files of a directory: by the index of its repository, wherever that is. */
static struct tracked *tracked_in(const char *dir)
{
	struct git_place p;
	struct err ignored = ERR_INIT;
	CLEANUP(free_ptr) char *real = realpath(dir, NULL);
	if (!real || git_place_above(real, &p, &ignored) <= 0)
		return tracked_none();
	const char *below = real + strlen(p.top);
	struct tracked *t = tracked_of(&p, *below == '/' ? below + 1 : "");
	git_place_release(&p);
	return t;
}

int masks_git_dir(const char *dir, const char *at, const struct strv *expose,
		  const struct git_shown *shown, struct masks *out, struct err *err)
{
	struct walk w = { .out = out, .expose = expose, .top = dir, .shown = shown, .err = err };
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, at);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	buf_printf(&w.path, "%s/", at);
	int rc = fd < 0 ? err_sys(err, "can't open '%s'", path) : git_dir(&w, fd, 1);
	buf_release(&w.path);
	return rc;
}

int masks_scan(const char *dir, const struct strv *expose, struct masks *out, struct err *err)
{
	return masks_scan_as(dir, expose, NULL, out, err);
}

int masks_scan_as(const char *dir, const struct strv *expose, const struct git_shown *shown,
		  struct masks *out, struct err *err)
{
	struct stat st;
	struct walk w = { .out = out, .expose = expose, .top = dir, .shown = shown, .err = err };
	if (own_places_refuse(dir, err) < 0)
		return -1;
	own_places_find(&w.own);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(err, "can't open the repository '%s'", dir);
		fd_close(&fd);
		return -1;
	}
	w.owner = geteuid() == 0 ? st.st_uid : geteuid();
	w.group = geteuid() == 0 ? st.st_gid : getegid();
	w.tracked = tracked_in(dir);
	w.look = look_begin(fd);
	int rc = walk_dir(&w, fd, 0, false);
	look_end(&w.look, out);
	tracked_free(&w.tracked);
	buf_release(&w.path);
	return rc < 0 ? err_wrap(err, "repository '%s'", dir) : 0;
}

void masks_release(struct masks *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		free(m->item[i].path);
		buf_release(&m->item[i].text);
	}
	free(m->item);
	strv_release(&m->exposed);
	strv_release(&m->foreign_path);
	strv_release(&m->unreadable);
	strv_release(&m->git_at);
	*m = (struct masks){ 0 };
}
