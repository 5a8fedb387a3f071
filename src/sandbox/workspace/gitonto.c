/* Several sandboxes merged in one step share a branch: the commits of the later ones stand on those
 * of the earlier ones. */
#include <string.h>

#include "sandbox/workspace/gitchild.h"

/* The commit @o names, if it is of this repository and was made on the commit that HEAD names. */
static git_commit *onto_commit(struct target *t, const json_t *o)
{
	struct object_id head = { 0 };
	git_commit *c = NULL;
	git_oid id;
	const char *from = json_str(o, "head", NULL);
	if ((from && !object_parse(from, &head)) || memcmp(&head, &t->head, sizeof(head)) != 0 ||
	    git_oid_fromstr(&id, json_str(o, "new", "")) < 0)
		return NULL;
	return git_commit_lookup(&c, t->repo, &id) == 0 ? c : NULL;
}

int stand_onto(struct target *t, struct err *err)
{
	const json_t *list = json_object_get(t->request, "onto");
	git_commit *c = NULL;
	for (size_t i = json_array_size(list); t->repo && i-- > 0 && !t->stands_on;) {
		const json_t *o = json_array_get(list, i);
		c = onto_commit(t, o);
		if (c)
			t->stands_on = json_str(o, "ref", NULL);
	}
	if (!c)
		return 0;
	t->from = t->head;
	memcpy(t->head.b, git_commit_id(c)->id, sizeof(t->head.b));
	memcpy(t->head_tree.b, git_commit_tree_id(c)->id, sizeof(t->head_tree.b));
	git_commit_free(c);
	return t->stands_on ? 0 : err_set(err, ERR_PARSE, "merge: invalid branch to continue");
}
