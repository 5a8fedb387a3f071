#include "sessions/merge_layer.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

bool merge_layer_commits(enum merge_mode mode, const char *message)
{
	return (mode == MERGE_COMMITS || mode == MERGE_BRANCH) && !message;
}

void merge_layer_reserve(struct merge_layer *l, size_t nr)
{
	l->view = mem_calloc(nr, sizeof(*l->view));
	l->step = mem_calloc(nr, sizeof(*l->step));
	l->message = mem_calloc(nr, sizeof(*l->message));
	l->cap = nr;
}

void merge_layer_add(struct merge_layer *l, char *message)
{
	l->message[l->nr] = message;
	l->step[l->nr] = (struct merge_step){ .view = &l->view[l->nr], .message = message };
	l->nr++;
}

const struct ws_view *merge_layer_last(const struct merge_layer *l)
{
	return l->agent.nr ? &l->agent.view[l->agent.nr - 1] : &l->view[l->nr - 1];
}

void merge_layer_target(struct merge_layer *l, struct merge_target *out)
{
	out->step = l->agent.nr ? l->agent.step : l->step;
	out->nr_steps = l->agent.nr ? l->agent.nr : l->nr;
	out->cut = l->agent.cut;
	out->within = l->within.from.s ? agent_steps_at : NULL;
	out->within_self = &l->within;
	out->rest = l->within.from.rest;
	out->branches = sandbox_refs_at;
	out->branches_self = &l->refs_at;
	out->choice = l->choices.item;
	out->nr_choices = l->choices.nr;
}

void merge_layer_release(struct merge_layer *l)
{
	for (size_t i = 0; i < l->cap; i++) { /* the last one may have failed to load */
		ws_view_release(&l->view[i]);
		free(l->message[i]);
	}
	free(l->view);
	free(l->step);
	free(l->message);
	merge_choices_release(&l->choices);
	agent_steps_release(&l->agent);
	agent_steps_within_release(&l->within);
	*l = (struct merge_layer){ 0 };
}

void merge_id_of(const char *text, size_t len, char out[33])
{
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hash_of(text, len, &h);
	hex_append(&hex, h.b, 8);
	memcpy(out, hex.data, 16);
	out[16] = 0;
}
