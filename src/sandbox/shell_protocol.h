/* Commands for a remote sandbox, run by a shell of the provider: our requests as POSIX shell text,
 * and the output of that text, read back. All of it is ASCII lines that start with '@', so a
 * provider may carry it as text, cut it anywhere, or mix it with lines of its own.
 *
 * A command is started detached and writes into files in the sandbox. The same text then reads
 * these files until the command has ended. So stdout and stderr are separate and exact to the byte,
 * the end is the end of the process, and signals reach its session. After a lost connection the
 * same text with other offsets continues at its position. A text that is sent twice runs once,
 * because only the first one can make the directory of the run. Needs sh, mkdir, rm, cat, dd,
 * base64, tr, sleep, setsid, stat, env, mkfifo (coreutils or busybox). A run with o->pty has its
 * terminal from our tool (BASE/tool, wire/tool.h 10) and stty: its output is @o, and its input
 * comes by shell_protocol_input.
 *
 * Lines: @oBASE64 stdout, @eBASE64 stderr, @xCODE SIGNAL END BEGIN [KILLED-BEFORE KILLED-AFTER]
 * end (by a clock of the sandbox, in microseconds; kills by its memory limit when the run
 * started and when it ended), @mBASE64 the answer of our tool after it (in a terminal @mNUMBER
 * BASE64: to the request with its input), @w still running: ask again, @l the run is unknown
 * there, @n no such file, @!TEXT the reason, @sMODE SIZE of a file (mode in hexadecimal; of one
 * that is read INODE CHANGED, too), @dBASE64 data, @t terminals are missing, @. complete. */
#ifndef SANDBOX_SHELL_PROTOCOL_H
#define SANDBOX_SHELL_PROTOCOL_H

#include <sys/types.h>

#include "base/buf.h"
#include "sandbox/driver.h"

/* of input or data that goes into one text: a word of a command line is at most 128 KiB */
enum { WRAP_TEXT_MAX = 96 << 10 };

void shell_protocol_quote(struct buf *out, const char *word); /* appends it as one word of sh */

/* Begins run @id (letters and digits) unless it has begun, and reads on from the offsets. @base:
 * directory for runs. @in: all of its input (NULL with o->stdin_open: it comes by
 * shell_protocol_input). @env: "NAME=value" before those of @o. */
struct wrap_run {
	const char *base, *id, *workspace;
	const struct run_opts *o;
	const struct strv *env;
	const struct buf *in;
	int64_t out_off, err_off;
	/* not 0: the provider returns the output at the end only, so the text ends after this many
	 * seconds, or with output */
	int poll_s;
	const char *done; /* ids whose files can go, with blanks between; may be NULL */
	/* words for our tool (BASE/tool), which is run when the command has ended; may be empty */
	const struct strv *news;
};
void shell_protocol_exec(struct buf *out, const struct wrap_run *r);
void shell_protocol_signal(struct buf *out, const struct wrap_run *r, int signo);
/* of a terminal */
void shell_protocol_resize(struct buf *out, const struct wrap_run *r, unsigned cols, unsigned rows);
/* The @nr-th piece of its input (from 1, one after the other): sent twice, it goes in once. @ask:
 * the request to our tool, with a terminal (wire/tool.h 10: the content of FILE.ask); may be
 * NULL or empty. */
void shell_protocol_input(struct buf *out, const struct wrap_run *r, unsigned nr,
			  const struct buf *ask, const void *bytes, size_t len, bool eof);

void shell_protocol_kill_all(struct buf *out, const char *base);
/* Makes the directories and says "@iUID SECONDS-SINCE-1970 MISSING PROGRAMS", or "@!why"; before it
 * "@t" if a terminal cannot be had, and "@z" if there is gzip. */
void shell_protocol_setup(struct buf *out, const char *base, const char *workspace);

/* Files. @path absolute. write: the content is put together from @parts pieces of
 * shell_protocol_part, then takes its place. */
void shell_protocol_read(struct buf *out, const char *path, size_t from, size_t max);
void shell_protocol_part(struct buf *out, const char *base, const char *id, unsigned part,
			 const void *bytes, size_t len);
void shell_protocol_write(struct buf *out, const char *base, const char *id, unsigned parts,
			  bool packed, const char *path, int mode);
void shell_protocol_stat(struct buf *out, const char *path);
void shell_protocol_list(struct buf *out, const char *path);

/* Reads lines from the output. */
struct wrap_reader {
	struct buf line;
	bool too_long;
	/* @kind: the letter after '@'; @text: the rest, NUL-terminated. Lines of others come with
	 * kind 0. */
	void (*on_line)(void *self, char kind, const char *text, size_t len);
	void *self;
};
void shell_protocol_feed(struct wrap_reader *r, const void *bytes, size_t len);
void shell_protocol_reader_release(struct wrap_reader *r);

/* {"kind","mode","size"} of an @s line; NULL if it is none. Returns owned. */
json_t *shell_protocol_stat_of(const char *text);

#endif
