#include "sandbox/view/past_names.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/view/git_place.h"
#include "sandbox/view/masks.h"
#include "sandbox/workspace/merge.h"

static bool past_has_repository(const char *dir)
{
	struct git_place p;
	struct err none = ERR_INIT;
	if (git_place_above(dir, &p, &none) <= 0)
		return false;
	git_place_release(&p);
	return true;
}

json_t *past_incomplete(const char *repo, int64_t commits)
{
	json_t *one = json_object();
	CLEANUP(free_ptr)
	char *why = mem_printf(
		"git's history was not looked through completely for names like those of secrets (%lld %s seen)",
		(long long)commits, commits == 1 ? "commit" : "commits");
	json_put_str(one, "repo", repo);
	json_put_str(one, "why", why);
	return one;
}

static char *past_why(const json_t *look)
{
	const char *why = json_flag(look, "missing", false)
				  ? "in earlier commits, of which some are not here"
				  : "in earlier commits";
	return json_flag(look, "more", false)
		       ? mem_printf("%s; the first %lld commits were looked at", why,
				    (long long)json_int(look, "commits", 0))
		       : mem_strdup(why);
}

int past_names(const char *dir, const char *repo, const struct strv *expose,
	       const struct past_stop *stop, json_t **out, bool *all_out, struct err *err)
{
	json_t *look = NULL, *list;
	*out = json_array();
	*all_out = true;
	if (!past_has_repository(dir))
		return 0;
	if (merge_history(dir, PAST_COMMITS, stop ? stop->due : NULL, stop ? stop->self : NULL,
			  &look, err) < 0) {
		json_decref(*out);
		*out = NULL;
		return -1;
	}
	CLEANUP(free_ptr) char *why = past_why(look);
	list = json_object_get(look, "paths");
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		if (!json_get_bytes(json_array_get(list, i), &path) ||
		    masks_exposed(expose, buf_cstr(&path)))
			continue;
		json_t *one = json_object();
		json_put_str(one, "repo", repo);
		json_put(one, "path", json_incref(json_array_get(list, i)));
		json_put_str(one, "why", why);
		json_array_append_new(*out, one);
	}
	*all_out = !json_flag(look, "more", false) && !json_flag(look, "missing", false);
	if (!*all_out && !json_array_size(*out))
		json_array_append_new(*out, past_incomplete(repo, json_int(look, "commits", 0)));
	json_decref(look);
	return 0;
}
