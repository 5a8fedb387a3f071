/* Part of shell.c: how a command is stopped. ^C, then the program in the foreground (an editor
 * hears no ^C), then the shell. */
#include <stdio.h>
#include <stdlib.h>

#include "sandbox/shell_priv.h"
#include "sandbox/shell.h"

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

void killer_over(struct box_shell *s)
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

void sandbox_shell_on_timeout(void *self)
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
