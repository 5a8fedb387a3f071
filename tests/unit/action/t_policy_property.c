/* Adding a deny rule never allows more; adding any rule never hides another; nothing here depends on order. Random rules
 * over a small world of words, so that they really meet. */
#include "tap.h"

#include "action/judge.h"

static uint64_t seed = 88172645463325252u;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 20) % n);
}

static const char *const cmds[] = { "git push *", "git *", "* push", "rm ...", "rm -rf *", "ls *", "... -f", "!ls *", "git push ... -f",
				    "make -j* test", "> src/*", "sudo *", "sh -c *", "*" };
static const char *const paths[] = { "src/**", "**/.env*", "~/x", "!src/**", "/etc/*", "**" };
static const char *const kinds[] = { "exec", "write", "read", "connect", "!exec" };
static const char *const verdicts[] = { "allow", "ask", "deny" };
static const char *const lines[] = { "ls",	       "git push",	 "git push -f",	     "git $X",	      "rm -rf $(ls)",
				     "sudo rm -f x",   "ls > src/a",	 "ls > /etc/x",	     "eval \"$x\"",   "cat .env | sh -c 'rm x'",
				     "PATH=/x git push", "make -j4 test && ls", "xargs git push", "$X",	      "git -C a push -f; ls",
				     "find . -exec rm -rf {} +", "curl x | sh", "{ls,rm} -f", "" };
static const char *const files[] = { "src/a", ".env", "/etc/passwd", "~/x" };

static void random_rule(struct buf *b, const char *verdict, unsigned n)
{
	buf_printf(b, "{\"name\":\"r%u\",\"verdict\":\"%s\",\"line\":%u", n, verdict, n + 1);
	if (pick(2))
		buf_printf(b, ",\"cmd\":[\"%s\",\"%s\"]", cmds[pick(ARRAY_LEN(cmds))], cmds[pick(ARRAY_LEN(cmds))]);
	if (!pick(4))
		buf_printf(b, ",\"path\":\"%s\"", paths[pick(ARRAY_LEN(paths))]);
	if (!pick(3))
		buf_printf(b, ",\"kind\":\"%s\"", kinds[pick(ARRAY_LEN(kinds))]);
	if (!pick(6))
		buf_puts(b, ",\"when\":true");
	buf_putc(b, '}');
}

static struct policy *random_policy(void)
{
	static const char *const defaults[] = { "", "allow", "ask", "boxed" };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	unsigned nr = pick(5);
	for (unsigned i = 0; i < nr; i++) {
		buf_puts(&b, i ? "," : "");
		random_rule(&b, verdicts[pick(3)], i);
	}
	return rules("random", defaults[pick(4)], buf_cstr(&b));
}

/* The verdict when every `when` that is asked answers as @yes says. */
static enum verdict settled(struct policy *const *p, size_t nr, const struct waiver *w, size_t nr_w,
			    const struct policy_subject *s, int answer)
{
	static const enum match_state states[] = { MATCH_WHEN_YES, MATCH_WHEN_NO, MATCH_WHEN_FAILED };
	struct judgement j;
	policy_judge(p, nr, w, nr_w, 0, s, &j);
	for (size_t i = 0; i < j.nr_matches; i++)
		if (j.match[i].state == MATCH_WHEN)
			judgement_when(&j, i, states[answer], NULL);
	judgement_close(&j, s, w, nr_w, 0);
	enum verdict v = j.verdict;
	judgement_release(&j);
	return v;
}

int main(void)
{
	unsigned bad_deny = 0, bad_order = 0, bad_waiver = 0, stricter = 0, waived = 0, denied_by_rule = 0;
	const unsigned rounds = getenv("LONG") ? 20000 : 6000;
	hash_init();
	for (unsigned round = 0; round < rounds; round++) {
		struct action_spec s;
		char scratch[200], waive[] = "git push *";
		bool exec = pick(4) != 0;
		spec_from(&s, exec ? "exec" : pick(2) ? "write" : "read", exec ? lines[pick(ARRAY_LEN(lines))] : files[pick(4)], scratch);
		const struct policy_subject subject = { .spec = &s, .wall = (enum gate_wall)pick(3) };
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		random_rule(&b, "deny", 99);
		struct policy *p[3] = { random_policy(), random_policy(), rules("deny", "", buf_cstr(&b)) };
		struct policy *turned[2] = { p[1], p[0] };
		struct waiver w = { .kind = ACT_EXEC, .pattern = waive };
		for (int answer = 0; answer < 3; answer++) {
			enum verdict before = settled(p, 2, NULL, 0, &subject, answer);
			enum verdict after = settled(p, 3, NULL, 0, &subject, answer);
			enum verdict with = settled(p, 2, &w, 1, &subject, answer);
			bad_deny += after < before;
			stricter += after > before;
			denied_by_rule += after == VERDICT_DENY;
			bad_order += settled(turned, 2, NULL, 0, &subject, answer) != before;
			bad_waiver += before == VERDICT_DENY && with != VERDICT_DENY;
			bad_waiver += with > before;
			waived += with < before;
		}
		for (int i = 0; i < 3; i++)
			policy_free(&p[i]);
		strv_release(&s.argv);
	}
	is_int(bad_deny, 0, "adding a deny rule never allows more");
	is_int(bad_order, 0, "the order of files does not matter");
	is_int(bad_waiver, 0, "a waiver lifts an ask, never a deny");
	ok(stricter > rounds / 20 && waived > rounds / 40 && denied_by_rule > rounds / 20, "and all three really happen (%u, %u, %u)", stricter, waived,
	   denied_by_rule);
	return done_testing();
}
