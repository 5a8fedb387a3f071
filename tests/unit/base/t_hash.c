/* SHA-256 by the processor's instructions: the standard's examples, and libsodium's sums for whatever length,
 * however cut. */
#include "base/hash.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "tap.h"

static const char *text_of(const struct hash *h)
{
	static char text[2 * HASH_LEN + 1];
	for (size_t i = 0; i < HASH_LEN; i++)
		snprintf(text + i * 2, 3, "%02x", h->b[i]);
	return text;
}

static const char *of(const void *bytes, size_t len)
{
	struct hash h;
	hash_of(bytes, len, &h);
	return text_of(&h);
}

static struct hash in_pieces(const uint8_t *bytes, size_t len, size_t step)
{
	struct hash_ctx c;
	struct hash h;
	hash_begin(&c);
	for (size_t at = 0; at < len; at += step)
		hash_add(&c, bytes + at, len - at < step ? len - at : step);
	hash_end(&c, &h);
	return h;
}

/* Both ways, of every length; and whatever is made of few characters is one or is none as libsodium says. */
static void base64(void)
{
	static const char some[] = "AbZz09+/=-_ \nQw";
	uint8_t bytes[200], theirs[16];
	char text[300], odd[16];
	int same = 0, agreed = 0;
	random_bytes(bytes, sizeof bytes);
	for (size_t len = 0; len < sizeof bytes; len++) {
		CLEANUP(buf_release) struct buf t = BUF_INIT, b = BUF_INIT;
		sodium_bin2base64(text, sizeof text, bytes, len, sodium_base64_VARIANT_ORIGINAL);
		base64_append(&t, bytes, len);
		same += strcmp(buf_cstr(&t), text) == 0 && base64_parse(text, strlen(text), &b) && b.len == len &&
			(!len || memcmp(b.data, bytes, len) == 0);
	}
	is_int(same, sizeof bytes, "base64 of every length from 0 to 199");
	enum { TRIES = 200000 };
	srand(1);
	for (int i = 0; i < TRIES; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		size_t len = (size_t)(rand() % 13), got = 0;
		for (size_t k = 0; k < len; k++)
			odd[k] = some[(size_t)rand() % (sizeof some - 1)];
		if (len && rand() % 2)
			odd[len - 1] = '=';
		bool good = base64_parse(odd, len, &b);
		bool want = sodium_base642bin(theirs, sizeof theirs, odd, len, NULL, &got, NULL, sodium_base64_VARIANT_ORIGINAL) == 0;
		agreed += good == want && (!good || (b.len == got && (!got || memcmp(b.data, theirs, got) == 0)));
	}
	is_int(agreed, TRIES, "and invalid text is refused");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	ok(!base64_parse("Q\x80/Z", 4, &b) && b.len == 0, "as are bytes beyond ASCII");
}

int main(void)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	static const size_t step[] = { 1, 7, 55, 63, 64, 65, 127, 1000 };
	static uint8_t bytes[1000];
	static char million[1000000];
	hash_init();
	memset(million, 'a', sizeof million);
	printf("# by the processor's instructions: %s\n", sha256_fast() ? "yes" : "no");
	is_str(of("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
	is_str(of("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
	is_str(of(two, sizeof two - 1), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
	       "56 bytes: the length goes into a second block");
	is_str(of(million, sizeof million), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "a million times a");
	random_bytes(bytes, sizeof bytes);
	int same = 0;
	for (size_t len = 0; len < sizeof bytes; len++) {
		struct hash theirs;
		size_t good = 0;
		crypto_hash_sha256(theirs.b, bytes, len);
		for (size_t i = 0; i < ARRAY_LEN(step); i++) {
			struct hash ours = in_pieces(bytes, len, step[i]);
			good += hash_eq(&ours, &theirs);
		}
		same += good == ARRAY_LEN(step);
	}
	is_int(same, sizeof bytes, "every length from 0 to 999, in pieces of eight sizes, against libsodium");
	base64();
	return done_testing();
}
