/* What really ran: every execve, execveat and connect of a run and of all that comes from it, as
 * the kernel sees it, whoever started it and however (seccomp user notification; the listener is
 * run_ops.on_trace's). The caller waits in the kernel until it is answered here, mostly in some ten
 * microseconds; one that is *held* waits until somebody decides.
 *
 * This is for watching and for stepping, **not a wall**: the call goes on with what is in the box's
 * memory then (SECCOMP_USER_NOTIF_FLAG_CONTINUE), which another thread of it may have changed since
 * it was read here. The walls are namespaces, landlock and the other filters. What is read is a
 * claim of the box and bounded here.
 *
 * If whoever answers dies, the kernel refuses what waits (ENOSYS): nothing hangs. Freezing a box
 * interrupts calls that wait; they come again when it goes on, and are recognised. Loop thread
 * only. */
#ifndef SANDBOX_TRACE_H
#define SANDBOX_TRACE_H

#include "base/json.h"
#include "loop/loop.h"

enum {
	TRACE_ARGS = 64,	/* words of a command that are kept */
	TRACE_ARG_BYTES = 1024, /* of each */
	TRACE_ALL_BYTES = 4096, /* of all */
	TRACE_EVENTS = 10000,	/* calls of one run that are told; of the rest the numbers */
	/* programs of one run that are looked for and not there; then nobody looks any more */
	TRACE_MISSES = 100000,
};

struct trace;

struct trace_call {
	bool connect;
	int pid, parent; /* processes, as this machine numbers them; parent 0: unknown */
	/* exec: pid, parent (in the box; absent: unknown), path (bytes), argv[] (bytes), argc when
	 * not all are there, cwd (bytes); connect: pid, parent, address, port, or path (bytes) of a
	 * unix socket, family when it is neither. unread: why the rest could not be read.
	 * Borrowed. */
	json_t *body;
	uint64_t cause;	 /* set by trace_ops.whose */
	const char *how; /* the same; a literal, or NULL */
};

enum trace_say { TRACE_GO, TRACE_HOLD, TRACE_REFUSE };

struct trace_ops {
	/* It wants to execute that. TRACE_HOLD: it waits for trace_answer with @tag_out, which is
	 * the caller's. Only asked if trace_new's @ask. */
	enum trace_say (*asked)(void *self, const struct trace_call *c, void **tag_out);
	/* It is about to be let go, unasked: whose is it? While it waits its parents are there to
	 * be looked at; let go, it and they may be gone before ran. */
	void (*whose)(void *self, struct trace_call *c);
	/* It was let go. @tag: NULL, or of a call that had waited: not used any more after this. */
	void (*ran)(void *self, const struct trace_call *c, void *tag);
	/* What waited was refused, or was killed: @tag is not used any more. */
	void (*gone)(void *self, void *tag);
	/* More than can be kept: nothing is answered until false. Asked every few milliseconds; may
	 * be NULL. */
	bool (*flooded)(void *self);
	/* Nothing that it could watch lives any more; once. trace_free may be called inside. */
	void (*over)(void *self);
};

/* Takes @listener. ERR_INVALID if it is none. */
NODISCARD int trace_new(struct loop *l, int listener, bool ask, const struct trace_ops *ops,
			void *self, struct trace **out, struct err *err);
/* What still waits is refused by the kernel (ENOSYS). */
void trace_free(struct trace **t);
/* Lets a held call run, or refuses it (EPERM): ran or gone follows, in here or when its box is
 * thawed. */
void trace_answer(struct trace *t, void *tag, bool allow);
/* Calls that were not told, because there were more than TRACE_EVENTS, or TRACE_MISSES of programs
 * that are not there. */
struct trace_counts {
	/* not told; of the first nobody knows whether there was such a program */
	int64_t execs, connects;
	int64_t missed; /* programs that were not there */
	int64_t told;
};
void trace_untold(const struct trace *t, struct trace_counts *out);

/* --- trace_read.c: what a process that waits in such a call wants --- */
struct seccomp_notif;
/* Fills @out; the body is owned by the caller. false: a program that is not there, or nothing that
 * anybody wants to know. */
bool trace_read(const struct seccomp_notif *n, struct trace_call *out);
int trace_parent(int pid); /* of a process, as this machine numbers them; 0: unknown */

/* --- trace_there.c --- */
/* Would that process, which waits, find a program of that name? Programs that a search through PATH
 * only tries are not told. false is certain but for what changes meanwhile; true: it is there, it
 * cannot be known, or the way leads through a /proc. */
bool trace_there(int pid, const char *path);

#endif
