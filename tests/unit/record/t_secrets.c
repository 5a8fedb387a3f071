/* Values in every form and at every split: found, replaced, and nothing else touched. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "record/secrets.h"
#include "tests/unit/tap.h"

static const char value[] = "s/e+c \"re\\t=\xc3\xa4-Zq81";

struct forms {
	struct strv list;
};

static void collect(void *self, const void *bytes, size_t len)
{
	strv_push_bytes(self, bytes, len);
}

static const char *clean(const struct secrets *s, const char *text)
{
	static struct buf out;
	buf_reset(&out);
	if (!secrets_clean(s, text, strlen(text), &out))
		buf_puts(&out, text);
	return buf_cstr(&out);
}

static const char *clean_body(const struct secrets *s, const char *text)
{
	static struct buf out;
	buf_reset(&out);
	if (!secrets_clean_body(s, text, strlen(text), &out))
		buf_puts(&out, text);
	return buf_cstr(&out);
}

/* a secret split over two chunks: each form at each place, and byte by byte */
static void splits(const struct secrets *s, const struct strv *forms)
{
	int wrong = 0, tried = 0;
	for (size_t f = 0; f < forms->nr; f++) {
		size_t len = strlen(forms->item[f]);
		if (len < SECRET_SHORTEST)
			continue;
		CLEANUP(free_ptr) char *text = mem_printf("before %s after", forms->item[f]);
		size_t all = strlen(text);
		for (size_t at = 0; at <= all + 1; at++, tried++) {
			CLEANUP(buf_release) struct buf held = BUF_INIT;
			CLEANUP(buf_release) struct buf out = BUF_INIT;
			if (at <= all) {
				secrets_stream(s, &held, text, at, false, &out);
				secrets_stream(s, &held, text + at, all - at, false, &out);
			} else {
				for (size_t i = 0; i < all; i++)
					secrets_stream(s, &held, text + i, 1, false, &out);
			}
			secrets_stream(s, &held, "", 0, true, &out);
			/* an encoding may be part of a longer one: only the absence of the secret matters */
			wrong += strncmp(buf_cstr(&out), "before ", 7) != 0 || !strstr(buf_cstr(&out), "<secret:K>") ||
				 strstr(buf_cstr(&out), forms->item[f]) != NULL;
		}
	}
	ok(tried > 500, "a secret split over two chunks: %d splits", tried);
	is_int(wrong, 0, "none of them shows it");
}

static void words(void)
{
	struct err err = ERR_INIT;
	struct secrets *s = secrets_new();
	ok(!secrets_any(s) && !secrets_within(s, "abc", 3), "nothing is hidden without a value");
	ok(secrets_add(s, "short", "12345", 5, &err) < 0, "too short: %s", err.text);
	ok(secrets_add(s, "A", "nabcdefgh", 9, &err) == 0 && secrets_add(s, "B", "nabcdefghijk", 12, &err) == 0 &&
		   secrets_add(s, "C x\"", "Wonderland", 10, &err) == 0, "three values");
	is_str(clean(s, "xnabcdefghijknabcdefghWonderlandnabcdefg"), "x<secret:B><secret:A><secret:C_x_>nabcdefg",
	       "the longer one wins, a beginning stays");
	is_str(clean_body(s, "{\"t\":\"\\nabcdefgh Wonderland\"}"), "{\"t\":\"\\nabcdefgh <secret:C_x_>\"}",
	       "half of an escape is not the beginning of a value");
	is_str(clean_body(s, "{\"Wonderland\":{\"b64\":\"/1dvbmRlcmxhbmT/\"}}"),
	       "{\"<secret:C_x_>\":{\"b64\":\"/zxzZWNyZXQ6Q194Xz7/\"}}", "in names, and behind base64");
	is_str(clean_body(s, "{\"n\":12345678}"), "{\"n\":12345678}", "others stay as they are");
	is_str(clean(s, "Basic dXNlcjpXb25kZXJsYW5kIQ=="), "Basic dXNlcjp<secret:C_x_>IQ==", "in the middle of base64");
	struct secrets *copy = secrets_copy(s);
	struct hash one, other;
	secrets_fingerprint(s, "salt", 4, &one);
	secrets_fingerprint(copy, "salt", 4, &other);
	ok(hash_eq(&one, &other), "a copy has the same fingerprint");
	secrets_fingerprint(copy, "tlas", 4, &other);
	ok(!hash_eq(&one, &other), "under another salt another one");
	ok(secrets_add(copy, "D", "something else", 14, &err) == 0, "one more");
	secrets_fingerprint(copy, "salt", 4, &other);
	ok(!hash_eq(&one, &other), "more values, another one");
	secrets_free(&s);
	is_str(clean(copy, "Wonderland"), "<secret:C_x_>", "the copy lives on");
	secrets_free(&copy);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct strv forms = STRV_INIT;
	struct secrets *s = secrets_new();
	hash_init();
	words();
	ok(secrets_add(s, "K", value, strlen(value), &err) == 0, "a value with everything in it");
	secret_forms(value, strlen(value), collect, &forms);
	static const char *const known[] = {
		"s/e+c \\\"re\\\\t=\xc3\xa4-Zq81",		 /* JSON */
		"s\\/e+c \\\"re\\\\t=\\u00e4-Zq81",		 /* JSON in ASCII, slash escaped */
		"s/e+c \\\\\\\"re\\\\\\\\t=\xc3\xa4-Zq81",	 /* JSON in JSON */
		"s%2Fe%2Bc%20%22re%5Ct%3D%C3%A4-Zq81",		 /* URL */
		"s%2fe%2bc+%22re%5ct%3d%c3%a4-Zq81",		 /* form, small digits */
		"732f652b63202272655c743dc3a42d5a713831",	 /* hexadecimal */
		"cy9lK2MgInJlXHQ9w6QtWnE4M",			 /* base64 */
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		bool there = false;
		for (size_t f = 0; f < forms.nr; f++)
			there |= !strcmp(forms.item[f], known[i]);
		ok(there && !strcmp(clean(s, known[i]), "<secret:K>"), "a form: %s", known[i]);
	}
	splits(s, &forms);
	strv_release(&forms);
	secrets_free(&s);
	return done_testing();
}
