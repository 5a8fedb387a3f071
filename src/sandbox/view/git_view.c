#include "sandbox/view/git_view.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/copy.h"
#include "sandbox/view/mounts_below.h"

enum { SMALL_MAX = 1 << 20 };
#define ATTRIBUTES GIT_VIEW_ATTRIBUTES

void git_view_release(struct git_view *v)
{
	for (size_t i = 0; i < v->nr; i++) {
		free(v->item[i].at);
		free(v->item[i].prefix);
		git_place_release(&v->item[i].place);
	}
	free(v->item);
	strv_release(&v->stores);
	strv_release(&v->notes);
	strv_release(&v->mounts);
	strv_release(&v->no_mount);
	*v = (struct git_view){ 0 };
}

bool git_view_any(const struct git_view *v, bool copy)
{
	return v->nr_whole || (copy ? v->nr > 0 : v->mounts.nr > 0);
}

static void git_view_note_it(struct git_view *v, const char *at, const char *text)
{
	CLEANUP(free_ptr) char *line = mem_printf("git in '%s': %s", *at ? at : ".", text);
	strv_push(&v->notes, line);
}

void git_view_shown(const char *dir, const struct git_view_how *how, const struct git_own *own,
		    struct git_shown *out)
{
	*out = (struct git_shown){ .workspace = dir, .programs = !how->copy, .own = own };
	if (own->attributes.len)
		out->attributes = ".git/" ATTRIBUTES;
}

/* --- what is where --- */

static char *git_view_below(const char *at, const char *name)
{
	return *at ? path_join(at, name) : mem_strdup(name);
}

/* How the objects of store @k are reached from .git/objects. */
static char *git_view_store_path(const struct git_view_how *how, size_t k, size_t first)
{
	return how->copy ? mem_printf("../alternate-%zu", k - first)
			 : mem_printf(GIT_VIEW_STORES "/%zu.%zu", how->layer, k);
}

static void alternates_text(const struct git_made *m, size_t skip, const struct git_view_how *how,
			    struct buf *out)
{
	for (size_t k = skip; k < m->place.stores.nr; k++) {
		CLEANUP(free_ptr)
		char *path = git_view_store_path(how, m->first + k - skip, m->first);
		buf_printf(out, "%s\n", path);
	}
}

static struct git_made *add_made(struct git_view *v, const char *at, struct git_place *p,
				 bool whole)
{
	GROW(v->item, v->nr, v->cap);
	struct git_made *m = &v->item[v->nr++];
	*m = (struct git_made){
		.at = mem_strdup(at), .place = *p, .whole = whole, .first = v->stores.nr
	};
	*p = (struct git_place){ 0 };
	v->nr_whole += whole;
	for (size_t k = whole ? 0 : 1; k < m->place.stores.nr; k++)
		strv_push(&v->stores, m->place.stores.item[k]);
	for (size_t k = 0; k < m->place.no_store.nr; k++) {
		CLEANUP(free_ptr)
		char *text =
			mem_printf("objects of '%s' are not available", m->place.no_store.item[k]);
		git_view_note_it(v, at, text);
	}
	return m;
}

/* An ordinary .git of which only objects are elsewhere. */
static void look_plain(struct git_view *v, const char *at, struct git_place *p,
		       const struct git_view_how *how, struct masks *masks)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *path = git_view_below(at, ".git/objects/info/alternates");
	if (p->stores.nr == 1 && !p->no_store.nr)
		return;
	alternates_text(add_made(v, at, p, false), 1, how, &text);
	masks_show(masks, path, "as git in the sandbox needs it", &text);
}

/* The relative path from directory @at of the workspace to @to in it. */
static char *way_to(const char *at, const char *to)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	for (const char *p = at; *p;) {
		buf_puts(&out, "../");
		p += strcspn(p, "/");
		p += *p == '/';
	}
	buf_puts(&out, to);
	return buf_take(&out);
}

/* .git is a file that leads to another directory of the workspace: by a relative path it leads
 * there in the sandbox, too. */
static int look_inside(const char *real, const char *at, const struct git_place *p,
		       const struct git_view_how *how, const struct git_shown *shown,
		       struct masks *masks, struct err *err)
{
	const char *to = p->dir + strlen(real) + 1, *common = p->common + strlen(real) + 1;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *pointer = git_view_below(at, ".git"), *way = way_to(at, to);
	buf_printf(&text, "gitdir: %s\n", way);
	masks_show(masks, pointer, "as git in the sandbox needs it", &text);
	if (p->worktree) {
		CLEANUP(free_ptr) char *back = path_join(to, "gitdir");
		buf_printf(&text, "%s/%s\n", how->workspace, pointer);
		masks_show(masks, back, "as git in the sandbox needs it", &text);
	}
	if (strstr(common, ".git/") == common || strstr(common, "/.git/") ||
	    !strcmp(common, ".git") ||
	    (strlen(common) > 5 && !strcmp(common + strlen(common) - 5, "/.git")))
		return 0; /* masks_scan has been there */
	return masks_git_dir(real, common, how->expose, shown, masks, err);
}

/* Debian's libgit2 can't open this format, but git in the sandbox can. */
static void note_format(struct git_view *v, const char *at, const struct git_place *p)
{
	if (p->format == GIT_SHA256)
		git_view_note_it(
			v, at,
			"the repository has SHA-256 objects (objectFormat sha256): git works in the sandbox, but only 'merge --patch' can take its work");
	else if (p->reftable)
		git_view_note_it(
			v, at,
			"the repository has reftables: git works in the sandbox, but only 'merge --patch' can take its work");
}

static int git_view_look_at(struct git_view *v, const char *real, const char *at,
			    const struct git_view_how *how, const struct git_shown *shown,
			    struct masks *masks, struct err *err)
{
	struct git_place p;
	struct err why = ERR_INIT;
	CLEANUP(free_ptr) char *top = *at ? path_join(real, at) : mem_strdup(real);
	int rc = git_place_at(top, &p, &why);
	if (rc < 0)
		git_view_note_it(v, at, why.text);
	if (rc <= 0)
		return 0;
	note_format(v, at, &p);
	bool inside =
		git_below(p.dir, real) && git_below(p.common, real) && strcmp(p.common, real) != 0;
	if (p.worktree && p.reftable && !inside)
		git_view_note_it(
			v, at,
			"a linked worktree of a repository with reftables has only its files in the sandbox, not its git");
	else if (!p.file && !p.link)
		look_plain(v, at, &p, how, masks);
	else if (p.file && inside && !p.link)
		rc = look_inside(real, at, &p, how, shown, masks, err);
	else
		add_made(v, at, &p, true);
	git_place_release(&p);
	return rc < 0 ? -1 : 0;
}

/* --- your patterns --- */

/* Those of core.excludesFile stand before the repository's own, which are stronger. */
static void show_patterns(const char *real, const struct git_shown *shown, struct masks *masks)
{
	CLEANUP(free_ptr) char *path = path_join(real, ".git/info/exclude");
	CLEANUP(buf_release) struct buf theirs = BUF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const struct git_own *own = shown->own;
	if (own && own->excludes.len) {
		git_read_file(path, &theirs, SMALL_MAX);
		buf_append(&text, own->excludes.data, own->excludes.len);
		buf_putc(&text, '\n');
		buf_append(&text, buf_cstr(&theirs), theirs.len);
		masks_show(masks, ".git/info/exclude", "with your own patterns", &text);
	}
	if (own && own->attributes.len) {
		buf_append(&text, own->attributes.data, own->attributes.len);
		masks_show(masks, ".git/" ATTRIBUTES, "your own attributes", &text);
	}
}

/* The workspace has no .git of its own: it may be a part of a repository. */
static void look_above(struct git_view *v, const char *real)
{
	struct git_place p;
	struct err why = ERR_INIT;
	int rc = git_place_above(real, &p, &why);
	if (rc < 0)
		git_view_note_it(v, "", why.text);
	if (rc <= 0)
		return;
	const char *prefix = real + strlen(p.top);
	prefix += *prefix == '/';
	CLEANUP(free_ptr) char *text = NULL;
	if (!git_sub_tracked(&p, prefix))
		text = mem_printf(
			"nothing here is tracked by the repository '%s' around it, which is not shown",
			p.top);
	else if (p.format != GIT_SHA1 || p.reftable)
		text = mem_printf(
			"the repository '%s' around it has %s; open the whole repository to use git",
			p.top, p.reftable ? "reftables" : "SHA-256 objects");
	if (text && strncmp(prefix, ".git", 4) != 0)
		git_view_note_it(v, "", text);
	else if (!text)
		add_made(v, "", &p, true)->prefix = mem_strdup(prefix);
	git_place_release(&p);
}

static bool has_own_git(const struct masks *masks)
{
	for (size_t i = 0; i < masks->git_at.nr; i++)
		if (!*masks->git_at.item[i])
			return true;
	return false;
}

int git_view_look(const char *dir, const struct git_view_how *how, const struct git_shown *shown,
		  struct masks *masks, struct git_view *v, struct err *err)
{
	CLEANUP(free_ptr) char *real = realpath(dir, NULL);
	struct stat st;
	if (!real)
		return err_sys(err, "can't open the repository '%s'", dir);
	if (!how->copy)
		mounts_below(real, &v->mounts, &v->no_mount);
	for (size_t i = 0; i < v->no_mount.nr; i++)
		masks_hide(masks, v->no_mount.item[i]);
	if (!has_own_git(masks))
		look_above(v, real);
	for (size_t i = 0; i < masks->git_at.nr; i++)
		if (git_view_look_at(v, real, masks->git_at.item[i], how, shown, masks, err) < 0)
			return -1;
	CLEANUP(free_ptr) char *git = path_join(real, ".git");
	if (lstat(git, &st) == 0 && S_ISDIR(st.st_mode) &&
	    !(v->nr && v->item[0].whole && !*v->item[0].at))
		show_patterns(real, shown, masks);
	return 0;
}

/* --- writing --- */

static int git_view_give_away(const char *path, const struct git_owner *owner, struct err *err)
{
	return geteuid() == 0 && lchown(path, owner->uid, owner->gid) < 0
		       ? err_sys(err, "can't change the owner of '%s'", path)
		       : 0;
}

/* Directories above a .git, as they are on the host: they lie above the repository's own. */
static int make_above(const char *dir, const char *root, const char *at,
		      const struct git_owner *owner, struct err *err)
{
	for (const char *slash = at; *at; slash++) {
		slash = strchrnul(slash, '/');
		CLEANUP(free_ptr) char *to = mem_printf("%s/%.*s", root, (int)(slash - at), at);
		CLEANUP(free_ptr) char *from = mem_printf("%s/%.*s", dir, (int)(slash - at), at);
		struct stat st;
		if (mkdir(to, 0755) == 0) {
			if (stat(from, &st) == 0 && chmod(to, st.st_mode & 0777) < 0)
				return err_sys(err, "can't set the mode of '%s'", to);
			if (git_view_give_away(to, owner, err) < 0)
				return -1;
		} else if (errno != EEXIST) {
			return err_sys(err, "can't create '%s'", to);
		}
		if (!*slash)
			return 0;
	}
	return 0;
}

static int git_view_write_text(const char *path, const struct buf *text, struct err *err)
{
	CLEANUP(fd_close)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 ? err_sys(err, "can't write '%s'", path)
		      : fd_write_all(fd, buf_cstr(text), text->len, err);
}

static int copy_stores(const struct git_made *m, const char *git, const struct git_owner *owner,
		       struct err *err)
{
	const struct copy_owner to_owner = { .uid = owner->uid, .gid = owner->gid };
	const struct masks none = { 0 };
	size_t skip = m->whole ? 0 : 1;
	for (size_t k = skip; k < m->place.stores.nr; k++) {
		CLEANUP(free_ptr) char *to = mem_printf("%s/alternate-%zu", git, k - skip);
		if (copy_tree(m->place.stores.item[k], to, &none, &to_owner, err) < 0)
			return -1;
		/* they are known */
		CLEANUP(free_ptr) char *others = path_join(to, "info/alternates");
		if (unlink(others) < 0 && errno != ENOENT && errno != ENOTDIR)
			return err_sys(err, "can't remove '%s'", others);
	}
	return 0;
}

/* Your attributes and patterns, in a .git that is ours. */
static int write_patterns(const struct git_made *m, const char *git, const struct git_shown *shown,
			  struct err *err)
{
	const struct git_own *own = shown->own;
	CLEANUP(free_ptr)
	char *exclude = path_join(git, "info/exclude"), *attributes = path_join(git, ATTRIBUTES);
	CLEANUP(buf_release) struct buf excludes = BUF_INIT;
	CLEANUP(buf_release) struct buf theirs = BUF_INIT;
	CLEANUP(buf_release) struct buf attrs = BUF_INIT;
	if (own && own->excludes.len)
		buf_printf(&excludes, "%s\n", own->excludes.data);
	if (own && own->attributes.len)
		buf_printf(&attrs, "%s\n", own->attributes.data);
	git_read_file(exclude, &theirs, SMALL_MAX);
	if (m->prefix)
		git_sub_patterns(m, &excludes, &attrs);
	bool more = excludes.len > 0;
	buf_append(&excludes, buf_cstr(&theirs), theirs.len);
	if (more && git_view_write_text(exclude, &excludes, err) < 0)
		return -1;
	return attrs.len ? git_view_write_text(attributes, &attrs, err) : 0;
}

static int give_all_away(const char *dir, const struct git_owner *owner, struct err *err)
{
	CLEANUP(free_ptr) char *top = mem_strdup(dir);
	char *const paths[] = { top, NULL };
	FTS *f = geteuid() == 0 ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	const FTSENT *e;
	int rc = 0;
	while (f && rc == 0 && (e = fts_read(f)))
		if (e->fts_info != FTS_DP)
			rc = git_view_give_away(e->fts_path, owner, err);
	if (f)
		fts_close(f);
	return rc;
}

static int write_one(const struct git_made *m, const char *dir, const char *root,
		     const struct git_view_how *how, const struct git_shown *shown,
		     const struct git_owner *owner, struct err *err)
{
	CLEANUP(free_ptr) char *at = git_view_below(m->at, ".git");
	CLEANUP(free_ptr) char *to = path_join(root, at);
	if (make_above(dir, root, m->at, owner, err) < 0)
		return -1;
	if (m->whole) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		CLEANUP(free_ptr) char *alternates = path_join(to, "objects/info/alternates");
		if (dir_remove(to, err) < 0) /* of a copy */
			return -1;
		alternates_text(m, 0, how, &text);
		if (git_compose(m, to, shown, err) < 0 ||
		    git_view_write_text(alternates, &text, err) < 0 ||
		    write_patterns(m, to, shown, err) < 0 || give_all_away(to, owner, err) < 0)
			return -1;
	}
	return how->copy ? copy_stores(m, to, owner, err) : 0;
}

static int write_mounts(const struct git_view *v, const char *dir, const char *root,
			const struct masks *masks, const struct git_owner *owner, struct err *err)
{
	const struct copy_owner to_owner = { .uid = owner->uid, .gid = owner->gid };
	for (size_t i = 0; i < v->mounts.nr; i++) {
		const char *at = v->mounts.item[i], *slash = strrchr(at, '/');
		CLEANUP(free_ptr) char *above = mem_strndup(at, slash ? (size_t)(slash - at) : 0);
		if (make_above(dir, root, above, owner, err) < 0 ||
		    copy_part(dir, at, root, masks, &to_owner, err) < 0)
			return -1;
	}
	return 0;
}

int git_view_write(const struct git_view *v, const char *dir, const char *root,
		   const struct git_view_how *how, const struct git_shown *shown,
		   const struct masks *masks, const struct git_owner *owner, struct err *err)
{
	if (write_mounts(v, dir, root, masks, owner, err) < 0)
		return -1;
	for (size_t i = 0; i < v->nr; i++)
		if ((v->item[i].whole || how->copy) &&
		    write_one(&v->item[i], dir, root, how, shown, owner, err) < 0)
			return err_wrap(err, "git of '%s'", dir);
	return 0;
}
