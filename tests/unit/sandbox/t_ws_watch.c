/* The change hint: with it a snapshot says the same, and looks at less. */
#include "ws_box.h"

static void run(bool copy, unsigned seed)
{
	static const char *const name[] = { "a", "b", "c", "d", "a.b", "a-", "A" };
	struct ws_box b;
	struct ws_stats st;
	const char *how = copy ? "copy" : "overlay";
	if (!box_init(&b, copy))
		return;
	sh_in(b.lower, "umask 022; mkdir -p a/b/c b/a d/d/d; for f in a/a a/b/a a/b/c/d b/b b/a/c d/d/d/a c; do echo $f > $f; done");
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	sh_in(b.merged, "umask 022; for d in $(seq 0 59); do mkdir -p many/$d; for i in $(seq 40); do echo $d $i > many/$d/$i; done; done");
	is_int(box_take(&b), 1, "2,400 files");
	ok(oracle(&b), "%s: are there", how);
	ws_stats(b.ws, &st);
	is_str(st.hint, "none", "no hint was needed before");
	for (int i = 0; i < 5; i++) {
		sh_in(b.merged, "echo more >> many/%d/7; echo new > many/%d/new%d", i, i, i);
		ok(box_take(&b) == 1 && oracle(&b), "%s: on trial", how);
	}
	ws_stats(b.ws, &st);
	printf("# %s: hint %s\n", how, st.hint);
	if (strcmp(st.hint, "trusted") != 0) {
		skip(1, "writes cannot be watched here: everything is walked");
		box_end(&b);
		return;
	}
	sh_in(b.merged, "echo more >> many/3/9");
	is_int(box_take(&b), 1, "one change");
	ws_stats(b.ws, &st);
	ok(st.looked < 300, "%s: %zu of 2,400 entries were looked at", how, st.looked);
	ok(!json_flag(b.body, "full", true) && oracle(&b), "and it is right");
	is_int(box_take(&b), 0, "nothing changed");
	ws_stats(b.ws, &st);
	is_int(st.looked, 0, "nothing was looked at");
	srand(seed);
	const int steps = getenv("LONG") ? 40 : 16;
	int bad = 0;
	for (int i = 0; i < steps && !bad; i++) {
		struct buf cmd = BUF_INIT;
		buf_puts(&cmd, "umask 022; set +e; exec 2>/dev/null; ");
		for (int k = rand() % 4; k >= 0; k--) {
			char p[64], q[64];
			snprintf(p, sizeof(p), "%s/%s/%s", name[rand() % 7], name[rand() % 7], name[rand() % 7]);
			snprintf(q, sizeof(q), "%s/%s", rand() % 3 ? name[rand() % 7] : "many", name[rand() % 7]);
			switch (rand() % 9) {
			case 0: buf_printf(&cmd, "rm -rf %s;", q); break;
			case 1: buf_printf(&cmd, "mkdir -p %s/x/y; echo 1 > %s/x/y/z;", p, p); break;
			case 2: buf_printf(&cmd, "mkdir -p %s; echo %d > %s/f;", q, rand(), q); break;
			case 3: buf_printf(&cmd, "echo %d >> %s;", rand() % 3, q); break;
			case 4: buf_printf(&cmd, "mv %s %s;", p, q); break;
			case 5: buf_printf(&cmd, "mv %s %s;", q, name[rand() % 7]); break;
			case 6: buf_printf(&cmd, "chmod %d %s;", 600 + rand() % 2 * 155, p); break;
			case 7: buf_printf(&cmd, "rm -rf %s; mv many/%d %s;", name[rand() % 7], rand() % 60, name[rand() % 7]); break;
			default: buf_printf(&cmd, "cp -r many/%d %s; echo x >> %s/9; ", rand() % 60, q, q); break;
			}
		}
		buf_puts(&cmd, "true");
		sh_in(b.merged, "%s", buf_cstr(&cmd));
		if (box_take(&b) < 0 || !oracle(&b)) {
			printf("# step %d: %s\n", i, buf_cstr(&cmd));
			bad++;
		}
		buf_release(&cmd);
	}
	ws_stats(b.ws, &st);
	ok(!bad && !strcmp(st.hint, "trusted"), "%s: %d random steps, the hint missed nothing", how, steps);
	box_end(&b);
}

int main(void)
{
	if (!own_mounts())
		printf("# no mount namespace of our own: overlays will be skipped\n");
	run(true, 1);
	run(false, 2);
	return done_testing();
}
