/* Terminals: of a run (run.c), and of a command where nobody else makes one, which is the verb tty
 * of wire/tool.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "guest/guest_priv.h"
#include "guest/tool.h"

enum {
	READ_MAX = 32 << 10,
	TYPED_MAX = 4096,
	DRAIN_MAX = 256 << 10,
	ASK_MAX = 64 << 10,
	SESSION_ROUNDS = 20
};

static int other_side(int master)
{
	char path[32];
	unsigned nr;
	int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 || ioctl(master, TIOCGPTN, &nr) < 0)
		return fd;
	/* a kernel (or what plays one) that does not know the call */
	snprintf(path, sizeof path, "/dev/pts/%u", nr);
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool inner_tty_open(const struct winsize *size, int *master, int *tty)
{
	int lock = 0;
	*master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0)
		*master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || ioctl(*master, TIOCSPTLCK, &lock) < 0)
		return false;
	*tty = other_side(*master);
	if (*tty < 0)
		return false;
	if (size->ws_col && size->ws_row)
		ioctl(*master, TIOCSWINSZ, size);
	return true;
}

/* --- the verb --- */

struct held {
	int master;
	pid_t child;
	bool in_over; /* nothing more is typed */
	bool ended;   /* but not reaped: its number is nobody else's */
	int code, signal;
	char typed[TYPED_MAX]; /* not yet taken by the terminal */
	size_t nr_typed;
	const char *file;
	struct inner_mark *mark; /* what asks waits for; NULL: nothing is asked */
	struct strv asks;	 /* number, verb, arguments */
};

static void guest_tty_on_child(int signo)
{
	(void)signo; /* it ends the wait */
}

static _Noreturn void guest_tty_become(char **argv, int tty, const sigset_t *mask)
{
	static const int own[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD };
	bool good = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && setsid() >= 0 &&
		    ioctl(tty, TIOCSCTTY, 0) == 0;
	for (int i = 0; i < 3; i++)
		good &= dup2(tty, i) == i;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		signal(own[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (good)
		execvp(argv[0], argv);
	int why = errno;
	dprintf(2, "%s: %s\r\n", argv[0], strerror(why));
	_exit(good && (why == ENOENT || why == ENOTDIR) ? 127 : 126);
}

/* A reader of FILE and @end finds a complete file at any time. */
static bool guest_tty_put(const struct held *h, const char *end, const void *bytes, size_t len)
{
	CLEANUP(free_ptr)
	char *made = mem_printf("%s.new", h->file), *path = mem_printf("%s%s", h->file, end);
	struct err err = ERR_INIT;
	CLEANUP(fd_close) int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd >= 0 && fd_write_all(fd, bytes, len, &err) == 0 && rename(made, path) == 0;
}

static bool guest_tty_put_number(const struct held *h)
{
	CLEANUP(free_ptr) char *text = mem_printf("%d\n", (int)h->child);
	return guest_tty_put(h, "", text, strlen(text));
}

static void ask_no_more(struct held *h)
{
	inner_mark_free(&h->mark);
	strv_release(&h->asks);
}

static void take_ask(struct held *h)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s.ask", h->file);
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct err err = ERR_INIT;
	if (access(path, F_OK) < 0 || file_read(path, &in, ASK_MAX, &err) < 0 || unlink(path) < 0)
		return;
	const char *p = buf_cstr(&in), *end = p + in.len;
	ask_no_more(h);
	if (p < end && *p)
		h->mark = inner_mark_new(p);
	for (p += strlen(p) + 1; p < end; p += strlen(p) + 1)
		strv_push(&h->asks, p);
	if (h->asks.nr < 2 || h->asks.item[0][strspn(h->asks.item[0], "0123456789")])
		ask_no_more(h);
}

static void guest_tty_answer(struct held *h)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(free_ptr) char *end = mem_printf(".say.%s", h->asks.item[0]);
	tool_answer((int)h->asks.nr - 1, h->asks.item + 1, &out);
	guest_tty_put(h, end, out.data, out.len);
	ask_no_more(h);
}

static void take_typed(struct held *h)
{
	take_ask(h);
	ssize_t n = read(0, h->typed, sizeof h->typed);
	h->in_over = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
	h->nr_typed = n > 0 ? (size_t)n : 0;
}

static void guest_tty_type(struct held *h)
{
	ssize_t n = write(h->master, h->typed, h->nr_typed);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		n = (ssize_t)h->nr_typed; /* nobody reads it */
	if (n <= 0)
		return;
	h->nr_typed -= (size_t)n;
	memmove(h->typed, h->typed + n, h->nr_typed);
}

/* Number of bytes; 0: nothing is there now, or the end was reached. */
static size_t guest_tty_show(struct held *h)
{
	UNSET char bytes[READ_MAX];
	struct err err = ERR_INIT;
	ssize_t n = read(h->master, bytes, sizeof bytes);
	if (n > 0 && fd_write_all(1, bytes, (size_t)n, &err) < 0)
		kill(h->child, SIGKILL);
	if (n > 0 && h->mark && inner_mark_complete(h->mark, bytes, (size_t)n))
		guest_tty_answer(h);
	return n > 0 ? (size_t)n : 0;
}

static void guest_tty_reap(struct held *h)
{
	siginfo_t how = { 0 };
	if (waitid(P_PID, (id_t)h->child, &how, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    how.si_pid != h->child)
		return;
	h->ended = true;
	*(how.si_code == CLD_EXITED ? &h->code : &h->signal) = how.si_status;
}

static void guest_tty_pass_on(struct held *h, const sigset_t *mask)
{
	while (!h->ended) {
		struct pollfd p[2] = {
			{ .fd = h->in_over || h->nr_typed ? -1 : 0, .events = POLLIN },
			{ .fd = h->master, .events = (short)(POLLIN | (h->nr_typed ? POLLOUT : 0)) }
		};
		if (ppoll(p, 2, NULL, mask) > 0) {
			if (p[0].revents)
				take_typed(h);
			if (h->nr_typed)
				guest_tty_type(h);
			if (p[1].revents & POLLIN)
				guest_tty_show(h);
			else if (p[1].revents &
				 (POLLHUP |
				  /* its end has been closed, and the command continues without */
				  POLLERR))
				ppoll(NULL, 0, &(struct timespec){ .tv_nsec = 10000000 }, mask);
		}
		guest_tty_reap(h);
	}
	for (size_t n, all = 0; all < DRAIN_MAX && (n = guest_tty_show(h)); all += n)
		;
}

/* As it ended, so do we. */
static int end_like(const struct held *h)
{
	static const struct rlimit none;
	sigset_t all;
	if (!h->signal)
		return h->code;
	if (h->signal == SIGKILL)
		for (int i = 0; i < SESSION_ROUNDS && inner_session_kill(h->child); i++)
			;
	setrlimit(RLIMIT_CORE, &none);
	signal(h->signal, SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	kill(getpid(), h->signal);
	return 128 + h->signal;
}

static int no_terminal(const char *what)
{
	fprintf(stderr, "can't open a terminal: %s: %s\n", what, strerror(errno));
	return 126;
}

int tool_tty(char **argv)
{
	struct held h = { .master = -1, .file = argv[0] };
	struct err err = ERR_INIT;
	struct sigaction act = { .sa_handler = guest_tty_on_child };
	sigset_t block, mask;
	int tty = -1;
	const struct winsize size = { .ws_col = (uint16_t)strtoul(argv[1], NULL, 10),
				      .ws_row = (uint16_t)strtoul(argv[2], NULL, 10) };
	if (!inner_tty_open(&size, &h.master, &tty))
		return no_terminal("/dev/ptmx");
	if (fd_nonblock(h.master, &err) < 0)
		return no_terminal("its descriptor");
	setenv("TERM", "dumb", 0);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &act, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &mask);
	h.child = fork();
	if (h.child == 0)
		guest_tty_become(argv + 3, tty, &mask);
	fd_close(&tty);
	if (h.child < 0)
		return no_terminal("a new process");
	if (!guest_tty_put_number(&h))
		fprintf(stderr, "can't keep its process id in '%s': no signal will reach it\n",
			argv[0]);
	sigdelset(&mask, SIGCHLD);
	guest_tty_pass_on(&h, &mask);
	return end_like(&h);
}
