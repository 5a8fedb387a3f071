/* trust: which Lua files of a project may be used. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cmd/cmd.h"
#include "app/super/trust.h"
#include "base/mem.h"
#include "base/paths.h"

static void collect(const char *dir, struct strv *out)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		CLEANUP(free_ptr) char *path = path_join(dir, e->d_name);
		struct stat st;
		size_t n = strlen(e->d_name);
		if (e->d_name[0] == '.' || lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			collect(path, out);
		else if (S_ISREG(st.st_mode) && n > 4 && !strcmp(e->d_name + n - 4, ".lua"))
			strv_push(out, path);
	}
	if (d)
		closedir(d);
}

static bool confirmed(struct cmd_ctx *ctx)
{
	if (cmd_has(ctx, "yes"))
		return true;
	if (!isatty(0))
		return false;
	fprintf(ctx->out, "trust them as they are now? [y/N] ");
	fflush(ctx->out);
	char line[16];
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

int cmd_trust(struct cmd_ctx *ctx)
{
	const char *where = cmd_word(ctx, 0) ? cmd_word(ctx, 0) : ".";
	CLEANUP(free_ptr) char *dir = path_join(where, ".sandglass");
	struct err err = ERR_INIT;
	struct strv file = STRV_INIT;
	int status = EXIT_DONE;
	if (access(dir, R_OK | X_OK) != 0) {
		err_sys(&err, "'%s' cannot be looked at", dir);
		return cmd_fail(ctx, &err);
	}
	collect(dir, &file);
	for (size_t i = 0; i < file.nr; i++) {
		fprintf(ctx->out, "%s  ", trusted_file(file.item[i]) ? "trusted " : "new     ");
		cmd_print_safe(ctx->out, file.item[i], file.len[i], false);
		fputc('\n', ctx->out);
	}
	if (!file.nr)
		fprintf(ctx->out, "no Lua files in %s\n", dir);
	else if (!confirmed(ctx))
		status = cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "nothing was changed; --yes trusts them without a question");
	for (size_t i = 0; status == EXIT_DONE && i < file.nr; i++)
		if (trust_file(file.item[i], &err) < 0)
			status = cmd_fail(ctx, &err);
	strv_release(&file);
	return status;
}
