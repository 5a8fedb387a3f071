/* A supervisor for tests: answers every operation of wire/host.h against directories under
 * $TMPDIR and a clock that only moves when nothing else can. No gate, no isolation: it runs what
 * the tests themselves wrote. */
#ifndef FAKE_SUPER_H
#define FAKE_SUPER_H

#include "base/buf.h"
#include "base/json.h"
#include "script/host.h"

struct fake;

/* A test's own answer: returns the ANSWER ({"value":..} or {"err":..}), or NULL for the usual
 * one. */
typedef json_t *fake_op_fn(void *self, const char *op, const json_t *call);

struct fake_frame {
	enum host_frame type;
	uint64_t id;
	const char *json;
};

struct fake_opts {
	const char *mode; /* "script" */
	const char *name; /* "test.lua" */
	const char *text;
	const char *const *args; /* NULL-terminated; may be NULL */
	const char *seed;	 /* "0123456789abcdef" */
	json_t *env;		 /* borrowed; may be NULL */
	int64_t mem_bytes;
	fake_op_fn *op;
	void *self;
	bool process;			       /* through the real program and its socket */
	const struct fake_frame *after_result; /* sent when RESULT has come; ends with type 0 */
	/* base of a relative repo path; NULL = the source tree's lua/examples */
	const char *repo;
};

/* The result of a run. */
struct fake_run {
	struct buf sent;  /* every byte of the host, in order */
	struct buf given; /* every frame to it */
	json_t *calls;	  /* list of CALL and TELL bodies, each with "frame" */
	json_t *end;	  /* END body; NULL when the host died */
	json_t *result;	  /* RESULT body or NULL */
	json_t *verdicts; /* VERDICT bodies in order */
	/* output of print and notes, a line each: "note: text", prints as they are */
	struct buf printed;
	int status; /* exit status of the process form, -signal when killed */
	size_t turns;
};

void fake_run(const struct fake_opts *o, struct fake_run *r);
void fake_release(struct fake_run *r);

/* From a fake_op_fn: puts one more frame behind what is queued. Takes @body. */
void fake_inject(enum host_frame type, uint64_t id, json_t *body);

/* Feeds @given to a fresh host; fills @sent_out with its frames. Tests that a host is
 * deterministic. */
void fake_replay(const struct buf *given, struct buf *sent_out);

/* Text of a file of the source tree ("lua/examples/fix.lua"); owned. */
char *fake_source(const char *path);
const char *fake_why(const struct fake_run *r); /* END's why, "" if none */

#endif
