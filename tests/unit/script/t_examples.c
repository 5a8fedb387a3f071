/* The example scripts and the built-in agents, run to the end; each run again from its frames gives the same bytes. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static void purity(const char *what, const struct fake_run *r)
{
	struct buf again = BUF_INIT;
	fake_replay(&r->given, &again);
	ok(again.len == r->sent.len && memcmp(again.data, r->sent.data, again.len) == 0,
	   "%s: the same frames give the same bytes again (%zu bytes in %zu turns)", what, again.len, r->turns);
	buf_release(&again);
}

static void example(const char *path, const char *const *args, const char *repo, fake_op_fn *op,
		    const char *const *want)
{
	struct fake_run r;
	char *text = fake_source(path);
	fake_run(
		&(struct fake_opts){
			.text = text, .name = strrchr(path, '/') + 1, .args = args, .repo = repo, .op = op },
		&r);
	if (!ok(r.end && json_flag(r.end, "ok", false), "%s ends well", path))
		printf("#   %s\n%s\n", fake_why(&r), r.end ? json_str(r.end, "trace", "") : "");
	bool all = true;
	for (; *want; want++)
		all = ok(strstr(buf_cstr(&r.printed), *want) != NULL, "%s says '%s'", path, *want) && all;
	if (!all)
		printf("# ---\n%s# ---\n", buf_cstr(&r.printed));
	purity(path, &r);
	fake_release(&r);
	free(text);
}

/* As the demo's rules would have it. */
static json_t *judge(void *self, const char *op, const json_t *call)
{
	(void)self;
	const char *cmd = json_str(json_object_get(call, "args"), "cmd", "");
	if (strcmp(op, "box.exec") != 0)
		return NULL;
	if (strstr(cmd, "curl"))
		return json_pack("{s:{s:s,s:s,s:s,s:s}}", "err", "code", "denied", "msg",
				 "denied by rule no-pipe-to-sh", "rule", "no-pipe-to-sh", "why",
				 "Downloads are off in this demo");
	if (strstr(cmd, "git push"))
		return json_pack("{s:{s:s,s:s,s:s}}", "err", "code", "denied", "msg", "denied by a person", "why",
				 "not today");
	return NULL;
}

/* The demo's project as files, for scripts that want a repository. */
static char *project(void)
{
	struct fake_run r;
	fake_run(
		&(struct fake_opts){
			.text = "for path, text in pairs(require 'sandglass.demo_project') do\n"
				"  print('cat > ' .. path .. \" <<'END_OF_FILE'\") io.write(text) print 'END_OF_FILE'\n"
				"end" },
		&r);
	char *dir = mem_strdup("/tmp/sandglass-project-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	char *cmd = mem_printf("cd '%s' && cat > .sh && sh .sh && rm .sh && git init -q -b main . && git add -A && "
			      "git -c user.name=t -c user.email=t@example.org commit -qm start",
			      dir);
	FILE *sh = popen(cmd, "w");
	fputs(buf_cstr(&r.printed), sh);
	if (pclose(sh) != 0)
		abort();
	free(cmd);
	fake_release(&r);
	return dir;
}

int main(void)
{
	char *repo = project();
	example("lua/examples/hello.lua", NULL, NULL, NULL,
		(const char *const[]){ "hello from Linux", "hello in English, French and Japanese", "Bonjour", NULL });
	example("lua/examples/fix.lua",
		(const char *const[]){ "--repo", "x", "--model", "scripted:fix", "Make the tests pass", NULL }, repo,
		judge, (const char *const[]){ "note: baseline: tests fail, exit 2", "words.c | 2 +-", NULL });
	example("lua/examples/race.lua", (const char *const[]){ "Make the tests pass", NULL }, repo, judge,
		(const char *const[]){ "note: winner scripted:fix with 2 changed lines", NULL });
	example("lua/agents/demo.lua", NULL, NULL, judge,
		(const char *const[]){ "note: before: tests fail", "fix: I leave publishing to you (denied: not today)",
				       "docs: The manual now says", "greedy: Understood (denied: not today)",
				       "note: after: tests pass", NULL });
	example("lua/agents/coding.lua",
		(const char *const[]){ "--repo", "x", "--test", "make test", "Make the test pass", NULL }, repo, judge,
		(const char *const[]){ "I leave publishing to you", "words.c | 2 +-", NULL });
	char *rm = mem_printf("rm -rf '%s'", repo);
	ok(system(rm) == 0, "cleaned up");
	free(rm);
	free(repo);
	return done_testing();
}
