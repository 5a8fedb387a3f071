/* The wall: what a command in a box cannot see, reach or become, and that nothing of a box outlives its keepers. */
#include "box_fixture.h"

#include <dirent.h>
#include <sys/syscall.h>

static void first_process(void)
{
	struct box *b = fx_box("first", NULL, NULL);
	ok(b != NULL, "a box without a repository opens");
	if (!b)
		return;
	out_is(b, "ls -A /workspace | wc -l", "0", "its workspace is empty");
	out_is(b, "for f in mem environ maps; do cat /proc/1/$f >/dev/null 2>&1 && echo open $f; done; echo done",
	       "done", "/proc/1/{mem,environ,maps} cannot be read");
	out_is(b,
	       "ls /proc/1/fd >/dev/null 2>&1 && echo open; ls /proc/1/root/ >/dev/null 2>&1 && echo root; echo done",
	       "done", "nor its descriptors and its root");
	out_is(b,
	       "exec 2>/dev/null; (echo x >/proc/1/mem) && echo written; kill -KILL 1; kill -STOP 1; echo still here",
	       "still here", "nor can it be written, killed or stopped");
	out_is(b, "cat /proc/1/comm; [ $(ls -d /proc/[0-9]* | wc -l) -le 5 ] && echo few", "guest\nfew",
	       "it is the guest, alone with the command");
	out_is(b,
	       "python3 -c 'import ctypes,os; l=ctypes.CDLL(None,use_errno=True); print(l.ptrace(16,1,0,0), "
	       "ctypes.get_errno())' 2>/dev/null || echo -1 1",
	       "-1 1", "ptrace is refused");
	out_is(b, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t\\n'",
	       "CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1", "no capability is left or can be gained");
	out_is(b,
	       "ls /sys 2>/dev/null | wc -l; echo x 2>/dev/null >/proc/sys/kernel/core_pattern || echo no; unshare -U "
	       "true 2>/dev/null || echo no",
	       "0\nno\nno", "no /sys, no sysctl, no namespace in the namespace");
	out_is(b,
	       "for f in /etc/shadow /root /var/log /home/*/.ssh; do cat $f >/dev/null 2>&1 && echo $f; done; ls /home",
	       "agent", "nothing of the machine's /etc/shadow, /root, /var and /home");
	out_is(b, "ip -o link 2>/dev/null | wc -l | tr -d 1; cat /proc/net/dev | grep -c :", "\n1",
	       "the loopback is the only interface");
	out_is(b, "touch /usr/x /etc/x /run/x /x 2>/dev/null; ls /usr/x /etc/x /run/x /x 2>/dev/null | wc -l", "0",
	       "the system is read only");
	ok(fx_close(b), "closed and empty");
}

static void set_uid(void)
{
	CLEANUP(free_ptr) char *repo = fx_path("suid");
	fx_file(repo, "x", "", 0644);
	struct box *b = fx_box("suid", repo, NULL);
	if (!b)
		return;
	out_is(b, "cp /usr/bin/id ./id && chmod 6755 id && ./id -u", "1000", "a set-uid copy of id is the agent");
	CLEANUP(free_ptr) char *state = fx_path("state-suid/workspace/u0/id");
	struct stat st;
	ok(stat(state, &st) == 0 && st.st_uid != 0, "on the host it does not belong to root");
	out_is(b, "su -c id </dev/null >/dev/null 2>&1; echo $?; mknod n c 1 3 2>/dev/null || echo no", "1\nno",
	       "su does not help, devices cannot be made");
	ok(fx_close(b), "closed and empty");
}

/* A value in our environment, our arguments and our files is nowhere in the box. */
static void canaries(void)
{
	unsigned char raw[12];
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	random_bytes(raw, sizeof(raw));
	hex_append(&hex, raw, sizeof(raw));
	CLEANUP(free_ptr) char *canary = mem_printf("canary%s", hex.data);
	CLEANUP(free_ptr) char *half = mem_printf("[c]anary%s", hex.data);
	CLEANUP(free_ptr) char *repo = fx_path("canary-repo");
	fx_file(fx_dir, "planted", canary, 0644);
	fx_file(repo, ".env", canary, 0644);
	fx_file(repo, "deep/credentials-prod.json", canary, 0644);
	fx_file(repo, "deep/.aws/credentials", canary, 0644);
	fx_file(repo, "shown", "fine\n", 0644);
	setenv("SANDGLASS_TEST_SECRET", canary, 1);
	struct box *b = fx_box("canary", repo, NULL);
	if (!b)
		return;
	CLEANUP(free_ptr)
	char *hunt = mem_printf("C='%s'; (env; cat /proc/*/environ /proc/*/cmdline /proc/mounts /proc/self/mountinfo; "
			       "grep -rsl --exclude-dir=usr --exclude-dir=proc \"$C\" /) 2>/dev/null | tr '\\0' '\\n' "
			       "| grep -c \"$C\"",
			       half);
	/* the pattern does not match itself, so the hunting commands do not find each other */
	out_is(b, hunt, "0", "a canary in environment, files and secrets of the repository is nowhere");
	CLEANUP(free_ptr) char *control = mem_printf("echo %s >here; grep -rsl '%s' /workspace", canary, half);
	out_is(b, control, "/workspace/here", "the hunt finds one that was put there");
	ok(fx_close(b), "closed and empty");
	unsetenv("SANDGLASS_TEST_SECRET");
}

static bool alive(int pid)
{
	CLEANUP(free_ptr) char *path = mem_printf("/proc/%d/stat", pid);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	if (pid <= 0 || file_read(path, &text, 4096, &err) < 0)
		return false;
	const char *state = strrchr(buf_cstr(&text), ')');
	return state && state[2] != 'Z' &&
	       state[2] != 'X'; /* who has no parent left is reaped by whom it may concern */
}

static bool wait_dead(int pid)
{
	for (int i = 0; i < 500 && alive(pid); i++)
		loop_turn(fx_loop, 20);
	return !alive(pid);
}

/* The host's pid of something that runs in the box: a child of its first process, whichever thread of it started it. */
static int child_of(int parent)
{
	CLEANUP(free_ptr) char *tasks = mem_printf("/proc/%d/task", parent);
	int child = 0;
	DIR *d = opendir(tasks);
	for (struct dirent *e; d && !child && (e = readdir(d));) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%s/children", tasks, e->d_name);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err err = ERR_INIT;
		if (e->d_name[0] != '.' && file_read(path, &text, 4096, &err) == 0)
			child = atoi(buf_cstr(&text));
	}
	if (d)
		closedir(d);
	return child;
}

static void killed(const char *what)
{
	bool launcher = strcmp(what, "launcher") == 0;
	struct ran r = { 0 };
	struct box *b = fx_box(what, NULL, NULL);
	ok(b != NULL, "a box opens");
	if (!b)
		return;
	char sh[] = "sh", c[] = "-c", cmd[] = "setsid sh -c 'trap \"\" TERM HUP; sleep 100' & sleep 100",
	     *argv[] = { sh, c, cmd, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3 };
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	int keeper = process_box_keeper_pid(b), guest = process_box_guest_pid(b), child = 0;
	for (int i = 0; !child && !r.here && i < 1000; i++) {
		loop_turn(fx_loop, 10);
		child = child_of(guest);
	}
	ok(child && alive(keeper) && alive(guest), "keeper, guest and command live (%d: %d %d %s)", r.here, r.code,
	   r.signal, buf_cstr(&r.err));
	kill(launcher ? launcher_info(fx_launcher)->pid : keeper, SIGKILL);
	fx_wait(&r.here);
	ok(r.lost, "kill -9 of the %s: the run is reported lost (%d %d)", what, r.code, r.signal);
	bool none = wait_dead(guest) && wait_dead(child) && wait_dead(keeper);
	ok(none, "no process of the box is left");
	if (!none)
		printf("# guest %d %d, child %d %d, keeper %d %d\n", guest, alive(guest), child, alive(child), keeper,
		       alive(keeper));
	b->driver->run_free(run);
	struct ran late = fx_sh(b, "echo hi");
	ok(late.lost, "a command for the dead box is lost, not stuck");
	fx_ran_release(&late);
	struct answer a = { 0 };
	b->driver->read(b, "x", 10, fx_done, &a);
	fx_wait(&a.here);
	is_int(a.err.code, ERR_CLOSED, "a read of the dead box says closed");
	ok(fx_close(b), "the dead box can be closed");
	b = fx_box("again", NULL, NULL);
	ok(b != NULL, "the next box opens");
	if (b)
		fx_close(b);
}

/* The guest can't notice the end of its keeper. */
static void killed_while_stopped(void)
{
	struct box *b = fx_box("stopped", NULL, NULL);
	ok(b != NULL, "a box opens");
	if (!b)
		return;
	int keeper = process_box_keeper_pid(b), guest = process_box_guest_pid(b);
	kill(guest, SIGSTOP);
	kill(keeper, SIGKILL);
	ok(wait_dead(keeper) && wait_dead(guest), "a stopped guest ends with its keeper");
	if (alive(guest))
		kill(guest, SIGKILL);
	ok(fx_close(b), "the dead box can be closed");
}

static void lifetime(void)
{
	struct box *b = fx_box("life", NULL, NULL);
	if (!b)
		return;
	int guest = process_box_guest_pid(b);
	struct ran r = fx_sh(b, "setsid sh -c 'trap \"\" TERM; while :; do :; done' & echo $!");
	ok(r.left >= 1, "a command leaves a process behind, and it is counted");
	fx_ran_release(&r);
	int child = child_of(guest);
	ok(child > 0, "it lives");
	ok(fx_close(b), "close kills it");
	ok(!alive(guest) && !alive(child), "at once, before close has answered");
}

int main(void)
{
	fx_start();
	fx_need_namespaces();
	first_process();
	set_uid();
	canaries();
	lifetime();
	killed("keeper");
	killed_while_stopped();
	killed("launcher");
	return fx_end();
}
