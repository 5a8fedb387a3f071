#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t size)
{
	fprintf(stderr, "sandglass: out of memory (%zu bytes)\n", size);
	abort();
}

void *mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_calloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size ? size : 1);
	if (!p)
		out_of_memory(nr * size);
	return p;
}

void *mem_realloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);
	if (!q)
		out_of_memory(size);
	return q;
}

char *mem_strndup(const char *s, size_t len)
{
	char *p = mem_alloc(len + 1);
	if (len)
		memcpy(p, s, len);
	p[len] = 0;
	return p;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

void *mem_dup(const void *p, size_t len)
{
	void *q = mem_alloc(len);
	if (len)
		memcpy(q, p, len);
	return q;
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(0);
	return s;
}

void free_ptr(void *pp)
{
	void **p = pp;
	free(*p);
	*p = NULL;
}

enum { ARENA_BLOCK = 16 << 10 };

struct arena_block {
	struct arena_block *next;
	size_t used, cap;
	_Alignas(max_align_t) char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;
	if (!a->head || a->head->cap - a->head->used < need) {
		size_t cap = need > ARENA_BLOCK ? need : ARENA_BLOCK;
		struct arena_block *b = mem_alloc(sizeof(*b) + cap);
		b->next = a->head;
		b->used = 0;
		b->cap = cap;
		a->head = b;
	}
	void *p = a->head->data + a->head->used;
	a->head->used += need;
	return memset(p, 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len)
		memcpy(p, s, len);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

void arena_reset(struct arena *a)
{
	if (!a->head)
		return;
	while (a->head->next) {
		struct arena_block *next = a->head->next;
		free(a->head);
		a->head = next;
	}
	a->head->used = 0;
}

void arena_release(struct arena *a)
{
	arena_reset(a);
	free(a->head);
	a->head = NULL;
}
