/* Part of run.c: what options and the configuration add to a session that starts. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/run_priv.h"
#include "cli/lib/cmd.h"
#include "cli/lib/policy_pipe.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "supervisor/telemetry/otlp_live.h"
#include "luahost/plugin_own.h"
#include "hosted/hosted_plugin.h"
#include "sessions/labels.h"
#include "cli/front/tool_roots.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "query/filter.h"
#include "sandbox/driver.h"
#include "control/share.h"

/* "200k" -> 200000; "1.5m" -> 1500000. */
static bool parse_count(const char *s, int64_t *out)
{
	char *end;
	errno = 0;
	long long v = strtoll(s, &end, 10);
	if (end == s || v < 0 || errno)
		return false;
	int64_t unit = !strcmp(end, "")	       ? 1
		       : !strcasecmp(end, "k") ? 1000
		       : !strcasecmp(end, "m") ? 1000000
					       : 0;
	if (!unit || v > INT64_MAX / unit)
		return false;
	*out = v * unit;
	return true;
}

/* "usd=1,time=20m" -> {"uusd":1000000,"time_us":1200000000}. Returns owned or NULL. */
static json_t *parse_budget(const char *text, struct err *err)
{
	json_t *o = json_object();
	CLEANUP(free_ptr) char *copy = mem_strdup(text);
	char *save = NULL;
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(item, '=');
		int64_t v = 0;
		bool good = eq != NULL;
		if (eq)
			*eq++ = 0;
		if (good && !strcmp(item, "usd")) {
			good = clock_parse_span(eq, &v) && strspn(eq, "0123456789.") == strlen(eq);
			/* millionths of a dollar, as seconds are in microseconds */
			json_put_int(o, "uusd", v);
		} else if (good && !strcmp(item, "time")) {
			good = clock_parse_span(eq, &v);
			json_put_int(o, "time_us", v);
		} else if (good && (!strcmp(item, "tokens") || !strcmp(item, "steps") ||
				    !strcmp(item, "actions"))) {
			good = parse_count(eq, &v);
			json_put_int(o, item, v);
		} else {
			good = false;
		}
		if (!good) {
			json_decref(o);
			err_set(err, ERR_USAGE,
				"--budget: expected usd, time, tokens, steps, or actions, as usd=1.50, got '%s%s%s'",
				item, eq ? "=" : "", eq ? eq : "");
			return NULL;
		}
	}
	return o;
}

int run_backend_known(const char *name, struct err *err)
{
	const char *names[64] = { NULL };
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	size_t nr = 0, len = name ? strlen(name) : 0;
	if (!name)
		return 0;
	if (len > 4 && !strcmp(name + len - 4, ".lua"))
		return access(name, R_OK) == 0
			       ? 0
			       : err_sys(err, "can't read sandbox plugin '%s'", name);
	for (size_t i = 0; driver_at(i) && nr < ARRAY_LEN(names) - 1; i++)
		names[nr++] = driver_at(i)->name;
	for (size_t i = 0; hosted_plugin_name(i) && nr < ARRAY_LEN(names) - 1; i++)
		names[nr++] = hosted_plugin_name(i);
	CLEANUP(strv_release) struct strv own = STRV_INIT;
	plugin_own_names("sandboxes", &own);
	for (size_t i = 0; i < own.nr && nr < ARRAY_LEN(names) - 1; i++)
		names[nr++] = own.item[i];
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(names[i], name))
			return 0;
		buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
	}
	const char *near = !strncmp(name, "dock", 4) || !strncmp(name, "podm", 4)
				   ? "container"
				   : nearest_name(name, names);
	return err_set(err, ERR_USAGE, "--backend: unknown backend '%s'%s%s%s\nAvailable: %s.",
		       name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		       buf_cstr(&known));
}

char *name_of_script(const char *script_path)
{
	const char *base = strrchr(script_path, '/');
	char *name = mem_strdup(base ? base + 1 : script_path);
	char *dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return name;
}

json_t *opt_list(const struct cmd_ctx *ctx, const char *name)
{
	json_t *list = json_array();
	const char *v;
	for (size_t i = 0; (v = command_opt_nth(ctx->line, name, i)); i++)
		json_array_append_new(list, json_bytes_z(v));
	return list;
}

/* A list of words as a line for sh: each in quotes. */
static void shell_words(json_t *o, const char *field, const json_t *list)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *word = json_array_get(list, i);
		buf_puts(&line, i ? " '" : "'");
		for (const char *p = json_is_string(word) ? json_string_value(word) : ""; *p; p++)
			if (*p == '\'')
				buf_puts(&line, "'\\''");
			else
				buf_putc(&line, *p);
		buf_putc(&line, '\'');
	}
	if (line.len)
		json_put_str(o, field, line.data);
}

/* The collector of spans and metrics: invalid settings are reported before the start. */
static int put_otlp(json_t *o, const struct config *c, struct err *err)
{
	CLEANUP(json_release) json_t *otlp = config_object(c, "otlp");
	int rc = otlp_live_check(otlp, err);
	if (rc > 0)
		json_put(o, "otlp", json_incref(otlp));
	return rc < 0 ? -1 : 0;
}

/* The services outside: models and their prices, the search service, the collector. */
static int put_models(json_t *o, const struct config *c, struct err *err)
{
	json_put(o, "models", config_object(c, "models"));
	json_put(o, "prices", config_object(c, "prices"));
	CLEANUP(free_ptr) char *search = config_value(c, "search.url");
	if (!search)
		return put_otlp(o, c, err);
	json_t *conf = config_object(c, "search");
	conf = conf ? conf : json_object();
	json_put_str(conf, "url", search);
	json_put(o, "search", conf);
	return put_otlp(o, c, err);
}

/* The command for notices, unless @o has one, and when it runs. */
static void put_notify(json_t *o, const struct config *c)
{
	CLEANUP(free_ptr) char *notify = config_value(c, "notify.command");
	CLEANUP(free_ptr) char *host = config_value(c, "notify.host");
	CLEANUP(free_ptr) char *when = config_value(c, "notify.when");
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *argv = notify ? json_parse(notify, strlen(notify), "notify.command", &none) : NULL;
	if (!json_object_get(o, "notify"))
		shell_words(o, "notify", argv);
	json_put_str(o, "notify_host", host);
	json_put_str(o, "notify_when", when);
}

int run_continued(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	struct config *c;
	if (run_unrecorded(ctx, o, err) < 0 || config_open(&c, ctx, err) < 0)
		return -1;
	json_put_str(o, "notify", cmd_opt(ctx, "notify"));
	put_notify(o, c);
	config_close(&c);
	return 0;
}

int run_unrecorded(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	struct config *c;
	if (config_open(&c, ctx, err) < 0)
		return -1;
	int rc = put_models(o, c, err);
	json_put(o, "secrets", config_object(c, "secrets"));
	config_close(&c);
	return rc;
}

/* Settings of every sandbox, and the session's budget, unless script and options set them. */
static void put_boxes(json_t *o, const struct config *c)
{
	struct err none = ERR_INIT;
	CLEANUP(free_ptr) char *expose = config_value(c, "expose");
	json_t *box = json_object(), *budget = config_object(c, "budget");
	json_put(box, "limits", config_object(c, "limits"));
	json_put(box, "env", config_object(c, "env"));
	if (expose)
		json_put(box, "expose", json_parse(expose, strlen(expose), "expose", &none));
	if (json_object_size(box))
		json_put(o, "box", box);
	else
		json_decref(box);
	if (budget)
		json_put(o, "budget", budget);
}

/* Fills missing options from the configuration. */
static int front_run_configured(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	static const struct {
		const char *setting, *field;
	} text[] = { { "model", "model" }, { "backend", "backend" } };
	struct config *c;
	if (config_open(&c, ctx, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		CLEANUP(free_ptr) char *v = config_value(c, text[i].setting);
		if (!json_object_get(o, text[i].field))
			json_put_str(o, text[i].field, v);
	}
	CLEANUP(free_ptr) char *accept = config_value(c, "accept");
	CLEANUP(free_ptr) char *policy = config_value(c, "policy");
	CLEANUP(free_ptr) char *box_uid = config_value(c, "box_uid");
	CLEANUP(free_ptr) char *keep = config_value(c, "keep.file_bytes");
	CLEANUP(free_ptr) char *tools = config_value(c, "tools");
	CLEANUP(free_ptr) char *asks = config_value(c, "approvals.timeout_us");
	CLEANUP(free_ptr) char *hash_only = config_value(c, "keep.hash_only");
	CLEANUP(free_ptr) char *pool = config_value(c, "pool.size");
	CLEANUP(free_ptr) char *tokens = config_value(c, "keep.tokens");
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *roots = tools ? json_parse(tools, strlen(tools), "tools", &none) : NULL;
	int rc = put_models(o, c, err);
	put_notify(o, c);
	if (json_is_array(roots))
		json_array_extend(json_object_get(o, "roots"), roots);
	put_boxes(o, c);
	if (hash_only)
		json_put(o, "hash_only",
			 json_parse(hash_only, strlen(hash_only), "keep.hash_only", &none));
	if (tokens && !strcmp(tokens, "false"))
		json_put_flag(o, "hide_tokens", true);
	if (pool)
		json_put_int(o, "pool", strtoll(pool, NULL, 10));
	if (accept && !strcmp(accept, "reduced"))
		json_put_flag(o, "accept_reduced", true);
	if (policy)
		json_array_append_new(json_object_get(o, "policy"), json_bytes_z(policy));
	if (asks)
		json_put_int(o, "ask_timeout_us", strtoll(asks, NULL, 10));
	if (box_uid)
		json_put_int(o, "box_uid", strtoll(box_uid, NULL, 10));
	if (keep)
		json_put_int(o, "keep_file_bytes", strtoll(keep, NULL, 10));
	json_put(o, "secrets", config_object(c, "secrets"));
	config_close(&c);
	return rc;
}

static int run_labels(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	struct strv words = STRV_INIT;
	const char *word;
	for (size_t i = 0; (word = command_opt_nth(ctx->line, "label", i)); i++)
		strv_push(&words, word);
	json_t *labels = labels_change((const char *const *)words.item, words.nr, false, err);
	if (labels && words.nr)
		json_put(o, "labels", json_incref(labels));
	strv_release(&words);
	json_decref(labels);
	return labels ? 0 : -1;
}

/* The policy files of the command line; NULL: one of them can't be read. */
static json_t *policy_list(struct cmd_ctx *ctx, struct err *err)
{
	json_t *list = json_array();
	const char *v;
	for (size_t i = 0; (v = command_opt_nth(ctx->line, "policy", i)); i++) {
		CLEANUP(free_ptr) char *file = NULL;
		if (policy_pipe_keep(v, &file, err) < 0) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, json_bytes_z(file));
	}
	return list;
}

/* Options that run, demo and sandbox have in common. */
int common_opts(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	static const char *const plain[] = { "model", "backend", "hold", "notify" };
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		json_put_str(o, plain[i], cmd_opt(ctx, plain[i]));
	const char *accept = cmd_opt(ctx, "accept"), *budget = cmd_opt(ctx, "budget");
	if (accept && strcmp(accept, "reduced") != 0)
		return err_set(err, ERR_USAGE, "--accept: expected reduced, got '%s'", accept);
	json_put_flag(o, "accept_reduced", accept != NULL);
	json_put_flag(o, "step", cmd_has(ctx, "step"));
	json_put_flag(o, "no_input", cmd_has(ctx, "no-input"));
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_t *policies = policy_list(ctx, err);
	if (!policies)
		return -1;
	json_put(o, "policy", policies);
	json_put(o, "roots", opt_list(ctx, "root"));
	if (run_labels(ctx, o, err) < 0)
		return -1;
	if (tool_roots_remember(ctx, json_object_get(o, "roots"), err) < 0 ||
	    front_run_configured(ctx, o, err) < 0)
		return -1;
	if (run_backend_known(json_str(o, "backend", NULL), err) < 0)
		return -1;
	if (run_opts_check(o, err) < 0)
		return -1;
	if (budget) {
		json_t *b = parse_budget(budget, err);
		if (!b)
			return -1;
		json_put(o, "budget", b);
	}
	return 0;
}

int run_common(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	return common_opts(ctx, o, err);
}

int run_budget(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	const char *budget = cmd_opt(ctx, "budget");
	json_t *b = budget ? parse_budget(budget, err) : NULL;
	if (b)
		json_put(o, "budget", b);
	return budget && !b ? -1 : 0;
}

int cassette_opts(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	const char *file = cmd_opt(ctx, "cassette"), *speed = cmd_opt(ctx, "cassette-speed");
	bool add = cmd_has(ctx, "record");
	char full[PATH_MAX];
	if (!file)
		return add || speed
			       ? err_set(err, ERR_USAGE,
					 "--record and --cassette-speed require --cassette FILE")
			       : 0;
	if (!add && access(file, R_OK) != 0) {
		(void)err_sys(err, "can't read cassette '%s'", file);
		snprintf(err->hint, sizeof(err->hint), "To record it, add --record.");
		return -1;
	}
	if (speed && (strspn(speed, "0123456789") != strlen(speed) || strlen(speed) > 4 || !*speed))
		return err_set(err, ERR_USAGE, "--cassette-speed: expected a number, got '%s'",
			       speed);
	if (*file != '/' && getcwd(full, sizeof(full))) {
		CLEANUP(free_ptr) char *path = path_join(full, file);
		json_put_str(o, "cassette", path);
	} else {
		json_put_str(o, "cassette", file);
	}
	json_put_flag(o, "cassette_add", add);
	json_put_int(o, "cassette_speed", speed ? strtol(speed, NULL, 10) : 0);
	return 0;
}

/* All errors in it are reported before the start. */
int share_opts(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	struct share share;
	const char *text = cmd_opt(ctx, "share");
	if (!text)
		return 0;
	json_put_str(o, "share", text);
	if (share_parse(text, &share, err) < 0 || dir_make(ctx->sessions, 0700, err) < 0)
		return -1;
	return share_reach(ctx->sessions, &share, err);
}
