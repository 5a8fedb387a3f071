/* Processes of the sandbox: /proc of its own namespace, or below ourselves where it has none
 * (isolation level reduced).
 *
 * Origin: a process belongs to the run whose leader is its ancestor. An orphan has lost its
 * ancestors, so origins are remembered and passed on within a session; an orphan of unknown origin
 * is given to the run that has just ended. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "guest/guest_priv.h"

enum { MAX_PROCS = 65536, MAX_SEEN = 8192 };
enum { KERNEL_THREAD = 0x00200000 }; /* PF_KTHREAD */

/* false: it has gone, or is a thread of the kernel's own, of which a machine that we are the first
 * of has some: nobody's run. */
static bool read_stat(const char *pid, struct inner_proc *p)
{
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%.12s/stat", pid);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	char *open_paren = strchr(text, '('), *close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren || close_paren < open_paren)
		return false;
	unsigned long utime, stime;
	unsigned flags;
	unsigned long long start;
	long rss;
	*p = (struct inner_proc){ .pid = (pid_t)atol(pid) };
	snprintf(p->name, sizeof p->name, "%.*s", (int)(close_paren - open_paren - 1),
		 open_paren + 1);
	/* fields 3 to 24 of proc_pid_stat(5) */
	if (sscanf(close_paren + 1,
		   " %c %d %*d %d %*d %*d %u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %llu %*u %ld",
		   &p->state, &p->ppid, &p->sid, &flags, &utime, &stime, &start, &rss) != 8 ||
	    flags & KERNEL_THREAD)
		return false;
	static long tick, page;
	if (!tick) {
		tick = sysconf(_SC_CLK_TCK);
		page = sysconf(_SC_PAGESIZE);
	}
	p->start = start;
	p->bytes = rss > 0 ? (uint64_t)rss * (uint64_t)page : 0;
	p->cpu_us = ((uint64_t)utime + stime) * 1000000 / (uint64_t)tick;
	return true;
}

static struct inner_proc *procs_find(struct inner_proc *p, size_t nr, pid_t pid)
{
	for (size_t lo = 0, hi = nr; lo < hi;) { /* sorted */
		size_t mid = lo + (hi - lo) / 2;
		if (p[mid].pid == pid)
			return &p[mid];
		if (p[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int by_pid(const void *a, const void *b)
{
	const struct inner_proc *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool below_us(struct inner_proc *p, size_t nr, const struct inner_proc *q)
{
	pid_t self = getpid();
	for (int depth = 0; q && depth < 4096; depth++) {
		if (q->ppid == self)
			return true;
		q = procs_find(p, nr, q->ppid);
	}
	return false;
}

static pid_t known_run(const struct inner *g, pid_t pid)
{
	for (size_t i = 0; i < g->nr_runs; i++)
		if (g->run[i]->pid == pid)
			return pid;
	return 0;
}

static pid_t procs_remembered(const struct inner *g, const struct inner_proc *p)
{
	pid_t by_session = 0;
	for (size_t i = 0; i < g->nr_seen; i++) {
		if (g->seen[i].pid == p->pid && g->seen[i].start == p->start)
			return g->seen[i].run;
		if (g->seen[i].sid == p->sid)
			by_session = g->seen[i].run;
	}
	return by_session;
}

static void name_origins(const struct inner *g, struct inner_proc *p, size_t nr, pid_t heir)
{
	for (size_t i = 0; i < nr; i++) {
		struct inner_proc *q = &p[i];
		for (int depth = 0; q && !p[i].run && depth < 4096; depth++) {
			pid_t run = known_run(g, q->pid);
			if (!run)
				run = known_run(g, q->sid);
			if (!run && heir && q->sid == heir)
				run = heir;
			p[i].run = run ? run : procs_remembered(g, q);
			q = procs_find(p, nr, q->ppid);
		}
		if (!p[i].run)
			p[i].run = heir;
	}
}

/* Forgets ended processes: makes the list anew from the living ones. */
static void procs_remember(struct inner *g, const struct inner_proc *p, size_t nr)
{
	g->nr_seen = 0;
	for (size_t i = 0; i < nr && g->nr_seen < MAX_SEEN; i++) {
		if (!p[i].run || p[i].state == 'Z')
			continue;
		GROW(g->seen, g->nr_seen, g->cap_seen);
		g->seen[g->nr_seen++] = (struct inner_seen){
			.pid = p[i].pid, .sid = p[i].sid, .run = p[i].run, .start = p[i].start
		};
	}
}

/* Every process below the guest, zombies included, with its origin; processes without an origin are
 * given to @heir. Returns owned, NULL with *nr_out 0 on failure. */
static struct inner_proc *inner_scan(struct inner *g, pid_t heir, size_t *nr_out)
{
	struct inner_proc *p = NULL, one;
	size_t nr = 0, cap = 0, kept = 0;
	struct dirent *e;
	*nr_out = 0;
	DIR *d = opendir("/proc");
	if (!d)
		return NULL;
	while ((e = readdir(d)) && nr < MAX_PROCS) {
		if (!isdigit((unsigned char)e->d_name[0]) || !read_stat(e->d_name, &one) ||
		    one.pid == getpid())
			continue;
		GROW(p, nr, cap);
		p[nr++] = one;
	}
	closedir(d);
	if (!p)
		return mem_calloc(1, sizeof *p);
	if (nr)
		qsort(p, nr, sizeof *p, by_pid);
	if (!g->init) {
		bool *ours = mem_calloc(nr, sizeof *ours);
		for (size_t i = 0; i < nr; i++)
			ours[i] = below_us(p, nr, &p[i]);
		for (size_t i = 0; i < nr; i++)
			if (ours[i])
				p[kept++] = p[i];
		nr = kept;
		free(ours);
	}
	name_origins(g, p, nr, heir);
	procs_remember(g, p, nr);
	*nr_out = nr;
	return p;
}

static bool procs_live(const struct inner_proc *p)
{
	return p->state != 'Z' && p->state != 'X';
}

/* Every process that is not below the leader of a live run is below a child of ours that is no
 * leader. If all of those are known already and none came from @run, nothing of it is left and
 * /proc need not be walked. */
static bool nobody_new(struct inner *g, pid_t run)
{
	UNSET char text[8192];
	if (g->children_fd < 0)
		return false;
	ssize_t n = pread(g->children_fd, text, sizeof text - 1, 0);
	if (n < 0 || n == sizeof text - 1)
		return false;
	text[n] = '\0';
	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
		bool known = false;
		for (size_t i = 0; i < g->nr_runs && !known; i++)
			known = g->run[i]->pid == pid && !g->run[i]->reaped;
		for (size_t i = 0; i < g->nr_seen && !known; i++)
			known = g->seen[i].pid == pid && g->seen[i].run != run;
		if (!known)
			return false;
		end += strspn(end, " \n");
	}
	return true;
}

static unsigned procs_count_of(struct inner *g, pid_t run)
{
	unsigned left = 0;
	size_t nr;
	struct inner_proc *p = inner_scan(g, run, &nr);
	for (size_t i = 0; i < nr; i++)
		left += p[i].run == run && p[i].pid != run && procs_live(&p[i]);
	free(p);
	return left;
}

unsigned inner_left(struct inner *g, pid_t run)
{
	unsigned left = nobody_new(g, run) ? 0 : procs_count_of(g, run);
	/* processes that end together with the leader may be a moment behind: by the same signal,
	 * or helpers that are done, as those of git; only processes that stay were left */
	for (int pass = 0; left && pass < 20; pass++) {
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
		left = procs_count_of(g, run);
	}
	return left;
}

bool inner_session_kill(pid_t sid)
{
	struct inner_proc one;
	struct dirent *e;
	bool hit = false;
	DIR *d = opendir("/proc");
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && read_stat(e->d_name, &one) &&
		    one.sid == sid && procs_live(&one))
			hit |= kill(one.pid, SIGKILL) == 0;
	if (d)
		closedir(d);
	return hit;
}

void inner_signal_all(struct inner *g, pid_t run, int signo)
{
	for (int pass = 0; pass < 50; pass++) {
		size_t nr, hit = 0;
		struct inner_proc *p = inner_scan(g, 0, &nr);
		for (size_t i = 0; i < nr; i++)
			if (p[i].run == run && procs_live(&p[i])) {
				kill(p[i].pid, signo);
				hit++;
			}
		free(p);
		if (!hit || signo != SIGKILL)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
}

static void signal_others(struct inner *g, int signo)
{
	size_t nr;
	if (g->init) {
		/* all of the namespace but us, in one step that no fork can slip through */
		kill(-1, signo);
		return;
	}
	struct inner_proc *p = inner_scan(g, 0, &nr);
	for (size_t i = 0; i < nr; i++)
		if (procs_live(&p[i]))
			kill(p[i].pid, signo);
	free(p);
}

/* Counts live processes and those that can still run. A stop takes effect when a system call under
 * way returns; one that cannot be interrupted (D: mostly a parent in vfork) stops before it reaches
 * its own code again. */
static unsigned procs_count(struct inner *g, unsigned *running_out, unsigned *waiting_out)
{
	unsigned all = 0;
	size_t nr;
	struct inner_proc *p = inner_scan(g, 0, &nr);
	*running_out = *waiting_out = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!procs_live(&p[i]))
			continue;
		all++;
		if (p[i].state == 'D')
			++*waiting_out;
		else if (p[i].state != 'T' && p[i].state != 't')
			++*running_out;
	}
	free(p);
	return all;
}

static bool procs_was_stopped(const struct inner *g, pid_t pid)
{
	for (size_t i = 0; i < g->nr_stopped; i++)
		if (g->stopped[i] == pid)
			return true;
	return false;
}

static unsigned procs_freeze(struct inner *g, unsigned *running_out)
{
	size_t nr;
	unsigned all, waiting;
	struct inner_proc *p = inner_scan(g, 0, &nr);
	if (!g->frozen)
		g->nr_stopped = 0;
	for (size_t i = 0; i < nr && !g->frozen; i++)
		if (p[i].state == 'T') {
			GROW(g->stopped, g->nr_stopped, g->cap_stopped);
			g->stopped[g->nr_stopped++] = p[i].pid;
		}
	free(p);
	g->frozen = true;
	signal_others(g, SIGSTOP);
	for (int pass = 0;; pass++) {
		all = procs_count(g, running_out, &waiting);
		if ((!*running_out && (!waiting || pass > 100)) || pass > 500)
			return all;
		if (!g->init)
			/* a process may have forked between our scan and our stop */
			signal_others(g, SIGSTOP);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static unsigned procs_thaw(struct inner *g, unsigned *running_out)
{
	unsigned waiting;
	if (g->frozen && g->init && !g->nr_stopped) {
		kill(-1, SIGCONT);
	} else if (g->frozen) {
		size_t nr;
		struct inner_proc *p = inner_scan(g, 0, &nr);
		for (size_t i = 0; i < nr; i++)
			if (procs_live(&p[i]) && !procs_was_stopped(g, p[i].pid))
				kill(p[i].pid, SIGCONT);
		free(p);
	}
	g->frozen = false;
	g->nr_stopped = 0;
	inner_thawed(g);
	return procs_count(g, running_out, &waiting);
}

void inner_freeze(struct inner *g, uint64_t id, bool frozen)
{
	struct buf b = BUF_INIT;
	unsigned running;
	unsigned all = frozen ? procs_freeze(g, &running) : procs_thaw(g, &running);
	buf_u32le(&b, all);
	buf_u32le(&b, running);
	inner_answer(g, id, GS_NONE, 0, &b, -1);
	buf_release(&b);
}

void inner_ps(struct inner *g, uint64_t id)
{
	size_t nr;
	struct buf b = BUF_INIT;
	struct inner_proc *p = inner_scan(g, 0, &nr);
	if (!p) {
		inner_answer(g, id, GS_PROC, errno, NULL, -1);
		return;
	}
	size_t n = nr < GUEST_MAX_PS ? nr : GUEST_MAX_PS;
	buf_u32le(&b, (uint32_t)nr);
	buf_u32le(&b, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		buf_u32le(&b, (uint32_t)p[i].pid);
		buf_u32le(&b, (uint32_t)p[i].ppid);
		buf_u32le(&b, (uint32_t)p[i].run);
		pack_u8(&b, (uint8_t)p[i].state);
		buf_u64le(&b, p[i].bytes);
		buf_u64le(&b, p[i].cpu_us);
		pack_str(&b, p[i].name);
	}
	inner_answer(g, id, GS_NONE, 0, &b, -1);
	buf_release(&b);
	free(p);
}

void inner_kill_all(struct inner *g, unsigned *killed_out, unsigned *left_out)
{
	unsigned running, waiting;
	*killed_out = procs_count(g, &running, &waiting);
	*left_out = 0;
	for (int pass = 0; pass < 2000; pass++) {
		if (pass % 10 == 0)
			signal_others(g, SIGKILL);
		if (!inner_reap(g))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	*left_out = procs_count(g, &running, &waiting);
}
