/* One event as one line of plain words, without time and agent: "#403 done: exit 0 in 6.1s". Every
 * kind is described; those without words of their own, and kinds of a newer version, as "kind
 * name=value ...". The text is not yet vetted for a terminal (cmd_safe). Pure. */
#ifndef PHRASE_DESCRIBE_H
#define PHRASE_DESCRIBE_H

#include "record/read/session.h"

void describe_event(const struct event *ev, struct buf *out);
/* The same for a kind of a table of src/phrase/describe_*.c, without the number of its action.
 * false: another kind, or a body without the fields. */
bool describe_typed(const struct event *ev, struct buf *out);
/* The subject of an action, from the body of its action.requested: the command line, path, host,
 * or tool. */
void describe_action(const json_t *requested, struct buf *out);
/* The result of a dry run, from the body of its preview.ended: "exit 2 in 15ms, 3 files +41 -9;
 * incomplete: network". */
void describe_preview(const json_t *ended, struct buf *out);
/* The same in several lines: sum, why it is incomplete, files, what to do next. */
void describe_preview_long(const json_t *ended, struct buf *out);
/* Why a dry run is incomplete, from a word of its list "incomplete". An unknown @word is returned
 * itself. */
const char *describe_preview_reason(const char *word);
/* "approved" of "approve" (the field decision of action.decided); another word as it is. */
const char *describe_decision(const char *decision);
/* How a second run compares, from the body of its redo.ended; several lines, no line break at the
 * end. */
void describe_redo(const json_t *ended, struct buf *out);
/* One row of the list @key of `state`, as a line; "" says nothing. False: not a list that has words
 * of its own. */
bool describe_state(const json_t *state, const char *key, const json_t *row, struct buf *out);
/* argv as a user would type it: quoted where needed. */
void describe_argv(const json_t *argv, struct buf *out);

/* Names of agents by the seq of their agent.start, looked up once each. */
struct agent_names {
	struct {
		uint64_t id;
		char *name;
	} * item;
	size_t nr, cap;
};
/* "" for 0; borrows */
const char *agent_name(struct agent_names *n, struct session *s, uint64_t id);
void agent_names_release(struct agent_names *n);

#endif
