/* The target's repository, as far as the merge needs it. Runs in the merge child only. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"

static void git_id(const struct object_id *id, git_oid *out)
{
	memcpy(out->id, id->b, sizeof(id->b));
}

static void our_id(const git_oid *id, struct object_id *out)
{
	memcpy(out->b, id->id, sizeof(out->b));
}

/* --- its objects as a store --- */

static int gitrepo_odb_get(void *self, const struct object_id *id, enum object_type *type_out,
			   struct buf *out, struct err *err)
{
	struct target *t = self;
	git_oid want;
	git_odb_object *o = NULL;
	git_id(id, &want);
	int rc = git_odb_read(&o, t->odb, &want);
	if (rc == GIT_ENOTFOUND)
		return err_set(err, ERR_NOENT,
			       "an object of the repository is missing (a partial clone?)");
	if (rc < 0)
		return ws_git_err(err, "can't read an object");
	*type_out = git_odb_object_type(o) == GIT_OBJECT_TREE ? OBJECT_TREE : OBJECT_BLOB;
	buf_reset(out);
	buf_append(out, git_odb_object_data(o), git_odb_object_size(o));
	git_odb_object_free(o);
	return 0;
}

/* --- open --- */

/* Root does not write into another owner's repository as root: from here on we are its owner. */
static int become_owner(int root, struct err *err)
{
	struct stat st;
	if (geteuid() != 0)
		return 0;
	if (fstat(root, &st) < 0)
		return err_sys(err, "can't read the status of the target");
	if (st.st_uid == 0)
		return 0;
	if (setgroups(1, &st.st_gid) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return err_sys(err, "can't become the owner of the target");
	return 0;
}

static int find_prefix(struct target *t, struct err *err)
{
	CLEANUP(free_ptr) char *dir = realpath(t->dir, NULL);
	CLEANUP(free_ptr) char *top = realpath(git_repository_workdir(t->repo), NULL);
	size_t n = top ? strlen(top) : 0;
	if (!dir || !top || strncmp(dir, top, n) != 0 || (dir[n] && dir[n] != '/' && n > 1))
		return err_set(err, ERR_INVALID,
			       "'%s' is outside the working tree of its repository", t->dir);
	const char *rest = dir + n;
	while (*rest == '/')
		rest++;
	t->prefix = mem_strdup(rest);
	t->prefix_len = strlen(rest);
	return 0;
}

static int gitrepo_find_head(struct target *t, struct err *err)
{
	git_reference *head = NULL;
	git_oid id;
	git_commit *c = NULL;
	if (git_reference_lookup(&head, t->repo, "HEAD") < 0)
		return ws_git_err(err, "can't read HEAD");
	if (git_reference_type(head) == GIT_REFERENCE_SYMBOLIC)
		t->branch = mem_strdup(git_reference_symbolic_target(head));
	git_reference_free(head);
	if (git_reference_name_to_id(&id, t->repo, "HEAD") < 0)
		return 0; /* no commit yet */
	if (git_commit_lookup(&c, t->repo, &id) < 0)
		return ws_git_err(err, "can't read the commit of HEAD");
	our_id(&id, &t->head);
	our_id(git_commit_tree_id(c), &t->head_tree);
	git_commit_free(c);
	return 0;
}

static void find_kind(struct target *t)
{
	git_config *c = NULL;
	int sparse = 0;
	const char *gitdir = git_repository_path(t->repo);
	t->shallow = git_repository_is_shallow(t->repo) == 1;
	t->worktree = git_repository_is_worktree(t->repo) == 1;
	t->submodule = !t->worktree && gitdir && strstr(gitdir, "/modules/") != NULL;
	if (git_repository_config_snapshot(&c, t->repo) == 0 &&
	    git_config_get_bool(&sparse, c, "core.sparseCheckout") == 0)
		t->sparse = sparse != 0;
	git_config_free(c);
}

/* The repository seems to have an empty index. */
static void index_apart(const struct target *t)
{
	git_index *none = NULL;
	if (git_index_new(&none) == 0)
		git_repository_set_index(t->repo, none);
	git_index_free(none);
}

int target_open(struct target *t, const char *dir, struct err *err)
{
	static const char *extension[] = { "worktreeconfig", "partialclone", "preciousobjects" };
	t->dir = mem_strdup(dir);
	t->root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root < 0)
		return err_sys(err, "can't open '%s'", dir);
	ws_git_ready();
	if (user_config_read(t, err) < 0 || become_owner(t->root, err) < 0)
		return -1;
	/* the user named it; we run nothing of it */
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extension, ARRAY_LEN(extension));
	t->prefix = NULL;
	int rc = git_repository_open_ext(&t->repo, dir, 0, NULL);
	if (rc == GIT_ENOTFOUND) {
		t->repo = NULL;
		return 0;
	}
	if (rc < 0)
		return ws_git_err(err, "can't open the repository");
	if (user_config_use(t, err) < 0)
		return -1;
	t->bare = git_repository_is_bare(t->repo) == 1;
	if (t->bare)
		return 0;
	if (find_prefix(t, err) < 0)
		return -1;
	/* the repository around it ignores it */
	if (t->prefix_len && target_ignored(t, "", 0, true)) {
		git_repository_free(t->repo);
		t->repo = NULL;
		return 0;
	}
	if (gitrepo_find_head(t, err) < 0)
		return -1;
	if (git_repository_odb(&t->odb, t->repo) < 0)
		return ws_git_err(err, "can't open the repository's objects");
	if (git_repository_index(&t->index, t->repo) < 0 || git_index_read(t->index, 1) < 0) {
		/* of a kind that libgit2 cannot read: what looks into it on the way (line ends)
		 * sees an empty one */
		git_index_free(t->index);
		t->index = NULL;
		index_apart(t);
	}
	t->mem = memstore_new(&(struct ws_store){ .get = gitrepo_odb_get, .self = t });
	t->store = memstore_store(t->mem);
	find_kind(t);
	return 0;
}

void target_close(struct target *t)
{
	plan_release(t);
	memstore_free(&t->mem);
	git_index_free(t->index);
	git_odb_free(t->odb);
	git_repository_free(t->repo);
	fd_close(&t->root);
	fd_close(&t->config);
	free(t->dir);
	free(t->prefix);
	free(t->branch);
	json_decref(t->request);
	json_decref(t->earlier);
	json_decref(t->leftover);
	*t = (struct target){ .sock = t->sock, .root = -1, .config = -1 };
}

json_t *target_look(const struct target *t)
{
	json_t *o = json_object();
	char hex[41];
	json_put_str(o, "kind",
		     !t->repo	     ? "none"
		     : t->worktree   ? "worktree"
		     : t->submodule  ? "submodule"
		     : t->prefix_len ? "inside"
				     : "repo");
	if (!t->repo)
		return o;
	object_hex(&t->head, hex);
	if (!object_is_null(&t->head))
		json_put_str(o, "head", hex);
	json_put_str(o, "branch", t->branch);
	json_put_flag(o, "bare", t->bare);
	json_put_flag(o, "shallow", t->shallow);
	json_put_flag(o, "sparse", t->sparse);
	json_put_flag(o, "index", t->index != NULL);
	if (t->prefix_len)
		json_put_str(o, "prefix", t->prefix);
	return o;
}

/* --- paths --- */

void target_path(const struct target *t, const char *path, size_t len, struct buf *out)
{
	buf_reset(out);
	if (t->prefix_len) {
		buf_append(out, t->prefix, t->prefix_len);
		if (len)
			buf_putc(out, '/');
	}
	buf_append(out, path, len);
}

static const git_index_entry *gitrepo_entry_of(const struct target *t, const char *path, size_t len)
{
	CLEANUP(buf_release) struct buf p = BUF_INIT;
	target_path(t, path, len, &p);
	return t->index ? git_index_get_bypath(t->index, buf_cstr(&p), 0) : NULL;
}

bool target_tracked(const struct target *t, const char *path, size_t len)
{
	return gitrepo_entry_of(t, path, len) != NULL;
}

bool target_ignored(const struct target *t, const char *path, size_t len, bool dir)
{
	CLEANUP(buf_release) struct buf p = BUF_INIT;
	int ignored = 0;
	target_path(t, path, len, &p);
	if (dir)
		buf_putc(&p, '/');
	return git_ignore_path_is_ignored(&ignored, t->repo, buf_cstr(&p)) == 0 && ignored;
}

/* libgit2 keeps the line ends of every file that is a link in the index; git converts them. */
static bool link_is_staged(const struct target *t, const char *path, size_t len)
{
	unsigned mode = 0;
	struct object_id id;
	if (t->index)
		target_staged(t, path, len, &mode, &id);
	return mode && (mode & 0170000) != 0100000;
}

/* The setting of @path that only git itself carries out: a filter program, or another encoding in
 * the working tree than in the repository. NULL: none. */
static const char *git_converts(const struct target *t, const char *path)
{
	static const char *const attr[] = { "filter", ATTR_ENCODING };
	for (size_t i = 0; i < ARRAY_LEN(attr); i++) {
		const char *value = NULL;
		if (git_attr_get(&value, t->repo, GIT_ATTR_CHECK_NO_SYSTEM, path, attr[i]) == 0 &&
		    git_attr_value(value) == GIT_ATTR_VALUE_STRING &&
		    (!i || strcasecmp(value, "UTF-8") != 0))
			return attr[i];
	}
	return NULL;
}

int target_clean(const struct target *t, const char *path, size_t len, const struct buf *raw,
		 struct buf *out, const char **filter_out, struct err *err)
{
	CLEANUP(buf_release) struct buf p = BUF_INIT;
	git_filter_list *list = NULL;
	git_buf done = { 0 };
	target_path(t, path, len, &p);
	*filter_out = git_converts(t, buf_cstr(&p));
	if (*filter_out)
		return 1;
	bool apart = memchr(buf_cstr(raw), '\r', raw->len) && link_is_staged(t, path, len);
	if (apart)
		index_apart(t);
	int rc = git_filter_list_load(&list, t->repo, NULL, buf_cstr(&p), GIT_FILTER_TO_ODB,
				      GIT_FILTER_NO_SYSTEM_ATTRIBUTES);
	if (rc == 0 && list)
		rc = git_filter_list_apply_to_buffer(&done, list, buf_cstr(raw), raw->len);
	if (apart)
		git_repository_set_index(t->repo, t->index);
	if (rc < 0)
		ws_git_err(err, "can't convert line ends");
	buf_reset(out);
	if (rc == 0 && list)
		buf_append(out, done.ptr, done.size);
	else if (rc == 0)
		buf_append(out, buf_cstr(raw), raw->len);
	git_buf_dispose(&done);
	git_filter_list_free(list);
	return rc < 0 ? -1 : 0;
}

/* --- commits, refs, index --- */

int target_commit(struct target *t, const struct object_id *tree, const struct object_id *parent,
		  const struct plan_step *of, struct object_id *out, struct err *err)
{
	git_signature *sig = NULL, *author = NULL;
	git_oid tree_id, parent_id, id;
	const git_oid *parents[1] = { &parent_id };
	const char *name = json_str(t->request, "author", "sandglass"),
		   *mail = json_str(t->request, "email", "sandglass@localhost");
	git_id(tree, &tree_id);
	git_id(parent, &parent_id);
	int rc = git_signature_new(&sig, name, mail, json_int(t->request, "ts_us", 0) / 1000000, 0);
	if (rc == 0 && of->author &&
	    git_signature_new(&author, of->author, of->email, of->ts_us / 1000000, 0) < 0)
		author = NULL; /* a name that git does not take */
	if (rc == 0)
		rc = git_commit_create_from_ids(&id, t->repo, NULL, author ? author : sig, sig,
						NULL, of->message, &tree_id,
						object_is_null(parent) ? 0 : 1, parents);
	git_signature_free(author);
	git_signature_free(sig);
	if (rc < 0)
		return ws_git_err(err, "can't write the commit");
	our_id(&id, out);
	return 0;
}

static int set_detached(struct target *t, const struct object_id *from, const struct object_id *to,
			struct err *err)
{
	git_oid now, want, next;
	git_id(from, &want);
	git_id(to, &next);
	if (git_reference_name_to_id(&now, t->repo, "HEAD") < 0 || git_oid_cmp(&now, &want) != 0)
		return err_set(err, ERR_BUSY, "HEAD has moved in the meantime");
	return git_repository_set_head_detached(t->repo, &next) < 0
		       ? ws_git_err(err, "can't move HEAD")
		       : 0;
}

bool target_checked_out(struct target *t, const char *ref)
{
	git_reference *r = NULL;
	bool is = git_reference_lookup(&r, t->repo, ref) == 0 && git_branch_is_checked_out(r) == 1;
	git_reference_free(r);
	return is;
}

int target_ref(struct target *t, const char *ref, const struct object_id *from,
	       const struct object_id *to, struct err *err)
{
	git_oid now, next;
	git_reference *made = NULL;
	int rc;
	git_repository_set_ident(t->repo, json_str(t->request, "author", "sandglass"),
				 json_str(t->request, "email", "sandglass@localhost"));
	if (!ref)
		return set_detached(t, from, to, err);
	git_id(from, &now);
	git_id(to, &next);
	if (object_is_null(to)) {
		git_oid there;
		if (git_reference_name_to_id(&there, t->repo, ref) < 0)
			return 0;
		if (git_oid_cmp(&there, &now) != 0)
			return err_set(err, ERR_BUSY, "'%s' has moved in the meantime", ref);
		return git_reference_remove(t->repo, ref) < 0
			       ? ws_git_err(err, "can't remove the ref")
			       : 0;
	}
	if (object_is_null(from))
		rc = git_reference_create(&made, t->repo, ref, &next, 0, "sandglass: merge back");
	else
		rc = git_reference_create_matching(&made, t->repo, ref, &next, 1, &now,
						   "sandglass: merge back");
	git_reference_free(made);
	if (rc == GIT_EMODIFIED || rc == GIT_EEXISTS)
		return err_set(err, ERR_BUSY, "'%s' has moved in the meantime", ref);
	return rc < 0 ? ws_git_err(err, "can't set the ref") : 0;
}

void target_staged(const struct target *t, const char *path, size_t len, unsigned *mode,
		   struct object_id *oid)
{
	const git_index_entry *e = gitrepo_entry_of(t, path, len);
	*mode = e ? e->mode : 0;
	*oid = (struct object_id){ 0 };
	if (e)
		our_id(&e->id, oid);
}

bool target_in_submodule(const struct target *t, const char *path, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		const git_index_entry *e = path[i] == '/' ? gitrepo_entry_of(t, path, i) : NULL;
		if (e && e->mode == GIT_FILEMODE_COMMIT)
			return true;
	}
	return false;
}

int target_stage(struct target *t, const char *path, size_t len, unsigned mode,
		 const struct object_id *oid, bool same, struct err *err)
{
	CLEANUP(buf_release) struct buf p = BUF_INIT;
	git_index_entry e;
	struct stat st;
	if (!t->index)
		return 0;
	const git_index_entry *was = gitrepo_entry_of(t, path, len);
	if (was && (was->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE))
		return 0;
	target_path(t, path, len, &p);
	if (!mode) {
		int rc = was ? git_index_remove(t->index, buf_cstr(&p), 0) : 0;
		return rc < 0 ? ws_git_err(err, "can't change the index") : 0;
	}
	memset(&e, 0, sizeof(e));
	e.path = buf_cstr(&p);
	e.mode = mode;
	git_id(oid, &e.id);
	CLEANUP(free_ptr) char *full = mem_printf("%s/%.*s", t->dir, (int)len, path);
	if (same &&
	    /* so that git need not read the file again; a wrong guess only costs that */
	    lstat(full, &st) == 0) {
		e.ctime.seconds = (int32_t)st.st_ctim.tv_sec;
		e.ctime.nanoseconds = (uint32_t)st.st_ctim.tv_nsec;
		e.mtime.seconds = (int32_t)st.st_mtim.tv_sec;
		e.mtime.nanoseconds = (uint32_t)st.st_mtim.tv_nsec;
		e.dev = (uint32_t)st.st_dev;
		e.ino = (uint32_t)st.st_ino;
		e.uid = st.st_uid;
		e.gid = st.st_gid;
		e.file_size = (uint32_t)st.st_size;
	}
	return git_index_add(t->index, &e) < 0 ? ws_git_err(err, "can't change the index") : 0;
}
