/* SHA-256 by the processor's instructions: the standard's examples, and libsodium's sums for whatever length, however cut. */
#include "base/hash.h"

#include <sodium.h>

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
	return done_testing();
}
