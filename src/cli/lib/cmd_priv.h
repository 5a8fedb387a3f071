/* Shared by the files of the command line only. */
#ifndef CLI_LIB_CMD_PRIV_H
#define CLI_LIB_CMD_PRIV_H

#include "cli/lib/cmd.h"
#include "query/filter.h"
#include "wire/event.h"

/* After a session: removes what the setting keep.days says, never a session with work that is not
 * merged. */
void prune_old(struct cmd_ctx *ctx);
/* Before a recording starts: warns if space is low. */
void prune_warn(struct cmd_ctx *ctx);

int cmd_start(struct cmd_ctx *ctx); /* sandglass without a word */

/* "2026-11-21 14:32 CET", in the local zone. */
void cmd_time(int64_t wall_us, struct buf *out);
/* "2026-11-21T14:32:07.123456Z" into @o as @key. */
void cmd_json_time(json_t *o, const char *key, int64_t wall_us);
void cmd_size(uint64_t bytes, struct buf *out); /* "17 B", "4.2 KiB", "1.1 GiB" */
/* bytes that a file or directory takes on disk; 0: there is none */
int64_t cmd_disk_usage(const char *path);
/* Reads a whole line from standard input after printing @question to ctx->err. false at the end of
 * input. */
bool cmd_ask(struct cmd_ctx *ctx, const char *question, struct buf *answer);
/* --filter TEXT, with the filters that the user has saved as @name; @out NULL when it is not
 * given. */
NODISCARD int cmd_filter(const struct cmd_ctx *ctx, struct filter **out, struct err *err);
NODISCARD int cmd_filter_text(const char *text, struct filter **out, struct err *err);

/* cmd_patterns.c: compare --patterns; and CANARY_KEY, a made-up secret of its own for each run,
 * into our environment. */
int cmd_patterns(struct cmd_ctx *ctx);
NODISCARD int patterns_canary(struct err *err);

int plugin_test(struct cmd_ctx *ctx); /* plugin_test.c: plugin test */
int plugin_new(struct cmd_ctx *ctx);  /* plugin_new.c: plugin new */

/* cmd_handoff.c: show --handover and ls --waiting. */
struct session;
int show_handover(struct cmd_ctx *ctx, struct session *s);
int ls_waiting(struct cmd_ctx *ctx);

struct control_client;
/* Names the other held actions that a pattern or rule answers; puts into @opts those that the
 * user wants decided, too. */
void send_others(struct cmd_ctx *ctx, struct control_client *c, const char *id, json_t *opts);

/* The program that shows records and has nothing in it that could run something. Returns owned. */
char *cmd_replay_program(void);
/* Becomes that program, at an event of a file; returns a status when it cannot. */
int replay_at(struct cmd_ctx *ctx, const char *path, uint64_t seq);

#endif
