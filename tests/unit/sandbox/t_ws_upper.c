/* A sandbox's changes against its snapshots, by an oracle that reads both trees. */
#include "ws_box.h"

static const struct {
	const char *name, *command;
} steps[] = {
	{ "a new file", "echo new > new.txt" },
	{ "a change in a directory", "echo more >> src/a.c" },
	{ "a second change", "echo again >> src/a.c; echo x > src/x" },
	{ "chmod alone", "chmod 600 src/b.c" },
	{ "opened for writing, not written (copied up, unchanged)", "exec 3<> src/c.c" },
	{ "touch", "touch src/c.c" },
	{ "a file removed", "rm src/b.c" },
	{ "a removed file made again with the same bytes", "echo b > src/b.c; chmod 644 src/b.c" },
	{ "a directory removed", "rm -r doc" },
	{ "a directory made in its place (opaque)", "mkdir doc; echo n > doc/one" },
	{ "a new file in it removed", "rm doc/one" },
	{ "a file in place of a directory", "rm -r doc; echo f > doc" },
	{ "a directory in place of a file", "rm Makefile; mkdir -p Makefile/a/b; echo q > Makefile/a/b/c" },
	{ "renamed", "mv src/x src/y; mv README README.md" },
	{ "a directory renamed", "mv lib lib2" },
	{ "symbolic links", "ln -s /etc/passwd out; ln -s nowhere src/dangling; ln -sf a.c src/link" },
	{ "a link replaced by a file", "rm src/link; echo l > src/link" },
	{ "hard links", "ln new.txt hard; echo h >> hard" },
	{ "FIFOs", "mkfifo pipe src/pipe" },
	{ "empty directories", "mkdir -p e/m/p/t/y; mkdir src/empty; chmod 700 src/empty" },
	{ "modes", "chmod 4755 new.txt; chmod 1777 e; chmod 444 src/a.c" },
	{ "a file whose name is a prefix", "echo 1 > p; echo 2 > p.x; mkdir p-; echo 3 > p-/x; mkdir p0; echo 4 > p0/x" },
	{ "git's own names", "mkdir .git; echo ref > .git/HEAD; mkdir -p sub/.git; echo s > sub/.git/HEAD; echo t > git~1" },
	{ "a directory of the base emptied file by file", "rm -r deep/a" },
	{ "everything removed", "rm -rf * .git" },
	{ "one thing again", "mkdir deep; echo z > deep/z" },
};

static void make_base(struct ws_box *b)
{
	sh_in(b->lower, "umask 022; mkdir -p src doc/sub lib/x deep/a/b/c; echo a > src/a.c; echo b > src/b.c; echo c > src/c.c;"
			"echo r > README; echo m > Makefile; echo d > doc/one; echo e > doc/sub/two; ln -s b.c src/link;"
			"echo l > lib/x/l; echo 1 > deep/a/1; echo 2 > deep/a/b/2; echo 3 > deep/a/b/c/3; chmod 755 Makefile");
}

static void run_steps(bool copy)
{
	struct ws_box b;
	const char *how = copy ? "copy" : "overlay";
	if (!box_init(&b, copy))
		skip_all("no scratch folder");
	make_base(&b);
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	is_int(box_take(&b), 1, "the first snapshot always says something");
	is_int(json_int(b.body, "touched", -1), 0, "nothing differs at first");
	ok(oracle(&b), "%s: at first", how);
	is_int(box_take(&b), 0, "nothing changed");
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		sh_in(b.merged, "umask 022; %s", steps[i].command);
		ok(box_take(&b) >= 0 && oracle(&b), "%s: %s", how, steps[i].name);
		if (i % 5 == 4)
			is_int(box_take(&b), 0, "and nothing more");
		box_again(&b);
		ok(box_take(&b) == 1 && oracle(&b), "%s: and the same when it is looked at anew", how);
	}
	box_end(&b);
}

/* Random commands outside the list, the same for every run. */
static void run_random(bool copy, unsigned seed)
{
	static const char *const name[] = { "a", "b", "c", "d", "a.b", "a-", "A" };
	struct ws_box b;
	if (!box_init(&b, copy))
		return;
	srand(seed);
	sh_in(b.lower, "umask 022; mkdir -p a/b/c b/a d/d/d; for f in a/a a/b/a a/b/c/d b/b b/a/c d/d/d/a c; do echo $f > $f; done");
	if (!box_open(&b, NULL)) {
		box_end(&b);
		return;
	}
	box_take(&b);
	const int rounds = getenv("LONG") ? 60 : 25;
	int bad = 0;
	for (int i = 0; i < rounds && !bad; i++) {
		struct buf cmd = BUF_INIT;
		buf_puts(&cmd, "umask 022; set +e; exec 2>/dev/null; ");
		for (int k = rand() % 4; k >= 0; k--) {
			char p[64], q[64];
			snprintf(p, sizeof(p), "%s/%s/%s", name[rand() % 7], name[rand() % 7], name[rand() % 7]);
			snprintf(q, sizeof(q), "%s/%s", name[rand() % 7], name[rand() % 7]);
			switch (rand() % 9) {
			case 0: buf_printf(&cmd, "rm -rf %s;", q); break;
			case 1: buf_printf(&cmd, "mkdir -p %s;", p); break;
			case 2: buf_printf(&cmd, "mkdir -p %s; echo %d > %s/f;", q, rand(), q); break;
			case 3: buf_printf(&cmd, "echo %d >> %s;", rand() % 3, q); break;
			case 4: buf_printf(&cmd, "mv %s %s;", p, q); break;
			case 5: buf_printf(&cmd, "rm -rf %s; ln -s %s %s;", q, p, q); break;
			case 6: buf_printf(&cmd, "chmod %d %s;", 600 + rand() % 2 * 155, p); break;
			case 7: buf_printf(&cmd, "rm -rf %s; echo f > %s;", name[rand() % 7], name[rand() % 7]); break;
			default: buf_printf(&cmd, "cp -r %s %s;", q, p); break;
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
	ok(!bad, "%s, seed %u: %d random steps", copy ? "copy" : "overlay", seed, rounds);
	box_end(&b);
}

int main(void)
{
	if (!own_mounts())
		printf("# no mount namespace of our own: overlays will be skipped\n");
	run_steps(true);
	run_steps(false);
	for (unsigned s = 1; s <= 2; s++) {
		run_random(true, s);
		run_random(false, s);
		run_random(false, s + 10);
	}
	return done_testing();
}
