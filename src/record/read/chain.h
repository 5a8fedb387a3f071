/* The hashes of a session file: one implementation for the writer and for verification. Pure
 * functions.
 *
 * H is SHA-256. All integers in hashed headers are big-endian and of fixed width; stored bytes are
 * hashed unchanged. 1. chain of event 0 = H("sandglass session 1\n" UUID "\n" KEY "\n"), both in
 * lower case hexadecimal. 2. body_hash = H(salt, body). 3. chain = H(chain before, header,
 * body_hash); header = u64 seq, cause, agent, box, action, ts_us, mono_us; u16 kind. 4. segment
 * hash = H(salt, u32 length of times, times, data), data as stored. 5. object hash = H("blob 12"
 * NUL bytes), bytes unpacked: git's SHA-256 name (for a blob). 6. objects_hash of an event = H over
 * (oid, object hash) of every object it added, sorted by oid. 7. A checkpoint signs
 * "sandglass checkpoint 1\n" UUID "\n" SEQ "\n" CHAIN "\n" TS_US "\n" (hex and decimal). */
#ifndef RECORD_READ_CHAIN_H
#define RECORD_READ_CHAIN_H

#include "record/read/object.h"
#include "wire/event.h"

enum { SALT_LEN = 16, UUID_LEN = 16, CHAIN_HEADER = 58 };

void chain_start(const uint8_t uuid[UUID_LEN], const uint8_t key[SIGN_KEY_LEN], struct hash *out);
void chain_body(const uint8_t salt[SALT_LEN], const void *body, size_t len, struct hash *out);
/* @chain is the one before and becomes that of @ev. */
void chain_step(struct hash *chain, const struct event *ev, const struct hash *body_hash);
void chain_segment(const uint8_t salt[SALT_LEN], const void *times, size_t times_len,
		   const void *data, size_t len, struct hash *out);
void chain_object(enum object_type type, const void *bytes, size_t len, struct hash *out);
/* Appends the text of a checkpoint to @out. */
void chain_checkpoint(const uint8_t uuid[UUID_LEN], uint64_t seq, const struct hash *chain,
		      int64_t ts_us, struct buf *out);

#endif
