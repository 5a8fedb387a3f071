/* A mirror whose other side is a directory on the host: its pushes, its pulls, and the power of a lying side. */
#include <poll.h>
#include <stdlib.h>

#include "box_fixture.h"
#include "sandbox/common/mirror_priv.h"
#include "sandbox/common/layers.h"
#include "sandbox/common/mirror.h"
#include "wire/guest.h"
#include "wire/plan.h"
#include "wire/tool.h"

static char *tool; /* our guest program */

/* --- the other side: the tool as a child of ours, or an answer that was made up --- */

struct question {
	mirror_done_fn *done;
	void *self;
	struct buf out;
	int code;
};

static const char *lie_to; /* verb that is answered with lie */
static struct buf lie;
static int asked, fetched; /* questions; those for contents */

static void tell(void *self)
{
	struct question *q = self;
	mirror_answer(buf_cstr(&q->out), q->out.len, q->code, 0, "", q->done, q->self);
	buf_release(&q->out);
	free(q);
}

static int run_tool(char *const *arg, const void *in, size_t len, struct buf *out)
{
	struct err err = ERR_INIT;
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	CLEANUP(free_ptr) char *given = fx_path("in");
	CLEANUP(free_ptr) char *got = fx_path("out");
	int pid, pidfd, status = 255;
	strv_push(&argv, tool);
	strv_push(&argv, TOOL_OPTION);
	for (; *arg; arg++)
		strv_push(&argv, *arg);
	CLEANUP(fd_close) int to = open(given, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP(fd_close) int from = open(got, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd_write_all(to, in ? in : "", len, &err) < 0 || lseek(to, 0, SEEK_SET) < 0)
		return 255;
	const int fds[] = { to, from, 2 };
	if (proc_spawn(tool, argv.item, environ, fds, 3, &pid, &pidfd, &err) < 0)
		return 255;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	poll(&p, 1, 30000);
	if (proc_reap(pidfd, &status, &err) < 0)
		status = 255;
	fd_close(&pidfd);
	if (file_read(got, out, 1 << 30, &err) < 0)
		return 255;
	return status;
}

static void run(void *self, char *const *arg, const void *in, size_t len, mirror_done_fn *done, void *done_self)
{
	struct question *q = NEW(struct question);
	(void)self;
	*q = (struct question){ .done = done, .self = done_self };
	asked++;
	fetched += strcmp(arg[0], "get") == 0;
	if (lie_to && strcmp(arg[0], lie_to) == 0)
		buf_append(&q->out, lie.data, lie.len);
	else
		q->code = run_tool(arg, in, len, &q->out);
	loop_defer(fx_loop, tell, q);
}

/* --- one mirror and its two sides --- */

static struct folder *folder;
static struct mirror *mirror;
static char *here, *far;

struct work {
	int (*fn)(struct mirror *m, struct err *err);
	struct err err;
	int rc;
	bool here;
};

static void work(void *self)
{
	struct work *w = self;
	w->rc = w->fn(mirror, &w->err);
}

static void worked(void *self)
{
	((struct work *)self)->here = true;
}

static struct err does(int (*fn)(struct mirror *m, struct err *err))
{
	struct work w = { .fn = fn };
	loop_job_run(fx_loop, work, worked, &w);
	fx_wait(&w.here);
	return w.err;
}

static int shell(const char *dir, const char *command)
{
	CLEANUP(free_ptr) char *line = mem_printf("cd '%s' && %s", dir, command);
	return system(line);
}

static bool alike(void)
{
	CLEANUP(free_ptr) char *line = mem_printf("diff -r --no-dereference '%s' '%s' >/dev/null 2>&1 && "
						 "[ \"$(cd '%s' && find . -printf '%%P %%y %%m %%l\\n' | sort)\" = "
						 "\"$(cd '%s' && find . -printf '%%P %%y %%m %%l\\n' | sort)\" ]",
						 here, far, here, far);
	return system(line) == 0;
}

static int pull(struct mirror *m, struct err *err)
{
	return mirror_pull(m, false, err);
}

static int pull_ended(struct mirror *m, struct err *err)
{
	return mirror_pull(m, true, err);
}

static void both_ways(void)
{
	static const char *const steps[] = {
		"echo new >new; mkdir -p n/n; echo 2 >n/n/f; : >empty",
		"rm -r doc; echo more >>src/a.c; chmod 600 src/a.c",
		"mkdir doc; echo other >doc/one; ln -s ../new doc/l; ln -s nowhere dangling",
		"rm -r src; echo now-a-file >src",
		"rm src; mkdir -p src/deep/er; echo a >src/deep/er/a; chmod 0500 src/deep",
		"chmod 0700 src/deep; rm src/deep/er/a; echo b >src/deep/b; chmod 0500 src/deep",
		"chmod 0700 src/deep; rm -r src; printf x >\"$(printf '\\377\\n')\"; mkdir -p .git; echo ref >.git/HEAD",
		"head -c 20000000 /dev/zero | tr '\\0' q >big; head -c 9000000 /dev/urandom >big2; seq 1 2000 | split -l 1 -a 4 - many",
		"rm -rf ./* .git",
	};
	struct err err = does(mirror_push);
	ok(err.code == 0 && alike(), "a push copies the host's files: %s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (shell(far, steps[i]) != 0)
			printf("# %s\n", steps[i]);
		err = does(pull);
		ok(err.code == 0 && alike(), "and comes back, step %zu %s", i, err.text);
	}
	int before = asked;
	err = does(pull);
	ok(err.code == 0 && asked == before + 1, "where nothing has changed one question is asked");
}

/* --- what comes with the end of a command --- */

/* The command is @line; what our tool then says goes in, cut to @most bytes. Returns its number. */
static unsigned ends(const char *line, size_t most)
{
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err none = ERR_INIT;
	unsigned nr = mirror_news(mirror, &words);
	if (shell(far, line) != 0)
		printf("# %s\n", line);
	if (!nr)
		return 0;
	bool good = run_tool(words.item, NULL, 0, &out) == 0 && out.len > 0 && out.data[0] == 0;
	size_t len = good ? out.len - 1 : 0;
	mirror_news_came(mirror, nr, out.data + 1, len < most ? len : most, good ? NULL : &none);
	return nr;
}

static void unasked(void)
{
	static const struct {
		const char *line;
		int questions; /* beyond what came */
	} steps[] = {
		{ "true", 0 },
		{ "echo new >new; mkdir -p n/n; echo 2 >n/n/f; : >empty", 0 },
		{ "echo more >>new; rm -r n; ln -s new l2", 0 },
		{ "head -c 300000 /dev/urandom >big; echo small >small", 1 },
		{ "for i in $(seq 3000); do echo $i >many-files-with-quite-long-names-that-fill-the-list-$i-$i-$i-$i-$i; done", 2 },
		{ "rm many* big", 0 },
	};
	struct err err = does(pull);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int before = asked;
		ends(steps[i].line, SIZE_MAX);
		err = does(pull_ended);
		ok(err.code == 0 && alike() && asked <= before + steps[i].questions && (asked > before) == (steps[i].questions > 0),
		   "changes at the end of a command: %d questions, step %zu %s", asked - before, i, err.text);
	}
	int before = asked;
	unsigned nr = ends("echo 1 >stirred", SIZE_MAX);
	mirror_stirred(mirror, nr);
	err = does(pull_ended);
	ok(err.code == 0 && asked == before, "the command's own end does not make the mirror stale");
	nr = ends("echo 2 >stirred", SIZE_MAX);
	shell(far, "echo 3 >stirred");
	mirror_stirred(mirror, nr + 1);
	err = does(pull_ended);
	ok(err.code == 0 && asked > before && alike(), "another command's end does: the other side is asked");
	ends("echo 4 >stirred", SIZE_MAX);
	shell(far, "echo 5 >stirred");
	err = does(pull);
	ok(err.code == 0 && alike(), "an explicit pull asks the other side");
	before = asked;
	err = does(pull_ended);
	ok(err.code == 0 && asked == before + 1, "and what came then is not used later");
	bool good = true;
	for (size_t len = 0; len < 700; len += 57) { /* cut anywhere: an end or an error, and the next look puts it right */
		ends("date +%N >cut; echo x >cut2", len);
		err = does(pull_ended);
		err = does(pull);
		good &= err.code == 0 && alike();
	}
	ok(good, "news that are cut do no harm: %s", err.text);
	shell(far, "rm -rf ./*");
	err = does(pull);
}

/* --- several commands at a time --- */

static unsigned begins(struct strv *words)
{
	strv_release(words);
	return mirror_news(mirror, words);
}

static void side_by_side(void)
{
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err err = does(pull), none = ERR_INIT;
	unsigned a = begins(&words), b = begins(&words);
	ok(a && b && a != b, "two commands run");
	shell(far, "echo 1 >side");
	mirror_stirred(mirror, a);
	int before = asked;
	err = does(pull_ended);
	ok(err.code == 0 && asked > before && alike(), "one ends: the other is not waited for %s", err.text);
	shell(far, "echo 2 >side");
	mirror_stirred(mirror, b);
	mirror_news_came(mirror, b, NULL, 0, &none);
	err = does(pull_ended);
	ok(err.code == 0 && alike(), "nor is the one for the other, when it has ended %s", err.text);

	a = begins(&words);
	ok(run_tool(words.item, NULL, 0, &out) == 0 && out.len > 1, "it has looked: nothing is new");
	shell(far, "echo 3 >side");
	mirror_stirred(mirror, 0);
	mirror_news_came(mirror, a, out.data + 1, out.len - 1, NULL);
	mirror_stirred(mirror, a);
	err = does(pull_ended);
	ok(err.code == 0 && alike(), "a change made before that answer is found %s", err.text);

	struct work w = { .fn = pull_ended };
	a = begins(&words);
	shell(far, "echo 4 >side");
	mirror_stirred(mirror, a);
	loop_job_run(fx_loop, work, worked, &w);
	b = begins(&words);
	fx_wait(&w.here);
	ok(a != b && w.err.code == 0 && alike(), "who waits asks when a new one begins %s", w.err.text);
	shell(far, "rm side");
	err = does(pull);
}

/* --- what we have written there ourselves --- */

enum { OURS = 100000 };

static void writes(const char *name, char c)
{
	struct buf bytes = BUF_INIT;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = path_join(far, name);
	buf_reserve(&bytes, OURS);
	memset(bytes.data, c, OURS);
	bytes.len = OURS;
	if (file_write_renamed(path, bytes.data, bytes.len, 0644, &err) < 0)
		printf("# %s\n", err.text);
	mirror_put(mirror, name, &bytes);
}

static void ours(void)
{
	static const struct {
		const char *name, *line;
		int fetched;
	} then[] = {
		{ "as it was written: it does not come back", "true", 0 },
		{ "with another mode", "chmod 600 ours", 0 },
		{ "changed, and as long as before", "printf y | dd of=ours conv=notrunc bs=1 seek=50000 2>/dev/null", 1 },
		{ "longer", "echo more >>ours", 1 },
		{ "away", "rm ours", 0 },
		{ "a folder", "rm -f ours; mkdir ours; echo in >ours/in", 1 },
		{ "beside another that is not ours", "tr x z <second >ours; echo 1 >other", 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(then); i++) {
		shell(far, "[ ! -d ours ] || rm -r ours");
		writes("ours", 'w');
		writes("ours", 'x');
		writes("second", 'x');
		shell(far, then[i].line);
		int before = fetched;
		struct err err = does(pull);
		ok(err.code == 0 && alike() && fetched == before + then[i].fetched, "what we have written, %s: fetched %d times %s", then[i].name,
		   fetched - before, err.text);
	}
	bool good = true;
	CLEANUP(buf_release) struct buf sums = BUF_INIT, in = BUF_INIT;
	char *const words[] = { (char *)(uintptr_t)"sum", far, NULL };
	pack_str(&in, "second");
	for (size_t len = 0; len < 90; len++) { /* cut the sums off at each length */
		writes("second", (char)('a' + len % 26));
		buf_reset(&sums);
		good &= run_tool(words, in.data, in.len, &sums) == 0 && sums.len > 60;
		buf_reset(&lie);
		buf_append(&lie, sums.data, sums.len < len ? sums.len : len);
		lie_to = "sum";
		struct err err = does(pull);
		lie_to = NULL;
		good &= err.code == 0 && alike();
	}
	ok(good, "wrong sums do no harm");
	shell(far, "rm -rf ./*");
	ok(does(pull).code == 0 && alike(), "and all files are removed");
}

/* --- lies --- */

static void list_with(const struct manifest_entry *e, size_t nr)
{
	buf_reset(&lie);
	buf_putc(&lie, 0);
	buf_append(&lie, "digest!!", 8);
	for (size_t i = 0; i < nr; i++)
		manifest_put(&lie, &e[i]);
}

static void lies(void)
{
	static const struct {
		const char *name;
		struct manifest_entry e[2];
		size_t nr;
	} cases[] = {
		{ "a way up", { { .kind = MANIFEST_DIR, .mode = 0755, .path = "../out" } }, 1 },
		{ "a way up inside", { { .kind = MANIFEST_DIR, .mode = 0755, .path = "a/../../out" } }, 1 },
		{ "an absolute path", { { .kind = MANIFEST_LINK, .path = "/tmp/out", .target = "x" } }, 1 },
		{ "a path twice", { { .kind = MANIFEST_DIR, .mode = 0700, .path = "a" }, { .kind = MANIFEST_DIR, .mode = 0700, .path = "a" } }, 2 },
		{ "a wrong order", { { .kind = MANIFEST_DIR, .mode = 0700, .path = "b" }, { .kind = MANIFEST_DIR, .mode = 0700, .path = "a" } }, 2 },
		{ "an unknown kind", { { .kind = (enum manifest_kind)9, .path = "a" } }, 1 },
		{ "a link without a target", { { .kind = MANIFEST_LINK, .path = "a" } }, 1 },
	};
	lie_to = "list";
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		list_with(cases[i].e, cases[i].nr);
		struct err err = does(pull);
		ok(err.code == ERR_PARSE, "%s is refused: %s", cases[i].name, err.text);
	}
	/* a name that becomes a link, and what would be written through it */
	static const struct manifest_entry through[] = { { .kind = MANIFEST_LINK, .path = "a", .target = "/tmp" },
							 { .kind = MANIFEST_DIR, .mode = 0755, .path = "a/sandglass-mirror-escape" } };
	list_with(through, 2);
	struct err err = does(pull);
	ok(err.code != 0 && access("/tmp/sandglass-mirror-escape", F_OK) < 0, "nothing is written through a link: %s", err.text);
	for (size_t len = 0; len < lie.len; len += 13) { /* cut anywhere: an end or an error, no more */
		size_t all = lie.len;
		lie.len = len;
		err = does(pull);
		lie.len = all;
		if (err.code == 0 && len != 9)
			printf("# cut at %zu is taken\n", len);
	}
	buf_reset(&lie);
	buf_putc(&lie, ERR_DENIED);
	buf_puts(&lie, "no");
	err = does(pull);
	ok(err.code == ERR_DENIED && strstr(err.text, "no"), "an error of the tool is reported: %s", err.text);
	lie_to = NULL;
	err = does(pull);
	ok(err.code == 0 && alike(), "afterwards both sides are equal again: %s", err.text);
	lie_to = "get";
	buf_reset(&lie);
	buf_append(&lie, "\0\1\1", 3);
	shell(far, "echo changed >changed");
	err = does(pull);
	ok(err.code == ERR_PARSE, "contents that are cut are refused: %s", err.text);
	lie_to = NULL;
	err = does(pull);
	ok(err.code == 0 && alike(), "and asked for again: %s", err.text);
}

int main(void)
{
	struct err err = ERR_INIT;
	fx_start();
	tool = fx_program("sandglass-guest");
	if (access(tool, X_OK) < 0)
		skip_all("sandglass-guest is not built");
	CLEANUP(free_ptr) char *repo = fx_path("repo"), *state = fx_path("state");
	far = fx_path("far");
	fx_file(repo, "src/a.c", "a\n", 0644);
	fx_file(repo, "doc/one", "1\n", 0755);
	fx_file(repo, "shut/f", "f\n", 0600);
	shell(repo, "chmod 0500 shut; ln -s doc/one l");
	if (dir_make(state, 0700, &err) < 0 || dir_make(far, 0700, &err) < 0)
		printf("# %s\n", err.text);
	const struct folder_opts fo = { .loop = fx_loop, .state_dir = state, .name = "f", .uid = geteuid(), .gid = getegid() };
	const struct box_repo one = { .name = "", .host_dir = repo };
	const struct box_opts bo = { .repo = &one, .nr_repos = 1 };
	struct layers layers;
	layers_take(&layers, &bo);
	layers.copy = true;
	folder = folder_new(&fo);
	ok(layers_scan(&layers, &err) == 0 && folder_fill(folder, &layers, &err) == 0, "the copy: %s", err.text);
	layers_release(&layers);
	here = path_join(folder_root(folder), "workspace");
	const struct mirror_opts mo = { .loop = fx_loop, .folder = folder, .far_root = far, .run = run };
	mirror = mirror_new(&mo);
	both_ways();
	unasked();
	side_by_side();
	ours();
	lies();
	mirror_over(mirror);
	err = does(pull);
	ok(err.code == ERR_CLOSED, "the loss of the other side is reported: %s", err.text);
	mirror_free(&mirror);
	folder_free(&folder);
	buf_release(&lie);
	free(here);
	free(far);
	free(tool);
	return fx_end();
}
