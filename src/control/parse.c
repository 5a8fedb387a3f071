/* A command line, taken apart by the table of registry.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/control_priv.h"

void command_line_release(struct command_line *l)
{
	strv_release(&l->words);
	strv_release(&l->rest);
	for (size_t i = 0; i < l->nr_options; i++) {
		free(l->option[i].name);
		free(l->option[i].value);
	}
	free(l->option);
	*l = COMMAND_LINE_INIT;
}

static const char *row_key(const struct option_row *r, char letter[2])
{
	letter[0] = r->letter;
	letter[1] = 0;
	return r->name[0] ? r->name : letter;
}

static void parse_add_option(struct command_line *l, const struct option_row *r, const char *value)
{
	char letter[2];
	GROW(l->option, l->nr_options, l->cap_options);
	l->option[l->nr_options++] = (struct command_option){
		.name = mem_strdup(row_key(r, letter)),
		.value = value ? mem_strdup(value) : NULL,
	};
}

/* --- which option is meant --------------------------------------------------------------------
 */

/* Both tables in turn: the command's own rows first. */
struct rows {
	const char *own, *common;
};

static bool rows_next(struct rows *r, struct option_row *out)
{
	return option_next(&r->own, out) || option_next(&r->common, out);
}

static struct rows parse_rows_of(const struct command *c)
{
	return (struct rows){ .own = c ? c->options : "", .common = common_options };
}

/* "events: ", where an error is; nothing before there is a command. */
static const char *error_place(const struct command *c, char out[64])
{
	snprintf(out, 64, "%s%s", c ? c->name : "", c ? ": " : "");
	return out;
}

enum { OPTIONS_MAX = 64 };

/* The replacement of a removed option; NULL: @option never existed. */
static const char *option_is_gone(const char *command, const char *option)
{
	static const struct {
		const char *command, *option, *now;
	} gone[] = {
		{ "undo", "again",
		  "Run 'undo' again to restore the files of a rollback, and 'merge' to merge again." },
	};
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		if (!strcmp(gone[i].command, command) && !strcmp(gone[i].option, option))
			return gone[i].now;
	return NULL;
}

static int find_long(const struct command *c, const char *name, size_t len, struct option_row *out,
		     struct err *err)
{
	struct rows rows = parse_rows_of(c);
	struct option_row r;
	CLEANUP(buf_release) struct buf begun = BUF_INIT;
	static_assert(sizeof(r.name) <= 64, "names are copied for the suggestion");
	char names[OPTIONS_MAX][sizeof(r.name)];
	const char *candidate[OPTIONS_MAX];
	size_t nr = 0, nr_begun = 0;
	char place[64];
	while (rows_next(&rows, &r)) {
		if (!r.name[0])
			continue;
		if (strlen(r.name) == len && !memcmp(r.name, name, len)) {
			*out = r;
			return 0;
		}
		if (!strncmp(r.name, name, len)) {
			buf_printf(&begun, "%s--%s", nr_begun ? ", " : "", r.name);
			if (nr_begun++ == 0)
				*out = r;
		}
		if (nr < OPTIONS_MAX) {
			memcpy(names[nr], r.name, sizeof(r.name));
			candidate[nr] = names[nr];
			nr++;
		}
	}
	if (nr_begun == 1)
		return 0;
	CLEANUP(free_ptr) char *word = mem_strndup(name, len);
	if (c && option_is_gone(c->name, word))
		return err_set(err, ERR_USAGE, "%soption '--%s' was removed\n%s",
			       error_place(c, place), word, option_is_gone(c->name, word));
	if (nr_begun > 1)
		return err_set(err, ERR_USAGE, "%sambiguous option '--%s': %s",
			       error_place(c, place), word, buf_cstr(&begun));
	const char *near = word_nearest(word, candidate, nr);
	if (near)
		return err_set(err, ERR_USAGE, "%sunknown option '--%s'; did you mean '--%s'?",
			       error_place(c, place), word, near);
	return err_set(err, ERR_USAGE, "%sunknown option '--%s'", error_place(c, place), word);
}

static int find_letter(const struct command *c, char letter, struct option_row *out,
		       struct err *err)
{
	struct rows rows = parse_rows_of(c);
	char place[64];
	while (rows_next(&rows, out))
		if (out->letter == letter)
			return 0;
	if (letter < ' ' || letter > '~')
		return err_set(err, ERR_USAGE, "%sunknown option", error_place(c, place));
	return err_set(err, ERR_USAGE, "%sunknown option '-%c'", error_place(c, place), letter);
}

/* --- the words --------------------------------------------------------------------------------
 */

struct arity {
	size_t min, max;
	bool rest; /* words after "--" belong to another program */
};

static struct arity arity_of(const char *usage)
{
	struct arity all = { .min = SIZE_MAX }, form = { 0 };
	int depth = 0;
	for (const char *s = usage;; s++) {
		if (*s == '[') {
			depth++;
		} else if (*s == ']') {
			depth--;
		} else if (*s == '|' || !*s) {
			if (form.min < all.min)
				all.min = form.min;
			if (form.max > all.max)
				all.max = form.max;
			form = (struct arity){ 0 };
			if (!*s)
				return all;
		} else if (*s != ' ') {
			size_t n = strcspn(s, " []");
			if (n == 2 && !memcmp(s, "--", 2)) {
				/* what follows is not ours to count */
				all.rest = true;
				s += strcspn(s, "]|");
				s--;
				continue;
			}
			form.min += depth == 0;
			form.max =
				n > 3 && !memcmp(s + n - 3, "...", 3) ? SIZE_MAX / 2 : form.max + 1;
			s += n - 1;
		}
	}
}

/* The option that names the session for a command without a session operand; NULL: @word is not a
 * session, or no option does. */
static const char *session_option(const struct command *c, const char *word)
{
	if (strncmp(word, "s-", 2) != 0 || !word[2])
		return NULL;
	return strstr(c->options, "--in SESSION") ? "--in"
	       : strstr(c->options, "--at ID")	  ? "--at"
						  : NULL;
}

static int parse_surplus(const struct command_line *l, size_t max, struct err *err)
{
	for (size_t i = 0; i < l->words.nr; i++) {
		const char *option = session_option(l->command, l->words.item[i]);
		if (option)
			return err_set(
				err, ERR_USAGE,
				"%s: unexpected argument: '%s'\nName the session with '%s %s'.",
				l->command->name, l->words.item[i], option, l->words.item[i]);
	}
	return err_set(err, ERR_USAGE, "%s: unexpected argument: '%s'", l->command->name,
		       l->words.item[max]);
}

/* The operand of @usage after @nr required ones; of a usage with several forms, the first word of
 * each. */
static void missing_operand(const char *usage, size_t nr, struct buf *out)
{
	const char *rest = usage, *form;
	size_t len;
	int depth = 0;
	for (size_t i = 0; strstr(usage, " | ") && usage_next(&rest, &form, &len); i++)
		buf_printf(out, "%s%.*s",
			   !i	   ? ""
			   : rest  ? ", "
			   : i > 1 ? ", or "
				   : " or ",
			   (int)strcspn(form, " "), form);
	for (const char *s = usage; *s && !out->len; s += strspn(s, " ")) {
		int n = (int)strcspn(s, " ");
		bool optional = depth || *s == '[';
		for (int i = 0; i < n; i++)
			depth += (s[i] == '[') - (s[i] == ']');
		if (!optional && !nr--)
			buf_printf(out, "%.*s", n > 3 && s[n - 1] == '.' ? n - 3 : n, s);
		s += n;
	}
}

int command_check_words(const struct command_line *l, struct err *err)
{
	/* who asks for help may be short of words */
	if (!l->command || command_has(l, "help") || command_has(l, "h"))
		return 0;
	struct arity a = arity_of(l->command->usage);
	if (l->words.nr < a.min) {
		CLEANUP(buf_release) struct buf operand = BUF_INIT;
		missing_operand(l->command->usage, l->words.nr, &operand);
		return err_set(err, ERR_USAGE, "%s: missing argument: %s", l->command->name,
			       buf_cstr(&operand));
	}
	if (l->words.nr > a.max)
		return parse_surplus(l, a.max, err);
	return 0;
}

static int set_command(struct command_line *l, const char *name, struct err *err)
{
	l->command = command_find(name);
	if (l->command)
		return 0;
	const char *now = command_renamed(name);
	if (now)
		return err_set(err, ERR_USAGE, "command '%s' was renamed\n%s", name, now);
	const char *near = command_nearest(name);
	return near ? err_set(err, ERR_USAGE, "unknown command '%s'; did you mean '%s'?", name,
			      near)
		    : err_set(err, ERR_USAGE, "unknown command '%s'", name);
}

struct words {
	char *const *argv;
	size_t nr, at;
};

static int no_value(const struct command_line *l, const char *dashes, const char *name,
		    const struct option_row *r, struct err *err)
{
	char place[64];
	return err_set(err, ERR_USAGE, "%smissing value: %s%s %s", error_place(l->command, place),
		       dashes, name, r->value);
}

static int parse_long_option(struct command_line *l, struct words *w, struct err *err)
{
	const char *name = w->argv[w->at++] + 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	struct option_row r;
	if (find_long(l->command, name, len, &r, err) < 0)
		return -1;
	const char *value = eq ? eq + 1 : NULL;
	char place[64];
	if (!r.value[0] && eq)
		return err_set(err, ERR_USAGE, "%soption '--%s' takes no value",
			       error_place(l->command, place), r.name);
	if (r.value[0] && !value) {
		if (w->at == w->nr)
			return no_value(l, "--", r.name, &r, err);
		value = w->argv[w->at++];
	}
	parse_add_option(l, &r, value);
	return 0;
}

static int letter_options(struct command_line *l, struct words *w, struct err *err)
{
	const char *s = w->argv[w->at++] + 1;
	for (; *s; s++) {
		struct option_row r;
		char name[2] = { *s, 0 };
		if (find_letter(l->command, *s, &r, err) < 0)
			return -1;
		if (!r.value[0]) {
			/* -h and --help differ: the one is short */
			if (*s == 'h')
				memcpy(r.name, "h", 2);
			parse_add_option(l, &r, NULL);
			continue;
		}
		if (s[1])
			parse_add_option(l, &r, s + 1);
		else if (w->at == w->nr)
			return no_value(l, "-", name, &r, err);
		else
			parse_add_option(l, &r, w->argv[w->at++]);
		return 0;
	}
	return 0;
}

/* "#405" and "-5"-like words are operands; "-" alone, too. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9');
}

/* "-S", "--in", or "--in=ID": how many words the option takes at @at; 0: it is not that option. The
 * session must be an id: other words are text. */
static size_t session_words(const struct words *w, size_t at, const char **value_out)
{
	const char *word = at < w->nr ? w->argv[at] : "",
		   *next = at + 1 < w->nr ? w->argv[at + 1] : "";
	bool joined = !strncmp(word, "--in=", 5),
	     apart = !strcmp(word, "-S") || !strcmp(word, "--in"),
	     letter = !strncmp(word, "-Ss-", 4);
	*value_out = joined ? word + 5 : letter ? word + 2 : next;
	return (joined || apart || letter) && !strncmp(*value_out, "s-", 2) ? apart ? 2 : 1 : 0;
}

/* A command that takes free text still knows the session when it is named right before the text or
 * last: "-S s-7k2m9q". */
static void session_around_text(struct command_line *l, struct words *w)
{
	struct option_row r;
	struct err none = ERR_INIT;
	const char *value;
	if (find_letter(l->command, 'S', &r, &none) < 0)
		return;
	size_t n = session_words(w, w->at + 1, &value);
	if (n) {
		parse_add_option(l, &r, value);
		w->at += n;
		return;
	}
	for (n = 2; n > 0 && w->nr > w->at + n; n--)
		if (session_words(w, w->nr - n, &value) == n) {
			parse_add_option(l, &r, value);
			w->nr -= n;
			return;
		}
}

/* The first operand of a command that takes free text: options end, but for the session. "--" makes
 * text of all that follows. */
static void begin_text(struct command_line *l, struct words *w)
{
	size_t before = w->at;
	if (w->at + 1 < w->nr && !strcmp(w->argv[w->at + 1], "--")) {
		w->at++;
		return;
	}
	session_around_text(l, w);
	if (w->at > before && w->at + 1 < w->nr && !strcmp(w->argv[w->at + 1], "--"))
		w->at++;
}

int command_parse_loose(struct command_line *out, char *const *argv, size_t nr, struct err *err)
{
	struct words w = { .argv = argv, .nr = nr };
	bool options = true;
	while (w.at < w.nr) {
		const char *word = argv[w.at];
		if (options && !strcmp(word, "--")) {
			w.at++;
			if (!out->command || !arity_of(out->command->usage).rest) {
				options = false;
				continue;
			}
			for (; w.at < w.nr; w.at++)
				strv_push(&out->rest, argv[w.at]);
		} else if (options && !strncmp(word, "--", 2)) {
			if (parse_long_option(out, &w, err) < 0)
				return -1;
		} else if (options && is_option(word)) {
			if (letter_options(out, &w, err) < 0)
				return -1;
		} else if (!out->command) {
			if (set_command(out, word, err) < 0)
				return -1;
			w.at++;
		} else {
			strv_push(&out->words, word);
			if ((out->command->flags & COMMAND_TAIL) &&
			    !arity_of(out->command->usage).rest && options) {
				options = false;
				begin_text(out, &w);
			}
			w.at++;
		}
	}
	return 0;
}

int command_parse(struct command_line *out, char *const *argv, size_t nr, struct err *err)
{
	return command_parse_loose(out, argv, nr, err) < 0 ? -1 : command_check_words(out, err);
}

/* --- a typed line -----------------------------------------------------------------------------
 */

static int parse_split(const char *s, struct strv *out, struct err *err)
{
	CLEANUP(buf_release) struct buf word = BUF_INIT;
	bool inside = false;
	for (; *s; s++) {
		if (*s == ' ' || *s == '\t' || *s == '\n') {
			if (inside)
				strv_push_bytes(out, buf_cstr(&word), word.len);
			inside = false;
			buf_reset(&word);
			continue;
		}
		inside = true;
		if (*s == '\\' && s[1]) {
			buf_putc(&word, *++s);
		} else if (*s == '\'' || *s == '"') {
			char quote = *s++;
			for (; *s && *s != quote; s++) {
				if (*s == '\\' && quote == '"' && (s[1] == '"' || s[1] == '\\'))
					s++;
				buf_putc(&word, *s);
			}
			if (!*s)
				return err_set(err, ERR_USAGE, "missing closing quote: %c", quote);
		} else {
			buf_putc(&word, *s);
		}
	}
	if (inside)
		strv_push_bytes(out, buf_cstr(&word), word.len);
	return 0;
}

int command_parse_text(struct command_line *out, const char *line, struct err *err)
{
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	while (*line == ' ' || *line == ':')
		line++;
	if (parse_split(line, &words, err) < 0)
		return -1;
	return command_parse(out, words.item, words.nr, err);
}

/* --- what was given ---------------------------------------------------------------------------
 */

const char *command_opt_nth(const struct command_line *l, const char *name, size_t n)
{
	for (size_t i = 0; i < l->nr_options; i++)
		if (!strcmp(l->option[i].name, name) && n-- == 0)
			return l->option[i].value;
	return NULL;
}

bool command_has(const struct command_line *l, const char *name)
{
	for (size_t i = 0; i < l->nr_options; i++)
		if (!strcmp(l->option[i].name, name))
			return true;
	return false;
}

const char *command_opt(const struct command_line *l, const char *name)
{
	for (size_t i = l->nr_options; i-- > 0;)
		if (!strcmp(l->option[i].name, name))
			return l->option[i].value;
	return NULL;
}

int command_opt_int(const struct command_line *l, const char *name, int64_t min, int64_t max,
		    int64_t *out, struct err *err)
{
	const char *text = command_opt(l, name);
	char *end;
	if (!text)
		return 0;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		return err_set(err, ERR_USAGE,
			       "--%s: expected a number from %lld to %lld, got '%s'", name,
			       (long long)min, (long long)max, text);
	*out = v;
	return 0;
}
