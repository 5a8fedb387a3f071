/* SHA-1: the standard's examples, and the same sum however the bytes come. */
#include "base/sha1.h"

#include "tap.h"

static const char *text_of(const uint8_t sum[SHA1_LEN])
{
	static char text[2 * SHA1_LEN + 1];
	for (size_t i = 0; i < SHA1_LEN; i++)
		snprintf(text + i * 2, 3, "%02x", sum[i]);
	return text;
}

static const char *of(const void *bytes, size_t len)
{
	uint8_t sum[SHA1_LEN];
	sha1_of(bytes, len, sum);
	return text_of(sum);
}

static const char *in_pieces(const char *bytes, size_t len, size_t step)
{
	struct sha1 s;
	uint8_t sum[SHA1_LEN];
	sha1_begin(&s);
	for (size_t at = 0; at < len; at += step)
		sha1_add(&s, bytes + at, len - at < step ? len - at : step);
	sha1_end(&s, sum);
	return text_of(sum);
}

int main(void)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	static char million[1000000];
	memset(million, 'a', sizeof million);
	is_str(of("", 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709", "nothing");
	is_str(of("abc", 3), "a9993e364706816aba3e25717850c26c9cd0d89d", "abc");
	is_str(of(two, sizeof two - 1), "84983e441c3bd26ebaae4aa1f95129e5e54670f1", "56 bytes: the length goes into a second block");
	is_str(of(million, sizeof million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f", "a million times a");
	is_str(in_pieces(million, sizeof million, 63), "34aa973cd4c4daa4f61eeb2bdbad27316534016f", "in pieces of 63");
	is_str(in_pieces(million, sizeof million, 1), "34aa973cd4c4daa4f61eeb2bdbad27316534016f", "byte by byte");
	int same = 0;
	for (size_t len = 0; len < 200; len++) {
		char whole[2 * SHA1_LEN + 1];
		memcpy(whole, of(million, len), sizeof whole);
		same += !strcmp(whole, in_pieces(million, len, 7)) && !strcmp(whole, in_pieces(million, len, 64));
	}
	is_int(same, 200, "every length from 0 to 199, however it is cut");
	return done_testing();
}
