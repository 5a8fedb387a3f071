/* The compression of SHA-256 (FIPS 180-4, 6.2) by the processor's own instructions; for hash.c. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has this processor them? Any thread. */
bool sha256_fast(void);
/* @nr blocks of 64 bytes go into @h; only where sha256_fast. */
void sha256_blocks(uint32_t h[8], const uint8_t *p, size_t nr);

#endif
