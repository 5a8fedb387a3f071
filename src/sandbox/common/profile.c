#include "sandbox/common/profile.h"

#include <string.h>
#include <sys/sysinfo.h>

static const int64_t GIB = 1LL << 30;

const char *profile_name(enum profile p)
{
	switch (p) {
	case PROFILE_ENFORCED:
		return "enforced";
	case PROFILE_BEST_EFFORT:
		return "best effort";
	case PROFILE_REDUCED:
		return "reduced";
	}
	return "none";
}

enum profile profile_of(const struct launcher_info *info, int landlock_abi)
{
	return strcmp(info->cgroup, "none") != 0 && landlock_abi >= 1 ? PROFILE_ENFORCED
								      : PROFILE_BEST_EFFORT;
}

static void profile_say(json_t *list, const char *text)
{
	json_array_append_new(list, json_string(text));
}

json_t *profile_lacks(enum profile p, const struct launcher_info *info, int landlock_abi)
{
	json_t *list = json_array();
	if (p == PROFILE_ENFORCED)
		return list;
	if (strcmp(info->cgroup, "none") == 0) {
		profile_say(list,
			    "the memory limit holds for each process, not for the whole sandbox");
		if (*info->cgroup_why)
			profile_say(list, info->cgroup_why);
	}
	if (landlock_abi < 1)
		profile_say(
			list,
			"the kernel has no landlock: the mounts are the only isolation of files");
	if (p != PROFILE_REDUCED)
		return list;
	profile_say(
		list,
		"no namespaces: commands see the host's files and processes as an ordinary user does");
	profile_say(
		list,
		"the workspace is a copy, not at /workspace; changes are found by comparing, not by an overlay");
	profile_say(list, "no connections between sandbox and host; internet sockets are refused");
	return list;
}

void profile_limits(struct box_limits *l)
{
	struct sysinfo si;
	int64_t mem = 2 * GIB;
	if (sysinfo(&si) == 0)
		mem = (int64_t)((uint64_t)si.totalram * si.mem_unit / 4 * 3);
	if (!l->mem_bytes)
		l->mem_bytes = mem < 8 * GIB ? mem : 8 * GIB;
	if (!l->pids)
		l->pids = 512;
	if (!l->disk_bytes)
		l->disk_bytes = 8 * GIB;
}

struct box_limits profile_rlimits(enum profile p, const struct box_limits *l)
{
	struct box_limits r = *l;
	if (p == PROFILE_ENFORCED)
		/* an address space says little about memory, and breaks programs that reserve
		 * much */
		r.mem_bytes = 0;
	return r;
}
