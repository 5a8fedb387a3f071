/* Part of view_compare.c: the actions and files of each session, and which of them are alike. */
#include <stdlib.h>
#include <string.h>

#include "ui/views/compare_priv.h"
#include "base/hash.h"
#include "ui/rows/row.h"

void step_free(struct step *s)
{
	free(s->what);
	free(s->outcome);
	free(s->agent);
}

/* --- what each did ---------------------------------------------------------------------------- */

static void view_compare_make_key(char key[2 * KEY_BYTES + 1], const char *const part[3])
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct hash_ctx c;
	struct hash h;
	hash_begin(&c);
	for (size_t i = 0; i < 3; i++)
		hash_add(&c, part[i], strlen(part[i]) + 1);
	hash_end(&c, &h);
	hex_append(&hex, h.b, KEY_BYTES);
	memcpy(key, buf_cstr(&hex), 2 * KEY_BYTES + 1);
}

/* As much of a line as is kept, whole characters. */
static int view_compare_part_of(const char *line)
{
	size_t len = strlen(line);
	if (len <= WHAT_MOST)
		return (int)len;
	for (len = WHAT_MOST; len > 0 && ((unsigned char)line[len] & 0xc0) == 0x80;)
		len--;
	return (int)len;
}

static void load_step(struct step *st, struct source *s, const struct model_action *act,
		      struct arena *ar)
{
	const struct model_agent *agent = model_agent(&s->model, act->agent);
	struct row_info r;
	step_free(st);
	row_load(&r, s, &(struct row){ act->id, EV_ACTION_REQUESTED }, ar);
	/* what it answers is how it came out, not what was done */
	bool model = strcmp(act->kind, "model") == 0;
	*st = (struct step){ .id = act->id,
			     .ended = act->ended,
			     .started = act->started,
			     .role = r.role,
			     .dur_us = r.dur_us,
			     .agent = mem_strdup(agent && !agent->script ? agent->name : "") };
	const char *line = one_line(r.what, ar);
	int part = view_compare_part_of(line);
	st->what = mem_printf("%-5s %.*s%s", r.word, part, line, line[part] ? "..." : "");
	view_compare_make_key(st->key, (const char *[]){ st->agent, r.word, model ? "" : r.what });
	st->outcome = mem_strdup(model				    ? ""
				 : strcmp(r.verdict, "denied") == 0 ? "denied"
								    : r.outcome);
}

static int view_compare_by_agent(const void *x, const void *y)
{
	const struct step *a = x, *b = y;
	int c = strcmp(a->agent, b->agent);
	return c ? c : a->id < b->id ? -1 : a->id > b->id;
}

static int view_compare_by_id(const void *x, const void *y)
{
	const struct step *a = x, *b = y;
	return a->id < b->id ? -1 : a->id > b->id;
}

void read_side(struct side *d, struct source *s)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct model *m = &s->model;
	if (d->head == m->head)
		return;
	size_t known = 0;
	/* the cursor may have gone back; what ran may have ended */
	for (size_t i = 0; i < d->nr; i++)
		if (model_action(m, d->step[i].id))
			d->step[known++] = d->step[i];
		else
			step_free(&d->step[i]);
	d->nr = known;
	if (known > 1)
		qsort(d->step, known, sizeof(*d->step), view_compare_by_id);
	for (size_t i = 0, k = 0; i < m->nr_actions; i++) { /* both by their ids */
		const struct model_action *act = &m->action[i];
		struct step *st = NULL;
		while (k < known && d->step[k].id < act->id)
			k++;
		if (k < known && d->step[k].id == act->id) {
			st = &d->step[k];
		} else {
			GROW(d->step, d->nr, d->cap);
			st = &d->step[d->nr++];
			*st = (struct step){ 0 };
		}
		if (st->id && st->ended == act->ended && st->started == act->started)
			continue;
		load_step(st, s, act, &ar);
		arena_reset(&ar);
	}
	if (d->nr > 1)
		qsort(d->step, d->nr, sizeof(*d->step), view_compare_by_agent);
	d->head = m->head;
}

char *files_of(struct source *s)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const struct model *m = &s->model;
	for (size_t i = 0; i < m->nr_boxes; i++)
		for (size_t k = 0; k < m->box[i].nr_snapshots; k++) {
			CLEANUP(json_release)
			json_t *o = m->box[i].snapshot[k].seq
					    ? source_body(s, m->box[i].snapshot[k].seq)
					    : NULL;
			buf_printf(&b, "%s/%s %s\n", m->box[i].name, m->box[i].snapshot[k].repo,
				   json_str(o, "tree", ""));
		}
	return mem_strdup(buf_cstr(&b));
}

static bool same_way(const struct side *a, const struct side *b)
{
	if (a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++)
		if (strcmp(a->step[i].key, b->step[i].key) != 0)
			return false;
	return true;
}

/* The same letter, the same thing. */
void view_compare_letters(struct compare *v)
{
	char way = 'A', files = 'a';
	for (size_t i = 0; i < v->nr; i++) {
		struct side *d = &v->side[i];
		d->letter_way = 0;
		d->letter_files = *d->files ? 0 : '-';
		for (size_t k = 0; k < i; k++) {
			d->letter_way = d->letter_way		   ? d->letter_way
					: same_way(&v->side[k], d) ? v->side[k].letter_way
								   : 0;
			if (!d->letter_files && strcmp(v->side[k].files, d->files) == 0)
				d->letter_files = v->side[k].letter_files;
		}
		d->letter_way = d->letter_way ? d->letter_way : way++;
		d->letter_files = d->letter_files ? d->letter_files : files++;
	}
}
