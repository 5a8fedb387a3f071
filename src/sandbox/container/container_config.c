/* Part of container_open.c: the description of a container that an engine gets. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "sandbox/container/container_priv.h"
#include "base/mem.h"
#include "base/paths.h"

/* --- the container --- */

static void put_mount(json_t *list, const char *from, const char *to, bool read_only)
{
	json_t *m = json_object();
	json_put_str(m, "Type", "bind");
	json_put_bytes(m, "Source", from, strlen(from));
	json_put_str(m, "Target", to);
	json_put_flag(m, "ReadOnly", read_only);
	json_array_append_new(list, m);
}

static void put_ulimit(json_t *list, const char *name, __rlimit_resource_t what, rlim_t most)
{
	struct rlimit r;
	if (getrlimit(what, &r) < 0)
		return;
	rlim_t hard = r.rlim_max < most ? r.rlim_max : most;
	json_t *u = json_object();
	json_put_str(u, "Name", name);
	json_put_int(u, "Soft", (int64_t)(r.rlim_cur < hard ? r.rlim_cur : hard));
	json_put_int(u, "Hard", (int64_t)hard);
	json_array_append_new(list, u);
}

static json_t *host_config(const struct container *c)
{
	json_t *h = json_object(), *mounts = json_array(), *limits = json_array();
	CLEANUP(free_ptr) char *guest = paths_libexec("sandglass-guest");
	static const char *const folders[][2] = { { "workspace", "/workspace" },
						  { "home", "/home/agent" },
						  { "tmp", "/tmp" } };
	put_mount(mounts, guest, PLACE "/guest", true);
	put_mount(mounts, c->run_dir, PLACE "/run", true);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		CLEANUP(free_ptr) char *from = path_join(folder_root(c->folder), folders[i][0]);
		put_mount(mounts, from, folders[i][1], false);
	}
	put_ulimit(limits, "nofile", RLIMIT_NOFILE, MAX_FILES);
	put_ulimit(limits, "nproc", RLIMIT_NPROC, MAX_PROCESSES);
	json_put_str(h, "NetworkMode", "none");
	json_put(h, "Mounts", mounts);
	json_put(h, "Ulimits", limits);
	json_put(h, "CapDrop", json_pack("[s]", "ALL"));
	json_put(h, "SecurityOpt", json_pack("[s]", "no-new-privileges"));
	json_put_flag(h, "ReadonlyRootfs", true);
	json_put_flag(h, "AutoRemove", true);
	json_put_int(h, "Memory", c->limits.mem_bytes);
	json_put_int(h, "MemorySwap", c->limits.mem_bytes);
	json_put_int(h, "PidsLimit", c->limits.pids);
	if (c->limits.cpu_milli)
		json_put_int(h, "NanoCpus", c->limits.cpu_milli * 1000000);
	if (c->gpus)
		json_put(h, "DeviceRequests",
			 json_pack("[{s:I,s:[[s]]}]", "Count", (json_int_t)c->gpus, "Capabilities",
				   "gpu"));
	return h;
}

json_t *container_open_config(const struct container *c)
{
	json_t *o = json_object(), *labels = json_object();
	char user[32];
	snprintf(user, sizeof(user), "%u:%u", c->uid, c->gid);
	json_put_str(labels, "sandglass.box", c->name);
	json_put_bytes(labels, "sandglass.state", c->state_dir, strlen(c->state_dir));
	json_put_str(o, "Image", c->image.name);
	json_put(o, "Entrypoint",
		 json_pack("[sss]", PLACE "/guest", "--connect", PLACE "/run/guest.sock"));
	json_put(o, "Cmd", json_array());
	static const char *const of_all[] = { "HOME=/home/agent", "USER=agent",	  "LOGNAME=agent",
					      "TERM=dumb",	  "LANG=C.UTF-8", GIT_VIEW_ENV };
	json_t *env = json_array();
	for (size_t i = 0; i < ARRAY_LEN(of_all); i++)
		json_array_append_new(env, json_string(of_all[i]));
	json_put(o, "Env", env);
	json_put_str(o, "User", user);
	json_put_str(o, "WorkingDir", "/workspace");
	json_put(o, "Labels", labels);
	json_put(o, "HostConfig", host_config(c));
	return o;
}
