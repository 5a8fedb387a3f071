/* The programs that really ran: every execve, execveat, and connect of a run and its descendants,
 * as the kernel sees it, however it was started (seccomp user notification; the listener is
 * run_ops.on_trace's). The caller waits in the kernel until it is answered here, mostly for some
 * ten microseconds; a *held* one waits until you decide.
 *
 * This is for watching and stepping, **not isolation**: the call continues with the arguments then
 * in the sandbox's memory (SECCOMP_USER_NOTIF_FLAG_CONTINUE), which another thread may have changed
 * since they were read here. Namespaces, landlock, and the other filters isolate. The arguments
 * read are a claim of the sandbox, and bounded here.
 *
 * If the process that answers dies, the kernel refuses waiting calls (ENOSYS): nothing hangs.
 * Freezing a sandbox interrupts waiting calls; they come again after the thaw, and are recognized.
 * Loop thread only. */
#ifndef SANDBOX_TRACE_H
#define SANDBOX_TRACE_H

#include "base/json.h"
#include "loop/loop.h"

enum {
	TRACE_ARGS = 64,	/* words of a command that are kept */
	TRACE_ARG_BYTES = 1024, /* of each */
	TRACE_ALL_BYTES = 4096, /* of all */
	TRACE_EVENTS = 10000,	/* calls of one run that are recorded; of the rest the numbers */
	/* missing programs of one run that are searched for; then the search stops */
	TRACE_MISSES = 100000,
};

struct trace;

struct trace_call {
	bool connect;
	int pid, parent; /* processes, as the host numbers them; parent 0: unknown */
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
	/* It was released. @tag: NULL, or of a call that had waited: not used after this. */
	void (*ran)(void *self, const struct trace_call *c, void *tag);
	/* A waiting call was refused, or killed: @tag is not used after this. */
	void (*gone)(void *self, void *tag);
	/* More than can be kept: nothing is answered until false. Asked every few milliseconds; may
	 * be NULL. */
	bool (*flooded)(void *self);
	/* None of its processes lives now; once. trace_free may be called inside. */
	void (*over)(void *self);
};

/* Takes @listener. ERR_INVALID if it is none. */
NODISCARD int trace_new(struct loop *l, int listener, bool ask, const struct trace_ops *ops,
			void *self, struct trace **out, struct err *err);
/* The kernel refuses waiting calls (ENOSYS). */
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
int trace_parent(int pid); /* of a process, as the host numbers them; 0: unknown */

/* --- trace_there.c --- */
/* Would that process, which waits, find a program of that name? Programs that a search through PATH
 * only tries are not told. false is certain but for what changes meanwhile; true: it is there, it
 * cannot be known, or the way leads through a /proc. */
bool trace_there(int pid, const char *path);

#endif
