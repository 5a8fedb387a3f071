/* Part of hosted_open.c: sandboxes with our tag that a supervisor which has died left at the
 * provider. */
#include <stdlib.h>

#include "sandbox/hosted/hosted_priv.h"
#include "base/mem.h"

struct sweep {
	struct remote_provider *of;
	struct book_entry *entry;
	char *owner;
	json_t *list; /* boxes with our tag */
	bool listed;
};

static void sweep_next(struct sweep *w);

static void swept_one(void *self, const json_t *value, const struct err *err)
{
	struct sweep *w = self;
	(void)value;
	bool gone = !err || err->code == ERR_CLOSED;
	if (w->entry) {
		hosted_book_close(&w->entry, gone);
		/* it is not tried again by us: another turn of this would find it first */
		if (!gone) {
			json_decref(w->list);
			free(w->owner);
			free(w);
			return;
		}
	}
	sweep_next(w);
}

static void sweep_close(struct sweep *w, const json_t *box)
{
	static const struct remote_heard heard = { .done = swept_one };
	w->of->port.begin(w->of->port.self, "close", json_pack("[O]", box), NULL, 0, &heard, w);
}

static void swept_list(void *self, const json_t *list, const struct err *err)
{
	struct sweep *w = self;
	w->listed = true;
	w->list = err ? NULL : json_deep_copy(list);
	sweep_next(w);
}

static bool is_ours_and_dead(const struct sweep *w, const json_t *box)
{
	const char *tag = json_str(box, "tag", NULL);
	return tag && !hosted_book_lives(w->of->name, tag);
}

static void sweep_next(struct sweep *w)
{
	static const struct remote_heard heard = { .done = swept_list };
	while ((w->entry = hosted_book_orphan(w->of->name))) {
		CLEANUP(json_release) json_t *box = hosted_book_box(w->entry);
		if (box) {
			sweep_close(w, box);
			return;
		}
		hosted_book_close(&w->entry, true); /* its box, if there is one, has our tag */
	}
	if (!w->listed) {
		CLEANUP(json_release) json_t *tags = json_object();
		json_put_str(tags, "sandglass", w->owner);
		w->of->port.begin(w->of->port.self, "list", json_pack("[O]", tags), NULL, 0, &heard,
				  w);
		return;
	}
	while (json_array_size(w->list)) {
		CLEANUP(json_release) json_t *box = json_incref(json_array_get(w->list, 0));
		json_array_remove(w->list, 0);
		if (is_ours_and_dead(w, box)) {
			sweep_close(w, box);
			return;
		}
	}
	json_decref(w->list);
	free(w->owner);
	free(w);
}

void hosted_open_sweep(struct remote_provider *of, const char *owner)
{
	if (of->swept)
		return;
	of->swept = true;
	struct sweep *w = NEW(struct sweep);
	*w = (struct sweep){ .of = of, .owner = mem_strdup(owner) };
	sweep_next(w);
}
