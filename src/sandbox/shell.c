#include "sandbox/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
	ECHO_WITHIN = 16 << 10,
	PIECE_MAX = 1000, /* a terminal takes lines of 4095 bytes */
	MARK_LEN = 3 + 32,
	/* after a ^C: a prompt of ours is asked for, for the command may have changed it; */
	ASK_AFTER_MS = 300,
	AGAIN_AFTER_MS = 700, /* ^C is typed a second time; */
	KILL_AFTER_MS = 1000, /* the program in the foreground is killed; */
	/* and then the shell: a rented box that is slow to answer has had its time */
	END_AFTER_MS = 3000,
	TURN_MAX = 1000000,
	QUOTE_NEXT = 0x16, /* ^V */
	INTERRUPTED = 130, /* what a shell says of a command that ^C has ended */
};

struct box_shell {
	struct loop *loop;
	const struct driver *driver;
	struct run *run;
	const struct box_shell_ops *ops;
	void *self;
	char mark[MARK_LEN + 1]; /* before ":STATUS:TURN\036" */
	struct buf held;	 /* bytes that may start a marker */
	struct buf waiting;	 /* typed when the first prompt has come */
	bool python;		 /* without sh: commands are code for a lasting interpreter */
	bool ready, running, timed_out, stopping, renewing, killed, ended, freed;
	bool lost;     /* as of on_end */
	bool guessed;  /* the status while renewing, for no prompt has come */
	bool echo;     /* the terminal shows what is typed, or may: a command has turned that on */
	size_t looked; /* so much of the command's output has been looked through for that */
	/* what the timer does, while stopping */
	enum { STOP_ASK, STOP_AGAIN, STOP_KILL, STOP_END } next;
	unsigned pid;	  /* of the shell in its box, by its prompt; 0 not known */
	int code, signal; /* of the shell's end */
	struct box *box;
	struct run *killer; /* ends the program in the foreground; NULL */
	bool forged;	    /* the mark has come out while the command ran and was no marker */
	/* of the prompt that is waited for; of the stopped command's, while renewing */
	unsigned turn, old_turn;
	int status; /* of the stopped command, while renewing */
	unsigned busy;
	struct loop_timer *timer;
};

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

/* --- typing --- */

static void type_char(struct buf *out, unsigned char c)
{
	if (c == '\'')
		buf_puts(out, "'\\''");
	else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
		buf_putc(out, QUOTE_NEXT);
		buf_putc(out, (char)c);
	} else
		buf_putc(out, (char)c);
}

/* Makes the prompt ours: it is set by typing, not in the environment, where every command would see
 * it. In one line with a command this undoes what the command has changed of what the prompt
 * depends on (prompt, hooks, line editor, input, output), and keeps its status. (eval : since
 * bash's parser is in disorder after an eval with an open quote.) */
static void type_mark(const struct box_shell *s, struct buf *out)
{
	CLEANUP(free_ptr)
	char *prompt = mem_printf("%s:${__sg_s:-$?}:%u:$$%c", s->mark, s->turn, s->mark[0]);
	buf_puts(
		out,
		"{ __sg_s=$? __sg_o=$-; set +xe; eval :; } 2>/dev/null; [ -t 0 ] || exec </dev/tty; [ -t 2 ] || exec 2>/dev/tty; ");
	buf_puts(
		out,
		"{ unset PS1 PS2 TMOUT; PS2=; [ \"${BASH_VERSION-}\" ] && { unset PS0 PROMPT_COMMAND; set +H +o vi +o emacs; ");
	buf_printf(out, "PROMPT_COMMAND='{ PS1='\\''%s'\\''; } 2>/dev/null'; }; PS1='%s'; ", prompt,
		   prompt);
	buf_puts(
		out,
		"__sg_r() { return $1; }; case $__sg_o in *x*) set -x; esac; __sg_r $__sg_s; } 2>/dev/null\n");
}

/* Bash dies of a line editor that is turned on (set -o vi) in an eval of its own lines; in lines
 * that it reads from a file it does not. */
static bool turns_editor(const char *cmd)
{
	return (strstr(cmd, "vi") || strstr(cmd, "emacs")) &&
	       (strstr(cmd, "set") || strstr(cmd, "shopt"));
}

/* eval 'CMD': one command for the shell however many lines it has, so there is one prompt at its
 * end, and a syntax error in it is its own. Long lines: the quotes are closed, the line continued,
 * the quotes opened again. */
void box_shell_type(const char *cmd, struct buf *out)
{
	bool file = turns_editor(cmd);
	buf_puts(out, "{ __sg_p=$? __sg_s=; __sg_r $__sg_p; } 2>/dev/null; ");
	size_t line = out->len + 8;
	buf_puts(out, file ? "__sg_c='" : "eval '");
	for (const unsigned char *p = (const unsigned char *)cmd; *p; p++) {
		if (line >= PIECE_MAX && (*p & 0xc0) != 0x80 && *p != '\n') {
			buf_puts(out, "'\\\n'");
			line = 1;
		}
		type_char(out, *p);
		line = *p == '\n' ? 0 : line + 4;
	}
	buf_puts(out, "'; ");
	if (file)
		buf_puts(
			out,
			"if [ \"${BASH_VERSION-}\" ]; then eval '. /dev/fd/9 9<<<\"eval \\\"\\$__sg_c\\\"\"'; "
			"else eval \"$__sg_c\"; fi; ");
}

/* The input of an interpreter (plugins/pyodide): the mark and the turn, base64 in lines, a full
 * stop after the last. It starts on a line of its own, because an unread line may precede it. */
static void type_code(const struct box_shell *s, const char *code, struct buf *out)
{
	CLEANUP(buf_release) struct buf b64 = BUF_INIT;
	base64_append(&b64, code, strlen(code));
	buf_printf(out, "\n%s:%u:", s->mark + 1, s->turn);
	for (size_t at = 0; at < b64.len; at += PIECE_MAX) {
		buf_append(out, b64.data + at, b64.len - at < PIECE_MAX ? b64.len - at : PIECE_MAX);
		buf_putc(out, '\n');
	}
	buf_puts(out, ".\n");
}

static void sandbox_shell_type(struct box_shell *s, const void *bytes, size_t len)
{
	if (s->run && !s->ended)
		s->driver->run_stdin(s->run, bytes, len, false);
}

static void sandbox_shell_turn(struct box_shell *s, enum run_turn what)
{
	if (s->run && !s->ended && s->driver->run_turn)
		s->driver->run_turn(s->run, what, what == TURN_BEGINS ? s->mark : NULL);
}

static void sandbox_shell_begun(struct box_shell *s)
{
	sandbox_shell_turn(s, TURN_READY);
}

static void type_command(struct box_shell *s, const struct buf *b)
{
	s->forged = false;
	s->looked = 0;
	sandbox_shell_turn(s, TURN_BEGINS);
	sandbox_shell_type(s, b->data, b->len);
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

static void sandbox_shell_renew(struct box_shell *s)
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
static void begin_renewing(struct box_shell *s)
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

static void sandbox_shell_interrupt(struct box_shell *s, bool kill)
{
	if (!s->ready) /* what has not been typed never is; a ^C would hit the shell as it starts */
		buf_reset(&s->waiting);
	else
		sandbox_shell_type(s, kill ? "\034" : "\003", 1);
}

/* --- the program in the foreground, which hears no ^C (an editor, a pager) --- */

static void on_killer_output(void *self, int stream, const void *bytes, size_t len)
{
	(void)self;
	(void)stream;
	(void)bytes;
	(void)len;
}

static void on_killer_exit(void *self, int code, int signal, bool lost, int left)
{
	(void)self;
	(void)code;
	(void)signal;
	(void)lost;
	(void)left;
}

/* Fields of /proc/PID/stat behind the name: state, parent, group, session, terminal, the terminal's
 * foreground group. That is killed, unless it is the shell's own. */
static void kill_foreground(struct box_shell *s)
{
	static const struct run_ops killer_ops = { .on_output = on_killer_output,
						   .on_exit = on_killer_exit };
	static char sh[] = "/bin/sh", dash_c[] = "-c";
	static char script[] =
		"read -r l </proc/$0/stat || exit 1; set -- ${l##*) }; [ \"$6\" -gt 1 ] && [ \"$6\" != \"$3\" ] && "
		"kill -KILL \"-$6\"";
	char pid[16];
	char *argv[] = { sh, dash_c, script, pid, NULL };
	const struct run_opts o = { .argv = argv, .nr_argv = 4, .cwd = "/", .background = true };
	if (!s->pid || s->killer || s->python)
		return;
	snprintf(pid, sizeof(pid), "%u", s->pid);
	s->killer = s->driver->run_prepare(s->box, &o, &killer_ops, s);
	if (s->killer)
		s->driver->run_go(s->killer);
}

static void killer_over(struct box_shell *s)
{
	if (s->killer)
		s->driver->run_free(take(&s->killer));
}

void box_shell_stop(struct box_shell *s, bool kill)
{
	if (!s->running || s->ended)
		return;
	if (!s->renewing || (s->python && kill))
		sandbox_shell_interrupt(s, kill);
	if (s->python && s->ready && !s->renewing)
		begin_renewing(s);
	if (!s->stopping) { /* asking again gives it no more time */
		s->next = s->ready && !s->python ? STOP_ASK : STOP_AGAIN;
		loop_timer_set(s->timer,
			       s->next == STOP_ASK ? ASK_AFTER_MS : ASK_AFTER_MS + AGAIN_AFTER_MS,
			       0);
	}
	s->stopping = true;
}

static void on_stop_step(struct box_shell *s)
{
	switch (s->next) {
	case STOP_ASK:
		if (!s->renewing) {
			begin_renewing(s);
			s->guessed = true;
		}
		s->next = STOP_AGAIN;
		loop_timer_set(s->timer, AGAIN_AFTER_MS, 0);
		return;
	/* one that came between a fork and its exec has ended nothing, or the shell's wait for it
	 * only */
	case STOP_AGAIN:
		sandbox_shell_interrupt(s, false);
		if (s->renewing)
			sandbox_shell_renew(s);
		s->next = s->python ? STOP_END : STOP_KILL;
		loop_timer_set(s->timer, s->python ? END_AFTER_MS : KILL_AFTER_MS, 0);
		return;
	case STOP_KILL:
		kill_foreground(s);
		if (s->renewing && !s->python)
			sandbox_shell_renew(s);
		s->next = STOP_END;
		loop_timer_set(s->timer, END_AFTER_MS, 0);
		return;
	case STOP_END:
		s->killed = true;
		s->driver->run_signal(s->run, 9);
		return;
	}
}

static void sandbox_shell_on_timeout(void *self)
{
	struct box_shell *s = self;
	if (!s->running || s->ended)
		return;
	if (s->stopping) {
		on_stop_step(s);
		return;
	}
	s->timed_out = true;
	if (s->driver->wake)
		s->driver->wake(s->box);
	box_shell_stop(s, false);
}

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
