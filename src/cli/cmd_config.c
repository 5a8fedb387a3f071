/* sandglass config: each setting, its value, and where it comes from. Values of keys are never
 * shown. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/tool_roots.h"
#include "luahost/lua_file.h"
#include "secrets/trust.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

struct setting {
	const char *name;     /* as in a configuration file */
	const char *flag;     /* option of the command line, or NULL */
	const char *variable; /* or NULL */
	const char *built_in; /* or NULL: unset */
	const char *about;
};

static const struct setting cmd_config_settings[] = {
	{ "sessions", "sessions", "SANDGLASS_SESSIONS", NULL, "directory of session files" },
	{ "config", "config", "SANDGLASS_CONFIG", NULL, "the user's configuration file" },
	{ "model", NULL, "SANDGLASS_MODEL", NULL, "provider:name, for scripts that name no model" },
	{ "backend", NULL, "SANDGLASS_BACKEND", "process", "sandbox driver" },
	{ "accept", NULL, NULL, NULL, "'reduced': accept sandboxes without namespaces" },
	{ "policy", NULL, NULL, NULL, "an additional policy file" },
	{ "theme", NULL, NULL, "auto", "colors of the console" },
	{ "coach", NULL, NULL, "true", "hints for new users of the console, each shown once" },
	{ "color", "color", "NO_COLOR", "auto",
	  "auto, always, never; NO_COLOR (not empty) means never" },
	{ "a11y", NULL, "SANDGLASS_A11Y", "false", "line mode for screen readers" },
	{ "ascii", NULL, "SANDGLASS_ASCII", "false", "draw with ASCII only" },
	{ "sync", NULL, "SANDGLASS_SYNC", "true",
	  "synchronized screen updates if the terminal supports them" },
	{ "log", NULL, "SANDGLASS_LOG", "warn",
	  "log level of the program: debug, info, warn, error" },
	{ "expose", NULL, NULL, NULL,
	  "paths that look like secrets but stay visible in sandboxes" },
	{ "pool.size", NULL, NULL, "1", "sandboxes kept ready for the next request" },
	{ "tools", NULL, NULL, NULL, "read-only directories of the host for every sandbox" },
	{ "user", NULL, "SANDGLASS_USER", NULL, "your name in decisions (default: account name)" },
	{ "box_uid", NULL, NULL, NULL, "uid of sandboxes when started by root" },
	{ "keep.file_bytes", NULL, NULL, "16777216", "larger files are kept by hash only" },
	{ "keep.hash_only", NULL, NULL, NULL,
	  "patterns of files kept by hash only (default: node_modules, target, and similar)" },
	{ "keep.tokens", NULL, NULL, "true",
	  "false: live tokens in output and input are not recorded; files with one are kept by hash only" },
	{ "keep.days", NULL, NULL, NULL, "merged sessions are removed after this number of days" },
	{ "keep.size_bytes", NULL, NULL, NULL,
	  "the oldest sessions whose work is merged are removed until the others take at most this" },
	{ "keep.label", NULL, NULL, NULL,
	  "sessions with one of these labels are kept by keep.days and keep.size" },
	{ "approvals.arm_ms", NULL, NULL, "400", "how long a new question ignores keys" },
	{ "approvals.next", NULL, NULL, "true",
	  "after a decision the console opens the next pending approval" },
	{ "approvals.timeout_us", NULL, NULL, NULL,
	  "time after which an unanswered approval is denied" },
	{ "notify.bell", NULL, NULL, "true", "ring when an action is pending approval" },
	{ "notify.command", NULL, NULL, NULL,
	  "run when an approval is pending and nobody is attached" },
	{ "notify.host", NULL, NULL, NULL,
	  "name of this host in the ssh lines that the command receives (default: its own name)" },
	{ "notify.when", NULL, NULL, NULL,
	  "a filter: the command runs only for matching approvals (and for all questions)" },
	{ "terminal.prefix", NULL, NULL, "C-\\",
	  "the key that opens the overlay over an agent's own interface" },
	{ "search.url", NULL, "SANDGLASS_SEARCH", NULL,
	  "search service of web_search: SearXNG, or JSON with shape = \"generic\"" },
	{ "otlp.endpoint", NULL, NULL, NULL,
	  "OpenTelemetry collector that receives spans and metrics of running sessions" },
	{ "pager", NULL, "PAGER", "less -R", "for long output" },
	{ "editor", NULL, "VISUAL", "vi", "for 'approve --edit'; else EDITOR" },
};

#define PROFILES     "profiles."
#define PROJECT_FILE ".sandglass/config.lua"
#define SYSTEM_FILE  "/etc/xdg/sandglass/config.lua"
enum { CONFIG_MAX = 1 << 20 };

struct layer { /* one file, flat: "keep.file_bytes" -> value */
	const char *source;
	char *path;
	json_t *flat;
};

struct config {
	struct cmd_ctx *ctx;
	struct layer layer[6]; /* project, user, system; before them what --profile names in each */
	size_t nr;
};

static void cmd_config_flatten(json_t *out, const char *prefix, const json_t *o)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		CLEANUP(free_ptr)
		char *name = mem_printf("%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(v) && !json_object_get(v, "b64"))
			cmd_config_flatten(out, name, v);
		else
			json_put(out, name, json_incref(v));
	}
}

static int cmd_config_add_layer(struct config *c, const char *source, char *path, bool required,
				struct err *err)
{
	json_t *data;
	if (!required && access(path, F_OK) != 0) {
		free(path);
		return 0;
	}
	if (lua_file_read("config", path, &data, err) < 0) {
		free(path);
		return -1;
	}
	const json_t *inner = json_object_get(data, "config");
	struct layer *l = &c->layer[c->nr++];
	*l = (struct layer){ .source = source, .path = path, .flat = json_object() };
	cmd_config_flatten(l->flat, "", inner ? inner : data);
	json_object_del(l->flat, "t");
	json_decref(data);
	return 0;
}

/* Lists the known profiles for an unknown name. */
static int no_profile(const struct config *c, const char *name, struct err *err)
{
	CLEANUP(strv_release) struct strv names = STRV_INIT;
	for (size_t i = 0; i < c->nr; i++) {
		const char *key;
		json_t *v;
		json_object_foreach(c->layer[i].flat, key, v)
		{
			if (strncmp(key, PROFILES, strlen(PROFILES)) != 0)
				continue;
			CLEANUP(free_ptr)
			char *one = mem_strndup(key + strlen(PROFILES),
						strcspn(key + strlen(PROFILES), "."));
			strv_push(&names, one);
		}
	}
	const char *near = word_nearest(name, (const char *const *)names.item, names.nr);
	return near ? err_set(err, ERR_USAGE, "unknown profile '%s'; did you mean '%s'?", name,
			      near)
		    : err_set(err, ERR_USAGE,
			      "unknown profile '%s'\nDefine it in config.lua: profiles = { %s = { ... } }.",
			      name, name);
}

/* The settings of a profile become layers of their own, before the files. */
static int add_profile(struct config *c, const char *name, struct err *err)
{
	struct layer own[ARRAY_LEN(c->layer)];
	size_t nr = 0;
	CLEANUP(free_ptr) char *prefix = mem_printf(PROFILES "%s.", name);
	for (size_t i = 0; i < c->nr; i++) {
		json_t *flat = json_object(), *v;
		const char *key;
		json_object_foreach(c->layer[i].flat, key,
				    v) if (!strncmp(key, prefix, strlen(prefix)))
			json_put(flat, key + strlen(prefix), json_incref(v));
		if (json_object_size(flat))
			own[nr++] = (struct layer){ .source = "profile",
						    .path = mem_strdup(c->layer[i].path),
						    .flat = flat };
		else
			json_decref(flat);
	}
	if (!nr)
		return no_profile(c, name, err);
	memmove(c->layer + nr, c->layer, c->nr * sizeof(*c->layer));
	memcpy(c->layer, own, nr * sizeof(*own));
	c->nr += nr;
	return 0;
}

static int load_files(struct config *c, struct err *err)
{
	static const char project[] = PROJECT_FILE;
	const char *named = c->ctx->config ? c->ctx->config : getenv("SANDGLASS_CONFIG");
	if (access(project, F_OK) == 0 && !trusted_file(project))
		fprintf(c->ctx->err,
			"sandglass: ignored '%s': not trusted\nTrust it with 'sandglass trust'.\n",
			project);
	else if (cmd_config_add_layer(c, "project", mem_strdup(project), false, err) < 0)
		return -1;
	if (cmd_config_add_layer(c, "user",
				 named && *named ? mem_strdup(named) : paths_config("config.lua"),
				 named && *named, err) < 0)
		return -1;
	return cmd_config_add_layer(c, "system", mem_strdup(SYSTEM_FILE), false, err);
}

static int cmd_config_load(struct config *c, struct err *err)
{
	if (load_files(c, err) < 0)
		return -1;
	return c->ctx->profile ? add_profile(c, c->ctx->profile, err) : 0;
}

/* A key's value may be in a file although it should not. */
static bool cmd_config_hidden(const char *name)
{
	if (!strncmp(name, PROFILES, strlen(PROFILES)) && strchr(name + strlen(PROFILES), '.'))
		return cmd_config_hidden(strchr(name + strlen(PROFILES), '.') + 1);
	size_t n = strlen(name);
	if (!strncmp(name, "otlp.headers.", 13))
		return strcmp(name + n - 7, ".secret") != 0;
	return !strncmp(name, "keys.", 5) || !strncmp(name, "secrets.", 8) ||
	       !strncmp(name, "env.", 4);
}

static void cmd_config_print(struct config *c, const char *name, const json_t *value,
			     const char *source, const char *about)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, line = BUF_INIT;
	if (cmd_config_hidden(name))
		buf_puts(&text, "<set>");
	else if (json_is_string(value))
		buf_puts(&text, json_string_value(value));
	else if (!json_get_bytes(value, &text))
		json_dump_buf(value, &text);
	if (c->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "name", name);
		json_put(o, "value",
			 cmd_config_hidden(name) ? json_string("<set>")
						 : json_incref((json_t *)(uintptr_t)value));
		json_put_str(o, "source", source);
		if (about)
			json_put_str(o, "about", about);
		cmd_json(c->ctx, o);
		return;
	}
	buf_printf(&line, "%-20s ", name);
	cmd_safe(&line, json_is_null(value) ? "-" : buf_cstr(&text),
		 json_is_null(value) ? 1 : text.len, false);
	buf_puts(&line, "  (");
	cmd_safe(&line, source, strlen(source), false);
	buf_putc(&line, ')');
	if (c->ctx->verbose && about)
		buf_printf(&line, "  %s", about);
	fprintf(c->ctx->out, "%s\n", buf_cstr(&line));
}

static void print_text(struct config *c, const char *name, const char *value, const char *source,
		       const char *about)
{
	CLEANUP(json_release) json_t *v = value ? json_bytes_z(value) : json_null();
	cmd_config_print(c, name, v, source, about);
}

/* The program's default without any setting. */
static char *cmd_config_fallback(const struct setting *s)
{
	if (!strcmp(s->name, "sessions"))
		return paths_data("sessions");
	if (!strcmp(s->name, "config"))
		return paths_config("config.lua");
	return s->built_in ? mem_strdup(s->built_in) : NULL;
}

static void print_setting(struct config *c, const struct setting *s)
{
	const char *flag = s->flag ? cmd_opt(c->ctx, s->flag) : NULL;
	const char *variable = s->variable ? getenv(s->variable) : NULL;
	if (flag) {
		CLEANUP(free_ptr) char *source = mem_printf("option --%s", s->flag);
		print_text(c, s->name, flag, source, s->about);
		return;
	}
	const char *name = s->variable;
	if ((!variable || !*variable) && !strcmp(s->name, "editor")) {
		name = "EDITOR";
		variable = getenv(name);
	}
	if (variable && *variable) {
		CLEANUP(free_ptr) char *source = mem_printf("variable %s", name);
		print_text(c, s->name, !strcmp(s->name, "color") ? "never" : variable, source,
			   s->about);
		return;
	}
	for (size_t i = 0; i < c->nr; i++) {
		const json_t *v = json_object_get(c->layer[i].flat, s->name);
		if (v) {
			CLEANUP(free_ptr)
			char *source = mem_printf("%s %s", c->layer[i].source, c->layer[i].path);
			cmd_config_print(c, s->name, v, source, s->about);
			return;
		}
	}
	CLEANUP(free_ptr) char *value = cmd_config_fallback(s);
	print_text(c, s->name, value, value ? "built in" : "not set", s->about);
}

/* Roots that --root has stored for this project; they are added to `tools`. */
static void print_roots(struct config *c)
{
	CLEANUP(json_release) json_t *roots = tool_roots_here();
	if (json_array_size(roots))
		cmd_config_print(c, "tools", roots,
				 "remembered for this project, --root none forgets", NULL);
}

static bool cmd_config_listed(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(cmd_config_settings); i++)
		if (!strcmp(cmd_config_settings[i].name, name))
			return true;
	return false;
}

static bool in_layer(const struct config *c, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (json_object_get(c->layer[i].flat, name))
			return true;
	return false;
}

/* Whatever else files say: the first that says something wins. */
static size_t cmd_config_print_others(struct config *c, const char *only)
{
	size_t nr = 0;
	for (size_t i = 0; i < c->nr; i++) {
		const char *key;
		json_t *v;
		json_object_foreach(c->layer[i].flat, key, v)
		{
			if (cmd_config_listed(key) || in_layer(c, i, key) ||
			    (only && strcmp(only, key) != 0))
				continue;
			CLEANUP(free_ptr)
			char *source = mem_printf("%s %s", c->layer[i].source, c->layer[i].path);
			cmd_config_print(c, key, v, source, NULL);
			nr++;
		}
	}
	return nr;
}

static void print_keys(struct config *c)
{
	static const char *const keys[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
					    "OPENROUTER_API_KEY" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *v = getenv(keys[i]);
		CLEANUP(free_ptr) char *source = mem_printf("variable %s", keys[i]);
		if (v && *v)
			print_text(c, "key", "<set>", source,
				   "a provider's key; its value is never shown");
	}
}

/* Is @name the setting, also as the file spells it: without the unit of its value? */
static bool cmd_config_named(const char *setting, const char *name)
{
	size_t len = strlen(name);
	if (strncmp(setting, name, len) != 0)
		return false;
	const char *unit = setting + len;
	return !*unit || !strcmp(unit, "_bytes") || !strcmp(unit, "_us");
}

static int cmd_config_print_one(struct config *c, const char *name)
{
	const char *known[ARRAY_LEN(cmd_config_settings)];
	for (size_t i = 0; i < ARRAY_LEN(cmd_config_settings); i++) {
		known[i] = cmd_config_settings[i].name;
		if (cmd_config_named(cmd_config_settings[i].name, name)) {
			print_setting(c, &cmd_config_settings[i]);
			return EXIT_DONE;
		}
	}
	if (cmd_config_print_others(c, name))
		return EXIT_DONE;
	const char *near = word_nearest(name, known, ARRAY_LEN(known));
	return near ? cmd_usage(c->ctx, "unknown setting '%s'; did you mean '%s'?", name, near)
		    : cmd_usage(c->ctx,
				"unknown setting '%s'\n'sandglass config' lists the settings.",
				name);
}

int config_open(struct config **out, struct cmd_ctx *ctx, struct err *err)
{
	struct config *c = NEW(struct config);
	c->ctx = ctx;
	if (cmd_config_load(c, err) < 0) {
		config_close(&c);
		return -1;
	}
	*out = c;
	return 0;
}

void config_close(struct config **cp)
{
	struct config *c = *cp;
	*cp = NULL;
	for (size_t i = 0; c && i < c->nr; i++) {
		free(c->layer[i].path);
		json_decref(c->layer[i].flat);
	}
	free(c);
}

/* "models.mine.url" goes into {"mine":{"url":..}}. */
static void put_deep(json_t *to, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	if (!dot) {
		if (!json_object_get(to, path))
			json_object_set(to, path, value);
		return;
	}
	CLEANUP(free_ptr) char *name = mem_strndup(path, (size_t)(dot - path));
	json_t *inner = json_object_get(to, name);
	if (!inner) {
		inner = json_object();
		json_object_set_new(to, name, inner);
	}
	if (json_is_object(inner))
		put_deep(inner, dot + 1, value);
}

json_t *config_object(const struct config *c, const char *name)
{
	json_t *out = json_object();
	size_t len = strlen(name);
	for (size_t i = 0; i < c->nr; i++) {
		const char *key;
		json_t *v;
		json_object_foreach(c->layer[i].flat, key,
				    v) if (!strncmp(key, name, len) && key[len] == '.')
			put_deep(out, key + len + 1, v);
	}
	if (json_object_size(out))
		return out;
	json_decref(out);
	return NULL;
}

char *config_value(const struct config *c, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(cmd_config_settings); i++) {
		const struct setting *s = &cmd_config_settings[i];
		if (strcmp(s->name, name) != 0)
			continue;
		const char *variable = s->variable ? getenv(s->variable) : NULL;
		if (variable && *variable)
			return mem_strdup(variable);
		for (size_t k = 0; k < c->nr; k++) {
			const json_t *v = json_object_get(c->layer[k].flat, name);
			if (v)
				return json_is_string(v) ? mem_strdup(json_string_value(v))
							 : json_dump_str(v);
		}
		return cmd_config_fallback(s);
	}
	return NULL;
}

json_t *config_below(const struct config *c, const char *name)
{
	json_t *out = json_object();
	size_t len = strlen(name);
	for (size_t i = 0; i < c->nr; i++) {
		const char *key;
		json_t *v;
		json_object_foreach(c->layer[i].flat, key,
				    v) if (strncmp(key, name, len) == 0 && key[len] == '.' &&
					   !json_object_get(out, key + len + 1))
			json_put(out, key + len + 1, json_incref(v));
	}
	return out;
}

void config_to_env(const struct config *c, const char *name, const char *variable)
{
	const char *set = getenv(variable);
	CLEANUP(free_ptr) char *value = set && *set ? NULL : config_value(c, name);
	if (value)
		setenv(variable, strcmp(value, "true") == 0 ? "1" : "0", 1);
}

/* Could the file set @name? Most do not, and then it need not be run for every command. */
static bool cmd_config_mentions(const char *path, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	return file_read(path, &text, CONFIG_MAX, &none) == 0 &&
	       strstr(buf_cstr(&text), name) != NULL;
}

static char *below_home(const char *path)
{
	const char *home = getenv("HOME");
	return !strncmp(path, "~/", 2) && home && *home ? path_join(home, path + 2)
							: mem_strdup(path);
}

char *config_sessions(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err err = ERR_INIT;
	const char *option = cmd_opt(ctx, "sessions"), *set = getenv("SANDGLASS_SESSIONS"),
		   *named = getenv("SANDGLASS_CONFIG");
	if (option)
		return mem_strdup(option);
	if (set && *set)
		return mem_strdup(set);
	named = ctx->config ? ctx->config : named;
	CLEANUP(free_ptr)
	char *user = named && *named ? mem_strdup(named) : paths_config("config.lua");
	if (!cmd_config_mentions(user, "sessions") &&
	    !cmd_config_mentions(PROJECT_FILE, "sessions") &&
	    !cmd_config_mentions(SYSTEM_FILE, "sessions"))
		return paths_sessions();
	/* errors in a file, and untrusted files, are reported by the commands that need it */
	struct cmd_ctx silent = *ctx;
	silent.err = fopen("/dev/null", "we");
	int rc = silent.err ? config_open(&c, &silent, &err) : -1;
	if (silent.err)
		fclose(silent.err);
	if (rc < 0)
		return paths_sessions();
	CLEANUP(free_ptr) char *value = config_value(c, "sessions");
	config_close(&c);
	return value ? below_home(value) : paths_sessions();
}

void config_user(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err err = ERR_INIT;
	const char *set = getenv("SANDGLASS_USER");
	if ((set && *set) || config_open(&c, ctx, &err) < 0)
		return; /* an invalid file is reported by the commands that need it */
	CLEANUP(free_ptr) char *user = config_value(c, "user");
	if (user)
		setenv("SANDGLASS_USER", user, 1);
	config_close(&c);
}

int cmd_config(struct cmd_ctx *ctx)
{
	struct config c = { .ctx = ctx };
	struct err err = ERR_INIT;
	int status = EXIT_DONE;
	if (cmd_config_load(&c, &err) < 0) {
		status = cmd_fail(ctx, &err);
		status = err.code == ERR_SCRIPT ? EXIT_SCRIPT : status;
	} else if (cmd_word(ctx, 0)) {
		status = cmd_config_print_one(&c, cmd_word(ctx, 0));
	} else {
		for (size_t i = 0; i < ARRAY_LEN(cmd_config_settings); i++)
			print_setting(&c, &cmd_config_settings[i]);
		print_roots(&c);
		cmd_config_print_others(&c, NULL);
		print_keys(&c);
	}
	for (size_t i = 0; i < c.nr; i++) {
		free(c.layer[i].path);
		json_decref(c.layer[i].flat);
	}
	return status;
}
