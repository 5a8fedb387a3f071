#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/record_priv.h"

struct objects {
	struct store_object *item;
	size_t nr, cap;
	struct packer *packer;
	struct buf packed;
	const struct secrets *bait;
	bool looks; /* for honeytokens and live tokens */
	struct object_found found[8];
	size_t nr_found;
};

struct objects *objects_new(void)
{
	struct objects *o = NEW(struct objects);
	o->packer = packer_new();
	return o;
}

static void objects_forget_found(struct objects *o)
{
	for (size_t i = 0; i < o->nr_found; i++)
		if (o->found[i].value) {
			explicit_bzero(o->found[i].value, o->found[i].len);
			free(o->found[i].value);
		}
	o->nr_found = 0;
}

void objects_free(struct objects **o)
{
	if (!*o)
		return;
	for (size_t i = 0; i < (*o)->nr; i++)
		free((*o)->item[i].data);
	objects_forget_found(*o);
	free((*o)->item);
	packer_free(&(*o)->packer);
	buf_release(&(*o)->packed);
	free(*o);
	*o = NULL;
}

void objects_look(struct objects *o, const struct secrets *bait)
{
	o->bait = bait;
	o->looks = true;
}

/* True: the file holds a live token. */
static bool objects_note_tokens(struct objects *o, const void *bytes, size_t len,
				const struct object_id *oid, bool hidden)
{
	struct live_token t;
	size_t from = 0;
	bool any = false;
	while (live_token_find(bytes, len, from, &t)) {
		any = true;
		if (o->nr_found == ARRAY_LEN(o->found))
			break;
		size_t whole = live_token_whole(bytes, len, &t);
		t.len = whole ? whole : t.len;
		o->found[o->nr_found++] =
			(struct object_found){ .oid = *oid,
					       .shape = t.shape,
					       .value = mem_dup((const char *)bytes + t.off, t.len),
					       .off = t.off,
					       .len = t.len,
					       .hidden = hidden };
		from = t.off + t.len;
	}
	return any;
}

bool objects_hide(struct objects *o, const void *bytes, size_t len, const struct object_id *oid)
{
	return objects_note_tokens(o, bytes, len, oid, true);
}

static void objects_inspect(struct objects *o, const void *bytes, size_t len,
			    const struct object_id *oid)
{
	const char *instead = secrets_within(o->bait, bytes, len);
	if (instead && o->nr_found < ARRAY_LEN(o->found))
		o->found[o->nr_found++] = (struct object_found){ .instead = instead, .oid = *oid };
	objects_note_tokens(o, bytes, len, oid, false);
}

void objects_add(struct objects *o, enum object_type type, const void *bytes, size_t len,
		 struct object_id *id_out)
{
	GROW(o->item, o->nr, o->cap);
	struct store_object *s = &o->item[o->nr++];
	s->type = type;
	s->size = len;
	object_name(type, bytes, len, &s->oid);
	chain_object(type, bytes, len, &s->hash);
	if (o->looks && type == OBJECT_BLOB)
		objects_inspect(o, bytes, len, &s->oid);
	s->codec = codec_pack(o->packer, bytes, len, &o->packed);
	/* the NUL that ends every buf: never an empty allocation */
	s->data = mem_dup(o->packed.data, o->packed.len + 1);
	s->len = o->packed.len;
	*id_out = s->oid;
}

size_t objects_count(const struct objects *o)
{
	return o->nr;
}

struct store_object *objects_items(struct objects *o, size_t *nr_out)
{
	*nr_out = o->nr;
	return o->item;
}

static size_t objects_cost(const struct objects *o)
{
	size_t cost = 0;
	for (size_t i = 0; i < o->nr; i++)
		cost += o->item[i].len + sizeof(o->item[i]);
	return cost;
}

uint64_t record_objects(struct record *r, struct objects *o, const struct event *ev)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	bool secret = secrets_clean_body(r->secrets, ev->body, ev->len, &clean);
	struct item *i = item_new(ITEM_OBJECTS, secret ? clean.data : ev->body,
				  secret ? clean.len : ev->len);
	const char *body = i->ev.body;
	size_t len = i->ev.len;
	assert(len >= 2 && body[0] == '{' && body[len - 1] == '}');
	i->ev = *ev;
	i->ev.body = body;
	i->ev.len = len;
	i->objects = o;
	i->cost += objects_cost(o);
	struct object_found found[ARRAY_LEN(o->found)];
	size_t nr = o->nr_found;
	memcpy(found, o->found, sizeof(found));
	o->nr_found = 0; /* their values are ours now */
	struct event at = *ev;
	at.seq = record_queue_event(r, i); /* with it @o is the writer's */
	for (size_t n = 0; n < nr; n++) {
		honeytoken_seen_note_file(r, &found[n], &at);
		if (found[n].value)
			explicit_bzero(found[n].value, found[n].len);
		free(found[n].value);
	}
	honeytoken_seen_note(r, NULL, &at);
	return at.seq;
}
