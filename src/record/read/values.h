/* Numbers and lists of events, block by block, for searches: table search_value, part of the search
 * index.
 *
 * "dur>1h" applies to one event in thousands; reading all events takes seconds where there are
 * millions. So for each 4096 events and each field, the index lists the events that have the field,
 * with its value: pairs of LEB128 numbers (distance from the event before, value above the smallest
 * of the block), beside the smallest and the greatest value. A block is written once, when it is
 * full, and again only if one of its events is redacted; redaction rewrites it before their text is
 * indexed. Like the whole index it proves nothing: searches check the events themselves, verify
 * compares it with them, and events without a block are read. */
#ifndef RECORD_READ_VALUES_H
#define RECORD_READ_VALUES_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"

/* The numbers are stored in the file: never reuse one. "Its": of the action whose step the event
 * is. */
enum value_field {
	VALUE_TIME = 0, /* ts_us: nothing but the least and the greatest; each block has it */
	VALUE_EXIT = 1, /* its exit status; of action.ended, as those that follow */
	VALUE_DUR = 2,
	VALUE_COST = 3, /* its, or the event's own */
	VALUE_TOKENS = 4,
	VALUE_LINES = 5,   /* its, or the event's own */
	VALUE_TURN = 6,	   /* of agent.turn: its number */
	VALUE_VERDICT = 7, /* its, but for allow: enum value_verdict */
	VALUE_RISK = 8,	   /* its, if present and not none: enum value_risk */
	VALUE_HOST = 9,	   /* the event's own: value_of_text */
	/* of a note: the event that it is about (cause), times two; plus one: it is a mark */
	VALUE_NOTED = 10,
	/* from here on lists of the events concerned. not JSON, or not a number where one is
	 * expected: may be anything */
	VALUE_ODD = 32,
	VALUE_ODD_OUTPUT = 33, /* output whose body has more fields than a recorder's */
	VALUE_OPEN = 34,       /* actions that had no end when the block was written */
	VALUE_ERROR = 35,      /* it failed */
	VALUE_DIFF = 36,       /* it changed files */
	VALUE_EDITED = 37,     /* a user edited it */
	VALUE_KIND = 64,       /* + the kind: of rows, but for action.requested */
};
enum value_verdict { VERDICT_OTHER, VERDICT_ASK = 2, VERDICT_DENY, VERDICT_HELD };
enum value_risk { RISK_OTHER, RISK_IS_NONE, RISK_IS_LOW, RISK_IS_MEDIUM, RISK_IS_HIGH };

enum { VALUES_BLOCK = 4096, VALUES_FIELDS = 20 /* bits: place = block << 20 | field */ };

/* Ended as users call failed; @body of an action.ended, as SQL: is:error asks this, too. */
#define VALUES_ERROR(body)                                                                         \
	"(json_extract(" body                                                                      \
	",'$.end') IN ('failed','timeout','killed','interrupted') OR ifnull(json_extract(" body    \
	",'$.code'),0)<>0 OR "                                                                     \
	"json_extract(" body ",'$.signal')>0)"
/* Lines of what a user typed; @body as SQL. */
#define VALUES_DATA_LINES(body)                                                                    \
	"CASE WHEN json_type(" body ",'$.data')='text' THEN length(json_extract(" body             \
	",'$.data'))-length(replace(json_extract(" body                                            \
	",'$.data'),char(10),''))+(substr(json_extract(" body ",'$.data'),-1)<>char(10)) END"

/* The value that represents a text in comparisons without regard to case. */
int64_t value_of_text(const char *text);

struct values {
	sqlite3 *db; /* borrowed */
	sqlite3_stmt *st;
	uint64_t covered; /* last event of the last block; 0 none */
	bool ended;	  /* no block ever comes behind it: the events there are no recorder's */
};

void values_init(struct values *v, sqlite3 *db);
void values_release(struct values *v);

/* Calls @fn for the events of blocks that have one behind @after up to @upto (at most the covered
 * ones) whose value is one of @low to @high; with @odd set for one that may have any, as all those
 * of a block that is missing or cannot be read. */
typedef void values_fn(void *self, uint64_t seq, int64_t value, bool odd);
NODISCARD int values_each(struct values *v, int field, uint64_t after, uint64_t upto, int64_t low,
			  int64_t high, values_fn *fn, void *self, struct err *err);

/* For writers: adds full blocks with the events up to @upto, two at most; *left_out: more remain.
 * The other rewrites the block of @seq, if it exists. SQLite codes. */
int values_add(sqlite3 *db, uint64_t upto, bool *left_out);
int values_again(sqlite3 *db, uint64_t seq);

/* For verify: the first event of a block that says otherwise than its events, or that has none; 0
 * none. It needs no transaction: a writer may add blocks meanwhile. An SQLite code. */
int values_check(sqlite3 *db, uint64_t *wrong);

/* Inside: the pairs of one row; false when they are none. */
typedef void values_pair_fn(void *self, uint32_t index, int64_t value);
bool values_decode(int field, int64_t low, const void *rows, size_t len, values_pair_fn *fn,
		   void *self);
bool values_has_numbers(int field);
int64_t values_place(uint64_t block, int field);
/* Of the last block; false: there is none. *stop: it says that none follows. */
bool values_last(sqlite3 *db, uint64_t limit, uint64_t *block, bool *stop);

#endif
