/* SHA-1 of some bytes, as the handshake of WebSocket wants it. It proves nothing. */
#ifndef HTTP_SHA1_H
#define HTTP_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_LEN = 20 };
void sha1_of(const void *bytes, size_t len, uint8_t out[SHA1_LEN]);

#endif
