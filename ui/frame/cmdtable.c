#include "ui/frame/cmdtable.h"

#include <string.h>

#include "base/mem.h"
#include "base/paths.h"

enum { OFFLINE, SUPERVISOR, LOCAL };
enum {
	COMMAND_LOOKS = 1,
	COMMAND_HIDDEN = 2,
	COMMAND_TAIL = 4,
	COMMAND_NO_JSON = 8,
	COMMAND_DECIDES = 16,
	COMMAND_CARRIES = 32
};

static const struct {
	struct cmd_row row;
	bool tail;
} cmdtable_rows[] = {
#define COMMAND(token, name, where, flags, usage, options, summary, help)                          \
	{ { name, usage, options, summary, (where) == SUPERVISOR, ((flags)&COMMAND_HIDDEN) != 0,   \
	    ((flags)&COMMAND_LOOKS) != 0 },                                                        \
	  ((flags)&COMMAND_TAIL) != 0 },
#include "commands.inc"
#undef COMMAND
};

size_t cmd_count(void)
{
	return ARRAY_LEN(cmdtable_rows);
}

const struct cmd_row *cmd_at(size_t i)
{
	return &cmdtable_rows[i].row;
}

static bool cmdtable_tail_of(const struct cmd_row *c)
{
	for (size_t i = 0; i < ARRAY_LEN(cmdtable_rows); i++)
		if (&cmdtable_rows[i].row == c)
			return cmdtable_rows[i].tail;
	return false;
}

const struct cmd_row *cmd_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(cmdtable_rows); i++)
		if (strcmp(cmdtable_rows[i].row.name, name) == 0)
			return &cmdtable_rows[i].row;
	return NULL;
}

/* --- a typed line ----------------------------------------------------------------------------- */

static int cmdtable_split(const char *p, struct strv *out, struct err *err)
{
	for (;;) {
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		char quote = 0;
		bool any = false;
		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			return 0;
		bool typed = *p == '~'; /* without a quote, as in a shell */
		for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
			if (quote ? *p == quote : *p == '\'' || *p == '"') {
				quote = quote ? 0 : *p;
				any = true;
			} else {
				p += *p == '\\' && p[1] && quote != '\'';
				buf_putc(&word, *p);
			}
		}
		if (quote)
			return err_set(err, ERR_USAGE, "a quote (%c) is not closed", quote);
		if (typed) {
			CLEANUP(free_ptr) char *path = path_typed(buf_cstr(&word));
			strv_push_bytes(out, path, strlen(path));
		} else if (word.len || any) {
			strv_push_bytes(out, buf_cstr(&word), word.len);
		}
	}
}

/* The row of an option in "-n, --name VALUE   text" lines. Fills @name and @value (true: it takes
 *                                             one). */
static bool option_row(const char *table, const char *typed, size_t len, char name[32], bool *value)
{
	for (const char *l = table; *l; l += strcspn(l, "\n"), l += *l != 0) {
		const char *end = l + strcspn(l, "\n"), *at = memmem(l, (size_t)(end - l), "--", 2);
		if (!at)
			continue;
		size_t n = strcspn(at + 2, " \n.");
		bool is = typed[1] == '-' ? len == n + 2 && memcmp(at, typed, len) == 0
					  : len == 2 && l[0] == '-' && l[1] == typed[1];
		if (!is || n > 31)
			continue;
		memcpy(name, at + 2, n);
		name[n] = 0;
		*value = at[2 + n] == ' ' && at[3 + n] != ' ';
		return true;
	}
	return false;
}

/* An option that is given again has a list of values. */
static void cmdtable_put_value(json_t *opts, const char *name, const char *value)
{
	json_t *before = json_object_get(opts, name);
	if (json_is_array(before)) {
		json_array_append_new(before, json_string(value));
	} else if (before) {
		json_t *list = json_array();
		json_array_append(list, before);
		json_array_append_new(list, json_string(value));
		json_put(opts, name, list);
	} else {
		json_put_str(opts, name, value);
	}
}

static int cmdtable_option(struct cmd_line *out, const struct cmd_row *c, const struct strv *all,
			   size_t *i, struct err *err)
{
	static const char common[] = "-S, --in SESSION   which\n";
	const char *typed = all->item[*i];
	size_t len = strcspn(typed, "=");
	char name[32];
	bool value;
	if (!option_row(c->options, typed, len, name, &value) &&
	    !option_row(common, typed, len, name, &value))
		return err_set(err, ERR_USAGE, "'%s' has no option '%.*s'", c->name, (int)len,
			       typed);
	if (!value) {
		json_put_flag(out->opts, name, true);
		return 0;
	}
	const char *given = typed[len]	       ? typed + len + 1
			    : *i + 1 < all->nr ? all->item[++*i]
					       : NULL;
	if (!given)
		return err_set(err, ERR_USAGE, "--%s needs a value", name);
	cmdtable_put_value(out->opts, name, given);
	return 0;
}

int cmd_parse(struct cmd_line *out, const char *text, struct err *err)
{
	CLEANUP(strv_release) struct strv all = STRV_INIT;
	*out = (struct cmd_line){ .opts = json_object() };
	if (cmdtable_split(text, &all, err) < 0)
		return -1;
	const struct cmd_row *c = all.nr ? cmd_find(all.item[0]) : NULL;
	bool plain = false;
	for (size_t i = 0; i < all.nr; i++) {
		bool is_option = c && i > 0 && !plain && all.item[i][0] == '-' && all.item[i][1];
		if (is_option && strcmp(all.item[i], "--") == 0) {
			plain = true;
		} else if (is_option) {
			if (cmdtable_option(out, c, &all, &i, err) < 0)
				return -1;
		} else {
			strv_push_bytes(&out->words, all.item[i], all.len[i]);
			plain = plain || (c && i > 0 && cmdtable_tail_of(c));
		}
	}
	return 0;
}

void cmd_line_release(struct cmd_line *l)
{
	strv_release(&l->words);
	json_decref(l->opts);
	l->opts = NULL;
}
