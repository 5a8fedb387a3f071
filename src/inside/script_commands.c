#include "inside/script_commands.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum { COMMANDS_MAX = 32, HEX_DIGITS = 4, TEMPLATES_MAX = 16 };

struct reading {
	const char *p, *end, *text;
	const char *last; /* behind the last character of code that is not a space */
	/* Templates whose ${} is being read: the braces that are open in it. */
	unsigned braces[TEMPLATES_MAX];
	size_t templates;
};

static const char escape_from[] = "ntr\\'\"`/", escape_to[] = "\n\t\r\\'\"`/";

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void skip_space(struct reading *r)
{
	while (r->p < r->end && isspace((unsigned char)*r->p))
		r->p++;
}

static bool take_char(struct reading *r, char c)
{
	skip_space(r);
	if (r->p >= r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* \uXXXX of one character */
static bool take_hex(struct reading *r, struct buf *out)
{
	uint32_t cp = 0;
	char utf8[4];
	if (r->end - r->p < HEX_DIGITS)
		return false;
	for (int i = 0; i < HEX_DIGITS; i++, r->p++) {
		if (!isxdigit((unsigned char)*r->p))
			return false;
		cp = cp * 16 + (uint32_t)(isdigit((unsigned char)*r->p)
						  ? *r->p - '0'
						  : tolower((unsigned char)*r->p) - 'a' + 10);
	}
	if (!cp || (cp >= 0xd800 && cp < 0xe000))
		return false;
	buf_append(out, utf8, utf8_put(cp, utf8));
	return true;
}

static bool script_escape(struct reading *r, struct buf *out)
{
	if (r->p >= r->end)
		return false;
	if (*r->p == 'u') {
		r->p++;
		return take_hex(r, out);
	}
	const char *at = *r->p ? strchr(escape_from, *r->p) : NULL;
	if (!at)
		return false;
	buf_putc(out, escape_to[at - escape_from]);
	r->p++;
	return true;
}

/* A literal text, in any of the three quotes, without parts that are computed. */
static bool take_text(struct reading *r, struct buf *out)
{
	skip_space(r);
	char quote = r->p < r->end ? *r->p : 0;
	if (quote != '"' && quote != '\'' && quote != '`')
		return false;
	for (r->p++; r->p < r->end && *r->p != quote;) {
		char c = *r->p++;
		if (!c || (c == '\n' && quote != '`') ||
		    (quote == '`' && c == '$' && r->p < r->end && *r->p == '{'))
			return false;
		if (c != '\\')
			buf_putc(out, c);
		else if (!script_escape(r, out))
			return false;
	}
	return take_char(r, quote);
}

static bool script_word(struct reading *r, struct buf *out)
{
	skip_space(r);
	while (r->p < r->end && (is_word_char(*r->p) || *r->p == '.'))
		buf_putc(out, *r->p++);
	return out->len > 0;
}

struct script_call {
	struct buf cmd, dir;
	bool has_cmd, has_dir;
};

static void script_call_release(struct script_call *c)
{
	buf_release(&c->cmd);
	buf_release(&c->dir);
}

static bool take_call_value(struct buf *out, bool *has, const struct buf *value)
{
	if (*has)
		return false;
	buf_append(out, value->data, value->len);
	*has = true;
	return true;
}

/* One pair of an object whose values are texts, numbers, true or false. */
static bool take_pair(struct reading *r, struct script_call *call)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT, value = BUF_INIT;
	skip_space(r);
	bool quoted = r->p < r->end && !is_word_char(*r->p);
	if (!(quoted ? take_text(r, &key) : script_word(r, &key)) || !take_char(r, ':'))
		return false;
	skip_space(r);
	bool text = r->p < r->end && strchr("\"'`", *r->p) && *r->p;
	const char *k = buf_cstr(&key);
	if (!text) {
		if (!script_word(r, &value))
			return false;
		const char *v = buf_cstr(&value);
		return strcmp(k, "cmd") != 0 && strcmp(k, "workdir") != 0 &&
		       (isdigit((unsigned char)*v) || !strcmp(v, "true") || !strcmp(v, "false"));
	}
	if (!take_text(r, &value))
		return false;
	if (!strcmp(k, "cmd"))
		return take_call_value(&call->cmd, &call->has_cmd, &value);
	if (!strcmp(k, "workdir"))
		return take_call_value(&call->dir, &call->has_dir, &value);
	return strcmp(k, "shell") != 0; /* any program may be the shell */
}

/* After "tools": .exec_command({cmd: "...", ...}) */
static bool take_call(struct reading *r, struct strv *out, struct strv *dirs)
{
	static const char name[] = ".exec_command";
	CLEANUP(script_call_release) struct script_call call = { 0 };
	if ((size_t)(r->end - r->p) < sizeof(name) || memcmp(r->p, name, sizeof(name) - 1) != 0)
		return false;
	r->p += sizeof(name) - 1;
	if (!take_char(r, '(') || !take_char(r, '{'))
		return false;
	do {
		skip_space(r);
		if (r->p < r->end && *r->p == '}')
			break;
		if (!take_pair(r, &call))
			return false;
	} while (take_char(r, ','));
	if (!take_char(r, '}') || !take_char(r, ')') || !call.has_cmd || !call.cmd.len)
		return false;
	strv_push(out, buf_cstr(&call.cmd));
	strv_push(dirs, buf_cstr(&call.dir));
	return true;
}

static bool script_commands_begin_at(const struct reading *r, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(r->end - r->p) >= n && !memcmp(r->p, word, n);
}

static const char *word_begin(const char *text, const char *end)
{
	while (end > text && is_word_char(end[-1]))
		end--;
	return end;
}

static bool span_equals(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) == strlen(word) && !memcmp(at, word, strlen(word));
}

static const char *space_begin(const char *text, const char *end)
{
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	return end;
}

/* "const NAME of": elsewhere "of" may be a name. */
static bool is_const_of(const char *text, const char *of)
{
	const char *end = space_begin(text, of), *name = word_begin(text, end);
	const char *before = space_begin(text, name);
	return name < end && before < name &&
	       span_equals(word_begin(text, before), before, "const");
}

/* Does a keyword end at @end, behind which a list begins? */
static bool is_keyword(const char *text, const char *end)
{
	static const char *const words[] = { "const", "let", "var", "return", "await", "in" };
	const char *at = word_begin(text, end);
	if (at > text && at[-1] == '.')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_equals(at, end, words[i]))
			return true;
	return span_equals(at, end, "of") && is_const_of(text, at);
}

/* Names that reach others or make code from text, also as the text that is a key. */
static bool is_opaque_word(const struct reading *r)
{
	static const char *const words[] = { "\\u",	    "eval",	   "Function",
					     "import",	    "require",	   "setTimeout",
					     "setInterval", "constructor", "prototype",
					     "Reflect",	    "Proxy",	   "globalThis" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (script_commands_begin_at(r, words[i]))
			return true;
	return false;
}

static bool is_this(const struct reading *r)
{
	const char *end = r->p + strlen("this");
	return script_commands_begin_at(r, "this") &&
	       (r->p == r->text || !is_word_char(r->p[-1])) &&
	       (end == r->end || !is_word_char(*end));
}

/* Code that reaches a name that is not written, or that this reader doesn't know. */
static bool is_opaque(const struct reading *r)
{
	char before = r->last > r->text ? r->last[-1] : 0, c = *r->p;
	if (!c || c == '\\' || (unsigned char)c >= 0x80 || is_opaque_word(r) || is_this(r))
		return true;
	if (script_commands_begin_at(r, "<!--") || script_commands_begin_at(r, "-->") ||
	    (c == '#' && r->p == r->text)) /* comments of some scripts */
		return true;
	if (c == ':' && before == ']') /* a computed key */
		return true;
	return c == '[' && before && !is_keyword(r->text, r->last) &&
	       (is_word_char(before) || strchr(")]}\"'`?.", before));
}

/* The rest of a text, or of a template up to its next ${}. It may be a key of an object. */
static bool skip_text(struct reading *r, char quote)
{
	for (; r->p < r->end && *r->p != quote; r->p++) {
		if (quote == '`' && script_commands_begin_at(r, "${")) {
			if (r->templates == TEMPLATES_MAX)
				return false;
			r->braces[r->templates++] = 0;
			r->last = r->p += strlen("${");
			return true;
		}
		if (!*r->p || (quote != '`' && strchr("\n\r", *r->p)) || is_opaque_word(r) ||
		    script_commands_begin_at(r, "tools"))
			return false;
		if (*r->p == '\\' && (++r->p >= r->end || !*r->p || !strchr(escape_from, *r->p)))
			return false;
	}
	if (r->p >= r->end)
		return false;
	r->last = ++r->p;
	return true;
}

/* False for another slash: it may begin a regular expression, which this reader doesn't know. */
static bool skip_comment(struct reading *r)
{
	bool line = script_commands_begin_at(r, "//");
	if (!line && !script_commands_begin_at(r, "/*"))
		return false;
	for (r->p += 2; r->p < r->end; r->p++) {
		if (line && (*r->p == '\n' || *r->p == '\r'))
			return true;
		/* these characters end a line, too */
		if (line && (script_commands_begin_at(r, "\xe2\x80\xa8") ||
			     script_commands_begin_at(r, "\xe2\x80\xa9")))
			return false;
		if (!line && script_commands_begin_at(r, "*/")) {
			r->p += 2;
			return true;
		}
	}
	return line;
}

static bool script_brace(struct reading *r, char c)
{
	unsigned *open = r->templates ? &r->braces[r->templates - 1] : NULL;
	r->last = ++r->p;
	if (open && c == '}' && !*open) {
		r->templates--;
		return skip_text(r, '`');
	}
	if (open)
		*open += c == '{' ? 1u : -1u;
	return true;
}

/* Only code is searched for calls: the text of a call in a string or comment would hide code. */
static bool script_step(struct reading *r, struct strv *found, struct strv *dirs)
{
	char c = *r->p;
	if (isspace((unsigned char)c)) {
		r->p++;
		return true;
	}
	if (c == '/')
		return skip_comment(r);
	if (is_opaque(r))
		return false;
	if (strchr("\"'`", c)) {
		r->p++;
		return skip_text(r, c);
	}
	if (c == '{' || c == '}')
		return script_brace(r, c);
	bool good = true;
	if (script_commands_begin_at(r, "tools")) {
		r->p += strlen("tools");
		good = take_call(r, found, dirs);
	} else {
		r->p++;
	}
	r->last = r->p;
	return good;
}

bool script_commands(const char *text, size_t len, struct strv *out, struct strv *dirs)
{
	CLEANUP(strv_release) struct strv found = STRV_INIT, found_dirs = STRV_INIT;
	struct reading r = { .p = text, .end = text + len, .text = text, .last = text };
	bool good = true;
	while (good && r.p < r.end)
		good = found.nr < COMMANDS_MAX && script_step(&r, &found, &found_dirs);
	good = good && !r.templates;
	for (size_t i = 0; good && i < found.nr; i++) {
		strv_push(out, found.item[i]);
		strv_push(dirs, found_dirs.item[i]);
	}
	return good && found.nr;
}
