/* What a box has changed, to be taken or left file by file and hunk by hunk, and merged back. What is sent are the very
 * ranges that were on the screen with the hash of the content they are of, so nothing else can be merged by it.
 * Reads: the newest snapshot at the cursor. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/term/draw.h"
#include "ui/term/fmt.h"
#include "ui/ui.h"
#include "ui/views/pane.h"

enum { LEFT_COLS = 36, WIDE_COLS = 100, WHOLE = UINT32_MAX };

struct verdict { /* outlives a recalc; what has none is taken and unseen */
	struct object_id of; /* the new content, or the old one of what was removed */
	uint32_t hunk;
	bool left, seen;
};

struct item {
	size_t file;
	uint32_t hunk; /* WHOLE: the row of the file */
	size_t line, nr; /* of the file's diff */
	uint32_t range[4];
};

struct review {
	size_t source;
	uint64_t agent, action;
	size_t at;
	int64_t top;
	struct verdict *verdict;
	size_t nr_verdicts, cap_verdicts;
	/* made by recalc */
	const char *box;
	struct change *change;
	size_t nr;
	struct item *item;
	size_t nr_items, cap_items, take, leave, unseen;
	struct text text;
	size_t text_top;
	int rows;
	struct arena *arena;
};

static void open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct review *v = self;
	(void)ui;
	v->source = on->source;
	v->agent = on->agent;
	v->action = on->action;
}

static void close_view(void *self)
{
	struct review *v = self;
	free(v->verdict);
	free(v->item);
}

static const struct object_id *content(const struct change *c)
{
	return c->op == 'D' ? &c->old : &c->new_;
}

static struct verdict *verdict(struct review *v, const struct item *it)
{
	const struct object_id *of = content(&v->change[it->file]);
	for (size_t i = 0; i < v->nr_verdicts; i++)
		if (v->verdict[i].hunk == it->hunk && memcmp(v->verdict[i].of.b, of->b, sizeof(of->b)) == 0)
			return &v->verdict[i];
	GROW(v->verdict, v->nr_verdicts, v->cap_verdicts);
	v->verdict[v->nr_verdicts] = (struct verdict){ .of = *of, .hunk = it->hunk };
	return &v->verdict[v->nr_verdicts++];
}

static void push(struct review *v, struct item it)
{
	GROW(v->item, v->nr_items, v->cap_items);
	v->item[v->nr_items++] = it;
}

/* The rows of one file; hunks only where some of them can be taken without the others. */
static void add_file(struct review *v, struct source *s, size_t file)
{
	struct change *c = &v->change[file];
	struct text_diff d;
	push(v, (struct item){ .file = file, .hunk = WHOLE });
	if (c->op != 'M' || !c->counted || (c->new_mode & 0170000) != 0100000)
		return;
	change_diff(s, c, 3, v->arena, &d);
	uint32_t hunk = 0;
	struct item *it = NULL;
	for (size_t i = 0; !d.binary && i < d.nr; i++) {
		const struct diff_line *l = &d.line[i];
		if (l->op == '@') {
			push(v, (struct item){ .file = file, .hunk = ++hunk, .line = i });
			it = &v->item[v->nr_items - 1];
			continue;
		}
		if (!it)
			continue;
		it->nr++;
		if (l->op == ' ' || l->op == '-') {
			it->range[0] = it->range[1]++ ? it->range[0] : l->old_no - 1;
		}
		if (l->op == ' ' || l->op == '+')
			it->range[2] = it->range[3]++ ? it->range[2] : l->new_no - 1;
	}
}

static uint64_t box_of(const struct review *v, const struct model *m)
{
	const struct model_action *act = model_action(m, v->action);
	const struct model_agent *a = model_agent(m, v->agent ? v->agent : act ? act->agent : 0);
	uint64_t box = a && a->box ? a->box : act ? act->box : 0;
	return box || m->nr_boxes == 0 ? box : m->box[m->nr_boxes - 1].id;
}

static bool alone(const struct review *v, size_t i) /* a file without hunks of its own */
{
	return v->item[i].hunk == WHOLE && (i + 1 == v->nr_items || v->item[i + 1].hunk == WHOLE);
}

static void count(struct review *v)
{
	v->take = v->leave = v->unseen = 0;
	for (size_t i = 0; i < v->nr_items; i++) {
		if (v->item[i].hunk == WHOLE && !alone(v, i))
			continue;
		const struct verdict *d = verdict(v, &v->item[i]);
		v->take += !d->left;
		v->leave += d->left;
		v->unseen += !d->left && !d->seen;
	}
}

static void recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct review *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->nr = v->nr_items = 0;
	v->rows = rows - 5;
	v->box = NULL;
	text_init(&v->text, ar, cols >= WIDE_COLS ? cols - LEFT_COLS - 1 : cols - 1, 3, ui->grid.ascii);
	if (!s)
		return;
	uint64_t box = box_of(v, &s->model);
	const struct model_box *b = model_box(&s->model, box);
	v->box = b ? arena_strdup(ar, b->name) : NULL;
	v->nr = changes_list(s, box, &v->change, ar);
	for (size_t i = 0; i < v->nr; i++)
		add_file(v, s, i);
	if (v->at >= v->nr_items)
		v->at = v->nr_items ? v->nr_items - 1 : 0;
	if (v->nr_items == 0) {
		text_puts(&v->text, ROLE_DIM, b ? "no file has changed" : "there is no box yet");
		return;
	}
	const struct item *it = &v->item[v->at];
	if (it->hunk == WHOLE) {
		pane_change(&v->text, s, &v->change[it->file], 3);
	} else {
		struct text_diff d;
		change_diff(s, &v->change[it->file], 3, ar, &d);
		d.line += it->line;
		d.nr = it->nr + 1;
		pane_lines(&v->text, &d);
	}
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	if (v->text_top + (size_t)(v->rows < 0 ? 0 : v->rows) >= v->text.nr) /* its end was in sight */
		verdict(v, it)->seen = true;
	count(v);
}

static const char *box_mark(struct review *v, size_t i)
{
	size_t left = 0, nr = 0;
	if (v->item[i].hunk != WHOLE || alone(v, i))
		return verdict(v, &v->item[i])->left ? "[ ]" : "[x]";
	for (size_t k = i + 1; k < v->nr_items && v->item[k].hunk != WHOLE; k++, nr++)
		left += verdict(v, &v->item[k])->left;
	return left == 0 ? "[x]" : left == nr ? "[ ]" : "[-]";
}

static void paint_items(struct review *v, struct area a)
{
	int first = (int)v->at >= a.rows ? (int)v->at - a.rows + 1 : 0;
	for (int row = 0; row < a.rows && (size_t)(first + row) < v->nr_items; row++) {
		size_t i = (size_t)(first + row);
		const struct item *it = &v->item[i];
		const struct change *c = &v->change[it->file];
		int col = it->hunk == WHOLE ? 1 : 3;
		col = put(a, row, col, ROLE_KEY, box_mark(v, i)) + 1;
		if (it->hunk == WHOLE) {
			int n = text_cells(c->counted ? change_counts(c, v->arena) : c->note ? c->note : "", a.g->ascii);
			col = put(a, row, col, ROLE_HUNK, arena_printf(v->arena, "%c", c->op)) + 1;
			put_bytes(a, row, col, a.cols - n - col - 3, ROLE_TEXT, c->path, strlen(c->path), 0);
			change_put_counts(a, row, a.cols - n - 2, c, v->arena);
		} else {
			bool seen = verdict(v, it)->seen;
			col = put(a, row, col, ROLE_TEXT, arena_printf(v->arena, "hunk %u  line %u", it->hunk, it->range[2] + 1));
			put(a, row, col + 2, ROLE_WARN, seen ? "" : "not seen");
		}
		if (i == v->at)
			put_cursor_row(a, row);
	}
}

static void paint(const void *self, const struct ui *ui, struct area a)
{
	struct review *v = (struct review *)(uintptr_t)self; /* verdicts that are looked up may be added */
	(void)ui;
	draw_title(a, 0, "review", &(struct piece){ ROLE_NAME, v->box ? v->box : "" }, 1);
	put_rule(a, 1, NULL, ROLE_RULE,
		 v->nr ? arena_printf(v->arena, "%s  %zu take  %zu leave  %zu not seen", changes_sum(v->change, v->nr, v->arena),
				      v->take, v->leave, v->unseen) : NULL);
	struct area body = area_sub(a, 2, 0, a.rows - 4, a.cols);
	if (a.cols < WIDE_COLS) { /* one row of the list, the one that is looked at */
		struct area one = area_sub(body, 0, 0, 1, a.cols);
		paint_items(v, one);
		body = area_sub(body, 1, 0, body.rows - 1, a.cols);
	} else {
		paint_items(v, area_sub(body, 0, 0, body.rows, LEFT_COLS - 1));
		put_vline(body, 0, LEFT_COLS - 1, body.rows);
		body = area_sub(body, 0, LEFT_COLS, body.rows, a.cols - LEFT_COLS);
	}
	text_paint(&v->text, area_sub(body, 0, 1, body.rows, body.cols - 1), v->text_top);
	put_rule(a, a.rows - 2, "merge back", ROLE_TITLE, NULL);
	put(a, a.rows - 1, 1, ROLE_DIM, "Space take, leave   j k choose   J K scroll   a accept..   z undo the last merge");
}

static void toggle(struct review *v)
{
	if (v->nr_items == 0)
		return;
	const struct item *it = &v->item[v->at];
	if (it->hunk != WHOLE || alone(v, v->at)) {
		struct verdict *d = verdict(v, it);
		d->left = !d->left;
		return;
	}
	bool left = strcmp(box_mark(v, v->at), "[ ]") != 0;
	for (size_t k = v->at + 1; k < v->nr_items && v->item[k].hunk != WHOLE; k++)
		verdict(v, &v->item[k])->left = left;
}

/* A pattern that means exactly this path. */
static json_t *literal(const char *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			buf_puts(&b, "\\");
		buf_append(&b, path, 1);
	}
	return json_bytes_z(buf_cstr(&b));
}

static json_t *taken_opts(struct review *v)
{
	json_t *opts = json_object(), *paths = json_array(), *hunks = json_array();
	for (size_t i = 0; i < v->nr_items; i++) {
		const struct change *c = &v->change[v->item[i].file];
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		size_t nr = 0;
		if (v->item[i].hunk != WHOLE)
			continue;
		if (alone(v, i)) {
			if (!verdict(v, &v->item[i])->left)
				json_array_append_new(paths, literal(c->path));
			continue;
		}
		char hex[41];
		object_hex(&c->new_, hex);
		buf_printf(&word, "%s:%s", c->path, hex);
		for (size_t k = i + 1; k < v->nr_items && v->item[k].hunk != WHOLE; k++) {
			const uint32_t *r = v->item[k].range;
			if (verdict(v, &v->item[k])->left)
				continue;
			buf_printf(&word, "@%u,%u+%u,%u", r[0], r[1], r[2], r[3]);
			nr++;
		}
		if (nr)
			json_array_append_new(hunks, json_bytes_z(buf_cstr(&word)));
	}
	json_put(opts, "path", paths);
	json_put(opts, "hunks", hunks);
	return opts;
}

static void accepted(struct ui *ui, const char *key)
{
	struct view *top = ui_top(ui);
	struct review *v = top->self;
	if (strcmp(top->ops->name, "review") != 0 || !key || !strchr("123", *key) || !v->box)
		return;
	const char *words[] = { "merge", v->box, NULL };
	json_t *opts = taken_opts(v);
	if (*key != '3')
		json_put_flag(opts, *key == '1' ? "commits" : "apply", true);
	ui_send(ui, v->source, words, opts);
}

static void ask_how(struct ui *ui, const char *key)
{
	struct view *top = ui_top(ui);
	const struct review *v = top->self;
	if (strcmp(top->ops->name, "review") != 0 || !key || *key != 'y')
		return;
	const struct subject on = { .source = v->source, .agent = v->agent, .action = v->action };
	ui_choose(ui, "accept as: 1 commits on the current branch  2 working files  3 a branch", "123", &on, accepted);
}

static bool key(void *self, struct ui *ui, uint32_t key)
{
	struct review *v = self;
	const struct subject on = { .source = v->source, .agent = v->agent, .action = v->action };
	const char *undo[] = { "undo", NULL };
	if (key == ' ')
		toggle(v);
	else if (key == 'J' || key == 'K')
		v->top += key == 'J' ? 1 : -1;
	else if (key == 'z')
		ui_send(ui, v->source, undo, NULL);
	else if (key == 'a' && v->take == 0)
		ui_say(ui, ROLE_WARN, "nothing is taken");
	else if (key == 'a' && v->unseen)
		ui_choose(ui, "some of what is taken was not seen to its end: go on?  (y/n)", "yn", &on, ask_how);
	else if (key == 'a')
		ask_how(ui, "y");
	else
		return false;
	return true;
}

static bool to(struct review *v, int64_t at)
{
	if (at >= 0 && at < (int64_t)v->nr_items) {
		v->at = (size_t)at;
		v->top = 0;
	}
	return true;
}

static bool verb(void *self, struct ui *ui, enum verb verb)
{
	struct review *v = self;
	(void)ui;
	switch ((int)verb) {
	case VERB_UP:
	case VERB_PREV:
		return to(v, (int64_t)v->at - 1);
	case VERB_DOWN:
	case VERB_NEXT:
		return to(v, (int64_t)v->at + 1);
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		v->top += verb == VERB_PAGE_UP ? -v->rows / 2 : v->rows / 2;
		return true;
	case VERB_FIRST:
		return to(v, 0);
	case VERB_LAST:
		return to(v, (int64_t)v->nr_items - 1);
	default:
		return false;
	}
}

static void subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct review *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

const struct view_ops view_review = {
	.name = "review", .where = IN_DIFF, .size = sizeof(struct review), .open = open_view, .close = close_view,
	.recalc = recalc, .paint = paint, .verb = verb, .key = key, .subject = subject,
};
