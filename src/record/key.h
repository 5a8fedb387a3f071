/* The user's signing key and the anchor: what lies outside of the session file and makes a shorter
 * or re-made file visible. Both in the state directory, 0600.
 *
 * anchor.log is only ever appended to (O_APPEND|O_DSYNC), one line per checkpoint:
 *     1 UUID SEQ CHAIN TS_US KEY SIG      (hex, decimal)
 * The same line goes to the systemd journal where there is one (SYSLOG_IDENTIFIER=sandglass). */
#ifndef RECORD_KEY_H
#define RECORD_KEY_H

#include "record/read/chain.h"

/* The seed in paths_state("key"); made on first use (several processes at once get the same). */
NODISCARD int key_load(uint8_t seed_out[SIGN_SEED_LEN], struct err *err);

void anchor_line(struct buf *out, const uint8_t uuid[UUID_LEN], uint64_t seq,
		 const struct hash *chain, int64_t ts_us, const uint8_t key[SIGN_KEY_LEN],
		 const uint8_t sig[SIGN_LEN]);
/* A failure is logged: the next checkpoint tries again, and an older anchor still covers the events
 * before it. */
void anchor_append(const char *lines, size_t len);

#endif
