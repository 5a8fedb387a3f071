/* Fields in bodies of gRPC, as far as the way needs them: a credential in an answer is found by
 * where it stands, so that it can be put aside before anybody reads the rest. What messages mean is
 * their reader's business.
 *
 * A body is frames: a byte (0: not compressed), four bytes of length (big endian), a message. A
 * message is fields: a varint of number << 3 | kind, then a varint (kind 0), 8 bytes (1), 4 bytes
 * (5), or a length and as many bytes (2), which may be a message again. Groups (3, 4) are not
 * taken. */
#ifndef HTTP_GRPC_H
#define HTTP_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void grpc_field_fn(void *self, uint8_t *bytes, size_t len);

/* Calls @fn for each field of kind 2 at @path ("5.1": field 1 of the message in field 5) of each
 * frame; it may change the bytes. false: the body is not of that form, or the path is none; up to
 * there @fn was called. */
bool grpc_each_field(uint8_t *body, size_t len, const char *path, grpc_field_fn *fn, void *self);

#endif
