/* Several targets, undo, choices, commits per step, crashes of the child: what surrounds a merge. */
#include <signal.h>

#include <fcntl.h>

#include "sandbox/workspace/hostfile.h"
#include "ws_merge.h"

#define REPO "mkdir repo; cd repo; git init -q -b main .; "
#define COMMIT "git add -A; git commit -qm base; "

static void undo(enum merge_mode mode)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	bool good = merge_init(&m, REPO "seq 9 > f; echo gone > gone; mkdir d; echo 1 > d/1; echo x > x; " COMMIT "echo dirty >> x; cp -a ../repo ../before; git rev-parse HEAD > ../head; ",
			       "repo", "sed -i s/5/five/ f; rm gone; rm -r d; echo d > d; mkdir e; echo e > e/e; chmod +x x");
	m.o.mode = mode;
	ok(good && merge_run(&m.o, &r, &err) == 0 && r.done, "merged by %s", merge_mode_name(mode));
	merge_result_release(&r);
	ok(sh_in(m.b.lower, "grep -q five f; test -f d; test -x x") == 0, "files are there");
	is_int(merge_undo(&m.o, &body, &err), 0, "undone");
	ok(sh_in(m.b.dir, "diff -r --no-dereference -x .git repo before; cd repo; test \"$(git rev-parse HEAD)\" = \"$(cat ../head)\";"
			  "test \"$(git status --porcelain)\" = ' M x'; test ! -x x; ! git rev-parse -q --verify refs/sandglass/merge/00c0ffee") == 0,
	   "everything is as it was");
	json_decref(body);
	body = NULL;
	is_int(merge_undo(&m.o, &body, &err), 0, "a second undo");
	ok(sh_in(m.b.dir, "diff -r --no-dereference -x .git repo before") == 0, "does nothing");
	json_decref(body);
	merge_end(&m);
}

static void undo_kept(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	bool good = merge_init(&m, REPO "seq 9 > f; seq 9 > g; " COMMIT, "repo", "sed -i s/5/five/ f g; echo n > n");
	ok(good && merge_run(&m.o, &r, &err) == 0 && r.done, "merged");
	merge_result_release(&r);
	sh_in(m.b.lower, "echo later >> f; echo later >> n");
	is_int(merge_undo(&m.o, &body, &err), 0, "undone, although the user made changes since");
	const json_t *kept = json_object_get(json_array_get(json_object_get(body, "targets"), 0), "kept");
	is_int(json_array_size(kept), 2, "the user's later changes are kept and named");
	ok(sh_in(m.b.lower, "grep -q later f; grep -q five f; grep -q later n; grep -q 5 g") == 0, "and none is lost");
	json_decref(body);
	is_int(merge_undo(&(struct merge_opts){ .id = "dead", .undo_dir = m.undo, .spawn = fork_child }, &body, &err), -1,
	       "an unknown merge can't be undone");
	is_int(err.code, ERR_NOENT, "and the error is 'not found'");
	merge_end(&m);
}

static void five_repositories(void)
{
	struct merge_box m[5];
	struct merge_target t[5];
	struct merge_result r;
	struct err err = ERR_INIT;
	struct buf got = BUF_INIT;
	bool good = true;
	for (size_t i = 0; i < 5; i++) {
		good &= merge_init(&m[i], REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/5/five/ f; echo n > n");
		t[i] = m[i].target;
		t[i].repo = (const char *[]){ "a", "b", "c", "d", "e" }[i];
	}
	sh_in(m[3].b.lower, "sed -i s/5/FIVE/ f");
	/* one store for all: the same contents everywhere */
	struct merge_opts o = m[0].o;
	o.mode = MERGE_COMMITS;
	o.target = t;
	o.nr_targets = 5;
	is_int(good ? merge_run(&o, &r, &err) : -1, 0, "five repositories with one conflict");
	ok(!r.clean && !r.done, "are not merged");
	is_str(whys(r.body, 3, "conflicts", &got), "f: changed in the sandbox and in the target, at the same lines; ", "the one that is in the way is named");
	is_str(whys(r.body, 2, "conflicts", &got), "", "the others are not");
	merge_result_release(&r);
	for (size_t i = 0; i < 5; i++)
		good &= sh_in(m[i].b.lower, "test $(git rev-list --count HEAD) = 1; test ! -e n; ! git rev-parse -q --verify refs/sandglass/merge/00c0ffee") == 0;
	ok(good, "nothing was changed in any of them, not even a ref");
	sh_in(m[3].b.lower, "sed -i s/FIVE/5/ f");
	is_int(merge_run(&o, &r, &err), 0, "the conflict has gone");
	ok(r.done, "now all are merged");
	merge_result_release(&r);
	for (size_t i = 0; i < 5; i++)
		good &= sh_in(m[i].b.lower, "test $(git rev-list --count HEAD) = 2; test -z \"$(git status --porcelain)\"") == 0;
	ok(good, "each of them");
	json_t *body = NULL;
	is_int(merge_undo(&o, &body, &err), 0, "undo");
	json_decref(body);
	/* the last one cannot be written at the very end: the others are taken back */
	sh_in(m[4].b.lower, "touch .git/index.lock");
	is_int(merge_run(&o, &r, &err), -1, "a repository whose index is locked by another git");
	printf("# %s\n", err.text);
	for (size_t i = 0; i < 5; i++)
		good &= sh_in(m[i].b.lower, "rm -f .git/index.lock; test $(git rev-list --count HEAD) = 1; test ! -e n; test -z \"$(git status --porcelain)\"") == 0;
	ok(good, "all or none: the four before it are as they were");
	buf_release(&got);
	for (size_t i = 0; i < 5; i++)
		merge_end(&m[i]);
}

static void choices(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	bool good = merge_init(&m, REPO "seq 40 > f; echo g > g; printf 'a\\0' > bin; " COMMIT, "repo",
			       "sed -i 's/^5$/five/; s/^20$/twenty/; s/^35$/thirtyfive/' f; echo x >> g; echo n > n; printf 'b\\0' > bin");
	const unsigned left[] = { 2 };
	struct merge_choice c[] = { { .path = "f", .len = 1, .left = left, .nr_left = 1 }, { .path = "g", .len = 1, .leave = true } };
	m.target.choice = c;
	m.target.nr_choices = 2;
	m.o.mode = MERGE_COMMITS;
	ok(good && merge_run(&m.o, &r, &err) == 0 && r.done, "two hunks of three, not the file g");
	merge_result_release(&r);
	ok(sh_in(m.b.lower, "test -z \"$(git status --porcelain)\"; grep -qx five f; grep -qx 20 f; grep -qx thirtyfive f; test \"$(cat g)\" = g; test -f n") == 0,
	   "is what there is");
	const unsigned all[] = { 1 };
	c[0] = (struct merge_choice){ .path = "bin", .len = 3, .left = all, .nr_left = 1 };
	m.o.id = "00c0ffef";
	is_int(merge_run(&m.o, &r, &err), -1, "a binary has no hunks");
	is_str(err.text, "merge: 'bin' has no hunks; accept or reject the whole file", "with this error");
	merge_end(&m);
}

static void hunks_by_hand(void)
{
	static const struct {
		const char *old, *new;
		unsigned left[4];
		size_t nr_left;
		const char *want;
	} c[] = {
		{ "1\n2\n3\n", "1\nx\n3\n", { 0 }, 0, "1\nx\n3\n" },
		{ "1\n2\n3\n", "1\nx\n3\n", { 1 }, 1, "1\n2\n3\n" },
		{ "", "a\nb", { 0 }, 0, "a\nb" },
		{ "a\nb", "", { 0 }, 0, "" },
		{ "a\nb", "a\nb\n", { 0 }, 0, "a\nb\n" },
		{ "a\nb", "a\nb\n", { 1 }, 1, "a\nb" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12x", { 1 }, 1, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12x" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12x", { 2 }, 1, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n", { 1 }, 1, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct ws_patch p;
		struct err err = ERR_INIT;
		struct buf out = BUF_INIT;
		if (ws_patch_buffers(&p, c[i].old, strlen(c[i].old), c[i].new, strlen(c[i].new), 3, &err) < 0)
			continue;
		merge_take_hunks(&p, c[i].left, c[i].nr_left, &out);
		is_str(buf_cstr(&out), c[i].want, "content made of chosen hunks");
		buf_release(&out);
		ws_patch_release(&p);
	}
}

static void one_commit_per_step(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	bool good = merge_init(&m, REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/2/two/ f");
	struct ws_view v[3];
	struct merge_step s[3];
	static const char *const edit[] = { "true", "echo n > n; sed -i s/8/eight/ f", "rm n; echo o > o" };
	static const char *const message[] = { "first\n", "second\n\nwith a body\n", "third\n" };
	for (size_t i = 0; i < 3; i++) {
		sh_in(m.b.merged, "%s", edit[i]);
		box_take(&m.b);
		good &= ws_view_load(&v[i], &m.b.store, m.b.body, &err) == 0;
		s[i] = (struct merge_step){ .view = &v[i], .message = message[i] };
	}
	m.target.step = s;
	m.target.nr_steps = 3;
	m.o.mode = MERGE_COMMITS;
	ok(good && merge_run(&m.o, &r, &err) == 0 && r.done, "three steps");
	merge_result_release(&r);
	ok(sh_in(m.b.lower, "test \"$(git log --format=%%s | tr '\\n' ' ')\" = 'third second first base '; test -z \"$(git status --porcelain)\";"
			    "git show HEAD~1:n | grep -q n; ! git show HEAD:n; git log -1 --format=%%an:%%at HEAD~1 | grep -qx 'Ann:1700000000'") == 0,
	   "are three commits");
	for (size_t i = 0; i < 3; i++)
		ws_view_release(&v[i]);
	merge_end(&m);
}

static int spawn_and_kill(void *self, int sock, int *pidfd_out, struct err *err)
{
	(void)self;
	pid_t pid = fork();
	if (pid == 0) {
		close(sock);
		_exit(1);
	}
	*pidfd_out = (int)syscall(SYS_pidfd_open, pid, 0);
	return *pidfd_out < 0 ? err_sys(err, "pidfd_open") : 0;
}

static int spawn_stuck(void *self, int sock, int *pidfd_out, struct err *err)
{
	(void)self, (void)sock;
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(1);
	}
	*pidfd_out = (int)syscall(SYS_pidfd_open, pid, 0);
	return *pidfd_out < 0 ? err_sys(err, "pidfd_open") : 0;
}

static bool stop_now(void *self)
{
	(void)self;
	return true;
}

/* Killed at each labelled step: the files are restored at once, a second try ends it. */
static void killed(void)
{
	static const char *const where[] = { "merge-ref", "merge-record", "merge-file:1", "merge-file:2", "merge-file:3" };
	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		struct merge_box m;
		struct merge_result r;
		struct err err = ERR_INIT;
		json_t *body = NULL;
		bool good = merge_init(&m, REPO "seq 9 > f; echo gone > gone; " COMMIT "cp -a ../repo ../before; ", "repo", "sed -i s/5/five/ f; rm gone; echo n > n");
		m.o.mode = MERGE_COMMITS;
		setenv("FAILPOINT", where[i], 1);
		ok(good && merge_run(&m.o, &r, &err) == -1, "the child dies at %s", where[i]);
		unsetenv("FAILPOINT");
		ok(sh_in(m.b.lower, "git fsck --strict 2>&1; test $(git rev-list --count main) = 1") == 0, "the repository is intact");
		ok(sh_in(m.b.dir, "diff -r --no-dereference -x .git repo before; cd repo; test -z \"$(git status --porcelain)\"; test -z \"$(git for-each-ref refs/sandglass)\"") == 0, "the files are as before, without an undo");
		is_int(merge_undo(&m.o, &body, &err), 0, "an undo finds nothing to do");
		json_decref(body);
		ok(merge_run(&m.o, &r, &err) == 0 && r.done, "a second try");
		merge_result_release(&r);
		ok(sh_in(m.b.lower, "test -z \"$(git status --porcelain)\"; test $(git rev-list --count main) = 2; grep -q five f; test -f n; test ! -e gone") == 0, "ends it");
		merge_end(&m);
	}
}

/* Killed, and merged by a second try: one undo takes both tries back. */
static void killed_then_undone(enum merge_mode mode, const char *where)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	bool good = merge_init(&m, REPO "seq 9 > f; echo gone > gone; " COMMIT "cp -a ../repo ../before; ", "repo", "sed -i s/5/five/ f; rm gone; echo n > n");
	m.o.mode = mode;
	setenv("FAILPOINT", where, 1);
	good &= merge_run(&m.o, &r, &err) == -1;
	unsetenv("FAILPOINT");
	good &= merge_run(&m.o, &r, &err) == 0 && r.done;
	merge_result_release(&r);
	ok(good, "killed at %s, then merged", where);
	is_int(merge_undo(&m.o, &body, &err), 0, "undo");
	json_decref(body);
	ok(sh_in(m.b.dir, "diff -r --no-dereference -x .git repo before; cd repo; test -z \"$(git status --porcelain)\"; test $(git rev-list --count main) = 1; test -z \"$(git for-each-ref refs/sandglass)\"") == 0,
	   "brings back what was there before the first try");
	good = merge_run(&m.o, &r, &err) == 0 && r.done;
	merge_result_release(&r);
	is_int(merge_undo(&m.o, &body, &err), 0, "merged and undone once more");
	json_decref(body);
	ok(good && sh_in(m.b.dir, "diff -r --no-dereference -x .git repo before") == 0, "with the same result");
	merge_end(&m);
}

static void killed_undone(void)
{
	static const char *const where[] = { "merge-ref", "merge-record", "merge-file:1", "merge-file:2", "merge-file:3", "merge-written" };
	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		killed_then_undone(MERGE_COMMITS, where[i]);
		killed_then_undone(MERGE_APPLY, where[i]);
	}
}

/* A version that appears between the look and the write stays, and nothing else is left there. */
static void taken_places(void)
{
	static const struct {
		const char *before, *meanwhile, *after, *name;
	} row[] = {
		{ "rm -f f; echo one > f", "echo two > f", "test \"$(cat f)\" = two", "written in place" },
		{ "rm -f f; echo one > f", "echo two > g; mv g f", "test \"$(cat f)\" = two", "replaced" },
		{ "rm -f f; echo one > f", "ln -sf x f", "test \"$(readlink f)\" = x", "replaced by a link" },
		{ "rm -f f; echo one > f", "rm f", "test ! -e f", "removed" },
		{ "rm -f f", "echo two > f", "test \"$(cat f)\" = two", "made" },
		{ "rm -f f", "ln -sf x f", "test \"$(readlink f)\" = x", "made as a link" },
	};
	char dir[] = "/tmp/sandglass-place-XXXXXX";
	ok(mkdtemp(dir) != NULL, "a directory");
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct hostfile h = HOSTFILE_INIT;
		struct err err = ERR_INIT;
		struct ws_state s = { .kind = WS_FILE, .mode = 0644 };
		bool good = sh_in(dir, "%s", row[i].before) == 0;
		hostfile_read(&h, root, "f", 1);
		good &= sh_in(dir, "%s", row[i].meanwhile) == 0;
		good &= hostfile_write(root, "f", 1, &s, "ours", 4, &h.st, NULL, &err) == -1;
		ok(good && err.code == ERR_BUSY && sh_in(dir, "%s; test \"$(ls -A | grep -v ^f)\" = ''", row[i].after) == 0,
		   "not overwritten: a file that was %s meanwhile", row[i].name);
		if (h.st.st_ino && strcmp(row[i].name, "removed") != 0) {
			err = ERR_INIT;
			ok(hostfile_remove(root, "f", 1, &h.st, &err) == -1 && err.code == ERR_BUSY && sh_in(dir, "%s", row[i].after) == 0,
			   "nor removed");
		}
		hostfile_release(&h);
	}
	close(root);
	sh_in("/", "rm -rf %s", dir);
}

/* A version of another process that is not in its place, and whose place changes meanwhile. */
static void version_stays(void)
{
	char dir[] = "/tmp/sandglass-place-XXXXXX";
	struct stat none = { 0 }, was;
	bool good = mkdtemp(dir) != NULL && sh_in(dir, "echo theirs > temp; echo ours > f") == 0;
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	good &= fstatat(root, "f", &was, 0) == 0 && sh_in(dir, "echo newer > f") == 0;
	ok(good && hostplace_return(root, "temp", "f", &was) == -1 && hostplace_return(root, "temp", "f", &none) == -1 &&
		   sh_in(dir, "test \"$(cat temp f)\" = \"$(printf 'theirs\\nnewer')\"") == 0,
	   "a version that can't return stays, as does the newer one");
	good = fstatat(root, "f", &was, 0) == 0;
	ok(good && hostplace_return(root, "temp", "f", &was) == 0 && sh_in(dir, "test \"$(ls) $(cat f)\" = 'f theirs'") == 0,
	   "it returns in place of a version that is known");
	close(root);
	sh_in("/", "rm -rf %s", dir);
}

static void child_trouble(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	bool good = merge_init(&m, REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/5/five/ f");
	m.o.spawn = spawn_and_kill;
	ok(good && merge_run(&m.o, &r, &err) == -1, "a child that dies at once");
	m.o.spawn = spawn_stuck;
	m.o.stop = stop_now;
	is_int(merge_run(&m.o, &r, &err), -1, "a child that hangs is killed on demand");
	is_int(err.code, ERR_CANCELLED, "and the error is 'cancelled'");
	m.o.spawn = fork_child;
	m.o.stop = NULL;
	m.target.dir = "/nonexistent/repo";
	is_int(merge_run(&m.o, &r, &err), -1, "a target that does not exist");
	is_str(err.text, "merge: '/nonexistent/repo': can't open '/nonexistent/repo': No such file or directory", "is named");
	m.target.dir = m.b.lower;
	m.o.dry = true;
	is_int(merge_run(&m.o, &r, &err), 0, "a dry run");
	ok(r.clean && !r.done && sh_in(m.b.lower, "test -z \"$(git status --porcelain)\"; ! git rev-parse -q --verify refs/sandglass/merge/00c0ffee; test $(git count-objects | cut -d' ' -f1) = 3") == 0,
	   "leaves nothing behind, not even an object");
	merge_result_release(&r);
	json_t *look = NULL;
	is_int(merge_look(&m.o, m.b.lower, &look, &err), 0, "a look");
	is_str(json_str(look, "kind", ""), "repo", "says what it is");
	is_str(json_str(look, "branch", ""), "refs/heads/main", "and its branch");
	json_decref(look);
	merge_end(&m);
}

static void flags(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	struct buf got = BUF_INIT;
	bool good = merge_init(&m, REPO "seq 9 > f; " COMMIT, "repo",
			       "chmod +x f; ln -s /etc/passwd p; ln -s ../../x q; mkdir d .sandglass .github .github/workflows; ln -s ../f d/in; echo p > .sandglass/policy.lua;"
			       "echo w > .github/workflows/x.yml; echo {} > package-lock.json; printf '\\0' > bin; head -c 1100000 /dev/zero | tr '\\0' a > big; cp big suid; chmod 4755 suid");
	m.o.dry = true;
	ok(good && merge_run(&m.o, &r, &err) == 0, "a dry run");
	is_str(whys(r.body, 0, "flags", &got),
	       ".github/workflows/x.yml: ci; .sandglass/policy.lua: policy; big: large; bin: binary; f: executable; p: link out of the tree; "
	       "package-lock.json: lock file; q: link out of the tree; suid: executable; suid: set-uid; suid: large; ", "says what to look at twice");
	merge_result_release(&r);
	m.o.dry = false;
	ok(merge_run(&m.o, &r, &err) == 0 && r.done && sh_in(m.b.lower, "test -x suid; test ! -u suid") == 0, "set-uid never reaches the host");
	merge_result_release(&r);
	buf_release(&got);
	merge_end(&m);
}

/* Root merges as the owner of the repository: no file becomes root's. */
static void as_owner(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	if (getuid() != 0) {
		skip(2, "needs root");
		return;
	}
	bool good = merge_init(&m, REPO "seq 9 > f; " COMMIT "cd ..; chown -R 1234:1234 repo; chmod 711 .; ", "repo", "sed -i s/5/five/ f; mkdir d; echo n > d/n");
	m.o.mode = MERGE_COMMITS;
	ok(good && merge_run(&m.o, &r, &err) == 0 && r.done, "root merges into the repository of another");
	printf("# %s\n", err.text);
	merge_result_release(&r);
	ok(sh_in(m.b.lower, "test -z \"$(find . ! -uid 1234)\"; test -f d/n; git -c safe.directory='*' log -1 --format=%%s | grep -q agent") == 0, "every file in it is still his");
	merge_end(&m);
}

int main(void)
{
	as_owner();
	undo(MERGE_APPLY);
	undo(MERGE_COMMITS);
	undo_kept();
	five_repositories();
	choices();
	hunks_by_hand();
	one_commit_per_step();
	killed();
	killed_undone();
	taken_places();
	child_trouble();
	version_stays();
	flags();
	return done_testing();
}
