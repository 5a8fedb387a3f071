/* The text of bodies for which a term is true, so that the index of words finds them, and the range
 * of events that have it.
 *
 * Bodies are compact JSON (rule 9 of the session file): a name is between quotes, right after
 * that of its field. */
#include <string.h>
#include <strings.h>

#include "query/filter_priv.h"

static void filter_texts_add_name(struct strv *out, const char *key, const char *name)
{
	CLEANUP(free_ptr) char *text = mem_printf("\"%s\":\"%s\"", key, name);
	strv_push(out, text);
}

static bool of_verdict(const char *name, struct strv *out)
{
	static const char *const decided[][2] = { { "allow", "approve" },   { "allow", "edit" },
						  { "allow", "promote" },   { "deny", "deny" },
						  { "deny", "deny_pause" }, { "deny", "kill" } };
	if (!strcasecmp(name, "held")) /* an event of its own */
		return false;
	filter_texts_add_name(out, "verdict", name);
	for (size_t i = 0; i < ARRAY_LEN(decided); i++)
		if (!strcasecmp(name, decided[i][0]))
			filter_texts_add_name(out, "decision", decided[i][1]);
	return true;
}

bool filter_texts(const struct node *n, struct strv *out)
{
	for (size_t i = 0; i < n->nr; i++)
		if (n->field != FIELD_VERDICT || n->value[i].glob ||
		    !of_verdict(n->value[i].text, out))
			return false;
	return n->nr > 0;
}

static void of_id(const struct node *n, int64_t *low, int64_t *high)
{
	int64_t least = INT64_MAX, most = 0;
	for (size_t i = 0; i < n->nr; i++) {
		const struct value *v = &n->value[i];
		bool below = n->op == OP_LT || n->op == OP_LE,
		     above = n->op == OP_GT || n->op == OP_GE;
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
	} else if (n->type == NODE_TERM && n->field == FIELD_ID && n->op != OP_NOT &&
		   n->op != OP_REGEX && n->nr) {
		of_id(n, low, high);
	}
}
