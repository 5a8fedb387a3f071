#include "app/front/inner_agent.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/paths.h"
#include "query/filter.h"

static const struct known {
	const char *name, *program, *package;
} known[] = {
	{ "claude", "claude", "@anthropic-ai/claude-code" },	{ "codex", "codex", "@openai/codex" },
	{ "opencode", "opencode", "opencode-ai" },		{ "gemini", "gemini", "@google/gemini-cli" },
	{ "pi", "pi", "@earendil-works/pi-coding-agent" },
};

void inner_agent_release(struct inner_agent *a)
{
	free(a->program);
	free(a->roots);
	free(a->path);
	*a = (struct inner_agent){ 0 };
}

/* The first on PATH, without links. Returns owned or NULL. */
static char *on_path(const char *program)
{
	const char *path = getenv("PATH");
	char full[PATH_MAX], *save = NULL;
	CLEANUP(free_ptr) char *copy = xstrdup(path ? path : "");
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		CLEANUP(free_ptr) char *at = path_join(dir, program);
		if (access(at, X_OK) == 0 && realpath(at, full))
			return xstrdup(full);
	}
	return NULL;
}

/* The folder that holds a program and what belongs to it: what is above the outermost node_modules, else above bin. NULL:
 * it is in every box. */
static char *root_of(const char *program)
{
	char *root = xstrdup(program), *modules = strstr(root, "/node_modules/");
	if (!strncmp(program, "/usr/", 5) || !strncmp(program, "/bin/", 5)) {
		free(root);
		return NULL;
	}
	if (modules) {
		*modules = 0;
		return root;
	}
	char *slash = strrchr(root, '/');
	*slash = 0;
	slash = strrchr(root, '/');
	if (slash && slash != root && !strcmp(slash, "/bin"))
		*slash = 0;
	return root;
}

static const struct known *find(const char *name, struct err *err)
{
	const char *names[ARRAY_LEN(known) + 1] = { 0 };
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		names[i] = known[i].name;
		buf_printf(&all, "%s%s", i ? ", " : "", known[i].name);
		if (!strcmp(known[i].name, name))
			return &known[i];
	}
	const char *near = nearest_name(name, names);
	for (size_t i = 0; !near && i < ARRAY_LEN(known); i++)
		near = strncmp(name, known[i].name, 2) ? NULL : known[i].name;
	err_set(err, ERR_USAGE, "--agent: no agent '%s'%s%s%s (known: %s)", name, near ? " (did you mean '" : "", near ? near : "",
		near ? "'?)" : "", buf_cstr(&all));
	return NULL;
}

int inner_agent_find(struct inner_agent *out, const char *name, struct err *err)
{
	const struct known *k = find(name, err);
	CLEANUP(buf_release) struct buf roots = BUF_INIT;
	*out = (struct inner_agent){ 0 };
	if (!k)
		return -1;
	out->program = on_path(k->program);
	if (!out->program)
		return err_set(err, ERR_NOENT, "--agent %s: '%s' is not on your PATH; npm install -g %s", name, k->program, k->package);
	CLEANUP(free_ptr) char *node = on_path("node"), *root = root_of(out->program), *node_root = node ? root_of(node) : NULL;
	if (root)
		buf_printf(&roots, "%s\n", root);
	if (node_root && (!root || strcmp(root, node_root) != 0))
		buf_printf(&roots, "%s\n", node_root);
	out->roots = buf_take(&roots);
	out->path = node_root ? xstrndup(node, (size_t)(strrchr(node, '/') - node)) : xstrdup("");
	return 0;
}
