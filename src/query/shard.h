/* A shard of the catalog: the index of a few hundred finished sessions, in one file that is never
 * changed (schema/README.md, rules 31 to 34). A shard may name too many sessions, never too few, as
 * long as the session's file has the size and the time that the shard knows.
 *
 * Readers check each page's checksum when they read the page. A shard that can't be read, or with a
 * damaged page, counts as missing. One thread. */
#ifndef QUERY_SHARD_H
#define QUERY_SHARD_H

#include "query/filter.h"
#include "record/read/session.h"

enum { SHARD_SESSIONS = 256, SHARD_EVENTS_MOST = 50000 };

struct shard_session {
	const char *file; /* its name, without a directory */
	const char *id;	  /* its own, which a renamed file keeps; NULL: only the file tells */
	int64_t size, mtime_us;
	uint64_t events;
	int64_t begun_us, last_us;
	/* as `ls` prints them; why may be NULL; state "": only the file tells */
	const char *state, *why;
	const char *glance;   /* JSON object of the figures that lists show; "" not known */
	uint32_t first, docs; /* its rows in the postings; docs 0: its words are not in them */
};

struct shard;
/* ERR_UNSUPPORTED: another version wrote it; ERR_DAMAGED. */
NODISCARD int shard_open(struct shard **out, const char *path, struct err *err);
void shard_close(struct shard **s);
/* A page read since then is damaged: use nothing of this shard. */
bool shard_damaged(const struct shard *s);
void shard_distrust(struct shard *s); /* counts as damaged from now on */
/* Reads the whole file. False: a page is damaged. */
bool shard_intact(const char *path);
size_t shard_count(const struct shard *s);
const struct shard_session *shard_at(const struct shard *s, size_t i); /* borrowed */
/* Further data of it: a JSON object; NULL if unreadable. Returns owned. */
json_t *shard_details(struct shard *s, size_t i) NODISCARD;

/* Asks the postings once; shard_may_match then answers for each session. */
void shard_ask(struct shard *s, const struct filter *f);
bool shard_may_match(const struct shard *s, size_t i);

/* Actions as `policy past` judges them. A deed is the text of all equal actions of the shard's
 * sessions; deeds count from 0. */
struct shard_deed {
	uint64_t id; /* the action */
	uint32_t deed;
};
size_t shard_deed_count(struct shard *s); /* 0: none, or unknown */
typedef void shard_deed_fn(void *self, uint32_t deed, const char *text, size_t len);
/* Every deed from @from to before @to, in order. -1: they can't be read. */
NODISCARD int shard_deeds_each(struct shard *s, uint32_t from, uint32_t to, shard_deed_fn *fn,
			       void *self);
/* The actions of session @i in order; owned through @out. -1: unknown, read the session. */
NODISCARD int shard_deeds_of(struct shard *s, size_t i, struct shard_deed **out, size_t *nr_out);

/* Writing one. */
struct shard_maker;
struct shard_maker *shard_maker_new(void) NODISCARD;
void shard_maker_free(struct shard_maker **m);
size_t shard_maker_count(const struct shard_maker *m);
/* The actions of a session for shard_maker_add: their numbers rise. */
struct shard_actions {
	uint64_t *id;
	struct strv text;
	size_t nr, cap; /* of id */
	bool unknown;	/* the actions are not kept: read the session */
};
/* Reads every text of @s. On failure the session is left out. @about->first and docs are not
 * read. */
NODISCARD int shard_maker_add(struct shard_maker *m, struct session *s,
			      const struct shard_session *about, const json_t *details,
			      const struct shard_actions *actions, struct err *err);
/* One that can't be known: what asks for it is read directly, and it is not tried again. */
void shard_maker_leave(struct shard_maker *m, const struct shard_session *about);
/* Writes @path anew, mode 0600, in one step. */
NODISCARD int shard_maker_write(struct shard_maker *m, const char *path, struct err *err);
/* Takes over all sessions of the shard @path but those of the file name @file or of @uuid (may be
 * NULL). */
NODISCARD int shard_maker_take(struct shard_maker *m, const char *path, const char *file,
			       const uint8_t *uuid, struct err *err);

#endif
