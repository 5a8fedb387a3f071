/* Inside of struct session, for the files of this directory. */
#ifndef RECORD_READ_READ_PRIV_H
#define RECORD_READ_READ_PRIV_H

#include <sqlite3.h>

#include "base/json.h"
#include "record/read/chain.h"
#include "record/read/codec.h"
#include "record/read/session.h"

enum read_sql {
	READ_HEAD,
	READ_EVENT,
	READ_SIZE,
	READ_OUTPUT,
	READ_EACH,
	READ_OBJECT,
	READ_MESSAGE,
	READ_HEADERS,
	READ_NEXT_AGENT,
	READ_AGENT_FIRST,
	READ_AGENT_LAST,
	READ_SEGMENT,
	READ_STEPS,
	READ_SQL_NR
};

/* Of a fork: the events up to @seq are those of another session. */
struct origin {
	uint64_t seq;
	uint8_t uuid[UUID_LEN], key[SIGN_KEY_LEN];
};

struct session {
	bool foreign; /* its schema is not a session's */
	sqlite3 *db;
	sqlite3_stmt *stmt[READ_SQL_NR]; /* prepared when first used */
	char *path;
	uint64_t device, inode; /* of the file when it was opened */
	char *id, *name;
	uint8_t uuid[UUID_LEN], key[SIGN_KEY_LEN];
	struct origin *origin; /* by seq */
	size_t nr_origins;
	uint64_t steps, most_steps; /* bound.c: of the query under way, and at most */
	bool endless;		    /* the query was given up for that */
	const atomic_bool *stop;    /* borrowed: set to give up; NULL: can't be stopped */
	char *copy;		    /* private directory with a copy; NULL = the file itself */
	uint32_t application, format;
	struct hash list_name; /* list.c: the list that was read last; NULL none */
	json_t *list;
	struct feed *feeds;	     /* that read it, feed.c */
	session_reading_fn *reading; /* search.c */
	void *reading_self;
};

/* The uuid under which the event @seq was signed. */
const uint8_t *session_uuid_at(const struct session *s, uint64_t seq);
/* Where the chain begins. */
void session_chain_start(const struct session *s, struct hash *out);

bool session_stopped(const struct session *s);
/* bound.c: what @db does is given up when it is stopped, or takes more steps than a file of that
 * size can need. */
void session_bound_db(struct session *s, sqlite3 *db);

/* Owned by the session; NULL and @err when the file is not readable. Reset it after use. */
sqlite3_stmt *session_sql(struct session *s, enum read_sql which, struct err *err);
/* what sqlite says as an error; returns -1 */
int session_failed(struct session *s, struct err *err);
/* The feeds of @s have to ask its new connection. */
void feeds_rejoin(struct session *s);
/* session_message, and the row where it stands. */
int session_message_row(struct session *s, const struct hash *id, int64_t *row_out, struct buf *out,
			struct err *err);
/* Columns in the order of READ_EVENT_COLUMNS; the body goes into @arena. */
#define READ_EVENT_COLUMNS "seq, cause, agent, box, action, ts_us, mono_us, kind, body"
/* false: a number in it is out of range, ERR_DAMAGED. */
NODISCARD bool session_row(sqlite3_stmt *st, struct event *ev, struct arena *arena,
			   struct err *err);

/* --- session.c --- */
bool bytes_column(sqlite3_stmt *st, int at, size_t *out, struct err *err);
int read_session_unpack(sqlite3_stmt *st, int at, size_t size, struct buf *out, struct err *err);

#endif
