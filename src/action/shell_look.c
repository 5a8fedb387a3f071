/* Commands that run other commands: which, how their options are told from what they run. One table row each; an option
 * that is not in the row makes the line opaque, because what follows could be its value or the command. */
#include "action/shell_parse.h"

#include <stdlib.h>
#include <string.h>

void shell_opaque(struct shell *s, const char *why)
{
	if (!s->opaque)
		s->why = why;
	s->opaque = true;
}

void shell_part_release(struct shell_part *p)
{
	free(p->word);
	free(p->redirect);
	strv_release(&p->env);
}

void shell_part_push(struct shell_part *p, const struct shell_word *w)
{
	GROW(p->word, p->nr_words, p->cap_words);
	p->word[p->nr_words++] = *w;
}

/* Adds to the parts; takes what @p owns. Past SHELL_PARTS_MAX: opaque. */
static void shell_add(struct shell *s, struct shell_part *p)
{
	if (s->nr == SHELL_PARTS_MAX) {
		shell_opaque(s, "too many commands");
		shell_part_release(p);
		return;
	}
	GROW(s->part, s->nr, s->cap);
	s->part[s->nr++] = *p;
}

void shell_part_text(const struct shell_part *p, struct buf *out)
{
	for (size_t i = 0; i < p->nr_words; i++) {
		if (i)
			buf_putc(out, ' ');
		buf_append(out, p->word[i].text, p->word[i].len);
	}
}

static struct shell_word word_of(const char *text)
{
	size_t len = strlen(text);
	return (struct shell_word){ .text = text, .len = len, .prefix = len, .suffix = len };
}

/* Words that come from elsewhere: standard input, a directory. */
static struct shell_word word_unknown(const char *text)
{
	return (struct shell_word){ .text = text, .len = strlen(text), .dynamic = true, .splits = true };
}

static bool is(const struct shell_word *w, const char *s)
{
	return !w->dynamic && w->len == strlen(s) && !memcmp(w->text, s, w->len);
}

/* A command's name without its folder. */
static const char *base_name(const struct shell_word *w)
{
	const char *slash = w->dynamic ? NULL : memrchr(w->text, '/', w->len);
	return w->dynamic ? "" : slash ? slash + 1 : w->text;
}

static bool among(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, s))
			return true;
	return false;
}

/* --- variables that change what a command's name means ------------------------------------------------------------- */

static bool reaching_name(const char *text, size_t len)
{
	static const char *const exact[] = { "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "HOME",
					     "EDITOR", "VISUAL", "PAGER", "NODE_OPTIONS", "RUBYOPT", "JAVA_TOOL_OPTIONS",
					     "RUSTC_WRAPPER", "MAKEFLAGS", "PROMPT_COMMAND", "SHELL", NULL };
	static const char *const begin[] = { "LD_", "GIT_SSH", "GIT_CONFIG", "GIT_EXEC", "GIT_EXTERNAL", "GIT_ASKPASS", "GIT_PROXY", "GIT_PAGER",
					     "GIT_EDITOR", "GIT_DIR", "GIT_WORK_TREE", "PYTHON", "PERL5", "DYLD_", "BASH_FUNC_", "npm_config_", NULL };
	for (const char *const *e = exact; *e; e++)
		if (strlen(*e) == len && !memcmp(*e, text, len))
			return true;
	for (const char *const *b = begin; *b; b++)
		if (len >= strlen(*b) && !memcmp(*b, text, strlen(*b)))
			return true;
	return false;
}

bool shell_reaches(const char *assignment, size_t len)
{
	size_t name = shell_assignment(assignment, len);
	return name && reaching_name(assignment, name);
}

static void look_at_env(struct shell_part *p)
{
	for (size_t i = 0; i < p->env.nr; i++)
		if (shell_reaches(p->env.item[i], p->env.len[i]))
			p->flags |= SHELL_REACHES;
}

/* --- what is written ------------------------------------------------------------------------------------------------ */

static bool harmless_target(const struct shell_word *w)
{
	return is(w, "/dev/null") || is(w, "/dev/stdout") || is(w, "/dev/stderr") || is(w, "/dev/tty");
}

static void add_targets(struct shell *s, const struct shell_part *p)
{
	static const struct shell_word arrow = { .text = ">", .len = 1, .prefix = 1, .suffix = 1 };
	for (size_t i = 0; i < p->nr_redirects; i++) {
		if (p->redirect[i].kind != SHELL_OUT || harmless_target(&p->redirect[i].target))
			continue;
		struct shell_part t = { .flags = SHELL_TARGET };
		shell_part_push(&t, &arrow);
		shell_part_push(&t, &p->redirect[i].target);
		shell_add(s, &t);
	}
}

/* --- wrappers --------------------------------------------------------------------------------------------------------- */

struct wrapper {
	const char *name;
	const char *flags;        /* letters of options without a value */
	const char *values;       /* letters of options with a value */
	const char *const *longs; /* long options; with "=": a value of their own word or after "=" */
	int operands;             /* words of its own before the command */
	enum {
		SETS_ENV = 1,   /* NAME=value words may come before the command */
		OWN_RIGHTS = 2, /* changes who or where it runs: must be allowed itself */
		ADDS_WORDS = 4, /* appends words that we do not know */
		MAY_END = 8,    /* may stand without a command */
	} how;
};

static const char *const no_longs[] = { NULL };
static const char *const env_longs[] = { "--ignore-environment", "--unset=", "--chdir=", "--null", "--debug", NULL };
static const char *const sudo_longs[] = { "--non-interactive", "--preserve-env", "--stdin", "--set-home", "--user=",
					  "--group=", "--background", NULL };
static const char *const nice_longs[] = { "--adjustment=", NULL };
static const char *const timeout_longs[] = { "--preserve-status", "--foreground", "--kill-after=", "--signal=",
					     "--verbose", NULL };
static const char *const stdbuf_longs[] = { "--input=", "--output=", "--error=", NULL };
static const char *const xargs_longs[] = { "--null", "--no-run-if-empty", "--verbose", "--max-args=", "--max-procs=",
					   "--max-lines=", "--max-chars=", "--delimiter=", "--arg-file=", "--replace=",
					   "--interactive", "--exit", "--open-tty", NULL };
static const char *const setsid_longs[] = { "--ctty", "--fork", "--wait", NULL };
static const char *const flock_longs[] = { "--exclusive", "--shared", "--nonblock", "--timeout=", "--no-fork", NULL };

static const struct wrapper wrappers[] = {
	{ "env", "i0v", "uC", env_longs, 0, SETS_ENV | MAY_END },
	{ "sudo", "nESHPAbk", "ugpCrtThD", sudo_longs, 0, SETS_ENV | OWN_RIGHTS | MAY_END },
	{ "doas", "nL", "uC", no_longs, 0, OWN_RIGHTS | MAY_END },
	{ "chroot", "", "", no_longs, 1, OWN_RIGHTS | MAY_END },
	{ "nohup", "", "", no_longs, 0, MAY_END },
	{ "setsid", "cfw", "", setsid_longs, 0, MAY_END },
	{ "command", "p", "", no_longs, 0, MAY_END },
	{ "builtin", "", "", no_longs, 0, MAY_END },
	{ "exec", "cl", "a", no_longs, 0, MAY_END },
	{ "time", "pvaq", "fo", no_longs, 0, MAY_END },
	{ "nice", "", "n", nice_longs, 0, MAY_END },
	{ "ionice", "t", "cn", no_longs, 0, MAY_END },
	{ "chrt", "bfiorR", "", no_longs, 1, MAY_END },
	{ "taskset", "", "", no_longs, 1, MAY_END },
	{ "timeout", "v", "ks", timeout_longs, 1, 0 },
	{ "stdbuf", "", "ioe", stdbuf_longs, 0, 0 },
	{ "flock", "xsnuoF", "wE", flock_longs, 1, MAY_END },
	{ "xargs", "0rtpxo", "InPLsdaE", xargs_longs, 0, ADDS_WORDS | MAY_END },
	{ "busybox", "", "", no_longs, 0, MAY_END },
};

static const struct wrapper *wrapper_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
		if (!strcmp(wrappers[i].name, name))
			return &wrappers[i];
	return NULL;
}

/* A "--long" word: 1 without a value or with "=value", 2 when the next word is its value, 0 unknown. */
static size_t long_option(const struct wrapper *w, const struct shell_word *word)
{
	const char *eq = memchr(word->text, '=', word->len);
	size_t name = eq ? (size_t)(eq - word->text) : word->len;
	for (const char *const *l = w->longs; *l; l++) {
		size_t len = strlen(*l);
		bool value = (*l)[len - 1] == '=';
		if (name == len - value && !memcmp(word->text, *l, name))
			return value && !eq ? 2 : 1;
	}
	return 0;
}

/* A "-abc" word: how many words it takes, 0 unknown. */
static size_t short_option(const struct wrapper *w, const struct shell_word *word)
{
	for (size_t i = 1; i < word->len; i++) {
		if (strchr(w->values, word->text[i]))
			return i + 1 < word->len ? 1 : 2;
		if (!strchr(w->flags, word->text[i]) &&
		    !(!strcmp(w->name, "nice") && word->text[i] >= '0' && word->text[i] <= '9'))
			return 0;
	}
	return 1;
}

/* Index of the first word of the command that @p runs; nr_words = there is none; 0 = not understood. Fills the word that
 * -I replaces, if there is one. */
static size_t wrapped_at(const struct wrapper *w, const struct shell_part *p, struct shell_part *inner,
			 const struct shell_word **replaced)
{
	size_t i = 1;
	for (; i < p->nr_words; i++) {
		const struct shell_word *word = &p->word[i];
		if (word->dynamic && word->prefix == 0)
			break;
		if (is(word, "--")) {
			i++;
			break;
		}
		if (word->text[0] != '-' || word->len < 2) {
			if (!(w->how & SETS_ENV) || !shell_assignment(word->text, word->dynamic ? word->prefix : word->len))
				break;
			strv_push_bytes(&inner->env, word->text, word->len);
			continue;
		}
		if (word->dynamic)
			return 0;
		size_t takes = word->text[1] == '-' ? long_option(w, word) : short_option(w, word);
		if (!takes || i + takes > p->nr_words)
			return 0;
		if (takes == 2 && (w->how & ADDS_WORDS) && is(word, "-I"))
			*replaced = &p->word[i + 1];
		i += takes - 1;
	}
	while ((w->how & SETS_ENV) && i < p->nr_words &&
	       shell_assignment(p->word[i].text, p->word[i].dynamic ? p->word[i].prefix : p->word[i].len)) {
		strv_push_bytes(&inner->env, p->word[i].text, p->word[i].len);
		i++;
	}
	i += (size_t)w->operands;
	return i < p->nr_words ? i : p->nr_words;
}

static bool holds(const struct shell_word *w, const struct shell_word *part)
{
	return part && part->len && !part->dynamic && memmem(w->text, w->len, part->text, part->len);
}

static void look_through(struct shell *s, const struct wrapper *w, struct shell_part *p, int depth)
{
	struct shell_part inner = { .flags = p->flags & SHELL_REACHES };
	const struct shell_word *replaced = NULL;
	size_t i = wrapped_at(w, p, &inner, &replaced);
	if (!i || (i == p->nr_words && !(w->how & MAY_END))) {
		shell_opaque(s, "options of a command that runs another one");
		shell_part_release(&inner);
		return;
	}
	if (i == p->nr_words) {
		shell_part_release(&inner); /* `env`, `exec >log`: nothing inside */
		return;
	}
	if (!(w->how & OWN_RIGHTS))
		p->flags |= SHELL_LOOKED;
	for (; i < p->nr_words; i++) {
		struct shell_word word = p->word[i];
		if (holds(&word, replaced)) {
			word.dynamic = word.splits = true;
			word.prefix = word.suffix = 0;
		}
		shell_part_push(&inner, &word);
	}
	if ((w->how & ADDS_WORDS) && !replaced) {
		struct shell_word more = word_unknown("[standard input]");
		shell_part_push(&inner, &more);
	}
	for (size_t k = 0; k < p->nr_redirects; k++) /* a shell inside reads our here-document */
		if (p->redirect[k].kind == SHELL_HERE && !(w->how & ADDS_WORDS)) {
			GROW(inner.redirect, inner.nr_redirects, inner.cap_redirects);
			inner.redirect[inner.nr_redirects++] = p->redirect[k];
		}
	shell_look(s, &inner, depth + 1);
}

/* find ... -exec CMD {} ; */
static void look_into_find(struct shell *s, struct shell_part *p, int depth)
{
	static const char *const runs[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
	for (size_t i = 1; i < p->nr_words; i++) {
		if (p->word[i].dynamic || !among(p->word[i].text, runs))
			continue;
		struct shell_part inner = { .flags = p->flags & SHELL_REACHES };
		for (i++; i < p->nr_words && !is(&p->word[i], ";") && !is(&p->word[i], "+"); i++) {
			struct shell_word w = p->word[i];
			if (memmem(w.text, w.len, "{}", 2)) {
				w.dynamic = w.splits = true;
				w.prefix = w.suffix = 0;
			}
			shell_part_push(&inner, &w);
		}
		shell_look(s, &inner, depth + 1);
	}
}

/* The text of a static word, or of several joined by blanks (eval), read as a line of its own. */
static void look_into_text(struct shell *s, const struct shell_word *w, size_t nr, int depth)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; i < nr; i++) {
		if (w[i].dynamic) {
			shell_opaque(s, "a command line that is made while it runs");
			return;
		}
		if (i)
			buf_putc(&text, ' ');
		buf_append(&text, w[i].text, w[i].len);
	}
	shell_read(s, buf_cstr(&text), text.len, depth + 1);
}

/* sh, bash and their like: -c TEXT, a script file, or commands from standard input. */
static void look_into_shell(struct shell *s, struct shell_part *p, int depth)
{
	size_t i = 1;
	bool text = false, from_stdin = false;
	for (; i < p->nr_words && !text; i++) {
		const struct shell_word *w = &p->word[i];
		if (w->dynamic && w->prefix == 0) {
			shell_opaque(s, "a shell with options that are not known");
			return;
		}
		if (w->len < 2 || (w->text[0] != '-' && w->text[0] != '+'))
			break;
		if (w->text[1] == '-') {
			if (is(w, "--")) {
				i++;
				break;
			}
			if (is(w, "--rcfile") || is(w, "--init-file"))
				i++;
			continue;
		}
		text = w->text[0] == '-' && memchr(w->text, 'c', w->len);
		from_stdin |= memchr(w->text, 's', w->len) != NULL;
		if (memchr(w->text, 'o', w->len) || memchr(w->text, 'O', w->len))
			i++;
	}
	/* options may go on behind -c: sh -c -e TEXT */
	while (text && i < p->nr_words && p->word[i].len > 1 && !p->word[i].dynamic &&
	       (p->word[i].text[0] == '-' || p->word[i].text[0] == '+'))
		i++;
	if (text && i < p->nr_words) {
		p->flags |= SHELL_LOOKED;
		look_into_text(s, &p->word[i], 1, depth);
		return;
	}
	if (!text && !from_stdin && i < p->nr_words)
		return; /* a script file: a command like any other */
	if (p->nr_words == 2 && (is(&p->word[1], "--version") || is(&p->word[1], "--help")))
		return;
	const struct shell_redirect *here = NULL;
	for (size_t k = 0; k < p->nr_redirects; k++)
		if (p->redirect[k].kind != SHELL_OUT)
			here = p->redirect[k].kind == SHELL_HERE ? &p->redirect[k] : NULL;
	if (!here) {
		shell_opaque(s, "a shell that reads its commands from standard input");
		return;
	}
	p->flags |= SHELL_LOOKED;
	look_into_text(s, &here->target, 1, depth);
}

/* Options of git that stand before its verb: seen without them as well, so that `git -C x push` is a push. */
static void look_into_git(struct shell *s, const struct shell_part *p)
{
	static const char *const with_value[] = { "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path",
						  "--config-env", NULL };
	size_t i = 1;
	while (i < p->nr_words && !p->word[i].dynamic && p->word[i].text[0] == '-')
		i += among(p->word[i].text, with_value) ? 2 : 1;
	if (i == 1 || i >= p->nr_words)
		return;
	struct shell_part plain = { .flags = p->flags | SHELL_LOOKED };
	struct shell_word git = word_of("git");
	shell_part_push(&plain, &git);
	for (; i < p->nr_words; i++)
		shell_part_push(&plain, &p->word[i]);
	shell_add(s, &plain);
}

/* Words of the shell itself that change what comes after them. */
static void look_at_builtin(struct shell *s, struct shell_part *p, const char *name, int depth)
{
	static const char *const declares[] = { "export", "declare", "typeset", "local", "readonly", NULL };
	static const char *const reads[] = { ".", "source", NULL };
	if (!strcmp(name, "eval")) {
		p->flags |= SHELL_LOOKED;
		look_into_text(s, p->word + 1, p->nr_words - 1, depth);
	} else if (!strcmp(name, "trap") && p->nr_words > 2 && !is(&p->word[1], "-")) {
		look_into_text(s, p->word + 1, 1, depth);
	} else if (!strcmp(name, "cd") || !strcmp(name, "pushd")) {
		if (p->nr_words == 2 && !p->word[1].dynamic)
			strv_push_bytes(&s->dirs, p->word[1].text, p->word[1].len);
	} else if (among(name, declares)) {
		for (size_t i = 1; i < p->nr_words; i++)
			if (p->word[i].dynamic ? p->word[i].prefix == 0 || shell_reaches(p->word[i].text, p->word[i].len)
					       : shell_reaches(p->word[i].text, p->word[i].len))
				p->flags |= SHELL_REACHES;
	} else if (among(name, reads)) {
		p->flags |= SHELL_REACHES;
	}
}

void shell_look(struct shell *s, struct shell_part *p, int depth)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", NULL };
	add_targets(s, p);
	if (depth > SHELL_DEPTH_MAX)
		shell_opaque(s, "nested too deeply");
	if (s->opaque || (!p->nr_words && !p->env.nr)) {
		shell_part_release(p);
		return;
	}
	look_at_env(p);
	size_t mine = s->nr;
	shell_add(s, p); /* before what it runs; @p's lists stay valid, the flags are set in the copy */
	if (mine == s->nr || !p->nr_words)
		return;
	struct shell_part part = *p;
	const char *name = base_name(&part.word[0]);
	const struct wrapper *w = wrapper_find(name);
	if (w)
		look_through(s, w, &part, depth);
	else if (among(name, shells))
		look_into_shell(s, &part, depth);
	else if (!strcmp(name, "find"))
		look_into_find(s, &part, depth);
	else if (!strcmp(name, "git"))
		look_into_git(s, &part);
	else
		look_at_builtin(s, &part, name, depth);
	s->part[mine].flags = part.flags;
}

/* Once a line sets PATH or its like, every name in it may mean something else. */
static void spread(struct shell *s)
{
	bool any = false;
	for (size_t i = 0; i < s->nr; i++)
		any |= (s->part[i].flags & SHELL_REACHES) != 0;
	for (size_t i = 0; any && i < s->nr; i++)
		s->part[i].flags |= SHELL_REACHES;
}

struct shell *shell_split(const char *text, size_t len)
{
	struct shell *s = NEW(struct shell);
	if (len > SHELL_TEXT_MAX)
		shell_opaque(s, "longer than 64 KiB");
	else
		shell_read(s, text, len, 0);
	spread(s);
	return s;
}

struct shell *shell_split_argv(const struct strv *argv)
{
	struct shell *s = NEW(struct shell);
	struct shell_part p = { 0 };
	size_t total = 0;
	for (size_t i = 0; i < argv->nr; i++) {
		struct shell_word w = { .text = arena_strndup(&s->arena, argv->item[i], argv->len[i]),
					.len = argv->len[i], .quoted = true, .prefix = argv->len[i],
					.suffix = argv->len[i] };
		total += argv->len[i] + 1;
		shell_part_push(&p, &w);
	}
	if (total > SHELL_TEXT_MAX) {
		shell_opaque(s, "longer than 64 KiB");
		shell_part_release(&p);
	} else {
		shell_look(s, &p, 0);
	}
	spread(s);
	return s;
}

void shell_free(struct shell **s)
{
	if (!*s)
		return;
	for (size_t i = 0; i < (*s)->nr; i++)
		shell_part_release(&(*s)->part[i]);
	free((*s)->part);
	strv_release(&(*s)->dirs);
	arena_release(&(*s)->arena);
	free(*s);
	*s = NULL;
}
