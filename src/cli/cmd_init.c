/* sandglass init: the first files of a project: rules, settings, and types for editors. Existing
 * files stay. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "luahost/library.h"
#include "secrets/trust.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

static const char cmd_init_luarc[] = "{\n"
				     "  \"runtime.version\": \"Lua 5.4\",\n"
				     "  \"workspace.library\": [\".sandglass/.types\"]\n"
				     "}\n";

static const struct {
	const char *path, *template, *text; /* of the library, or itself */
	bool trusted, ours;		    /* ours: made anew each time, never edited */
	const char *about;
} cmd_init_files[] = {
	{ ".sandglass/policy.lua", "templates/policy.lua", NULL, true, false,
	  "rules: allow, require approval, deny" },
	{ ".sandglass/config.lua", "templates/config.lua", NULL, true, false, "settings" },
	{ ".sandglass/.types/sandglass.d.lua", "meta/sandglass.d.lua", NULL, false, true,
	  "types for editors" },
	{ ".sandglass/.types/policy.d.lua", "meta/policy.d.lua", NULL, false, true,
	  "the same for policies," },
	{ ".sandglass/.types/config.d.lua", "meta/config.d.lua", NULL, false, true,
	  "configurations," },
	{ ".sandglass/.types/verify.d.lua", "meta/verify.d.lua", NULL, false, true, "checks" },
	{ ".sandglass/.types/suite.d.lua", "meta/suite.d.lua", NULL, false, true, "and suites" },
	{ ".luarc.json", NULL, cmd_init_luarc, false, false, "tells editors where the types are" },
};

static int make_folder(const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *dir = mem_strdup(path);
	char *slash = strrchr(dir, '/');
	if (!slash)
		return 0;
	*slash = 0;
	return dir_make(dir, 0755, err);
}

/* 1: written, 0: it was there. */
static int cmd_init_put(const char *dir, size_t i, bool force, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(dir, cmd_init_files[i].path);
	size_t len = cmd_init_files[i].text ? strlen(cmd_init_files[i].text) : 0;
	const char *text = cmd_init_files[i].text ? cmd_init_files[i].text
						  : library_file(cmd_init_files[i].template, &len);
	struct stat st;
	if (!text)
		return err_set(err, ERR_NOENT, "'%s' not found in this build",
			       cmd_init_files[i].template);
	bool there = lstat(path, &st) == 0;
	if (there && !S_ISREG(st.st_mode))
		return err_set(err, ERR_EXISTS, "'%s' exists and is not a regular file", path);
	if (there && !force && !cmd_init_files[i].ours)
		return 0;
	if (make_folder(path, err) < 0 || file_write_atomic(path, text, len, 0644, err) < 0)
		return -1;
	/* the user has just asked for this file */
	if (cmd_init_files[i].trusted && trust_file(path, err) < 0)
		return -1;
	return 1;
}

int cmd_init(struct cmd_ctx *ctx)
{
	const char *dir = cmd_word(ctx, 0) ? cmd_word(ctx, 0) : ".";
	struct err err = ERR_INIT;
	size_t untrusted = 0;
	if (access(dir, R_OK | W_OK | X_OK) != 0) {
		err_sys(&err, "can't write to '%s'", dir);
		return cmd_fail(ctx, &err);
	}
	for (size_t i = 0; i < ARRAY_LEN(cmd_init_files); i++) {
		int rc = cmd_init_put(dir, i, cmd_has(ctx, "force"), &err);
		if (rc < 0)
			return cmd_fail(ctx, &err);
		CLEANUP(free_ptr) char *path = path_join(dir, cmd_init_files[i].path);
		bool given = cmd_init_files[i].trusted && trusted_file(path);
		untrusted += cmd_init_files[i].trusted && !given;
		if (ctx->json)
			cmd_json(ctx, json_pack("{s:s, s:s, s:b}", "path", cmd_init_files[i].path,
						"done", rc ? "wrote" : "kept", "trusted", given));
		else if (!ctx->quiet)
			fprintf(ctx->out, "%-7s %-34s %s\n", rc ? "wrote" : "kept",
				cmd_init_files[i].path, cmd_init_files[i].about);
	}
	if (!ctx->quiet && !ctx->json)
		fprintf(ctx->out,
			"\n%s\n"
			"To write an agent, run 'sandglass new NAME'.\n",
			untrusted
				? "Some rules are not trusted: read them, then run 'sandglass trust'."
				: "The rules are trusted. After a change, run 'sandglass trust'.");
	return EXIT_DONE;
}
