/* The forms in which a value turns up when programs pass it on. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/secrets.h"

struct maker {
	secret_form_fn *each;
	void *self;
};

static void secrets_forms_give(const struct maker *m, struct buf *form)
{
	m->each(m->self, form->data, form->len);
	secret_wipe(form->data, form->len);
	buf_reset(form);
}

/* The text between the quotes of a JSON string. False: it is not text. */
static bool secrets_forms_put_json(struct buf *out, const char *text, size_t len, size_t flags)
{
	json_t *j = json_stringn(text, len);
	if (!j)
		return false;
	char *quoted = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT | flags);
	json_decref(j);
	assert(quoted);
	size_t n = strlen(quoted);
	buf_append(out, quoted + 1, n - 2);
	secret_wipe(quoted, n);
	free(quoted);
	return true;
}

/* Some write \u00E4, most \u00e4. */
static void small_digits(struct buf *text)
{
	for (size_t i = 0; i + 6 <= text->len; i++) {
		if (text->data[i] != '\\')
			continue;
		if (text->data[i + 1] == 'u')
			for (size_t k = i + 2; k < i + 6; k++)
				text->data[k] = (char)tolower((unsigned char)text->data[k]);
		i++;
	}
}

static void json_form(const struct maker *m, struct buf *once)
{
	CLEANUP(buf_release) struct buf twice = BUF_INIT;
	if (secrets_forms_put_json(&twice, once->data, once->len, 0))
		secrets_forms_give(m, &twice);
	m->each(m->self, once->data, once->len);
}

static void json_forms(const struct maker *m, const char *value, size_t len)
{
	static const size_t how[] = { 0, JSON_ESCAPE_SLASH, JSON_ENSURE_ASCII,
				      JSON_ESCAPE_SLASH | JSON_ENSURE_ASCII };
	CLEANUP(buf_release) struct buf once = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		if (!secrets_forms_put_json(&once, value, len, how[i]))
			return; /* in JSON it can stand as base64 only */
		json_form(m, &once);
		small_digits(&once);
		json_form(m, &once);
		secret_wipe(once.data, once.len);
		buf_reset(&once);
	}
}

/* The characters that depend on nothing but the value, wherever in a longer text it stands. */
static void base64_forms(const struct maker *m, const char *value, size_t len)
{
	CLEANUP(buf_release) struct buf shifted = BUF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf form = BUF_INIT;
	for (size_t before = 0; before < 3; before++) {
		size_t from = (before * 8 + 5) / 6, until = (before + len) * 8 / 6;
		buf_append(&shifted, "\0\0", before);
		buf_append(&shifted, value, len);
		base64_append(&text, shifted.data, shifted.len);
		buf_append(&form, text.data + from, until - from);
		secrets_forms_give(m, &form);
		for (size_t i = from; i < until; i++)
			buf_putc(&form, text.data[i] == '+'   ? '-'
					: text.data[i] == '/' ? '_'
							      : text.data[i]);
		secrets_forms_give(m, &form);
		secret_wipe(text.data, text.len);
		secret_wipe(shifted.data, shifted.len);
		buf_reset(&text);
		buf_reset(&shifted);
	}
}

static void url_form(const struct maker *m, const char *value, size_t len, const char *plain,
		     const char *digits, bool plus)
{
	CLEANUP(buf_release) struct buf form = BUF_INIT;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];
		if (c && c < 0x80 && (isalnum(c) || strchr(plain, c))) {
			buf_putc(&form, (char)c);
		} else if (c == ' ' && plus) {
			buf_putc(&form, '+');
		} else {
			buf_putc(&form, '%');
			buf_putc(&form, digits[c >> 4]);
			buf_putc(&form, digits[c & 15]);
		}
	}
	secrets_forms_give(m, &form);
}

static void hex_forms(const struct maker *m, const char *value, size_t len)
{
	CLEANUP(buf_release) struct buf form = BUF_INIT;
	hex_append(&form, value, len);
	secrets_forms_give(m, &form);
	hex_append(&form, value, len);
	for (size_t i = 0; i < form.len; i++)
		form.data[i] = (char)toupper((unsigned char)form.data[i]);
	secrets_forms_give(m, &form);
}

void secret_forms(const char *value, size_t len, secret_form_fn *each, void *self)
{
	/* RFC 3986, JavaScript, HTML forms */
	static const char *const plain[] = { "-_.~", "-_.!~*'()", "-_.*" };
	const struct maker m = { each, self };
	each(self, value, len);
	json_forms(&m, value, len);
	base64_forms(&m, value, len);
	hex_forms(&m, value, len);
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		url_form(&m, value, len, plain[i], "0123456789ABCDEF", i == 2);
		url_form(&m, value, len, plain[i], "0123456789abcdef", i == 2);
	}
}
