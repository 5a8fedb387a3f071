/* Part of line_typed.c: a pattern or rule is shown with its effect before it is saved. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/line_priv.h"
#include "ui/rows/row.h"

/* --- a pattern, looked at before it is saved -------------------------------------------------- */

/* Lists the other actions that it would allow. A pattern for the session applies to this agent
 * only. */
static void line_typed_print_others(struct line *l, const json_t *list)
{
	const struct model_action *act = model_action(&l->s->model, l->asked);
	struct arena a = ARENA_INIT;
	struct buf ids = BUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		uint64_t id = (uint64_t)json_int(o, "action", 0);
		CLEANUP(json_release) json_t *req = source_body(l->s, id);
		const struct model_action *other = model_action(&l->s->model, id);
		if (!l->rule && (!act || !other || other->agent != act->agent))
			continue;
		bool stays = json_object_get(o, "stays");
		if (!stays)
			buf_printf(&ids, "%s%" PRIu64, ids.len ? "," : "", id);
		fprintf(l->out,
			stays ? "event %" PRIu64 " stays pending (%s): "
			      : "also approves the pending event %" PRIu64 "%s ",
			id, json_str(o, "stays", ""));
		line_print_safe(l->out, req ? action_what(req, &a) : "");
		fputc('\n', l->out);
	}
	l->others = ids.len ? buf_take(&ids) : NULL;
	buf_release(&ids);
	arena_release(&a);
}

static void print_tried(struct line *l, const json_t *o)
{
	const json_t *ids = json_object_get(o, "actions");
	struct arena a = ARENA_INIT;
	fprintf(l->out,
		"%smatches %" PRId64 " of %" PRId64 " actions of this session, %" PRId64
		" of them denied\n",
		json_flag(o, "wide", false) ? "WIDE: " : "", json_int(o, "matched", 0),
		json_int(o, "tried", 0), json_int(o, "denied", 0));
	for (size_t i = 0; i < json_array_size(ids) && i < 10; i++) {
		uint64_t id = (uint64_t)json_integer_value(json_array_get(ids, i));
		CLEANUP(json_release) json_t *req = source_body(l->s, id);
		fprintf(l->out, "  event %" PRIu64 " ", id);
		line_print_safe(l->out, req ? action_what(req, &a) : "");
		fputc('\n', l->out);
	}
	if (json_array_size(ids) > 10)
		fprintf(l->out, "  and %zu more\n", json_array_size(ids) - 10);
	if (l->rule) {
		fprintf(l->out,
			"adds to %s, line %" PRId64
			"; the verdict of this action becomes: %s by %s\n  ",
			json_str(o, "file", ""), json_int(o, "line", 0), json_str(o, "then", ""),
			json_str(o, "by", ""));
		line_print_safe(l->out, json_str(o, "text", ""));
		fputc('\n', l->out);
	}
	line_typed_print_others(l, json_object_get(o, "others"));
	arena_release(&a);
}

static void line_typed_looked(void *self, const json_t *result, const struct err *err)
{
	struct line *l = self;
	if (--l->looks || !l->pattern || l->awaiting != AWAIT_LOOK)
		return;
	l->awaiting = err ? AWAIT_CHOICE : AWAIT_SURE;
	if (err)
		fprintf(l->out, "%s\n", err->text);
	else
		print_tried(l, json_object_get(result, "tried"));
	line_show_prompt(l);
	fflush(l->out);
}

void line_typed_look_at(struct line *l, const char *text, bool rule)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { "waivers", id, text };
	l->awaiting = *text ? AWAIT_LOOK : AWAIT_CHOICE;
	if (!*text) {
		line_show_prompt(l);
		return;
	}
	free(l->pattern);
	free_ptr(&l->others);
	l->pattern = mem_strdup(text);
	l->rule = rule;
	json_t *opts = json_object();
	if (rule)
		json_put_str(opts, "rule", "allow");
	if (rule && l->note)
		json_put_str(opts, "note", l->note);
	l->looks++;
	l->act->command(l->act->self, words, 3, opts, line_typed_looked, l);
	json_decref(opts);
}

void line_typed_sure(struct line *l, const char *text)
{
	l->awaiting = AWAIT_CHOICE;
	if (strcmp(text, "yes") != 0) {
		fputs("nothing saved; the action stays pending\n", l->out);
		line_show_prompt(l);
		return;
	}
	json_t *opts = json_object();
	json_put_str(opts, l->rule ? "rule" : "session", l->pattern);
	json_put_str(opts, "others", l->others);
	line_typed_pass(l, "approve", opts);
}
