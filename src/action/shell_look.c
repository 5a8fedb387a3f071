/* Commands that run other commands: their names, and how to separate their options from the command
 * that they run. One table row each; an option missing from the row makes the line opaque, because
 * the next word could be its value or the command. */
#include "action/shell_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

void shell_add(struct shell *s, struct shell_part *p)
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

struct shell_word shell_word_of(const char *text)
{
	size_t len = strlen(text);
	return (struct shell_word){ .text = text, .len = len, .prefix = len, .suffix = len };
}

struct shell_word shell_word_unknown(const char *text)
{
	return (struct shell_word){
		.text = text, .len = strlen(text), .dynamic = true, .splits = true
	};
}

bool shell_word_is(const struct shell_word *w, const char *s)
{
	return !w->dynamic && w->len == strlen(s) && !memcmp(w->text, s, w->len);
}

const char *shell_base(const struct shell_word *w)
{
	const char *slash = w->dynamic ? NULL : memrchr(w->text, '/', w->len);
	return w->dynamic ? "" : slash ? slash + 1 : w->text;
}

bool shell_among(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, s))
			return true;
	return false;
}

bool shell_word_process(const struct shell_word *w)
{
	return w->dynamic && !w->prefix && !strncmp(w->text, "<(", 2);
}

bool shell_word_begins(const struct shell_word *w, const char *s)
{
	size_t len = strlen(s);
	return (w->dynamic ? w->prefix : w->len) >= len && !memcmp(w->text, s, len);
}

/* --- variables that change what a command's name means ---------------------------------------- */

static bool reaching_name(const char *text, size_t len)
{
	static const char *const exact[] = { "PATH",	      "IFS",
					     "ENV",	      "BASH_ENV",
					     "SHELLOPTS",     "BASHOPTS",
					     "CDPATH",	      "HOME",
					     "EDITOR",	      "VISUAL",
					     "PAGER",	      "NODE_OPTIONS",
					     "RUBYOPT",	      "JAVA_TOOL_OPTIONS",
					     "RUSTC_WRAPPER", "MAKEFLAGS",
					     "MAKEFILES",     "GNUMAKEFLAGS",
					     "TAR_OPTIONS",   "RSYNC_RSH",
					     "MANOPT",	      "CVS_RSH",
					     "SVN_SSH",	      "ZDOTDIR",
					     "LUA_INIT",      "PROMPT_COMMAND",
					     "SHELL",	      "LESSOPEN",
					     "LESSCLOSE",     "MANPAGER",
					     "BROWSER",	      "SUDO_EDITOR",
					     "FCEDIT",	      "PS0",
					     "PS1",	      "PS2",
					     "PS4",	      NULL };
	static const char *const begin[] = { "LD_",	     "GIT_SSH",	     "GIT_CONFIG",
					     "GIT_EXEC",     "GIT_EXTERNAL", "GIT_ASKPASS",
					     "GIT_PROXY",    "GIT_PAGER",    "GIT_EDITOR",
					     "GIT_SEQUENCE", "GIT_DIR",	     "GIT_WORK_TREE",
					     "PYTHON",	     "PERL5",	     "DYLD_",
					     "BASH_FUNC_",   "npm_config_",  NULL };
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

bool shell_reaches_stdin(const char *assignment, size_t len)
{
	static const char *const names[] = { "/dev/stdin", "/dev/fd/", "/proc/self/fd/",
					     "/proc/thread-self/fd/", NULL };
	for (const char *const *n = names; shell_reaches(assignment, len) && *n; n++)
		if (memmem(assignment, len, *n, strlen(*n)))
			return true;
	return false;
}

static void look_at_stdin_variable(struct shell *s, const char *assignment, size_t len)
{
	if (shell_reaches_stdin(assignment, len))
		shell_opaque(s, "a program that reads commands from standard input");
}

static void look_at_env(struct shell *s, struct shell_part *p)
{
	for (size_t i = 0; i < p->env.nr; i++) {
		strv_push_bytes(&s->assigned, p->env.item[i], p->env.len[i]);
		if (shell_reaches(p->env.item[i], p->env.len[i]))
			p->flags |= SHELL_REACHES | SHELL_SETS;
		look_at_stdin_variable(s, p->env.item[i], p->env.len[i]);
	}
	/* PAGER_OF_X='git push' x: a program may run what its variables say */
	if (p->env.nr && p->nr_words && !shell_is_builtin(shell_base(&p->word[0])))
		p->flags |= SHELL_SETS;
}

bool shell_same_file(const struct shell_word *a, const struct shell_word *b)
{
	const char *x = a->text, *y = b->text;
	x += !strncmp(x, "./", 2) ? 2 : 0;
	y += !strncmp(y, "./", 2) ? 2 : 0;
	return !strcmp(x, y);
}

/* --- what is written -------------------------------------------------------------------------- */

static bool harmless_target(const struct shell_word *w)
{
	return shell_word_is(w, "/dev/null") || shell_word_is(w, "/dev/stdout") ||
	       shell_word_is(w, "/dev/stderr") || shell_word_is(w, "/dev/tty");
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

/* find ... -exec CMD {} ; */
static void look_into_find(struct shell *s, struct shell_part *p, int depth)
{
	static const char *const runs[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
	for (size_t i = 1; i < p->nr_words; i++) {
		if (p->word[i].dynamic || !shell_among(p->word[i].text, runs))
			continue;
		struct shell_part inner = { .flags = p->flags & SHELL_REACHES };
		for (i++; i < p->nr_words && !shell_word_is(&p->word[i], ";") &&
			  !shell_word_is(&p->word[i], "+");
		     i++) {
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
void shell_look_text(struct shell *s, const struct shell_word *w, size_t nr, int depth)
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

/* Standard input under another name. */
static bool reads_stdin(const struct shell_word *w)
{
	static const char *const names[] = { "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0",
					     NULL };
	return !w->dynamic && (shell_among(w->text, names) || shell_word_begins(w, "/dev/fd/") ||
			       shell_word_begins(w, "/proc/self/fd/"));
}

/* The text that @p reads from standard input; NULL if it is not in the line. */
static const struct shell_word *stdin_text(const struct shell_part *p)
{
	const struct shell_word *here = NULL;
	for (size_t k = 0; k < p->nr_redirects; k++)
		if (p->redirect[k].kind != SHELL_OUT)
			here = p->redirect[k].kind == SHELL_HERE ? &p->redirect[k].target : NULL;
	return here;
}

void shell_look_stdin(struct shell *s, struct shell_part *p, int depth)
{
	const struct shell_word *here = stdin_text(p);
	if (!here) {
		shell_opaque(s, "a shell that reads its commands from standard input");
		return;
	}
	p->flags |= SHELL_LOOKED;
	shell_look_text(s, here, 1, depth);
}

const struct shell_word *shell_written(const struct shell *s, const struct shell_word *file,
				       bool *unknown)
{
	*unknown = false;
	for (size_t i = 0; i < s->nr; i++) {
		const struct shell_part *w = &s->part[i];
		if (!(w->flags & SHELL_TARGET) || file->dynamic || w->word[1].dynamic ||
		    !shell_same_file(&w->word[1], file))
			continue;
		/* its writer comes next */
		const struct shell_word *here = i + 1 < s->nr ? stdin_text(&s->part[i + 1]) : NULL;
		*unknown = !here || here->dynamic;
		return *unknown ? NULL : here;
	}
	return NULL;
}

/* A file that this very line has written is read as the commands that it will be. */
static void look_at_script(struct shell *s, const struct shell_word *file, int depth)
{
	bool unknown;
	const struct shell_word *text = shell_written(s, file, &unknown);
	if (shell_word_process(file))
		shell_opaque(s, "a shell that reads what another command writes");
	else if (unknown)
		shell_opaque(s, "a program that this line writes and runs");
	else if (text && !shell_look_script(s, text))
		shell_look_text(s, text, 1, depth);
}

/* fish: --command=TEXT, --init-command TEXT, -C TEXT, before what else it runs. How many words. */
static size_t look_at_fish_option(struct shell *s, const struct shell_part *p, size_t i, int depth)
{
	static const char *const names[] = { "-C", "--init-command", "--command", NULL };
	for (const char *const *name = names; *name; name++) {
		size_t len = strlen(*name);
		struct shell_word text = p->word[i];
		if (!shell_word_begins(&text, *name))
			continue;
		bool apart = text.len == len, joined = (*name)[1] == 'C' || text.text[len] == '=';
		if (apart && i + 1 < p->nr_words)
			text = p->word[i + 1];
		else if (!apart && joined)
			text = shell_word_of(text.text + len + ((*name)[1] != 'C'));
		else
			continue;
		shell_look_text(s, &text, 1, depth);
		return apart ? 2 : 1;
	}
	return 0;
}

/* sh, bash and their like: -c TEXT, a script file, or commands from standard input. */
static void look_into_shell(struct shell *s, struct shell_part *p, int depth)
{
	static const char *const timed[] = { "at", "batch", NULL };
	size_t i = 1;
	bool fish = !strcmp(shell_base(&p->word[0]), "fish");
	bool text = false, from_stdin = shell_among(shell_base(&p->word[0]), timed);
	for (; i < p->nr_words && !text; i++) {
		const struct shell_word *w = &p->word[i];
		if (w->dynamic && w->prefix == 0) {
			shell_opaque(s, "a shell with options that are not known");
			return;
		}
		if (w->len < 2 || (w->text[0] != '-' && w->text[0] != '+'))
			break;
		size_t taken = fish ? look_at_fish_option(s, p, i, depth) : 0;
		if (taken) {
			i += taken - 1;
			continue;
		}
		if (w->text[1] == '-') {
			if (shell_word_is(w, "--")) {
				i++;
				break;
			}
			bool file = shell_word_is(w, "--rcfile") || shell_word_is(w, "--init-file");
			if (file && ++i < p->nr_words)
				look_at_script(s, &p->word[i], depth);
			continue;
		}
		text = w->text[0] == '-' && memchr(w->text, 'c', w->len);
		from_stdin |= memchr(w->text, 's', w->len) != NULL;
		if (memchr(w->text, 'o', w->len) || memchr(w->text, 'O', w->len))
			i++;
	}
	/* options may follow -c: sh -c -e TEXT */
	while (text && i < p->nr_words && p->word[i].len > 1 && !p->word[i].dynamic &&
	       (p->word[i].text[0] == '-' || p->word[i].text[0] == '+'))
		i++;
	if (text && i < p->nr_words) {
		p->flags |= SHELL_LOOKED;
		shell_look_text(s, &p->word[i], 1, depth);
		return;
	}
	if (!text && !from_stdin && i < p->nr_words && !reads_stdin(&p->word[i])) {
		look_at_script(s, &p->word[i], depth);
		return; /* a script file: a command like any other */
	}
	if (p->nr_words == 2 &&
	    (shell_word_is(&p->word[1], "--version") || shell_word_is(&p->word[1], "--help")))
		return;
	shell_look_stdin(s, p, depth);
}

void shell_look_loose(struct shell *s, struct shell_part *p, int depth)
{
	p->flags |= SHELL_LOOSE;
	/* docker run IMAGE sh -c TEXT */
	for (size_t i = 1; i + 1 < p->nr_words && !s->opaque; i++) {
		const char *name = shell_base(&p->word[i]);
		bool text = shell_is_shell(name) && shell_word_begins(&p->word[i + 1], "-") &&
			    !p->word[i + 1].dynamic && p->word[i + 1].text[1] != '-' &&
			    strchr(p->word[i + 1].text, 'c');
		if (!text && !shell_code_option(name, &p->word[i + 1]))
			continue;
		struct shell_part inner = { .flags = p->flags & SHELL_REACHES };
		for (; i < p->nr_words; i++)
			shell_part_push(&inner, &p->word[i]);
		shell_look(s, &inner, depth + 1);
	}
}

/* Text that a shell may evaluate later: in a subscript (let 'x[$(ls)]=1'), with ${x@P}, in PS4. */
bool shell_holds_command(const struct shell_word *w)
{
	return !w->dynamic && (memmem(w->text, w->len, "$(", 2) || memchr(w->text, '`', w->len));
}

static bool evaluates_words(const struct shell_part *p, const char *name)
{
	static const char *const always[] = { "complete", "compgen", "mapfile", "readarray", NULL };
	static const char *const data[] = { "echo", "history", "printf", NULL };
	bool any = shell_among(name, always);
	bool prints = shell_among(name, data) &&
		      !(p->nr_words > 1 && shell_word_begins(&p->word[1], "-v"));
	for (size_t i = 1; !prints && i < p->nr_words; i++)
		any |= shell_holds_command(&p->word[i]);
	return any;
}

/* Words of the shell itself that change what comes after them. */
static void look_at_builtin(struct shell *s, struct shell_part *p, const char *name, int depth)
{
	static const char *const declares[] = { "export", "declare",  "typeset",
						"local",  "readonly", NULL };
	static const char *const reads[] = { ".", "source", NULL };
	if (evaluates_words(p, name))
		p->flags |= SHELL_LOOSE;
	if (!strcmp(name, "eval")) {
		p->flags |= SHELL_LOOKED;
		shell_look_text(s, p->word + 1, p->nr_words - 1, depth);
	} else if (!strcmp(name, "trap")) {
		size_t at = p->nr_words > 1 && shell_word_is(&p->word[1], "--") ? 2 : 1;
		if (p->nr_words > at + 1 && !shell_word_is(&p->word[at], "-"))
			shell_look_text(s, p->word + at, 1, depth);
	} else if (!strcmp(name, "cd") || !strcmp(name, "pushd")) {
		if (p->nr_words == 2 && !p->word[1].dynamic)
			strv_push_bytes(&s->dirs, p->word[1].text, p->word[1].len);
	} else if (shell_among(name, declares)) {
		for (size_t i = 1; i < p->nr_words; i++) {
			look_at_stdin_variable(s, p->word[i].text, p->word[i].len);
			if (p->word[i].dynamic
				    ? p->word[i].prefix == 0 ||
					      shell_reaches(p->word[i].text, p->word[i].len)
				    : shell_reaches(p->word[i].text, p->word[i].len))
				p->flags |= SHELL_REACHES | SHELL_LOOSE;
		}
	} else if (shell_among(name, reads)) {
		p->flags |= SHELL_REACHES;
		if (p->nr_words > 1 &&
		    (reads_stdin(&p->word[1]) || shell_word_process(&p->word[1])))
			shell_look_stdin(s, p, depth);
		else if (p->nr_words > 1)
			look_at_script(s, &p->word[1], depth);
	}
}

/* gdb -ex 'run push' git: the last word is the program, an option has its arguments. */
static void look_into_debugger(struct shell *s, struct shell_part *p, int depth)
{
	struct shell_part turned = { .flags = (p->flags & SHELL_REACHES) | SHELL_LOOKED |
					      SHELL_LOOSE | SHELL_GUESS };
	shell_part_push(&turned, &p->word[p->nr_words - 1]);
	for (size_t i = 1; i < p->nr_words; i++)
		shell_part_push(&turned, &p->word[i]);
	shell_add(s, &turned);
	shell_look_loose(s, p, depth);
}

bool shell_is_shell(const char *name)
{
	static const char *const shells[] = { "sh",    "bash", "dash",	"ash",	 "zsh",	 "ksh",
					      "ksh93", "mksh", "rbash", "yash",	 "posh", "fish",
					      "csh",   "tcsh", "at",	"batch", NULL };
	return shell_among(name, shells);
}

void shell_look(struct shell *s, struct shell_part *p, int depth)
{
	static const char *const debuggers[] = { "gdb", "lldb", "cgdb", NULL };
	add_targets(s, p);
	if (depth > SHELL_DEPTH_MAX)
		shell_opaque(s, "nested too deeply");
	if (s->opaque || (!p->nr_words && !p->env.nr)) {
		shell_part_release(p);
		return;
	}
	look_at_env(s, p);
	size_t mine = s->nr;
	/* before what it runs; @p's lists stay valid, the flags are set in the copy */
	shell_add(s, p);
	if (mine == s->nr || !p->nr_words || s->surface)
		return;
	struct shell_part part = *p;
	const char *name = shell_base(&part.word[0]);
	if (shell_is_wrapper(name))
		shell_look_wrapper(s, &part, depth);
	else if (shell_is_shell(name))
		look_into_shell(s, &part, depth);
	else if (!strcmp(name, "find"))
		look_into_find(s, &part, depth);
	else if (!strcmp(name, "git"))
		shell_look_git(s, &part);
	else if (!strncmp(name, "git-", 4) && name[4])
		shell_look_git_dash(s, &part, name + 4);
	else if (shell_is_builtin(name))
		look_at_builtin(s, &part, name, depth);
	else if (shell_is_interpreter(name))
		shell_look_interpreter(s, &part, depth);
	else if (shell_among(name, debuggers) && part.nr_words > 1)
		look_into_debugger(s, &part, depth);
	else if (!shell_is_plain(&part))
		shell_look_loose(s, &part, depth);
	if (strchr(part.word[0].text, '/'))
		look_at_script(s, &part.word[0], depth);
	s->part[mine].flags = part.flags;
}

/* Once a line sets PATH or its like, every name in it may mean something else. */
static void shell_look_spread(struct shell *s)
{
	bool any = false;
	for (size_t i = 0; i < s->nr; i++)
		any |= (s->part[i].flags & SHELL_REACHES) != 0;
	for (size_t i = 0; any && i < s->nr; i++)
		s->part[i].flags |= SHELL_REACHES;
}

static struct shell *shell_split_text(const char *text, size_t len, bool surface)
{
	struct shell *s = NEW(struct shell);
	s->surface = surface;
	if (len > SHELL_TEXT_MAX)
		shell_opaque(s, "longer than 64 KiB");
	else
		shell_read(s, text, len, 0);
	shell_look_spread(s);
	if (!surface)
		shell_look_made(s);
	return s;
}

struct shell *shell_split(const char *text, size_t len)
{
	return shell_split_text(text, len, false);
}

struct shell *shell_split_surface(const char *text, size_t len)
{
	return shell_split_text(text, len, true);
}

struct shell *shell_split_argv(const struct strv *argv)
{
	struct shell *s = NEW(struct shell);
	struct shell_part p = { 0 };
	size_t total = 0;
	for (size_t i = 0; i < argv->nr; i++) {
		struct shell_word w = { .text = arena_strndup(&s->arena, argv->item[i],
							      argv->len[i]),
					.len = argv->len[i],
					.quoted = true,
					.prefix = argv->len[i],
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
	shell_look_spread(s);
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
	strv_release(&(*s)->assigned);
	arena_release(&(*s)->arena);
	free(*s);
	*s = NULL;
}
