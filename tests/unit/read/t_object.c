/* Names of objects, hashes of the chain, packing: known answers. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/chain.h"
#include "record/read/codec.h"
#include "tap.h"

static void test_names(void)
{
	static const struct {
		enum object_type type;
		const char *bytes;
		size_t len;
		const char *name; /* as git hash-object says */
	} cases[] = {
		{ OBJECT_BLOB, "", 0, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" },
		{ OBJECT_TREE, "", 0, "4b825dc642cb6eb9a060e54bf8d69288fbee4904" },
		{ OBJECT_BLOB, "hello\n", 6, "ce013625030ba8dba906f756967f9e9ca394464a" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct object_id id, back;
		char hex[41];
		object_name(cases[i].type, cases[i].bytes, cases[i].len, &id);
		object_hex(&id, hex);
		is_str(hex, cases[i].name, "git's name");
		ok(object_parse(hex, &back) && !memcmp(&id, &back, sizeof(id)), "and back");
	}
	struct object_id none = { { 0 } };
	ok(object_is_null(&none) && !object_parse("xyz", &none), "a null id and an invalid id");
	/* lengths around the blocks of SHA-1 */
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct object_id last = { { 0 } };
	int same = 0;
	for (int n = 0; n < 300; n++) {
		struct object_id id;
		object_name(OBJECT_BLOB, b.data ? b.data : "", b.len, &id);
		same += !memcmp(&id, &last, sizeof(id));
		last = id;
		buf_putc(&b, (char)n);
	}
	is_int(same, 0, "every length has a name of its own");
}

static void test_hashes(void)
{
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	chain_object(OBJECT_BLOB, "hello\n", 6, &h);
	hex_append(&hex, h.b, HASH_LEN);
	/* git hash-object with --object-format=sha256 */
	is_str(hex.data, "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4", "an object's hash is git's SHA-256 name");
	uint8_t salt[SALT_LEN] = { 0 };
	struct hash a, b;
	chain_body(salt, "{}", 2, &a);
	salt[15] = 1;
	chain_body(salt, "{}", 2, &b);
	ok(!hash_eq(&a, &b), "the salt counts");
	struct event ev = { .seq = 1, .kind = 3 };
	struct hash one = { { 0 } }, two = { { 0 } };
	chain_step(&one, &ev, &a);
	ev.mono_us = 1;
	chain_step(&two, &ev, &a);
	ok(!hash_eq(&one, &two), "every field of the header counts");
}

static void test_codec(void)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf packed = BUF_INIT;
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	struct packer *p = packer_new();
	char text[10000];
	memset(text, 'x', sizeof(text));
	ok(codec_pack(p, text, sizeof(text), &packed) == CODEC_ZSTD && packed.len < 100, "packed");
	ok(codec_unpack(CODEC_ZSTD, packed.data, packed.len, sizeof(text), &plain, &err) == 0 &&
		   !memcmp(plain.data, text, sizeof(text)), "and back");
	ok(codec_unpack(CODEC_ZSTD, packed.data, packed.len, sizeof(text) + 1, &plain, &err) < 0, "a wrong size: %s", err.text);
	ok(codec_unpack(CODEC_ZSTD, packed.data, packed.len / 2, sizeof(text), &plain, &err) < 0, "half of it: %s", err.text);
	ok(codec_unpack(CODEC_ZSTD, "nonsense", 8, 100, &plain, &err) < 0, "nonsense: %s", err.text);
	ok(codec_unpack((enum codec)7, "x", 1, 1, &plain, &err) < 0, "a codec of tomorrow: %s", err.text);
	ok(codec_pack(p, "short", 5, &packed) == CODEC_RAW && packed.len == 5, "short is left as it is");
	random_bytes(text, sizeof(text));
	ok(codec_pack(NULL, text, sizeof(text), &packed) == CODEC_RAW, "noise is left as it is");
	packer_free(&p);
}

int main(void)
{
	hash_init();
	test_names();
	test_hashes();
	test_codec();
	return done_testing();
}
