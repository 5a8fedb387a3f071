/* Branches and stashes that were made in a sandbox become branches of the target: their git objects
 * are written under the names that their contents give them, and each is looked through before a
 * branch leads to it. One that can't be brought is reported with the reason. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"

enum { BRANCH_OBJECT_MAX = 64 << 20, FREE_NAMES = 1000 };

static const char why_missing[] = "its objects are not in the recording",
		  why_broken[] = "its objects are damaged";

static bool branch_has(struct target *t, const struct object_id *id)
{
	git_oid oid;
	memcpy(oid.id, id->b, sizeof(id->b));
	return git_odb_exists(t->odb, &oid) == 1;
}

/* A tree of a checkout: git itself refuses others. */
static bool entry_allowed(const struct tree_entry *e)
{
	CLEANUP(free_ptr) char *name = mem_strndup(e->name, e->name_len);
	bool kind = e->mode == TREE_MODE_DIR || e->mode == TREE_MODE_LINK ||
		    e->mode == TREE_MODE_GITLINK || (e->mode & ~0777U) == 0100000;
	return kind && *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !ws_path_is_git(e->name, e->name_len);
}

/* All that it names is in the repository, or in a submodule. */
static const char *tree_whole(struct target *t, const struct buf *text)
{
	struct tree_entry e;
	struct err none = ERR_INIT;
	size_t pos = 0;
	int rc;
	while ((rc = tree_next(buf_cstr(text), text->len, &pos, &e, &none)) == 1) {
		if (!entry_allowed(&e))
			return why_broken;
		if (e.mode != TREE_MODE_GITLINK && !branch_has(t, &e.oid))
			return why_missing;
	}
	return rc < 0 ? why_broken : NULL;
}

static const char *commit_whole(struct target *t, const struct buf *text)
{
	struct loose_commit c;
	if (!loose_commit_read(&c, text))
		return why_broken;
	bool whole = branch_has(t, &c.tree);
	for (size_t i = 0; i < c.nr; i++)
		whole &= branch_has(t, &c.parent[i]);
	loose_commit_release(&c);
	return whole ? NULL : why_missing;
}

/* The object [@id, @blob]; @write: into the repository, else it is looked through. */
static const char *branch_object(struct target *t, const json_t *pair, bool write)
{
	static const git_object_t kind[] = { GIT_OBJECT_COMMIT, GIT_OBJECT_TREE, GIT_OBJECT_BLOB,
					     GIT_OBJECT_TAG };
	CLEANUP(buf_release) struct buf file = BUF_INIT, text = BUF_INIT;
	struct object_id id, blob;
	struct err none = ERR_INIT;
	enum loose_type type;
	git_oid made;
	const char *a = json_string_value(json_array_get(pair, 0)),
		   *b = json_string_value(json_array_get(pair, 1));
	if (!a || !b || !object_parse(a, &id) || !object_parse(b, &blob) ||
	    child_get(t, &blob, &file, &none) != 0)
		return why_missing;
	if (!loose_read(&file, BRANCH_OBJECT_MAX, &type, &text))
		return why_broken;
	if (!write)
		return type == LOOSE_TREE     ? tree_whole(t, &text)
		       : type == LOOSE_COMMIT ? commit_whole(t, &text)
					      : NULL;
	if (git_odb_write(&made, t->odb, buf_cstr(&text), text.len, kind[type]) < 0)
		return "the repository can't be written";
	return memcmp(made.id, id.b, sizeof(id.b)) == 0 ? NULL : why_broken;
}

static const char *branch_write(struct target *t, const json_t *branch)
{
	const json_t *list = json_object_get(branch, "objects");
	const char *why = NULL;
	for (int write = 1; write >= 0; write--)
		for (size_t i = 0; !why && i < json_array_size(list); i++)
			why = branch_object(t, json_array_get(list, i), write);
	return why;
}

/* A name that is free, or that leads to @tip already. */
static char *branch_ref(struct target *t, const char *name, const struct object_id *tip,
			bool *there_out)
{
	const char *base = json_str(t->request, "branch_base", "");
	for (int i = 1; i < FREE_NAMES; i++) {
		char *ref = i == 1 ? mem_printf("%s-%s", base, name)
				   : mem_printf("%s-%s-%d", base, name, i);
		struct err none = ERR_INIT;
		git_oid id;
		bool stands = git_reference_name_to_id(&id, t->repo, ref) == 0, taken = false;
		*there_out = stands && !memcmp(id.id, tip->b, sizeof(tip->b));
		for (size_t k = 0; k < t->nr_brought; k++)
			taken |= !strcmp(t->brought[k].ref, ref);
		if (!taken && (*there_out || (!stands && way_of_ref(t, ref, &none) == 0)))
			return ref;
		free(ref);
	}
	return NULL;
}

static const char *branch_bring(struct target *t, const json_t *branch, bool dry, char **ref_out)
{
	struct object_id tip;
	const char *name = json_str(branch, "name", ""), *why = json_str(branch, "why", NULL);
	bool there = false;
	if (!t->repo)
		return "the directory is not in a git repository";
	if (why)
		return why;
	if (t->prefix_len)
		return "it has the commits of a subdirectory";
	if (!object_parse(json_str(branch, "tip", ""), &tip))
		return why_broken;
	*ref_out = branch_ref(t, name, &tip, &there);
	if (!*ref_out)
		return "no name for it is free";
	if (!dry && !there)
		why = branch_write(t, branch);
	if (why)
		return why;
	GROW(t->brought, t->nr_brought, t->cap_brought);
	t->brought[t->nr_brought++] =
		(struct plan_branch){ .ref = mem_strdup(*ref_out), .tip = tip, .there = there };
	return NULL;
}

void branches_prepare(struct target *t, bool dry, json_t *report)
{
	const json_t *list = json_object_get(t->request, "branches");
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *branch = json_array_get(list, i);
		json_t *o = json_object();
		char *ref = NULL;
		const char *why = branch_bring(t, branch, dry, &ref);
		json_put_str(o, "gitdir", json_str(branch, "gitdir", NULL));
		json_put_str(o, "name", json_str(branch, "name", NULL));
		json_put_str(o, "tip", json_str(branch, "tip", NULL));
		json_put_int(o, "commits", json_int(branch, "commits", 0));
		json_put_str(o, "ref", why ? NULL : ref);
		json_put_str(o, "why", why);
		json_array_append_new(out, o);
		free(ref);
	}
	if (json_array_size(out))
		json_put(report, "branches", json_incref(out));
	json_decref(out);
}

int branches_make(struct target *t, struct err *err)
{
	const struct object_id none = { 0 };
	for (size_t i = 0; i < t->nr_brought; i++)
		t->brought[i].made = !t->brought[i].there;
	if (!t->nr_brought)
		return 0;
	if (gitrecord_save(t, false, err) < 0)
		return -1;
	for (size_t i = 0; i < t->nr_brought; i++) {
		const struct plan_branch *b = &t->brought[i];
		if (b->made && target_ref(t, b->ref, &none, &b->tip, err) < 0)
			return err_wrap(err, "branch '%s'", b->ref);
		failpoint_hit("merge-branch");
	}
	return 0;
}

int branches_back(struct target *t, struct err *err)
{
	const struct object_id none = { 0 };
	int rc = 0;
	for (size_t i = 0; i < t->nr_brought; i++) {
		struct plan_branch *b = &t->brought[i];
		struct err one = ERR_INIT;
		if (b->made && target_ref(t, b->ref, &b->tip, &none, &one) < 0) {
			*err = one;
			rc = -1;
		}
		b->made = false;
	}
	return rc;
}

int branches_read_back(struct target *t, struct err *err)
{
	git_oid id;
	for (size_t i = 0; i < t->nr_brought; i++) {
		const struct plan_branch *b = &t->brought[i];
		if (git_reference_name_to_id(&id, t->repo, b->ref) < 0 ||
		    memcmp(id.id, b->tip.b, sizeof(b->tip.b)) != 0)
			return err_set(err, ERR_BUSY, "'%s' has moved in the meantime", b->ref);
	}
	return 0;
}

/* --- the record --- */

json_t *branches_record(const struct target *t, const json_t *earlier)
{
	const json_t *had = json_object_get(earlier, "branches");
	json_t *list = had ? json_deep_copy(had) : json_array();
	for (size_t i = 0; i < t->nr_brought; i++) {
		char hex[41];
		json_t *o = json_object();
		object_hex(&t->brought[i].tip, hex);
		json_put_str(o, "ref", t->brought[i].ref);
		json_put_str(o, "tip", hex);
		if (t->brought[i].made)
			json_array_append(list, o);
		json_decref(o);
	}
	return list;
}

void branches_undo(struct target *t, const json_t *rec, json_t *out)
{
	const json_t *list = json_object_get(rec, "branches");
	const struct object_id none = { 0 };
	json_t *gone = json_array(), *kept = json_array();
	for (size_t i = 0; t->repo && i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		const char *ref = json_str(o, "ref", "");
		struct object_id tip;
		struct err why = ERR_INIT;
		if (!object_parse(json_str(o, "tip", ""), &tip) || !branch_stands(t, ref))
			continue;
		json_array_append_new(target_ref(t, ref, &tip, &none, &why) < 0 ? kept : gone,
				      json_string(ref));
	}
	if (json_array_size(gone))
		json_put(out, "branches_deleted", json_incref(gone));
	if (json_array_size(kept))
		json_put(out, "branches_kept", json_incref(kept));
	json_decref(gone);
	json_decref(kept);
}

void branches_release(struct target *t)
{
	for (size_t i = 0; i < t->nr_brought; i++)
		free(t->brought[i].ref);
	free(t->brought);
	t->brought = NULL;
	t->nr_brought = t->cap_brought = 0;
}
