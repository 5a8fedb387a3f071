/* sandglass new: four questions, one of the two ways to connect an agent to a box with the reason
 * for it, and a script to begin with. Nothing is written before everything is known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/template.h"
#include "base/mem.h"

struct question {
	const char *option;
	const char *text;
	struct {
		const char *word, *means;
		int points; /* for an agent inside the box (> 0) or a box as a tool (< 0) */
		const char *reason;
	} answer[2];
};

static const struct question cmd_new_questions[] = {
	{ "coupling",
	  "What is the agent?",
	  { { "tool", "a loop of your own that uses a computer", -2,
	      "the loop is yours; a sandbox is one of its tools" },
	    { "inside", "a finished program that must run beside the files", 2,
	      "the program expects files and commands around it" } } },
	{ "iteration",
	  "How often will you change the agent itself?",
	  { { "fast", "many times a day", -1,
	      "a change takes effect at once, without a new image" },
	    { "stable", "rarely", 0, "the agent changes rarely, so a new image costs little" } } },
	{ "keys",
	  "Where may keys and prompts be?",
	  { { "outside", "never in the sandbox", -1, "keys and prompts never enter the sandbox" },
	    { "anywhere", "no matter", 0, "keys need no isolation of their own" } } },
	{ "mirror",
	  "Must it work exactly as on your own host?",
	  { { "no", "no", 0, "it may differ from your own host" },
	    { "yes", "yes: same files, tools, and paths", 2, "it works as on your own host" } } },
};

static const char *const cmd_new_patterns[] = { "coding", "fanout", "inside", "bare" };

struct plan {
	const char *pattern;
	int answer[ARRAY_LEN(cmd_new_questions)]; /* -1 = not asked */
};

/* --- the questions ----------------------------------------------------------------------------
 */

static int cmd_new_answer_of(const struct question *q, const char *text)
{
	size_t n = strlen(text);
	for (int i = 0; i < 2; i++)
		if (n && !strncmp(q->answer[i].word, text, n))
			return i;
	if (!strcmp(text, "1") || !strcmp(text, "2"))
		return text[0] - '1';
	return -1;
}

static bool cmd_new_ask(struct cmd_ctx *ctx, const struct question *q, int *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, line = BUF_INIT;
	buf_printf(&text, "%s\n  1 %-9s %s\n  2 %-9s %s\n[1] ", q->text, q->answer[0].word,
		   q->answer[0].means, q->answer[1].word, q->answer[1].means);
	for (;;) {
		if (!cmd_ask(ctx, buf_cstr(&text), &line))
			return false;
		*out = line.len ? cmd_new_answer_of(q, buf_cstr(&line)) : 0;
		if (*out >= 0)
			return true;
		fprintf(ctx->err, "Type 1, 2, or the word.\n");
	}
}

static int by_questions(struct cmd_ctx *ctx, struct plan *p)
{
	bool any = false;
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_questions); i++)
		any = any || cmd_has(ctx, cmd_new_questions[i].option);
	bool interactive = !any && isatty(0);
	if (!any && !interactive)
		return cmd_usage(
			ctx,
			"can't ask questions: standard input is not a terminal\nGive --from coding, fanout, inside, or bare.");
	int points = 0;
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_questions); i++) {
		const struct question *q = &cmd_new_questions[i];
		const char *given = cmd_opt(ctx, q->option);
		if (interactive && !cmd_new_ask(ctx, q, &p->answer[i]))
			return cmd_fail_with(ctx, EXIT_PERSON, "no answer; nothing written");
		if (!interactive)
			p->answer[i] = given ? cmd_new_answer_of(q, given) : 0;
		if (p->answer[i] < 0)
			return cmd_usage(ctx, "--%s: expected %s or %s, got '%s'", q->option,
					 q->answer[0].word, q->answer[1].word, given);
		points += q->answer[p->answer[i]].points;
	}
	p->pattern = points > 0 ? "inside" : "coding";
	return EXIT_DONE;
}

static int cmd_new_choose(struct cmd_ctx *ctx, struct plan *p)
{
	const char *from = cmd_opt(ctx, "from");
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_questions); i++)
		p->answer[i] = -1;
	if (!from)
		return by_questions(ctx, p);
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_patterns); i++)
		if (!strcmp(cmd_new_patterns[i], from))
			p->pattern = cmd_new_patterns[i];
	if (p->pattern)
		return EXIT_DONE;
	const char *near = word_nearest(from, cmd_new_patterns, ARRAY_LEN(cmd_new_patterns));
	return near ? cmd_usage(ctx, "unknown pattern '%s'; did you mean '%s'?", from, near)
		    : cmd_usage(ctx, "--from: expected coding, fanout, inside, or bare, got '%s'",
				from);
}

static void say_why(struct cmd_ctx *ctx, const struct plan *p)
{
	static const char *const about[][2] = {
		{ "coding", "the sandbox is a tool of your agent" },
		{ "fanout", "several sandboxes are tools of your agents, one per attempt" },
		{ "inside", "the agent runs inside the sandbox" },
		{ "bare", "a sandbox and your own steps, no model" },
	};
	for (size_t i = 0; i < ARRAY_LEN(about); i++)
		if (!strcmp(about[i][0], p->pattern))
			fprintf(ctx->out, "pattern: %s (%s)\n", about[i][1], p->pattern);
	int sign = !strcmp(p->pattern, "inside") ? 1 : -1;
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_questions); i++)
		if (p->answer[i] >= 0 &&
		    cmd_new_questions[i].answer[p->answer[i]].points * sign > 0)
			fprintf(ctx->out, "  because %s\n",
				cmd_new_questions[i].answer[p->answer[i]].reason);
	for (size_t i = 0; i < ARRAY_LEN(cmd_new_questions); i++)
		if (p->answer[i] >= 0 &&
		    cmd_new_questions[i].answer[p->answer[i]].points * sign < 0)
			fprintf(ctx->out, "  although %s\n",
				cmd_new_questions[i].answer[p->answer[i]].reason);
}

/* --- writing ----------------------------------------------------------------------------------
 */

struct file {
	char *path;
	struct buf text;
};

static int cmd_new_make(struct file *f, const char *template, const char *path, const char *name,
			struct err *err)
{
	f->path = mem_strdup(path);
	return template_fill(&f->text, template, name, err);
}

static int cmd_new_write_all(struct cmd_ctx *ctx, struct file *f, size_t nr, struct err *err)
{
	bool force = cmd_has(ctx, "force");
	for (size_t i = 0; i < nr && !force; i++)
		if (access(f[i].path, F_OK) == 0)
			return err_set(err, ERR_EXISTS,
				       "'%s' already exists\nOverwrite it with --force.",
				       f[i].path);
	for (size_t i = 0; i < nr; i++)
		if (template_write(f[i].path, &f[i].text, force, err) < 0) {
			for (size_t k = 0; k < i && !force; k++)
				unlink(f[k].path); /* nothing half done */
			return -1;
		}
	return 0;
}

static int cmd_new_write_files(struct cmd_ctx *ctx, const struct plan *p, const char *name)
{
	struct file f[2] = { 0 };
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *script = mem_printf("%s.lua", name);
	CLEANUP(free_ptr) char *model = mem_printf("%s.script.lua", name);
	bool with_model = !strcmp(p->pattern, "coding") || !strcmp(p->pattern, "fanout");
	int rc = cmd_new_make(&f[0], p->pattern, script, name, &err);
	if (rc == 0 && with_model)
		rc = cmd_new_make(&f[1], "script", model, name, &err);
	if (rc == 0)
		rc = cmd_new_write_all(ctx, f, with_model ? 2 : 1, &err);
	for (size_t i = 0; i < ARRAY_LEN(f); i++) {
		free(f[i].path);
		buf_release(&f[i].text);
	}
	if (rc < 0)
		return cmd_fail(ctx, &err);
	say_why(ctx, p);
	fprintf(ctx->out, "wrote %s%s%s\ntry it: sandglass run %s\n", script,
		with_model ? " and " : "", with_model ? model : "", script);
	return EXIT_DONE;
}

int cmd_new(struct cmd_ctx *ctx)
{
	struct plan p = { 0 };
	CLEANUP(free_ptr) char *name = mem_strdup(cmd_word(ctx, 0) ? cmd_word(ctx, 0) : "agent");
	size_t n = strlen(name);
	if (n > 4 && !strcmp(name + n - 4, ".lua"))
		name[n - 4] = 0;
	if (!template_good_name(name))
		return cmd_usage(
			ctx, "expected a name of up to 64 letters, digits, '_', and '-', got '%s'",
			name);
	int status = cmd_new_choose(ctx, &p);
	return status == EXIT_DONE ? cmd_new_write_files(ctx, &p, name) : status;
}
