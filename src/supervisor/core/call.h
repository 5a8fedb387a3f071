/* Calls of the script (wire/host.h "call"), as operations see them: the request and its
 * answer. luahost/call.c answers; ops/dispatch.c finds the operation and submits its action. */
#ifndef SUPERVISOR_CORE_CALL_H
#define SUPERVISOR_CORE_CALL_H

#include "supervisor/core/core.h"
#include "supervisor/core/output_excerpt.h"

struct call {
	struct call *next;
	struct super *super;
	struct host *host; /* that asked */
	uint64_t id;	   /* the host's number for it */
	char *op;
	uint64_t agent;	 /* 0 = the script itself */
	json_t *args;	 /* borrowed from body */
	const char *at;	 /* "fix.lua:12"; borrowed from body, may be NULL */
	uint64_t action; /* while an action serves it */
	int64_t began_us;
	struct shown out[2]; /* stdout and pty, stderr */
	bool stream, slowed; /* wants chunks; does not take them, so its command waits */
	uint64_t off[2];
	const char *tool, *said; /* borrowed from body */
	json_t *body;		 /* the whole frame; owned */
	struct strv secrets;	 /* names that it waits for */
	size_t secrets_left;
	struct strv kept; /* texts of call_bytes */
	void (*done)(struct call *c, const struct action_result *res);
	void (*on_output)(struct call *c, enum record_stream s, const void *bytes, size_t len);
	void *data; /* of the op; freed with free_data if set */
	void (*free_data)(void *data);
	void (*cancel)(struct call *c); /* optional: how to stop it when no action serves it */
	bool cancelled;
};

void call_answer(struct call *c, json_t *value); /* takes @value (NULL = null); frees @c */
/* code: "denied" "timeout" "cancelled" "limit" "backend" "io" "budget" "exit" "script"
 * "interrupted" "model". */
void call_fail(struct call *c, const char *code, const char *why, const char *rule, uint64_t event,
	       const char *fmt, ...) PRINTF(6, 7);
/* With the text and the hint of @err; call_fail_err chooses the code by that of @err. */
void call_fail_as(struct call *c, const char *code, const struct err *err);
void call_fail_err(struct call *c, const struct err *err);
void call_chunk(struct call *c, int stream, const void *bytes, size_t len);
/* Submits an action for @c; its result goes through @done (which must answer) or, if NULL, to
 * op_action_done. */
void call_action(struct call *c, struct action_spec *spec, const struct effector *eff,
		 void (*done)(struct call *c, const struct action_result *res));
/* The output of an action of @c, and its end: from the policy check, or from the recording. */
void call_output(struct call *c, enum record_stream stream, const void *bytes, size_t len);
void call_result(struct call *c, const struct action_result *res);
/* false: it was no success and has been answered */
bool call_outcome(struct call *c, const struct action_result *res);
/* Answers with "result" of the action's body and its number as "event", if it was a success. */
void call_answer_stored(struct call *c, const struct action_result *res);
/* *out: the text args.KEY, which may be bytes that are not UTF-8; it lives as long as @c; NULL
 * absent. false: answered with an error. */
bool call_bytes(struct call *c, const char *key, const char **out);
/* args.box; answers with an error and returns NULL if gone */
struct box *call_box(struct call *c, uint64_t *id_out);

/* RES of wire/host.h for an action that has ended. Returns owned. */
json_t *call_res(struct call *c, const struct action_result *res);
void call_drop(struct call *c); /* frees it without an answer: the host has gone */

#endif
