/* One action with its causes and results, gathered from its events (a few rows by an index: the
 * cost does not depend on the session's length). Reading only. */
#ifndef EXCHANGE_ACT_H
#define EXCHANGE_ACT_H

#include "base/json.h"
#include "record/read/session.h"
#include "wire/event_body.h"

struct act {
	uint64_t seq, agent, box;
	int64_t ts_us, mono_us; /* when it was wanted */
	int64_t started_us;	/* wall; 0 = never began */
	int64_t end_us;		/* wall; 0 = has not ended */
	json_t *wanted;		/* body; owned; NULL: it was redacted */
	/* the command after a user's edit: "wanted" with the edited fields; else NULL */
	json_t *edited;
	/* Bodies; empty where there is none, or it was redacted; their texts belong to mem. */
	struct ev_action_judged judged;
	struct ev_action_decided decided;
	struct ev_action_ended ended;
	struct ev_model_reply reply;
	struct ev_snapshot_taken snapshot; /* the newest that it caused */
	bool has_decided, has_reply, has_snapshot;
	struct arena *mem;
	uint64_t snapshot_seq, decided_seq;
	uint64_t gap_bytes; /* of output that was not kept */
};

/* ERR_NOENT: @seq is not an action. */
NODISCARD int act_load(struct act *a, struct session *s, uint64_t seq, struct err *err);
void act_release(struct act *a);

/* Terminated, of @a; @absent if @t is absent or not UTF-8. */
const char *exchange_text(struct arena *a, struct ev_text t, const char *absent);
/* The same, as long as @a lives. */
const char *act_text(const struct act *a, struct ev_text t, const char *absent);
const char *act_kind(const struct act *a); /* "exec", "model", ... */
const char *act_tool(const struct act *a); /* never NULL */
/* one line: the command, path, host; of what ran, if a user edited it */
void act_what(const struct act *a, struct buf *out);
/* The same of the requested command, before a user's edit. False, and nothing: it was not
 * edited. */
bool act_proposed(const struct act *a, struct buf *out);
/* "ok", "denied", ...; "open" while it has not ended. */
const char *act_end(const struct act *a);
/* The same in a word or two, with what its process came to: "ok", "exit 2", "signal 9", "denied",
 * "open". */
void act_how(const struct act *a, struct buf *out);
void ended_how(const struct ev_action_ended *ended, struct buf *out);
/* It did what it should: ended ok, and if it has an exit status, 0. */
bool act_good(const struct act *a);
/* The user who decided, as he called himself; NULL: nobody. */
const char *act_person(const struct act *a);
/* The same, or what decided: "timeout", "latch"; else @absent. */
const char *act_decider(const struct act *a, const char *absent);
/* Names of the rules that matched, strictest first: "no-push (policy.lua:8)"; "" when none. */
void act_rules(const struct act *a, struct buf *out);

/* Its output: standard output, then standard error (or the pty's), at most @max bytes: start and
 * end, with a line between that counts the omitted bytes. Any bytes. Returns the total number. */
uint64_t act_output(const struct act *a, struct session *s, size_t max, struct buf *out);

#endif
