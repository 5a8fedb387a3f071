/* Programs that a line makes and then runs: a Makefile and make, a hook and git commit, a copy of a
 * program under another name. Each part alone is harmless. If a line makes files and also runs
 * something that may read them, the texts of those files are loose (shell.h), and the words of a
 * copy are joined with the words of the programs that the line runs. */
#include "action/shell_parse.h"

#include <stdlib.h>
#include <string.h>

enum made {
	MADE_DOC = 1 << 0,    /* a text that no tool takes for a program by its name */
	MADE_FILE = 1 << 1,   /* any other file */
	MADE_SCRIPT = 1 << 2, /* its name makes it a program, and the line doesn't show its text */
};

enum runs {
	RUNS_TOOL = 1 << 0, /* reads files of the project by their names */
	RUNS_FILE = 1 << 1, /* a shell, an interpreter, a program of any name */
};

static bool word_ends_in(const struct shell_word *w, const char *const *list)
{
	for (; *list; list++) {
		size_t len = strlen(*list);
		if (!w->dynamic && w->len >= len && !memcmp(w->text + w->len - len, *list, len))
			return true;
	}
	return false;
}

static bool is_document(const struct shell_word *w)
{
	static const char *const ends[] = { ".md",  ".txt", ".rst",  ".adoc",
					    ".log", ".csv", ".html", NULL };
	static const char *const programs[] = { "CMakeLists.txt", NULL };
	return word_ends_in(w, ends) && !word_ends_in(w, programs);
}

/* Files that tools run by their names. */
static bool is_program(const struct shell_word *w)
{
	static const char *const ends[] = { "akefile",
					    ".mk",
					    "CMakeLists.txt",
					    "package.json",
					    "conftest.py",
					    "setup.py",
					    "build.rs",
					    "Rakefile",
					    "justfile",
					    ".bashrc",
					    ".profile",
					    ".bash_login",
					    ".zshrc",
					    ".bash_profile",
					    ".gitconfig",
					    ".git/config",
					    ".envrc",
					    ".npmrc",
					    NULL };
	return word_ends_in(w, ends) || (!w->dynamic && memmem(w->text, w->len, ".git/hooks/", 11));
}

/* Programs that make files out of what their words name, or out of their input. */
static bool makes_file(const char *name)
{
	static const char *const names[] = { "cp",	"mv",	   "ln",    "install", "dd",
					     "tee",	"rsync",   "tar",   "cpio",    "patch",
					     "gcc",	"cc",	   "clang", "g++",     "c++",
					     "clang++", "tcc",	   "as",    "ld",      "rustc",
					     "sponge",	"link",	   "unzip", "gunzip",  "base64",
					     "xxd",	"objcopy", NULL };
	return shell_among(name, names);
}

static bool any_holds(const struct shell_part *p, const char *text)
{
	for (size_t i = 1; i < p->nr_words; i++)
		if (memmem(p->word[i].text, p->word[i].len, text, strlen(text)))
			return true;
	return false;
}

static bool any_begins(const struct shell_part *p, const char *text)
{
	for (size_t i = 1; i < p->nr_words; i++)
		if (shell_word_begins(&p->word[i], text))
			return true;
	return false;
}

static bool has_here(const struct shell_part *p)
{
	for (size_t i = 0; i < p->nr_redirects; i++)
		if (p->redirect[i].kind == SHELL_HERE)
			return true;
	return false;
}

/* Code of another language, or a patch, that writes files: their text is in its words. */
static bool code_writes(const struct shell_part *p)
{
	const char *name = p->nr_words ? shell_base(&p->word[0]) : "";
	if (!strcmp(name, "find"))
		return any_begins(p, "-fprint");
	if (!strcmp(name, "git"))
		return has_here(p) && (any_begins(p, "apply") || any_begins(p, "am"));
	if (!strcmp(name, "sed") || !strcmp(name, "gsed"))
		return any_begins(p, "-i") || any_begins(p, "--in-place") || any_holds(p, "w ");
	return shell_is_interpreter(name) &&
	       (any_holds(p, ">") || any_holds(p, "open") || any_holds(p, "rite") ||
		any_begins(p, "-i") || any_begins(p, "-pi") || any_begins(p, "-ni"));
}

/* Is the text that the writer of a file puts there in the line, as it is? */
static bool shows_text(const struct shell_part *writer)
{
	static const char *const prints[] = { "echo", "printf", "cat", "tee", NULL };
	bool shown = writer->nr_words && shell_among(shell_base(&writer->word[0]), prints);
	for (size_t i = 1; shown && i < writer->nr_words; i++)
		shown = !writer->word[i].dynamic &&
			(strcmp(shell_base(&writer->word[0]), "printf") != 0 ||
			 !(strstr(writer->word[i].text, "\\x") ||
			   strstr(writer->word[i].text, "\\1") ||
			   strstr(writer->word[i].text, "\\0")));
	for (size_t i = 0; shown && i < writer->nr_redirects; i++)
		shown = writer->redirect[i].kind != SHELL_IN &&
			(writer->redirect[i].kind != SHELL_HERE ||
			 !writer->redirect[i].target.dynamic);
	return shown;
}

/* Standard input or another command's output as the program: make -f -, make -f <(...). */
static bool reads_made(const struct shell_part *p)
{
	static const char *const names[] = { "-", "/dev/stdin", "/dev/fd/0", NULL };
	for (size_t i = 1; i < p->nr_words; i++)
		if (shell_word_process(&p->word[i]) ||
		    (!p->word[i].dynamic && shell_among(p->word[i].text, names)))
			return true;
	return false;
}

static bool is_editor(const struct shell_part *p)
{
	static const char *const names[] = { "vim", "vi", "ex", "ed", "nvim", "emacs", NULL };
	return p->nr_words && shell_among(shell_base(&p->word[0]), names);
}

/* core.editor, sequence.editor: the case doesn't count */
static bool names_editor(const struct shell_part *p)
{
	for (size_t i = 1; i < p->nr_words; i++)
		if (strcasestr(p->word[i].text, "editor"))
			return true;
	return false;
}

/* GIT_EDITOR=sh git commit -e -F-: the editor, which may be a shell, runs the message. */
static bool runs_message(const struct shell_part *p)
{
	static const char *const verbs[] = { "commit", "tag",	 "merge",	"notes",
					     "rebase", "revert", "cherry-pick", NULL };
	if (p->flags & SHELL_TARGET || !p->nr_words ||
	    strcmp(shell_base(&p->word[0]), "git") != 0 ||
	    !(p->flags & SHELL_REACHES || names_editor(p)))
		return false;
	for (size_t i = 1; i < p->nr_words; i++)
		if (!p->word[i].dynamic && shell_among(p->word[i].text, verbs))
			return true;
	return false;
}

static unsigned part_runs(const struct shell_part *p)
{
	if (p->flags & SHELL_TARGET || is_editor(p))
		return 0;
	if (p->flags & (SHELL_REACHES | SHELL_SETS))
		return RUNS_FILE;
	if (runs_message(p))
		return RUNS_FILE;
	if (!p->nr_words)
		return 0;
	const char *name = shell_base(&p->word[0]);
	if (shell_is_tool(name))
		return RUNS_TOOL;
	if (!strcmp(name, ".") || !strcmp(name, "source") || p->word[0].dynamic ||
	    shell_is_shell(name))
		return RUNS_FILE;
	if (!strcmp(name, "awk") || !strcmp(name, "sed") || shell_is_builtin(name) ||
	    shell_is_wrapper(name) || makes_file(name))
		return 0;
	return p->flags & SHELL_LOOSE || memchr(p->word[0].text, '/', p->word[0].len) ? RUNS_FILE
										      : 0;
}

/* git commit -F -: its input is the message. Options that start an editor are not among these. */
static bool reads_message(const struct shell_part *p)
{
	static const char *const plain[] = {
		"-F",	       "-",	    "--file=-",	     "-a",	"-aF",	   "-q",
		"-s",	       "-n",	    "--all",	     "--quiet", "--amend", "--signoff",
		"--no-verify", "--no-edit", "--allow-empty", NULL
	};
	bool message = p->nr_words > 2 && !(p->flags & SHELL_REACHES) &&
		       shell_word_is(&p->word[0], "git") && shell_word_is(&p->word[1], "commit");
	for (size_t i = 2; message && i < p->nr_words; i++)
		message = !p->word[i].dynamic && shell_among(p->word[i].text, plain);
	return message;
}

static unsigned part_makes(const struct shell *s, size_t i)
{
	const struct shell_part *p = &s->part[i];
	if (is_editor(p))
		return MADE_SCRIPT;
	if (!(p->flags & SHELL_TARGET))
		return p->nr_words && (makes_file(shell_base(&p->word[0])) || code_writes(p) ||
				       runs_message(p) ||
				       (part_runs(p) && reads_made(p) && !reads_message(p)))
			       ? MADE_FILE
			       : 0;
	if (is_document(&p->word[1]))
		return MADE_DOC;
	bool shown = i + 1 < s->nr && shows_text(&s->part[i + 1]);
	return MADE_FILE | (is_program(&p->word[1]) && !shown ? MADE_SCRIPT : 0);
}

/* echo, printf, code that writes, and everything with a here-document. */
static bool holds_text(const struct shell_part *p)
{
	static const char *const prints[] = { "echo", "printf", NULL };
	return has_here(p) || code_writes(p) || runs_message(p) ||
	       (p->nr_words > 1 && shell_among(shell_base(&p->word[0]), prints));
}

enum reading {
	AS_TEXT, /* without quotes, as the language of the file may read it */
	PRINTED, /* with printf's escapes for blanks read, too */
	AS_CODE, /* words stand between signs: s/a/git push/ */
};

/* Of @s's arena. */
static struct shell_word made_reading(struct shell *s, const struct shell_word *w, enum reading how)
{
	char *text = arena_strndup(&s->arena, w->text, w->len);
	size_t len = 0;
	for (size_t i = 0; i < w->len; i++) {
		bool blank = how == PRINTED && w->text[i] == '\\' && i + 1 < w->len &&
			     strchr("nrtvf", w->text[i + 1]);
		if (blank)
			text[len++] = ' ', i++;
		else if (how == AS_CODE && strchr("/|,;:#!%~", w->text[i]))
			text[len++] = ' ';
		else if (!strchr("'\"\\", w->text[i]))
			text[len++] = w->text[i];
	}
	text[len] = 0;
	return (struct shell_word){ .text = text, .len = len, .prefix = len, .suffix = len };
}

static void add_texts(struct shell *s, struct shell_part *to, const struct shell_part *from)
{
	for (size_t i = 1; i < from->nr_words; i++) {
		for (enum reading how = AS_TEXT; how <= AS_CODE; how++) {
			struct shell_word w = from->word[i].dynamic
						      ? from->word[i]
						      : made_reading(s, &from->word[i], how);
			shell_part_push(to, &w);
		}
	}
	for (size_t i = 0; i < from->nr_redirects; i++)
		if (from->redirect[i].kind == SHELL_HERE) {
			struct shell_word w = made_reading(s, &from->redirect[i].target, AS_TEXT);
			shell_part_push(to, &w);
		}
}

static void add_made_words(struct shell_part *to, const struct shell_part *from)
{
	for (size_t i = 1; i < from->nr_words; i++)
		shell_part_push(to, &from->word[i]);
}

static bool copies_file(const struct shell *s, size_t i)
{
	const struct shell_part *p = &s->part[i];
	return p->nr_words && !(p->flags & SHELL_TARGET) && !holds_text(p) &&
	       (makes_file(shell_base(&p->word[0])) || code_writes(p) ||
		(i && s->part[i - 1].flags & SHELL_TARGET));
}

static void add_unless_empty(struct shell *s, struct shell_part *p)
{
	if (p->nr_words)
		shell_add(s, p);
	else
		shell_part_release(p);
}

static void add_made(struct shell *s, size_t nr)
{
	struct shell_part texts = { .flags = SHELL_LOOKED | SHELL_LOOSE | SHELL_GUESS };
	struct shell_part joined = { .flags = SHELL_LOOKED | SHELL_LOOSE | SHELL_GUESS };
	for (size_t i = 0; i < nr; i++) {
		if (!holds_text(&s->part[i]))
			continue;
		s->part[i].flags |= SHELL_LOOSE;
		add_texts(s, &texts, &s->part[i]);
	}
	for (size_t i = 0; i < nr; i++)
		if (copies_file(s, i))
			add_made_words(&joined, &s->part[i]);
	for (size_t i = 0; joined.nr_words && i < nr; i++)
		if (part_runs(&s->part[i]) & RUNS_FILE)
			add_made_words(&joined, &s->part[i]);
	add_unless_empty(s, &texts);
	add_unless_empty(s, &joined);
}

void shell_look_made(struct shell *s)
{
	unsigned made = 0, runs = 0;
	size_t nr = s->nr;
	for (size_t i = 0; i < nr; i++) {
		made |= part_makes(s, i);
		runs |= part_runs(&s->part[i]);
	}
	if (s->opaque || !runs || !made || (made == MADE_DOC && !(runs & RUNS_FILE)))
		return;
	if (made & MADE_SCRIPT)
		shell_opaque(s, "a program that this line writes and runs");
	else
		add_made(s, nr);
}
