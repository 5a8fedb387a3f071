/* The parts of one verification. */
#ifndef RECORD_READ_VERIFY_PRIV_H
#define RECORD_READ_VERIFY_PRIV_H

#include "record/read/read_priv.h"
#include "record/read/verify.h"

struct verify_action {
	uint64_t id;
	/* intents that may run; "*" = of a body that was redacted */
	char allowed[65], approved[65];
	bool may, started, ended;
};

struct verify {
	struct session *s;
	const struct verify_opts *opts;
	verify_report_fn *report;
	void *self;
	struct verify_totals *totals;
	/* what the pass over the events has gathered */
	uint64_t head;
	bool ended;
	uint8_t (*key)[SIGN_KEY_LEN]; /* that session.start and session.resumed name */
	size_t keys, key_cap;
	struct verify_action *action; /* ascending by id */
	size_t actions, action_cap;
	uint64_t order_bad, started;
	char order_text[200];
	uint64_t missing; /* the first event that says what is not in the recording */
	char missing_text[300];
	uint8_t step[700]; /* verify_order.c: what a kind means, + 1 */
};

PRINTF(5, 6)
void verify_say(struct verify *v, const char *name, enum verify_result result, uint64_t seq,
		const char *fmt, ...);
/* Two arguments for "%" PRIu64 " %s": 1 checkpoint, 2 checkpoints. */
#define VERIFY_NR(n, one, many) (uint64_t)(n), (n) == 1 ? (one) : (many)
/* verify_order.c: an event of the chain pass; its body is NULL when redacted. */
void verify_see(struct verify *v, const struct event *ev);
int verify_order(struct verify *v, struct err *err);
int verify_complete(struct verify *v, struct err *err);
int verify_closed(struct verify *v, struct err *err);
/* verify_bytes.c */
int verify_bytes(struct verify *v, struct err *err);
/* verify_pages.c */
int verify_pages(struct verify *v, struct err *err);
/* verify_sign.c */
int verify_signatures(struct verify *v, struct err *err);
int verify_anchor(struct verify *v, struct err *err);
/* verify_data.c */
int verify_segments(struct verify *v, struct err *err);
int verify_objects(struct verify *v, struct err *err);
int verify_messages(struct verify *v, struct err *err);
/* verify_list.c: 0, and the fault in the lists of messages that event @bad_out names; NULL: no
 * fault. 1: the lists can't be read, which has been reported. */
int verify_lists(struct verify *v, uint64_t *bad_out, const char **wrong_out, struct err *err);
int verify_redactions(struct verify *v, struct err *err);

sqlite3_stmt *verify_sql(struct verify *v, const char *sql, struct err *err);
/* the next row; false: none, an error, or it is stopped: verify_end tells */
bool verify_row(struct verify *v, sqlite3_stmt *st);
/* Ends @st. False, and check @name has failed: its rows could not be read to their end but to @fmt
 * ("segment 3 of event 5"). */
PRINTF(4, 5)
bool verify_end(struct verify *v, sqlite3_stmt *st, const char *name, const char *fmt, ...);
/* false if it is not 32 bytes */
bool verify_hash_column(sqlite3_stmt *st, int at, struct hash *out);
/* event.chain at @seq; false if there is none. */
bool verify_chain_at(struct verify *v, uint64_t seq, struct hash *out);
/* The hash named @field in the body of event @seq (hex), which must hold it. 1 yes, 0 no, -1 the
 * body is redacted. */
int verify_names(struct verify *v, uint64_t seq, const char *field, const struct hash *hash);

#endif
