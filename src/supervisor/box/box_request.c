#include "supervisor/box/box_request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proxy/egress_parse.h"
#include "supervisor/box/box_ops.h"
#include "supervisor/net/super_net.h"

static int box_request_repo(json_t *list, const char *name, const json_t *path, struct err *err)
{
	char full[PATH_MAX];
	struct stat st;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_get_bytes(path, &b))
		return err_set(err, ERR_SCRIPT, "repos: '%s' must be a path", name);
	if (!realpath(buf_cstr(&b), full))
		return err_sys(err, "can't use workspace '%s'", buf_cstr(&b));
	if (stat(full, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "workspace '%s' is not a directory", buf_cstr(&b));
	if (!strcmp(full, "/"))
		return err_set(err, ERR_INVALID,
			       "can't use the whole file system as a workspace\nName a directory.");
	json_t *r = json_object();
	json_put_str(r, "name", name);
	json_put(r, "dir", json_bytes_z(full));
	json_array_append_new(list, r);
	return 0;
}

int box_request_repos(const json_t *args, json_t *list, struct err *err)
{
	const json_t *repo = json_object_get(args, "repo");
	if (!repo || json_is_null(repo))
		return 0;
	if (!json_is_object(repo) || json_object_get(repo, "b64"))
		return json_is_string(repo) || json_is_object(repo)
			       ? box_request_repo(list, "", repo, err)
			       : err_set(err, ERR_SCRIPT,
					 "repo must be a path, repos a table of paths");
	const char *name;
	json_t *path;
	json_object_foreach((json_t *)(uintptr_t)repo, name, path)
	{
		CLEANUP(free_ptr) char *plain = op_plain_name(name, "");
		if (strcmp(plain, name) != 0)
			return err_set(err, ERR_SCRIPT, "repos: invalid directory name '%s'", name);
		if (box_request_repo(list, name, path, err) < 0)
			return -1;
	}
	return 0;
}

const struct driver *box_request_driver(struct super *s, const json_t *args, struct err *err)
{
	const char *name =
		json_str(args, "backend", s->opts->backend ? s->opts->backend : "process");
	const struct driver *d = driver_find(name);
	if (d)
		return d;
	struct buf known = BUF_INIT;
	for (size_t i = 0; driver_at(i); i++)
		buf_printf(&known, "%s%s", i ? ", " : "", driver_at(i)->name);
	err_set(err, ERR_SCRIPT, "unknown backend '%s'; known: %s", name, buf_cstr(&known));
	buf_release(&known);
	return NULL;
}

/* The script's value of @field on top of the configuration's value for every sandbox. Returns
 * owned. */
static json_t *box_request_over(const struct super *s, const json_t *args, const char *field)
{
	const json_t *every = json_object_get(s->opts->box, field),
		     *mine = json_object_get(args, field);
	json_t *all = every ? json_deep_copy(every) : NULL;
	if (!all)
		return json_incref((json_t *)(uintptr_t)mine);
	if (json_is_array(all) && json_is_array(mine))
		json_array_extend(all, (json_t *)(uintptr_t)mine);
	else if (json_is_object(all) && json_is_object(mine))
		json_object_update(all, (json_t *)(uintptr_t)mine);
	return all;
}

/* An entry that the proxy would refuse on every connection is an error when the sandbox opens. */
int box_request_hosts(const json_t *net, struct err *err)
{
	size_t i;
	const json_t *v;
	json_array_foreach(net, i, v)
	{
		const char *host = json_is_string(v) ? json_string_value(v) : "";
		const char *fault =
			getenv("SANDGLASS_EGRESS_LOCAL") ? NULL : egress_entry_fault(host);
		if (fault)
			return err_set(err, ERR_USAGE, "sandbox: net: '%s': %s", host, fault);
	}
	return 0;
}

/* A script's options in the form of a box.open event, which is the one that a box is opened
 * from. */
int box_request_open(struct super *s, const json_t *args, json_t *open, struct err *err)
{
	static const struct {
		const char *script, *record;
	} limit[] = { { "mem_bytes", "mem_bytes" }, { "disk_bytes", "disk_bytes" },
		      { "files", "files" },	    { "cpus_milli", "cpu_milli" },
		      { "pids", "pids" },	    { "time_us", "wall_us" } };
	static const char *const same[] = { "keep", "options", "proxies", "trace" };
	CLEANUP(json_release)
	json_t *lim = box_request_over(s, args, "limits"), *vars = box_request_over(s, args, "env");
	const json_t *net = json_object_get(args, "net");
	json_t *limits = json_object(), *repos = json_array(),
	       *roots = json_object_get(args, "roots");
	struct strv env = STRV_INIT;
	for (size_t i = 0; i < ARRAY_LEN(limit); i++)
		json_put_int(limits, limit[i].record, json_int(lim, limit[i].script, 0));
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		json_put(open, same[i], json_incref(json_object_get(args, same[i])));
	json_put(open, "expose", box_request_over(s, args, "expose"));
	if (json_flag(json_object_get(args, "mask"), "history", false))
		json_put_flag(open, "mask_history", true);
	if (json_object_get(args, "image") || json_object_get(args, "build")) {
		static const char *const from[] = { "image", "build" };
		json_t *options = json_object_get(open, "options")
					  ? json_deep_copy(json_object_get(open, "options"))
					  : json_object();
		for (size_t i = 0; i < ARRAY_LEN(from); i++)
			json_put(options, from[i], json_incref(json_object_get(args, from[i])));
		json_put(open, "options", options);
	}
	op_env(vars, &env);
	if (json_array_size(net)) /* "none", null and {} open no way out */
		net_env(&env);
	json_put(open, "limits", limits);
	json_put(open, "net",
		 json_is_array(net) ? json_incref((json_t *)(uintptr_t)net) : json_array());
	json_t *all = json_array();
	json_array_extend(all, s->opts->roots);
	json_array_extend(all, roots);
	json_put(open, "roots", all);
	json_put(open, "env", json_argv(env.item, env.nr));
	json_put_flag(open, "accept_reduced",
		      s->opts->accept_reduced || !strcmp(json_str(args, "accept", ""), "reduced"));
	json_put(open, "repos", repos);
	strv_release(&env);
	return box_request_repos(args, repos, err);
}

/* A sandbox without masks can start only on a copy that the supervisor made: a script can't name
 * another directory. */
int box_request_options(const json_t *options, struct err *err)
{
	static const char *const ours[] = { "lowers", "copy_of" };
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (json_object_get(options, ours[i]))
			return err_set(err, ERR_SCRIPT, "options: unknown option '%s'", ours[i]);
	return 0;
}

int box_request_again(const json_t *open, struct err *err)
{
	CLEANUP(json_release) json_t *seen = json_array();
	const json_t *r;
	size_t i;
	if (box_request_options(json_object_get(open, "options"), err) < 0)
		return -1;
	json_array_foreach(json_object_get(open, "repos"), i,
			   r) if (box_request_repo(seen, json_str(r, "name", ""),
						   json_object_get(r, "dir"), err) < 0) return -1;
	return 0;
}
