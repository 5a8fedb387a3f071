#include "guest/guest_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include "base/mem.h"

static volatile sig_atomic_t child_ended;

static void guest_loop_on_child(int signo)
{
	(void)signo;
	child_ended = 1;
}

static void on_resize(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	struct winsize size = { .ws_col = unpack_u16(&u) };
	size.ws_row = unpack_u16(&u);
	size.ws_xpixel = unpack_u16(&u);
	size.ws_ypixel = unpack_u16(&u);
	if (unpack_done(&u))
		inner_pump_resize(g, f->id, &size);
	else
		g->over = true;
}

static void guest_loop_on_signal(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	int signo = unpack_u8(&u);
	bool all = unpack_u8(&u) == 1;
	struct inner_run *r = inner_run_find(g, f->id);
	if (!unpack_done(&u) || signo < 1 || signo > SIGRTMAX)
		g->over = true;
	else if (r)
		inner_signal(g, r, signo, all);
}

static void on_freeze(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	bool frozen = unpack_u8(&u) == 1;
	if (unpack_done(&u))
		inner_freeze(g, f->id, frozen);
	else
		g->over = true;
}

static void guest_loop_on_kill(struct inner *g, const struct frame *f)
{
	unsigned killed, left;
	struct buf b = BUF_INIT;
	inner_kill_all(g, &killed, &left);
	buf_u32le(&b, killed);
	buf_u32le(&b, left);
	inner_answer(g, f->id, GS_NONE, 0, &b, -1);
	buf_release(&b);
}

static void on_drop(struct inner *g, const struct frame *f)
{
	struct inner_run *r = inner_run_find(g, f->id);
	if (r) {
		inner_drop_run(g, r);
	} else {
		inner_drop_left(g, f->id);
		inner_pump_drop(g, f->id);
	}
}

static void on_attach(struct inner *g, const struct frame *f)
{
	g->attach_id = f->id;
	buf_reset(&g->attach);
	buf_append(&g->attach, f->body, f->len);
	g->attach_waits = true;
}

static void on_go(struct inner *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	struct inner_run *r = inner_run_find(g, f->id);
	uint64_t after = f->len ? unpack_u64(&u) : 0;
	const char *mark = u.left ? unpack_str(&u) : NULL;
	g->over |= !unpack_done(&u) || (mark && (!*mark || strlen(mark) > GUEST_MARK_MAX));
	if (r && !g->over)
		inner_go(g, r, after, mark);
}

/* A run, listener, or connection that is unknown by now is not an error: the two sides cross. */
static void guest_loop_on_frame(struct inner *g, const struct frame *f)
{
	switch (f->type) {
	case GF_ATTACH:
		on_attach(g, f);
		break;
	case GF_PREPARE:
		inner_prepare(g, f);
		break;
	case GF_GO:
		on_go(g, f);
		break;
	case GF_DATA:
		inner_pump_data(g, f);
		break;
	case GF_EOF:
		inner_pump_eof(g, f);
		break;
	case GF_CREDIT:
		inner_pump_credit(g, f);
		break;
	case GF_SIGNAL:
		guest_loop_on_signal(g, f);
		break;
	case GF_RESIZE:
		on_resize(g, f);
		break;
	case GF_DROP:
		on_drop(g, f);
		break;
	case GF_FREEZE:
		on_freeze(g, f);
		break;
	case GF_LISTEN:
		inner_listen(g, f);
		break;
	case GF_DIAL:
		inner_dial(g, f);
		break;
	case GF_PS:
		inner_ps(g, f->id);
		break;
	case GF_PING:
		inner_answer(g, f->id, GS_NONE, 0, NULL, -1);
		break;
	case GF_KILL:
		guest_loop_on_kill(g, f);
		break;
	default:
		g->over = true;
	}
	if (f->type != GF_PREPARE && f->nr_fds && !g->over)
		g->over = true; /* nothing else brings descriptors */
}

static void take_frames(struct inner *g)
{
	size_t at = 0, used;
	struct frame f;
	struct err err = ERR_INIT;
	int rc;
	while (!g->over && !g->attach_waits &&
	       (rc = frame_parse(g->in.data + at, g->in.len - at, GUEST_MAX_IN, &f, &used, &err)) !=
		       0) {
		if (rc < 0) {
			g->over = true;
			break;
		}
		guest_loop_on_frame(g, &f);
		at += used;
	}
	buf_drop(&g->in, at);
}

static void say_ready(struct inner *g)
{
	struct buf b = BUF_INIT;
	buf_u32le(&b, GUEST_VERSION);
	pack_u8(&b, g->init);
	pack_u8(&b, (uint8_t)inner_landlock_abi());
	buf_u32le(&b, getuid());
	inner_send(g, GF_READY, 0, &b, -1);
	buf_release(&b);
}

/* The standard streams may be anything or missing: children get theirs from us, we use none. */
static int own_streams(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 3)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	for (int i = 0; i < 3 && fd >= 0; i++)
		dup2(fd, i);
	return fd;
}

static bool has_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	if (syscall(SYS_capget, &head, data) < 0)
		return true;
	return data[0].permitted || data[1].permitted || data[0].inheritable || data[1].inheritable;
}

static int guest_loop_set_up(struct inner *g)
{
	struct stat st;
	if (fcntl(g->channel, F_SETFD, FD_CLOEXEC) < 0 || fstat(g->channel, &st) < 0)
		return -1;
	g->socket = S_ISSOCK(st.st_mode) && g->answers == g->channel;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (!g->init && (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0))
		return -1;
	g->caps = has_caps();
	if (inner_lower_limits() < 0)
		return -1;
	g->null_fd = own_streams();
	void *shared = mmap(NULL, INNER_RUNS * sizeof(struct inner_slot), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *stacks = mmap(NULL, (size_t)INNER_RUNS * INNER_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (g->null_fd < 0 || shared == MAP_FAILED || stacks == MAP_FAILED)
		return -1;
	g->slot = shared;
	g->stacks = stacks;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", getpid(), getpid());
	g->children_fd = open(path, O_RDONLY | O_CLOEXEC);

	struct sigaction act = { .sa_handler = guest_loop_on_child };
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigaction(SIGCHLD, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	umask(022);
	if (g->init)
		inner_loopback_up();
	return 0;
}

static sigset_t guest_loop_waiting; /* what may interrupt: everything */

/* Until the channel ends, or ATTACH wants the main thread. */
static void guest_loop(struct inner *g)
{
	struct pollfd *fds = NULL;
	size_t cap = 0;
	take_frames(g);
	while (!g->over && !g->attach_waits) {
		if (g->nr_pumps + 1 > cap) {
			cap = (g->nr_pumps + 1) * 2;
			fds = mem_realloc(fds, cap * sizeof *fds);
		}
		fds[0] = (struct pollfd){ .fd = g->channel, .events = POLLIN };
		size_t nr = inner_pump_poll(g, fds + 1);
		bool looks = inner_pump_looks(g);
		int n = ppoll(
			fds, nr + 1,
			child_ended || looks
				? &(struct timespec){ .tv_nsec = child_ended ? 0 : INNER_LOOK_NS }
				: NULL,
			&guest_loop_waiting);
		if (n < 0 && errno != EINTR)
			g->over = true;
		if (child_ended) {
			child_ended = 0;
			inner_reap(g);
		}
		if (n == 0 && looks)
			inner_pump_look(g);
		if (n <= 0)
			continue;
		inner_pump_serve(g, fds + 1, nr);
		if (fds[0].revents && inner_port_fill(g) < 0)
			g->over = true;
		take_frames(g);
	}
	free(fds);
}

/* The thread of the next confined loop: started as soon as there is time, so that ATTACH only has
 * to wake it. */
static struct {
	pthread_t thread;
	sem_t go;
	bool there;
} guest_loop_parked;

static void *confined_loop(void *self)
{
	struct inner *g = self;
	while (sem_wait(&guest_loop_parked.go) < 0)
		continue;
	inner_confine(g);
	guest_loop(g);
	return NULL;
}

static bool guest_loop_park(struct inner *g)
{
	pthread_attr_t attr;
	if (guest_loop_parked.there)
		return true;
	sem_init(&guest_loop_parked.go, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 << 10);
	guest_loop_parked.there =
		pthread_create(&guest_loop_parked.thread, &attr, confined_loop, g) == 0;
	pthread_attr_destroy(&attr);
	return guest_loop_parked.there;
}

static void run_loop(struct inner *g)
{
	if (g->init && g->ahead >= 0)
		guest_loop_park(g); /* where it fails, it is tried again */
	if (!g->rules.shared) {
		guest_loop(g);
		return;
	}
	if (!guest_loop_park(g)) {
		g->over = true;
		return;
	}
	sem_post(&guest_loop_parked.go);
	pthread_join(guest_loop_parked.thread, NULL);
	guest_loop_parked.there = false;
}

int inner_main(int channel, int answers, bool init, bool machine)
{
	struct inner g = { .channel = channel,
			   .answers = answers >= 0 ? answers : channel,
			   .init = init,
			   .null_fd = -1,
			   .children_fd = -1,
			   .oom_fd = -1,
			   .ahead = -1,
			   .rules = { .fd = -1 } };
	unsigned killed, left;
	mallopt(M_ARENA_MAX, 1); /* the loop's thread needs no heap of its own */
	if (guest_loop_set_up(&g) < 0)
		return 1;
	g.oom_fd = inner_oom_open(machine);
	say_ready(&g);
	while (!g.over) {
		if (g.attach_waits)
			inner_attach(&g);
		run_loop(&g);
	}
	inner_kill_all(&g, &killed, &left);
	return 0;
}
