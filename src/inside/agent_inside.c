#include "inside/agent_inside.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/paths.h"
#include "query/filter.h"

/* An agent's own program, and those that translate for it when it does not speak a protocol
 * itself. */
static const struct known {
	const char *name, *control, *program, *package, *beside;
	const char *speaks; /* of an agent's own row: all that its profile has, apart by blanks */
} agent_inside_known[] = {
	{ "claude", NULL, "claude", "@anthropic-ai/claude-code", NULL,
	  "stream acp sandbox-agent print" },
	{ "claude", "acp", "claude-agent-acp", "@agentclientprotocol/claude-agent-acp", NULL,
	  NULL },
	{ "claude", "sandbox-agent", "sandbox-agent", "@sandbox-agent/cli", "claude-agent-acp",
	  NULL },
	{ "codex", NULL, "codex", "@openai/codex", NULL, "app-server acp sandbox-agent print" },
	{ "codex", "acp", "codex-acp", "@agentclientprotocol/codex-acp", NULL, NULL },
	{ "codex", "sandbox-agent", "sandbox-agent", "@sandbox-agent/cli", "codex-acp", NULL },
	{ "opencode", NULL, "opencode", "opencode-ai", NULL, "acp serve sandbox-agent print" },
	{ "opencode", "sandbox-agent", "sandbox-agent", "@sandbox-agent/cli", "opencode", NULL },
	{ "gemini", NULL, "gemini", "@google/gemini-cli", NULL, "acp print" },
	{ "pi", NULL, "pi", "@earendil-works/pi-coding-agent", NULL, "rpc acp print" },
	{ "pi", "acp", "pi-acp", "pi-acp", "pi", NULL },
	{ "deepagents", NULL, "python3", NULL, NULL, "acp print" },
	{ "deepagents", "terminal", "deepagents-code", NULL, NULL, NULL },
	{ "amp", NULL, "amp", "@sourcegraph/amp", NULL, "print" },
	{ "copilot", NULL, "copilot", "@github/copilot", NULL, "print" },
	{ "cursor", NULL, "cursor-agent", NULL, NULL, "print" },
};

void agent_inside_release(struct inner_agent *a)
{
	free(a->program);
	free(a->roots);
	free(a->path);
	free(a->beside);
	free(a->profile);
	*a = (struct inner_agent){ 0 };
}

/* The first on PATH, without links. A Python is where its packages are, so that its own link stays.
 * Returns owned or NULL. */
static char *on_path(const char *program)
{
	const char *path = getenv("PATH"),
		   *base = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
	char full[PATH_MAX], *save = NULL;
	CLEANUP(free_ptr) char *copy = mem_strdup(path ? path : "");
	bool python = !strncmp(base, "python", 6);
	if (python && *program == '/' && access(program, X_OK) == 0)
		return mem_strdup(program);
	if (strchr(program, '/'))
		return access(program, X_OK) == 0 && realpath(program, full) ? mem_strdup(full)
									     : NULL;
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		CLEANUP(free_ptr) char *at = path_join(dir, program);
		if (access(at, X_OK) == 0 && realpath(at, full))
			return mem_strdup(python && *at == '/' ? at : full);
	}
	return NULL;
}

bool agent_inside_there(const char *program)
{
	CLEANUP(free_ptr) char *at = on_path(program);
	return at != NULL;
}

/* The directory with a program and its parts: the parent of the outermost node_modules, else of
 * bin. NULL: every sandbox has it. */
static char *agent_inside_root_of(const char *program)
{
	char *root = mem_strdup(program), *modules = strstr(root, "/node_modules/");
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

static bool agent_inside_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return n > 0;
	return false;
}

static const struct known *agent_inside_lookup(const char *name, const char *control,
					       struct err *err)
{
	const char *names[ARRAY_LEN(agent_inside_known) + 1] = { 0 };
	const struct known *plain = NULL;
	size_t nr = 0;
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(agent_inside_known); i++) {
		if (!strcmp(agent_inside_known[i].name, name) && agent_inside_known[i].control &&
		    control && !strcmp(agent_inside_known[i].control, control))
			return &agent_inside_known[i];
		if (!agent_inside_known[i].control && !strcmp(agent_inside_known[i].name, name))
			plain = &agent_inside_known[i];
		if (!agent_inside_known[i].control) {
			buf_printf(&all, "%s%s", nr ? ", " : "", agent_inside_known[i].name);
			names[nr++] = agent_inside_known[i].name;
		}
	}
	if (plain && control && strcmp(control, INNER_TERMINAL) != 0 &&
	    !agent_inside_has_word(plain->speaks, control)) {
		err_set(err, ERR_USAGE, "--control: %s doesn't support '%s'; supported: %s", name,
			control, plain->speaks);
		return NULL;
	}
	if (plain)
		return plain;
	const char *near = nearest_name(name, names);
	for (size_t i = 0; !near && i < nr; i++)
		near = strncmp(name, names[i], 2) ? NULL : names[i];
	err_set(err, ERR_USAGE,
		"--agent: unknown agent '%s'%s%s%s\nKnown: %s, custom, or FILE.lua.", name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", buf_cstr(&all));
	return NULL;
}

/* Adds the directories of @program to @roots, each once. */
static void agent_inside_add_root(struct buf *roots, const char *program)
{
	CLEANUP(free_ptr) char *root = program ? agent_inside_root_of(program) : NULL;
	CLEANUP(free_ptr) char *line = root ? mem_printf("%s\n", root) : NULL;
	if (line && !strstr(buf_cstr(roots), line))
		buf_puts(roots, line);
}

/* A program that every box has needs no directory, whatever stands before it on the PATH here. */
static bool in_every_box(const char *program)
{
	CLEANUP(free_ptr) char *usual = path_join("/usr/bin", program);
	return !strchr(program, '/') && access(usual, X_OK) == 0;
}

static int agent_inside_programs(struct inner_agent *out, const char *name, const char *program,
				 const char *beside, const char *package, struct err *err)
{
	CLEANUP(free_ptr)
	char *node = on_path("node"), *node_root = node ? agent_inside_root_of(node) : NULL;
	CLEANUP(buf_release) struct buf roots = BUF_INIT;
	out->program = on_path(program);
	if (!out->program && package)
		return err_set(
			err, ERR_NOENT,
			"--agent %s: '%s' not found in PATH\nInstall it with 'npm install -g %s'.",
			name, program, package);
	if (!out->program)
		return err_set(err, ERR_NOENT, "--agent %s: '%s' not found in PATH", name, program);
	out->beside = beside ? on_path(beside) : NULL;
	if (beside && !out->beside)
		return err_set(err, ERR_NOENT,
			       "--agent %s: required program '%s' not found in PATH", name, beside);
	char full[PATH_MAX];
	agent_inside_add_root(&roots, out->program);
	if (realpath(out->program, full)) /* the Python that an environment was made with */
		agent_inside_add_root(&roots, full);
	agent_inside_add_root(&roots, out->beside);
	agent_inside_add_root(&roots, node);
	out->roots = buf_take(&roots);
	out->path =
		node_root ? mem_strndup(node, (size_t)(strrchr(node, '/') - node)) : mem_strdup("");
	return 0;
}

/* The sandbox brings its own programs: they are named as its PATH has them. */
static void agent_inside_named(struct inner_agent *out, const char *program, const char *beside)
{
	out->program = program ? mem_strdup(program) : NULL;
	out->beside = beside ? mem_strdup(beside) : NULL;
}

static int agent_inside_own(struct inner_agent *out, const struct inner_find *f, struct err *err)
{
	bool custom = !strcmp(f->name, "custom");
	if (custom && !f->program)
		return err_set(err, ERR_USAGE, "--agent custom: missing argument: -- PROGRAM");
	if (f->inside || !f->program || (custom && in_every_box(f->program))) {
		agent_inside_named(out, f->inside ? f->program : NULL, NULL);
		return 0;
	}
	return agent_inside_programs(out, f->name, f->program, NULL, NULL, err);
}

int agent_inside_find(struct inner_agent *out, const struct inner_find *f, struct err *err)
{
	size_t n = strlen(f->name);
	char full[PATH_MAX];
	bool file = n > 4 && !strcmp(f->name + n - 4, ".lua");
	*out = (struct inner_agent){ 0 };
	if (file && !realpath(f->name, full))
		return err_sys(err, "--agent: can't read profile '%s'", f->name);
	out->profile = mem_strdup(file ? full : f->name);
	if (file || !strcmp(f->name, "custom"))
		return agent_inside_own(out, f, err);
	/* version 2 of ACP is spoken by the program that speaks version 1 */
	const char *control = f->control && !strcmp(f->control, "acp-v2") ? "acp" : f->control;
	const struct known *k = agent_inside_lookup(f->name, control, err);
	if (!k)
		return -1;
	const char *program = f->program ? f->program : k->program;
	if (!f->inside)
		return agent_inside_programs(out, f->name, program, k->beside, k->package, err);
	agent_inside_named(out, program, k->beside);
	return 0;
}
