#include "sandbox/workspace/memstore.h"

#include <stdlib.h>
#include <string.h>

#include "record/live_token.h"
#include "base/mem.h"

struct held {
	struct object_id id;
	enum object_type type;
	char *bytes;
	size_t len;
};

struct memstore {
	struct ws_store below;
	struct held *item;
	size_t nr, cap;
	uint32_t *slot; /* index + 1 into item; open addressing */
	size_t slots;
	uint64_t bytes;
};

struct memstore *memstore_new(const struct ws_store *below)
{
	struct memstore *m = NEW(struct memstore);
	if (below)
		m->below = *below;
	m->slots = 64;
	m->slot = mem_calloc(m->slots, sizeof(*m->slot));
	return m;
}

void memstore_free(struct memstore **mp)
{
	struct memstore *m = *mp;
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++)
		free(m->item[i].bytes);
	free(m->item);
	free(m->slot);
	free(m);
	*mp = NULL;
}

static size_t memstore_find(const struct memstore *m, const struct object_id *id)
{
	size_t at = get_u32le(id->b) & (m->slots - 1);
	while (m->slot[at] && memcmp(&m->item[m->slot[at] - 1].id, id, sizeof(*id)) != 0)
		at = (at + 1) & (m->slots - 1);
	return at;
}

static void memstore_grow(struct memstore *m)
{
	free(m->slot);
	m->slots *= 2;
	m->slot = mem_calloc(m->slots, sizeof(*m->slot));
	for (size_t i = 0; i < m->nr; i++)
		m->slot[memstore_find(m, &m->item[i].id)] = (uint32_t)i + 1;
}

static void memstore_add(void *self, enum object_type type, const void *bytes, size_t len,
			 struct object_id *id_out)
{
	struct memstore *m = self;
	object_name(type, bytes, len, id_out);
	size_t at = memstore_find(m, id_out);
	if (m->slot[at])
		return;
	GROW(m->item, m->nr, m->cap);
	m->item[m->nr] = (struct held){
		.id = *id_out, .type = type, .bytes = mem_strndup(bytes, len), .len = len
	};
	m->slot[at] = (uint32_t)++m->nr;
	m->bytes += len;
	if (m->nr * 2 > m->slots)
		memstore_grow(m);
}

static int memstore_get(void *self, const struct object_id *id, enum object_type *type_out,
			struct buf *out, struct err *err)
{
	struct memstore *m = self;
	size_t at = memstore_find(m, id);
	if (m->slot[at]) {
		const struct held *h = &m->item[m->slot[at] - 1];
		buf_reset(out);
		buf_append(out, h->bytes, h->len);
		*type_out = h->type;
		return 0;
	}
	if (m->below.get)
		return m->below.get(m->below.self, id, type_out, out, err);
	char hex[41];
	object_hex(id, hex);
	return err_set(err, ERR_NOENT, "object %s not found", hex);
}

/* As the store below would, which is not to be called from here: its thread is another one. */
static bool memstore_hide(void *self, const struct object_id *id, const void *bytes, size_t len)
{
	struct live_token t;
	(void)self;
	(void)id;
	return live_token_find(bytes, len, 0, &t);
}

struct ws_store memstore_store(struct memstore *m)
{
	return (struct ws_store){ .add = memstore_add,
				  .get = memstore_get,
				  .hide = m->below.hide ? memstore_hide : NULL,
				  .self = m };
}

size_t memstore_count(const struct memstore *m)
{
	return m->nr;
}

uint64_t memstore_bytes(const struct memstore *m)
{
	return m->bytes;
}

void memstore_each(const struct memstore *m, memstore_fn *fn, void *self)
{
	for (size_t i = 0; i < m->nr; i++)
		fn(self, &m->item[i].id, m->item[i].type, m->item[i].bytes, m->item[i].len);
}
