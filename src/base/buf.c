#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT;
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = 0;
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t need = b->len + more + 1;
	if (need <= b->cap)
		return;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap *= 2;
	b->data = mem_realloc(b->data, cap);
	b->data[b->len] = 0; /* read as a string also when nothing comes */
	b->cap = cap;
}

void buf_append(struct buf *b, const void *bytes, size_t len)
{
	buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = 0;
}

void buf_puts(struct buf *b, const char *s)
{
	buf_append(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_append(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		buf_reserve(b, (size_t)n);
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_drop(struct buf *b, size_t len)
{
	assert(len <= b->len);
	if (!len)
		return;
	memmove(b->data, b->data + len, b->len - len + 1);
	b->len -= len;
}

const char *buf_cstr(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	buf_reserve(b, 0);
	b->data[b->len] = 0;
	char *s = b->data;
	*b = BUF_INIT;
	return s;
}

void buf_u16le(struct buf *b, uint16_t v)
{
	uint8_t p[2] = { (uint8_t)v, (uint8_t)(v >> 8) };
	buf_append(b, p, sizeof(p));
}

void buf_u32le(struct buf *b, uint32_t v)
{
	uint8_t p[4];
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	buf_append(b, p, sizeof(p));
}

void buf_u64le(struct buf *b, uint64_t v)
{
	uint8_t p[8];
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	buf_append(b, p, sizeof(p));
}

uint16_t get_u16le(const void *p)
{
	const uint8_t *b = p;
	return (uint16_t)(b[0] | b[1] << 8);
}

uint32_t get_u32le(const void *p)
{
	const uint8_t *b = p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t get_u64le(const void *p)
{
	const uint8_t *b = p;
	return (uint64_t)get_u32le(b) | (uint64_t)get_u32le(b + 4) << 32;
}

void put_u32be(void *p, uint32_t v)
{
	uint8_t *b = p;
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> (24 - 8 * i));
}

void put_u64be(void *p, uint64_t v)
{
	uint8_t *b = p;
	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> (56 - 8 * i));
}

void strv_push_bytes(struct strv *v, const void *s, size_t len)
{
	if (v->nr + 1 >= v->cap) {
		v->cap = v->cap ? v->cap * 2 : 8;
		v->item = mem_realloc(v->item, v->cap * sizeof(*v->item));
		v->len = mem_realloc(v->len, v->cap * sizeof(*v->len));
	}
	v->item[v->nr] = mem_strndup(s, len);
	v->len[v->nr] = len;
	v->item[++v->nr] = NULL;
}

void strv_push(struct strv *v, const char *s)
{
	strv_push_bytes(v, s, strlen(s));
}

void strv_release(struct strv *v)
{
	for (size_t i = 0; i < v->nr; i++)
		free(v->item[i]);
	free(v->item);
	free(v->len);
	*v = STRV_INIT;
}

void strv_copy(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->nr; i++)
		strv_push_bytes(to, from->item[i], from->len[i]);
}
