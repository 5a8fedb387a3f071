/* sandglass-launcher [--uid N]: started by the supervisor with its socket as descriptor 3. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "launcher/service.h"

enum { CHANNEL = 3, QUIET_MS = 5 }; /* without a request, before the next keeper is prepared */

static int launcher_main_signals(struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "can't block signals");
	signal(SIGPIPE, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(err, "can't create a signalfd") : fd;
}

/* Serves until the channel ends or a signal arrives. A console's Ctrl-C reaches the whole group
 * and is ignored. */
static void launcher_main_serve(struct service *s, int sigfd)
{
	struct pollfd p[2] = { { .fd = CHANNEL, .events = POLLIN },
			       { .fd = sigfd, .events = POLLIN } };
	for (;;) {
		int n = poll(p, 2, service_dying(s) ? 2 : service_idle(s) ? -1 : QUIET_MS);
		if (n < 0 && errno != EINTR)
			return;
		if (n == 0 && !service_dying(s))
			service_ahead(s);
		struct signalfd_siginfo si;
		while (read(sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si))
			if (si.ssi_signo == SIGTERM)
				return;
		service_reap(s);
		if (n > 0 && p[0].revents && !service_request(s))
			return;
	}
}

int main(int argc, char **argv)
{
	log_open("launcher");
	struct err err = ERR_INIT;
	unsigned long uid = 0;
	if (argc == 3 && strcmp(argv[1], "--uid") == 0)
		uid = strtoul(argv[2], NULL, 10);
	else if (argc != 1) {
		fputs("usage: sandglass-launcher [--uid N]\nstarted by sandglass; talks to it over descriptor 3\n",
		      stderr);
		return 2;
	}
	struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
	int sigfd = launcher_main_signals(&err);
	struct service *s = sigfd < 0 ? NULL : service_new(CHANNEL, (uid_t)uid, &err);
	if (!s) {
		fprintf(stderr, "sandglass-launcher: %s\n", err.text);
		return 1;
	}
	launcher_main_serve(s, sigfd);
	service_free(&s);
	return 0;
}
