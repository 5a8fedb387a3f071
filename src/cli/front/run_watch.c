/* run --watch FILE: each save runs the script again. Unchanged requests are answered from the
 * last run. After the first difference the run is live, in a new session that starts with the
 * events up to there. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "cli/front/front.h"
#include "sessions/spawn.h"
#include "luahost/simulate.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/record.h"

enum { SCRIPT_MAX = 8 << 20, END_MS = 15000, SETTLE_MS = 30, CLOSING_MS = 1000 };

struct watch {
	struct cmd_ctx *ctx;
	const char *file;
	const char *base;  /* of file: what the directory's events name */
	struct buf text;   /* as it runs */
	struct spawned sp; /* the current session */
	json_t *opts;
	pid_t front; /* who shows it; 0 nobody */
	int front_fd, notify;
	int super_fd; /* the end of the current session, until it was reported; -1 */
	/* to the console, which leaves when it ends; -1: no console, text goes to the error
	 * stream */
	int words;
	char greeting[80]; /* of the next one who shows it */
	int status;
	bool wrong; /* the last save could not run */
};

static void run_watch_say(const struct watch *w, const char *fmt, ...) PRINTF(2, 3);
static void run_watch_say(const struct watch *w, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	int len = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	len = len < (int)sizeof(text) - 2 ? len : (int)sizeof(text) - 2;
	text[len] = '\n';
	text[len + 1] = 0;
	if (w->words >= 0) { /* it owns the terminal; one that does not listen misses it */
		(void)!send(w->words, text, (size_t)len + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	fprintf(w->ctx->err, "sandglass: %s", text);
	fflush(w->ctx->err);
}

/* The console or line mode in a process of its own, so that a save can take it away. */
static void run_watch_show(struct watch *w)
{
	struct front_opts fo = { .greeting = *w->greeting ? w->greeting : NULL };
	int words[2] = { -1, -1 };
	if (front_is_console(w->ctx, &fo) &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, words) == 0)
		fo.notes = words[0];
	fflush(NULL);
	w->front = fork();
	if (w->front == 0) {
		fd_close(&words[1]);
		int status = front_show(w->ctx, w->sp.path, w->sp.socket, &fo);
		fflush(NULL);
		_exit(status);
	}
	fd_close(&words[0]);
	w->words = words[1];
	w->front_fd = w->front > 0 ? (int)syscall(SYS_pidfd_open, w->front, 0) : -1;
}

/* The console leaves when our words end, line mode with its session, or when it must. */
static void run_watch_hide(struct watch *w, bool by_force)
{
	int status = 0;
	fd_close(&w->words);
	if (w->front <= 0)
		return;
	if (by_force)
		kill(w->front, SIGTERM);
	if (waitpid(w->front, &status, 0) == w->front && WIFEXITED(status))
		w->status = WEXITSTATUS(status);
	w->front = 0;
	fd_close(&w->front_fd);
}

static bool run_watch_live(const char *path)
{
	struct session *s;
	struct err err;
	if (session_open(&s, path, &err) < 0)
		return false;
	bool yes = session_live(s);
	session_close(&s);
	return yes;
}

/* A session that has just told its end lets go of its file a moment later. */
static bool stays_live(const char *path)
{
	for (int ms = 0; ms < CLOSING_MS; ms += 10) {
		if (!run_watch_live(path))
			return false;
		usleep(10000);
	}
	return true;
}

static void run_watch_end_session(struct watch *w)
{
	if (!run_watch_live(w->sp.path))
		return;
	kill(w->sp.pid, SIGTERM);
	for (int ms = 0; ms < END_MS && run_watch_live(w->sp.path); ms += 10)
		usleep(10000);
}

static int run_watch_start(struct watch *w, struct err *err)
{
	spawned_release(&w->sp);
	fd_close(&w->super_fd);
	w->sp = (struct spawned){ 0 };
	w->status = spawn_supervisor(w->opts, &w->sp, err);
	if (w->status)
		return -1;
	w->super_fd = (int)syscall(SYS_pidfd_open, w->sp.pid, 0);
	run_watch_show(w);
	return 0;
}

/* The console stays open for reading. Line mode ends with its session and is notified of the
 * end. */
static void session_ended(struct watch *w)
{
	waitpid(w->sp.pid, NULL, WNOHANG);
	fd_close(&w->super_fd);
	if (w->words >= 0 && !w->wrong) /* else what is wrong would be gone from sight */
		run_watch_say(w,
			      "it has ended; a change of '%s' runs it again, q leaves the console",
			      w->base);
}

/* Where the new session leaves the old one; 0: there is nothing new to do. */
static uint64_t run_watch_parting(struct watch *w, const struct buf *text, struct err *err)
{
	struct simulation_result r;
	struct session *s;
	uint64_t at = 0;
	if (session_open(&s, w->sp.path, err) < 0)
		return 0;
	if (simulate_session(s, text, &r, err) < 0) {
		session_close(&s);
		return 0;
	}
	if (r.failed)
		err_set(err, ERR_SCRIPT, "%s", r.now ? r.now : "script failed");
	else if (r.diverged)
		at = r.event - (r.call ? 1 : 0);
	else if (!r.ended)
		at = r.event;
	else
		run_watch_say(w, "saved: it asks for the same; nothing to do");
	simulation_result_release(&r);
	session_close(&s);
	return at;
}

static int run_watch_run_again(struct watch *w, struct buf *text, int64_t saved_us, struct err *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	uint64_t at = run_watch_parting(w, text, err);
	if (!at)
		return err->code ? -1 : 0;
	run_watch_end_session(w);
	run_watch_hide(w, false);
	if (record_fork(w->sp.path, at, w->ctx->sessions, NULL, &path, err) < 0)
		return -1;
	json_put_str(w->opts, "resume", path);
	json_put_bytes(w->opts, "script", buf_cstr(text), text->len);
	json_put_int(w->opts, "saved_us", saved_us);
	buf_release(&w->text);
	w->text = *text;
	*text = BUF_INIT;
	snprintf(w->greeting, sizeof(w->greeting),
		 "saved: the same as before up to #%llu, live from there on",
		 (unsigned long long)at);
	if (run_watch_start(w, err) == 0)
		return 0;
	unlink(path); /* nothing may be left of a fork that did not start */
	return -1;
}

/* The file may have been written again, or nothing of it changed. */
static void run_watch_saved(struct watch *w)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	int64_t saved_us = clock_wall_us();
	usleep(SETTLE_MS * 1000);
	if (file_read(w->file, &text, SCRIPT_MAX, &err) < 0)
		return;
	bool same = text.len == w->text.len &&
		    (!text.len || !memcmp(text.data, w->text.data, text.len));
	if (same && w->wrong)
		run_watch_say(w, "saved: it asks for the same; nothing to do");
	w->wrong = !same && run_watch_run_again(w, &text, saved_us, &err) < 0;
	if (w->wrong)
		run_watch_say(w, "%s; waiting for the next save", err.text);
}

/* True when the file was written. */
static bool run_watch_drain(struct watch *w)
{
	char b[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool hit = false;
	ssize_t n = read(w->notify, b, sizeof(b));
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const void *)(b + at);
		hit |= ev->len && !strcmp(ev->name, w->base);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	return hit;
}

static volatile sig_atomic_t run_watch_stopped;
static void run_watch_on_signal(int signo)
{
	run_watch_stopped = signo;
}

static void wait_for_saves(struct watch *w)
{
	while (!run_watch_stopped) {
		struct pollfd p[3] = { { w->notify, POLLIN, 0 },
				       { w->front > 0 ? w->front_fd : -1, POLLIN, 0 },
				       { w->super_fd, POLLIN, 0 } };
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[2].revents & POLLIN)
			session_ended(w);
		if (w->front > 0 && (p[1].revents & POLLIN)) {
			run_watch_hide(w, false);
			if (stays_live(w->sp.path)) /* the user has left */
				return;
			run_watch_say(
				w,
				"ended with status %d; waiting for a change of '%s' (Ctrl-C leaves)",
				w->status, w->base);
		}
		if ((p[0].revents & POLLIN) && run_watch_drain(w))
			run_watch_saved(w);
	}
}

int run_watch(struct cmd_ctx *ctx, json_t *opts, const char *file)
{
	struct watch w = { .ctx = ctx, .opts = opts, .front_fd = -1, .super_fd = -1, .words = -1 };
	struct err err = ERR_INIT;
	char full[4096];
	if (!realpath(file, full))
		return cmd_fail_with(ctx, EXIT_USAGE, "can't watch script '%s'", file);
	char *slash = strrchr(full, '/');
	CLEANUP(free_ptr) char *dir = mem_strndup(full, slash == full ? 1 : (size_t)(slash - full));
	w.file = full;
	w.base = slash + 1;
	w.notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w.notify < 0 || inotify_add_watch(w.notify, dir, IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "can't watch '%s'", dir);
	json_get_bytes(json_object_get(opts, "script"), &w.text);
	struct sigaction sa = { .sa_handler = run_watch_on_signal };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (run_watch_start(&w, &err) < 0)
		w.status = cmd_fail_as(ctx, w.status, &err);
	else
		wait_for_saves(&w);
	if (run_watch_stopped && w.sp.path)
		run_watch_end_session(&w);
	run_watch_hide(&w, run_watch_stopped != 0);
	fd_close(&w.super_fd);
	spawned_release(&w.sp);
	buf_release(&w.text);
	close(w.notify);
	return run_watch_stopped ? 128 + run_watch_stopped : w.status;
}
