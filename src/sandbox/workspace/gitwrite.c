/* Carrying a merge out in one target, and taking it back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/tree.h"

static const char *mode_of(const struct target *t)
{
	return json_str(t->request, "mode", "");
}

static bool is_mode(const struct target *t, const char *mode)
{
	return !strcmp(mode_of(t), mode);
}

void gitwrite_put_oid(json_t *o, const char *key, const struct object_id *id)
{
	char hex[41];
	object_hex(id, hex);
	if (!object_is_null(id))
		json_put_str(o, key, hex);
}

static void add_why(json_t *list, const struct plan_path *p, const char *why)
{
	json_t *o = json_object();
	json_put_bytes(o, "path", p->path, p->len);
	json_put_str(o, "why", why);
	json_array_append_new(list, o);
}

static bool makes_commits(const struct target *t)
{
	return is_mode(t, "branch") || is_mode(t, "commits");
}

/* --- commits --- */

static int step_edits(struct target *t, struct plan_step *s, const struct object_id *tree,
		      struct tree_edit **edit, char ***name, size_t *nr_out, struct err *err)
{
	size_t nr = 0;
	*edit = mem_calloc(s->nr, sizeof(**edit));
	*name = mem_calloc(s->nr, sizeof(**name));
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < s->nr; i++) {
		struct plan_path *p = &s->path[i];
		struct buf path = BUF_INIT;
		unsigned mode = 0, to_mode;
		struct object_id oid = { 0 }, to = { 0 };
		bool dirs = (p->want.kind == WS_DIR || p->want.kind == WS_NONE) &&
			    (p->base.kind == WS_DIR || p->base.kind == WS_NONE);
		if (p->skip || dirs)
			continue;
		target_path(t, p->path, p->len, &path);
		rc = object_is_null(tree) ? 0
					  : tree_find(&t->store, tree, buf_cstr(&path), path.len,
						      &mode, &oid, err);
		if (rc >= 0)
			rc = plan_merge_git(t, p, mode, &oid, &to_mode, &to, err);
		if (rc == 0 && to_mode && to_mode != TREE_MODE_DIR)
			rc = plan_tree_way(t, s, p, mode, tree, err);
		struct plan_path *whole = plan_find(&t->all, p->path, p->len);
		if (rc > 0)
			p->tree_conflict = true;
		if (rc > 0 && whole && makes_commits(t))
			whole->tree_conflict = true;
		if (rc == 0 && whole && (mode != to_mode || memcmp(&oid, &to, sizeof(oid)) != 0))
			whole->in_tree = true;
		if (rc == 0 && (mode != to_mode || memcmp(&oid, &to, sizeof(oid)) != 0)) {
			(*name)[nr] = buf_take(&path);
			(*edit)[nr] = (struct tree_edit){ .path = (*name)[nr],
							  .len = strlen((*name)[nr]),
							  .mode = to_mode,
							  .oid = to };
			nr++;
		}
		buf_release(&path);
	}
	*nr_out = nr;
	return rc < 0 ? -1 : 0;
}

/* Tree @tree with step @s in it; *changed_out false if it is the same. */
static int step_tree(struct target *t, struct plan_step *s, const struct object_id *tree,
		     struct object_id *out, bool *changed_out, struct err *err)
{
	struct tree_edit *edit;
	char **name;
	size_t nr;
	int rc = step_edits(t, s, tree, &edit, &name, &nr, err);
	*out = *tree;
	if (rc == 0 && nr)
		rc = tree_edit(&t->store, tree, edit, nr, out, err);
	*changed_out = memcmp(out, tree, sizeof(*out)) != 0;
	for (size_t i = 0; i < nr; i++)
		free(name[i]);
	free(name);
	free(edit);
	return rc;
}

struct chain {
	struct object_id *tree;
	size_t *step;
	size_t nr;
};

static void gitwrite_flush_one(void *self, const struct object_id *id, enum object_type type,
			       const void *bytes, size_t len)
{
	struct target *t = self;
	git_oid out;
	(void)id;
	if (t->odb && git_odb_write(&out, t->odb, bytes, len,
				    type == OBJECT_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB) < 0) {
		git_odb_free(t->odb);
		t->odb = NULL; /* said by flush */
	}
}

static int gitwrite_flush(struct target *t, struct err *err)
{
	memstore_each(t->mem, gitwrite_flush_one, t);
	return t->odb ? 0 : ws_git_err(err, "can't write objects into the repository");
}

static int write_commits(struct target *t, const struct chain *c, struct err *err)
{
	struct object_id parent = t->head;
	if (gitwrite_flush(t, err) < 0)
		return -1;
	for (size_t i = 0; i < c->nr; i++)
		if (target_commit(t, &c->tree[i], &parent, &t->step[c->step[i]], &parent, err) < 0)
			return -1;
	t->commit = parent;
	return 0;
}

bool branch_stands(struct target *t, const char *ref)
{
	git_oid id;
	return git_reference_name_to_id(&id, t->repo, ref) == 0;
}

static const char *branch_name(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
}

/* Names that git refuses for branches, or that mean another ref to it. */
static bool is_other_ref(const char *name)
{
	return *name == '-' || !strcmp(name, "HEAD") || !strcmp(name, "@") ||
	       !strncmp(name, "refs/", 5);
}

/* Git keeps a branch as a file: none can be where another one needs a directory. */
int way_of_ref(struct target *t, const char *ref, struct err *err)
{
	CLEANUP(free_ptr) char *below = mem_printf("%s/*", ref);
	git_reference_iterator *it = NULL;
	const char *name = NULL;
	int valid = 0;
	if (git_reference_name_is_valid(&valid, ref) < 0 || !valid ||
	    (branch_name(ref) != ref && is_other_ref(branch_name(ref))))
		return err_set(err, ERR_USAGE, "invalid branch name '%s'", branch_name(ref));
	for (const char *slash = strchr(ref + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
		CLEANUP(free_ptr) char *above = mem_strndup(ref, (size_t)(slash - ref));
		if (branch_stands(t, above))
			return err_set(
				err, ERR_EXISTS,
				"can't create branch '%s': branch '%s' exists; choose another name",
				branch_name(ref), branch_name(above));
	}
	if (git_reference_iterator_glob_new(&it, t->repo, below) == 0 &&
	    git_reference_next_name(&name, it) == 0)
		err_set(err, ERR_EXISTS,
			"can't create branch '%s': branch '%s' exists; choose another name",
			branch_name(ref), branch_name(name));
	git_reference_iterator_free(it);
	return name ? -1 : 0;
}

/* A branch that nobody has named takes the first name that is free. */
static int choose_ref(struct target *t, struct err *err)
{
	const char *ref = json_str(t->request, "ref", "");
	t->ref = mem_strdup(t->stands_on ? t->stands_on : ref);
	if (t->stands_on)
		return 0;
	for (int i = 2; json_flag(t->request, "free", false) && i < 1000; i++) {
		struct err none = ERR_INIT;
		if (!branch_stands(t, t->ref) && way_of_ref(t, t->ref, &none) == 0)
			return 0;
		free(t->ref);
		t->ref = mem_printf("%s-%d", ref, i);
	}
	return way_of_ref(t, t->ref, err);
}

/* Does the branch hold this very merge already? */
static bool same_commit(struct target *t, const git_oid *there)
{
	git_commit *a = NULL, *b = NULL;
	git_oid id;
	memcpy(id.id, t->commit.b, sizeof(t->commit.b));
	bool same = git_commit_lookup(&a, t->repo, there) == 0 &&
		    git_commit_lookup(&b, t->repo, &id) == 0 &&
		    git_oid_equal(git_commit_tree_id(a), git_commit_tree_id(b)) &&
		    git_commit_parentcount(a) == git_commit_parentcount(b) &&
		    (!git_commit_parentcount(a) ||
		     git_oid_equal(git_commit_parent_id(a, 0), git_commit_parent_id(b, 0)));
	git_commit_free(a);
	git_commit_free(b);
	return same;
}

static int set_new_ref(struct target *t, struct err *err)
{
	git_oid there;
	if (git_reference_name_to_id(&there, t->repo, t->ref) == 0) {
		memcpy(t->ref_old.b, there.id, sizeof(t->ref_old.b));
		if (same_commit(t, &there)) {
			t->commit = t->ref_old;
			return 0; /* a second try of the same */
		}
		if (t->stands_on) {
			if (memcmp(&t->ref_old, &t->head, sizeof(t->head)) != 0)
				return err_set(err, ERR_BUSY,
					       "branch '%s' has moved in the meantime",
					       branch_name(t->ref));
		} else if (!is_mode(t, "branch")) {
			/* our own name of the same merge, from before the target moved */
		} else if (!json_flag(t->request, "again", false)) {
			return err_set(err, ERR_EXISTS, "branch '%s' exists; choose another name",
				       t->ref);
		}
	}
	t->ref_made = true; /* saved first: a recorded ref that was never made does no harm */
	if (gitrecord_save(t, false, err) < 0 ||
	    target_ref(t, t->ref, &t->ref_old, &t->commit, err) < 0) {
		t->ref_made = false;
		gitrecord_aborted(t);
		return -1;
	}
	failpoint_hit("merge-ref");
	return 0;
}

/* The commits of submodules go into the last commit here. */
static int judge_links(struct target *t, struct chain *c, struct err *err)
{
	struct tree_edit *edit = mem_calloc(t->nr_links, sizeof(*edit));
	char **name = mem_calloc(t->nr_links, sizeof(*name));
	struct object_id out;
	for (size_t i = 0; i < t->nr_links; i++) {
		struct buf path = BUF_INIT;
		struct plan_link *l = &t->link[i];
		target_path(t, l->path, l->len, &path);
		size_t len = path.len;
		name[i] = buf_take(&path);
		edit[i] = (struct tree_edit){
			.path = name[i], .len = len, .mode = TREE_MODE_GITLINK, .oid = l->oid
		};
		target_staged(t, l->path, l->len, &l->staged_mode, &l->staged_oid);
		l->stage = is_mode(t, "commits");
	}
	int rc = tree_edit(&t->store, &t->new_tree, edit, t->nr_links, &out, err);
	bool changed = rc == 0 && memcmp(&out, &t->new_tree, sizeof(out)) != 0;
	if (changed && !c->nr) {
		c->step[c->nr] = t->nr_steps - 1;
		c->nr++;
	}
	if (changed)
		c->tree[c->nr - 1] = t->new_tree = out;
	for (size_t i = 0; i < t->nr_links; i++)
		free(name[i]);
	free(name);
	free(edit);
	return rc;
}

static int judge_commits(struct target *t, struct chain *c, struct err *err)
{
	struct object_id tree = t->head_tree;
	c->tree = mem_calloc(t->nr_steps + 1, sizeof(*c->tree));
	c->step = mem_calloc(t->nr_steps + 1, sizeof(*c->step));
	for (size_t i = 0; i < t->nr_steps; i++) {
		bool changed;
		if (step_tree(t, &t->step[i], &tree, &c->tree[c->nr], &changed, err) < 0)
			return -1;
		tree = c->tree[c->nr];
		c->step[c->nr] = i;
		c->nr += changed;
	}
	t->new_tree = tree;
	return t->nr_links && makes_commits(t) ? judge_links(t, c, err) : 0;
}

/* --- prepare --- */

/* A letter for each path of the request, in its order. */
static void put_classes(const struct target *t, json_t *o)
{
	CLEANUP(free_ptr) char *letters = mem_calloc(t->all.nr + 1, 1);
	json_t *untracked = json_array();
	for (size_t i = 0; i < t->all.nr; i++) {
		const struct plan_path *p = &t->all.path[i];
		letters[p->nth] = (char)p->result;
		if (p->untracked && p->in_tree && is_mode(t, "branch"))
			json_array_append_new(untracked, json_bytes(p->path, p->len));
	}
	json_put_str(o, "classes", letters);
	if (json_array_size(untracked))
		json_put(o, "untracked", json_incref(untracked));
	json_decref(untracked);
}

static json_t *gitwrite_report(struct target *t, bool trees, bool files, bool *clean_out)
{
	json_t *o = target_look(t), *conflicts = json_array(), *skipped = json_array();
	size_t writes = 0;
	*clean_out = true;
	for (size_t i = 0; i < t->all.nr; i++) {
		const struct plan_path *p = &t->all.path[i];
		if (p->skip && !(files && p->same))
			add_why(skipped, p, p->skip);
		else if (files && p->conflict)
			add_why(conflicts, p, p->conflict);
		writes += p->write && !p->skip && !p->conflict;
	}
	for (size_t k = 0; trees && k < t->nr_steps; k++)
		for (size_t i = 0; i < t->step[k].nr; i++) {
			const struct plan_path *p = &t->step[k].path[i];
			if (p->tree_conflict && !p->skip)
				add_why(conflicts, p,
					p->conflict
						? p->conflict
						: "changed in the sandbox at lines that differ in HEAD; commit your own edits of this file first");
		}
	*clean_out = json_array_size(conflicts) == 0;
	plan_classify(t, files, trees);
	put_classes(t, o);
	json_put_int(o, "write", files ? (int64_t)writes : 0);
	json_put(o, "conflicts", conflicts);
	json_put(o, "skipped", skipped);
	json_put_flag(o, "clean", *clean_out);
	return o;
}

static int may_commit(const struct target *t, struct err *err)
{
	if (!t->repo)
		return err_set(err, ERR_UNSUPPORTED, MERGE_NO_REPOSITORY, t->dir);
	if (is_mode(t, "commits") && git_repository_state(t->repo) != GIT_REPOSITORY_STATE_NONE)
		return err_set(
			err, ERR_BUSY,
			"'%s' has an unfinished merge, rebase, or similar operation; finish it first",
			t->dir);
	if (is_mode(t, "commits") && !t->index)
		return err_set(
			err, ERR_UNSUPPORTED,
			"'%s' has a sparse index, which sandglass can't write; merge into a branch instead "
			"(mode branch)",
			t->dir);
	return 0;
}

int plan_prepare(struct target *t, json_t **out, struct err *err)
{
	bool commits = is_mode(t, "branch") || is_mode(t, "commits"), files = !is_mode(t, "branch"),
	     clean;
	bool dry = json_flag(t->request, "dry", false);
	struct chain c = { 0 };
	if (t->bare)
		return err_set(err, ERR_UNSUPPORTED, "'%s' is a bare repository", t->dir);
	if ((commits && may_commit(t, err) < 0) || stand_onto(t, err) < 0 || plan_make(t, err) < 0)
		return -1;
	int rc = t->repo ? judge_commits(t, &c, err) : 0;
	if (rc == 0 && t->repo && c.nr)
		rc = choose_ref(t, err);
	if (rc == 0 && t->repo && files)
		plan_index(t, is_mode(t, "commits"));
	json_t *o = rc == 0 ? gitwrite_report(t, commits, files, &clean) : NULL;
	if (rc == 0 && clean && !dry && t->repo && c.nr) {
		rc = write_commits(t, &c, err);
		if (rc == 0)
			rc = set_new_ref(t, err);
	}
	if (rc == 0 && clean && !dry && t->repo && !c.nr)
		rc = gitwrite_flush(t, err); /* contents of the index */
	if (rc == 0)
		branches_prepare(t, dry || !clean, o);
	if (rc == 0 && clean && !dry && branches_make(t, o, err) < 0) {
		struct err none = ERR_INIT;
		rc = -1;
		(void)!plan_abort(t, &none); /* what can't be taken back stays in the record */
	}
	free(c.tree);
	free(c.step);
	if (rc < 0) {
		json_decref(o);
		return -1;
	}
	json_put_str(o, "ref", t->ref);
	gitwrite_put_oid(o, "new", &t->commit);
	json_put_int(o, "commits", (int64_t)c.nr);
	t->prepared = clean && !dry;
	*out = o;
	return 0;
}

/* --- commit --- */

static int gitwrite_write_files(struct target *t, size_t *written, struct err *err)
{
	for (size_t i = t->all.nr; i-- > 0;) { /* what is in a directory goes before it */
		struct plan_path *p = &t->all.path[i];
		enum ws_kind was = (enum ws_kind)p->host.state.kind;
		if (!p->write || p->skip || was == WS_NONE ||
		    (p->after.kind != WS_NONE && (was == WS_DIR) == (p->after.kind == WS_DIR)))
			continue;
		if (hostfile_remove(t->root, p->path, p->len, &p->host.st, err) < 0 &&
		    !(was == WS_DIR && p->after.kind == WS_NONE))
			return -1;
		++*written;
		failpoint_hit("merge-file");
	}
	for (size_t i = 0; i < t->all.nr; i++) {
		struct plan_path *p = &t->all.path[i];
		if (!p->write || p->skip || p->after.kind == WS_NONE)
			continue;
		const struct stat none = { 0 };
		enum ws_kind was = (enum ws_kind)p->host.state.kind;
		bool gone = was != WS_NONE && (was == WS_DIR) != (p->after.kind == WS_DIR);
		if (hostfile_write(t->root, p->path, p->len, &p->after, buf_cstr(&p->bytes),
				   p->bytes.len, gone ? &none : &p->host.st, &p->wrote, err) < 0)
			return -1;
		++*written;
		failpoint_hit("merge-file");
	}
	return 0;
}

static int gitwrite_write_index(struct target *t, struct err *err)
{
	bool any = false;
	if (!t->index)
		return 0;
	if (git_index_read(t->index, 0) < 0)
		return ws_git_err(err, "can't read the index");
	for (size_t i = 0; i < t->all.nr; i++) {
		const struct plan_path *p = &t->all.path[i];
		if (p->skip || !p->stage)
			continue;
		CLEANUP(buf_release) struct buf clean = BUF_INIT;
		const char *filter = NULL;
		struct object_id id = { 0 };
		const struct buf *raw = p->write ? &p->bytes : &p->host.bytes;
		if (p->stage_mode == TREE_MODE_LINK)
			object_name(OBJECT_BLOB, buf_cstr(raw), raw->len, &id);
		else if (p->stage_mode &&
			 target_clean(t, p->path, p->len, raw, &clean, &filter, err) == 0)
			object_name(OBJECT_BLOB, buf_cstr(&clean), clean.len, &id);
		if (target_stage(t, p->path, p->len, p->stage_mode, &p->stage_oid,
				 !memcmp(&id, &p->stage_oid, sizeof(id)), err) < 0)
			return -1;
		any = true;
	}
	for (size_t i = 0; i < t->nr_links; i++)
		if (t->link[i].stage) {
			if (target_stage(t, t->link[i].path, t->link[i].len, TREE_MODE_GITLINK,
					 &t->link[i].oid, false, err) < 0)
				return -1;
			any = true;
		}
	if (any && git_index_write(t->index) < 0)
		return ws_git_err(err, "can't write the index (is another git running?)");
	return 0;
}

static int gitwrite_verify(struct target *t, struct err *err)
{
	for (size_t i = 0; i < t->all.nr; i++) {
		const struct plan_path *p = &t->all.path[i];
		if (p->write && !p->skip && p->host.state.kind != WS_DIR &&
		    !hostfile_same(&p->host, t->root, p->path, p->len))
			return err_set(
				err, ERR_BUSY,
				"'%s' changed during the merge; nothing was merged; try again",
				p->path);
	}
	return 0;
}

/* 1: the file is as written, 0: another process has changed it since, -1: it was not written
 * correctly. */
static int read_back(struct target *t, struct plan_path *p, struct err *err)
{
	struct hostfile h = HOSTFILE_INIT;
	hostfile_read(&h, t->root, p->path, p->len);
	const struct ws_state *is = &h.state, *want = &p->after;
	/* a file that took a directory's place is in the way of that directory's files */
	bool gone = want->kind == WS_NONE && is->kind == WS_NONE;
	bool same = gone || (!h.blocked && is->kind == want->kind && want->kind != WS_NONE &&
			     !memcmp(&is->oid, &want->oid, sizeof(is->oid)) &&
			     (want->kind == WS_LINK || !((is->mode ^ want->mode) & 0100)));
	bool ours = h.st.st_ino == p->wrote.st_ino && h.st.st_size == p->wrote.st_size &&
		    h.st.st_mtim.tv_sec == p->wrote.st_mtim.tv_sec &&
		    h.st.st_mtim.tv_nsec == p->wrote.st_mtim.tv_nsec;
	hostfile_release(&h);
	if (same)
		return 1;
	if (want->kind == WS_FILE && is->kind == WS_FILE && p->wrote.st_ino && ours)
		return err_set(err, ERR_IO, "'%.300s' differs when it is read back", p->path);
	return 0;
}

static int read_all_back(struct target *t, json_t *changed, struct err *err)
{
	for (size_t i = 0; i < t->all.nr; i++) {
		struct plan_path *p = &t->all.path[i];
		if (!p->write || p->skip || p->conflict || p->want.kind == WS_DIR ||
		    !plan_in_index(p))
			continue;
		int rc = read_back(t, p, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			p->result = CLASS_CHANGED;
			json_array_append_new(changed, json_bytes(p->path, p->len));
		}
	}
	return 0;
}

/* The commit can be read, and the name that was made for it leads to it. */
static int read_commit_back(struct target *t, struct err *err)
{
	git_commit *c = NULL;
	git_tree *tree = NULL;
	git_oid id;
	if (!t->repo || object_is_null(&t->commit))
		return 0;
	memcpy(id.id, t->commit.b, sizeof(t->commit.b));
	int rc = git_commit_lookup(&c, t->repo, &id);
	if (rc == 0)
		rc = git_commit_tree(&tree, c);
	bool right =
		rc == 0 && !memcmp(git_tree_id(tree)->id, t->new_tree.b, sizeof(t->new_tree.b));
	git_tree_free(tree);
	git_commit_free(c);
	if (!right)
		return err_set(err, ERR_IO, "the commit differs when it is read back");
	if (t->ref && (git_reference_name_to_id(&id, t->repo, t->ref) < 0 ||
		       memcmp(id.id, t->commit.b, sizeof(t->commit.b)) != 0))
		return err_set(err, ERR_BUSY, "'%s' has moved in the meantime", t->ref);
	return 0;
}

int plan_commit(struct target *t, json_t **out, struct err *err)
{
	size_t written = 0;
	json_t *o = json_object(), *changed = json_array();
	int rc = 0;
	if (!t->prepared)
		rc = err_set(err, ERR_INVALID, "merge: no prepared merge");
	if (rc == 0 && !is_mode(t, "branch"))
		rc = gitwrite_verify(t, err);
	if (rc == 0)
		rc = gitrecord_save(t, true, err);
	failpoint_hit("merge-record");
	if (rc == 0 && !is_mode(t, "branch")) {
		rc = gitwrite_write_files(t, &written, err);
		if (rc == 0)
			rc = gitwrite_write_index(t, err);
		if (rc == 0 && is_mode(t, "commits") && !object_is_null(&t->commit))
			rc = target_ref(t, t->branch, &t->head, &t->commit, err);
		failpoint_hit("merge-written");
		if (rc == 0)
			rc = read_all_back(t, changed, err);
		if (rc == 0)
			rc = read_commit_back(t, err);
		if (rc == 0)
			rc = branches_read_back(t, err);
		if (rc < 0) { /* half of it helps nobody */
			json_t *undone = NULL;
			struct err why = *err;
			bool back = undo_run(t, &undone, err) == 0;
			json_decref(undone);
			t->ref_made &= !back;
			if (!back)
				err_set(&why, why.code,
					"%.200s; can't restore the former state: %.200s", why.text,
					err->text);
			*err = why;
		}
	}
	if (rc == 0 && is_mode(t, "branch"))
		rc = read_commit_back(t, err);
	if (rc == 0 && is_mode(t, "branch"))
		rc = branches_read_back(t, err);
	if (rc < 0) {
		json_decref(changed);
		json_decref(o);
		return -1;
	}
	t->prepared = false;
	plan_classify(t, !is_mode(t, "branch"), makes_commits(t));
	put_classes(t, o);
	json_put(o, "changed_since", changed);
	if (json_array_size(t->leftover))
		json_put(o, "leftover", json_incref(t->leftover));
	json_put_str(o, "ref", t->ref);
	gitwrite_put_oid(o, "old", &t->head);
	gitwrite_put_oid(o, "new", &t->commit);
	if (t->stands_on)
		gitwrite_put_oid(o, "from", &t->from);
	json_put_int(o, "written", (int64_t)written);
	*out = o;
	return 0;
}

int plan_abort(struct target *t, struct err *err)
{
	bool made = t->ref_made || t->nr_brought;
	int rc = branches_back(t, err);
	if (t->ref_made && target_ref(t, t->ref, &t->commit, &t->ref_old, err) < 0)
		rc = -1;
	if (made)
		gitrecord_aborted(t);
	t->ref_made = t->prepared = false;
	return rc;
}
