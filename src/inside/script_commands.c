#include "inside/script_commands.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum { COMMANDS_MAX = 32, HEX_DIGITS = 4 };

struct reading {
	const char *p, *end;
};

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
	static const char from[] = "ntr\\'\"`/", to[] = "\n\t\r\\'\"`/";
	if (r->p >= r->end)
		return false;
	if (*r->p == 'u') {
		r->p++;
		return take_hex(r, out);
	}
	const char *at = *r->p ? strchr(from, *r->p) : NULL;
	if (!at)
		return false;
	buf_putc(out, to[at - from]);
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

/* One pair of an object whose values are texts, numbers, true or false. */
static bool take_pair(struct reading *r, struct buf *cmd, bool *has_cmd)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT, value = BUF_INIT;
	skip_space(r);
	bool quoted = r->p < r->end && !is_word_char(*r->p);
	if (!(quoted ? take_text(r, &key) : script_word(r, &key)) || !take_char(r, ':'))
		return false;
	skip_space(r);
	bool text = r->p < r->end && strchr("\"'`", *r->p) && *r->p;
	if (!text) {
		if (!script_word(r, &value))
			return false;
		const char *v = buf_cstr(&value);
		return strcmp(buf_cstr(&key), "cmd") != 0 &&
		       (isdigit((unsigned char)*v) || !strcmp(v, "true") || !strcmp(v, "false"));
	}
	if (!take_text(r, &value))
		return false;
	if (strcmp(buf_cstr(&key), "cmd") != 0)
		return true;
	if (*has_cmd)
		return false;
	buf_append(cmd, value.data, value.len);
	*has_cmd = true;
	return true;
}

/* After "tools": .exec_command({cmd: "...", ...}) */
static bool take_call(struct reading *r, struct strv *out)
{
	static const char name[] = ".exec_command";
	CLEANUP(buf_release) struct buf cmd = BUF_INIT;
	bool has_cmd = false;
	if ((size_t)(r->end - r->p) < sizeof(name) || memcmp(r->p, name, sizeof(name) - 1) != 0)
		return false;
	r->p += sizeof(name) - 1;
	if (!take_char(r, '(') || !take_char(r, '{'))
		return false;
	do {
		skip_space(r);
		if (r->p < r->end && *r->p == '}')
			break;
		if (!take_pair(r, &cmd, &has_cmd))
			return false;
	} while (take_char(r, ','));
	if (!take_char(r, '}') || !take_char(r, ')') || !has_cmd || !cmd.len)
		return false;
	strv_push(out, buf_cstr(&cmd));
	return true;
}

static bool script_commands_begin_at(const struct reading *r, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(r->end - r->p) >= n && !memcmp(r->p, word, n);
}

/* Does a keyword end at @end, behind which a list begins? */
static bool is_keyword(const char *text, const char *end)
{
	static const char *const words[] = { "const", "let", "var", "return", "await", "of", "in" };
	const char *at = end;
	while (at > text && is_word_char(at[-1]))
		at--;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if ((size_t)(end - at) == strlen(words[i]) &&
		    !memcmp(at, words[i], strlen(words[i])) && (at == text || at[-1] != '.'))
			return true;
	return false;
}

/* Ways to reach a name that is not written, or to make code from text. */
static bool is_opaque(const struct reading *r, const char *text)
{
	static const char *const words[] = { "\\u",	    "eval",	   "Function",
					     "import",	    "require",	   "setTimeout",
					     "setInterval", "constructor", "prototype",
					     "Reflect",	    "Proxy" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (script_commands_begin_at(r, words[i]))
			return true;
	const char *before = r->p;
	while (before > text && isspace((unsigned char)before[-1]))
		before--;
	return *r->p == '[' && before > text && !is_keyword(text, before) &&
	       (is_word_char(before[-1]) || strchr(")]}\"'`?.", before[-1]));
}

bool script_commands(const char *text, size_t len, struct strv *out)
{
	CLEANUP(strv_release) struct strv found = STRV_INIT;
	struct reading r = { text, text + len };
	bool good = true;
	while (good && r.p < r.end) {
		good = *r.p && !is_opaque(&r, text) && found.nr < COMMANDS_MAX;
		if (good && script_commands_begin_at(&r, "tools")) {
			r.p += strlen("tools");
			good = take_call(&r, &found);
		} else {
			r.p++;
		}
	}
	for (size_t i = 0; good && i < found.nr; i++)
		strv_push(out, found.item[i]);
	return good && found.nr;
}
