/* How a Python sandbox interprets commands, and how it refuses the others. */
#include "base/json.h"
#include "sandbox/pyodide/pyodide_priv.h"
#include "tap.h"

/* The interpreted command: arguments joined by '|', "<" and its input; or '!' and the error. Returns owned. */
static char *meant(char *const *argv, size_t nr, bool pty)
{
	struct run_opts o = { .argv = argv, .nr_argv = nr, .pty = pty };
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	const struct strv none = STRV_INIT;
	struct buf said = BUF_INIT;
	bool in_set = false;
	CLEANUP(json_release) json_t *job = pyodide_job(&o, &none, &in, &in_set, &why);
	const json_t *words = json_object_get(job, "argv");
	if (!job)
		buf_printf(&said, "!%s", buf_cstr(&why));
	for (size_t i = 0; i < json_array_size(words); i++)
		buf_printf(&said, "%s%s", i ? "|" : "", json_string_value(json_array_get(words, i)));
	if (in_set)
		buf_printf(&said, "<%s", buf_cstr(&in));
	return buf_take(&said);
}

static void texts(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "python a.py", "python|a.py" },
		{ "/usr/bin/python3 -c 'print(1)' \"a b\" ''", "python|-c|print(1)|a b|" },
		{ "pip3 install ./x-1-py3-none-any.whl", "pip|install|./x-1-py3-none-any.whl" },
		{ "DEBUG=1 python -m app", "python|-m|app" },
		{ "python - <<'E'\nprint(1)\nE\n", "python|-<print(1)\n" },
		{ "python3 <<'E'\nprint('$HOME')\nE", "python<print('$HOME')\n" },
		{ "python a.py | cat", "!sh:" },
		{ "python a.py && python b.py", "!sh:" },
		{ "python $X", "!sh:" },
		{ "python *.py", "!sh:" },
		{ "python a.py >out", "!sh:" },
		{ "python -c \"$(cat x)\"", "!sh:" },
		{ "ls -l", "!ls: not found" },
		{ "", "!sh:" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char sh[] = "sh", c[] = "-c";
		char *argv[] = { sh, c, (char *)(uintptr_t)cases[i].text, NULL };
		char *got = meant(argv, 3, false);
		bool good = *cases[i].want == '!' ? strncmp(got, cases[i].want, strlen(cases[i].want)) == 0 : strcmp(got, cases[i].want) == 0;
		ok(good, "text %zu is interpreted correctly", i);
		if (!good)
			printf("# want %s\n# got  %s\n", cases[i].want, got);
		free(got);
	}
}

static void words(void)
{
	char python[] = "/opt/python3", odd[] = "\xff\n", shell[] = "shell", mark[] = "m", make[] = "make";
	char *bytes[] = { python, odd, NULL }, *stays[] = { shell, mark, NULL }, *other[] = { make, NULL };
	char *got = meant(bytes, 2, false);
	is_str(got, "python|\xc3\xbf\n", "a byte is the character of its number");
	free(got);
	got = meant(stays, 2, true);
	is_str(got, "shell|m", "a shell that stays is one on a terminal");
	free(got);
	got = meant(stays, 2, false);
	ok(*got == '!', "and none without");
	free(got);
	got = meant(other, 1, false);
	ok(strncmp(got, "!make: not found", 16) == 0 && strstr(got, "python -c CODE"), "the refusal names the supported commands");
	free(got);
}

int main(void)
{
	texts();
	words();
	return done_testing();
}
