#include "inside/agent_registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "inside/agent_inside.h"
#include "query/filter.h"

enum { REGISTRY_MAX = 32 << 20, PACKAGE_MAX = 1 << 20 };

#ifdef __aarch64__
#define REGISTRY_PLATFORM "linux-aarch64"
#else
#define REGISTRY_PLATFORM "linux-x86_64"
#endif

/* How a distribution names its program, and what installs it. */
static const struct distribution {
	const char *name, *install;
} registry_kinds[] = {
	{ "npx", "npm install -g " },
	{ "uvx", "uv tool install " },
	{ "binary", "" },
};

void registry_agent_release(struct registry_agent *a)
{
	free(a->program);
	free(a->env);
	strv_release(&a->words);
	*a = (struct registry_agent){ 0 };
}

/* "@scope/name@1.2", "name[extra]==1.2" -> "name". Returns owned. */
static char *package_program(const char *package)
{
	const char *slash = strrchr(package, '/'), *base = slash ? slash + 1 : package;
	return mem_strndup(base, strcspn(base, "@[=<>~! "));
}

/* The program of an npm package by its file package.json below @dir; NULL: not there. Returns
 * owned. */
static char *npm_bin(const char *dir, const char *name, const char *base)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s/package.json", dir, name);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (file_read(path, &text, PACKAGE_MAX, &none) < 0)
		return NULL;
	CLEANUP(json_release) json_t *package = json_parse(text.data, text.len, path, &none);
	json_t *bin = json_object_get(package, "bin");
	void *first = json_object_iter(bin);
	if (json_is_string(bin) || json_object_get(bin, base))
		return mem_strdup(base);
	return first ? mem_strdup(json_object_iter_key(first)) : NULL;
}

/* npx runs the program that a package declares, which may have another name than the package. It is
 * declared beside the directories of PATH: PREFIX/bin, or node_modules/.bin. */
static char *npm_program(const char *package)
{
	CLEANUP(free_ptr) char *base = package_program(package);
	const char *version = strrchr(package, '@'), *path = getenv("PATH");
	CLEANUP(free_ptr)
	char *name = version && version > package
			     ? mem_strndup(package, (size_t)(version - package))
			     : mem_strdup(package),
	     *copy = mem_strdup(path ? path : "");
	char *save = NULL, *found = NULL;
	for (char *dir = strtok_r(copy, ":", &save); dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		CLEANUP(free_ptr) char *global = mem_printf("%s/../lib/node_modules", dir);
		CLEANUP(free_ptr) char *local = mem_printf("%s/..", dir);
		found = npm_bin(global, name, base);
		if (!found)
			found = npm_bin(local, name, base);
	}
	return found ? found : mem_strdup(base);
}

static const json_t *registry_entry(const json_t *agents, const char *id, struct err *err)
{
	const char **names = mem_calloc(json_array_size(agents) + 1, sizeof(*names));
	const json_t *found = NULL;
	size_t i, nr = 0;
	json_t *one;
	json_array_foreach(agents, i, one)
	{
		const char *name = json_str(one, "id", NULL);
		if (name && !strcmp(name, id))
			found = one;
		if (name)
			names[nr++] = name;
	}
	const char *near = found ? NULL : nearest_name(id, names);
	if (!found)
		err_set(err, ERR_NOENT,
			"--agent: '%.80s' not found in the registry (%zu agents)%s%s%s", id, nr,
			near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	free(names);
	return found;
}

/* The part of @entry for this kind of distribution and this platform; NULL: none. */
static const json_t *distribution_of(const json_t *entry, const char *kind)
{
	const json_t *d = json_object_get(json_object_get(entry, "distribution"), kind);
	return strcmp(kind, "binary") != 0 ? d : json_object_get(d, REGISTRY_PLATFORM);
}

static char *distribution_program(const json_t *d, const char *kind)
{
	const char *cmd = json_str(d, "cmd", NULL), *slash = cmd ? strrchr(cmd, '/') : NULL;
	if (cmd)
		return mem_strdup(!strcmp(kind, "binary") && slash ? slash + 1 : cmd);
	const char *package = json_str(d, "package", "");
	return !strcmp(kind, "npx") ? npm_program(package) : package_program(package);
}

static void take_distribution(struct registry_agent *out, const json_t *d)
{
	CLEANUP(buf_release) struct buf env = BUF_INIT;
	const json_t *args = json_object_get(d, "args");
	json_t *given = json_object_get(d, "env"), *value;
	const char *key;
	size_t i;
	json_array_foreach(args, i, value) if (json_is_string(value))
		strv_push(&out->words, json_string_value(value));
	json_object_foreach(given, key, value) if (json_is_string(value))
		buf_printf(&env, "%s=%s\n", key, json_string_value(value));
	out->env = mem_strdup(buf_cstr(&env));
}

/* The first distribution that can be used; @how gets what installs the others. */
static bool choose_distribution(struct registry_agent *out, const json_t *entry, bool inside,
				struct buf *how)
{
	for (size_t i = 0; i < ARRAY_LEN(registry_kinds); i++) {
		const char *kind = registry_kinds[i].name;
		const json_t *d = distribution_of(entry, kind);
		CLEANUP(free_ptr) char *program = d ? distribution_program(d, kind) : NULL;
		if (!program || !*program)
			continue;
		if (inside || agent_inside_there(program)) {
			out->program = mem_strdup(program);
			take_distribution(out, d);
			return true;
		}
		buf_printf(how, "%s'%s' not found in PATH (", how->len ? "; " : "", program);
		if (!strcmp(kind, "binary"))
			buf_printf(how, "its archive: %s)", json_str(d, "archive", "?"));
		else
			buf_printf(how, "%s%s)", registry_kinds[i].install,
				   json_str(d, "package", ""));
	}
	return false;
}

int agent_registry_find(struct registry_agent *out, const char *file, const char *id, bool inside,
			struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, how = BUF_INIT;
	*out = (struct registry_agent){ 0 };
	if (file_read(file, &text, REGISTRY_MAX, err) < 0)
		return -1;
	CLEANUP(json_release) json_t *all = json_parse(text.data, text.len, file, err);
	if (!all)
		return -1;
	const json_t *agents = json_object_get(all, "agents");
	if (!json_is_array(agents))
		return err_set(
			err, ERR_INVALID,
			"--registry: '%.200s' is not a copy of the ACP registry: missing 'agents'",
			file);
	const json_t *entry = registry_entry(agents, id, err);
	if (!entry)
		return -1;
	if (choose_distribution(out, entry, inside, &how))
		return 0;
	return err_set(err, ERR_NOENT, "--agent %.80s: %s", id,
		       how.len ? buf_cstr(&how)
			       : "the registry has no program for " REGISTRY_PLATFORM);
}
