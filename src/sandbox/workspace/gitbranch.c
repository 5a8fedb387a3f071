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

enum { BRANCH_OBJECT_MAX = 64 << 20, FREE_NAMES = 100, REF_MAX = 1000, REF_PART_MAX = 240 };

static const char why_missing[] = "its objects are not in the recording",
		  why_broken[] = "its objects are damaged",
		  why_internal[] = "it has changed files of another version control system";

/* The objects of one branch, by id: each is looked through before any of them is written, so that
 * the repository never gets one of which a part is missing. */
struct branch_item {
	struct object_id id; /* first: cmp_branch_item */
	enum loose_type type;
};
struct branch_items {
	struct branch_item *item;
	size_t nr, cap;
};

static const git_object_t branch_kind[] = { GIT_OBJECT_COMMIT, GIT_OBJECT_TREE, GIT_OBJECT_BLOB,
					    GIT_OBJECT_TAG };

static int cmp_branch_item(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct object_id));
}

static const struct branch_item *branch_made(const struct branch_items *of,
					     const struct object_id *id)
{
	return of->nr ? bsearch(id, of->item, of->nr, sizeof(*of->item), cmp_branch_item) : NULL;
}

/* Is @id an object of that type, of the branch or of the repository? */
static bool branch_has(struct target *t, const struct branch_items *of, const struct object_id *id,
		       enum loose_type type)
{
	const struct branch_item *item = branch_made(of, id);
	git_object_t is;
	git_oid oid;
	size_t len;
	if (item)
		return item->type == type;
	memcpy(oid.id, id->b, sizeof(id->b));
	return git_odb_read_header(&len, &is, t->odb, &oid) == 0 && is == branch_kind[type];
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

/* All that it names is there, or in a submodule. */
static const char *tree_whole(struct target *t, const struct branch_items *of,
			      const struct buf *text)
{
	struct tree_entry e;
	struct err none = ERR_INIT;
	size_t pos = 0;
	int rc;
	while ((rc = tree_next(buf_cstr(text), text->len, &pos, &e, &none)) == 1) {
		if (!entry_allowed(&e))
			return why_broken;
		if (branch_made(of, &e.oid) && ws_path_is_vcs(e.name, e.name_len))
			return why_internal; /* a checkout would write them */
		if (e.mode != TREE_MODE_GITLINK &&
		    !branch_has(t, of, &e.oid, e.mode == TREE_MODE_DIR ? LOOSE_TREE : LOOSE_BLOB))
			return why_missing;
	}
	return rc < 0 ? why_broken : NULL;
}

static const char *commit_whole(struct target *t, const struct branch_items *of,
				const struct buf *text)
{
	struct loose_commit c;
	if (!loose_commit_read(&c, text))
		return why_broken;
	bool whole = branch_has(t, of, &c.tree, LOOSE_TREE), authored = c.author != NULL;
	for (size_t i = 0; whole && i < c.nr; i++)
		whole = branch_has(t, of, &c.parent[i], LOOSE_COMMIT);
	loose_commit_release(&c);
	return !authored ? why_broken : whole ? NULL : why_missing;
}

static const char *branch_read(struct target *t, const json_t *pair, struct branch_item *out,
			       struct buf *text)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT;
	struct object_id blob;
	struct err none = ERR_INIT;
	const char *a = json_string_value(json_array_get(pair, 0)),
		   *b = json_string_value(json_array_get(pair, 1));
	if (!a || !b || !object_parse(a, &out->id) || !object_parse(b, &blob) ||
	    child_get(t, &blob, &file, &none) != 0)
		return why_missing;
	return loose_read(&file, BRANCH_OBJECT_MAX, &out->type, text) ? NULL : why_broken;
}

/* Their types; each is what its name says. */
static const char *branch_list(struct target *t, const json_t *list, struct branch_items *out)
{
	const char *why = NULL;
	for (size_t i = 0; !why && i < json_array_size(list); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct branch_item one;
		git_oid id;
		why = branch_read(t, json_array_get(list, i), &one, &text);
		if (!why &&
		    (git_odb_hash(&id, buf_cstr(&text), text.len, branch_kind[one.type]) < 0 ||
		     memcmp(id.id, one.id.b, sizeof(one.id.b)) != 0))
			why = why_broken;
		GROW(out->item, out->nr, out->cap);
		if (!why)
			out->item[out->nr++] = one;
	}
	if (out->nr)
		qsort(out->item, out->nr, sizeof(*out->item), cmp_branch_item);
	return why;
}

/* Looks through the objects (@write false), or writes them. */
static const char *branch_pass(struct target *t, const json_t *list, const struct branch_items *of,
			       bool write)
{
	const char *why = NULL;
	for (size_t i = json_array_size(list); !why && i-- > 0;) { /* the tip is the last one */
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct branch_item one;
		git_oid made;
		why = branch_read(t, json_array_get(list, i), &one, &text);
		if (why)
			break;
		if (!write)
			why = one.type == LOOSE_TREE	 ? tree_whole(t, of, &text)
			      : one.type == LOOSE_COMMIT ? commit_whole(t, of, &text)
							 : NULL;
		else if (git_odb_write(&made, t->odb, buf_cstr(&text), text.len,
				       branch_kind[one.type]) < 0)
			why = "the repository can't be written";
		else if (memcmp(made.id, one.id.b, sizeof(one.id.b)) != 0)
			why = why_broken;
	}
	return why;
}

static const char *branch_write(struct target *t, const json_t *branch, const struct object_id *tip,
				bool dry)
{
	const json_t *list = json_object_get(branch, "objects");
	struct branch_items of = { 0 };
	const char *why = branch_list(t, list, &of);
	if (!why && !branch_has(t, &of, tip, LOOSE_COMMIT))
		why = why_broken;
	if (!why)
		why = branch_pass(t, list, &of, false);
	if (!why && !dry)
		why = branch_pass(t, list, &of, true);
	free(of.item);
	return why;
}

/* Git keeps a branch as a file, and "NAME.lock" beside it. */
static bool branch_fits(const char *ref)
{
	int valid = 0;
	if (git_reference_name_is_valid(&valid, ref) < 0 || !valid || strlen(ref) > REF_MAX)
		return false;
	for (const char *p = ref; *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		if (len > REF_PART_MAX)
			return false;
		p += len;
	}
	return true;
}

/* The same name, or one is where the other needs a directory. */
static bool refs_clash(const char *a, const char *b)
{
	size_t la = a ? strlen(a) : 0, lb = strlen(b), len = la < lb ? la : lb;
	return la && !strncmp(a, b, len) && (la == lb || (la < lb ? b : a)[len] == '/');
}

static bool branch_taken(const struct target *t, const char *ref)
{
	bool taken = refs_clash(t->ref, ref);
	for (size_t k = 0; !taken && k < t->nr_brought; k++)
		taken = refs_clash(t->brought[k].ref, ref);
	return taken;
}

/* Has a killed try of this merge made the branch? That of another merge is not ours: its undo takes
 * it away. */
static bool branch_is_ours(struct target *t, const char *ref, const struct object_id *tip)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, dir = BUF_INIT;
	struct err none = ERR_INIT;
	char hex[41];
	object_hex(tip, hex);
	if (child_load(t, "record.json", &text, &none) != 0)
		return false;
	CLEANUP(json_release) json_t *rec = json_parse(buf_cstr(&text), text.len, "record", &none);
	const json_t *list = json_object_get(rec, "branches");
	bool ours = false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		ours |= !strcmp(json_str(o, "ref", ""), ref) &&
			!strcmp(json_str(o, "tip", ""), hex);
	}
	return ours && !json_flag(rec, "undone", false) &&
	       json_get_bytes(json_object_get(rec, "dir"), &dir) && !strcmp(buf_cstr(&dir), t->dir);
}

/* A name that is free, or of a killed try of this merge. A name that isn't the branch's own has no
 * directories: a branch may be where one of them is needed. */
static char *branch_ref(struct target *t, const char *name, const struct object_id *tip,
			bool *there_out)
{
	const char *base = json_str(t->request, "branch_base", "");
	CLEANUP(free_ptr) char *flat = mem_strdup(name);
	for (char *p = flat; *p; p++)
		*p = *p == '/' ? '-' : *p;
	for (int i = 1; i < FREE_NAMES; i++) {
		char *ref = i == 1 ? mem_printf("%s-%s", base, name)
				   : mem_printf("%s-%s-%d", base, flat, i);
		struct err none = ERR_INIT;
		git_oid id;
		if (!branch_fits(ref)) {
			free(ref);
			return NULL;
		}
		bool stands = git_reference_name_to_id(&id, t->repo, ref) == 0;
		*there_out = stands && !memcmp(id.id, tip->b, sizeof(tip->b)) &&
			     branch_is_ours(t, ref, tip);
		if (!branch_taken(t, ref) &&
		    (*there_out || (!stands && way_of_ref(t, ref, &none) == 0)))
			return ref;
		free(ref);
	}
	return NULL;
}

static const char *branch_bring(struct target *t, const json_t *branch, size_t nth, bool dry,
				char **ref_out)
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
		return "its name is invalid, too long, or taken";
	if (!there)
		why = branch_write(t, branch, &tip, dry);
	if (why)
		return why;
	GROW(t->brought, t->nr_brought, t->cap_brought);
	t->brought[t->nr_brought++] = (struct plan_branch){
		.ref = mem_strdup(*ref_out), .nth = nth, .tip = tip, .there = there
	};
	return NULL;
}

static json_t *branch_report(const json_t *branch)
{
	json_t *o = json_object();
	json_put_str(o, "gitdir", json_str(branch, "gitdir", NULL));
	json_put(o, "name", json_incref(json_object_get(branch, "name"))); /* may be bytes */
	json_put_str(o, "tip", json_str(branch, "tip", NULL));
	json_put_int(o, "commits", json_int(branch, "commits", 0));
	return o;
}

void branches_prepare(struct target *t, bool dry, json_t *report)
{
	const json_t *list = json_object_get(t->request, "branches");
	bool look = json_flag(t->request, "branches_look", false),
	     whole = json_flag(t->request, "head_whole", false);
	json_t *out = json_array(), *covered = json_array();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *branch = json_array_get(list, i);
		char *ref = NULL;
		if (json_flag(branch, "of_head", false) && !whole && head_covered(t, branch)) {
			json_array_append_new(covered, branch_report(branch));
			continue;
		}
		json_t *o = branch_report(branch);
		const char *why = look ? "this merge brings no branches"
				       : branch_bring(t, branch, json_array_size(out), dry, &ref);
		json_put_str(o, "ref", why ? NULL : ref);
		json_put_str(o, "why", why);
		json_array_append_new(out, o);
		free(ref);
	}
	if (json_array_size(out))
		json_put(report, "branches", json_incref(out));
	if (json_array_size(covered))
		json_put(report, "covered", json_incref(covered));
	json_decref(out);
	json_decref(covered);
}

/* Drops the @i-th branch, which can't be made. */
static void branch_fails(struct target *t, size_t i, json_t *report, const char *why)
{
	json_t *o = json_array_get(json_object_get(report, "branches"), t->brought[i].nth);
	json_object_del(o, "ref");
	json_put_str(o, "why", why);
	free(t->brought[i].ref);
	memmove(&t->brought[i], &t->brought[i + 1], (--t->nr_brought - i) * sizeof(*t->brought));
}

int branches_make(struct target *t, json_t *report, struct err *err)
{
	const struct object_id none = { 0 };
	size_t nr = t->nr_brought;
	if (!nr)
		return 0;
	for (size_t i = 0; i < nr; i++)
		t->brought[i].made = !t->brought[i].there;
	if (gitrecord_save(t, false, err) < 0) {
		for (size_t i = 0; i < nr; i++)
			t->brought[i].made = false;
		return -1;
	}
	for (size_t i = 0; i < t->nr_brought;) {
		const struct plan_branch *b = &t->brought[i];
		struct err why = ERR_INIT;
		if (b->made && target_ref(t, b->ref, &none, &b->tip, &why) < 0) {
			branch_fails(t, i, report, why.text); /* the rest of the merge stands */
			continue;
		}
		failpoint_hit("merge-branch");
		i++;
	}
	/* an undo must not take away what another process made under such a name */
	return t->nr_brought < nr ? gitrecord_save(t, false, err) : 0;
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
		bool stays =
			target_checked_out(t, ref) || target_ref(t, ref, &tip, &none, &why) < 0;
		json_array_append_new(stays ? kept : gone, json_string(ref));
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
