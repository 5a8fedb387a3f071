/* Between the files of `show`. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "base/json.h"
#include "record/read/session.h"
#include "wire/event.h"

/* Where the time of one action went: fed with its events. Zeroed at the beginning. */
struct show_times {
	char *kind;
	int64_t dur_us, snapshot_us;
	uint64_t box, action, ended; /* seq of its end */
	json_t *times;
};
void show_times_add(struct show_times *t, const struct event *ev, const json_t *body);
/* looks for the snapshot after it */
void show_times_snapshot(struct show_times *t, struct session *s);
/* appends; nothing when it is not known */
void show_times_line(const struct show_times *t, struct buf *out);
void show_times_release(struct show_times *t);

struct cmd_ctx;
/* Prints a merge with its files, drift, conflicts, and tests, or a write or edit with its
 * difference. Returns false, with nothing printed, if @action of the file @path has no card. */
bool show_card(struct cmd_ctx *ctx, const char *path, uint64_t action);
/* Prints the arguments of a command or tool call, and the agent's text before it. Returns false,
 * with nothing printed, if @body is neither. */
bool show_call(struct cmd_ctx *ctx, const json_t *body);
/* Prints the output of @action. Leaves out the middle of a long stream, and a stream over
 * 256 KiB. */
void show_call_output(struct cmd_ctx *ctx, struct session *s, uint64_t action);
/* Prints the result or error of the script's own tool for the event @call; nothing if the call has
 * not ended. */
void show_call_result(struct cmd_ctx *ctx, struct session *s, uint64_t call);
/* bars, or one object of microseconds */
int show_session_time(struct cmd_ctx *ctx, struct session *s);

#endif
