/* A parsed filter: filter.c makes it, filter_eval.c asks it, filter_sql.c turns it into SQL. */
#ifndef QUERY_FILTER_PRIV_H
#define QUERY_FILTER_PRIV_H

#include <regex.h>

#include "base/mem.h"
#include "query/filter.h"

enum field_type { F_TEXT, F_NUMBER, F_SPAN, F_MONEY, F_INSTANT, F_IS, F_HAS };

enum field_id {
	FIELD_SESSION,
	FIELD_AGENT,
	FIELD_BOX,
	FIELD_KIND,
	FIELD_TOOL,
	FIELD_CMD,
	FIELD_PATH,
	FIELD_HOST,
	FIELD_EXIT,
	FIELD_DUR,
	FIELD_COST,
	FIELD_TOKENS,
	FIELD_LINES,
	FIELD_RULE,
	FIELD_VERDICT,
	FIELD_BY,
	FIELD_RISK,
	FIELD_TURN,
	FIELD_ID,
	FIELD_TEXT,
	FIELD_SINCE,
	FIELD_UNTIL,
	FIELD_IS,
	FIELD_HAS,
	FIELD_NR
};

struct field {
	const char *name;
	enum field_type type;
	const char *key;  /* in a row of filter_match */
	const char *key2; /* a second one that may match as well: the id beside the name */
	bool before;	  /* known before the action */
	const char *about;
};
extern const struct field filter_field[FIELD_NR];

enum op { OP_IS, OP_EXACT, OP_NOT, OP_REGEX, OP_LT, OP_LE, OP_GT, OP_GE };

struct value {
	char *text; /* texts; owned */
	bool glob;
	int64_t low, high; /* numbers: a..b, both included; low == high for one */
	bool ago;	   /* instants: low is microseconds before now */
};

enum node_type { NODE_ALL, NODE_AND, NODE_OR, NODE_NOT, NODE_TERM, NODE_WORDS };

struct node {
	enum node_type type;
	struct node *left, *right;
	enum field_id field;
	enum op op;
	struct value *value; /* NODE_WORDS: one, a phrase or a word */
	size_t nr, cap;
	bool prefix; /* NODE_WORDS: word* */
	regex_t regex;
	bool has_regex;
	size_t column;
};

struct filter {
	struct node *root;
};

/* filter_value.c: fills low, high and ago of @v from "30s", "$0.10", "2..9", "2026-11-21"; false if
 * @s is none. */
bool value_number(enum field_type type, const char *s, struct value *v);
char *regex_text(const char *s);       /* as regcomp wants it; returns owned */
const char *regex_cost(const char *s); /* why it is too dear to compile, or NULL */

/* Is @text what @v says? ':' does not mind case, globs know `*` and `?`; paths are compared below
 * /workspace. */
bool value_matches_text(enum field_id field, enum op op, const struct value *v, const char *text);

/* The words of a filter and what asks the events for them. */
struct look;
struct words {
	struct {
		const struct node *node;
		struct look *look; /* owned */
	} * item;
	size_t nr, cap;
};

/* filter_sql.c: binds the values to a statement made with filter_sql's text, from parameter @first
 * on (from 1), with the looks of @w, which has one for each node of words (others may stand there,
 * too); the filter and @w outlive the statement's run. Returns the number of the next free
 * parameter. @stmt is a struct sqlite3_stmt of the session's connection. */
int filter_bind_words(const struct filter *f, const struct words *w, void *stmt, int first,
		      int64_t now_us);
/* The condition of one node alone, over a row `r`. */
void filter_node_sql(const struct node *n, struct buf *out);
/* The text for look_new from the words of @n. */
void filter_match_text(const struct node *n, struct buf *out);

/* filter_texts.c: texts of which at least one is in the body of an event where @n is true, or of a
 * step of its action; false (with some in @out all the same): no such texts exist. */
bool filter_texts(const struct node *n, struct strv *out);
/* Between which events, both included, all that match stand: narrows *low and *high. */
void filter_bounds(const struct node *n, int64_t *low, int64_t *high);

/* filter_values.c: what the blocks of values (record/read/values.h) are asked, as an array of
 * struct value_ask, so that a row of which none is true does not match @n; false: they cannot tell.
 * And ranges of turns: rows of a turn in none of them do not match @n. */
enum value_whose { WHOSE_OWN, WHOSE_ITS /* of the action whose step it is */, WHOSE_BOTH };
struct value_ask {
	int field;
	enum value_whose whose;
	int64_t low, high;
};
bool filter_value_asks(void *db, const struct node *n, int64_t now_us, struct buf *out);
void filter_turn_ranges(const struct node *n, struct buf *out);

/* filter_literal.c: calls @fn for each value of a term on texts, and each alternative of its
 * regular expression, with pieces that occur together in every text that it matches. False when @fn
 * returned false. */
typedef bool filter_pieces_fn(void *self, const struct strv *pieces);
bool filter_pieces(const struct node *n, filter_pieces_fn *fn, void *self);
/* The text for look_new that finds bodies with all of them. False: a body of an output, which is
 * not in the index, may have them, too. */
bool filter_match_body(const struct strv *pieces, struct buf *out);

/* noted.c: its functions, once for a connection; an SQLite code. And, on such a connection: calls
 * @fn with each event that notes are about, once or more, and whether it is a mark. False: SQLite
 * says why. */
int filter_noted(void *db);
typedef void filter_notes_fn(void *self, uint64_t on, bool mark);
bool filter_notes(void *db, filter_notes_fn *fn, void *self);

#endif
