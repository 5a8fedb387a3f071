/* Commands in rented boxes: one text per command, which starts it and reads what it puts out until
 * it has ended. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/hosted/hosted_priv.h"
#include "wire/tool.h"
#include "sandbox/hosted/hosted_run_priv.h"

enum { KILL_AFTER_MS = 2000, WORD_MAX = (128 << 10) - 1024 };
static const long long MOST_US = 1LL << 56; /* of a clock: 2,000 years */

static void run_drop(struct run *r)
{
	if (r->pending || r->telling)
		return; /* begin does it, or the end of the text */
	for (struct run **p = &r->remote->runs; *p; p = &(*p)->next)
		if (*p == r) {
			*p = r->next;
			break;
		}
	script_cancel(&r->script);
	script_cancel(&r->input);
	script_cancel(&r->killer);
	script_cancel(&r->sizer);
	loop_timer_free(&r->late);
	strv_release(&r->argv);
	strv_release(&r->env);
	strv_release(&r->news_words);
	loop_timer_free(&r->deaf);
	buf_release(&r->ask);
	buf_release(&r->asked);
	buf_release(&r->in);
	free(r->cwd);
	free(r);
}

struct wrap_run wrap_of(const struct run *r)
{
	return (struct wrap_run){ .base = r->remote->base,
				  .id = r->id,
				  .workspace = REMOTE_WORKSPACE,
				  .o = &r->o,
				  .env = &r->remote->env,
				  .in = r->streams ? NULL : &r->in,
				  .out_off = r->off[0],
				  .err_off = r->off[1],
				  .poll_s = r->remote->of->port.poll_s(r->remote->of->port.self),
				  .news = r->o.pty ? NULL : &r->news_words };
}

/* Missing news will not come now. */
void no_news(const struct run *r)
{
	struct err none = ERR_INIT;
	mirror_news_came(r->remote->mirror, r->news, NULL, 0, &none);
}

static void hosted_run_finish(struct run *r, int code, int signal, bool lost)
{
	if (r->ended)
		return;
	r->ended = true;
	script_cancel(&r->input);
	script_cancel(&r->killer);
	script_cancel(&r->sizer);
	loop_timer_free(&r->late);
	if (r->going && !r->quiet) {
		/* what it changed stands since its last command; to look would wake its box */
		if (!r->slept)
			__atomic_add_fetch(&r->remote->changes, 1, __ATOMIC_RELEASE);
		__atomic_sub_fetch(&r->remote->running, 1, __ATOMIC_RELEASE);
	}
	if (!r->quiet)
		mirror_stirred(r->remote->mirror, r->news);
	if (r->news && !r->telling)
		no_news(r);
	if (!lost) {
		buf_printf(&r->remote->finished, "%s%s", r->remote->finished.len ? " " : "", r->id);
	}
	if (r->freed)
		run_drop(r);
	else
		r->ops->on_exit(r->self, code, signal, lost, 0);
}

/* --- the text of the command --- */

static void hosted_run_make(void *self, struct buf *text)
{
	struct run *r = self;
	struct wrap_run w = wrap_of(r);
	w.done = r->remote->finished.len ? buf_cstr(&r->remote->finished) : NULL;
	shell_protocol_exec(text, &w);
	buf_reset(&r->remote->finished);
}

static void hosted_run_on_news(struct run *r, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (base64_parse(text, len, &bytes) && bytes.len && bytes.data[0] == 0)
		mirror_news_came(r->remote->mirror, r->news, bytes.data + 1, bytes.len - 1, NULL);
}

/* Of the turn that it is of: what a cut connection has kept back is of an older one. */
static void on_turn_news(struct run *r, const char *text, size_t len)
{
	char *end;
	unsigned long nr = strtoul(text, &end, 10);
	if (*end == ' ' && nr == r->news)
		hosted_run_on_news(r, end + 1, len - (size_t)(end + 1 - text));
}

static void hosted_run_has_ended(struct run *r);

int stream_of(const struct run *r, bool err)
{
	return r->o.pty ? 3 : err ? 2 : 1;
}

static bool hosted_run_on_line(void *self, char kind, const char *text, size_t len)
{
	struct run *r = self;
	if (kind == 'o' || kind == 'e') {
		struct buf bytes = BUF_INIT;
		if (base64_parse(text, len, &bytes) && bytes.len) {
			r->off[kind == 'e'] += (int64_t)bytes.len;
			if (!r->freed)
				r->ops->on_output(r->self, stream_of(r, kind == 'e'), bytes.data,
						  bytes.len);
		}
		buf_release(&bytes);
		return false;
	}
	if (kind == 'l' || kind == 'w') {
		r->goes_on = kind == 'w';
		return true; /* l: the sandbox does not know it, so its status is unknown */
	}
	if (kind == 'm' && r->o.pty) {
		on_turn_news(r, text, len);
		return false;
	}
	if (kind == 'm') {
		hosted_run_on_news(r, text, len);
		return true;
	}
	if (kind != 'x' || r->has_status)
		return false;
	long long ends = 0, begins = 0, before = -1, after = -1;
	r->has_status = sscanf(text, "%d %d %lld %lld %lld %lld", &r->code, &r->by, &ends, &begins,
			       &before, &after) >= 2;
	hosted_oom_heard(&r->remote->oom, before, after);
	/* the sandbox sent the numbers: ignore impossible ones */
	if (begins > 0 && begins < MOST_US && ends > 0 && ends < MOST_US) {
		r->box_begin_us = begins;
		r->box_end_us = ends;
	}
	if (!r->has_status || !r->news || r->o.pty)
		return r->has_status;
	r->telling = true;
	hosted_run_has_ended(r);
	return false;
}

/* The box's clock against ours, from the command whose way there and back took the least time, as
 * if both took the same (how NTP does it): wrong by half of that at most. */
static void tell_times(struct run *r)
{
	struct remote *box = r->remote;
	int64_t now = clock_mono_us(), in_box = r->box_end_us - r->box_begin_us,
		way = now - r->sent_us - in_box;
	if (!r->ops->on_took || !r->box_begin_us || in_box < 0 || way < 0)
		return;
	if (!box->least_way_us || way < box->least_way_us) {
		box->least_way_us = way ? way : 1;
		box->clock_off_us = r->box_begin_us - r->sent_us - way / 2;
	}
	int64_t out = r->box_begin_us - box->clock_off_us - r->sent_us;
	r->ops->on_took(r->self, out < 0 ? 0 : out > way ? way : out, in_box);
}

static void hosted_run_has_ended(struct run *r)
{
	if (!r->freed && !r->ended)
		tell_times(r);
	hosted_run_finish(r, r->by ? 0 : r->code, r->by, false);
}

static void hosted_run_told(struct run *r)
{
	r->telling = false;
	no_news(r);
	if (r->freed)
		run_drop(r);
}

static void follow_on(struct run *r);

/* @err: why; NULL where the sandbox does not know it. Not shown in a terminal: that is a program's
 * screen. */
static void hosted_run_lose(struct run *r, const struct err *err)
{
	if (err && !r->freed && !r->ended) {
		CLEANUP(free_ptr) char *line = mem_printf("sandglass: %s\n", err->text);
		if (!r->o.pty)
			r->ops->on_output(r->self, 2, line, strlen(line));
		if (!r->freed && r->ops->on_lost)
			r->ops->on_lost(r->self, err);
	}
	hosted_run_finish(r, 0, 0, true);
}

static void hosted_run_on_end(void *self, const struct err *err)
{
	struct run *r = self;
	r->script = NULL;
	if (r->telling) {
		hosted_run_told(r);
		return;
	}
	if (!err && r->has_status) {
		hosted_run_has_ended(r);
		return;
	}
	if (!err && r->goes_on) {
		r->goes_on = false;
		follow_on(r);
		return;
	}
	hosted_run_lose(r, err);
}

static const struct script_how exec_how = { .make = hosted_run_make,
					    .line = hosted_run_on_line,
					    .end = hosted_run_on_end };

static void follow_on(struct run *r)
{
	if (r->held)
		r->goes_on = true;
	else
		r->script = script_go_on(r->remote, &exec_how, r, r->rests);
}

/* --- signals --- */

static void make_kill(void *self, struct buf *text)
{
	const struct run *r = self;
	struct wrap_run w = wrap_of(r);
	shell_protocol_signal(text, &w, r->sent);
}

bool any_end(void *self, char kind, const char *text, size_t len)
{
	(void)self;
	(void)text;
	(void)len;
	return kind == '.';
}

static void hosted_run_send_signal(struct run *r);

static void hosted_run_killed(void *self, const struct err *err)
{
	struct run *r = self;
	r->killer = NULL;
	if (err && r->unfed && !r->ended)
		hosted_run_lose(r, err);
	else if (r->signal && !r->ended)
		hosted_run_send_signal(r);
}

static const struct script_how kill_how = { .make = make_kill,
					    .line = any_end,
					    .end = hosted_run_killed };

static void hosted_run_send_signal(struct run *r)
{
	r->sent = r->signal;
	r->signal = 0;
	/* of one that rests: when it wakes */
	r->killer = script_go_on(r->remote, &kill_how, r, r->rests);
}

void hosted_run_signal(struct run *r, int signo)
{
	if (r->ended)
		return;
	r->signal = signo;
	if (r->going && !r->killer)
		hosted_run_send_signal(r);
}

static void hosted_run_on_late(void *self)
{
	struct run *r = self;
	bool again = r->sent == SIGTERM || r->signal == SIGTERM;
	hosted_run_signal(r, again ? SIGKILL : SIGTERM);
	if (!again)
		loop_timer_set(r->late, KILL_AFTER_MS, 0);
}

/* --- rest --- */

void hosted_run_rest(struct run *r, bool rests)
{
	r->rests = rests;
	if (r->script)
		script_rest(r->script, rests);
}

static struct run *hosted_run_parked(struct run *r)
{
	while (r && (!r->parked || r->ended))
		r = r->next;
	return r;
}

void hosted_runs_park(struct remote *remote, bool park)
{
	for (struct run *r = remote->runs; r; r = r->next)
		r->parked = park && r->going && !r->ended;
}

void hosted_runs_slept(struct remote *remote)
{
	struct err why = ERR_INIT;
	err_set(&why, ERR_CLOSED,
		"sandbox '%s' was paused, which ends its processes; open another shell",
		remote->name);
	for (struct run *r; (r = hosted_run_parked(remote->runs));) {
		script_cancel(&r->script);
		r->slept = true;
		hosted_run_lose(r, &why);
	}
}

/* --- life --- */

/* Most providers make one word of a command line of it, which has an end (MAX_ARG_STRLEN). */
static bool hosted_run_fits(const struct run *r)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct wrap_run w = wrap_of(r);
	shell_protocol_exec(&text, &w);
	script_as_utf8(&text);
	return text.len < WORD_MAX;
}

static void hosted_run_refuse(struct run *r)
{
	struct err why = ERR_INIT;
	errno = E2BIG;
	err_sys(&why, "can't run the command");
	if (r->ops->on_lost)
		r->ops->on_lost(r->self, &why);
	hosted_run_finish(r, 126, 0, false);
}

static void hosted_run_begin(void *self)
{
	struct run *r = self;
	r->pending = false;
	if (r->ended || r->freed) {
		r->ended = true;
		if (r->freed)
			run_drop(r);
		return;
	}
	r->streams = r->o.pty || (r->o.stdin_open && (!r->in_eof || r->in.len > WRAP_TEXT_MAX / 2));
	if (!hosted_run_fits(r) && r->in.len)
		r->streams = true; /* its input goes separately */
	if (!hosted_run_fits(r)) {
		hosted_run_refuse(r);
		return;
	}
	r->going = true;
	r->sent_us = clock_mono_us();
	if (!r->quiet && !r->o.background && !r->o.pty)
		r->news = mirror_news(r->remote->mirror, &r->news_words);
	if (!r->quiet)
		__atomic_add_fetch(&r->remote->running, 1, __ATOMIC_RELEASE);
	r->script = script_begin(r->remote, &exec_how, r);
	if (r->o.timeout_us > 0) {
		r->late = loop_timer_new(r->remote->loop, hosted_run_on_late, r);
		loop_timer_set(r->late, (uint64_t)(r->o.timeout_us + 999) / 1000, 0);
	}
	if (r->signal)
		hosted_run_send_signal(r);
	send_input(r);
}

/* Our program there becomes the command. */
static void stay_offline(const struct remote *r, struct strv *argv)
{
	CLEANUP(free_ptr) char *program = mem_printf("%s/tool", r->base);
	strv_push(argv, program);
	strv_push(argv, TOOL_OPTION);
	strv_push(argv, "offline");
}

struct run *hosted_run_prepare(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			       void *self)
{
	struct remote *remote = CONTAINER_OF(b, struct remote, b);
	struct run *r = NEW(struct run);
	*r = (struct run){
		.next = remote->runs, .remote = remote, .ops = ops, .self = self, .o = *o
	};
	remote->runs = r;
	snprintf(r->id, sizeof(r->id), "r%u", ++remote->ids);
	if (o->offline)
		stay_offline(remote, &r->argv);
	for (size_t i = 0; i < o->nr_argv; i++)
		strv_push(&r->argv, o->argv[i]);
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&r->env, o->env[i]);
	r->cwd = o->cwd ? mem_strdup(o->cwd) : NULL;
	r->o.argv = r->argv.item;
	r->o.nr_argv = r->argv.nr;
	r->o.env = r->env.nr ? r->env.item : NULL;
	r->o.cwd = r->cwd;
	return r;
}

/* At the end of the turn: input given by then goes along. */
void hosted_run_go(struct run *r)
{
	r->pending = true;
	loop_defer(r->remote->loop, hosted_run_begin, r);
}

void hosted_run_pause(struct run *r, bool paused)
{
	r->held = paused;
	if (r->script)
		script_pause(r->script, paused);
	else if (!paused && r->goes_on && !r->ended) {
		r->goes_on = false;
		follow_on(r);
	}
}

void hosted_run_free(struct run *r)
{
	if (!r || r->freed)
		return;
	r->freed = true;
	if (r->telling) { /* the end of its text drops it, which is waited for */
		if (r->held)
			hosted_run_pause(r, false);
	} else if (r->ended || (!r->going && !r->pending)) {
		run_drop(r);
	} else if (r->going) { /* nobody listens, but it must end */
		hosted_run_pause(r, false);
		hosted_run_signal(r, SIGKILL);
	}
}

/* The sandbox is freed: owners of its runs may only free them. */
void hosted_runs_drop(struct remote *remote)
{
	struct run *r = remote->runs;
	r->pending = r->telling = false;
	run_drop(r);
}
