/* Text -> tree. One pass, one byte of look-ahead; every error knows its column. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_priv.h"
#include "wire/event.h"

const struct field filter_field[FIELD_NR] = {
	[FIELD_SESSION] = { "session", F_TEXT, "session", NULL, true, "the name of the session" },
	[FIELD_AGENT] = { "agent", F_TEXT, "agent", "agent_id", true,
			  "the agent, by name or number" },
	[FIELD_BOX] = { "box", F_TEXT, "box", "box_id", true, "the sandbox, by name or number" },
	[FIELD_KIND] = { "kind", F_TEXT, "kind", NULL, true, "the kind of action" },
	[FIELD_TOOL] = { "tool", F_TEXT, "tool", NULL, true, "the tool that was called" },
	[FIELD_CMD] = { "cmd", F_TEXT, "cmd", "proposed", true,
			"the command line, also the one that you replaced" },
	[FIELD_PATH] = { "path", F_TEXT, "path", "host_path", true,
			 "the file in the sandbox; with put and get, the one on the host" },
	[FIELD_HOST] = { "host", F_TEXT, "host", NULL, true,
			 "the other host of a connection or a request" },
	[FIELD_EXIT] = { "exit", F_NUMBER, "exit", NULL, false, "the exit status" },
	[FIELD_DUR] = { "dur", F_SPAN, "dur_us", NULL, false, "how long it ran" },
	[FIELD_COST] = { "cost", F_MONEY, "cost_uusd", NULL, false, "its cost, in dollars" },
	[FIELD_TOKENS] = { "tokens", F_NUMBER, "tokens", NULL, false,
			   "how many tokens a model call took" },
	[FIELD_LINES] = { "lines", F_NUMBER, "lines", NULL, false,
			  "how many lines it wrote or changed" },
	[FIELD_RULE] = { "rule", F_TEXT, "rule", NULL, true, "a rule that matched" },
	[FIELD_VERDICT] = { "verdict", F_TEXT, "verdict", NULL, true,
			    "the verdict of rules or reviewers; held: it was pending approval" },
	[FIELD_BY] = { "by", F_TEXT, "by", NULL, false, "who decided: human, timeout, ..." },
	[FIELD_RISK] = { "risk", F_TEXT, "risk", NULL, true,
			 "how much is at risk, as the rules say" },
	[FIELD_TURN] = { "turn", F_NUMBER, "turn", NULL, true, "the agent's turn" },
	[FIELD_ID] = { "id", F_NUMBER, "id", NULL, true, "the number of the action or event" },
	[FIELD_TEXT] = { "text", F_TEXT, "text", NULL, false, "anything that is recorded of it" },
	[FIELD_SINCE] = { "since", F_INSTANT, "ts_us", NULL, true,
			  "the oldest: a time ago, or a date" },
	[FIELD_UNTIL] = { "until", F_INSTANT, "ts_us", NULL, true,
			  "the newest: a time ago, or a date" },
	[FIELD_IS] = { "is", F_IS, "is", NULL, false, "its state: error, live, edited, ..." },
	[FIELD_HAS] = { "has", F_HAS, "has", NULL, false, "what there is of it" },
};

static const char *const is_names[] = { "pending", "error", "live", "edited", "marked", NULL };
static const char *const has_names[] = { "diff", "output", "note", NULL };
static const char *const filter_kind_names[] = {
	"exec",	 "read",  "write",    "edit", "connect",  "model", "host", "mcp",
	"ask",	 "tool",  "snapshot", "snap", "rollback", "merge", "put",  "get",
	"shell", "fetch", "port",     "note", "end",	  NULL
};
static const char *const verdict_names[] = { "allow", "ask", "deny", "held", NULL };
static const char *const filter_risk_names[] = { "none", "low", "medium", "high", NULL };

/* each value is a term of SQL, whose depth SQLite bounds */
enum { DEPTH_MAX = 64, SAVED_MAX = 8, VALUES_MAX = 500 };

struct parser {
	const char *text, *p;
	const struct filter_saved *saved;
	unsigned depth, in_saved;
	struct err *err;
	size_t *column_out;
	bool failed;
};

PRINTF(3, 4) static struct node *filter_fail(struct parser *x, const char *at, const char *fmt, ...)
{
	char text[300];
	va_list ap;
	if (x->failed)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x->failed = true;
	size_t column = (size_t)(at - x->text) + 1;
	if (x->column_out && !x->in_saved)
		*x->column_out = column;
	err_set(x->err, ERR_PARSE, "column %zu: %s", column, text);
	return NULL;
}

static void filter_node_free(struct node *n)
{
	if (!n)
		return;
	filter_node_free(n->left);
	filter_node_free(n->right);
	for (size_t i = 0; i < n->nr; i++)
		free(n->value[i].text);
	free(n->value);
	if (n->has_regex)
		regfree(&n->regex);
	free(n);
}

static struct node *filter_node_new(struct parser *x, enum node_type type, const char *at)
{
	struct node *n = NEW(struct node);
	n->type = type;
	n->column = (size_t)(at - x->text) + 1;
	return n;
}

static void filter_skip_blanks(struct parser *x)
{
	while (*x->p == ' ' || *x->p == '\t')
		x->p++;
}

static bool word_end(char c)
{
	return !c || c == ' ' || c == '\t' || c == '(' || c == ')' || c == '"';
}

/* Is the keyword @word next? Then steps over it. */
static bool filter_keyword(struct parser *x, const char *word)
{
	size_t len = strlen(word);
	if (strncmp(x->p, word, len) != 0 || !word_end(x->p[len]) || x->p[len] == '"')
		return false;
	x->p += len;
	return true;
}

/* "..." with \" for a quote; every other backslash stays, for regular expressions. */
static char *filter_quoted(struct parser *x)
{
	struct buf b = BUF_INIT;
	const char *at = x->p++;
	while (*x->p && *x->p != '"') {
		if (x->p[0] == '\\' && x->p[1] == '"')
			x->p++;
		buf_putc(&b, *x->p++);
	}
	if (!*x->p) {
		filter_fail(x, at, "the quote is not closed");
		buf_release(&b);
		return NULL;
	}
	x->p++;
	return buf_take(&b);
}

/* --- values ----------------------------------------------------------------------------------- */

static const char *number_hint(enum field_type type)
{
	switch (type) {
	case F_SPAN:
		return "a time like 500ms, 30s, 5m or 2h";
	case F_MONEY:
		return "an amount like $0.10";
	case F_INSTANT:
		return "a time ago like 1h, or a date like 2026-11-21T14:30";
	case F_NUMBER:
	case F_TEXT:
	case F_IS:
	case F_HAS:
		break;
	}
	return "a number like 10, 2k or 2..9";
}

static const char *const *closed_names(enum field_id id)
{
	switch ((int)id) {
	case FIELD_IS:
		return is_names;
	case FIELD_HAS:
		return has_names;
	case FIELD_KIND:
		return filter_kind_names;
	case FIELD_VERDICT:
		return verdict_names;
	case FIELD_RISK:
		return filter_risk_names;
	default:
		return NULL;
	}
}

/* An event's dotted name. The steps of an action are found with their action: alone they match
 * nothing. */
static bool event_name_known(struct parser *x, const char *at, const char *text)
{
	uint16_t kind;
	CLEANUP(free_ptr) char *name = mem_strdup(text);
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (!event_kind_find(name, &kind)) {
		filter_fail(x, at, "kind has no \"%s\"; 'man sandglass-events' lists the events",
			    text);
		return false;
	}
	if (kind == 10 || kind == 11 || (kind > EV_ACTION_REQUESTED && kind <= 109)) {
		filter_fail(
			x, at,
			"\"%s\" is a step of an action; find the action by verdict, by, exit, or is",
			text);
		return false;
	}
	return true;
}

/* Fields with few values: a misspelt one would silently match nothing. */
static bool name_known(struct parser *x, const char *at, const struct node *n,
		       const struct value *v)
{
	const char *const *names = n->op == OP_REGEX || v->glob ? NULL : closed_names(n->field);
	if (!names)
		return true;
	for (const char *const *s = names; *s; s++)
		if (!strcmp(*s, v->text))
			return true;
	if (n->field == FIELD_KIND && strchr(v->text, '.'))
		return event_name_known(x, at, v->text);
	const char *near = nearest_name(v->text, names);
	if (near)
		filter_fail(x, at, "%s has no \"%s\"; did you mean \"%s\"?",
			    filter_field[n->field].name, v->text, near);
	else
		filter_fail(x, at, "%s has no \"%s\"", filter_field[n->field].name, v->text);
	return false;
}

static bool set_regex(struct parser *x, const char *at, struct node *n)
{
	char why[120];
	CLEANUP(free_ptr) char *text = regex_text(n->value[0].text);
	const char *cost = strlen(text) > 500 ? "it is too long" : regex_cost(text);
	if (cost) {
		filter_fail(x, at, "the regular expression is refused: %s", cost);
		return false;
	}
	int rc = regcomp(&n->regex, text, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &n->regex, why, sizeof(why));
		filter_fail(x, at, "the regular expression is wrong: %s", why);
		return false;
	}
	n->has_regex = true;
	return true;
}

static bool filter_add_value(struct parser *x, const char *at, struct node *n, char *text)
{
	const struct field *f = &filter_field[n->field];
	GROW(n->value, n->nr, n->cap);
	struct value *v = &n->value[n->nr++];
	*v = (struct value){ .text = text };
	if (f->type == F_TEXT || f->type == F_IS || f->type == F_HAS) {
		v->glob = n->op == OP_IS && strpbrk(text, "*?");
		if (n->field == FIELD_KIND && !strcmp(text, "snap")) {
			free(v->text);
			v->text = mem_strdup("snapshot");
		}
		return name_known(x, at, n, v);
	}
	if (value_number(f->type, text, v))
		return true;
	filter_fail(x, at, "%s needs %s, not \"%s\"", f->name, number_hint(f->type), text);
	return false;
}

static bool read_values(struct parser *x, struct node *n)
{
	for (;;) {
		const char *at = x->p;
		char *text;
		bool was_quoted = *x->p == '"';
		if (was_quoted) {
			text = filter_quoted(x);
			if (!text)
				return false;
		} else {
			while (*x->p && *x->p != ' ' && *x->p != '\t' &&
			       (n->op == OP_REGEX || (*x->p != ',' && *x->p != ')')))
				x->p++;
			text = mem_strndup(at, (size_t)(x->p - at));
		}
		if (!*text && !was_quoted) {
			free(text);
			filter_fail(x, at, "%s needs a value", filter_field[n->field].name);
			return false;
		}
		if (!filter_add_value(x, at, n, text))
			return false;
		if (n->nr > VALUES_MAX) {
			filter_fail(x, at, "%s has more than %d values; ask for them in parts",
				    filter_field[n->field].name, VALUES_MAX);
			return false;
		}
		if (n->op == OP_REGEX)
			return set_regex(x, at, n);
		if (*x->p != ',')
			return true;
		x->p++;
	}
}

/* --- terms ------------------------------------------------------------------------------------ */

static bool read_op(struct parser *x, enum op *out)
{
	static const struct {
		const char *sign;
		enum op op;
	} ops[] = { { "!=", OP_NOT },  { "<=", OP_LE },	  { ">=", OP_GE }, { ":", OP_IS },
		    { "=", OP_EXACT }, { "~", OP_REGEX }, { "<", OP_LT },  { ">", OP_GT } };
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (!strncmp(x->p, ops[i].sign, strlen(ops[i].sign))) {
			x->p += strlen(ops[i].sign);
			*out = ops[i].op;
			return true;
		}
	return false;
}

static bool op_fits(struct parser *x, const char *at, const struct node *n)
{
	enum field_type t = filter_field[n->field].type;
	bool order = n->op == OP_LT || n->op == OP_LE || n->op == OP_GT || n->op == OP_GE;
	bool number = t == F_NUMBER || t == F_SPAN || t == F_MONEY;
	if ((order && !number) || (n->op == OP_REGEX && t != F_TEXT) ||
	    ((t == F_IS || t == F_HAS || t == F_INSTANT) && n->op != OP_IS)) {
		filter_fail(x, at, "%s can't be compared this way", filter_field[n->field].name);
		return false;
	}
	return true;
}

static struct node *unknown_field(struct parser *x, const char *at, const char *name)
{
	const char *names[FIELD_NR + 1] = { 0 };
	for (size_t i = 0; i < FIELD_NR; i++)
		names[i] = filter_field[i].name;
	if (!strncmp(x->p, "://", 3))
		return filter_fail(x, at, "a URL must be quoted: \"%s://...\"", name);
	const char *near = nearest_name(name, names);
	if (near)
		return filter_fail(
			x, at,
			"unknown field \"%s\"; did you mean \"%s\"? (quote it to search for the text)",
			name, near);
	return filter_fail(x, at, "unknown field \"%s\" (quote it to search for the text)", name);
}

static struct node *read_field(struct parser *x, const char *at, const char *name)
{
	struct node *n = filter_node_new(x, NODE_TERM, at);
	size_t i = 0;
	while (i < FIELD_NR && strcmp(filter_field[i].name, name) != 0)
		i++;
	if (i == FIELD_NR) {
		filter_node_free(n);
		return unknown_field(x, at, name);
	}
	n->field = (enum field_id)i;
	const char *op_at = x->p;
	if (!read_op(x, &n->op) || !op_fits(x, op_at, n) || !read_values(x, n)) {
		filter_node_free(n);
		return NULL;
	}
	return n;
}

static struct node *words_node(struct parser *x, const char *at, char *text, bool prefix)
{
	struct node *n = filter_node_new(x, NODE_WORDS, at);
	n->prefix = prefix;
	GROW(n->value, n->nr, n->cap);
	n->value[n->nr++] = (struct value){ .text = text };
	return n;
}

static struct node *read_or(struct parser *x);

static struct node *read_saved(struct parser *x)
{
	const char *at = x->p++;
	while (isalnum((unsigned char)*x->p) || *x->p == '_' || *x->p == '-')
		x->p++;
	CLEANUP(free_ptr) char *name = mem_strndup(at + 1, (size_t)(x->p - at - 1));
	const char *text = x->saved && x->saved->text ? x->saved->text(x->saved->self, name) : NULL;
	if (!text)
		return filter_fail(x, at, "saved filter not found: \"@%s\"", name);
	if (x->in_saved == SAVED_MAX)
		return filter_fail(x, at, "saved filters name each other without end");
	struct parser inner = { .text = text,
				.p = text,
				.saved = x->saved,
				.depth = x->depth,
				.in_saved = x->in_saved + 1,
				.err = x->err };
	struct node *n = read_or(&inner);
	filter_skip_blanks(&inner);
	if (n && *inner.p)
		filter_fail(&inner, inner.p, "a \")\" too many");
	if (inner.failed) {
		filter_node_free(n);
		x->failed = true;
		if (x->column_out && !x->in_saved)
			*x->column_out = (size_t)(at - x->text) + 1;
		err_wrap(x->err, "in @%s", name);
		return NULL;
	}
	return n;
}

static struct node *read_term(struct parser *x)
{
	const char *at = x->p;
	if (*at == '(') {
		x->p++;
		struct node *n = read_or(x);
		filter_skip_blanks(x);
		if (n && *x->p != ')') {
			filter_node_free(n);
			return filter_fail(x, at, "the bracket is not closed");
		}
		x->p += n != NULL;
		return n;
	}
	if (*at == '"') {
		char *text = filter_quoted(x);
		return text ? words_node(x, at, text, false) : NULL;
	}
	if (*at == '@')
		return read_saved(x);
	while (isalpha((unsigned char)*x->p) || *x->p == '_')
		x->p++;
	if (x->p > at && (strchr(":=~<>", *x->p) || !strncmp(x->p, "!=", 2)) && *x->p) {
		CLEANUP(free_ptr) char *name = mem_strndup(at, (size_t)(x->p - at));
		return read_field(x, at, name);
	}
	while (!word_end(*x->p))
		x->p++;
	if (x->p == at)
		return filter_fail(x, at,
				   *at ? "a \"%c\" is not expected here"
				       : "something is missing at the end",
				   *at);
	bool prefix = x->p[-1] == '*' && x->p - at > 1;
	return words_node(x, at, mem_strndup(at, (size_t)(x->p - at) - prefix), prefix);
}

static struct node *read_not(struct parser *x)
{
	filter_skip_blanks(x);
	const char *at = x->p;
	bool negated = false;
	if (*x->p == '!' && x->p[1] != '=') {
		x->p++;
		negated = true;
	} else {
		negated = filter_keyword(x, "not") || filter_keyword(x, "NOT");
	}
	if (++x->depth > DEPTH_MAX) {
		return filter_fail(x, at, "nested too deeply");
	}
	struct node *inner = negated ? read_not(x) : read_term(x);
	x->depth--;
	if (!inner || !negated)
		return inner;
	struct node *n = filter_node_new(x, NODE_NOT, at);
	n->left = inner;
	return n;
}

static struct node *filter_joined(struct parser *x, enum node_type type, struct node *left,
				  struct node *right)
{
	if (!left || !right) {
		filter_node_free(left);
		filter_node_free(right);
		return NULL;
	}
	struct node *n = filter_node_new(x, type, x->p);
	n->left = left;
	n->right = right;
	return n;
}

static bool or_follows(struct parser *x)
{
	const char *p = x->p;
	bool is = filter_keyword(x, "or") || filter_keyword(x, "OR");
	x->p = p;
	return is;
}

static struct node *read_and(struct parser *x)
{
	struct node *n = read_not(x);
	for (unsigned terms = 0; n && !x->failed; terms++) {
		filter_skip_blanks(x);
		if (!*x->p || *x->p == ')' || or_follows(x))
			return n;
		if (terms == 200) {
			filter_node_free(n);
			return filter_fail(x, x->p, "too many terms");
		}
		if (!filter_keyword(x, "and"))
			(void)filter_keyword(x, "AND");
		n = filter_joined(x, NODE_AND, n, read_not(x));
	}
	return n;
}

static struct node *read_or(struct parser *x)
{
	struct node *n = read_and(x);
	for (unsigned terms = 0; n && !x->failed; terms++) {
		filter_skip_blanks(x);
		if (!filter_keyword(x, "or") && !filter_keyword(x, "OR"))
			return n;
		if (terms == 200) {
			filter_node_free(n);
			return filter_fail(x, x->p, "too many terms");
		}
		n = filter_joined(x, NODE_OR, n, read_and(x));
	}
	return n;
}

int filter_parse(struct filter **out, const char *text, const struct filter_saved *saved,
		 size_t *column_out, struct err *err)
{
	struct parser x = {
		.text = text, .p = text, .saved = saved, .err = err, .column_out = column_out
	};
	struct node *n;
	filter_skip_blanks(&x);
	if (!*x.p) {
		n = filter_node_new(&x, NODE_ALL, text);
	} else {
		n = read_or(&x);
		filter_skip_blanks(&x);
		if (n && *x.p)
			filter_fail(&x, x.p, "a \")\" too many");
	}
	if (x.failed || !n) {
		filter_node_free(n);
		return -1;
	}
	*out = NEW(struct filter);
	(*out)->root = n;
	return 0;
}

void filter_free(struct filter **f)
{
	if (!*f)
		return;
	filter_node_free((*f)->root);
	free(*f);
	*f = NULL;
}

bool filter_empty(const struct filter *f)
{
	return f->root->type == NODE_ALL;
}

static int known_before(const struct node *n, struct err *err)
{
	if (!n)
		return 0;
	if (n->type == NODE_TERM && !filter_field[n->field].before) {
		const char *value = n->value[0].text;
		bool closed = n->field == FIELD_IS || n->field == FIELD_HAS;
		return err_set(
			err, ERR_INVALID,
			"column %zu: %s%s%s is known only after the action; a pending action has not run yet",
			n->column, filter_field[n->field].name, closed ? ":" : "",
			closed ? value : "");
	}
	return known_before(n->left, err) < 0 ? -1 : known_before(n->right, err);
}

int filter_known_before(const struct filter *f, struct err *err)
{
	return known_before(f->root, err);
}

static bool has_words(const struct node *n)
{
	return n && (n->type == NODE_WORDS || has_words(n->left) || has_words(n->right));
}

bool filter_words(const struct filter *f)
{
	return has_words(f->root);
}

static bool asks_kind(const struct node *n, const char *kind)
{
	if (!n || (n->type == NODE_TERM && n->field != FIELD_KIND))
		return false;
	if (n->type == NODE_TERM && n->op == OP_REGEX)
		return regexec(&n->regex, kind, 0, NULL, 0) == 0;
	for (size_t i = 0; n->type == NODE_TERM && i < n->nr; i++)
		if (value_matches_text(n->field, n->op, &n->value[i], kind))
			return true;
	return asks_kind(n->left, kind) || asks_kind(n->right, kind);
}

bool filter_asks_kind(const struct filter *f, const char *kind)
{
	return asks_kind(f->root, kind);
}

const char *filter_field_name(size_t i)
{
	return i < FIELD_NR ? filter_field[i].name : NULL;
}

const char *filter_field_about(size_t i)
{
	return filter_field[i].about;
}

bool filter_field_before(size_t i)
{
	return filter_field[i].before;
}

const char *const *filter_field_values(const char *field)
{
	for (size_t i = 0; i < FIELD_NR; i++)
		if (!strcmp(filter_field[i].name, field))
			return closed_names((enum field_id)i);
	return NULL;
}
