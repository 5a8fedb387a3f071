/* Profile reduced, in surroundings like a plain container's: root, but no namespaces and no mounts (a filter refuses
 * the system calls, as container engines do). */
#include "box_fixture.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* A socket of the host that has a name in no directory; @name_out: without the leading NUL. */
static int host_abstract(char name_out[40])
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	snprintf(name_out, 40, "sandglass-test-%ld", (long)getpid());
	memcpy(a.sun_path + 1, name_out, strlen(name_out));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name_out));
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 4) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What Landlock alone keeps from it: modes and names would allow both. */
static void kept_by_landlock(struct box *b, int abi)
{
	char name[40], file[] = "/tmp/sandglass-open-XXXXXX";
	int host = host_abstract(name), fd = mkstemp(file);
	ok(host >= 0 && fd >= 0 && write(fd, "open\n", 5) == 5 && fchmod(fd, 0644) == 0,
	   "a file for all users, and a socket of the host");
	CLEANUP(free_ptr) char *look = mem_printf("cat %s 2>/dev/null || echo no", file);
	out_is(b, look, "no", "a file that every user may read can't be read");
	CLEANUP(free_ptr) char *call = mem_printf("python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); "
						  "s.connect(\"\\0%s\"); print(\"in\")' 2>/dev/null || echo no", name);
	if (abi >= 6)
		out_is(b, call, "no", "an abstract socket of the host can't be reached");
	else
		skip(1, "no scopes in this kernel's Landlock");
	close(host);
	close(fd);
	unlink(file);
}

static bool like_a_container(void)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
	static const char *const no[] = { "unshare",	"setns",  "mount",   "umount2",	      "open_tree",
					  "move_mount", "fsopen", "fsmount", "mount_setattr", "pivot_root" };
	int rc = c ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(no); i++)
		rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), seccomp_syscall_resolve_name(no[i]), 0);
	if (rc == 0)
		rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	if (rc == 0)
		rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (rc == 0)
		rc = seccomp_load(c);
	seccomp_release(c);
	return rc == 0;
}

/* Ended processes that wait for the host's first process do not count. */
static int processes_of(uid_t uid)
{
	CLEANUP(free_ptr) char *cmd = mem_printf("ps -o stat= -U %u | grep -vc '^Z'", (unsigned)uid);
	FILE *f = popen(cmd, "r");
	int n = -1;
	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

int main(void)
{
	if (geteuid() != 0)
		skip_all("only root can give a box a uid of its own");
	if (!like_a_container())
		skip_all("cannot install a seccomp filter");
	fx_start();
	CLEANUP(free_ptr) char *repo = fx_path("repo");
	CLEANUP(free_ptr) char *state = fx_path("state");
	struct err err = ERR_INIT;
	json_t *result = NULL;
	fx_file(repo, "src/a.c", "int a;\n", 0600);
	fx_file(repo, ".env", "K=secret\n", 0600);
	struct box_repo r = { .name = "", .host_dir = repo };
	struct box_opts o = { .name = "reduced", .state_dir = state, .repo = &r, .nr_repos = 1 };

	struct box *b = fx_open(&o, NULL, &err);
	ok(b == NULL, "not accepted, it is refused");
	printf("# %s\n", err.text);
	ok(strstr(err.text, "reduced") != NULL, "the error names the way out");

	o.accept_reduced = true;
	b = fx_open(&o, &result, &err);
	ok(b != NULL, "accepted, it opens");
	if (!b) {
		printf("# %s\n", err.text);
		return fx_end();
	}
	is_str(b->profile, "reduced", "the isolation level is reported");
	ok(json_array_size(json_object_get(result, "lacks")) >= 4, "with its missing features");
	uid_t uid = (uid_t)json_int(result, "uid", 0);
	CLEANUP(free_ptr) char *where = mem_printf("%s\n%u", json_str(result, "workspace", ""), (unsigned)uid);
	out_is(b, "pwd; id -u", where, "commands run in the copy under a uid of their own");
	out_is(b, "cat src/a.c; echo more >>src/a.c; cat src/a.c; ls -A", "int a;\nint a;\nmore\nsrc",
	       "the copy can be changed; secrets are not in it");
	out_is(b, "echo x >$HOME/h; echo y >$TMPDIR/t; cat $HOME/h $TMPDIR/t", "x\ny",
	       "home and temporary folder are private");
	if (json_int(result, "landlock", 0) > 0) {
		CLEANUP(free_ptr) char *made = mem_printf("/tmp/sandglass-made-%ld", (long)getpid());
		CLEANUP(free_ptr)
		char *reach = mem_printf("cat %s/src/a.c 2>/dev/null || echo no; (echo x >%s) 2>/dev/null "
					"|| echo no; ls /root 2>/dev/null || echo no",
					repo, made);
		out_is(b, reach, "no\nno\nno", "nothing else of the machine can be read or written");
		unlink(made);
		kept_by_landlock(b, (int)json_int(result, "landlock", 0));
	} else {
		skip(1, "no landlock in this kernel");
	}
	out_is(b, "python3 -c 'import socket; socket.socket()' 2>&1 | tail -1 | cut -d: -f1", "PermissionError",
	       "no internet sockets");
	out_is(b, "grep -E 'CapEff|NoNewPrivs' /proc/self/status | tr -d '\\t\\n'",
	       "CapEff:0000000000000000NoNewPrivs:1", "no capability");

	struct answer a = { 0 };
	b->driver->write(b, "new/file", "hello", 5, 0644, fx_done, &a);
	fx_wait(&a.here);
	ok(a.result && json_flag(a.result, "created", false), "write makes file and folder (%s)", a.err.text);
	json_release(&a.result);
	out_is(b, "cat new/file; echo more >>new/file && cat new/file", "hellohellomore", "which belong to the box");
	a = (struct answer){ 0 };
	b->driver->read(b, "/workspace/src/a.c", 100, fx_done, &a);
	fx_wait(&a.here);
	is_str(json_str(a.result, "data", ""), "int a;\nmore\n", "read");
	json_release(&a.result);
	a = (struct answer){ 0 };
	b->driver->stat(b, "src/a.c", fx_done, &a);
	fx_wait(&a.here);
	is_int(json_int(a.result, "size", -1), 12, "stat");
	json_release(&a.result);
	static const char *const refused[] = { "/etc/shadow", "link", "../state" };
	out_is(b, "ln -s /etc/shadow link; echo ok", "ok", "a link out");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		a = (struct answer){ 0 };
		b->driver->read(b, refused[i], 100, fx_done, &a);
		fx_wait(&a.here);
		ok(a.result == NULL, "read of '%s' is refused", refused[i]);
		json_release(&a.result);
	}
	CLEANUP(buf_release) struct buf host = BUF_INIT;
	CLEANUP(free_ptr) char *path = path_join(repo, "src/a.c");
	ok(file_read(path, &host, 100, &err) == 0 && strcmp(host.data, "int a;\n") == 0, "the repository is unchanged");

	struct ran ran = fx_sh(b, "setsid sh -c 'trap \"\" TERM HUP; sleep 100' >/dev/null 2>&1 & echo started");
	is_str(buf_cstr(&ran.out), "started\n", "a process that hides from its group");
	fx_ran_release(&ran);
	ok(processes_of(uid) > 0, "lives");
	ok(fx_close(b), "closed");
	is_int(processes_of(uid), 0, "no process of its uid is left");
	json_release(&result);
	return fx_end();
}
