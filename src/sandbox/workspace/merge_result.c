/* The result of a merge: classes of paths, the trees of the merged paths, and the paths not merged
 * yet. Made from the files that the children read back. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/merge_priv.h"
#include "sandbox/workspace/tree.h"

static const struct {
	char letter;
	const char *name;
} merge_result_class_name[] = {
	{ CLASS_MERGED, "merged" },
	{ CLASS_IDENTICAL, "identical" },
	{ 'l', "left" },
	{ CLASS_IGNORED, "ignored" },
	{ CLASS_HASH_ONLY, "hash_only" },
	{ CLASS_CONFLICT, "conflict" },
	{ CLASS_REFUSED, "refused" },
};

/* @p's own path @name is the target's this. */
static const char *merge_result_why_of(const json_t *answer, const char *key, const char *path,
				       size_t len)
{
	const json_t *list = json_object_get(answer, key);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		if (json_get_bytes(json_object_get(o, "path"), &b) && b.len == len &&
		    !memcmp(buf_cstr(&b), path, len))
			return json_str(o, "why", NULL);
	}
	return NULL;
}

void part_answer(struct merge_work *w, struct part *p, const json_t *answer)
{
	struct wish *wish = &w->wish[p->target];
	const char *letters = json_str(answer, "classes", "");
	size_t skip = *p->prefix ? strlen(p->prefix) + 1 : 0, nr = strlen(letters), named = 0;
	for (size_t i = 0; i < p->nr && i < nr; i++) {
		const struct ws_change *c = &wish->d.item[p->nth[i]];
		bool refused = letters[i] == CLASS_REFUSED, conflict = letters[i] == CLASS_CONFLICT;
		wish->letters[p->nth[i]] = letters[i];
		if (refused && ws_path_is_git(c->path, c->len)) {
			wish->why[p->nth[i]] = "git's own files are never merged";
			continue;
		}
		if ((refused || conflict) && named++ < MERGE_NAMED_MAX && p->c.prepared)
			wish->why[p->nth[i]] = merge_result_why_of(
				p->c.prepared, refused ? "skipped" : "conflicts", c->path + skip,
				c->len - skip);
	}
}

/* --- words --- */

static bool merged_letter(char letter)
{
	return letter == CLASS_MERGED || letter == CLASS_IDENTICAL || letter == CLASS_CHANGED;
}

static bool strv_holds(const struct strv *v, const char *path, size_t len)
{
	for (size_t i = 0; i < v->nr; i++)
		if (v->len[i] == len && !memcmp(v->item[i], path, len))
			return true;
	return false;
}

struct tally {
	const char *repo;
	int64_t count[ARRAY_LEN(merge_result_class_name)];
	json_t *paths; /* by class */
	struct merge_result *r;
};

static json_t *full_path(const char *repo, const char *path, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (*repo)
		buf_printf(&b, "%s/", repo);
	buf_append(&b, path, len);
	return json_bytes(buf_cstr(&b), b.len);
}

static size_t class_index(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(merge_result_class_name); i++)
		if (merge_result_class_name[i].letter == letter)
			return i;
	return 0; /* CLASS_CHANGED: it was merged */
}

static void tally_path(struct tally *y, char letter, const char *path, size_t len, const char *why,
		       bool partly)
{
	size_t k = class_index(letter);
	const char *name = merge_result_class_name[k].name;
	json_t *list = json_object_get(y->paths, name);
	y->count[k]++;
	if (!list)
		json_put(y->paths, name, list = json_array());
	json_t *full = full_path(y->repo, path, len);
	/* told with its hunks; in every sandbox that uses git */
	if (!partly && !ws_path_is_git(path, len))
		json_array_append(merged_letter(letter) ? y->r->taken : y->r->not_taken, full);
	if (json_array_size(list) < MERGE_NAMED_MAX && why) {
		json_t *o = json_object();
		json_put(o, "path", json_incref(full));
		json_put_str(o, "why", why);
		json_array_append_new(list, o);
	} else if (json_array_size(list) < MERGE_NAMED_MAX) {
		json_array_append(list, full);
	}
	json_decref(full);
}

static json_t *tally_counts(const struct tally *y)
{
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(merge_result_class_name); i++)
		json_put_int(o, merge_result_class_name[i].name, y->count[i]);
	return o;
}

static void tally_wish(struct tally *y, const struct wish *w)
{
	/* git's own files come last: they must not take the places of others in the list */
	for (int git = 0; git < 2; git++)
		for (size_t i = 0; i < w->d.nr; i++) {
			const struct ws_change *c = &w->d.item[i];
			if (w->letters[i] != CLASS_NONE && ws_path_is_git(c->path, c->len) == git)
				tally_path(y, w->letters[i], c->path, c->len, w->why[i],
					   strv_holds(&w->partly, c->path, c->len));
		}
	for (size_t i = 0; i < w->left.nr; i++)
		tally_path(y, 'l', w->left.item[i], w->left.len[i], NULL, false);
}

/* --- trees --- */

/* A content that was made of chosen hunks stands nowhere else. With those that were merged before
 * it is what has been merged. */
static int keep_content(struct merge_work *w, size_t k, struct ws_change *c, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	enum object_type type;
	if (w->st.get(w->st.self, &c->now.oid, &type, &b, err) < 0)
		return -1;
	beside_earlier(&w->o->target[k], c, &w->st, false, &b);
	w->o->store->add(w->o->store->self, OBJECT_BLOB, buf_cstr(&b), b.len, &c->now.oid);
	return 0;
}

static void add_edit(struct tree_edit *edit, size_t *nr, const struct ws_change *c,
		     const struct ws_state *s)
{
	if (ws_has_content(s))
		edit[(*nr)++] = (struct tree_edit){
			.path = c->path, .len = c->len, .mode = ws_git_mode(s), .oid = s->oid
		};
}

static int merged_trees(struct merge_work *w, size_t k, struct object_id *tree,
			struct object_id *under, struct err *err)
{
	struct wish *wish = &w->wish[k];
	const struct merge_target *t = &w->o->target[k];
	struct tree_edit *now = mem_calloc(wish->d.nr + 1, sizeof(*now)),
			 *was = mem_calloc(wish->d.nr + 1, sizeof(*was));
	size_t nr_now = 0, nr_was = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < wish->d.nr; i++) {
		struct ws_change *c = &wish->d.item[i];
		const struct merged_path *had =
			t->had ? ws_merged_find(t->had, c->path, c->len) : NULL;
		if (!merged_letter(wish->letters[i]))
			continue;
		if (strv_holds(&wish->partly, c->path, c->len))
			rc = keep_content(w, k, c, err);
		add_edit(now, &nr_now, c, &c->now);
		add_edit(was, &nr_was, c, had ? &had->base : &c->was);
	}
	*tree = *under = (struct object_id){ 0 };
	if (rc == 0 && nr_now)
		rc = tree_edit(w->o->store, NULL, now, nr_now, tree, err);
	if (rc == 0 && nr_was)
		rc = tree_edit(w->o->store, NULL, was, nr_was, under, err);
	free(now);
	free(was);
	return rc;
}

static void merge_result_put_tree(json_t *o, const char *key, const struct object_id *id)
{
	char hex[41];
	object_hex(id, hex);
	if (!object_is_null(id))
		json_put_str(o, key, hex);
}

/* --- what is not merged yet --- */

struct rest_list {
	json_t *paths;
	const char *repo;
};

static void rest_path(void *self, const char *path, size_t len, const char *why)
{
	struct rest_list *l = self;
	if (json_array_size(l->paths) >= MERGE_NAMED_MAX)
		return;
	json_t *o = json_object();
	json_put(o, "path", full_path(l->repo, path, len));
	json_put_str(o, "why", why);
	json_array_append_new(l->paths, o);
}

static int64_t rest_of(struct merge_work *w, size_t k, json_t *paths)
{
	const struct merge_target *t = &w->o->target[k];
	const struct wish *wish = &w->wish[k];
	struct merged_path *fresh = mem_calloc(wish->d.nr + 1, sizeof(*fresh));
	struct ws_merged all = WS_MERGED_INIT;
	struct rest_list l = { .paths = paths, .repo = t->repo };
	size_t large = 0, nr = 0;
	for (size_t i = 0; i < wish->d.nr; i++) {
		const struct ws_change *c = &wish->d.item[i];
		const struct merged_path *had =
			t->had ? ws_merged_find(t->had, c->path, c->len) : NULL;
		if (merged_letter(wish->letters[i]) && w->o->mode != MERGE_PATCH)
			fresh[nr++] = (struct merged_path){ .path = c->path,
							    .len = c->len,
							    .base = had ? had->base : c->was,
							    .now = c->now };
	}
	if (t->had)
		ws_merged_put(&all, t->had->item, t->had->nr);
	ws_merged_put(&all, fresh, nr);
	nr = ws_merged_rest(&all, t->step[t->nr_steps - 1].view, rest_path, &l, &large);
	ws_merged_release(&all);
	free(fresh);
	return (int64_t)nr;
}

/* --- all of it --- */

static void drop_letters(struct merge_work *w)
{
	for (size_t i = 0; i < json_array_size(w->targets); i++) {
		json_t *t = json_array_get(w->targets, i);
		json_object_del(t, "classes");
		if (json_array_size(json_object_get(t, "changed_since")) == 0)
			json_object_del(t, "changed_since");
	}
}

/* Of each repository, those of its own paths. */
static void part_counts(struct merge_work *w, struct part *p)
{
	struct merge_result unused = { .taken = json_array(), .not_taken = json_array() };
	struct tally y = { .repo = "", .paths = json_object(), .r = &unused };
	const struct wish *wish = &w->wish[p->target];
	for (size_t i = 0; p->out && i < p->nr; i++)
		if (wish->letters[p->nth[i]] != CLASS_NONE)
			tally_path(&y, wish->letters[p->nth[i]], wish->d.item[p->nth[i]].path,
				   wish->d.item[p->nth[i]].len, NULL, true);
	for (size_t i = 0; p->out && !*p->prefix && i < wish->left.nr; i++)
		tally_path(&y, 'l', wish->left.item[i], wish->left.len[i], NULL, true);
	if (p->out) {
		json_put_int(p->out, "files", y.count[0] + y.count[1]);
		json_put(p->out, "counts", tally_counts(&y));
	}
	json_decref(y.paths);
	json_decref(unused.taken);
	json_decref(unused.not_taken);
}

int merge_results(struct merge_work *w, json_t *body, struct merge_result *r, struct err *err)
{
	struct tally y = { .paths = json_object(), .r = r };
	json_t *rest = json_array();
	int64_t nr_rest = 0;
	int rc = 0;
	r->taken = json_array();
	r->not_taken = json_array();
	for (size_t k = 0; k < w->o->nr_targets; k++) {
		y.repo = w->o->target[k].repo;
		tally_wish(&y, &w->wish[k]);
	}
	for (size_t i = 0; i < w->nr; i++)
		part_counts(w, &w->part[i]);
	for (size_t i = 0; rc == 0 && w->done && i < w->nr; i++) {
		struct part *p = &w->part[i];
		struct object_id tree, under;
		if (*p->prefix || !p->out)
			continue;
		rc = merged_trees(w, p->target, &tree, &under, err);
		merge_result_put_tree(p->out, "tree", &tree);
		merge_result_put_tree(p->out, "under", &under);
		if (rc == 0)
			nr_rest += rest_of(w, p->target, rest);
	}
	drop_letters(w);
	json_put(body, "counts", tally_counts(&y));
	json_put(body, "paths", y.paths);
	if (w->done) {
		json_t *o = json_object();
		json_put_int(o, "files", nr_rest);
		json_put(o, "paths", json_incref(rest));
		json_put(body, "unmerged", o);
	}
	json_decref(rest);
	return rc;
}
