/* Part of view_repeat.c: a repetition, or its application, is asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/views/repeat_priv.h"
#include "ui/views/repeat.h"

void repeat_ask(struct ui *ui, const struct subject *on)
{
	const struct source *s = ui_source(ui, on->source);
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	char id[32];
	if (!act || strcmp(act->kind, "exec") != 0 || act->state == ACT_WAITS) {
		ui_say(ui, ROLE_DIM, "choose a command that has run");
		return;
	}
	uint64_t head = s->model.head;
	snprintf(id, sizeof(id), "%" PRIu64, act->id);
	if (!ui_send(ui, on->source, (const char *[]){ "redo_here", id, NULL }, NULL))
		return;
	ui_say(ui, ROLE_DIM, RUNS_AGAIN, act->id);
	ui_open(ui, "repeat", on);
	struct repeat_view *v = ui_top(ui)->self;
	v->asked = true;
	v->after = head;
	v->now = true;
}

/* By its first or second run; 0: the newest. */
static const struct model_repeat *repeat_meant(const struct model *m, uint64_t action)
{
	for (size_t i = m->nr_repeats; i > 0; i--)
		if (!action || m->repeat[i - 1].again == action ||
		    (m->repeat[i - 1].here && m->repeat[i - 1].of == action))
			return &m->repeat[i - 1];
	return NULL;
}

static void view_repeat_applied(void *self, const json_t *result, const struct err *err)
{
	struct ui *ui = self;
	size_t nr = json_array_size(json_object_get(result, "paths"));
	if (err)
		ui_say_error(ui, err);
	else if (!json_int(result, "changes", 0))
		ui_say(ui, ROLE_OK, "the files of %s are so already",
		       json_str(result, "box", "the sandbox"));
	else
		ui_say(ui, ROLE_OK, "promoted: %zu path%s of %s; u takes it back", nr,
		       nr == 1 ? "" : "s", json_str(result, "box", "the sandbox"));
}

static void promote_chosen(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	char id[32];
	if (!key || *key != 'y' || !ui_may_act(ui, on.source))
		return;
	snprintf(id, sizeof(id), "%" PRIu64, on.action);
	const char *words[] = { "apply", id };
	CLEANUP(json_release) json_t *opts = json_object();
	ui_say(ui, ROLE_DIM, "promoting..");
	ui->act[on.source].command(ui->act[on.source].self, words, ARRAY_LEN(words), opts,
				   view_repeat_applied, ui);
}

void repeat_apply_ask(struct ui *ui, const struct subject *on)
{
	struct source *s = ui_source(ui, on->source);
	const struct model_repeat *r = s ? repeat_meant(&s->model, on->action) : NULL;
	const struct model_action *first = r && r->here ? model_action(&s->model, r->of) : NULL;
	const struct model_box *b = first ? model_box(&s->model, first->box) : NULL;
	if (!ui_may_act(ui, on->source)) {
		ui_say(ui, ROLE_DIM, "repeat!: read only");
	} else if (!r && on->action && s && s->model.nr_repeats) {
		ui_say(ui, ROLE_DIM,
		       "#%" PRIu64 " was not repeated; :repeat %" PRIu64 " repeats it", on->action,
		       on->action);
	} else if (!r || !r->ended) {
		ui_say(ui, ROLE_DIM,
		       r ? "it is not compared yet"
			 : "nothing has run again here: r on a command does it");
	} else if (!b || b->closed) {
		ui_say(ui, ROLE_DIM,
		       "the sandbox of the first run is closed: nothing can be applied");
	} else {
		CLEANUP(arena_release) struct arena ar = ARENA_INIT;
		const char *label = arena_printf(
			&ar, "apply the changes of #%" PRIu64 " from its own sandbox to %s  (y/n)",
			r->again, ui_short_name(ui, &ar, b->name));
		const struct subject second = { .source = on->source, .action = r->again };
		ui_choose(ui, label, "yn", &second, promote_chosen);
	}
}
