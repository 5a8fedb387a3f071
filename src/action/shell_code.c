/* Code of other languages inside a command line. It is not parsed: it is tame when none of its
 * words could run a program, else the line is opaque. The lists err on the side of asking. */
#include "action/shell_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum language {
	LANG_PYTHON,
	LANG_NODE,
	LANG_PERL,
	LANG_RUBY,
	LANG_PHP,
	LANG_LUA,
	LANG_AWK,
	LANG_SED,
	LANG_OTHER
};

static const struct interpreter {
	const char *name; /* versions may follow: python3.11 */
	enum language lang;
	/* short options that take code; of perl and ruby also at the end of a cluster */
	const char *letters;
	const char *const *longs;
	const char *values; /* short options with a value of another kind */
	bool first_is_code; /* awk, sed: the first operand */
	/* the first operand is a program in a file; without one it is read from stdin */
	bool files_are_code;
} shell_code_interpreters[] = {
	{ "python", LANG_PYTHON, "c", NULL, "WXm", false, true },
	{ "pypy", LANG_PYTHON, "c", NULL, "WXm", false, true },
	{ "nodejs", LANG_NODE, "ep", (const char *const[]){ "--eval", "--print", NULL }, "rC",
	  false, true },
	{ "node", LANG_NODE, "ep", (const char *const[]){ "--eval", "--print", NULL }, "rC", false,
	  true },
	{ "deno", LANG_NODE, "", (const char *const[]){ "eval", NULL }, "", false, false },
	{ "tsx", LANG_NODE, "ep", (const char *const[]){ "--eval", "--print", NULL }, "", false,
	  true },
	{ "perl", LANG_PERL, "eE", NULL, "I", false, true },
	{ "ruby", LANG_RUBY, "e", NULL, "IrCE", false, true },
	{ "php", LANG_PHP, "rBRE", (const char *const[]){ "--run", NULL }, "cdfz", false, true },
	{ "luajit", LANG_LUA, "e", NULL, "l", false, true },
	{ "lua", LANG_LUA, "e", NULL, "l", false, true },
	{ "awk", LANG_AWK, "", NULL, "Fv", true, false },
	{ "gawk", LANG_AWK, "e", NULL, "Fv", true, false },
	{ "mawk", LANG_AWK, "", NULL, "Fv", true, false },
	{ "nawk", LANG_AWK, "", NULL, "Fv", true, false },
	{ "sed", LANG_SED, "e", (const char *const[]){ "--expression", NULL }, "l", true, false },
	{ "gsed", LANG_SED, "e", (const char *const[]){ "--expression", NULL }, "l", true, false },
	{ "Rscript", LANG_OTHER, "e", NULL, "", false, true },
	{ "osascript", LANG_OTHER, "e", NULL, "l", false, true },
	{ "expect", LANG_OTHER, "c", NULL, "f", false, true },
	{ "tclsh", LANG_OTHER, "", NULL, "", false, true },
	{ "julia", LANG_OTHER, "eE", (const char *const[]){ "--eval", NULL }, "", false, true },
	{ "elixir", LANG_OTHER, "e", (const char *const[]){ "--eval", NULL }, "", false, true },
	{ "guile", LANG_OTHER, "c", NULL, "", false, true },
	{ "racket", LANG_OTHER, "e", NULL, "", false, true },
	{ "pwsh", LANG_OTHER, "c",
	  (const char *const[]){ "-Command", "-command", "-EncodedCommand", NULL }, "", false,
	  true },
	{ "nu", LANG_OTHER, "c", (const char *const[]){ "--commands", NULL }, "", false, true },
	{ "xonsh", LANG_OTHER, "c", NULL, "", false, true },
	{ "groovy", LANG_OTHER, "e", NULL, "", false, true },
	{ "scala", LANG_OTHER, "e", NULL, "", false, true },
	{ "jshell", LANG_OTHER, "", NULL, "", false, true },
	{ "dc", LANG_OTHER, "e", (const char *const[]){ "--expression", NULL }, "", false, false },
	{ "m4", LANG_OTHER, "", NULL, "", false, true },
	{ "sqlite3", LANG_OTHER, "", NULL, "", false, false },
};

static const struct interpreter *interpreter_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_code_interpreters); i++) {
		size_t len = strlen(shell_code_interpreters[i].name);
		if (!strncmp(name, shell_code_interpreters[i].name, len) &&
		    !name[len + strspn(name + len, "0123456789.")])
			return &shell_code_interpreters[i];
	}
	return NULL;
}

bool shell_is_interpreter(const char *name)
{
	return interpreter_find(name) != NULL;
}

/* --- is it tame? --- */

static bool shell_code_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Calls @bad with each word of @text; true if one is. */
static bool any_word(const char *text, size_t len, bool (*bad)(const char *word))
{
	char word[64];
	for (size_t i = 0; i < len;) {
		size_t n = 0;
		while (i < len && shell_code_word_char(text[i])) {
			if (n < sizeof word - 1)
				word[n++] = text[i];
			i++;
		}
		word[n] = 0;
		if (n && bad(word))
			return true;
		if (!n)
			i++;
	}
	return false;
}

/* Names that run programs, or reach something that does, in any language. */
static bool runs_in_any(const char *w)
{
	static const char *const parts[] = { "exec", "spawn",	   "system",   "popen",
					     "eval", "subprocess", "passthru", "__",
					     "fork", "syscall",	   "shell" };
	static const char *const names[] = {
		"os",	    "pty",	   "commands",	 "getattr",
		"setattr",  "globals",	   "locals",	 "vars",
		"builtins", "compile",	   "importlib",	 "import_module",
		"runpy",    "ctypes",	   "cffi",	 "multiprocessing",
		"asyncio",  "breakpoint",  "help",	 "modules",
		"pickle",   "marshal",	   "code",	 "pdb",
		"input",    "antigravity", "webbrowser", "imp",
		"loader",   NULL
	};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcasestr(w, parts[i]))
			return true;
	return shell_among(w, names);
}

static bool runs_in_node(const char *w)
{
	static const char *const names[] = {
		"child_process", "import", "constructor", "Function",
		"binding",	 "dlopen", "mainModule",  "getBuiltinModule",
		"globalThis",	 "global", "vm",	  "worker_threads",
		"cluster",	 "module", "Reflect",	  "Proxy",
		"Bun",		 "Deno",   "WebAssembly", NULL
	};
	return runs_in_any(w) || shell_among(w, names);
}

static bool runs_in_perl(const char *w)
{
	static const char *const names[] = { "qx",  "open", "do",  "require", "no", "bless",
					     "can", "glob", "sub", "dump",    "ee", "e",
					     "ge",  "eg",   "gee", NULL };
	return runs_in_any(w) || shell_among(w, names);
}

static bool runs_in_ruby(const char *w)
{
	static const char *const names[] = { "open",
					     "send",
					     "public_send",
					     "Kernel",
					     "IO",
					     "Process",
					     "method",
					     "require",
					     "load",
					     "const_get",
					     "x",
					     "binding",
					     "instance_variable_get",
					     "define_method",
					     "Object",
					     "require_relative",
					     "ObjectSpace",
					     NULL };
	return runs_in_any(w) || shell_among(w, names);
}

static bool runs_in_lua(const char *w)
{
	static const char *const names[] = { "execute",	 "load",    "loadstring", "dofile",
					     "loadfile", "require", "debug",	  "package",
					     "_G",	 "_ENV",    "getfenv",	  NULL };
	static const char *const parts[] = { "popen" };
	return shell_among(w, names) || strcasestr(w, parts[0]);
}

static bool runs_in_awk(const char *w)
{
	static const char *const names[] = { "system", "getline", NULL };
	return shell_among(w, names);
}

/* Every module that the code imports is one that runs nothing. */
static bool python_imports_tame(const char *text)
{
	static const char *const tame[] = {
		"json",	      "sys",	     "re",	   "math",	   "time",
		"datetime",   "collections", "itertools",  "functools",	   "pathlib",
		"string",     "random",	     "textwrap",   "hashlib",	   "struct",
		"statistics", "csv",	     "decimal",	   "fractions",	   "unicodedata",
		"difflib",    "pprint",	     "typing",	   "dataclasses",  "enum",
		"operator",   "heapq",	     "bisect",	   "calendar",	   "uuid",
		"base64",     "urllib",	     "tomllib",	   "yaml",	   "toml",
		"glob",	      "io",	     "zlib",	   "gzip",	   "zipfile",
		"tarfile",    "sqlite3",     "secrets",	   "html",	   "email",
		"socket",     "ssl",	     "http",	   "requests",	   "numpy",
		"pandas",     "ast",	     "tokenize",   "inspect",	   "traceback",
		"warnings",   "logging",     "argparse",   "configparser", "binascii",
		"ipaddress",  "locale",	     "shutil",	   "tempfile",	   "fnmatch",
		"copy",	      "abc",	     "contextlib", "numbers",	   "site",
		"sysconfig",  "setuptools",  "django",	   "flask",	   "torch",
		"pytest",     "xml",	     "codecs",	   "types",	   NULL
	};
	for (const char *p = text; (p = strstr(p, "import")) != NULL; p += 6) {
		if (p > text && shell_code_word_char(p[-1]))
			continue;
		if (p[6] != ' ' && p[6] != '\t')
			return false; /* __import__, importlib: something else */
		const char *line = p;
		while (line > text && line[-1] != '\n' && line[-1] != ';')
			line--;
		line += strspn(line, " \t");
		bool from = !strncmp(line, "from ", 5);
		const char *name = from ? line + 5 : p + 7;
		do {
			char module[40];
			name += strspn(name, " \t(");
			size_t n = 0;
			while (shell_code_word_char(name[n]) && n < sizeof module - 1) {
				module[n] = name[n];
				n++;
			}
			module[n] = 0;
			if (!shell_among(module, tame))
				return false;
			if (from)
				break;
			name += strcspn(name, ",;\n");
		} while (*name++ == ',');
	}
	return true;
}

/* require('x') of a module that runs nothing, or of a file of the project. */
static bool node_requires_tame(const char *text)
{
	static const char *const tame[] = { "fs",	   "path",   "util",   "crypto", "url",
					    "assert",	   "zlib",   "semver", "buffer", "events",
					    "querystring", "stream", NULL };
	for (const char *p = text; (p = strstr(p, "require")) != NULL;) {
		p += strlen("require");
		p += strspn(p, " (");
		char q = *p, name[64];
		if (q != '\'' && q != '"')
			return false;
		p++;
		p += !strncmp(p, "node:", 5) ? 5 : 0;
		size_t n = strcspn(p, "'\"");
		if (n >= sizeof name)
			return false;
		memcpy(name, p, n);
		name[n] = 0;
		if (name[0] != '.' && !shell_among(name, tame))
			return false;
	}
	return true;
}

/* obj["na" + "me"] */
static bool computed_names(const char *text)
{
	for (const char *p = text + 1; text[0] && *p; p++)
		if (*p == '[' && (shell_code_word_char(p[-1]) || p[-1] == ')' || p[-1] == ']') &&
		    !isdigit((unsigned char)p[1]) && p[1] != '-')
			return true;
	return false;
}

static const char *skip_part(const char *p, char delim)
{
	while (*p && *p != delim)
		p += *p == '\\' && p[1] ? 2 : 1;
	return *p ? p + 1 : p;
}

/* sed: the command e, or s with the flag e. */
static bool sed_runs(const char *p)
{
	while (*p) {
		p += strspn(p, " \t\n;{}0123456789,$~+!");
		if (*p == '/' || (*p == '\\' && p[1])) {
			char delim = *p == '/' ? '/' : p[1];
			p = skip_part(p + (*p == '/' ? 1 : 2), delim);
			p += strspn(p, "IM");
			continue;
		}
		char c = *p;
		if (!c)
			break;
		p++;
		if (c == 'e')
			return true;
		if ((c == 's' || c == 'y') && *p) {
			char delim = *p;
			p = skip_part(skip_part(p + 1, delim), delim);
			size_t flags = strspn(p, "gpiImMe0123456789");
			if (c == 's' && memchr(p, 'e', flags))
				return true;
			p += flags;
		} else if (strchr("aicrRwW#", c)) {
			p += strcspn(p, "\n");
		} else if (strchr(":btT", c)) {
			p += strcspn(p, "\n;}");
		}
	}
	return false;
}

static bool awk_runs(const char *text, size_t len)
{
	for (const char *p = text; (p = strchr(p, '|')) != NULL; p++) {
		if (p[1] == '|') {
			p++;
			continue;
		}
		bool regex = false; /* /a|b/: between slashes */
		for (const char *q = text; q < p; q++)
			regex ^= *q == '/' && (q == text || q[-1] != '\\');
		if (!regex)
			return true;
	}
	return strchr(text, '@') || any_word(text, len, runs_in_awk);
}

static bool code_tame(enum language lang, const struct shell_word *code)
{
	const char *t = code->text;
	if (strlen(t) != code->len)
		return false;
	switch (lang) {
	case LANG_PYTHON:
		return !any_word(t, code->len, runs_in_any) && python_imports_tame(t);
	case LANG_NODE:
		return !any_word(t, code->len, runs_in_node) && node_requires_tame(t) &&
		       !computed_names(t);
	case LANG_PERL:
		return !any_word(t, code->len, runs_in_perl) && !strpbrk(t, "`&") &&
		       !strstr(t, "->");
	case LANG_RUBY:
		return !any_word(t, code->len, runs_in_ruby) && !strchr(t, '`');
	case LANG_PHP:
		return !any_word(t, code->len, runs_in_any) && !strchr(t, '`') &&
		       !strstr(t, "assert") && !strstr(t, "call_user") && !strstr(t, "array_map") &&
		       !strstr(t, "include") && !strstr(t, "require");
	case LANG_LUA:
		return !any_word(t, code->len, runs_in_lua) && !computed_names(t);
	case LANG_AWK:
		return !awk_runs(t, code->len);
	case LANG_SED:
		return !sed_runs(t);
	case LANG_OTHER:
		break;
	}
	return false;
}

static void judge_code(struct shell *s, enum language lang, const struct shell_word *code)
{
	if (code->dynamic && lang != LANG_AWK && lang != LANG_SED)
		shell_opaque(s, "code of another language that is made while it runs");
	else if (!code_tame(lang, code))
		shell_opaque(s, "code of another language that can run programs");
}

/* --- where it stands --- */

bool shell_code_option(const char *name, const struct shell_word *option)
{
	const struct interpreter *in = interpreter_find(name);
	if (!in || option->dynamic || option->len < 2)
		return false;
	if (in->longs && shell_among(option->text, in->longs))
		return true;
	if (option->text[0] != '-' || option->text[1] == '-')
		return false;
	char last = option->text[option->len - 1];
	bool cluster = in->lang == LANG_PERL || in->lang == LANG_RUBY || in->lang == LANG_SED ||
		       in->lang == LANG_PYTHON || in->lang == LANG_NODE;
	return strchr(in->letters, last) && (option->len == 2 || cluster) &&
	       !strchr(in->values, option->text[1]);
}

/* -c'print()', --eval=x: the code is in the same word. */
static bool joined_code(const struct interpreter *in, const struct shell_word *w,
			struct shell_word *code)
{
	size_t from = 0;
	for (const char *const *l = in->longs; l && *l; l++)
		if (shell_word_begins(w, *l) && w->text[strlen(*l)] == '=')
			from = strlen(*l) + 1;
	if (!from && w->len > 2 && w->text[0] == '-' && w->text[1] != '-' &&
	    strchr(in->letters, w->text[1]) && w->prefix > 1)
		from = 2;
	if (!from)
		return false;
	*code = (struct shell_word){ .text = w->text + from,
				     .len = w->len - from,
				     .dynamic = w->dynamic };
	return true;
}

static const struct shell_word *input_of_part(const struct shell_part *p, bool *file)
{
	const struct shell_word *here = NULL;
	*file = false;
	for (size_t k = 0; k < p->nr_redirects; k++) {
		here = p->redirect[k].kind == SHELL_HERE ? &p->redirect[k].target : here;
		*file |= p->redirect[k].kind == SHELL_IN;
	}
	return here;
}

/* --file=FILE, -fFILE of awk and sed; of length 0 if @w is neither. */
static struct shell_word file_option(const struct interpreter *in, const struct shell_word *w)
{
	size_t from = shell_word_begins(w, "--file=") && w->len > 7 ? 7
		      : shell_word_begins(w, "-f") && w->len > 2    ? 2
								    : 0;
	if (!from || !in->first_is_code)
		return (struct shell_word){ 0 };
	return (struct shell_word){ .text = w->text + from,
				    .len = w->len - from,
				    .dynamic = w->dynamic };
}

/* The file that an option names as the program. */
static void look_at_code_file(struct shell *s, enum language lang, const struct shell_part *p,
			      const struct shell_word *file)
{
	static const char *const input[] = { "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0",
					     NULL };
	bool unknown = false, other = false;
	const struct shell_word *text = shell_written(s, file, &unknown);
	if (!file->dynamic && shell_among(file->text, input)) {
		text = input_of_part(p, &other);
		unknown = !text;
	}
	if (text)
		judge_code(s, lang, text);
	else if (unknown || shell_word_process(file))
		shell_opaque(s, "an interpreter that reads what another command writes");
}

void shell_look_interpreter(struct shell *s, struct shell_part *p, int depth)
{
	const struct interpreter *in = interpreter_find(shell_base(&p->word[0]));
	struct shell_word joined;
	bool code = false, operand = false, module = false;
	size_t i = 1;
	for (; i < p->nr_words && !s->opaque; i++) {
		const struct shell_word *w = &p->word[i];
		if (shell_code_option(in->name, w)) {
			code = true;
			if (++i < p->nr_words)
				judge_code(s, in->lang, &p->word[i]);
			if (in->lang != LANG_PERL && in->lang != LANG_RUBY && in->lang != LANG_SED)
				break;
		} else if (joined_code(in, w, &joined)) {
			code = true;
			judge_code(s, in->lang, &joined);
		} else if (shell_word_begins(w, "-") && w->len > 1 && !shell_word_is(w, "--")) {
			module |= shell_word_begins(w, "-m") && in->lang == LANG_PYTHON;
			if (module)
				break;
			bool takes = w->len == 2 && strchr(in->values, w->text[1]);
			bool file = (w->len == 2 && w->text[1] == 'f' && in->first_is_code) ||
				    shell_word_is(w, "--file");
			struct shell_word joined_file = file_option(in, w);
			operand |= file; /* awk -f FILE */
			code |= file || joined_file.len;
			i += takes || file;
			if (file && i < p->nr_words)
				look_at_code_file(s, in->lang, p, &p->word[i]);
			else if (joined_file.len)
				look_at_code_file(s, in->lang, p, &joined_file);
		} else if (!shell_word_is(w, "--")) {
			operand = !shell_word_is(w, "-") && !shell_word_begins(w, "/dev/stdin") &&
				  !shell_word_begins(w, "/dev/fd/");
			break;
		}
	}
	if (in->first_is_code && !code && i < p->nr_words)
		judge_code(s, in->lang, &p->word[i]);
	bool file;
	const struct shell_word *here = input_of_part(p, &file);
	bool asks_itself = p->nr_words == 2 && (shell_word_begins(&p->word[1], "-v") ||
						shell_word_begins(&p->word[1], "-V") ||
						shell_word_begins(&p->word[1], "--"));
	if (in->files_are_code && !code && !operand && !module && !asks_itself) {
		if (here)
			judge_code(s, in->lang, here);
		else
			shell_opaque(s,
				     "an interpreter that reads its program from standard input");
	}
	if (operand && in->files_are_code && i < p->nr_words && shell_word_process(&p->word[i]))
		shell_opaque(s, "an interpreter that reads what another command writes");
	if (operand && i < p->nr_words && in->files_are_code) {
		bool unknown;
		const struct shell_word *text = shell_written(s, &p->word[i], &unknown);
		if (text)
			judge_code(s, in->lang, text);
		else if (unknown)
			shell_opaque(s, "a program that this line writes and runs");
	}
	if (!s->opaque && in->lang != LANG_AWK && in->lang != LANG_SED)
		shell_look_loose(s, p, depth);
}

bool shell_look_script(struct shell *s, const struct shell_word *text)
{
	const char *line = text->text;
	size_t len = strcspn(line, "\n");
	if (strncmp(line, "#!", 2) != 0)
		return false;
	while (len && !strchr("/ ", line[len - 1]))
		len--;
	char name[32];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(line + len, " \n"), line + len);
	const struct interpreter *in = interpreter_find(name);
	if (in)
		judge_code(s, in->lang, text);
	return in != NULL;
}
