/* A program in its own terminal interface may stop itself (Ctrl-Z). The kernel throws SIGTSTP away in
 * a process group without a parent in its session, so the program is started below a leader, as
 * below a shell. The leader is a copy of the guest that never executes anything. It ends as the
 * program does, and stops itself for a moment when the program has stopped or continues: the guest
 * notices that, reads inner_slot.stopped and wakes the leader. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest_priv.h"

static void job_tell(struct inner_slot *s, uint32_t signo)
{
	__atomic_store_n(&s->stopped, signo, __ATOMIC_RELEASE);
	raise(SIGSTOP);
}

static _Noreturn void job_end_like(int status)
{
	static const struct rlimit none;
	sigset_t all;
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&all);
	raise(WTERMSIG(status));
	sigprocmask(SIG_SETMASK, &all, NULL);
	_exit(128 + WTERMSIG(status));
}

static pid_t job_program;

/* The kernel tells only the session's leader that the terminal has gone. */
static void job_hang_up(int signo)
{
	kill(-job_program, signo);
	kill(-job_program, SIGCONT);
}

/* The leader heeds this signal alone. */
static void job_heed_hang_up(pid_t pid)
{
	const struct sigaction act = { .sa_handler = job_hang_up };
	sigset_t hup;
	job_program = pid;
	sigaction(SIGHUP, &act, NULL);
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_UNBLOCK, &hup, NULL);
}

static _Noreturn void job_lead(struct inner_slot *s, pid_t pid)
{
	int status;
	for (int i = 0; i < 3; i++)
		close(i); /* the terminal ends when the program has left it */
	for (;;) {
		pid_t got = waitpid(pid, &status, WUNTRACED | WCONTINUED);
		if (got < 0 && errno != EINTR)
			_exit(126);
		if (got < 0)
			continue;
		if (WIFSTOPPED(status))
			job_tell(s, (uint32_t)WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			job_tell(s, 0);
		else
			job_end_like(status);
	}
}

long inner_job_fork(struct inner_slot *s)
{
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid_t pid = _Fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		setpgid(pid, pid);
		__atomic_store_n(&s->job, pid, __ATOMIC_RELEASE);
		job_heed_hang_up(pid);
		job_lead(s, pid);
	}
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return 0;
}

void inner_job_look(struct inner *g, struct inner_run *r)
{
	uint32_t now = __atomic_load_n(&r->slot->stopped, __ATOMIC_ACQUIRE);
	struct buf b = BUF_INIT;
	if (g->frozen)
		return; /* the thaw wakes the leader */
	if (r->slot->job && now != r->stopped) {
		r->stopped = now;
		pack_u8(&b, (uint8_t)now);
		inner_send(g, GF_STOPPED, r->id, &b, -1);
		buf_release(&b);
	}
	if (r->slot->job)
		kill(r->pid, SIGCONT);
}
