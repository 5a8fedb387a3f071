/* The filter language: one line of text for lists, searches, exports, breakpoints, and policies.
 *
 *   filter = and { "or" and }      and = not { ["and"] not }      not = [ "not" | "!" ] term
 *   term   = "(" filter ")" | "@"name | field op value | word["*"] | '"' phrase '"'
 *   op     = ":" (is; glob if * or ?, also in quotes)  "=" (exactly)  "!="  "~" (regular
 *            expression)  "<" "<=" ">" ">="
 *   value  = word | '"' text '"' | number[unit] | a..b | v1,v2,v3 (any of)
 *   units  : ms s m h d (time), k M (thousands), $ (money)
 *   fields : session agent box kind tool cmd path host exit dur cost tokens lines rule verdict by
 *            risk turn id text since until;  is:pending error live edited marked;
 *            has:diff output note
 *
 * 1. One line is compiled to two things: a condition over the events of a file with every value
 *    bound as a parameter, and a predicate over a JSON object (filter_match) for actions that have
 *    not run yet. Both are two-valued: a row without a tool does match `not tool:browser`.
 * 2. "-" is not negation: `rm -rf` looks for both words.
 * 3. Fields that are known only after an action (exit dur cost tokens lines text is:error is:live
 *    has:...) are refused with that reason where an action is held before it runs
 *    (filter_known_before).
 *
 * Any thread; sqlite3 is seen only by filter_sql.c. */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "base/json.h"

struct filter;

/* Looks up "@name": returns its text (borrowed) or NULL. May be NULL itself. */
struct filter_saved {
	const char *(*text)(void *self, const char *name);
	void *self;
};

/* ERR_PARSE with "column N: ..." and, for a near miss, "did you mean"; the column (from 1) also in
 * @column_out (may be NULL). Empty text is a filter that matches everything. */
NODISCARD int filter_parse(struct filter **out, const char *text, const struct filter_saved *saved,
			   size_t *column_out, struct err *err);
void filter_free(struct filter **f);
bool filter_empty(const struct filter *f);

/* ERR_INVALID naming the first field that is not known before an action runs. */
NODISCARD int filter_known_before(const struct filter *f, struct err *err);

/* Matches @row: {"kind","tool","cmd","path","host","agent","agent_id","box","box_id","session",
 * "rule" (string or list),"verdict","by","risk","turn","id","ts_us","exit","dur_us","cost_uusd",
 * "tokens","lines","text","is":[..],"has":[..]}. Absent keys are unknown: no comparison with them
 * is true. @now_us: for since and until. */
bool filter_match(const struct filter *f, const json_t *row, int64_t now_us);

/* The seqs that match in a session, after @after_seq, in order; at most @max. A row is an action
 * (by its id, the seq of action.requested) or an event outside of any action (note,
 * snapshot.taken, agent.end, ...). Words and phrases are looked up in the search index, also in
 * output. */
struct session;
NODISCARD int filter_search(const struct filter *f, struct session *s, int64_t now_us,
			    uint64_t after_seq, size_t max, uint64_t *seqs, size_t *nr_out,
			    struct err *err);

/* The same up to and with @to_seq: a long session is gone through in pieces. */
NODISCARD int filter_search_to(const struct filter *f, struct session *s, int64_t now_us,
			       uint64_t after_seq, uint64_t to_seq, size_t max, uint64_t *seqs,
			       size_t *nr_out, struct err *err);
/* The same for all events after @after_seq, for screens that show results as they come: with at
 * least one result it ends after @wait_us. *upto_out: where to continue (INT64_MAX: all were
 * searched); with @max found, after the last of them. */
NODISCARD int filter_search_soon(const struct filter *f, struct session *s, int64_t now_us,
				 uint64_t after_seq, int64_t wait_us, size_t max, uint64_t *seqs,
				 size_t *nr_out, uint64_t *upto_out, struct err *err);
/* True if it asks for words or phrases: those search output, too, and cost the same for a part of
 * the session. */
bool filter_words(const struct filter *f);
/* True if a term of it asks for that kind of event by name, pattern or regular expression. */
bool filter_asks_kind(const struct filter *f, const char *kind);

/* Calls @fn with each condition that a row must meet to match: of @any, @nr alternatives, at least
 * one, and of that each text, without regard to case, in the texts of the row and its steps. There
 * may be none. */
typedef void filter_need_fn(void *self, const struct strv *any, size_t nr);
void filter_needs(const struct filter *f, filter_need_fn *fn, void *self);

/* The SQL of filter_search: appends the condition for "SELECT ... FROM event r WHERE ...", with a ?
 * for each bound value. */
void filter_sql(const struct filter *f, struct buf *out);
/* Adds the functions glass_is, glass_regex and glass_look to a connection (struct sqlite3 *); once
 * before preparing. */
NODISCARD int filter_functions(void *db, struct err *err);

/* For completion: names of fields by index, then NULL; the closed list of values of one (kind,
 * is, has, verdict, risk; ends with NULL), or NULL for free values. */
const char *filter_field_name(size_t i);
/* For help, of a field that has a name: what it is; is it known before an action runs? */
const char *filter_field_about(size_t i);
bool filter_field_before(size_t i);
const char *const *filter_field_values(const char *field);

/* Nearest of @names (NULL-terminated) to @word for "did you mean": mistyped, else one that begins
 * with it; NULL if none is. */
const char *nearest_name(const char *word, const char *const *names);

#endif
