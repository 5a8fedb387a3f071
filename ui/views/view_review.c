/* A sandbox's changes, accepted or rejected by file and by hunk, and merged back. A choice
 * carries the exact ranges on the screen and the hash of their content, so that no other content
 * can be merged by it. Reviews of a part are recorded (review.choice), so that all attached
 * users see who decided what. A script's merge that waits for a review is answered from here.
 * Reads: the newest snapshot at the cursor, and its reviews. */
#include "ui/views/review_priv.h"
#include "ui/views/difftool.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/sanitize.h"

static void view_review_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct review *v = self;
	(void)ui;
	v->source = on->source;
	v->agent = on->agent;
	v->action = on->action;
}

static void view_review_close_view(void *self)
{
	struct review *v = self;
	free(v->own);
	blaming_free(&v->whosing);
}

struct own_word *review_own(struct review *v, const struct part *p)
{
	const struct change *c = &v->change[p->file];
	const struct object_id *of = c->op == 'D' ? &c->old : &c->new_;
	for (size_t i = 0; i < v->nr_own; i++)
		if (v->own[i].hunk == p->hunk && memcmp(v->own[i].of.b, of->b, sizeof(of->b)) == 0)
			return &v->own[i];
	GROW(v->own, v->nr_own, v->cap_own);
	v->own[v->nr_own] = (struct own_word){ .of = *of, .hunk = p->hunk };
	return &v->own[v->nr_own++];
}

/* A choice made here counts until it is recorded. */
enum part_choice review_choice(struct review *v, const struct part *p)
{
	const struct own_word *w = review_own(v, p);
	return w->at && p->said <= w->at ? w->choice : p->choice;
}

/* A second run's box: nobody works in it. */
static bool of_repeat(const struct model *m, uint64_t box)
{
	for (size_t i = 0; i < m->nr_repeats; i++) {
		const struct model_action *again =
			m->repeat[i].again ? model_action(m, m->repeat[i].again) : NULL;
		if (again && again->box == box)
			return true;
	}
	return false;
}

static uint64_t view_review_box_of(const struct review *v, const struct model *m)
{
	const struct model_action *act = model_action(m, v->action);
	const struct model_agent *a = model_agent(m, v->agent ? v->agent : act ? act->agent : 0);
	uint64_t box = act && act->box ? act->box : a && a->box ? a->box : 0;
	for (size_t i = m->nr_boxes; !box && i > 0; i--)
		box = of_repeat(m, m->box[i - 1].id) ? 0 : m->box[i - 1].id;
	return box;
}

static void view_review_count(struct review *v)
{
	v->take = v->leave = v->unseen = v->open = 0;
	for (size_t i = 0; i < v->nr_parts; i++) {
		const struct part *p = &v->part[i];
		enum part_choice c = review_choice(v, p);
		if (p->hunk == PART_WHOLE && !p->alone)
			continue;
		v->take += c != PART_LEAVE;
		v->leave += c == PART_LEAVE;
		v->open += c == PART_OPEN;
		v->unseen += c == PART_OPEN && !review_own(v, p)->seen;
	}
}

/* The script's merge of this box that waits for a user. */
static void find_waiting(struct review *v, struct source *s)
{
	const struct model *m = &s->model;
	v->waits = 0;
	for (size_t i = 0; i < m->nr_held && !v->waits; i++) {
		const struct model_action *act = model_action(m, m->held[i]);
		if (!act || strcmp(act->kind, "merge") != 0 || act->box != v->box_id)
			continue;
		CLEANUP(json_release) json_t *body = source_body(s, act->id);
		if (json_object_get(body, "boxes"))
			continue; /* a merge of several takes no parts */
		const json_t *args = json_object_get(body, "args");
		const char *branch = json_str(args, "branch", NULL);
		v->waits = act->id;
		v->wanted = branch ? arena_printf(v->arena, "%s %s",
						  json_str(args, "mode", "branch"), branch)
				   : arena_strdup(v->arena, json_str(args, "mode", "branch"));
		CLEANUP(json_release) json_t *held = act->held ? source_body(s, act->held) : NULL;
		v->intent = arena_strdup(v->arena,
					 json_str(held, "intent", json_str(body, "intent", "")));
	}
}

/* Where it came from and goes back to. */
static void find_into(struct review *v, struct source *s)
{
	CLEANUP(json_release) json_t *open = source_body(s, v->box_id);
	CLEANUP(buf_release) struct buf dir = BUF_INIT, clean = BUF_INIT;
	const json_t *repos = json_object_get(open, "repos");
	v->into = NULL;
	if (!json_get_bytes(json_object_get(json_array_get(repos, 0), "dir"), &dir))
		return;
	sanitize_line(buf_cstr(&dir), dir.len, 0, &clean);
	if (json_array_size(repos) > 1)
		buf_printf(&clean, " and %zu more", json_array_size(repos) - 1);
	v->into = arena_strdup(v->arena, buf_cstr(&clean));
}

/* Only blanks differ: the new line stands as it was. */
static bool blanks_only(const struct diff_line *a, const struct diff_line *b)
{
	size_t i = 0, k = 0;
	for (;;) {
		while (i < a->len && strchr(" \t\r", a->text[i]))
			i++;
		while (k < b->len && strchr(" \t\r", b->text[k]))
			k++;
		if (i == a->len || k == b->len)
			return i == a->len && k == b->len;
		if (a->text[i++] != b->text[k++])
			return false;
	}
}

/* @nr removed lines that as many new ones follow: pairs that differ in blanks alone become one
 * line, marked ~. */
static size_t view_review_put_pairs(const struct diff_line *old, const struct diff_line *new_,
				    size_t nr, struct diff_line *out)
{
	size_t put = 0;
	for (size_t i = 0, end; i < nr; i = end) {
		bool same = blanks_only(&old[i], &new_[i]);
		for (end = i + 1; end < nr && blanks_only(&old[end], &new_[end]) == same; end++)
			;
		for (size_t k = i; !same && k < end; k++)
			out[put++] = old[k];
		for (size_t k = i; k < end; k++) {
			out[put] = new_[k];
			out[put].op = same ? '~' : '+';
			put++;
		}
	}
	return put;
}

static void hide_blanks(struct text_diff *d, struct arena *a)
{
	struct diff_line *out = arena_alloc(a, (d->nr + 1) * sizeof(*out));
	size_t nr = 0;
	for (size_t i = 0; i < d->nr;) {
		size_t del = 0, add = 0;
		while (i + del < d->nr && d->line[i + del].op == '-')
			del++;
		while (i + del + add < d->nr && d->line[i + del + add].op == '+')
			add++;
		if (del > 0 && del == add) {
			nr += view_review_put_pairs(d->line + i, d->line + i + del, del, out + nr);
			i += del + add;
		} else {
			for (size_t k = del + add ? del + add : 1; k > 0; k--)
				out[nr++] = d->line[i++];
		}
	}
	d->line = out;
	d->nr = nr;
}

static void show_part(struct review *v, struct source *s, const struct part *p)
{
	const struct change *c = &v->change[p->file];
	struct text_diff d, own;
	change_diff(s, c, 3, v->arena, &d);
	v->side_lines = (struct text_diff){ 0 };
	if (p->hunk != PART_WHOLE) {
		if (part_own_diff(&d, p, v->arena, &own)) {
			d = own;
		} else {
			d.line += p->line;
			d.nr = p->nr + 1;
		}
	}
	if (v->no_blanks)
		hide_blanks(&d, v->arena);
	if (v->side && !d.binary && v->text.width >= REVIEW_SIDE) {
		v->side_lines = d;
		review_side(v);
		return;
	}
	if (p->hunk == PART_WHOLE && !v->no_blanks)
		pane_change(&v->text, s, c, 3);
	else
		pane_lines(&v->text, &d);
}

static void show_words(struct review *v, const struct part *p)
{
	if (p->text)
		text_putf(&v->text, ROLE_WARN, "these lines are %s's, not the agent's", p->who);
	if (!p->comment)
		return;
	text_blank(&v->text);
	text_head(&v->text, ROLE_WHO, "comment by %s:", p->comment_by);
	text_add(&v->text, ROLE_TEXT, NULL, p->comment, strlen(p->comment), TEXT_SOFT);
}

static void view_review_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct review *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->nr = v->nr_parts = 0;
	v->rows = rows - 5 - (cols < REVIEW_WIDE);
	v->nr_checks = 0;
	v->into = NULL;
	v->box = NULL;
	v->box_id = 0;
	text_init(&v->text, ar, cols >= REVIEW_WIDE ? cols - REVIEW_LEFT - 1 : cols - 1, 3,
		  ui->grid.ascii);
	if (!s)
		return;
	v->box_id = view_review_box_of(v, &s->model);
	const struct model_box *b = model_box(&s->model, v->box_id);
	v->box = b ? arena_strdup(ar, b->name) : NULL;
	v->nr = changes_list(s, v->box_id, &v->change, ar);
	v->nr_parts = parts_list(s, v->box_id, v->change, v->nr, ar, &v->part);
	v->flag = arena_alloc(ar, (v->nr + 1) * sizeof(*v->flag));
	for (size_t i = 0; i < v->nr; i++)
		v->flag[i] = change_flag(s, &v->change[i]);
	review_drift(v, s);
	find_waiting(v, s);
	find_into(v, s);
	review_checks(v, s);
	if (v->at >= v->nr_parts)
		v->at = v->nr_parts ? v->nr_parts - 1 : 0;
	if (v->nr_parts == 0) {
		text_puts(&v->text, ROLE_DIM, b ? "no file has changed" : "no sandbox yet");
		return;
	}
	const struct part *p = &v->part[v->at];
	show_part(v, s, p);
	show_words(v, p);
	const size_t lines = v->text.nr; /* the lines that count as seen */
	review_whose(v, ui, s, p);
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	if (v->text_top + (size_t)(v->rows < 0 ? 0 : v->rows) >= lines) /* its end was in sight */
		review_own(v, p)->seen = true;
	view_review_count(v);
}

static bool view_review_to(struct review *v, int64_t at)
{
	if (at >= 0 && at < (int64_t)v->nr_parts) {
		v->at = (size_t)at;
		v->top = 0;
	}
	return true;
}

static int64_t next_file(const struct review *v, int step)
{
	int64_t at = (int64_t)v->at + step;
	while (at >= 0 && at < (int64_t)v->nr_parts && v->part[at].hunk != PART_WHOLE)
		at += step;
	return at;
}

static bool view_review_verb(void *self, struct ui *ui, enum verb verb)
{
	struct review *v = self;
	switch ((int)verb) {
	case VERB_DIFFTOOL:
		if (v->nr_parts)
			difftool_wish(ui, ui_source(ui, v->source),
				      &v->change[v->part[v->at].file]);
		return true;
	case VERB_UP:
	case VERB_PREV:
		return view_review_to(v, (int64_t)v->at - 1);
	case VERB_DOWN:
	case VERB_NEXT:
		return view_review_to(v, (int64_t)v->at + 1);
	case VERB_NEXT_PANE:
		return view_review_to(v, next_file(v, 1));
	case VERB_PREV_PANE:
		return view_review_to(v, next_file(v, -1));
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		v->top += verb == VERB_PAGE_UP ? -v->rows / 2 : v->rows / 2;
		return true;
	case VERB_FIRST:
		return view_review_to(v, 0);
	case VERB_LAST:
		return view_review_to(v, (int64_t)v->nr_parts - 1);
	default:
		return false;
	}
}

static void view_review_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct review *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

static void whole_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct review *v = self;
	(void)ui;
	text_plain(&v->text, true, out);
}

static void view_review_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct review *v = self;
	bool wide = ui->grid.cols >= REVIEW_WIDE;
	int left = wide ? REVIEW_LEFT : 0;
	*out = (struct looked){ .what = LOOK_TEXT,
				.source = v->source,
				.text = &v->text,
				.at = v->text_top,
				.gutters = true,
				.seen = { .first = v->text_top,
					  .row = wide ? 3 : 4,
					  .col = left,
					  .rows = v->rows,
					  .cols = ui->grid.cols - left } };
}

static void view_review_go(void *self, struct ui *ui, uint64_t where)
{
	struct review *v = self;
	(void)ui;
	v->top = (int64_t)where;
}

static const char *const view_review_own[] = {
	"Space", "accept or reject",	     "t x", "accept, reject",
	"M c",	 "comment, for the agent",   "e",   "edit before the merge..",
	"Enter", "who changed it, and when", "=",   "old and new side by side",
	"W",	 "hide blanks, show them",   "J K", "scroll a line",
	"r",	 "run the checks again",     "a",   "merge the accepted..",
	"n",	 "deny a script's merge..",  "z",   "undo the last merge",
	"D",	 "discard all of it..",	     NULL,
};

/* A part at the left; it decides nothing. */
static enum click view_review_click(void *self, struct ui *ui, int row, int col)
{
	struct review *v = self;
	if (ui->grid.cols < REVIEW_WIDE || row < 2 || row >= 2 + v->list_rows ||
	    col >= REVIEW_LEFT - 1)
		return CLICK_NONE;
	view_review_to(v, review_first(v, v->list_rows) + row - 2);
	return CLICK_SELECTED;
}

/* Over the scrolling text; otherwise it would move to another part, which counts as seen. */
static bool view_review_wheel(void *self, struct ui *ui, int row, int col, enum verb v)
{
	struct review *r = self;
	if (row < 2 || (ui->grid.cols >= REVIEW_WIDE && col < REVIEW_LEFT))
		return false;
	r->top += v == VERB_DOWN ? 1 : -1;
	return true;
}

const struct view_ops view_review = {
	.name = "review",
	.where = IN_DIFF,
	.size = sizeof(struct review),
	.open = view_review_open_view,
	.close = view_review_close_view,
	.recalc = view_review_recalc,
	.paint = review_paint,
	.verb = view_review_verb,
	.key = review_key,
	.own = view_review_own,
	.subject = view_review_subject,
	.text = whole_text,
	.look = view_review_look,
	.go = view_review_go,
	.click = view_review_click,
	.wheel = view_review_wheel,
};
