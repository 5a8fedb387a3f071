/* The predicate. Every term is true or false, never unknown. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_priv.h"

/* `*` and `?`, without regard to case. Linear but for one kept star. */
static bool glob_fold(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;
	while (*s) {
		if (*p == '*') {
			star = p++;
			from = s;
		} else if (*p && (*p == '?' ||
				  tolower((unsigned char)*p) == tolower((unsigned char)*s))) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

static const char *below_workspace(enum field_id field, const char *pattern, const char *text)
{
	static const char root[] = "/workspace/";
	if (field == FIELD_PATH && pattern[0] != '/' && !strncmp(text, root, sizeof(root) - 1))
		return text + sizeof(root) - 1;
	return text;
}

bool value_matches_text(enum field_id field, enum op op, const struct value *v, const char *text)
{
	text = below_workspace(field, v->text, text);
	if (field == FIELD_TEXT && op != OP_EXACT && op != OP_NOT)
		return v->glob ? glob_fold(v->text, text) : strcasestr(text, v->text) != NULL;
	if (op == OP_EXACT)
		return !strcmp(v->text, text);
	return v->glob ? glob_fold(v->text, text) : !strcasecmp(v->text, text);
}

static bool term_on_text(const struct node *n, const char *text)
{
	if (n->op == OP_REGEX)
		return regexec(&n->regex, below_workspace(n->field, "", text), 0, NULL, 0) == 0;
	for (size_t i = 0; i < n->nr; i++)
		if (value_matches_text(n->field, n->op, &n->value[i], text))
			return true;
	return false;
}

/* A text, a number, or a list of them: one is enough. */
static bool term_on_json(const struct node *n, const json_t *v)
{
	size_t i;
	json_t *one;
	if (json_is_array(v)) {
		json_array_foreach(v, i, one) if (term_on_json(n, one)) return true;
		return false;
	}
	if (json_is_integer(v)) {
		char digits[24];
		snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(v));
		return term_on_text(n, digits);
	}
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return json_get_bytes(v, &b) && term_on_text(n, buf_cstr(&b));
}

static bool in_range(const struct node *n, int64_t x)
{
	for (size_t i = 0; i < n->nr; i++) {
		const struct value *v = &n->value[i];
		switch (n->op) {
		case OP_LT:
			return x < v->low;
		case OP_LE:
			return x <= v->high;
		case OP_GT:
			return x > v->high;
		case OP_GE:
			return x >= v->low;
		case OP_IS:
		case OP_EXACT:
		case OP_NOT:
		case OP_REGEX:
			if (x >= v->low && x <= v->high)
				return true;
			break;
		}
	}
	return false;
}

static bool filter_eval_term(const struct node *n, const json_t *row, int64_t now_us)
{
	const struct field *f = &filter_field[n->field];
	const json_t *v = json_object_get(row, f->key);
	bool is = false;
	switch (f->type) {
	case F_TEXT:
	case F_IS:
	case F_HAS:
		is = term_on_json(n, v) ||
		     (f->key2 && term_on_json(n, json_object_get(row, f->key2)));
		break;
	case F_NUMBER:
	case F_SPAN:
	case F_MONEY:
		is = json_is_integer(v) && in_range(n, json_integer_value(v));
		break;
	case F_INSTANT:
		if (json_is_integer(v)) {
			int64_t at = n->value[0].ago ? now_us - n->value[0].low : n->value[0].low;
			int64_t x = json_integer_value(v);
			is = n->field == FIELD_SINCE ? x >= at : x <= at;
		}
		break;
	}
	return n->op == OP_NOT ? !is : is;
}

static bool filter_eval_word_char(unsigned char c)
{
	return isalnum(c) || c == '_' || c >= 0x80;
}

/* A word stands alone where its own ends are letters; "phrase" and `word*` are found anywhere after
 * a beginning. */
static bool words_in(const struct node *n, const char *text)
{
	const char *word = n->value[0].text;
	size_t len = strlen(word);
	for (const char *p = text; len && (p = strcasestr(p, word)); p++) {
		bool starts = p == text || !filter_eval_word_char((unsigned char)p[-1]) ||
			      !filter_eval_word_char((unsigned char)word[0]);
		bool ends = n->prefix || !filter_eval_word_char((unsigned char)p[len]) ||
			    !filter_eval_word_char((unsigned char)word[len - 1]);
		if (starts && ends)
			return true;
	}
	return !len;
}

static bool words_in_json(const struct node *n, const json_t *v)
{
	const char *key;
	json_t *one;
	size_t i;
	bool found = false;
	if (json_is_string(v))
		return words_in(n, json_string_value(v));
	if (json_is_array(v)) {
		json_array_foreach(v, i, one) found = found || words_in_json(n, one);
	} else if (json_is_object(v)) {
		json_object_foreach((json_t *)(uintptr_t)v, key, one) found =
			found || words_in_json(n, one);
	}
	return found;
}

static bool filter_eval_ask(const struct node *n, const json_t *row, int64_t now_us)
{
	switch (n->type) {
	case NODE_ALL:
		return true;
	case NODE_AND:
		return filter_eval_ask(n->left, row, now_us) &&
		       filter_eval_ask(n->right, row, now_us);
	case NODE_OR:
		return filter_eval_ask(n->left, row, now_us) ||
		       filter_eval_ask(n->right, row, now_us);
	case NODE_NOT:
		return !filter_eval_ask(n->left, row, now_us);
	case NODE_TERM:
		return filter_eval_term(n, row, now_us);
	case NODE_WORDS:
		return words_in_json(n, row);
	}
	return false;
}

bool filter_match(const struct filter *f, const json_t *row, int64_t now_us)
{
	return filter_eval_ask(f->root, row, now_us);
}
