/* Which blocks of numbers and lists (record/read/values.h) lead to the rows where a term is
 * true. */
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "query/filter_priv.h"
#include "record/read/values.h"

static void filter_values_ask(struct buf *out, int field, enum value_whose whose, int64_t low,
			      int64_t high)
{
	const struct value_ask a = { field, whose, low, high };
	buf_append(out, &a, sizeof(a));
}

/* The range of @v in a term; false: it is in none. */
static bool filter_values_range_of(const struct node *n, const struct value *v, int64_t *low,
				   int64_t *high)
{
	*low = n->op == OP_GT ? v->high : v->low;
	*high = n->op == OP_LT ? v->low : v->high;
	if (n->op == OP_LT || n->op == OP_LE)
		*low = INT64_MIN;
	if (n->op == OP_GT || n->op == OP_GE)
		*high = INT64_MAX;
	if ((n->op == OP_GT && *low == INT64_MAX) || (n->op == OP_LT && *high == INT64_MIN))
		return false;
	*low += n->op == OP_GT;
	*high -= n->op == OP_LT;
	return true;
}

static void of_numbers(const struct node *n, int field, enum value_whose whose, struct buf *out)
{
	bool order = n->op == OP_LT || n->op == OP_LE || n->op == OP_GT || n->op == OP_GE;
	int64_t low, high;
	for (size_t i = 0; i < (order ? 1 : n->nr); i++)
		if (filter_values_range_of(n, &n->value[i], &low, &high))
			filter_values_ask(out, field, whose, low, high);
}

static bool of_name(const struct value *v, int field, const char *const *names, size_t nr,
		    int not_listed, struct buf *out)
{
	for (size_t i = 0; i < nr && !v->glob; i++)
		if (names[i] && !strcasecmp(names[i], v->text)) {
			if ((int)i == not_listed)
				return false;
			filter_values_ask(out, field, WHOSE_ITS, (int64_t)i, (int64_t)i);
			filter_values_ask(out, field, WHOSE_ITS, 0, 0); /* written in another way */
			return true;
		}
	return false;
}

static bool of_closed(const char *text, struct buf *out)
{
	static const struct {
		const char *name;
		int field;
		enum value_whose whose;
	} lists[] = { { "pending", VALUE_OPEN, WHOSE_OWN },
		      { "live", VALUE_OPEN, WHOSE_OWN },
		      { "error", VALUE_ERROR, WHOSE_ITS },
		      { "edited", VALUE_EDITED, WHOSE_ITS },
		      { "diff", VALUE_DIFF, WHOSE_ITS } };
	if (!strcmp(text, "marked") || !strcmp(text, "note")) /* filter_notes tells */
		return true;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (!strcmp(lists[i].name, text)) {
			filter_values_ask(out, lists[i].field, lists[i].whose, 0, 0);
			return true;
		}
	return false;
}

/* Events of kinds that are called so. Actions are not listed: their kind is a text of the body.
 * False: all of them are meant. */
static bool of_kind(sqlite3 *db, const struct node *n, const struct value *v, struct buf *out)
{
	static const char names[] =
		"SELECT number, name FROM kind UNION ALL VALUES(210, 'snapshot'), (420, 'note'), (432, 'tool'), (433, 'tool'), (403, 'end'), (3, 'end')";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, names, -1, &st, NULL);
	bool listed = rc == SQLITE_OK;
	filter_values_ask(out, VALUE_ODD, WHOSE_OWN, 0, 0); /* there is always one to ask */
	while (listed && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t kind = sqlite3_column_int64(st, 0);
		const char *name = (const char *)sqlite3_column_text(st, 1);
		if (!name || !value_matches_text(n->field, n->op, v, name))
			continue;
		listed = kind != 100 && kind >= 0 && kind <= UINT16_MAX;
		filter_values_ask(out, VALUE_KIND + (int)kind, WHOSE_OWN, 0, 0);
	}
	sqlite3_finalize(st);
	return listed && rc == SQLITE_DONE;
}

static bool of_value(sqlite3 *db, const struct node *n, const struct value *v, struct buf *out)
{
	static const char *const verdicts[] = { NULL, "allow", "ask", "deny", "held" };
	static const char *const risks[] = { NULL, "none", "low", "medium", "high" };
	switch ((int)n->field) {
	case FIELD_VERDICT:
		return of_name(v, VALUE_VERDICT, verdicts, ARRAY_LEN(verdicts), 1, out);
	case FIELD_RISK:
		return of_name(v, VALUE_RISK, risks, ARRAY_LEN(risks), RISK_IS_NONE, out);
	case FIELD_IS:
	case FIELD_HAS:
		return of_closed(v->text, out);
	case FIELD_KIND:
		return of_kind(db, n, v, out);
	case FIELD_HOST:
		if (v->glob)
			filter_values_ask(out, VALUE_HOST, WHOSE_OWN, INT64_MIN, INT64_MAX);
		else
			filter_values_ask(out, VALUE_HOST, WHOSE_OWN, value_of_text(v->text),
					  value_of_text(v->text));
		return true;
	default:
		return false;
	}
}

bool filter_value_asks(void *db, const struct node *n, int64_t now_us, struct buf *out)
{
	static const struct {
		bool is;
		int field;
		enum value_whose whose;
	} numbers[FIELD_NR] = { [FIELD_EXIT] = { true, VALUE_EXIT, WHOSE_ITS },
				[FIELD_DUR] = { true, VALUE_DUR, WHOSE_ITS },
				[FIELD_COST] = { true, VALUE_COST, WHOSE_BOTH },
				[FIELD_TOKENS] = { true, VALUE_TOKENS, WHOSE_ITS },
				[FIELD_LINES] = { true, VALUE_LINES, WHOSE_BOTH } };
	buf_reset(out);
	if (n->op == OP_NOT || !n->nr)
		return false;
	if (numbers[n->field].is) {
		of_numbers(n, numbers[n->field].field, numbers[n->field].whose, out);
		return true;
	}
	if (n->field == FIELD_SINCE || n->field == FIELD_UNTIL) {
		int64_t at = n->value[0].ago ? now_us - n->value[0].low : n->value[0].low;
		filter_values_ask(out, VALUE_TIME, WHOSE_OWN,
				  n->field == FIELD_SINCE ? at : INT64_MIN,
				  n->field == FIELD_SINCE ? INT64_MAX : at);
		return true;
	}
	if (n->op == OP_REGEX) {
		filter_values_ask(out, VALUE_HOST, WHOSE_OWN, INT64_MIN, INT64_MAX);
		return n->field == FIELD_HOST;
	}
	for (size_t i = 0; i < n->nr; i++)
		if (!of_value(db, n, &n->value[i], out))
			return false;
	return true;
}

void filter_turn_ranges(const struct node *n, struct buf *out)
{
	buf_reset(out);
	of_numbers(n, VALUE_TURN, WHOSE_OWN, out);
}
