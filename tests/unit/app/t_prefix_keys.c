/* The prefix key in typed input: in each encoding, in chunks of any size, and never in pasted text. */
#include "tap.h"
#include "terminal/prefix_keys.h"

#include <string.h>

static struct buf out;

static bool scan(struct prefix_keys *k, const char *s)
{
	bool hit = false;
	buf_reset(&out);
	for (size_t at = 0, n = strlen(s); at < n && !hit;)
		at += prefix_keys_scan(k, s + at, n - at, &out, &hit);
	return hit;
}

static void forms(void)
{
	static const char *const key[] = { "\x1c", "\x1b[92;5u", "\x1b[92:124;5u", "\x1b[92;5:1u", "\x1b[92;69u", "\x1b[27;5;92~" };
	static const char *const other[] = { "\\", "\x1b", "\x1b[A", "\x1b[92;6u", "\x1b[92;5:3u", "\x1b[97;5u", "\x1b[27;5;97~", "\x1b[M !!", "\x1b]11;rgb:0/0/0\a" };
	for (size_t i = 0; i < ARRAY_LEN(key); i++) {
		struct prefix_keys k = { .prefix = 0x1c };
		ok(scan(&k, key[i]) && !out.len, "form %zu is the key", i);
	}
	for (size_t i = 0; i < ARRAY_LEN(other); i++) {
		struct prefix_keys k = { .prefix = 0x1c };
		ok(!scan(&k, other[i]), "other %zu is none", i);
		ok(i == 4 ? !out.len : out.len == strlen(other[i]) && !memcmp(out.data, other[i], out.len), "and passes as it is (a release does not)");
	}
	struct prefix_keys b = { .prefix = 2 };
	ok(scan(&b, "ab\x1b[98;5u") && out.len == 2, "another key, by its letter");
}

static void in_pieces(void)
{
	struct prefix_keys k = { .prefix = 0x1c };
	const char *s = "x\x1b[92;5u";
	bool hit = false, last = false;
	buf_reset(&out);
	for (const char *p = s; *p; p++) {
		prefix_keys_scan(&k, p, 1, &out, &last);
		hit |= last;
	}
	ok(!hit || last, "a key that comes in pieces");
	k = (struct prefix_keys){ .prefix = 0x1c };
	buf_reset(&out);
	prefix_keys_scan(&k, "\x1b[9", 3, &out, &hit);
	ok(!hit && !out.len && k.nr_begun == 3, "its beginning waits");
	prefix_keys_flush(&k, &out);
	ok(out.len == 3 && !k.nr_begun, "and passes when nothing follows");
	prefix_keys_scan(&k, "\x1b[9", 3, &out, &hit);
	buf_reset(&out);
	prefix_keys_scan(&k, "2;5u", 4, &out, &hit);
	ok(hit && !out.len, "with its rest it is the key");
}

static void pasted(void)
{
	struct prefix_keys k = { .prefix = 0x1c };
	const char *s = "\x1b[200~a\x1c" "b\x1b[92;5u\x1b[201~";
	ok(!scan(&k, s), "pasted text is not searched");
	ok(out.len == strlen(s) && !memcmp(out.data, s, out.len), "and is unchanged");
	ok(scan(&k, "\x1c"), "after it the prefix works again");
}

static void names(void)
{
	is_int(prefix_keys_parse("C-\\"), 0x1c, "C-\\");
	is_int(prefix_keys_parse("C-b"), 2, "C-b");
	is_int(prefix_keys_parse("^]"), 0x1d, "^]");
	is_int(prefix_keys_parse("Ctrl-A"), 1, "Ctrl-A");
	is_int(prefix_keys_parse("b"), 0, "a letter is none");
	is_int(prefix_keys_parse("C-c"), 0, "Ctrl-C is the program's");
	is_int(prefix_keys_parse("C-"), 0, "nothing is none");
}

int main(void)
{
	forms();
	in_pieces();
	pasted();
	names();
	buf_release(&out);
	return done_testing();
}
