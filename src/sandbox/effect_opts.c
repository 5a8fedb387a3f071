#include "base/mem.h"
#include "sandbox/effect_inner.h"

static const char *const *copy_list(struct arena *a, const char *const *from, size_t nr)
{
	const char **to = arena_alloc(a, (nr + 1) * sizeof(*to));
	for (size_t i = 0; i < nr; i++)
		to[i] = arena_strdup(a, from[i]);
	return to;
}

void box_opts_copy(struct owned_opts *to, const struct box_opts *from)
{
	struct arena *a = &to->arena;
	to->o = *from;
	to->o.name = arena_strdup(a, from->name);
	to->o.state_dir = from->state_dir ? arena_strdup(a, from->state_dir) : NULL;
	struct box_repo *repo = arena_alloc(a, (from->nr_repos + 1) * sizeof(*repo));
	for (size_t i = 0; i < from->nr_repos; i++) {
		repo[i].name = arena_strdup(a, from->repo[i].name);
		repo[i].host_dir = arena_strdup(a, from->repo[i].host_dir);
	}
	to->o.repo = repo;
	to->o.expose = copy_list(a, from->expose, from->nr_expose);
	to->o.roots = copy_list(a, from->roots, from->nr_roots);
	size_t nr = 0;
	while (from->env && from->env[nr])
		nr++;
	to->o.env = from->env ? copy_list(a, from->env, nr) : NULL;
	to->o.driver = json_incref(from->driver);
}

void box_opts_free(struct owned_opts *o)
{
	json_decref(o->o.driver);
	arena_release(&o->arena);
}
