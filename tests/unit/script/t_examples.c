/* The example scripts, run to the end. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static void example(const char *path, const char *const *args, const char *repo, const char *want)
{
	struct fake_run r;
	char *text = fake_source(path);
	fake_run(&(struct fake_opts){ .text = text, .name = strrchr(path, '/') + 1, .args = args, .repo = repo }, &r);
	if (!ok(r.end && json_flag(r.end, "ok", false), "%s ends well", path))
		printf("#   %s\n%s\n", fake_why(&r), r.end ? json_str(r.end, "trace", "") : "");
	if (!ok(strstr(buf_cstr(&r.printed), want) != NULL, "%s prints '%s'", path, want))
		printf("# ---\n%s# ---\n", buf_cstr(&r.printed));
	struct buf again = BUF_INIT;
	fake_replay(&r.given, &again);
	ok(again.len == r.sent.len && memcmp(again.data, r.sent.data, again.len) == 0,
	   "%s: the same frames give the same bytes again (%zu bytes in %zu turns)", path, again.len, r.turns);
	buf_release(&again);
	fake_release(&r);
	free(text);
}

int main(void)
{
	example("lua/examples/hello.lua", NULL, NULL, "hello in English, French and Japanese");
	return done_testing();
}
