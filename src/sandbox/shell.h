/* A lasting shell: one pty run of bash (or sh) in a sandbox that keeps directory, variables, and
 * jobs from one command to the next.
 *
 * The end of a command is seen in band: the shell's prompt is a marker, random per shell, with the
 * exit status in it. It is cut out of the output. Each command is sent with code, in the same line,
 * that restores our prompt after any change to PS1, PROMPT_COMMAND, the line editor, standard
 * input, or standard error; `set -e` holds for one command, and pagers are cat unless the
 * environment names one. A program in the sandbox that reads the shell's memory can forge the
 * marker, so this status is the shell's claim, unlike the status of an exec (driver.h). Input:
 * lines longer than a terminal takes are broken up, control characters are quoted; a NUL cannot be
 * sent. Loop thread only; over any driver that has CAP_PTY.
 *
 * Without sh (CAP_SHELL) it is a lasting Python interpreter: a command is code, the value of its
 * last expression is shown, the status is 1 after an exception. Unread input is dropped when the
 * next command comes. After a ^C a newline and an empty command are typed; a program that catches
 * the KeyboardInterrupt and reads on takes them for its input, and is stopped by the second ^C a
 * second later. */
#ifndef SANDBOX_SHELL_H
#define SANDBOX_SHELL_H

#include "sandbox/driver.h"

struct box_shell;

struct box_shell_result {
	int status;	  /* 0..255; -1: the shell ended before it said one */
	bool timed_out;	  /* interrupted by us; if that did not help, the shell has been killed */
	bool ended;	  /* the shell is gone (on_end has been or will be called) */
	bool lost;	  /* with its box */
	int code, signal; /* of the shell's end, if it ended and is not lost */
};

struct box_shell_ops {
	/* Output of the terminal without markers, also between commands (@running false: jobs in
	 * the background). */
	void (*on_output)(void *self, bool running, const void *bytes, size_t len);
	void (*on_done)(void *self, const struct box_shell_result *r); /* once per box_shell_run */
	/* The shell or its sandbox has ended; once. box_shell_free may be called in any of
	 * these. */
	void (*on_end)(void *self, bool lost, int left);
	/* May be NULL. As of run_ops: before on_done and on_end of one that is lost, where its
	 * driver knows why. */
	void (*on_lost)(void *self, const struct err *why);
	/* as of run_ops; with box_shell_opts.trace */
	void (*on_trace)(void *self, int listener, int sys);
};

struct box_shell_opts {
	const char *cwd;       /* NULL = /workspace */
	char *const *env;      /* as in run_opts */
	uint16_t cols, rows;   /* 0 = 120 x 40 */
	enum trace_want trace; /* as in run_opts */
};

/* Prepares it; nothing runs before box_shell_go. Never NULL. */
struct box_shell *box_shell_open(struct loop *l, const struct driver *d, struct box *b,
				 const struct box_shell_opts *o, const struct box_shell_ops *ops,
				 void *self);
void box_shell_go(struct box_shell *s);
/* kills its commands; no callbacks follow; NULL is fine */
void box_shell_free(struct box_shell *s);

/* Types the command @cmd, which may have several lines, and reports its end by on_done.
 * @timeout_us: then as box_shell_stop; 0 = none. ERR_BUSY while another is under way, ERR_CLOSED
 * when the shell has ended. */
NODISCARD int box_shell_run(struct box_shell *s, const char *cmd, int64_t timeout_us,
			    struct err *err);
/* The command under way is to end: ^C, or ^\ if @kill; a second later ^C again, for one that came
 * between a fork and its exec; a second later the program in the foreground is killed, and at last
 * the shell. on_done tells, with the status that the shell gave first. */
void box_shell_stop(struct box_shell *s, bool kill);
/* to the program that reads: "y\n", "\003" */
void box_shell_send(struct box_shell *s, const void *bytes, size_t len);
void box_shell_resize(struct box_shell *s, uint16_t cols, uint16_t rows);
void box_shell_pause(struct box_shell *s, bool paused); /* back-pressure */

/* 0; ERR_UNSUPPORTED where it has none, with what to do. */
NODISCARD int box_has_terminals(const struct box *b, struct err *err);

/* The bytes that make the shell execute @cmd; what box_shell_run types first. For tests. */
void box_shell_type(const char *cmd, struct buf *out);

#endif
