/* A growable run of bytes. Always NUL-terminated after the last byte, so that buf->data can be used
 * as a C string when the bytes are text. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/compat.h"

struct buf {
	char *data; /* owned; NULL only while cap is 0 */
	size_t len;
	size_t cap;
};
#define BUF_INIT ((struct buf){ 0 })

void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* len 0, keeps memory */
void buf_reserve(struct buf *b, size_t more);
void buf_append(struct buf *b, const void *bytes, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_drop(struct buf *b, size_t len);  /* removes the first @len bytes */
const char *buf_cstr(const struct buf *b); /* "" when empty; borrows */
char *buf_take(struct buf *b);		   /* returns owned, never NULL; b is empty after */

/* Fixed-width integers for frames and hashes: little-endian (le) on sockets, big-endian (be) in
 * hashed bytes. */
void buf_u16le(struct buf *b, uint16_t v);
void buf_u32le(struct buf *b, uint32_t v);
void buf_u64le(struct buf *b, uint64_t v);
uint16_t get_u16le(const void *p);
uint32_t get_u32le(const void *p);
uint64_t get_u64le(const void *p);
void put_u32be(void *p, uint32_t v);
void put_u64be(void *p, uint64_t v);

/* A list of owned strings; each may hold any bytes, its length is kept. */
struct strv {
	/* NUL-terminated each; the array itself ends with NULL, so it serves as argv */
	char **item;
	size_t *len;
	size_t nr, cap;
};
#define STRV_INIT ((struct strv){ 0 })
void strv_push(struct strv *v, const char *s);
void strv_push_bytes(struct strv *v, const void *s, size_t len);
void strv_release(struct strv *v);
void strv_copy(struct strv *to, const struct strv *from);

#endif
