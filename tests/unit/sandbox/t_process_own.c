/* The owner of the repository, seen from the sandbox and from the host. Also several repositories, no repository,
 * tools, home, limits, freezing, warm sandboxes, resuming after a crash, and forks. */
#include "box_fixture.h"

#include <dirent.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { USER = 4242, THIRD = 4343 };

static void owned_by(const char *what, const char *dir, uid_t uid)
{
	fx_file(dir, "f", "mine\n", 0600);
	fx_file(dir, "d/g", "deep\n", 0640);
	static const char *const paths[] = { "", "f", "d", "d/g" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP(free_ptr) char *path = path_join(dir, paths[i]);
		if (chown(path, uid, (gid_t)uid) < 0)
			printf("# cannot give %s away\n", path);
	}
	json_t *result = NULL;
	struct box *b = fx_box(what, dir, &result);
	ok(b != NULL, "%s: opens", what);
	if (!b)
		return;
	out_is(b, "cat f d/g; echo x >>f; echo y >d/new; rm d/g; cat f; ls d; stat -c %u f d",
	       "mine\ndeep\nmine\nx\nnew\n1000\n1000", "the box reads, changes, adds and removes, mode 0600 too");
	is_int(json_int(result, "foreign", -1), 0, "no file is foreign");
	CLEANUP(free_ptr) char *path = path_join(dir, "f");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	struct stat st;
	ok(file_read(path, &text, 100, &err) == 0 && strcmp(text.data, "mine\n") == 0, "the host's file is unchanged");
	ok(stat(path, &st) == 0 && st.st_uid == uid && (st.st_mode & 0777) == 0600, "its owner and mode too");
	ok(fx_close(b), "closed and empty");
	json_release(&result);
}

static void owners(void)
{
	if (geteuid() != 0) {
		CLEANUP(free_ptr) char *dir = fx_path("own-user");
		owned_by("the user's own", dir, getuid());
		skip(7, "only root can make repositories of others");
		return;
	}
	CLEANUP(free_ptr) char *r = fx_path("own-root");
	CLEANUP(free_ptr) char *u = fx_path("own-user");
	CLEANUP(free_ptr) char *t = fx_path("own-third");
	owned_by("root's", r, 0);
	owned_by("a user's", u, USER);
	owned_by("a third's", t, THIRD);
}

static void foreign(void)
{
	CLEANUP(free_ptr) char *dir = fx_path("foreign");
	json_t *result = NULL;
	fx_file(dir, "mine", "m\n", 0644);
	fx_file(dir, "theirs", "t\n", 0644);
	fx_file(dir, "closed", "c\n", 0600);
	if (geteuid() != 0) {
		skip(4, "only root can make files of others");
		return;
	}
	static const struct {
		const char *name;
		uid_t uid;
	} give[] = { { "mine", USER }, { "theirs", THIRD }, { "closed", THIRD } };
	for (size_t i = 0; i < ARRAY_LEN(give); i++) {
		CLEANUP(free_ptr) char *path = path_join(dir, give[i].name);
		if (chown(path, give[i].uid, give[i].uid) < 0 || chown(dir, USER, USER) < 0)
			printf("# cannot give %s away\n", path);
	}
	struct box *b = fx_box("foreign", dir, &result);
	ok(b != NULL, "a repository with files of a third opens");
	is_int(json_int(result, "foreign", -1), 2, "they are counted");
	is_int((int64_t)json_array_size(json_object_get(result, "foreign_paths")), 2, "and listed");
	if (b) {
		out_is(b,
		       "echo x >>mine && echo 1; cat theirs; (echo x >>theirs) 2>/dev/null || echo no; cat closed "
		       "2>/dev/null || echo no",
		       "1\nt\nno\nno", "in the box they are read only or unreadable");
		fx_close(b);
	}
	json_release(&result);
}

static void below_root(void)
{
	if (geteuid() != 0) {
		skip(8, "only root has /root");
		return;
	}
	CLEANUP(free_ptr) char *dir = mem_printf("/root/sandglass-test-%d", (int)getpid());
	struct err err = ERR_INIT;
	ok(mkdir(dir, 0700) == 0, "a repository below /root, 0700");
	CLEANUP(free_ptr) char *state = path_join(dir, "state");
	CLEANUP(free_ptr) char *repo = path_join(dir, "repo");
	fx_file(repo, "f", "hidden from all\n", 0600);
	struct box_repo r = { .name = "", .host_dir = repo };
	struct box_opts o = { .name = "below", .state_dir = state, .repo = &r, .nr_repos = 1 };
	struct box *b = fx_open(&o, NULL, &err);
	ok(b != NULL, "opens");
	if (b) {
		out_is(b, "cat f; echo more >>f; cat f; ls /root 2>&1 | wc -l",
		       "hidden from all\nhidden from all\nmore\n1", "and works");
		ok(fx_close(b), "closed and empty");
	} else {
		printf("# %s\n", err.text);
	}
	ok(dir_remove(dir, &err) == 0, "removed");
}

static void several(void)
{
	CLEANUP(free_ptr) char *one = fx_path("one");
	CLEANUP(free_ptr) char *two = fx_path("two");
	CLEANUP(free_ptr) char *tools = fx_path("tools");
	CLEANUP(free_ptr) char *state = fx_path("state-several");
	json_t *result = NULL;
	struct err err = ERR_INIT;
	fx_file(one, "a", "1\n", 0644);
	fx_file(one, ".env", "K=exposed\n", 0644);
	fx_file(one, "sub/.env", "K=hidden\n", 0644);
	fx_file(two, "b", "2\n", 0644);
	fx_file(tools, "bin/tool", "#!/bin/sh\necho tool runs\n", 0755);
	struct box_repo r[] = { { .name = "one", .host_dir = one }, { .name = "two", .host_dir = two } };
	const char *expose[] = { ".env" }, *roots[] = { tools }, *env[] = { "COLOUR=blue", NULL };
	struct box_opts o = { .name = "several",
			      .state_dir = state,
			      .repo = r,
			      .nr_repos = 2,
			      .expose = expose,
			      .nr_expose = 1,
			      .roots = roots,
			      .nr_roots = 1,
			      .env = env };
	struct box *b = fx_open(&o, &result, &err);
	ok(b != NULL, "two repositories open in one box");
	if (!b) {
		printf("# %s\n", err.text);
		return;
	}
	out_is(b, "ls; cat one/a two/b; echo x >>one/a; echo y >>two/b; echo z >top; ls",
	       "one\ntwo\n1\n2\none\ntop\ntwo", "each at its name");
	out_is(b, "cat one/.env; ls one/sub", "K=exposed", "expose gives one path, not the others of the name");
	is_int((int64_t)json_array_size(json_object_get(result, "exposed")), 1, "it is listed as exposed");
	is_int((int64_t)json_array_size(json_object_get(result, "masked")), 1, "the other as masked");
	CLEANUP(free_ptr)
	char *write = mem_printf("tool; (echo x >%s/bin/x) 2>/dev/null || echo read only; echo $COLOUR", tools);
	out_is(b, write, "tool runs\nread only\nblue",
	       "a named root is on the path and read only; the environment is given");
	out_is(b, "echo kept >~/note; cat ~/note; mv one/a two/ && cat two/a", "kept\n1\nx",
	       "home is its own; files move between repositories");
	ok(fx_close(b), "closed and empty");
	json_release(&result);

	b = fx_open(&o, NULL, &err);
	ok(b != NULL, "opened again on the same state");
	if (b) {
		out_is(b, "cat ~/note two/a two/b top; ls one", "kept\n1\nx\n2\ny\nz\nsub", "it resumes its earlier state");
		ok(fx_close(b), "closed and empty");
	}

	CLEANUP(free_ptr) char *fork_state = fx_path("state-fork");
	CLEANUP(free_ptr) char *upper = path_join(state, "repo-two/u0");
	json_t *driver = json_object(), *lowers = json_object();
	json_t *list = json_array();
	json_array_append_new(list, json_string(upper));
	json_put(lowers, "two", list);
	json_put(driver, "lowers", lowers);
	o.state_dir = fork_state;
	o.driver = driver;
	b = fx_open(&o, NULL, &err);
	ok(b != NULL, "a box on the upper of another");
	if (b) {
		out_is(b, "cat two/a two/b one/a; echo fork >>two/a", "1\nx\n2\ny\n1",
		       "sees what that one had written in it");
		ok(fx_close(b), "closed and empty");
		CLEANUP(free_ptr) char *a = path_join(upper, "a");
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		ok(file_read(a, &text, 100, &err) == 0 && strcmp(text.data, "1\nx\n") == 0, "and leaves it as it was");
	} else {
		printf("# %s\n", err.text);
	}
	json_release(&driver);
}

static void limits(void)
{
	CLEANUP(free_ptr) char *state = fx_path("state-limits");
	json_t *result = NULL;
	struct err err = ERR_INIT;
	struct box_opts o = { .name = "limits",
			      .state_dir = state,
			      .limits = { .mem_bytes = 96 << 20, .pids = 40, .disk_bytes = 8 << 20 } };
	struct box *b = fx_open(&o, &result, &err);
	ok(b != NULL, "a box with small limits opens");
	if (!b)
		return;
	bool bounded = strcmp(json_str(result, "cgroup", "none"), "none") != 0;
	out_is(b, "perl -e '$x = \"a\" x (300 << 20); print \"got it\"' >out 2>/dev/null; cat out", "",
	       "300 MiB can't be allocated");
	out_is(b,
	       "perl -e 'for (1..80) { my $p = fork; last if !defined $p; if (!$p) { sleep 20; exit } push @p, $p } "
	       "print @p > 10 && @p < 40 ? qq(bounded) : scalar @p; kill 9, @p; wait for @p'",
	       "bounded", "nor 80 processes");
	out_is(b, "head -c 20000000 /dev/zero >big 2>/dev/null; [ $(stat -c %s big) -le 8388608 ] && echo bounded",
	       "bounded", "nor a file of 20 MB");
	out_is(b,
	       "ulimit -c; python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])' "
	       "2>/dev/null || echo 1024",
	       "0\n1024", "no core files, a bounded number of descriptors");
	if (bounded) {
		struct answer a = { 0 };
		b->driver->stats(b, fx_done, &a);
		fx_wait(&a.here);
		ok(json_int(a.result, "mem_bytes", -1) > 0 && json_int(a.result, "pids", -1) > 0,
		   "stats come from the cgroup");
		json_release(&a.result);
	} else {
		ok(json_array_size(json_object_get(result, "lacks")) > 0, "missing limits are listed");
	}
	ok(fx_close(b), "closed and empty");
	json_release(&result);
}

static void freezing(void)
{
	struct box *b = fx_box("freeze", NULL, NULL);
	if (!b)
		return;
	struct ran r = { 0 };
	char sh[] = "sh", c[] = "-c", cmd[] = "while :; do echo x; done", *argv[] = { sh, c, cmd, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3 };
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	while (r.out.len < 1000)
		loop_turn(fx_loop, 10);
	struct answer a = { 0 };
	b->driver->freeze(b, true, fx_done, &a);
	fx_wait(&a.here);
	ok(a.result && json_flag(a.result, "frozen", false), "frozen, by %s", json_str(a.result, "how", "?"));
	json_release(&a.result);
	for (int i = 0; i < 20; i++) /* drain the pipe */
		loop_turn(fx_loop, 5);
	size_t before = r.out.len;
	for (int i = 0; i < 20; i++)
		loop_turn(fx_loop, 5);
	is_int((int64_t)r.out.len, (int64_t)before, "nothing runs");
	a = (struct answer){ 0 };
	b->driver->freeze(b, false, fx_done, &a);
	fx_wait(&a.here);
	json_release(&a.result);
	int64_t until = clock_mono_us() + 10000000;
	while (r.out.len == before && clock_mono_us() < until)
		loop_turn(fx_loop, 10);
	ok(r.out.len > before, "after the thaw it continues");
	a = (struct answer){ 0 };
	b->driver->freeze(b, true, fx_done, &a);
	fx_wait(&a.here);
	json_release(&a.result);
	b->driver->run_free(run);
	ok(fx_close(b), "a frozen box can be closed");
	fx_ran_release(&r);
}

static void network(void)
{
	struct box *b = fx_box("net", NULL, NULL);
	if (!b)
		return;
	struct answer a = { 0 };
	b->driver->listen(b, 8080, fx_done, &a);
	fx_wait(&a.here);
	int fd = (int)json_int(a.result, "fd", -1);
	ok(fd >= 0, "a listener on the box's loopback is in our hands");
	json_release(&a.result);
	struct ran r = { 0 };
	char bash[] = "bash", c[] = "-c", cmd[] = "exec 3<>/dev/tcp/127.0.0.1/8080; echo ping >&3; cat <&3",
	     *argv[] = { bash, c, cmd, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3 };
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	int peer = -1;
	int64_t until = clock_mono_us() + 10000000;
	while (peer < 0 && clock_mono_us() < until) {
		loop_turn(fx_loop, 10);
		peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	}
	char text[8] = "";
	struct err err = ERR_INIT;
	ok(peer >= 0 && fd_read_full(peer, text, 5, &err) == 0, "a command connects to it");
	is_str(text, "ping\n", "and speaks");
	ok(write(peer, "pong", 4) == 4, "we answer");
	fd_close(&peer);
	fx_wait(&r.here);
	is_str(buf_cstr(&r.out), "pong", "the command reads the answer");
	b->driver->run_free(run);
	fx_ran_release(&r);
	fd_close(&fd);
	out_is(b, "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' 2>/dev/null || echo no way", "no way",
	       "it can't connect outside");
	ok(fx_close(b), "closed and empty");
}

/* A warm sandbox is ready, but its content differs from the request. */
static void again(const char *name, const char *repo)
{
	for (int64_t until = clock_mono_us() + 10000000; process_pool_ready() < 1 && clock_mono_us() < until;)
		loop_turn(fx_loop, 20);
	is_int(process_pool_ready(), 1, "the next one is ready");
	json_t *result = NULL;
	struct box *b = fx_box(name, repo, &result);
	ok(b && json_flag(result, "warm", false), "a box that was there before is opened again, as soon");
	json_release(&result);
	if (!b)
		return;
	out_is(b, "cat f ~/note", "warm\nx\nkept", "and has its files, those at home too");
	fx_close(b);
}

static int ready_folders(void)
{
	CLEANUP(free_ptr) char *all = fx_path("");
	int nr = 0;
	DIR *d = opendir(all);
	for (const struct dirent *e; d && (e = readdir(d));)
		nr += strncmp(e->d_name, ".ready-", 7) == 0;
	if (d)
		closedir(d);
	return nr;
}

static void warm(void)
{
	process_pool_set(fx_loop, 1);
	json_t *result = NULL;
	struct box *b = fx_box("cold", NULL, &result);
	ok(b && !json_flag(result, "warm", true), "the first is cold");
	json_release(&result);
	bool any = false;
	int64_t until = clock_mono_us() + 10000000;
	CLEANUP(free_ptr) char *repo = fx_path("warm-repo");
	fx_file(repo, "f", "warm\n", 0644);
	if (chmod(repo, 0775) < 0)
		printf("# cannot open %s to its group\n", repo);
	for (int i = 0; !any && clock_mono_us() < until; i++) {
		loop_turn(fx_loop, 20);
		CLEANUP(free_ptr) char *name = mem_printf("warm-%d", i);
		struct box *w = fx_box(name, repo, &result);
		any = w && json_flag(result, "warm", false);
		json_release(&result);
		if (w && any)
			out_is(w, "cat f; echo x >>f; cat f; stat -c %a . ~; echo kept >~/note", "warm\nwarm\nx\n775\n700",
			       "a warm box has the repository, and a home folder of its own");
		if (w)
			fx_close(w);
		if (any)
			again(name, repo);
	}
	ok(any, "a later one is warm");
	if (b)
		fx_close(b);
	process_pool_set(fx_loop, 0);
	for (until = clock_mono_us() + 10000000; ready_folders() && clock_mono_us() < until;)
		loop_turn(fx_loop, 20);
	is_int(ready_folders(), 0, "no folder of a box that was not opened is left");
}

/* A child of the launcher's other than @not; 0: none. */
static pid_t launched(pid_t not)
{
	char path[64];
	int launcher = launcher_info(fx_launcher)->pid;
	pid_t found = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", launcher, launcher);
	FILE *f = fopen(path, "re");
	for (int pid; f && fscanf(f, "%d", &pid) == 1;)
		if (pid != not)
			found = pid;
	if (f)
		fclose(f);
	return found;
}

/* Waits until there is one, or none (@any false); returns it. */
static pid_t wait_launched(pid_t not, bool any)
{
	for (int64_t until = clock_mono_us() + 30000000; clock_mono_us() < until; loop_turn(fx_loop, 5))
		if ((launched(not) > 0) == any)
			break;
	return launched(not);
}

static bool ends(pid_t pid)
{
	int64_t until = clock_mono_us() + 30000000;
	while (kill(pid, 0) == 0 && clock_mono_us() < until)
		loop_turn(fx_loop, 5);
	return kill(pid, 0) < 0;
}

/* One keeper is ready before it is asked for, is the next box's, and is replaced; its death matters to nobody. */
static void ahead(void)
{
	is_int(wait_launched(0, false), 0, "no box is left");
	process_ahead();
	pid_t first = wait_launched(0, true);
	ok(first > 0, "a keeper is started ahead");
	struct box *b = fx_box("ahead", NULL, NULL);
	is_int(b ? process_box_keeper_pid(b) : -1, first, "the next box has it");
	if (b)
		out_is(b, "pwd", "/workspace", "and works");
	pid_t second = wait_launched(first, true);
	ok(second > 0, "then there is another");
	kill(second, SIGKILL);
	ok(ends(second), "which may be killed");
	struct box *c = fx_box("after", NULL, NULL);
	ok(c && process_box_keeper_pid(c) != second, "without harm to the next box");
	if (c)
		out_is(c, "pwd", "/workspace", "which works");
	if (b)
		fx_close(b);
	if (c)
		fx_close(c);
	pid_t third = wait_launched(0, true);
	kill(launcher_info(fx_launcher)->pid, SIGKILL);
	ok(third > 0 && ends(third), "it ends with a killed launcher");
}

/* The parts made ahead could not be made: such a sandbox is as warm as another, without any of them. */
static void spoilt(void)
{
	struct err err = ERR_INIT;
	json_t *result = NULL;
	process_pool_set(fx_loop, 1);
	for (int i = 1; i < 200; i++) { /* the number of the next one is the launcher's */
		CLEANUP(free_ptr) char *tail = mem_printf(".ready-%d/workspace/w0", i);
		CLEANUP(free_ptr) char *dir = fx_path(tail);
		fx_file(dir, "x", "in the way", 0644);
	}
	struct box *b = fx_box("before", NULL, NULL);
	for (int64_t until = clock_mono_us() + 10000000; process_pool_ready() < 1 && clock_mono_us() < until;)
		loop_turn(fx_loop, 20);
	struct box *w = fx_box("after", NULL, &result);
	ok(w && json_flag(result, "warm", false), "a box whose folders could not be made ahead is warm");
	if (w)
		out_is(w, "ls -A . ~; echo a >f; echo b >~/f; cat f ~/f", ".:\n\n/home/agent:\na\nb", "and is like any other");
	if (w)
		fx_close(w);
	if (b)
		fx_close(b);
	process_pool_set(fx_loop, 0);
	for (int i = 1; i < 200; i++) {
		CLEANUP(free_ptr) char *tail = mem_printf(".ready-%d", i);
		CLEANUP(free_ptr) char *dir = fx_path(tail);
		if (dir_remove(dir, &err) < 0)
			printf("# %s\n", err.text);
	}
	json_release(&result);
}

int main(void)
{
	fx_start();
	fx_need_namespaces();
	owners();
	foreign();
	below_root();
	several();
	limits();
	freezing();
	network();
	warm();
	spoilt();
	ahead(); /* last: the launcher dies */
	return fx_end();
}
