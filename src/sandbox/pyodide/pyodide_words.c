/* The meaning of a command's arguments in a Python sandbox. */
#include <string.h>

#include "action/shell.h"
#include "base/mem.h"
#include "sandbox/pyodide/pyodide_priv.h"

#define RUNS                                                                                       \
	"python -c CODE, python FILE, python -m MODULE, python - with the code as input, pip install FILE.whl"

static const char *pyodide_words_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool pyodide_words_one_of(const char *word, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(pyodide_words_last_part(word), list[i]) == 0)
			return true;
	return false;
}

static bool is_python(const char *word)
{
	static const char *const names[] = { "python", "python3" };
	return pyodide_words_one_of(word, names, ARRAY_LEN(names));
}

static bool is_pip(const char *word)
{
	static const char *const names[] = { "pip", "pip3" };
	return pyodide_words_one_of(word, names, ARRAY_LEN(names));
}

static bool pyodide_words_is_shell(const char *word)
{
	static const char *const names[] = { "sh", "bash" };
	return pyodide_words_one_of(word, names, ARRAY_LEN(names));
}

/* Each byte as the character of its number. */
static json_t *pyodide_words_latin(const char *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		if (c >= 0x80)
			buf_putc(&b, (char)(0xc0 | c >> 6));
		buf_putc(&b, c < 0x80 ? (char)c : (char)(0x80 | (c & 0x3f)));
	}
	return json_stringn(buf_cstr(&b), b.len);
}

static void pyodide_words_add(json_t *list, const char *s)
{
	json_array_append_new(list, pyodide_words_latin(s, strlen(s)));
}

/* The one command of a text for sh, if a shell would do nothing with its words: appended to @argv,
 * its variables to @env. */
static bool pyodide_words_plain(const char *text, struct strv *argv, json_t *env, struct buf *in,
				bool *in_set)
{
	struct shell *s = shell_split_surface(text, strlen(text));
	const struct shell_part *p = s->nr == 1 && !s->opaque ? &s->part[0] : NULL;
	bool good = p && p->nr_words && !(p->flags & ~(unsigned)SHELL_SETS) && p->nr_redirects <= 1;
	for (size_t i = 0; good && i < p->nr_words; i++)
		good = !p->word[i].dynamic && !p->word[i].splits;
	if (good && p->nr_redirects)
		good = p->redirect[0].kind == SHELL_HERE && !p->redirect[0].target.dynamic;
	for (size_t i = 0; good && i < p->nr_words; i++)
		strv_push_bytes(argv, p->word[i].text, p->word[i].len);
	for (size_t i = 0; good && i < p->env.nr; i++)
		json_array_append_new(env, pyodide_words_latin(p->env.item[i], p->env.len[i]));
	if (good && p->nr_redirects) {
		buf_append(in, p->redirect[0].target.text, p->redirect[0].target.len);
		*in_set = true;
	}
	shell_free(&s);
	return good;
}

static void pyodide_words_refuse(const char *word, bool shell, struct buf *why)
{
	if (shell)
		buf_puts(
			why,
			"sh: a pyodide sandbox has no shell, and this is more than one plain command; it runs " RUNS
			"\n");
	else
		buf_printf(
			why,
			"%.200s: not found: a pyodide sandbox has only Python, no other programs; it runs " RUNS
			"\n",
			word);
}

static json_t *pyodide_words_job(const char *first, const struct strv *argv, json_t *env,
				 const char *cwd)
{
	json_t *o = json_object(), *words = json_array();
	CLEANUP(free_ptr)
	char *at = !cwd		 ? mem_strdup("/workspace")
		   : *cwd == '/' ? mem_strdup(cwd)
				 : mem_printf("/workspace/%s", cwd);
	pyodide_words_add(words, first);
	for (size_t i = 1; i < argv->nr; i++)
		json_array_append_new(words, pyodide_words_latin(argv->item[i], argv->len[i]));
	json_put(o, "argv", words);
	json_put(o, "env", json_incref(env));
	json_put(o, "cwd", pyodide_words_latin(at, strlen(at)));
	return o;
}

json_t *pyodide_job(const struct run_opts *o, const struct strv *env, struct buf *in, bool *in_set,
		    struct buf *why)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	static const char *const own[] = { "PATH=/usr/bin:/bin", "HOME=/home/agent", "USER=agent",
					   "LOGNAME=agent",	 "TERM=dumb",	     "LANG=C.UTF-8",
					   "TMPDIR=/tmp" };
	CLEANUP(json_release) json_t *vars = json_array();
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		pyodide_words_add(vars, own[i]);
	for (size_t i = 0; i < env->nr; i++)
		pyodide_words_add(vars, env->item[i]);
	for (size_t i = 0; o->env && o->env[i]; i++)
		pyodide_words_add(vars, o->env[i]);
	bool shell = o->nr_argv == 3 && pyodide_words_is_shell(o->argv[0]) &&
		     strcmp(o->argv[1], "-c") == 0;
	if (shell && !pyodide_words_plain(o->argv[2], &argv, vars, in, in_set)) {
		pyodide_words_refuse(o->argv[0], true, why);
		return NULL;
	}
	for (size_t i = 0; !shell && i < o->nr_argv; i++)
		strv_push(&argv, o->argv[i]);
	const char *first = argv.item[0];
	if (o->pty && argv.nr == 2 && strcmp(first, "shell") == 0) /* sandbox/shell.h */
		return pyodide_words_job("shell", &argv, vars, o->cwd);
	if (is_python(first) || is_pip(first))
		return pyodide_words_job(is_pip(first) ? "pip" : "python", &argv, vars, o->cwd);
	pyodide_words_refuse(first, false, why);
	return NULL;
}
