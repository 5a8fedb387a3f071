#include "record/read/chain.h"

#include <inttypes.h>
#include <string.h>

void chain_start(const uint8_t uuid[UUID_LEN], const uint8_t key[SIGN_KEY_LEN], struct hash *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_puts(&b, "sandglass session 1\n");
	hex_append(&b, uuid, UUID_LEN);
	buf_putc(&b, '\n');
	hex_append(&b, key, SIGN_KEY_LEN);
	buf_putc(&b, '\n');
	hash_of(b.data, b.len, out);
}

void chain_body(const uint8_t salt[SALT_LEN], const void *body, size_t len, struct hash *out)
{
	struct hash_ctx c;
	hash_begin(&c);
	hash_add(&c, salt, SALT_LEN);
	hash_add(&c, body, len);
	hash_end(&c, out);
}

void chain_step(struct hash *chain, const struct event *ev, const struct hash *body_hash)
{
	uint8_t in[HASH_LEN + CHAIN_HEADER + HASH_LEN];
	uint8_t *p = in + HASH_LEN;
	memcpy(in, chain->b, HASH_LEN);
	put_u64be(p, ev->seq);
	put_u64be(p + 8, ev->cause);
	put_u64be(p + 16, ev->agent);
	put_u64be(p + 24, ev->box);
	put_u64be(p + 32, ev->action);
	put_u64be(p + 40, (uint64_t)ev->ts_us);
	put_u64be(p + 48, (uint64_t)ev->mono_us);
	p[56] = (uint8_t)(ev->kind >> 8);
	p[57] = (uint8_t)ev->kind;
	memcpy(p + CHAIN_HEADER, body_hash->b, HASH_LEN);
	hash_of(in, sizeof(in), chain);
}

void chain_segment(const uint8_t salt[SALT_LEN], const void *times, size_t times_len,
		   const void *data, size_t len, struct hash *out)
{
	struct hash_ctx c;
	uint8_t head[4];
	put_u32be(head, (uint32_t)times_len);
	hash_begin(&c);
	hash_add(&c, salt, SALT_LEN);
	hash_add(&c, head, sizeof(head));
	hash_add(&c, times, times_len);
	hash_add(&c, data, len);
	hash_end(&c, out);
}

void chain_object(enum object_type type, const void *bytes, size_t len, struct hash *out)
{
	struct hash_ctx c;
	char head[32];
	size_t n = object_header(type, len, head);
	hash_begin(&c);
	hash_add(&c, head, n);
	hash_add(&c, bytes, len);
	hash_end(&c, out);
}

void chain_checkpoint(const uint8_t uuid[UUID_LEN], uint64_t seq, const struct hash *chain,
		      int64_t ts_us, struct buf *out)
{
	buf_puts(out, "sandglass checkpoint 1\n");
	hex_append(out, uuid, UUID_LEN);
	buf_printf(out, "\n%" PRIu64 "\n", seq);
	hex_append(out, chain->b, HASH_LEN);
	buf_printf(out, "\n%" PRId64 "\n", ts_us);
}
