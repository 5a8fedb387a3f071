/* A shard of the catalog: what a few hundred finished sessions hold, in one file that is never
 * changed (schema/README.md, rules 31 to 33). A shard may say too much of a session, never too
 * little, as long as the session's file has the size and the time that the shard knows.
 *
 * A shard that can't be read is as if it were not there. One thread. */
#ifndef QUERY_SHARD_H
#define QUERY_SHARD_H

#include "query/filter.h"
#include "record/read/session.h"

enum { SHARD_SESSIONS = 256, SHARD_EVENTS_MOST = 50000 };

struct shard_session {
	const char *file; /* its name, without a directory */
	int64_t size, mtime_us;
	uint64_t events;
	int64_t begun_us, last_us;
	/* as `ls` prints them; why may be NULL; state "": only the file tells */
	const char *state, *why;
	const char *glance;   /* JSON object of the figures that lists show; "" not known */
	uint32_t first, docs; /* its rows in the postings; docs 0: its words are not in them */
};

struct shard;
NODISCARD int shard_open(struct shard **out, const char *path, struct err *err);
void shard_close(struct shard **s);
size_t shard_count(const struct shard *s);
const struct shard_session *shard_at(const struct shard *s, size_t i); /* borrowed */
/* What else is known of it: a JSON object; NULL if that can't be read. Returns owned. */
json_t *shard_details(struct shard *s, size_t i) NODISCARD;

/* Asks the postings once; shard_may_match then answers for each session. */
void shard_ask(struct shard *s, const struct filter *f);
bool shard_may_match(const struct shard *s, size_t i);

/* Writing one. */
struct shard_maker;
struct shard_maker *shard_maker_new(void) NODISCARD;
void shard_maker_free(struct shard_maker **m);
size_t shard_maker_count(const struct shard_maker *m);
/* Reads every text of @s. On failure the session is left out. @about->first and docs are not
 * read. */
NODISCARD int shard_maker_add(struct shard_maker *m, struct session *s,
			      const struct shard_session *about, const json_t *details,
			      struct err *err);
/* One that can't be known: what asks for it is read directly, and it is not tried again. */
void shard_maker_leave(struct shard_maker *m, const struct shard_session *about);
/* Writes @path anew, mode 0600, in one step. */
NODISCARD int shard_maker_write(struct shard_maker *m, const char *path, struct err *err);

#endif
