/* Of the part that is looked at: which actions brought its lines, and whether the user has changed
 * the same file meanwhile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/views/review_priv.h"

/* --- the base --------------------------------------------------------------------------------- */

static void note_drift(struct review *v, const json_t *change, struct strv *known)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (!json_get_bytes(json_object_get(change, "path"), &path))
		return;
	for (size_t i = 0; i < known->nr; i++)
		if (strcmp(known->item[i], buf_cstr(&path)) == 0)
			return;
	strv_push(known, buf_cstr(&path));
	v->nr_drifted++;
	for (size_t i = 0; i < v->nr; i++)
		if (strcmp(v->change[i].path, buf_cstr(&path)) == 0) {
			v->nr_drifted_here += !v->drifted[i];
			v->drifted[i] = true;
		}
}

void review_drift(struct review *v, struct source *s)
{
	struct strv known = STRV_INIT;
	v->drifted = arena_alloc(v->arena, (v->nr + 1) * sizeof(*v->drifted));
	v->nr_drifted = v->nr_drifted_here = 0;
	v->drift_more = 0;
	for (size_t i = 0; i < s->model.nr_drifts; i++) {
		if (s->model.drift[i].box != v->box_id)
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, s->model.drift[i].seq);
		const char *repo = json_str(o, "repo", "");
		const json_t *list = json_object_get(o, "changes");
		v->drift_more += json_int(o, "more", 0);
		for (size_t k = 0; k < json_array_size(list) && !*repo; k++)
			note_drift(v, json_array_get(list, k), &known);
		/* its paths are below the repository */
		for (size_t k = 0; k < json_array_size(list) && *repo; k++) {
			CLEANUP(buf_release) struct buf path = BUF_INIT;
			CLEANUP(json_release) json_t *full = json_object();
			buf_printf(&path, "%s/", repo);
			json_get_bytes(json_object_get(json_array_get(list, k), "path"), &path);
			json_put_bytes(full, "path", buf_cstr(&path), path.len);
			note_drift(v, full, &known);
		}
	}
	strv_release(&known);
}

/* --- who -------------------------------------------------------------------------------------- */

static void note_by(struct review *v, uint64_t by)
{
	for (size_t i = 0; i < v->nr_by; i++)
		if (v->by[i] == by)
			return;
	if (by && v->nr_by < REVIEW_WHOSE)
		v->by[v->nr_by++] = by;
}

static void blame_file(struct review *v, struct source *s, const struct change *c)
{
	if (v->whose_box == v->box_id && memcmp(v->whose_of.b, c->new_.b, sizeof(c->new_.b)) == 0)
		return;
	blaming_free(&v->whosing);
	v->whosing = blaming_new(s, v->box_id, 0, c->path);
	v->whose_of = c->new_;
	v->whose_box = v->box_id;
}

/* New lines have brought themselves; where lines only went, the newest snapshot that names the file
 * knows. */
static void find_by(struct review *v, const struct part *p)
{
	const struct blame *whose = blaming_result(v->whosing);
	uint32_t from = p->hunk == PART_WHOLE ? 0 : p->range[2],
		 nr = p->hunk == PART_WHOLE ? (uint32_t)whose->nr : p->range[3];
	for (uint32_t i = from; i < from + nr && i < whose->nr; i++)
		note_by(v, whose->by[i]);
}

void review_whose(struct review *v, struct ui *ui, struct source *s, const struct part *p)
{
	const struct change *c = &v->change[p->file];
	v->nr_by = 0;
	if (v->drifted[p->file]) {
		text_blank(&v->text);
		text_puts(
			&v->text, ROLE_WARN,
			"you have changed this file in the meantime: a merge combines both; 5 of the accept "
			"menu checks for conflicts");
	}
	if (c->op != 'D' && !object_is_null(&c->new_)) {
		blame_file(v, s, c);
		if (!blaming_step(v->whosing, BLAME_SLICE_US)) {
			ui->wake_us = ui->mono_us + 1;
			text_blank(&v->text);
			text_putf(&v->text, ROLE_DIM, "who changed this ... %d%%",
				  blaming_percent(v->whosing));
			return;
		}
		find_by(v, p);
	}
	if (v->nr_by == 0)
		return;
	text_blank(&v->text);
	text_head(&v->text, ROLE_TITLE, "who changed this  (Enter opens it)");
	for (size_t i = 0; i < v->nr_by; i++)
		text_puts(&v->text, ROLE_TEXT, who_text(s, v->by[i], v->arena));
}

static void review_whose_opened(struct ui *ui, const char *key)
{
	struct view *top = ui_top(ui);
	struct review *v = top->ops == view_find("review") ? top->self : NULL;
	size_t i = key ? (size_t)(*key - '1') : REVIEW_WHOSE;
	if (v && i < v->nr_by)
		jump_to(ui, v->source, v->by[i]);
}

void review_open_whose(struct review *v, struct ui *ui)
{
	CLEANUP(buf_release) struct buf label = BUF_INIT;
	const struct subject on = { .source = v->source, .agent = v->agent, .action = v->action };
	if (v->nr_by == 0) {
		ui_say(ui, ROLE_DIM, "the recording does not show who changed this");
		return;
	}
	if (v->nr_by == 1) {
		jump_to(ui, v->source, v->by[0]);
		return;
	}
	buf_puts(&label, "open which?");
	for (size_t i = 0; i < v->nr_by; i++)
		buf_printf(&label, "  %zu #%" PRIu64, i + 1, v->by[i]);
	ui_choose(ui, buf_cstr(&label), "123456", &on, review_whose_opened);
}
