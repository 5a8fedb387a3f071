/* sandglass doctor: the abilities of the host, missing parts and their repair, and the
 * files of sandglass on it. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "sessions/merge_recover.h"
#include "sessions/sessions.h"
#include "sessions/unmerged.h"
#include "luahost/library.h"
#include "luahost/lua_file.h"
#include "luahost/plugin_own.h"
#include "hosted/hosted_plugin.h"
#include "secrets/secret_source.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/socket.h"
#include "sandbox/container/container.h"
#include "sandbox/driver.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/process/probe.h"
#include "sandbox/hosted/hosted_book.h"
#include "wire/groups.h"

struct doctor {
	struct cmd_ctx *ctx;
	const json_t *secrets; /* of the configuration: where values are */
	bool unread;	       /* the configuration: no command continues with such a file */
	size_t bad;
};

/* Bad, good, or optional and missing. */
enum found { MISSING, THERE, NOT_HERE };

static void cmd_doctor_say(struct doctor *d, const char *name, enum found found, const char *value,
			   const char *fix)
{
	static const char *const signs[] = { [MISSING] = "NO", [THERE] = "ok", [NOT_HERE] = "-" };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool good = found != MISSING;
	d->bad += !good;
	if (d->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "check", name);
		json_put_flag(o, "ok", good);
		if (found == NOT_HERE)
			json_put_flag(o, "optional", true);
		json_put(o, "value", json_bytes_z(value));
		if (fix && *fix && !good)
			json_put_str(o, "fix", fix);
		cmd_json(d->ctx, o);
		return;
	}
	if (good && d->ctx->quiet)
		return;
	cmd_safe(&b, value, strlen(value), false);
	fprintf(d->ctx->out, "%-4s  %-20s %s\n", signs[found], name, buf_cstr(&b));
	if (fix && *fix && !good) {
		buf_reset(&b);
		cmd_safe(&b, fix, strlen(fix), false);
		fprintf(d->ctx->out, "      %-20s repair: %s\n", "", buf_cstr(&b));
	}
}

static void cmd_doctor_check(struct doctor *d, const char *name, bool good, const char *value,
			     const char *fix)
{
	cmd_doctor_say(d, name, good ? THERE : MISSING, value, fix);
}

/* --- checks -----------------------------------------------------------------------------------
 */

static void check_programs(struct doctor *d)
{
	static const char *const names[] = { "sandglass-launcher", "sandglass-keeper",
					     "sandglass-guest",	   "sandglass-host",
					     "sandglass-tls",	   "sandglass-screen",
					     "sandglass-git" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free_ptr) char *path = paths_libexec(names[i]);
		if (access(path, X_OK) == 0)
			continue;
		CLEANUP(free_ptr) char *text = mem_printf("missing: '%s'", path);
		cmd_doctor_check(d, names[i], false, text, "make all, or make install");
	}
}

/* File systems whose locks and mappings cannot be trusted between machines. */
static const char *network_fs(const char *path)
{
	static const struct {
		long type;
		const char *name;
	} table[] = {
		{ 0x6969, "NFS" },	{ 0x517B, "SMB" },    { 0xFF534D42, "CIFS" },
		{ 0xFE534D42, "SMB2" }, { 0x01021997, "9p" }, { 0x0BD00BD0, "Lustre" },
		{ 0x00C36400, "Ceph" },
	};
	struct statfs fs;
	if (statfs(path, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((long)fs.f_type == table[i].type)
			return table[i].name;
	return NULL;
}

/* The nearest directory of @path that exists. */
static char *cmd_doctor_existing(const char *path)
{
	char *p = mem_strdup(path);
	while (access(p, F_OK) != 0) {
		char *slash = strrchr(p, '/');
		if (!slash || slash == p) {
			free(p);
			return mem_strdup(slash ? "/" : ".");
		}
		*slash = 0;
	}
	return p;
}

static void check_sessions(struct doctor *d)
{
	const char *dir = d->ctx->sessions;
	CLEANUP(free_ptr) char *there = cmd_doctor_existing(dir);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct statvfs fs;
	const char *net = network_fs(there);
	buf_puts(&text, dir);
	if (net) {
		buf_printf(&text, " is on %s", net);
		cmd_doctor_check(d, "sessions directory", false, buf_cstr(&text),
				 "SANDGLASS_SESSIONS=/a/local/folder");
		return;
	}
	if (access(there, W_OK) != 0) {
		buf_puts(&text, " isn't writable");
		cmd_doctor_check(d, "sessions directory", false, buf_cstr(&text),
				 "SANDGLASS_SESSIONS=/a/folder/of/yours");
		return;
	}
	bool room = true;
	if (statvfs(there, &fs) == 0) {
		uint64_t bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
		room = bytes > (256U << 20);
		buf_puts(&text, ", ");
		cmd_size(bytes, &text);
		buf_puts(&text, " free");
	}
	cmd_doctor_check(d, "sessions directory", room, buf_cstr(&text),
			 "sandglass prune --older-than 30d");
}

static void check_runtime(struct doctor *d)
{
	char *dir = NULL;
	struct err err = ERR_INIT;
	if (control_dir(&dir, &err) == 0)
		cmd_doctor_check(d, "control sockets", true, dir, NULL);
	else
		cmd_doctor_check(d, "control sockets", false, err.text,
				 *err.hint ? err.hint : "see the message");
	free(dir);
}

/* A variable, kept by `secret set`, or from where the configuration says; its value is not read. */
static bool has_secret(const struct doctor *d, const char *name)
{
	struct secret_source s;
	struct err none = ERR_INIT;
	if (secret_find(d->secrets, name, &s, &none) < 0)
		return false;
	secret_source_release(&s);
	return true;
}

static const char *model_key(const struct doctor *d)
{
	static const char *const keys[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
					    "OPENROUTER_API_KEY" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (has_secret(d, keys[i]))
			return keys[i];
	return NULL;
}

static void check_roots(struct doctor *d)
{
	CLEANUP(json_release) json_t *roots = probe_tool_roots();
	for (size_t i = 0; i < json_array_size(roots); i++) {
		const json_t *r = json_array_get(roots, i);
		CLEANUP(free_ptr)
		char *text = mem_printf("%s (%s): add it to sandboxes with --root",
					json_str(r, "path", ""), json_str(r, "what", "tools"));
		cmd_doctor_check(d, "tools", true, text, NULL);
	}
}

/* Files here that a box over this directory could not write into. */
enum { OWNERS_MAX = 200000 };
static _Thread_local struct {
	uid_t owner;
	size_t seen, foreign;
	char first[200];
} cmd_doctor_owners;

static int see_owner(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)type;
	(void)at;
	if (st->st_uid != cmd_doctor_owners.owner && cmd_doctor_owners.foreign++ == 0)
		snprintf(cmd_doctor_owners.first, sizeof(cmd_doctor_owners.first), "%s", path);
	return ++cmd_doctor_owners.seen > OWNERS_MAX;
}

static void check_owners(struct doctor *d)
{
	struct stat st;
	if (access(".git", F_OK) != 0 || stat(".", &st) < 0)
		return;
	cmd_doctor_owners.owner = st.st_uid;
	cmd_doctor_owners.seen = cmd_doctor_owners.foreign = 0;
	nftw(".", see_owner, 32, FTW_PHYS | FTW_MOUNT);
	CLEANUP(free_ptr)
	char *text =
		cmd_doctor_owners.foreign
			? mem_printf("%zu %s of another owner: a sandbox can't overwrite %s (%s%s)",
				     cmd_doctor_owners.foreign,
				     cmd_doctor_owners.foreign == 1 ? "file" : "files",
				     cmd_doctor_owners.foreign == 1 ? "it" : "them",
				     cmd_doctor_owners.first,
				     cmd_doctor_owners.foreign > 1 ? ", ..." : "")
			: mem_printf("all %zu files here have one owner", cmd_doctor_owners.seen);
	CLEANUP(free_ptr) char *fix = mem_printf("chown -R %u .", (unsigned)st.st_uid);
	cmd_doctor_check(d, "owners", !cmd_doctor_owners.foreign, text, fix);
}

/* The other drivers: none of them is needed. */
static void check_drivers(struct doctor *d)
{
	for (size_t i = 0; driver_at(i); i++) {
		if (!strcmp(driver_at(i)->name, "process"))
			continue;
		CLEANUP(json_release) json_t *r = driver_at(i)->probe();
		CLEANUP(free_ptr) char *name = mem_printf("%s sandboxes", driver_at(i)->name);
		bool good = json_flag(r, "ok", false);
		cmd_doctor_say(d, name, good ? THERE : NOT_HERE,
			       good ? json_str(r, "value", "yes") : json_str(r, "why", "not here"),
			       "");
	}
}

/* The file that kubectl would use; NULL: there is none. Returns owned. */
static char *doctor_kubeconfig(void)
{
	const char *named = getenv("KUBECONFIG"), *home = getenv("HOME");
	char *path = named && *named ? mem_strndup(named, strcspn(named, ":"))
				     : mem_printf("%s/.kube/config", home ? home : "");
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Those that are rented are asked nothing here: only whether there is a key. @file: the user's own,
 * NULL: shipped. */
static void check_plugin(struct doctor *d, const char *plugin, const char *file, const char *text)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *face = NULL;
	CLEANUP(free_ptr) char *name = mem_printf("%s sandboxes", plugin);
	if (lua_file_run(&(struct lua_file_run){ .mode = "plugin",
						 .path = file ? file : plugin,
						 .text = text },
			 &face, &err) < 0) {
		cmd_doctor_say(d, name, MISSING, err.text,
			       "fix the file, or remove it with 'sandglass plugin rm'");
		return;
	}
	const char *key = json_str(json_object_get(face, "env"), "key", NULL);
	bool set = key && has_secret(d, key),
	     login = !strcmp(json_str(face, "login", ""), "kubeconfig");
	CLEANUP(free_ptr) char *kubeconfig = login && !set ? doctor_kubeconfig() : NULL;
	CLEANUP(free_ptr)
	char *says = set ? mem_printf("%s is set; try 'sandglass plugin test %s'", key, plugin)
		     : kubeconfig ? mem_printf("kubeconfig %s; try 'sandglass plugin test %s'",
					       kubeconfig, plugin)
		     : login	  ? mem_printf("no kubeconfig and no %s", key)
		     : key ? mem_printf("no %s; set it, or run 'sandglass secret set %s'", key, key)
			   : mem_printf("no key needed; try 'sandglass plugin test %s'", plugin);
	cmd_doctor_say(d, name, set || kubeconfig || !key ? THERE : NOT_HERE, says, "");
}

static void check_rented(struct doctor *d)
{
	CLEANUP(strv_release) struct strv own = STRV_INIT;
	plugin_own_names("sandboxes", &own);
	for (size_t i = 0; hosted_plugin_name(i); i++) {
		size_t len;
		CLEANUP(free_ptr)
		char *path = mem_printf("plugins/sandboxes/%s.lua", hosted_plugin_name(i));
		check_plugin(d, hosted_plugin_name(i), NULL, library_file(path, &len));
	}
	for (size_t i = 0; i < own.nr; i++) {
		CLEANUP(free_ptr) char *path = plugin_own_path("sandboxes", own.item[i]);
		check_plugin(d, own.item[i], path, NULL);
	}
}

static int run_checks(struct doctor *d)
{
	CLEANUP(json_release) json_t *box = probe_process();
	const json_t *checks = json_object_get(box, "checks");
	for (size_t i = 0; i < json_array_size(checks); i++) {
		const json_t *c = json_array_get(checks, i);
		bool good = json_flag(c, "ok", false);
		const char *why = json_str(c, "why", ""),
			   *value = json_str(c, "value", good ? "yes" : "no");
		CLEANUP(free_ptr)
		char *text = mem_printf("%s%s%s", value, *why && *value ? ": " : "", why);
		cmd_doctor_check(d, json_str(c, "name", "?"), good, text, json_str(c, "fix", ""));
	}
	check_drivers(d);
	check_rented(d);
	check_programs(d);
	check_sessions(d);
	check_runtime(d);
	check_roots(d);
	check_owners(d);
	const char *key = model_key(d);
	bool good = json_flag(box, "ok", false) && !d->unread;
	const char *why = d->unread ? "can't read the configuration" : json_str(box, "why", "");
	const char *fix = d->unread ? "" : json_str(box, "fix", "");
	if (d->ctx->json) {
		json_t *o = json_object();
		json_put_flag(o, "ready", good);
		json_put_str(o, "backend", good ? "process" : "");
		json_put_str(o, "profile", json_str(box, "profile", ""));
		json_put_str(o, "raise", json_str(box, "raise", ""));
		json_put_str(o, "why", why);
		json_put_str(o, "fix", fix);
		json_put(o, "model_key", key ? json_string(key) : json_null());
		json_put_int(o, "bad", (int64_t)d->bad);
		cmd_json(d->ctx, o);
	} else if (good) {
		const char *raise = json_str(box, "raise", "");
		fprintf(d->ctx->out, "ready: process backend, isolation level %s; %s%s%s%s\n",
			json_str(box, "profile", "?"),
			key ? "model key in " : "no model key (scripted and local models work)",
			key ? key : "", *raise ? "; to raise the level: " : "", raise);
	} else {
		fprintf(d->ctx->out, "not ready: %s%s%s\n", *why ? why : "no sandbox can be opened",
			*fix ? "; repair: " : "", fix);
	}
	return good ? EXIT_DONE : EXIT_SANDBOX;
}

/* --- --paths: everything of ours --------------------------------------------------------------
 */

static void cmd_doctor_print_path(struct cmd_ctx *ctx, const char *what, const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return;
	CLEANUP(buf_release) struct buf size = BUF_INIT, safe = BUF_INIT;
	int64_t bytes = cmd_disk_usage(path);
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "what", what);
		json_put(o, "path", json_bytes_z(path));
		json_put_int(o, "size_bytes", bytes);
		cmd_json(ctx, o);
		return;
	}
	cmd_size((uint64_t)bytes, &size);
	cmd_safe(&safe, path, strlen(path), false);
	fprintf(ctx->out, "%-15s %10s  %s\n", what, buf_cstr(&size), buf_cstr(&safe));
}

static void print_owned(struct cmd_ctx *ctx, const char *what, char *path)
{
	cmd_doctor_print_path(ctx, what, path);
	free(path);
}

/* Every entry of a directory whose name begins with @prefix. */
static void print_entries(struct cmd_ctx *ctx, const char *what, const char *dir,
			  const char *prefix)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_uid == geteuid())
			print_owned(ctx, what, path_join(dir, e->d_name));
	}
	if (d)
		closedir(d);
}

/* Sessions that hold work of boxes which nobody has merged: `prune` would take it along. */
static void print_unmerged(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct err err = ERR_INIT;
	if (session_files_list(&files, ctx->sessions, &err) < 0)
		return;
	for (size_t i = 0; i < files.nr; i++) {
		struct session *s;
		struct unmerged u = UNMERGED_INIT;
		struct err none = ERR_INIT;
		if (session_open(&s, files.item[i].path, &none) < 0)
			continue;
		if (!session_live(s) && unmerged_read(&u, s, &none) == 0 && unmerged_work(&u))
			cmd_doctor_print_path(ctx, "not merged", files.item[i].path);
		CLEANUP(json_release) json_t *left = merge_recover_look(s);
		if (json_array_size(left))
			cmd_doctor_print_path(ctx, "interrupted merge", files.item[i].path);
		unmerged_release(&u);
		session_close(&s);
	}
	session_files_release(&files);
}

static void print_group(void *self, const char *dir, bool held)
{
	struct stat st;
	if (lstat(dir, &st) == 0 && st.st_uid == geteuid())
		cmd_doctor_print_path(self, held ? "cgroup" : "dead cgroup", dir);
}

/* Possible remains of an unclosed sandbox on a remote host. */
static void print_elsewhere(void *self, const char *driver, const char *where, const char *box)
{
	struct cmd_ctx *ctx = self;
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	if (!strcmp(driver, driver_container.name) && container_there(where) == 0) {
		/* an engine removes the containers of a killed supervisor itself */
		remote_orphans_gone(box);
		return;
	}
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "what", "elsewhere");
		json_put_str(o, "driver", driver);
		json_put(o, "where", json_bytes_z(where));
		json_put(o, "box", json_bytes_z(box));
		cmd_json(ctx, o);
		return;
	}
	cmd_safe(&safe, where, strlen(where), false);
	fprintf(ctx->out, "%-15s %10s  %s\n", "elsewhere", driver, buf_cstr(&safe));
}

/* A machine that a provider rents to us: of a session that runs, or left by one that was killed. */
static void print_rented(void *self, const char *provider, const char *tag, const json_t *box,
			 bool lives)
{
	struct cmd_ctx *ctx = self;
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	const char *id = json_str(box, "id", lives ? "not made yet" : "perhaps made");
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "what", "rented");
		json_put_str(o, "provider", provider);
		json_put_str(o, "tag", tag);
		json_put_str(o, "id", id);
		json_put_flag(o, "live", lives);
		cmd_json(ctx, o);
		return;
	}
	cmd_safe(&safe, id, strlen(id), false);
	fprintf(ctx->out, "%-15s %10s  %s (sandglass-%s)%s\n", "hosted", provider, buf_cstr(&safe),
		tag,
		lives ? ""
		      : ": its session has ended; the next session with this backend deletes it");
}

static int print_paths(struct cmd_ctx *ctx)
{
	static const char *const programs[] = { "sandglass-launcher", "sandglass-keeper",
						"sandglass-guest",    "sandglass-host",
						"sandglass-tls",      "sandglass-screen",
						"sandglass-git" };
	CLEANUP(free_ptr) char *boxes = paths_state("box");
	CLEANUP(free_ptr) char *runtime = paths_runtime("");
	const char *tmp = getenv("TMPDIR");
	struct strv live = STRV_INIT;
	struct err err = ERR_INIT;
	if (control_list(&live, &err) < 0) /* takes stale sockets away, too */
		cmd_tell_error(ctx, NULL, &err);
	strv_release(&live);
	print_owned(ctx, "configuration", paths_config(""));
	cmd_doctor_print_path(ctx, "host policy", "/etc/sandglass");
	cmd_doctor_print_path(ctx, "host config", "/etc/xdg/sandglass");
	cmd_doctor_print_path(ctx, "project", ".sandglass");
	cmd_doctor_print_path(ctx, "sessions", ctx->sessions);
	print_owned(ctx, "data", paths_data(""));
	print_owned(ctx, "state", paths_state(""));
	print_owned(ctx, "cache", paths_cache(""));
	print_entries(ctx, "box", boxes, "");
	remote_orphans_each(boxes, print_elsewhere, ctx);
	hosted_book_each(print_rented, ctx);
	print_unmerged(ctx);
	print_entries(ctx, "socket", runtime, "");
	print_entries(ctx, "temporary", tmp && *tmp ? tmp : "/tmp", "sandglass-");
	groups_each(print_group, ctx);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		print_owned(ctx, "program", paths_libexec(programs[i]));
	return EXIT_DONE;
}

int cmd_doctor(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err err = ERR_INIT;
	if (cmd_has(ctx, "paths"))
		return print_paths(ctx);
	/* it is asked when something is broken, so that a broken configuration is a row like
	 * another */
	bool read = config_open(&c, ctx, &err) == 0;
	CLEANUP(json_release) json_t *secrets = read ? config_object(c, "secrets") : NULL;
	if (read)
		config_close(&c);
	struct doctor d = { .ctx = ctx, .secrets = secrets, .unread = !read };
	if (!read)
		cmd_doctor_check(&d, "configuration", false, err.text,
				 "fix the named file, or move it away");
	int status = run_checks(&d);
	return read ? status : exit_of(&err);
}
