/* What a snapshot costs after a command, against libgit2's add_all on the same tree: bench_snapshot [rounds] [files...]
 *
 *   C changed files in a tree of N: an overlay as a box has it, objects named, hashed and compressed as for the session
 *   file. Then 10,000 files changed earlier and one now, with and without the change hint. Last,
 *   the odd cases of an upper, counted. */
#include <git2.h>
#include <sys/mman.h>
#include <time.h>

#include "record/record.h"
#include "sandbox/ws_box.h"

enum { MAX = 500 };
struct series {
	double us[MAX];
	int nr;
};

static int rounds = 15, failed;

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double at(struct series *s, int percent)
{
	if (!s->nr)
		return 0;
	qsort(s->us, (size_t)s->nr, sizeof(s->us[0]), by_size);
	return s->us[(s->nr - 1) * percent / 100];
}

static double line(const char *name, struct series *s)
{
	printf("%-44s %10.1f us  p99 %10.1f  min %10.1f  n %3d\n", name, at(s, 50), at(s, 99), at(s, 0), s->nr);
	return at(s, 50);
}

static void judge(const char *what, double value, double reach)
{
	bool good = value <= reach;
	failed += !good;
	printf("  %-56s %8.4f  (reach %.4f) %s\n", what, value, reach, good ? "PASS" : "FAIL");
}

/* Objects as they go to the recorder: named, hashed, compressed. */
static struct objects *set;
static void add_object(void *self, enum object_type type, const void *bytes, size_t len, struct object_id *id_out)
{
	(void)self;
	objects_add(set, type, bytes, len, id_out);
}
static int get_object(void *self, const struct object_id *id, enum object_type *type_out, struct buf *out, struct err *err)
{
	(void)self, (void)id, (void)type_out, (void)out;
	return err_set(err, ERR_NOENT, "not held");
}
static const struct ws_store store = { .add = add_object, .get = get_object };

static double take_once(struct ws *ws)
{
	struct err err = ERR_INIT;
	json_t *body = NULL;
	double from = now_us();
	set = objects_new();
	int rc = ws_take(ws, &store, &(struct ws_how){ .why = "action" }, &body, &err);
	double took = now_us() - from;
	objects_free(&set);
	json_decref(body);
	if (rc < 0)
		printf("# %s\n", err.text);
	return took;
}

static void make_tree(const char *dir, int files)
{
	int per = files / 100 < 1 ? 1 : files / 100;
	for (int d = 0; d < 100; d++) {
		char path[4200];
		snprintf(path, sizeof(path), "%s/d%02d", dir, d);
		mkdir(path, 0755);
		for (int f = 0; f < per; f++) {
			if (f % 100 == 0) {
				snprintf(path, sizeof(path), "%s/d%02d/s%d", dir, d, f / 100);
				mkdir(path, 0755);
			}
			snprintf(path, sizeof(path), "%s/d%02d/s%d/f%d", dir, d, f / 100, f);
			int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			dprintf(fd, "file %d of directory %d\nint main(void) { return %d; }\n", f, d, f);
			close(fd);
		}
	}
}

static void touch(const char *dir, int files, int nr, int round)
{
	int per = files / 100 < 1 ? 1 : files / 100;
	for (int i = 0; i < nr; i++) {
		char path[4200];
		int d = (i * 37) % 100, f = (i / 100 * 7) % per;
		snprintf(path, sizeof(path), "%s/d%02d/s%d/f%d", dir, d, f / 100, f);
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		dprintf(fd, "changed in round %d\n", round);
		close(fd);
	}
}

/* libgit2's way: a warm index, the changed files found by one stat each. */
static double add_all(git_repository *repo, git_index *index)
{
	git_oid tree;
	git_strarray all = { 0 };
	double from = now_us();
	git_index_add_all(index, &all, 0, NULL, NULL);
	git_index_write_tree(&tree, index);
	git_index_write(index);
	(void)repo;
	return now_us() - from;
}

enum { TREES = 3, SIZES = 4 };
static const int changed[SIZES] = { 0, 1, 10, 1000 };

struct tree {
	struct ws_box b;
	int files;
	git_repository *repo;
	git_index *index;
	struct series took[SIZES], git, git_add, git_status;
	double median[SIZES], git_median;
};

/* One number of changes in all trees, alternating, so that noise falls on all alike. */
static void measure(struct tree *t, size_t c)
{
	for (size_t i = 0; i < TREES; i++) {
		if (!box_open(&t[i].b, NULL))
			return;
		take_once(t[i].b.ws);
	}
	for (int r = 0; r < rounds; r++)
		for (size_t i = 0; i < TREES; i++) {
			touch(t[i].b.merged, t[i].files, changed[c], r);
			if (changed[c]) /* a command's end is not its last write: past the tick of the file system's clock */
				usleep(25000);
			t[i].took[c].us[t[i].took[c].nr++] = take_once(t[i].b.ws);
		}
	for (size_t i = 0; i < TREES; i++) {
		ws_free(&t[i].b.ws);
		umount2(t[i].b.merged, MNT_DETACH);
		t[i].b.layer++;
	}
}

/* The command that a user would type, with its own index and object store, for the same changed file. */
static void measure_program(struct tree *t)
{
	if (access("/usr/bin/git", X_OK) < 0)
		return;
	sh_in(t->b.lower, "rm -rf .git; git init -q . && git config gc.auto 0 && git add -A");
	for (int r = 0; r < 5; r++) {
		touch(t->b.lower, t->files, 1, 100 + r);
		usleep(25000);
		double from = now_us();
		sh_in(t->b.lower, "git status --porcelain=v1 >/dev/null");
		t->git_status.us[t->git_status.nr++] = now_us() - from;
		from = now_us();
		sh_in(t->b.lower, "git add -A && git write-tree >/dev/null");
		t->git_add.us[t->git_add.nr++] = now_us() - from;
	}
}

static void measure_git(struct tree *t)
{
	if (git_repository_init(&t->repo, t->b.lower, 0) < 0 || git_repository_index(&t->index, t->repo) < 0)
		return;
	add_all(t->repo, t->index);
	for (int r = 0; r < 5; r++) {
		touch(t->b.lower, t->files, 1, r);
		usleep(25000);
		t->git.us[t->git.nr++] = add_all(t->repo, t->index);
	}
}

static bool trees(struct tree *t, int large)
{
	const int files[TREES] = { 1000, 10000, large };
	char name[80];
	for (size_t i = 0; i < TREES; i++) {
		t[i] = (struct tree){ .files = files[i] };
		if (!box_init(&t[i].b, false))
			return false;
		make_tree(t[i].b.lower, files[i]);
	}
	for (size_t c = 0; c < SIZES; c++)
		measure(t, c);
	for (size_t i = 0; i < TREES; i++) {
		for (size_t c = 0; c < SIZES; c++) {
			snprintf(name, sizeof(name), "snapshot, %d of %d files changed", changed[c], files[i]);
			t[i].median[c] = line(name, &t[i].took[c]);
		}
		measure_git(&t[i]);
		snprintf(name, sizeof(name), "libgit2 add_all, 1 of %d files changed", files[i]);
		t[i].git_median = line(name, &t[i].git);
		measure_program(&t[i]);
		snprintf(name, sizeof(name), "git add -A && write-tree, 1 of %d", files[i]);
		double add_us = t[i].git_add.nr ? line(name, &t[i].git_add) : 0;
		snprintf(name, sizeof(name), "git status, 1 of %d", files[i]);
		double status_us = t[i].git_status.nr ? line(name, &t[i].git_status) : 0;
		if (add_us > 0)
			printf("  1 changed of %d: a snapshot / git add -A %.4f, / git status %.4f\n", files[i],
			       t[i].median[1] / add_us, t[i].median[1] / status_us);
		else
			printf("  git is not found: its add and status are not measured\n");
		git_index_free(t[i].index);
		git_repository_free(t[i].repo);
		box_end(&t[i].b);
	}
	return t[0].median[1] > 0;
}

static void earlier(double fresh)
{
	static const struct {
		const char *name;
		bool no_hint;
	} how[] = { { "without the hint", true }, { "with the hint", false } };
	for (size_t h = 0; h < ARRAY_LEN(how); h++) {
		struct ws_box b;
		struct series s = { 0 };
		struct ws_stats st;
		char name[80];
		if (!box_init(&b, false) || !box_open(&b, &(struct ws_opts){ .no_hint = how[h].no_hint }))
			return;
		take_once(b.ws);
		make_tree(b.merged, 10000);
		take_once(b.ws);
		usleep(25000);
		for (int i = 0; i < 4 + rounds; i++) {
			touch(b.merged, 10000, 1, i);
			usleep(25000);
			double us = take_once(b.ws);
			if (i >= 4)
				s.us[s.nr++] = us;
		}
		ws_stats(b.ws, &st);
		snprintf(name, sizeof(name), "10,000 files earlier, 1 now, %s", how[h].name);
		double us = line(name, &s);
		if (how[h].no_hint)
			judge("without the hint, us per entry of the upper", us / 10000, 3);
		else if (!strcmp(st.hint, "trusted"))
			judge("with the hint / in a fresh upper", us / fresh, 3);
		else
			printf("  the hint is %s here\n", st.hint);
		box_end(&b);
	}
}

/* A second store through a mapping that is dirty already changes no time of the file. */
static bool store_through_mapping(struct ws_box *b)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/d/2", b->merged);
	CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC);
	char *p = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool seen = p != MAP_FAILED;
	for (char c = 'x'; seen && c <= 'z'; c++) {
		struct err err = ERR_INIT;
		json_t *body = NULL;
		p[0] = c;
		usleep(25000);
		int rc = ws_take(b->ws, &b->store, &(struct ws_how){ .why = "background", .sync = true }, &body, &err);
		if (rc > 0) {
			json_decref(b->body);
			b->body = body;
		}
		seen = rc > 0 && oracle(b);
	}
	if (p != MAP_FAILED)
		munmap(p, 1);
	return seen;
}

/* The cases that a naive walk gets wrong, each against what is really there. */
static void cases(void)
{
	static const char *const step[] = {
		"rm a/1", "rm -r b", "mkdir b; echo n > b/1", "mv c/1 c/2", "mv c e", "ln f h; echo x >> h", "chmod 600 g",
		"exec 3<> d/1", "rm g; mkdir g; echo 1 > g/1", "mkfifo p", "ln -s a l; rm l; echo l > l",
	};
	struct ws_box b;
	int good = 0;
	if (!box_init(&b, false))
		return;
	sh_in(b.lower, "umask 022; mkdir a b c d; for i in 1 2 3; do echo $i | tee a/$i b/$i c/$i d/$i > /dev/null; done; echo f > f; echo g > g");
	if (!box_open(&b, NULL))
		return;
	box_take(&b);
	for (size_t i = 0; i < ARRAY_LEN(step); i++) {
		sh_in(b.merged, "umask 022; %s", step[i]);
		good += box_take(&b) >= 0 && oracle(&b);
	}
	good += store_through_mapping(&b);
	printf("%d of %zu odd cases of an upper are right\n", good, ARRAY_LEN(step) + 1);
	failed += (size_t)good != ARRAY_LEN(step) + 1;
	box_end(&b);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	rounds = rounds < 3 ? 3 : rounds > MAX - 10 ? MAX - 10 : rounds;
	if (!own_mounts()) {
		printf("no overlay mounts here: nothing to measure\n");
		return 0;
	}
	git_libgit2_init();
	int large = argc > 2 ? atoi(argv[2]) : 100000;
	static struct tree t[TREES];
	if (!trees(t, large)) {
		printf("no overlay mounts here: nothing to measure\n");
		return 0;
	}
	const struct tree *small = &t[0], *big = &t[TREES - 1];
	judge("nothing changed, large tree, us", big->median[0], 50);
	judge("1 changed, large tree, us", big->median[1], 1500);
	judge("1 changed, large tree / 1,000 files", big->median[1] / small->median[1], 1.2);
	judge("10 changed, large tree / 1,000 files", big->median[2] / small->median[2], 1.5);
	judge("1 changed, large tree / libgit2 add_all", big->median[1] / big->git_median, 0.01);
	earlier(small->median[1]);
	cases();
	return failed ? 1 : 0;
}
