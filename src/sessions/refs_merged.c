/* What merges say of a sandbox's branches: which were brought, which are left. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sessions/sandbox_refs.h"
#include "sessions/submodule.h"

static const char why_only_inside[] = "its repository is only in the sandbox";

static void sandbox_ref_release(struct sandbox_ref *ref)
{
	free(ref->gitdir);
	free(ref->name);
	json_decref(ref->objects);
}

/* What the merge's @list says of @ref. */
static const json_t *ref_entry(const struct sandbox_ref *ref, const json_t *list)
{
	char hex[41];
	object_hex(&ref->tip, hex);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *b = json_array_get(list, i);
		if (!strcmp(json_str(b, "tip", ""), hex) &&
		    !strcmp(json_str(b, "gitdir", ""), ref->gitdir) &&
		    !strcmp(json_str(b, "name", ""), ref->name))
			return b;
	}
	return NULL;
}

static void refs_see(json_t *set, const json_t *list, bool brought)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *b = json_array_get(list, i);
		CLEANUP(free_ptr)
		char *key = sandbox_ref_key(json_str(b, "gitdir", ""), json_str(b, "name", ""),
					    json_str(b, "tip", ""));
		if (!brought || *json_str(b, "ref", ""))
			json_put_flag(set, key, true);
	}
}

void sandbox_refs_see(json_t **merged, const json_t *body, const char *repo, const char *dir)
{
	const json_t *targets = json_object_get(body, "targets");
	if (!*merged)
		*merged = json_object();
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);
		CLEANUP(buf_release) struct buf at = BUF_INIT;
		if (strcmp(json_str(t, "repo", ""), repo) != 0 ||
		    !json_get_bytes(json_object_get(t, "dir"), &at) ||
		    (strcmp(buf_cstr(&at), dir) != 0 && !path_holds(dir, buf_cstr(&at))))
			continue;
		refs_see(*merged, json_object_get(t, "branches"), true);
		refs_see(*merged, json_object_get(t, "covered"), false);
	}
}

void sandbox_refs_left(const struct sandbox_refs *r, const json_t *body, const char *repo,
		       json_t *out)
{
	const json_t *targets = json_object_get(body, "targets");
	const char *mode = json_str(body, "mode", "");
	bool asked = !strcmp(mode, "branch") || !strcmp(mode, "commits"),
	     files_left = json_int(json_object_get(body, "unmerged"), "files", 0) > 0 ||
			  json_int(body, "left", 0) > 0 || !strcmp(mode, "patch");
	for (size_t k = 0; k < r->nr; k++) {
		const struct sandbox_ref *ref = &r->item[k];
		const json_t *b = NULL, *covered = NULL;
		for (size_t i = 0; !b && i < json_array_size(targets); i++) {
			const json_t *t = json_array_get(targets, i);
			if (strcmp(json_str(t, "repo", ""), repo) != 0)
				continue;
			b = ref_entry(ref, json_object_get(t, "branches"));
			if (!covered)
				covered = ref_entry(ref, json_object_get(t, "covered"));
		}
		if (*json_str(b, "ref", "") || covered || (ref->of_head && files_left))
			continue;
		json_t *o = json_object();
		json_put_str(o, "repo", repo);
		json_put_str(o, "gitdir", ref->gitdir);
		json_put_str(o, "name", ref->name);
		json_put_int(o, "commits", (int64_t)ref->commits);
		json_put_str(o, "why",
			     b			     ? json_str(b, "why", NULL)
			     : ref->why		     ? ref->why
			     : asked && ref->of_head ? why_only_inside
						     : NULL);
		json_array_append_new(out, o);
	}
}

static json_t *refs_of_gitdir(const struct sandbox_refs *r, const char *gitdir)
{
	json_t *list = NULL;
	for (size_t i = 0; i < r->nr; i++) {
		const struct sandbox_ref *ref = &r->item[i];
		char hex[41];
		if (strcmp(ref->gitdir, gitdir) != 0)
			continue;
		json_t *o = json_object();
		object_hex(&ref->tip, hex);
		json_put_str(o, "gitdir", ref->gitdir);
		json_put_str(o, "name", ref->name);
		json_put_str(o, "tip", hex);
		json_put_int(o, "commits", (int64_t)ref->commits);
		json_put_str(o, "why", ref->why);
		json_put(o, "objects", json_incref(ref->objects));
		json_put_flag(o, "of_head", ref->of_head);
		object_hex(&ref->base, hex);
		json_put_str(o, "base", object_is_null(&ref->base) ? NULL : hex);
		if (!list)
			list = json_array();
		json_array_append_new(list, o);
	}
	return list;
}

json_t *sandbox_refs_at(void *self, const char *prefix)
{
	const struct sandbox_refs_at *at = self;
	CLEANUP(free_ptr)
	char *own = *prefix ? path_join(prefix, ".git") : mem_strdup(".git"),
	     *module = *prefix ? submodule_gitdir(at->dir, prefix) : NULL;
	json_t *list = refs_of_gitdir(at->refs, own);
	return list || !module ? list : refs_of_gitdir(at->refs, module);
}

void sandbox_refs_release(struct sandbox_refs *r)
{
	for (size_t i = 0; i < r->nr; i++)
		sandbox_ref_release(&r->item[i]);
	free(r->item);
	*r = SANDBOX_REFS_INIT;
}
