/* The library's own specs: tests/lua/NAME_spec.lua, each a script of its own. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

/* Lines "ok - x" and "not ok - x" of the script become results of ours. */
static void count(const char *path, const char *printed)
{
	char *text = mem_strdup(printed), *save = NULL;
	int nr = 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "ok - ", 5) == 0 || strncmp(line, "not ok - ", 9) == 0) {
			ok(line[0] == 'o', "%s: %s", path, strchr(line, '-') + 2);
			nr++;
		} else {
			printf("%s%s\n", line[0] == '#' ? "" : "# ", line);
		}
	}
	ok(nr > 0, "%s has specs", path);
	free(text);
}

static void tell_difference(const struct buf *a, const struct buf *b)
{
	size_t at = 0, from;
	while (at < a->len && at < b->len && a->data[at] == b->data[at])
		at++;
	from = at > 200 ? at - 200 : 0;
	printf("# they differ at %zu of %zu and %zu bytes\n# %.*s\n# %.*s\n", at, a->len, b->len,
	       (int)(at - from < a->len - from ? at - from + 100 : 0), a->data + from,
	       (int)(at - from < b->len - from ? at - from + 100 : 0), b->data + from);
}

static void spec(const char *path)
{
	struct fake_run r, p;
	char *text = fake_source(path);
	static const char *const args[] = { "--repo", "here", "one", NULL };
	struct fake_opts o = { .text = text, .name = strrchr(path, '/') + 1, .args = args };
	fake_run(&o, &r);
	o.process = true;
	fake_run(&o, &p);
	if (!ok(p.sent.len == r.sent.len && memcmp(p.sent.data, r.sent.data, p.sent.len) == 0,
		"%s: the locked down program says the same (status %d)", path, p.status))
		tell_difference(&p.sent, &r.sent);
	fake_release(&p);
	count(path, buf_cstr(&r.printed));
	if (!ok(r.end && json_flag(r.end, "ok", false), "%s ends well", path))
		printf("#   %s\n%s\n", fake_why(&r), r.end ? json_str(r.end, "trace", "") : "");
	struct buf again = BUF_INIT;
	fake_replay(&r.given, &again);
	ok(again.len == r.sent.len && memcmp(again.data, r.sent.data, again.len) == 0, "%s: pure", path);
	buf_release(&again);
	fake_release(&r);
	free(text);
}

int main(void)
{
	DIR *d = opendir("tests/lua");
	struct strv names = STRV_INIT;
	for (struct dirent *e; d && (e = readdir(d));)
		if (fnmatch("*_spec.lua", e->d_name, 0) == 0)
			strv_push(&names, e->d_name);
	closedir(d);
	for (size_t i = 0; i < names.nr; i++) {
		char *path = mem_printf("tests/lua/%s", names.item[i]);
		spec(path);
		free(path);
	}
	strv_release(&names);
	return done_testing();
}
