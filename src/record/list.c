/* Lists of messages in the pool (schema/README.md, rules 24 to 28). For each beginning of a list that this writer has kept,
 * by the hash of the names in it: in which kept list it was seen first. A chat asks with what it asked with before and some
 * more, so the next list is that one and the rest; a beginning always stands in the first list that had it, so a chain is
 * never longer than its list. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/inner.h"

enum { WHOLE_MAX = 2 }; /* a name and a row cost more than so many hashes */

struct beginning {
	uint8_t fold[16]; /* all 0: free */
	uint32_t list, len;
};

struct kept {
	struct hash name;
	uint32_t len;
};

struct lists {
	struct kept *kept;
	size_t nr_kept, cap_kept;
	struct beginning *slot; /* open addressing */
	size_t nr, cap;
};

static struct beginning *slot_of(struct beginning *slot, size_t cap, const struct hash *fold)
{
	static const uint8_t none[sizeof(slot->fold)];
	size_t at = (size_t)get_u64le(fold->b) & (cap - 1);
	while (memcmp(slot[at].fold, none, sizeof(none)) != 0 && memcmp(slot[at].fold, fold->b, sizeof(slot->fold)) != 0)
		at = (at + 1) & (cap - 1);
	return &slot[at];
}

static void grow(struct lists *l)
{
	size_t cap = l->cap ? l->cap * 2 : 256;
	struct beginning *bigger = xcalloc(cap, sizeof(*bigger));
	for (size_t i = 0; i < l->cap; i++)
		if (l->slot[i].len) {
			struct hash fold = { 0 };
			memcpy(fold.b, l->slot[i].fold, sizeof(l->slot[i].fold));
			*slot_of(bigger, cap, &fold) = l->slot[i];
		}
	free(l->slot);
	l->slot = bigger;
	l->cap = cap;
}

static void add_beginning(struct lists *l, const struct hash *fold, uint32_t list, uint32_t len)
{
	if ((l->nr + 1) * 2 > l->cap)
		grow(l);
	struct beginning *b = slot_of(l->slot, l->cap, fold);
	memcpy(b->fold, fold->b, sizeof(b->fold));
	b->list = list;
	b->len = len;
	l->nr++;
}

/* Of each beginning of @names: what stands for it in the table. False if one of them is no name. */
static bool fold_all(const json_t *names, struct hash *fold)
{
	struct hash pair[2] = { 0 };
	size_t i;
	json_t *v;
	json_array_foreach((json_t *)(uintptr_t)names, i, v) {
		if (!json_is_string(v) || !hex_parse(json_string_value(v), json_string_length(v), pair[1].b, HASH_LEN))
			return false;
		hash_of(pair, sizeof(pair), &fold[i]);
		pair[0] = fold[i];
	}
	return true;
}

static json_t *row(const struct kept *as, size_t shared, const json_t *names)
{
	json_t *o = json_object(), *plus = json_array();
	if (as) {
		struct buf hex = BUF_INIT;
		hex_append(&hex, as->name.b, HASH_LEN);
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

static json_t *name_of(const struct hash *h)
{
	struct buf hex = BUF_INIT;
	hex_append(&hex, h->b, HASH_LEN);
	json_t *name = json_string(buf_cstr(&hex));
	buf_release(&hex);
	return name;
}

static json_t *keep(struct record *r, struct lists *l, const json_t *names, const struct hash *fold)
{
	size_t nr = json_array_size(names), shared = nr;
	const struct beginning *b = NULL;
	for (; shared >= WHOLE_MAX && l->cap; shared--) {
		b = slot_of(l->slot, l->cap, &fold[shared - 1]);
		if (b->len)
			break;
	}
	const struct kept *as = b && b->len ? &l->kept[b->list] : NULL;
	if (!as)
		shared = 0;
	if (as && shared == nr && as->len == nr)
		return name_of(&as->name);
	CLEANUP(json_release) json_t *o = row(as, shared, names);
	CLEANUP(free_ptr) char *text = json_dump_str(o);
	struct hash name;
	record_pool(r, text, strlen(text), true, &name);
	GROW(l->kept, l->nr_kept, l->cap_kept);
	l->kept[l->nr_kept] = (struct kept){ name, (uint32_t)nr };
	for (size_t i = shared; i < nr; i++)
		add_beginning(l, &fold[i], (uint32_t)l->nr_kept, (uint32_t)i + 1);
	l->nr_kept++;
	return name_of(&name);
}

json_t *record_list(struct record *r, json_t *names)
{
	size_t nr = json_array_size(names);
	if (nr <= WHOLE_MAX)
		return names;
	struct hash *fold = xcalloc(nr, sizeof(*fold));
	json_t *out = names;
	if (fold_all(names, fold)) {
		if (!r->lists)
			r->lists = NEW(struct lists);
		out = keep(r, r->lists, names, fold);
		json_decref(names);
	}
	free(fold);
	return out;
}

void lists_free(struct lists **lp)
{
	struct lists *l = *lp;
	*lp = NULL;
	if (!l)
		return;
	free(l->kept);
	free(l->slot);
	free(l);
}
