/* The isolation level (profile) of a sandbox, the default limits, and a text that names the parts
 * missing from "enforced". Every screen shows it, so the text is for you. */
#ifndef SANDBOX_COMMON_PROFILE_H
#define SANDBOX_COMMON_PROFILE_H

#include "base/json.h"
#include "sandbox/driver.h"
#include "sandbox/common/launcher_client.h"

enum profile { PROFILE_ENFORCED, PROFILE_BEST_EFFORT, PROFILE_REDUCED };

/* what a sandbox lacks whose kernel takes no filter of ours */
#define FILTERS_LACK "the kernel there has no system call filters: every call of it can be reached"

const char *profile_name(enum profile p);
/* With namespaces: enforced if memory and processes are bounded by cgroup and landlock is there. */
enum profile profile_of(const struct launcher_info *info, int landlock_abi);
/* Array of sentences, empty for enforced. Returns owned. */
json_t *profile_lacks(enum profile p, const struct launcher_info *info, int landlock_abi);
/* Defaults where @l has 0: memory min(8 GiB, 3/4 of the machine), 512 processes, files of 8 GiB. */
void profile_limits(struct box_limits *l);
/* The limits that become rlimits of each command: memory only if no cgroup bounds it. */
struct box_limits profile_rlimits(enum profile p, const struct box_limits *l);

#endif
