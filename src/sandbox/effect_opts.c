/* The options of a box in three forms: struct box_opts, what a box.open event says, and a copy of
 * one's own. One table says which there are, so that none is forgotten when a session is
 * resumed. */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/effect_priv.h"

static const struct row {
	const char *group; /* object in the body that holds it; NULL = the body itself */
	const char *name;
	enum {
		ROW_INT64,
		ROW_ID,
		ROW_SET,
		ROW_INT,
		ROW_FLAG,
		ROW_LIST,
		ROW_ENV,
		ROW_REPOS,
		ROW_JSON
	} type;
	size_t at, nr_at; /* in struct box_opts; nr_at: of the list's length */
} effect_opts_rows[] = {
	{ NULL, "repos", ROW_REPOS, offsetof(struct box_opts, repo),
	  offsetof(struct box_opts, nr_repos) },
	{ "limits", "mem_bytes", ROW_INT64, offsetof(struct box_opts, limits.mem_bytes), 0 },
	{ "limits", "disk_bytes", ROW_INT64, offsetof(struct box_opts, limits.disk_bytes), 0 },
	{ "limits", "files", ROW_INT64, offsetof(struct box_opts, limits.files), 0 },
	{ "limits", "cpu_milli", ROW_INT64, offsetof(struct box_opts, limits.cpu_milli), 0 },
	{ "limits", "pids", ROW_INT, offsetof(struct box_opts, limits.pids), 0 },
	{ "limits", "wall_us", ROW_INT64, offsetof(struct box_opts, limits.wall_us), 0 },
	{ NULL, "net", ROW_LIST, offsetof(struct box_opts, host),
	  offsetof(struct box_opts, nr_hosts) },
	{ NULL, "expose", ROW_LIST, offsetof(struct box_opts, expose),
	  offsetof(struct box_opts, nr_expose) },
	{ NULL, "roots", ROW_LIST, offsetof(struct box_opts, roots),
	  offsetof(struct box_opts, nr_roots) },
	{ NULL, "env", ROW_ENV, offsetof(struct box_opts, env), 0 },
	{ NULL, "accept_reduced", ROW_FLAG, offsetof(struct box_opts, accept_reduced), 0 },
	{ NULL, "keep", ROW_FLAG, offsetof(struct box_opts, keep), 0 },
	{ NULL, "was", ROW_INT64, offsetof(struct box_opts, was), 0 },
	{ NULL, "mask_history", ROW_SET, offsetof(struct box_opts, mask_history), 0 },
	{ NULL, "stays", ROW_SET, offsetof(struct box_opts, stays), 0 },
	{ NULL, "state", ROW_ID, offsetof(struct box_opts, state), 0 },
	{ "fork", "box", ROW_INT64, offsetof(struct box_opts, fork_box), 0 },
	{ "fork", "n", ROW_INT64, offsetof(struct box_opts, fork_n), 0 },
	{ NULL, "call", ROW_INT64, offsetof(struct box_opts, call), 0 },
	{ NULL, "proxies", ROW_JSON, offsetof(struct box_opts, proxies), 0 },
	{ NULL, "honeytokens", ROW_JSON, offsetof(struct box_opts, honeytokens), 0 },
	{ NULL, "trace", ROW_JSON, offsetof(struct box_opts, trace), 0 },
	{ NULL, "options", ROW_JSON, offsetof(struct box_opts, driver), 0 },
};

#define FIELD(o, type, offset) ((type *)(void *)((char *)(o) + (offset)))
#define FIELD_OF(o, type, offset)                                                                  \
	((__typeof__(type) const *)(const void *)((const char *)(o) + (offset)))

/* --- to the record --- */

static json_t *effect_opts_strings(const char *const *item, size_t nr)
{
	json_t *list = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_bytes_z(item[i]));
	return list;
}

static size_t effect_opts_count(const char *const *item)
{
	size_t nr = 0;
	while (item && item[nr])
		nr++;
	return nr;
}

static json_t *effect_opts_repos(const struct box_opts *o)
{
	json_t *list = json_array();
	for (size_t i = 0; i < o->nr_repos; i++) {
		json_t *r = json_object();
		json_put(r, "name", json_bytes_z(o->repo[i].name));
		json_put(r, "dir", json_bytes_z(o->repo[i].host_dir));
		json_array_append_new(list, r);
	}
	return list;
}

static json_t *effect_opts_value_of(const struct box_opts *o, const struct row *r)
{
	const char *const *list;
	switch (r->type) {
	case ROW_INT64:
		return json_integer(*FIELD_OF(o, int64_t, r->at));
	case ROW_ID: /* absent, not 0 */
		return *FIELD_OF(o, int64_t, r->at) ? json_integer(*FIELD_OF(o, int64_t, r->at))
						    : NULL;
	case ROW_SET: /* the same */
		return *FIELD_OF(o, bool, r->at) ? json_true() : NULL;
	case ROW_INT:
		return json_integer(*FIELD_OF(o, int, r->at));
	case ROW_FLAG:
		return json_boolean(*FIELD_OF(o, bool, r->at));
	case ROW_LIST:
		return effect_opts_strings(*FIELD_OF(o, const char *const *, r->at),
					   *FIELD_OF(o, size_t, r->nr_at));
	case ROW_ENV:
		list = *FIELD_OF(o, const char *const *, r->at);
		return effect_opts_strings(list, effect_opts_count(list));
	case ROW_REPOS:
		return effect_opts_repos(o);
	case ROW_JSON:
		return json_incref(*FIELD_OF(o, json_t *, r->at));
	}
	return NULL;
}

void box_opts_put(json_t *body, const struct box_opts *o)
{
	for (size_t i = 0; i < ARRAY_LEN(effect_opts_rows); i++) {
		json_t *to = body;
		if (effect_opts_rows[i].group) {
			to = json_object_get(body, effect_opts_rows[i].group);
			if (!to)
				json_put(body, effect_opts_rows[i].group, to = json_object());
		}
		json_put(to, effect_opts_rows[i].name,
			 effect_opts_value_of(o, &effect_opts_rows[i]));
	}
}

/* --- from the record --- */

static const char *const *list_from(struct arena *a, const json_t *list, size_t *nr_out)
{
	size_t nr = json_array_size(list);
	const char **v = arena_alloc(a, (nr + 1) * sizeof(*v));
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	*nr_out = 0;
	for (size_t i = 0; i < nr; i++)
		if (json_get_bytes(json_array_get(list, i), &b))
			v[(*nr_out)++] = arena_strdup(a, buf_cstr(&b));
	v[*nr_out] = NULL;
	return v;
}

static const char *bytes_from(struct arena *a, const json_t *j)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return arena_strdup(a, json_get_bytes(j, &b) ? buf_cstr(&b) : "");
}

static void repos_from(struct owned_opts *to, const json_t *list)
{
	struct box_repo *v = arena_alloc(&to->arena, (json_array_size(list) + 1) * sizeof(*v));
	to->o.repo = v;
	to->o.nr_repos = json_array_size(list);
	for (size_t i = 0; i < to->o.nr_repos; i++) {
		const json_t *r = json_array_get(list, i);
		v[i].name = bytes_from(&to->arena, json_object_get(r, "name"));
		v[i].host_dir = bytes_from(&to->arena, json_object_get(r, "dir"));
	}
}

static void value_from(struct owned_opts *to, const struct row *r, json_t *v)
{
	struct box_opts *o = &to->o;
	size_t nr;
	switch (r->type) {
	case ROW_INT64:
	case ROW_ID:
		*FIELD(o, int64_t, r->at) = json_integer_value(v);
		break;
	case ROW_INT:
		*FIELD(o, int, r->at) = (int)json_integer_value(v);
		break;
	case ROW_FLAG:
	case ROW_SET:
		*FIELD(o, bool, r->at) = json_is_true(v);
		break;
	case ROW_LIST:
		*FIELD(o, const char *const *, r->at) =
			list_from(&to->arena, v, FIELD(o, size_t, r->nr_at));
		break;
	case ROW_ENV:
		*FIELD(o, const char *const *, r->at) =
			json_array_size(v) ? list_from(&to->arena, v, &nr) : NULL;
		break;
	case ROW_REPOS:
		repos_from(to, v);
		break;
	case ROW_JSON:
		*FIELD(o, json_t *, r->at) =
			json_is_object(v) || json_is_array(v) ? json_incref(v) : NULL;
		break;
	}
}

void box_opts_get(struct owned_opts *to, const json_t *body)
{
	*to = (struct owned_opts){ .arena = ARENA_INIT };
	for (size_t i = 0; i < ARRAY_LEN(effect_opts_rows); i++) {
		const json_t *from = effect_opts_rows[i].group
					     ? json_object_get(body, effect_opts_rows[i].group)
					     : body;
		value_from(to, &effect_opts_rows[i],
			   json_object_get(from, effect_opts_rows[i].name));
	}
	to->o.net = to->o.nr_hosts > 0;
}

void box_opts_copy(struct owned_opts *to, const struct box_opts *from)
{
	CLEANUP(json_release) json_t *body = json_object();
	box_opts_put(body, from);
	box_opts_get(to, body);
	to->o.net = from->net;
	to->o.name = arena_strdup(&to->arena, from->name);
	to->o.state_dir = from->state_dir ? arena_strdup(&to->arena, from->state_dir) : NULL;
}

void box_opts_free(struct owned_opts *o)
{
	json_decref(o->o.driver);
	json_decref(o->o.trace);
	json_decref(o->o.proxies);
	json_decref(o->o.honeytokens);
	arena_release(&o->arena);
}
