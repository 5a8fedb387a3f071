/* The session file as SQL: what one transaction of the writer is made of. No threads, no queue, no
 * policy.
 *
 * A store belongs to one thread at a time. Between store_begin and store_commit everything it
 * counts (seq, chain, row numbers) is provisional: after a failure store_rollback puts it back, and
 * the same items can be written again. */
#ifndef RECORD_STORE_H
#define RECORD_STORE_H

#include "record/read/chain.h"
#include "record/read/codec.h"
#include "record/read/lease.h"

struct store;

/* The effect of a failure on the batch: RETRY is lack of space, quota, or a lock. */
enum store_rc { STORE_OK, STORE_RETRY, STORE_FATAL };

struct store_segment {
	int stream;
	uint64_t off;
	int64_t ts_us;
	struct buf data, times;
};

struct store_object {
	struct object_id oid;
	struct hash hash;
	enum object_type type;
	enum codec codec;
	uint64_t size;
	char *data; /* owned */
	size_t len;
};

struct store_redact {
	char what[12];
	uint64_t id;
	void (*done)(void *self);
	void *self;
};

/* A new file: @path exists, empty. */
NODISCARD int store_create(struct store **out, const char *path, const char *id,
			   const uint8_t uuid[UUID_LEN], const char *name,
			   const uint8_t seed[SIGN_SEED_LEN], struct err *err);
/* Opens an existing one to continue it. Fills @id_out (owned) and @uuid_out. */
NODISCARD int store_open(struct store **out, const char *path, const uint8_t seed[SIGN_SEED_LEN],
			 char **id_out, uint8_t uuid_out[UUID_LEN], struct err *err);
/* @clean: one file in journal_mode=DELETE is left; else the WAL stays as it is, as after a kill. */
NODISCARD int store_close(struct store **s, bool clean, struct err *err);

/* A fork: the first @seq events of the session at @from, and what belongs to them, into a store
 * that is empty. */
NODISCARD int store_copy(struct store *s, const char *from, uint64_t seq, struct err *err);
struct store_origin {
	uint64_t seq;
	char id[32];
	uint8_t uuid[UUID_LEN];
};
/* The newest row of table origin; false when there is none. */
bool store_origin(struct store *s, struct store_origin *out);

uint64_t store_seq(const struct store *s); /* last event written */
/* The note beside the file (read/lease.h). */
void store_note(const struct store *s, struct lease_note *out);
const char *store_why(const struct store *s); /* of the last failure, for users */

enum store_rc store_begin(struct store *s);
/* In their order; many at once cost half of one by one. */
enum store_rc store_events(struct store *s, const struct event *const *ev, size_t nr);
enum store_rc store_segment(struct store *s, const struct event *ev,
			    const struct store_segment *seg);
/* @o is sorted by the call; those that the file has are left out. */
enum store_rc store_objects(struct store *s, const struct event *ev, struct store_object *o,
			    size_t nr);
enum store_rc store_message(struct store *s, const struct hash *id, const void *bytes, size_t len,
			    bool plain);
enum store_rc store_redact(struct store *s, const struct event *ev, const struct store_redact *r);
/* Later signatures are not anchored. */
void store_unanchored(struct store *s);
/* Signs what is written so far in this transaction; the anchor follows after its commit. */
enum store_rc store_checkpoint(struct store *s);
/* @full: it is on the disk when this returns, whether anything was written or not. */
enum store_rc store_commit(struct store *s, bool full);
void store_rollback(struct store *s);
/* Moves the write-ahead log into the file if it has become large. @busy: others wait for the
 * writer. */
void store_tidy(struct store *s, bool busy);

/* After a redaction: index optimised, WAL emptied. RETRY while a reader is in the way. */
enum store_rc store_scrub(struct store *s);
/* Adds some blocks (read/values.h), or else up to @bytes of text to the search index, in a
 * transaction of its own. False when there is nothing left to do. */
bool store_index(struct store *s, size_t bytes);
/* For tests: from how many events on a session gets an index (SESSION_SHORT_EVENTS). */
void store_index_from(uint64_t events);
uint64_t store_indexed(struct store *s); /* how far it reaches, and its blocks (read/values.h) */
/* Frees the page cache; later steps read the few pages that they need again. */
void store_rest(struct store *s);

#endif
