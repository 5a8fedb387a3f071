/* What the bodies say where a term is true, so that the index of words leads to them.
 *
 * Bodies are compact JSON and hold integers only (rule 9 of the session file): a name stands between quotes, right behind that of
 * its field, and a number between a colon and a comma or the closing brace. */
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "query/filter_inner.h"

enum { NUMBERS_MOST = 8 };

static void add_name(struct strv *out, const char *key, const char *name)
{
	CLEANUP(free_ptr) char *text = xasprintf("\"%s\":\"%s\"", key, name);
	strv_push(out, text);
}

static bool of_number(const struct value *v, struct strv *out)
{
	if (v->high - v->low >= NUMBERS_MOST || v->high < v->low)
		return false;
	for (int64_t n = v->low; n <= v->high; n++) {
		CLEANUP(free_ptr) char *more = xasprintf("\":%lld,", (long long)n), *last = xasprintf("\":%lld}", (long long)n);
		strv_push(out, more);
		strv_push(out, last);
	}
	return true;
}

/* An action's kind is a text of its body; what is also the name of a kind of event is not. */
static bool of_kind(sqlite3 *db, const char *name, struct strv *out)
{
	sqlite3_stmt *st = NULL;
	bool other = true;
	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM kind WHERE name=?1 COLLATE NOCASE", -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
		other = sqlite3_step(st) != SQLITE_ROW || sqlite3_column_int(st, 0) != 0;
	}
	sqlite3_finalize(st);
	if (other || !strcasecmp(name, "snapshot") || !strcasecmp(name, "note") || !strcasecmp(name, "end"))
		return false;
	add_name(out, "kind", name);
	return true;
}

static bool of_verdict(const char *name, struct strv *out)
{
	static const char *const decided[][2] = { { "allow", "approve" }, { "allow", "edit" }, { "deny", "deny" }, { "deny", "deny_pause" },
						  { "deny", "kill" } };
	if (!strcasecmp(name, "held")) /* an event by itself */
		return false;
	add_name(out, "verdict", name);
	for (size_t i = 0; i < ARRAY_LEN(decided); i++)
		if (!strcasecmp(name, decided[i][0]))
			add_name(out, "decision", decided[i][1]);
	return true;
}

static bool of_value(sqlite3 *db, const struct node *n, const struct value *v, struct strv *out)
{
	if (n->field == FIELD_EXIT)
		return of_number(v, out);
	if (v->glob)
		return false;
	switch ((int)n->field) {
	case FIELD_KIND:
		return of_kind(db, v->text, out);
	case FIELD_VERDICT:
		return of_verdict(v->text, out);
	case FIELD_RISK:
		if (!strcasecmp(v->text, "none")) /* also that of actions of which nothing is said */
			return false;
		add_name(out, "risk", v->text);
		return true;
	case FIELD_IS:
		if (strcmp(v->text, "edited") != 0)
			return false;
		add_name(out, "decision", "edit");
		return true;
	default:
		return false;
	}
}

bool filter_texts(void *db, const struct node *n, struct strv *out)
{
	for (size_t i = 0; i < n->nr; i++)
		if (!of_value(db, n, &n->value[i], out))
			return false;
	return n->nr > 0;
}

static void of_id(const struct node *n, int64_t *low, int64_t *high)
{
	int64_t least = INT64_MAX, most = 0;
	for (size_t i = 0; i < n->nr; i++) {
		const struct value *v = &n->value[i];
		bool below = n->op == OP_LT || n->op == OP_LE, above = n->op == OP_GT || n->op == OP_GE;
		int64_t from = below ? 0 : n->op == OP_GT ? v->high : v->low;
		int64_t upto = above ? INT64_MAX : n->op == OP_LT ? v->low : v->high;
		least = from < least ? from : least;
		most = upto > most ? upto : most;
	}
	*low = least > *low ? least : *low;
	*high = most < *high ? most : *high;
}

void filter_bounds(const struct node *n, int64_t *low, int64_t *high)
{
	if (n->type == NODE_AND) {
		filter_bounds(n->left, low, high);
		filter_bounds(n->right, low, high);
	} else if (n->type == NODE_TERM && n->field == FIELD_ID && n->op != OP_NOT && n->op != OP_REGEX && n->nr) {
		of_id(n, low, high);
	}
}
