#include "cli/lib/policy_file.h"

#include <string.h>

#include "action/added.h"
#include "cli/lib/policy_pipe.h"
#include "luahost/lua_file.h"
#include "base/mem.h"

const char policy_file_project[] = ".sandglass/policy.lua";
const char policy_file_machine[] = "/etc/sandglass/policy.lua";

int policy_file_load(const char *given, struct policy **out, struct err *err)
{
	json_t *data;
	CLEANUP(free_ptr) char *path = NULL;
	if (policy_pipe_keep(given, &path, err) < 0)
		return -1;
	if (lua_file_read("policy", path, &data, err) < 0)
		return -1;
	const json_t *inner = json_object_get(data, "policy");
	CLEANUP(json_release) json_t *doc = json_copy((json_t *)(uintptr_t)(inner ? inner : data));
	json_decref(data);
	if (!json_object_get(doc, "file"))
		json_put_str(doc, "file", path);
	size_t len = strlen(path), added = strlen(ADDED_FILE);
	json_put_flag(doc, "added", len >= added && !strcmp(path + len - added, ADDED_FILE));
	json_put_flag(doc, "firm", !strcmp(path, policy_file_machine));
	return policy_from_json(out, doc, err);
}

enum gate_wall policy_past_wall(const char *profile)
{
	return profile && !strcmp(profile, "none")	? WALL_NONE
	       : profile && !strcmp(profile, "reduced") ? WALL_CAREFUL
							: WALL_BOXED;
}
