/* sandglass help lua: the library of agent scripts, from the types that editors read
 * (lua/meta/sandglass.d.lua). */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/lib/cmd_priv.h"
#include "cli/help.h"
#include "base/mem.h"

static const char *help_lua_line_end(const char *at)
{
	return strchrnul(at, '\n');
}

/* The first sentence of its text, up to what only adds to it; a parenthesis that it would leave
 * open goes with it. */
static void first_sentence(const struct meta_block *b, struct buf *out)
{
	size_t open = 0; /* where one began that has not ended */
	for (const char *p = b->at; p < b->end; p = help_lua_line_end(p) + 1) {
		if (strncmp(p, "---", 3) != 0 || p[3] == '@')
			break;
		const char *end = help_lua_line_end(p), *text = p + 3;
		if (out->len)
			buf_putc(out, ' ');
		for (const char *c = text; c < end; c++) {
			if (strchr(".;:", *c) && (c + 1 == end || c[1] == ' ')) {
				if (open)
					out->data[out->len = open] = '\0';
				return;
			}
			if (*c == '(' && !open)
				open = out->len && out->data[out->len - 1] == ' ' ? out->len - 1
										  : out->len;
			if (*c == ')')
				open = 0;
			buf_putc(out, *c);
		}
	}
}

static void help_lua_print_json(struct cmd_ctx *ctx, const struct meta_block *b)
{
	json_t *o = json_object();
	json_put_str(o, "name", b->name);
	json_put_str(o, "args", b->args);
	json_put_bytes(o, "text", b->at, (size_t)(b->end - b->at));
	cmd_json(ctx, o);
}

enum { LIST_AT = 37, LIST_COLUMNS = 98 };

/* One function and its sentence, which continues below itself. */
static void print_call(struct cmd_ctx *ctx, const char *call, const char *what)
{
	int col = fprintf(ctx->out, *what ? "  %-34s" : "  %s", call);
	while (*what) {
		size_t n = strcspn(what, " ");
		if (col > LIST_AT && col + 1 + (int)n > LIST_COLUMNS)
			col = fprintf(ctx->out, "\n%*s", LIST_AT - 1, "") - 1;
		col += fprintf(ctx->out, " %.*s", (int)n, what);
		what += n + strspn(what + n, " ");
	}
	fputc('\n', ctx->out);
}

static void print_list(struct cmd_ctx *ctx, const char *text)
{
	struct meta_block b;
	if (ctx->json) {
		for (const char *at = text; meta_next(&at, &b); meta_release(&b))
			if (*b.name)
				help_lua_print_json(ctx, &b);
		return;
	}
	fputs("The library of agent scripts: local sg = require \"sandglass\".\n"
	      "'help lua box:exec' shows all of one function.\n",
	      ctx->out);
	for (const char *at = text; meta_next(&at, &b); meta_release(&b)) {
		CLEANUP(buf_release) struct buf what = BUF_INIT;
		if (!b.args)
			continue;
		CLEANUP(free_ptr) char *call = mem_printf("%s%s", b.name, b.args);
		first_sentence(&b, &what);
		print_call(ctx, call, buf_cstr(&what));
	}
	fputs("Types: 'help lua AgentOpts' (of an agent), ExecOpts (of a command), SandboxOpts, Error,\n"
	      "Rule (of a policy), Log (for check files), Config (of config.lua).\n",
	      ctx->out);
}

/* The fields of the options that a parameter takes: they are what a caller writes. */
static void print_options(struct cmd_ctx *ctx, const char *text, const struct meta_block *of)
{
	static const char param[] = "---@param ", field[] = "---@field ";
	struct meta_block b;
	for (const char *p = of->at; p < of->end; p = help_lua_line_end(p) + 1) {
		const char *type = p + sizeof(param) - 1;
		if (strncmp(p, param, sizeof(param) - 1) != 0)
			continue;
		type += strcspn(type, " \n");
		type += *type == ' ';
		CLEANUP(free_ptr) char *name = mem_strndup(type, strcspn(type, " ?\n"));
		size_t n = strlen(name);
		if (n < 4 || strcmp(name + n - 4, "Opts") != 0)
			continue;
		for (const char *at = text; meta_next(&at, &b); meta_release(&b)) {
			if (strcmp(b.name, name) != 0)
				continue;
			fprintf(ctx->out, "\n%s\n", name);
			for (const char *f = b.at; f < b.end; f = help_lua_line_end(f) + 1)
				if (!strncmp(f, field, sizeof(field) - 1))
					fprintf(ctx->out, "  %.*s\n",
						(int)(help_lua_line_end(f) - f - 10), f + 10);
		}
	}
}

static void print_block(struct cmd_ctx *ctx, const struct meta_block *b)
{
	if (ctx->json) {
		help_lua_print_json(ctx, b);
		return;
	}
	fprintf(ctx->out, "%s%s\n", b->name, b->args ? b->args : "");
	for (const char *p = b->at; p < b->end; p = help_lua_line_end(p) + 1) {
		int len = (int)(help_lua_line_end(p) - p);
		if (!strncmp(p, "---@async", 9) || !strncmp(p, "---@nodiscard", 13) ||
		    !strncmp(p, "---@class", 9))
			continue;
		if (!strncmp(p, "---@field ", 10) || !strncmp(p, "---@alias ", 10))
			fprintf(ctx->out, "  %.*s\n", len - 10, p + 10);
		else if (!strncmp(p, "---@", 4))
			fprintf(ctx->out, "  %.*s\n", len - 4, p + 4);
		else if (!strncmp(p, "---", 3))
			fprintf(ctx->out, "%.*s\n", len - 3, p + 3);
	}
}

/* "exec", "box:exec", "ExecOpts" and "sg.ExecOpts" alike. */
static bool help_lua_means(const char *name, const char *word)
{
	size_t n = strlen(name), w = strlen(word);
	return w && n >= w && !strcasecmp(name + n - w, word) &&
	       (n == w || strchr(".:", name[n - w - 1]));
}

static size_t print_named(struct cmd_ctx *ctx, const char *text, const char *word)
{
	struct meta_block b;
	size_t nr = 0;
	for (const char *at = text; meta_next(&at, &b); meta_release(&b))
		if (help_lua_means(b.name, word)) {
			if (nr++ && !ctx->json)
				fputc('\n', ctx->out);
			print_block(ctx, &b);
			if (b.args && !ctx->json)
				print_options(ctx, text, &b);
		}
	return nr;
}

static const char *nearest_of(const char *text, const char *word, char found[64])
{
	struct meta_block b;
	const char *one[1];
	*found = 0;
	for (const char *at = text; meta_next(&at, &b); meta_release(&b)) {
		const char *last = b.name + strcspn(b.name, ".:");
		one[0] = *last ? last + 1 : b.name;
		if (!*found && *one[0] && word_nearest(word, one, 1))
			snprintf(found, 64, "%s", b.name);
	}
	return *found ? found : NULL;
}

/* First the library for scripts, then the modules of policies, check files, suites, and the
 * configuration. */
static const char *const help_lua_files[] = { "sandglass.d.lua", "policy.d.lua", "verify.d.lua",
					      "suite.d.lua", "config.d.lua" };

int help_lua(struct cmd_ctx *ctx, const char *word)
{
	char found[64];
	CLEANUP(free_ptr) char *whole = meta_text(help_lua_files[0]);
	if (!whole)
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
				     "library types not found in this build");
	if (!word) {
		print_list(ctx, whole);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(help_lua_files); i++) {
		CLEANUP(free_ptr) char *text = meta_text(help_lua_files[i]);
		if (text && print_named(ctx, text, word))
			return EXIT_DONE;
	}
	const char *near =
		nearest_of(whole, strpbrk(word, ".:") ? strpbrk(word, ".:") + 1 : word, found);
	return near ? cmd_usage(ctx, "lua: unknown name '%s'; did you mean '%s'?", word, near)
		    : cmd_usage(ctx,
				"lua: unknown name '%s'\n'sandglass help lua' lists the library.",
				word);
}
