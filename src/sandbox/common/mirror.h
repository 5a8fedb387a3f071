/* The workspace of a box that lies elsewhere, mirrored in a directory of ours (folder.h), so
 * that snapshots, diffs, rollbacks and forks work on the directory as they do for a box on this
 * machine:
 *
 *   mirror_push   the directory goes over: at the beginning
 *   mirror_pull   what has changed over there comes here: before a snapshot
 *   mirror_news   the same comes unasked with the end of a command, so that the pull after it
 *                 asks nothing
 *   mirror_put    what we have written there need not come back
 *   mirror_apply  a plan (wire/plan.h) is carried out on both sides: rollback, undo, fork
 *
 * The other side needs our guest program (static, one file) and a way to run it with bytes in and
 * bytes out; wire/tool.h is the protocol. Any driver that can do that (through a guest's channel,
 * or a provider's exec) has a mirror. The other side's answers are a claim of the sandbox: names
 * are checked, bounded, and written beneath the directory without following a link.
 *
 * What changed is found by kind, mode, size, times and inode number; equal ones are not read
 * again. */
#ifndef SANDBOX_COMMON_MIRROR_H
#define SANDBOX_COMMON_MIRROR_H

#include "sandbox/common/folder.h"

struct mirror;

/* One of the two: what the tool said after its first byte (borrowed), or @err. */
typedef void mirror_done_fn(void *self, const char *out, size_t len, const struct err *err);

struct mirror_opts {
	struct loop *loop;
	struct folder *folder; /* borrowed, filled; its workspace/ is one side */
	const char *far_root;  /* the directory over there, absolute */
	/* Loop: runs the tool with the words @arg (verb and arguments, NULL-terminated; borrowed
	 * for the call) and @in as its input (borrowed until @done). Answers once, never from
	 * inside the call; mirror_answer reads what came. */
	void (*run)(void *self, char *const *arg, const void *in, size_t len, mirror_done_fn *done,
		    void *done_self);
	void *self;
};

/* Loop. */
struct mirror *mirror_new(const struct mirror_opts *o);
/* Loop: the other side is going: callers that wait for it, now or later, get ERR_CLOSED. */
void mirror_over(struct mirror *m);
void mirror_free(struct mirror **m); /* loop; no call may be active */

/* Loop. A command begins: pushes the words of the tool that is to run over there when it has ended,
 * before anything else does, and returns a number for the answer, which mirror_news_came takes (0:
 * nothing is asked for). Only the newest counts. */
unsigned mirror_news(struct mirror *m, struct strv *words);
/* as mirror_done_fn */
void mirror_news_came(struct mirror *m, unsigned nr, const char *out, size_t len,
		      const struct err *err);
/* The command of @nr has ended (0: it has no number; another process has changed files over there),
 * before its end is reported: from now on news of any other are outdated, whether they come or
 * not. */
void mirror_stirred(struct mirror *m, unsigned nr);

/* Loop. @bytes, which are taken, have been written over there as the whole of the file @path (below
 * the root): the next pull asks for its digest, and for its contents only if that is another. What
 * is small is not kept. */
void mirror_put(struct mirror *m, const char *path, struct buf *bytes);
bool mirror_put_pays(size_t len); /* is so much kept? */

/* Worker threads, one at a time; they wait until the other side has answered. */
NODISCARD int mirror_push(struct mirror *m, struct err *err);
/* @ended: a command has just ended, and the news of its end suffice (after mirror_stirred).
 * Otherwise, or without news, the other side is asked. */
NODISCARD int mirror_pull(struct mirror *m, bool ended, struct err *err);
/* @under: the directory below workspace/ that the plan is for, "" for itself. */
NODISCARD int mirror_apply(struct mirror *m, const char *under, const char *plan, size_t len,
			   const int *fds, size_t nr_fds, struct err *err);

/* For who runs the tool: the whole of its answer (rule 1 of wire/tool.h) -> what mirror_done_fn is
 * told. @said: what came on its stderr, for a tool that could not even start. */
void mirror_answer(const char *out, size_t len, int code, int signal, const char *said,
		   mirror_done_fn *done, void *self);

#endif
