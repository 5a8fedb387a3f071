#include "sandbox/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/shell_priv.h"

static void sandbox_shell_leave(struct box_shell *s)
{
	if (--s->busy || !s->freed)
		return;
	buf_release(&s->held);
	buf_release(&s->waiting);
	free(s);
}

void box_shell_free(struct box_shell *s)
{
	if (!s)
		return;
	s->busy++;
	s->freed = true;
	loop_timer_free(&s->timer);
	if (s->killer)
		s->driver->run_free(take(&s->killer));
	if (s->run)
		s->driver->run_free(s->run);
	s->run = NULL;
	sandbox_shell_leave(s);
}

/* --- the end of a command --- */

static void sandbox_shell_done(struct box_shell *s, int status)
{
	struct box_shell_result r = { .status = status,
				      .timed_out = s->timed_out,
				      .ended = s->ended || s->killed,
				      .lost = s->lost,
				      .code = s->code,
				      .signal = s->signal };
	if (!s->running)
		return;
	sandbox_shell_turn(s,
			   s->stopping || s->renewing || s->forged ? TURN_OTHERWISE : TURN_AT_MARK);
	s->running = false;
	s->timed_out = s->stopping = s->renewing = s->guessed = s->echo = false;
	loop_timer_stop(s->timer);
	if (s->ops->on_done)
		s->ops->on_done(s->self, &r);
}

/* An interpreter, which got its mark with its arguments, prints the turn of the command: here that
 * of an empty one. A stopped command may have left the terminal in any state. */
static void type_prompt(struct box_shell *s)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (s->python) {
		type_code(s, "", &b);
	} else {
		if (s->ready)
			buf_puts(&b, "stty sane -echo -onlcr 2>/dev/null; ");
		type_mark(s, &b);
	}
	sandbox_shell_type(s, b.data, b.len);
}

void sandbox_shell_renew(struct box_shell *s)
{
	s->turn = (s->turn + 1) % TURN_MAX;
	type_prompt(s);
}

/* A ^C may arrive after its command has ended: then one more prompt comes, which the next command
 * must not take for its own, and text typed at it is lost. So after a stopped command the prompt is
 * changed, once more at each of the old ones, and the command is over when the changed one comes.
 *
 * An idle interpreter does not answer a ^C, and the ^C may have removed its command from the
 * terminal before it was read. So there the next turn is typed at once; its prompt comes when the
 * ^C has been handled (engine.mjs, settle). */
void begin_renewing(struct box_shell *s)
{
	s->renewing = true;
	s->old_turn = s->turn;
	s->status = INTERRUPTED;
	sandbox_shell_renew(s);
}

static void on_old_prompt(struct box_shell *s, int status)
{
	if (s->python || s->guessed)
		s->status = status;
	s->guessed = false;
	if (!s->python)
		sandbox_shell_renew(s);
}

static void on_prompt(struct box_shell *s, int status, unsigned turn)
{
	if (s->ready && s->renewing) {
		if (turn == s->turn)
			sandbox_shell_done(s, s->status);
		else if (turn == s->old_turn)
			on_old_prompt(s, status);
		return;
	}
	if (s->ready && s->python && turn != s->turn)
		return;
	if (s->ready && (s->stopping || (s->echo && !s->python && s->running))) {
		begin_renewing(s);
		s->status = status;
		return;
	}
	if (s->ready && !s->python && turn != s->turn)
		return;
	if (s->ready) {
		sandbox_shell_done(s, status);
		return;
	}
	s->ready = true;
	if (s->stopping) {
		sandbox_shell_done(s, INTERRUPTED);
		return;
	}
	if (s->waiting.len)
		type_command(s, &s->waiting);
	else
		sandbox_shell_begun(s);
	buf_reset(&s->waiting);
}

static void sandbox_shell_give(struct box_shell *s, const char *bytes, size_t len)
{
	if (len && s->ready && !s->freed && s->ops->on_output)
		s->ops->on_output(s->self, s->running, bytes, len);
}

/* Up to @max digits of @p from *at on: 0, -1 if more may follow the end, -2 if there is none. */
static int sandbox_shell_number(const char *p, size_t len, size_t *at, size_t max, unsigned *out)
{
	size_t from = *at;
	*out = 0;
	while (*at < len && p[*at] >= '0' && p[*at] <= '9' && *at - from < max)
		*out = *out * 10 + (unsigned)(p[(*at)++] - '0');
	return *at == len ? -1 : *at == from ? -2 : 0;
}

/* The text after the mark: see marker. */
static int marker_rest(const struct box_shell *s, const char *p, size_t len, unsigned *status_out,
		       unsigned *turn_out, unsigned *pid_out)
{
	size_t n = MARK_LEN;
	if (p[n++] != ':')
		return 0;
	int r = sandbox_shell_number(p, len, &n, 3, status_out);
	if (r < 0)
		return r == -1 ? -1 : 0;
	if (p[n++] != ':')
		return 0;
	r = sandbox_shell_number(p, len, &n, 6, turn_out);
	if (r < 0)
		return r == -1 ? -1 : 0;
	if (p[n] == ':') {
		n++;
		r = sandbox_shell_number(p, len, &n, 9, pid_out);
		if (r < 0)
			return r == -1 ? -1 : 0;
	}
	return p[n] == s->mark[0] ? (int)n + 1 : 0;
}

/* How much of @p is a marker: its length, *status_out and *turn_out, 0 if it is none, -1 if it may
 * become one. */
static int sandbox_shell_marker(struct box_shell *s, const char *p, size_t len,
				unsigned *status_out, unsigned *turn_out)
{
	if (memcmp(p, s->mark, len < MARK_LEN ? len : MARK_LEN) != 0)
		return 0;
	unsigned pid = 0;
	int n = len <= MARK_LEN ? -1 : marker_rest(s, p, len, status_out, turn_out, &pid);
	s->forged |= n == 0;
	if (n > 0 && pid)
		s->pid = pid;
	return n;
}

/* A terminal that echoes shows the mark as it is typed, as "^^sg...". */
static void look_for_echo(struct box_shell *s, const struct buf *in)
{
	if (s->looked < ECHO_WITHIN && !s->python && in->len) {
		const char *at = memmem(in->data, in->len, s->mark + 1, MARK_LEN - 1);
		s->echo |= at && at > in->data && at[-1] == '^';
	}
	s->looked += in->len;
}

static void sandbox_shell_on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct box_shell *s = self;
	struct buf in = s->held;
	size_t from = 0, at = 0;
	(void)stream;
	s->held = BUF_INIT;
	s->busy++;
	buf_append(&in, bytes, len);
	look_for_echo(s, &in);
	while (at < in.len && !s->freed) {
		unsigned status = 0, turn = 0;
		char *next = memchr(in.data + at, s->mark[0], in.len - at);
		at = next ? (size_t)(next - in.data) : in.len;
		int n = next ? sandbox_shell_marker(s, next, in.len - at, &status, &turn) : 0;
		if (n < 0)
			break;
		if (n == 0) {
			at += next ? 1 : 0;
			continue;
		}
		sandbox_shell_give(s, in.data + from, at - from);
		from = at += (size_t)n;
		if (!s->freed)
			on_prompt(s, status > 255 ? 255 : (int)status, turn);
	}
	if (!s->freed) {
		sandbox_shell_give(s, in.data + from, at - from);
		if (!s->freed)
			buf_append(&s->held, in.data + at, in.len - at);
	}
	buf_release(&in);
	sandbox_shell_leave(s);
}

static void sandbox_shell_on_end(void *self, int code, int signal, bool lost, int left)
{
	struct box_shell *s = self;
	s->busy++;
	s->ended = true;
	s->lost = lost;
	s->code = lost ? 0 : code;
	s->signal = lost ? 0 : signal;
	sandbox_shell_give(s, s->held.data, s->held.len);
	buf_reset(&s->held);
	if (!s->freed)
		sandbox_shell_done(s, -1);
	if (!s->freed && s->ops->on_end)
		s->ops->on_end(s->self, lost, left);
	sandbox_shell_leave(s);
}

static void sandbox_shell_on_trace(void *self, int listener, int sys)
{
	struct box_shell *s = self;
	s->ops->on_trace(s->self, listener, sys);
}

static void sandbox_shell_on_lost(void *self, const struct err *why)
{
	struct box_shell *s = self;
	s->busy++;
	if (s->ops->on_lost)
		s->ops->on_lost(s->self, why);
	sandbox_shell_leave(s);
}

static const struct run_ops sandbox_shell_run_ops = { .on_output = sandbox_shell_on_output,
						      .on_exit = sandbox_shell_on_end,
						      .on_trace = sandbox_shell_on_trace,
						      .on_lost = sandbox_shell_on_lost };

/* --- verbs --- */

int box_has_terminals(const struct box *b, struct err *err)
{
	if (box_can(b, CAP_PTY))
		return 0;
	if (!(b->driver->caps & CAP_PTY))
		return err_set(err, ERR_UNSUPPORTED,
			       "backend '%s' has no terminals; run single commands (box:exec)",
			       b->driver->name);
	return err_set(
		err, ERR_UNSUPPORTED,
		"sandbox '%s' (%s) has no terminals: can't open /dev/ptmx in it; run single commands "
		"(box:exec), or choose another image",
		b->name, b->driver->name);
}

static void start_typing(struct box_shell *s)
{
	static const char first[] = "set +o history 2>/dev/null\nPS2=\n";
	sandbox_shell_type(s, first, sizeof first - 1);
	type_prompt(s);
}

struct box_shell *box_shell_open(struct loop *l, const struct driver *d, struct box *b,
				 const struct box_shell_opts *o, const struct box_shell_ops *ops,
				 void *self)
{
	static char sh[] = "/bin/sh", dash_c[] = "-c";
	/* A pager would wait for a key that nobody presses. */
	static char start[] =
		"stty -echo -onlcr; : \"${PAGER:=cat}\" \"${GIT_PAGER:=cat}\" \"${MANPAGER:=cat}\" \"${LESS:=-FRX}\" "
		"\"${SYSTEMD_PAGER:=cat}\"; export PAGER GIT_PAGER MANPAGER LESS SYSTEMD_PAGER; "
		"command -v bash >/dev/null && exec bash --noprofile --norc --noediting -i; exec sh -i";
	static char python[] = "shell";
	struct box_shell *s = NEW(struct box_shell);
	s->python = !(d->caps & CAP_SHELL);
	char *argv[] = { s->python ? python : sh, s->python ? s->mark : dash_c,
			 s->python ? NULL : start, NULL };
	struct run_opts ro = { .argv = argv,
			       .nr_argv = s->python ? 2 : 3,
			       .cwd = o ? o->cwd : NULL,
			       .env = o ? o->env : NULL,
			       .pty = true,
			       .cols = o && o->cols ? o->cols : 120,
			       .rows = o && o->rows ? o->rows : 40,
			       .stdin_open = true,
			       .trace = o ? o->trace : TRACE_NONE };
	unsigned char random[16];
	struct buf hex = BUF_INIT;
	random_bytes(random, sizeof random);
	hex_append(&hex, random, sizeof random);
	snprintf(s->mark, sizeof s->mark, "\036sg%s", hex.data);
	buf_release(&hex);
	s->loop = l;
	s->driver = d;
	s->box = b;
	s->ops = ops;
	s->self = self;
	s->timer = loop_timer_new(l, sandbox_shell_on_timeout, s);
	s->run = d->run_prepare(b, &ro, &sandbox_shell_run_ops, s);
	return s;
}

void box_shell_go(struct box_shell *s)
{
	if (!s->run || s->ended)
		return;
	s->driver->run_go(s->run);
	if (!s->python)
		start_typing(s);
}

int box_shell_run(struct box_shell *s, const char *cmd, int64_t timeout_us, struct err *err)
{
	struct buf b = BUF_INIT;
	if (s->ended || !s->run)
		return err_set(err, ERR_CLOSED, "the shell has ended");
	if (s->running)
		return err_set(err, ERR_BUSY, "a command is still running in this shell");
	s->running = true;
	killer_over(s);
	if (s->python) {
		s->turn = (s->turn + 1) % TURN_MAX;
		type_code(s, cmd, &b);
	} else {
		box_shell_type(cmd, &b);
		type_mark(s, &b);
		s->echo = strstr(cmd, "stty") || strstr(cmd, "reset");
	}
	if (s->ready)
		type_command(s, &b);
	else
		buf_append(&s->waiting, b.data, b.len);
	buf_release(&b);
	if (timeout_us > 0)
		loop_timer_set(s->timer, (uint64_t)(timeout_us + 999) / 1000, 0);
	return 0;
}

void box_shell_send(struct box_shell *s, const void *bytes, size_t len)
{
	if (s->ready)
		sandbox_shell_type(s, bytes, len);
	else
		buf_append(&s->waiting, bytes, len);
}

void box_shell_resize(struct box_shell *s, uint16_t cols, uint16_t rows)
{
	if (s->run && !s->ended)
		s->driver->run_resize(s->run, &(struct winsize){ .ws_col = cols, .ws_row = rows });
}

void box_shell_pause(struct box_shell *s, bool paused)
{
	if (s->run && !s->ended)
		s->driver->run_pause(s->run, paused);
}
