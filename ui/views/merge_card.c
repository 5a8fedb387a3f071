#include "ui/views/merge_card.h"

#include <inttypes.h>
#include <string.h>

#include "ui/views/approve.h"
#include "ui/views/review_priv.h"

enum { CARD_FILES = 12, CARD_CHECKS = 3 };

static void merge_card_files(struct text *t, struct source *s, const struct change *c, size_t nr)
{
	size_t shown = nr > CARD_FILES ? CARD_FILES - 1 : nr;
	for (size_t i = 0; i < shown; i++) {
		const char *flag = change_flag(s, &c[i]);
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "%c %s", c[i].op, c[i].path);
		if (c[i].counted)
			buf_printf(&line, "  %s", change_counts(&c[i], t->arena));
		if (flag)
			buf_printf(&line, "  (%s)", flag);
		text_add(t,
			 c[i].op == 'A'	  ? ROLE_ADD
			 : c[i].op == 'D' ? ROLE_DEL
					  : ROLE_HUNK,
			 NULL, line.data, line.len, SANITIZE_EXACT);
	}
	if (nr > shown)
		text_putf(t, ROLE_DIM, "and %zu more files", nr - shown);
}

static void merge_card_drift(struct text *t, const struct review *v)
{
	if (v->nr_drifted == 0)
		text_puts(t, ROLE_OK, "drift      none recorded since the sandbox opened");
	else
		text_putf(t, ROLE_WARN,
			  "drift      %s changed in your repository, %zu of them here too",
			  fmt_plural(t->arena, (int64_t)v->nr_drifted, "file", "files"),
			  v->nr_drifted_here);
}

static void merge_card_conflict(struct text *t, const json_t *conflict)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	json_get_bytes(json_object_get(conflict, "path"), &line);
	buf_printf(&line, " (%s)", json_str(conflict, "why", "changed on both sides"));
	text_add(t, ROLE_FAILED, "!", line.data, line.len, 0);
}

/* A merge that was done tells; else the newest dry run of these files. */
static void merge_card_conflicts(struct text *t, struct source *s, const struct model_box *b,
				 const struct model_action *act)
{
	bool old = b && b->planned < b->changed;
	uint64_t planned = b ? b->planned : 0;
	if (act->started || !planned) {
		if (act->started)
			text_puts(t, ROLE_DIM, "conflicts  the end of the merge names them");
		else
			text_puts(t, ROLE_WARN,
				  "conflicts  not checked: r plans the merge (merge --dry-run)");
		return;
	}
	CLEANUP(json_release) json_t *o = source_body(s, planned);
	const json_t *targets = json_object_get(o, "targets");
	size_t nr = 0;
	for (size_t i = 0; i < json_array_size(targets); i++)
		nr += json_array_size(json_object_get(json_array_get(targets, i), "conflicts"));
	const char *when = arena_printf(t->arena, "(dry run #%" PRIu64 "%s)", planned,
					old ? ", before the newest change" : "");
	if (nr == 0)
		text_putf(t, old ? ROLE_WARN : ROLE_OK, "conflicts  none %s", when);
	else
		text_putf(t, ROLE_FAILED, "conflicts  %zu %s", nr, when);
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *list = json_object_get(json_array_get(targets, i), "conflicts");
		for (size_t k = 0; k < json_array_size(list) && k < CARD_FILES; k++)
			merge_card_conflict(t, json_array_get(list, k));
	}
}

static void merge_card_tests(struct text *t, const struct review *v, size_t most)
{
	for (size_t i = 0; i < v->nr_checks && i < most; i++) {
		const struct review_check *c = &v->check[i];
		text_putf(t,
			  !c->ok   ? ROLE_FAILED
			  : c->old ? ROLE_WARN
				   : ROLE_OK,
			  "%-10s %s: %s (#%" PRIu64 "%s)", i ? "" : "last test", c->outcome,
			  one_line(c->cmd, t->arena), c->action,
			  c->old ? ", before the newest change" : "");
	}
	if (v->nr_checks == 0)
		text_puts(t, ROLE_WARN, "last test  no test ran in this sandbox");
}

void merge_card(struct text *t, struct source *s, const struct model_action *act, bool brief)
{
	const struct model_box *b = model_box(&s->model, act->box);
	struct review v = { .box_id = act->box, .arena = t->arena };
	v.nr = changes_list(s, act->box, &v.change, t->arena);
	review_drift(&v, s);
	review_checks(&v, s);
	const char *sum = changes_sum(v.change, v.nr, t->arena);
	text_putf(t, ROLE_TEXT, "changes    %s since %s opened%s", sum ? sum : "no file",
		  b ? b->name : "the sandbox",
		  b && b->merged && !act->started
			  ? arena_printf(t->arena, "; merged before at #%" PRIu64, b->merged)
			  : "");
	if (!brief)
		merge_card_files(t, s, v.change, v.nr);
	merge_card_drift(t, &v);
	merge_card_conflicts(t, s, b, act);
	merge_card_tests(t, &v, brief ? 1 : CARD_CHECKS);
	text_putf(t, ROLE_DIM, "undo       sandglass undo -S %s", s->model.id ? s->model.id : "");
}

void merge_card_args(struct text *t, const json_t *req)
{
	static const char *const said[] = { "box", "branch", "into", "mode", "review", NULL };
	CLEANUP(json_release) json_t *rest = json_copy(json_object_get(req, "args"));
	const char *message = json_str(rest, "message", NULL);
	for (size_t i = 0; said[i]; i++)
		json_object_del(rest, said[i]);
	if (message) {
		text_add(t, ROLE_CMD, "", message, strlen(message), SANITIZE_EXACT);
		json_object_del(rest, "message");
	}
	if (json_flag(rest, "ignored", false)) {
		text_puts(t, ROLE_CMD, "with files that the repository ignores");
		json_object_del(rest, "ignored");
	}
	if (json_object_size(rest) == 0)
		return;
	CLEANUP(free_ptr) char *text = json_dump_str(rest);
	text_add(t, ROLE_CMD, NULL, text, strlen(text), SANITIZE_EXACT);
}

bool action_card(struct text *t, struct source *s, uint64_t action)
{
	const struct model_action *act = model_action(&s->model, action);
	CLEANUP(json_release) json_t *req = act ? source_body(s, action) : NULL;
	if (req && strcmp(act->kind, "merge") == 0) {
		merge_card(t, s, act, false);
		return true;
	}
	return req && approval_difference(t, req);
}
