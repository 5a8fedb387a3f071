#include "luahost/luahost_start.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "wire/host.h"

int luahost_process_start(struct host_process *p, struct err *err)
{
	int sp[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		return err_sys(err, "can't create a socket pair");
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-host");
	char name[] = "sandglass-host";
	char *argv[] = { name, NULL }, *env[] = { NULL };
	int fds[HOST_FD + 1] = { -1, -1, -1, sp[1] };
	int rc = proc_spawn(path, argv, env, fds, ARRAY_LEN(fds), &p->pid, &p->pidfd, err);
	close(sp[1]);
	p->sock = sp[0];
	return rc < 0 ? err_wrap(err, "can't start the Lua host '%s'", path) : 0;
}

void luahost_process_end(struct host_process *p)
{
	struct err none = ERR_INIT;
	int status;
	if (p->pidfd >= 0) {
		kill(p->pid, SIGKILL); /* it has said what it had to say */
		(void)!proc_reap(p->pidfd, &status, &none);
	}
	fd_close(&p->pidfd);
	fd_close(&p->sock);
}
