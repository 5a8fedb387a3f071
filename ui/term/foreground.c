#include "ui/term/foreground.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

void foreground_stop(void)
{
	struct sigaction was;
	sigset_t only, before;
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = SIG_DFL }, &was);
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	sigprocmask(SIG_BLOCK, &only, &before);
	kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* here it stops */
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTSTP, &was, NULL);
}

/* A killed shell has left the terminal to its job. A live group got it from another process:
 * from the user's shell, which put us into the background. */
static void foreground_take_back(void)
{
	pid_t has = tcgetpgrp(STDIN_FILENO), own = getpgrp();
	sigset_t ttou, before;
	if (has < 0 || has == own || kill(-has, 0) == 0 || errno != ESRCH)
		return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	tcsetpgrp(STDIN_FILENO, own);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A stop that the program ignored is ignored here, too. */
static void forget_stop(void)
{
	struct sigaction was;
	/* which throws away one that waits */
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = SIG_IGN }, &was);
	sigaction(SIGTSTP, &was, NULL);
}

/* SIGTSTP is blocked, so that we stop in foreground_stop only: woken elsewhere, we might see the
 * program not woken yet. */
int foreground_wait(pid_t pid)
{
	int status = -1;
	sigset_t tstp, before;
	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	sigprocmask(SIG_BLOCK, &tstp, &before);
	for (;;) {
		pid_t got = waitpid(pid, &status, WUNTRACED);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			status = -1;
		if (got < 0 || !WIFSTOPPED(status))
			break;
		foreground_stop();
		kill(pid, SIGCONT);
	}
	forget_stop();
	sigprocmask(SIG_SETMASK, &before, NULL);
	foreground_take_back();
	return status;
}
