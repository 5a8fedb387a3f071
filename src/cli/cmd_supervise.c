/* The hidden command `supervise`: this process becomes a supervisor (sessions/spawn.h). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "sessions/spawn.h"
#include "supervisor/super.h"
#include "base/fd.h"
#include "base/mem.h"

static void free_strings(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

static char **supervise_strings(const json_t *list)
{
	size_t n = json_array_size(list);
	char **v = mem_calloc(n + 1, sizeof(*v));
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n; i++) {
		json_get_bytes(json_array_get(list, i), &b);
		v[i] = mem_strdup(buf_cstr(&b));
	}
	buf_release(&b);
	return v;
}

int cmd_supervise(struct cmd_ctx *ctx)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf script = BUF_INIT;
	struct err err = ERR_INIT;
	if (fcntl(SPAWN_OPTS_FD, F_GETFD) < 0)
		return cmd_usage(ctx, "only 'sandglass run' can start this command");
	fcntl(SPAWN_READY_FD, F_SETFD, FD_CLOEXEC);
	if (fd_read_all(SPAWN_OPTS_FD, &text, SPAWN_OPTS_MAX, &err) < 0)
		return cmd_fail(ctx, &err);
	close(SPAWN_OPTS_FD);
	CLEANUP(json_release)
	json_t *j = json_parse(text.data, text.len, "options of the supervisor", &err);
	if (!j)
		return cmd_fail(ctx, &err);
	json_get_bytes(json_object_get(j, "script"), &script);
	char **args = supervise_strings(json_object_get(j, "args")),
	     **policy = supervise_strings(json_object_get(j, "policy")),
	     **hash_only = json_array_size(json_object_get(j, "hash_only"))
				   ? supervise_strings(json_object_get(j, "hash_only"))
				   : NULL;
	struct super_opts o = {
		.name = json_str(j, "name", "session"),
		.script_path = json_str(j, "script_path", NULL),
		.script = buf_cstr(&script),
		.script_len = script.len,
		.args = args,
		.sessions_dir = json_str(j, "sessions_dir", NULL),
		.resume = json_str(j, "resume", NULL),
		.fork_model = json_str(j, "fork_model", NULL),
		.model = json_str(j, "model", NULL),
		.backend = json_str(j, "backend", NULL),
		.hold = json_str(j, "hold", NULL),
		.policy = (const char *const *)policy,
		.notify = json_str(j, "notify", NULL),
		.notify_host = json_str(j, "notify_host", NULL),
		.notify_when = json_str(j, "notify_when", NULL),
		.share = json_str(j, "share", NULL),
		.budget = json_object_get(j, "budget"),
		.roots = json_object_get(j, "roots"),
		.labels = json_object_get(j, "labels"),
		.box = json_object_get(j, "box"),
		.hash_only = (const char *const *)hash_only,
		.nr_hash_only = json_array_size(json_object_get(j, "hash_only")),
		.pool = (int)json_int(j, "pool", -1),
		.secrets = json_object_get(j, "secrets"),
		.saved_us = json_int(j, "saved_us", 0),
		.cassette = json_str(j, "cassette", NULL),
		.cassette_add = json_flag(j, "cassette_add", false),
		.cassette_speed = (unsigned)json_int(j, "cassette_speed", 0),
		.models = json_object_get(j, "models"),
		.prices = json_object_get(j, "prices"),
		.search = json_object_get(j, "search"),
		.otlp = json_object_get(j, "otlp"),
		.step = json_flag(j, "step", false),
		.no_input = json_flag(j, "no_input", false),
		.accept_reduced = json_flag(j, "accept_reduced", false),
		.hide_tokens = json_flag(j, "hide_tokens", false),
		.own_rules = json_flag(j, "own_rules", false),
		.stand = json_flag(j, "stand", false),
		.ask_timeout_us = json_int(j, "ask_timeout_us", 0),
		.box_uid = (unsigned)json_int(j, "box_uid", 0),
		.keep_file_bytes = (uint64_t)json_int(j, "keep_file_bytes", 0),
		.ready_fd = SPAWN_READY_FD,
	};
	int status = super_run(&o);
	free_strings(args);
	free_strings(policy);
	free_strings(hash_only);
	return status;
}
