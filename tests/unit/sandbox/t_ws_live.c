/* While others write: the user's editor in the repository, a big install in the box, mappings, very large files. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "sandbox/workspace/base.h"
#include "sandbox/workspace/diff.h"
#include "ws_merge.h"

/* An editor that saves 500 times, by rename and in place, into files the box reads, changes or never touches. */
struct editor {
	char *dir;
	_Atomic bool done;
};

static void *edit(void *arg)
{
	struct editor *e = arg;
	for (int i = 0; i < 500; i++) {
		char *to = mem_printf("%s/%s", e->dir, i % 2 ? "notes.txt" : "both.txt"), *tmp = mem_printf("%s/.edit.swp", e->dir);
		bool in_place = i % 4 == 1;
		FILE *f = fopen(in_place ? to : tmp, "w");
		for (int k = 0; f && k < 20; k++)
			fprintf(f, k == 10 ? "the user's line, save %d\n" : "line %d\n", k == 10 ? i : k);
		if (f)
			fclose(f);
		if (!in_place && rename(tmp, to) < 0)
			perror("# rename");
		free(to);
		free(tmp);
	}
	e->done = true;
	return NULL;
}

static bool only_ours(const struct ws_box *b)
{
	struct err err = ERR_INIT;
	struct ws_view v;
	bool good = ws_view_load(&v, &b->store, b->body, &err) == 0;
	for (size_t i = 0; good && i < v.nr; i++)
		if (strncmp(v.item[i].path, "box", 3) != 0 && strcmp(v.item[i].path, "both.txt") != 0) {
			printf("# the snapshot speaks of %s\n", v.item[i].path);
			good = false;
		}
	ws_view_release(&v);
	return good;
}

static void editor(bool copy)
{
	struct merge_box m;
	struct ws_box *b = &m.b;
	struct base *base = NULL;
	struct err err = ERR_INIT;
	struct merge_result r;
	json_t *drift = NULL;
	if (!box_init(b, copy))
		return;
	sh_in(b->lower, "git init -q -b main .; for f in notes both box; do for k in $(seq 0 19); do echo line $k; done > $f.txt; done; git add -A; git commit -qm base");
	if (!box_open(b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(b);
		return;
	}
	box_take(b);
	ok(base_list(&base, ws_lower_fd(b->ws), getuid(), &err) == 0, "the base is listed");
	struct editor e = { .dir = b->lower };
	pthread_t thread;
	int bad = 0, taken = 0;
	/* the box has its own version of a file before the user touches it: from then on that is the box's */
	sh_in(b->merged, "sed -i 's/^line 2$/the box/' both.txt");
	box_take(b);
	pthread_create(&thread, NULL, edit, &e);
	while (!e.done) {
		sh_in(b->merged, "echo x >> box.txt; echo %d > box-%d", taken, taken % 7);
		bad += box_take(b) < 0 || !only_ours(b);
		taken++;
	}
	pthread_join(thread, NULL);
	box_take(b);
	ok(!bad && taken > 3, "%s: %d snapshots while an editor saved 500 times: no diff holds a line of the user", copy ? "copy" : "overlay", taken);
	ok(sh_in(b->lower, "grep -q 'save 499' notes.txt; grep -q 'save 498' both.txt; test $(wc -l < notes.txt) = 20") == 0, "nothing of the user's is lost");
	is_int(base_drift(base, ws_lower_fd(b->ws), NULL, NULL, &drift, &err), 1, "the user's edits are reported as drift");
	is_int(json_array_size(json_object_get(drift, "changes")), 2, "of the two files");
	json_decref(drift);
	base_free(&base);
	/* merged back: the user's line and the box's line are both there */
	m.undo = mem_printf("%s/undo", b->dir);
	ok(ws_view_load(&m.view, &b->store, b->body, &err) == 0, "the work of the box");
	m.step = (struct merge_step){ .view = &m.view, .message = "box\n" };
	m.target = (struct merge_target){ .repo = "", .dir = b->lower, .step = &m.step, .nr_steps = 1 };
	m.o = (struct merge_opts){ .id = "00c0ffee", .author = "Ann", .email = "a@example.org", .undo_dir = m.undo,
				   .store = &b->store, .target = &m.target, .nr_targets = 1, .spawn = fork_child };
	ok(merge_run(&m.o, &r, &err) == 0 && r.done, "is merged three-way");
	merge_result_release(&r);
	ok(sh_in(b->lower, "grep -q 'save 498' both.txt; grep -q 'the box' both.txt; grep -q 'save 499' notes.txt; test $(wc -l < both.txt) = 20") == 0,
	   "with what the user wrote meanwhile");
	ws_view_release(&m.view);
	free(m.undo);
	box_end(b);
}

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void many(const char *dir, int dirs, bool kept)
{
	struct ws_box b;
	struct ws_stats st;
	if (!box_init(&b, false))
		return;
	sh_in(b.lower, "echo r > README");
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	int64_t from = now_us();
	for (int d = 0; d < dirs; d++) {
		char *path = mem_printf("%s/%s/p%d/lib", b.merged, dir, d);
		struct err err = ERR_INIT;
		(void)!dir_make(path, 0755, &err);
		for (int i = 0; i < 100; i++) {
			char *file = mem_printf("%s/m%d.js", path, i);
			FILE *f = fopen(file, "w");
			if (f) {
				fprintf(f, "module.exports = %d;\n", d * 100 + i);
				fclose(f);
			}
			free(file);
		}
		free(path);
	}
	int64_t made = now_us();
	is_int(box_take(&b), 1, kept ? "3,000 small files" : "30,000 small files");
	int all = dirs * 102 + 1;
	int64_t took = now_us() - made;
	ws_stats(b.ws, &st);
	printf("# %s: made in %lld ms, snapshot in %lld ms, %llu bytes of objects\n", dir, (long long)(made - from) / 1000,
	       (long long)took / 1000, (unsigned long long)memstore_bytes(b.mem));
	is_int(json_int(b.body, "changed", 0), all, "all of them");
	is_int(json_array_size(json_object_get(b.body, "changes")), WS_CHANGES_MAX, "2,000 are listed");
	is_int(json_int(b.body, "more", 0), all - WS_CHANGES_MAX, "and how many more");
	ok(oracle(&b), "each with its name and bytes");
	ok(json_flag(json_array_get(json_object_get(b.body, "changes"), 50), "hash_only", false) == !kept, kept ? "bytes are kept" : "hash only");
	is_int(box_take(&b), 0, "nothing more");
	sh_in(b.merged, "rm -rf %s", dir);
	box_take(&b);
	ws_stats(b.ws, &st);
	is_int(st.touched, 0, "removed again: nothing is left");
	ok(st.nodes < 10, "not even in memory");
	box_end(&b);
}

/* A store through a mapping that is dirty already moves no time: only a sync makes the next one visible. */
static void mapping(void)
{
	struct ws_box b;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	if (!box_init(&b, false))
		return;
	sh_in(b.lower, "head -c 4096 /dev/zero > data");
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	char *path = mem_printf("%s/data", b.merged);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!ok(p != MAP_FAILED, "a mapping"))
		return;
	int seen = 0;
	for (int i = 1; i <= 5; i++) {
		p[100] = (char)i;
		usleep(30000);
		body = NULL;
		int rc = ws_take(b.ws, &b.store, &(struct ws_how){ .why = "background", .sync = true }, &body, &err);
		if (rc > 0) {
			json_decref(b.body);
			b.body = body;
		}
		seen += rc > 0 && oracle(&b);
	}
	is_int(seen, 5, "five stores through a living mapping, five snapshots that show them");
	munmap(p, 4096);
	close(fd);
	free(path);
	box_end(&b);
}

static void large(bool dense)
{
	struct ws_box b;
	struct rusage before, after;
	const char *size = getenv("LONG") ? "10G" : dense ? "64M" : "512M";
	if (!box_init(&b, false))
		return;
	sh_in(b.lower, "echo r > README");
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	if (dense)
		sh_in(b.merged, "head -c %s /dev/zero | tr '\\0' 'x' > big; git hash-object big > ../oid 2>/dev/null || true", size);
	else
		sh_in(b.merged, "truncate -s %s big; git hash-object big > ../oid 2>/dev/null || true", size);
	getrusage(RUSAGE_SELF, &before);
	int64_t from = now_us();
	is_int(box_take(&b), 1, dense ? "a large dense file" : "a large sparse file");
	getrusage(RUSAGE_SELF, &after);
	printf("# %s %s: %lld ms, %ld KB more\n", size, dense ? "dense" : "sparse", (long long)(now_us() - from) / 1000, after.ru_maxrss - before.ru_maxrss);
	const json_t *c = json_array_get(json_object_get(b.body, "changes"), 0);
	ok(json_flag(c, "hash_only", false), "is hash only");
	ok(memstore_bytes(b.mem) < 10000, "and takes no room");
	ok(after.ru_maxrss - before.ru_maxrss < 16 << 10, "nor memory");
	char *file = mem_printf("%s/oid", b.dir);
	struct buf want = BUF_INIT;
	struct err err = ERR_INIT;
	if (file_read(file, &want, 100, &err) == 0 && want.len > 40) {
		want.data[40] = 0;
		is_str(json_str(c, "oid", ""), buf_cstr(&want), "its name is git's");
	}
	sh_in(b.merged, "chmod 600 big");
	from = now_us();
	is_int(box_take(&b), 1, "another mode");
	is_str(op_at(&b, "big"), "m", "is all that changed");
	buf_release(&want);
	free(file);
	box_end(&b);
}

int main(void)
{
	if (!own_mounts())
		printf("# no mount namespace of our own: overlays will be skipped\n");
	editor(true);
	editor(false);
#ifndef __SANITIZE_ADDRESS__ /* the same code as the next, ten times as long */
	many("node_modules", 300, false);
#endif
	many("src", 30, true);
	mapping();
	large(false);
	large(true);
	return done_testing();
}
