/* Timers, deferred calls, wakes from other threads, jobs, children. */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "tap.h"

static struct loop *loop;
static int ticks, deferred, woken, worked, done, reaped = -1;
static struct loop_timer *timer;
static struct loop_wake *wake;
static struct loop_fd *child;

static void on_tick(void *self)
{
	(void)self;
	if (++ticks == 3)
		loop_timer_free(&timer);
}

static void on_defer(void *self)
{
	int *left = self;
	deferred++;
	if (--*left)
		loop_defer(loop, on_defer, self);
}

static void on_wake(void *self)
{
	(void)self;
	woken++;
}

static void *other_thread(void *arg)
{
	(void)arg;
	loop_wake_send(wake);
	return NULL;
}

static void work(void *self)
{
	(void)self;
	worked++;
}

static void finished(void *self)
{
	(void)self;
	done++;
}

static void on_child(void *self, int fd, unsigned events)
{
	struct err err = ERR_INIT;
	(void)self;
	(void)events;
	if (proc_reap(fd, &reaped, &err) < 0)
		reaped = -2;
	loop_fd_free(&child);
	close(fd);
}

/* A due timer that takes long and advances the loop's time. Timers due by then fire before the turn sleeps. */
static struct loop_timer *far;
static int late;

static void on_late(void *self)
{
	(void)self;
	late++;
	usleep(20000);
	loop_timer_set(far, 60000, 0);
}

static void test_limit_over_before_the_sleep(void)
{
	far = loop_timer_new(loop, on_late, NULL);
	struct loop_timer *due = loop_timer_new(loop, on_late, NULL);
	loop_timer_set(due, 1, 0);
	usleep(20000);
	int64_t begin = clock_mono_us();
	loop_turn(loop, 5);
	ok(clock_mono_us() - begin < 30000000, "a limit that is over before the turn sleeps still ends it");
	is_int(late, 1, "the due timer ran");
	loop_timer_set(due, 1, 0);
	usleep(20000);
	begin = clock_mono_us();
	while (late < 2)
		loop_turn(loop, -1);
	ok(clock_mono_us() - begin < 30000000, "a turn without limit does not sleep over what a timer has just done");
	int left = 1, before = deferred;
	loop_defer(loop, on_defer, &left);
	begin = clock_mono_us();
	while (left)
		loop_turn(loop, -1);
	ok(clock_mono_us() - begin < 30000000 && deferred == before + 1, "nor over what was deferred");
	loop_timer_stop(far);
	ok(!loop_alive(loop), "nothing is left that could call");
	loop_timer_set(far, 60000, 0);
	ok(loop_alive(loop), "a timer that runs could");
	loop_timer_free(&due);
	loop_timer_free(&far);
}

int main(void)
{
	struct err err = ERR_INIT;
	if (loop_new(&loop, &err) < 0)
		return 1;
	timer = loop_timer_new(loop, on_tick, NULL);
	loop_timer_set(timer, 1, 1);
	while (timer)
		loop_turn(loop, 1000);
	is_int(ticks, 3, "a repeating timer, freed in its own callback");

	int left = 5;
	loop_defer(loop, on_defer, &left);
	for (int i = 0; i < 20 && left; i++)
		loop_turn(loop, 1000);
	is_int(deferred, 5, "deferred calls run, also those deferred by deferred calls");

	pthread_t t;
	wake = loop_wake_new(loop, on_wake, NULL);
	pthread_create(&t, NULL, other_thread, NULL);
	while (!woken)
		loop_turn(loop, 1000);
	pthread_join(t, NULL);
	ok(woken >= 1, "another thread wakes the loop");
	loop_wake_free(&wake);

	loop_job_run(loop, work, finished, NULL);
	while (!done)
		loop_turn(loop, 1000);
	ok(worked == 1 && done == 1, "a job runs elsewhere and ends here");

	int pid, pidfd;
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 7" }, NULL };
	int fds[3] = { -1, -1, -1 };
	ok(proc_spawn("/bin/sh", argv, environ, fds, 3, &pid, &pidfd, &err) == 0, "a child starts");
	child = loop_fd_new(loop, pidfd, LOOP_READ, on_child, NULL);
	while (reaped < 0)
		loop_turn(loop, 1000);
	is_int(reaped, 7, "and its status comes back");
	ok(proc_spawn("/nonexistent/x", argv, environ, fds, 3, &pid, &pidfd, &err) < 0 && err.code == ERR_NOENT,
	   "a missing program is an error: %s", err.text);
	struct rlimit was, few = { .rlim_cur = 20, .rlim_max = 20 };
	getrlimit(RLIMIT_NOFILE, &was);
	few.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	int rc = proc_spawn("/bin/sh", argv, environ, (int[]){ 0, 1, 2 }, 3, &pid, &pidfd, &err);
	setrlimit(RLIMIT_NOFILE, &was);
	ok(rc < 0, "without a descriptor left nothing is started that would write to /dev/null instead");
	test_limit_over_before_the_sleep();
	loop_free(loop);
	return done_testing();
}
