/* Lists of messages in the pool (schema/README.md, rules 24 to 28). For each prefix of a list that
 * this writer kept lately, by the hash of its names: the kept list in which it was first seen.
 * A chat sends its earlier messages plus some more, so the next list is a kept list and the rest.
 * A list refers to one that shared a shorter prefix with earlier lists, so a chain is never longer
 * than its list. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/record_priv.h"

enum {
	WHOLE_MAX = 2, /* a name and a row cost more than this number of hashes */
	BEGINNINGS = 8192,
};

struct beginning {
	uint8_t key[RECENT_KEY];
	struct hash list; /* the name of the kept one */
	uint32_t len;	  /* of that list */
};

/* For each prefix of @names: its key in the table. False if one of them is not a name. */
static bool fold_all(const json_t *names, struct hash *fold)
{
	struct hash pair[2] = { 0 };
	size_t i;
	json_t *v;
	json_array_foreach((json_t *)(uintptr_t)names, i, v)
	{
		if (!json_is_string(v) ||
		    !hex_parse(json_string_value(v), json_string_length(v), pair[1].b, HASH_LEN))
			return false;
		hash_of(pair, sizeof(pair), &fold[i]);
		pair[0] = fold[i];
	}
	return true;
}

static json_t *record_list_row(const struct beginning *as, size_t shared, const json_t *names)
{
	json_t *o = json_object(), *plus = json_array();
	if (as) {
		struct buf hex = BUF_INIT;
		hex_append(&hex, as->list.b, HASH_LEN);
		json_put_str(o, "as", buf_cstr(&hex));
		buf_release(&hex);
		if (shared < as->len)
			json_put_int(o, "keep", (int64_t)shared);
	}
	for (size_t i = shared; i < json_array_size(names); i++)
		json_array_append(plus, json_array_get(names, i));
	json_put(o, "plus", plus);
	return o;
}

static json_t *record_list_name_of(const struct hash *h)
{
	struct buf hex = BUF_INIT;
	hex_append(&hex, h->b, HASH_LEN);
	json_t *name = json_string(buf_cstr(&hex));
	buf_release(&hex);
	return name;
}

static json_t *record_list_keep(struct record *r, const json_t *names, const struct hash *fold)
{
	size_t nr = json_array_size(names), shared = nr;
	const struct beginning *as = NULL;
	for (; shared >= WHOLE_MAX; shared--) {
		as = lru_find(r->lists, &fold[shared - 1]);
		if (as)
			break;
	}
	if (!as)
		shared = 0;
	else if (shared == nr && as->len == nr)
		return record_list_name_of(&as->list);
	CLEANUP(json_release) json_t *o = record_list_row(as, shared, names);
	CLEANUP(free_ptr) char *text = json_dump_str(o);
	struct hash name;
	record_pool(r, text, strlen(text), true, &name);
	for (size_t i = shared < WHOLE_MAX ? WHOLE_MAX - 1 : shared; i < nr; i++) {
		struct beginning *b = lru_add(r->lists, &fold[i]);
		b->list = name;
		b->len = (uint32_t)nr;
	}
	return record_list_name_of(&name);
}

json_t *record_list(struct record *r, json_t *names)
{
	size_t nr = json_array_size(names);
	if (nr <= WHOLE_MAX)
		return names;
	struct hash *fold = mem_calloc(nr, sizeof(*fold));
	json_t *out = names;
	if (fold_all(names, fold)) {
		if (!r->lists)
			r->lists = lru_new(sizeof(struct beginning), BEGINNINGS);
		out = record_list_keep(r, names, fold);
		json_decref(names);
	}
	free(fold);
	return out;
}
