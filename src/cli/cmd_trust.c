/* trust: which Lua files, instructions and skills of a project may be used. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "secrets/project.h"
#include "secrets/trust.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { LUA_MAX = 4 << 20 };

/* A file as it was read to be shown: that is what is trusted. */
struct seen {
	char *full;
	struct buf text;
	enum trust_state trust;
};

struct seen_list {
	struct seen *item;
	size_t nr, cap;
};

static void seen_add(struct seen_list *l, const char *full, const struct buf *text,
		     enum trust_state trust)
{
	GROW(l->item, l->nr, l->cap);
	struct seen *s = &l->item[l->nr++];
	*s = (struct seen){ .full = mem_strdup(full), .text = BUF_INIT, .trust = trust };
	if (text->len)
		buf_append(&s->text, text->data, text->len);
}

static void seen_release(struct seen_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		free(l->item[i].full);
		buf_release(&l->item[i].text);
	}
	free(l->item);
}

static void cmd_trust_collect(const char *dir, struct strv *out)
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
			cmd_trust_collect(path, out);
		else if (S_ISREG(st.st_mode) && n > 4 && !strcmp(e->d_name + n - 4, ".lua"))
			strv_push(out, path);
	}
	if (d)
		closedir(d);
}

static const char *cmd_trust_state_name(enum trust_state t)
{
	switch (t) {
	case TRUST_NONE:
		return "new";
	case TRUST_CHANGED:
		return "changed";
	case TRUST_YES:
		return "trusted";
	}
	return "new";
}

static void cmd_trust_line(struct cmd_ctx *ctx, const char *state, const char *path,
			   const char *note)
{
	if (ctx->json) {
		json_t *o = json_object();
		json_put_bytes(o, "path", path, strlen(path));
		json_put_str(o, "state", state);
		json_put_str(o, "note", note);
		cmd_json(ctx, o);
		return;
	}
	if (ctx->quiet && !strcmp(state, "trusted"))
		return;
	fprintf(ctx->out, "%-8s ", state);
	cmd_print_safe(ctx->out, path, strlen(path), false);
	if (note) {
		fputs("  (", ctx->out);
		cmd_print_safe(ctx->out, note, strlen(note), false);
		fputc(')', ctx->out);
	}
	fputc('\n', ctx->out);
}

static void look_at_lua(struct cmd_ctx *ctx, const char *dir, struct seen_list *out)
{
	struct strv file = STRV_INIT;
	char full[PATH_MAX];
	cmd_trust_collect(dir, &file);
	for (size_t i = 0; i < file.nr; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err err = ERR_INIT;
		if (!realpath(file.item[i], full) || file_read(full, &text, LUA_MAX, &err) < 0) {
			cmd_trust_line(ctx, "left out", file.item[i],
				       err.code ? err.text : "it can't be opened");
			continue;
		}
		enum trust_state t = trust_of_text(full, buf_cstr(&text), text.len);
		cmd_trust_line(ctx, cmd_trust_state_name(t), file.item[i], NULL);
		seen_add(out, full, &text, t);
	}
	strv_release(&file);
}

static void look_at_texts(struct cmd_ctx *ctx, const char *dir, struct seen_list *out)
{
	struct project p;
	project_read(&p, dir);
	for (size_t i = 0; i < p.nr; i++) {
		struct project_text *t = &p.item[i];
		CLEANUP(free_ptr) char *path = path_join(dir, t->path);
		CLEANUP(free_ptr)
		char *note = t->why ? mem_strdup(t->why)
			     : t->hidden
				     ? mem_printf("%s, %zu bytes, HIDDEN CHARACTERS: %u",
						  t->name ? "skill" : "instructions", t->text.len,
						  t->hidden)
				     : mem_printf("%s, %zu bytes",
						  t->name ? "skill" : "instructions", t->text.len);
		cmd_trust_line(ctx, t->why ? "left out" : cmd_trust_state_name(t->trust), path,
			       note);
		if (!t->why)
			seen_add(out, t->full, &t->text, t->trust);
	}
	project_release(&p);
}

static bool cmd_trust_confirmed(struct cmd_ctx *ctx)
{
	if (cmd_has(ctx, "yes"))
		return true;
	if (!isatty(0) || ctx->json)
		return false;
	fprintf(ctx->out, "trust them as they are now? [y/N] ");
	fflush(ctx->out);
	char answer[16];
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Reads the trust back. */
static void cmd_trust_given(struct cmd_ctx *ctx, const struct seen_list *l, size_t untrusted)
{
	size_t nr = 0;
	for (size_t i = 0; i < l->nr; i++)
		nr += trust_of_text(l->item[i].full, buf_cstr(&l->item[i].text),
				    l->item[i].text.len) == TRUST_YES;
	if (ctx->json)
		cmd_json(ctx, json_pack("{s:I, s:I}", "trusted", (json_int_t)nr, "files",
					(json_int_t)l->nr));
	else if (untrusted && !ctx->quiet)
		fprintf(ctx->out, "%zu of %zu files trusted\n", nr, l->nr);
}

int cmd_trust(struct cmd_ctx *ctx)
{
	const char *where = cmd_word(ctx, 0) ? cmd_word(ctx, 0) : ".";
	CLEANUP(free_ptr)
	char *lua = path_join(where, ".sandglass"), *inside = path_join(where, ".");
	struct err err = ERR_INIT;
	struct seen_list seen = { 0 };
	int status = EXIT_DONE;
	size_t untrusted = 0;
	if (access(inside, R_OK | X_OK) != 0) {
		err_sys(&err, "can't read '%s'", where);
		return cmd_fail_as(ctx, EXIT_USAGE, &err);
	}
	look_at_lua(ctx, lua, &seen);
	look_at_texts(ctx, where, &seen);
	for (size_t i = 0; i < seen.nr; i++)
		untrusted += seen.item[i].trust != TRUST_YES;
	if (!seen.nr && !ctx->json)
		fprintf(ctx->out,
			"%s has nothing to trust: no Lua files in .sandglass/, no AGENTS.md or CLAUDE.md, no "
			"skills\n",
			where);
	else if (untrusted && !cmd_trust_confirmed(ctx))
		status = cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
				       "nothing changed\nTrust without a question with --yes.");
	for (size_t i = 0; status == EXIT_DONE && i < seen.nr; i++)
		if (trust_text(seen.item[i].full, buf_cstr(&seen.item[i].text),
			       seen.item[i].text.len, &err) < 0)
			status = cmd_fail(ctx, &err);
	if (status == EXIT_DONE)
		cmd_trust_given(ctx, &seen, untrusted);
	seen_release(&seen);
	return status;
}
