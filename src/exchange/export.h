/* Exporters: a session in a foreign format. One file and one row of exporters.def each. Their
 * common parts are here, in act.h (one action), steps.h (an agent's messages and actions, in
 * order), and states.h (files at an event).
 *
 * 1. An exporter reads committed events and streams: its memory does not grow with the number of
 *    actions.
 * 2. It writes only to the given place. The caller passes a path beside the final one and renames
 *    it after success, so there is never half a file. Standard output gets only complete data, too.
 * 3. Data that its format can't hold is counted with export_lacks and reported. One thread. */
#ifndef EXCHANGE_EXPORT_H
#define EXCHANGE_EXPORT_H

#include <stdio.h>

#include "base/json.h"
#include "query/filter.h"
#include "record/read/session.h"

enum export_where {
	EXPORT_STREAM, /* bytes, in order: struct export.out */
	/* a file that is not written in order: struct export.path, which does not exist yet */
	EXPORT_FILE,
	EXPORT_FOLDER, /* a new directory at struct export.path, which does not exist yet */
};

enum { EXPORT_LACKS_MAX = 20 };

struct export
{
	struct session *s;
	uint64_t action;  /* only this action; 0 = the whole session */
	uint64_t *picked; /* only these actions and events (ascending; owned); NULL = all */
	size_t nr_picked;
	const char *box; /* only this box (name or number); NULL = all */
	bool no_content; /* without what models, users and commands said */
	/* of reports, as evidence.h makes it; borrowed; NULL: none is stated */
	const json_t *evidence;
	/* of an EXPORT_FILE that is a session: events whose bodies and output are left out */
	struct strv *redact;
	FILE *out;	  /* EXPORT_STREAM; borrowed */
	const char *path; /* EXPORT_FILE, EXPORT_FOLDER; borrowed */
	char *lacks[EXPORT_LACKS_MAX];
	size_t nr_lacks; /* may be more than the array holds */
};

struct exporter {
	const char *name, *ext, *about;
	enum export_where where;
	bool parts; /* it can hold a part of a session: asks export_wanted */
	int (*run)(struct export *x, struct err *err);
};
/* By index, then NULL. */
const struct exporter *exporter_at(size_t i);
const struct exporter *exporter_find(const char *name);

/* Only what @f matches. */
NODISCARD int export_pick(struct export *x, const struct filter *f, struct err *err);

/* Notes that something is not in the export; the same text counts once. */
void export_lacks(struct export *x, const char *fmt, ...) PRINTF(2, 3);
void export_release(struct export *x);

/* Runs @e into @path (by a temporary neighbor and rename), or to @stream when @path is NULL. */
NODISCARD int export_to(const struct exporter *e, struct export *x, const char *path, FILE *stream,
			struct err *err);

/* --- for exporters --- */

/* Of the wanted part: the action, or one that was picked, with all that belongs to it. */
bool export_wanted(const struct export *x, const struct event *ev);

/* Writes @j compactly; takes it. */
void export_json(FILE *out, json_t *j);
/* "text" as a JSON string; bytes that are not UTF-8 become U+FFFD. */
void export_json_text(FILE *out, const char *text, size_t len);
/* "$0.041000", "at least $0.041000; ...", or "unknown: ...", of struct export.evidence. */
void export_cost(const json_t *evidence, struct buf *out);
/* A string for jansson from any bytes. New reference. */
json_t *json_text(const char *text, size_t len);
json_t *json_time(int64_t wall_us); /* RFC 3339, as a string */
/* Fails when the stream did. */
NODISCARD int export_flushed(FILE *out, struct err *err);
/* 32 hexadecimal digits: the session's uuid. */
void export_uuid(struct session *s, char out[33]);

#define EXPORTER(fn, name, ext, where, parts, about)                                               \
	int export_##fn(struct export *x, struct err *err) NODISCARD;
#include "exchange/exporters.def"
#undef EXPORTER

#endif
