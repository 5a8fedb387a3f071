/* The files of a box as of the cursor: a directory at a time, any file opened, who brought each
 * of its lines, how it differs from another place of the record. Live and in replay; wide
 * screens show the chosen file beside the list. Reads: base and snapshots of the box up to the
 * cursor, contents as far as the record holds them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/tree_priv.h"

char *view_tree_joined(const char *dir, const char *name)
{
	return mem_printf("%s%s%s", dir, *dir ? "/" : "", name);
}

static void go_to(struct tree_view *v, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(""),
	     *file = mem_strdup(slash ? slash + 1 : path);
	free(v->dir);
	free(v->file);
	v->dir = dir;
	v->file = file;
	v->top = 0;
}

static void view_tree_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct tree_view *v = self;
	(void)ui;
	v->source = on->source;
	v->agent = on->agent;
	v->action = on->action;
	v->dir = mem_strdup("");
	v->file = mem_strdup("");
}

static void view_tree_close_view(void *self)
{
	struct tree_view *v = self;
	free(v->dir);
	free(v->file);
	free(v->listed_dir);
	blaming_free(&v->whose);
	arena_release(&v->listing);
	arena_release(&v->kept);
}

/* --- recalc ----------------------------------------------------------------------------------- */

uint64_t view_tree_box_of(const struct tree_view *v, const struct model *m)
{
	const struct model_action *act = model_action(m, v->action);
	const struct model_agent *a = model_agent(m, v->agent ? v->agent : act ? act->agent : 0);
	if (v->box && model_box(m, v->box))
		return v->box;
	if (act && act->box)
		return act->box;
	return a && a->box ? a->box : m->nr_boxes ? m->box[m->nr_boxes - 1].id : 0;
}

/* As it is named below /workspace. */
static char *view_tree_below(const char *path, struct arena *a)
{
	path += strncmp(path, "./", 2) == 0 ? 2 : strncmp(path, "/workspace/", 11) == 0 ? 11 : 0;
	char *plain = arena_strdup(
		a, strcmp(path, "/workspace") != 0 && strcmp(path, ".") != 0 ? path : "");
	size_t n = strlen(plain);
	while (n && plain[n - 1] == '/')
		plain[--n] = 0;
	return plain;
}

bool tree_has(const struct ui *ui, const struct subject *on, uint64_t box, const char *path)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct tree_view at = { .agent = on->agent, .action = on->action, .box = box };
	struct source *s = ui_source(ui, on->source);
	struct file_entry e;
	const char *plain = view_tree_below(path, &a);
	return !*plain || (s && files_find(s, view_tree_box_of(&at, &s->model), 0, plain, &a, &e));
}

void tree_open(struct ui *ui, const struct subject *on, uint64_t box, const char *path)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const char *plain = view_tree_below(path, &a);
	ui_open(ui, "tree", on);
	struct tree_view *v = ui_top(ui)->self;
	v->box = box;
	if (*plain)
		go_to(v, plain);
}

const struct file_entry *tree_chosen(const struct tree_view *v)
{
	for (size_t i = 0; *v->file && i < v->f.nr; i++)
		if (strcmp(v->f.entry[i].name, v->file) == 0)
			return &v->f.entry[i];
	return !*v->file && v->l.at < v->f.nr ? &v->f.entry[v->l.at] : NULL;
}

void number_rows(struct tree_view *v)
{
	size_t line = 0;
	v->line = arena_alloc(&v->kept, (v->text.nr + 1) * sizeof(*v->line));
	for (size_t i = 0; i < v->text.nr; i++) {
		line += v->text.row[i].gutter != NULL;
		v->line[i] = line;
	}
}

static void view_tree_head(struct tree_view *v, const struct ui *ui, struct source *s)
{
	const char *here = ui->replay ? arena_printf(v->arena, "#%" PRIu64, s->model.head) : "now";
	const struct model_box *b = model_box(&s->model, view_tree_box_of(v, &s->model));
	struct arena *ar = v->arena;
	v->title = b ? arena_printf(ar, "files  %s:%s", b->driver, b->name) : "files";
	if (v->diff && *v->file)
		v->note = v->against ? arena_printf(ar, "changed from #%" PRIu64 " to here",
						    v->against)
				     : "changed against the base";
	else
		v->note =
			!b ? "no sandbox yet"
			   : arena_printf(
				     ar, "as of %s%s", here,
				     v->f.base
					     ? ""
					     : ": changed files only; the base is not in the recording");
}

/* The directory is read again after a new snapshot or on a change of directory. */
static void keep_listing(struct tree_view *v, struct source *s)
{
	uint64_t box = view_tree_box_of(v, &s->model), state = files_state(s, box);
	if (v->listed_dir && v->listed == state && strcmp(v->listed_dir, v->dir) == 0)
		return;
	free(v->listed_dir);
	v->listed_dir = mem_strdup(v->dir);
	v->listed = state;
	arena_reset(&v->listing);
	files_list(s, box, 0, v->dir, &v->listing, &v->f);
}

static void view_tree_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct tree_view *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->title = "files";
	v->note = NULL;
	if (!s)
		return;
	keep_listing(v, s);
	const struct file_entry *e = *v->file ? tree_chosen(v) : NULL;
	if (e && e->dir) { /* a path of a directory was asked for */
		CLEANUP(free_ptr) char *path = view_tree_joined(v->dir, v->file);
		free(v->dir);
		v->dir = take(&path);
		*v->file = 0;
		keep_listing(v, s);
	}
	v->l.nr = v->f.nr;
	list_settle(&v->l, rows);
	view_tree_head(v, ui, s);
	v->rows = rows - 3 - (v->blame && !v->diff && *v->file ? WHO_ROWS : 0);
	bool beside = cols >= WIDE_COLS && !*v->file;
	keep_text(v, ui, s, beside ? cols - LEFT_COLS - 1 : cols - 1);
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
}

/* --- verbs ------------------------------------------------------------------------------------ */

static bool view_tree_up(struct tree_view *v)
{
	if (v->diff && *v->file) {
		v->diff = false;
	} else if (*v->file) {
		*v->file = 0;
		v->top = 0;
	} else if (*v->dir) {
		char *slash = strrchr(v->dir, '/');
		*(slash ? slash : v->dir) = 0;
		v->l.at = v->l.top = 0;
	} else {
		return false;
	}
	return true;
}

static bool down_into(struct tree_view *v)
{
	const struct file_entry *e = tree_chosen(v);
	if (*v->file || !e)
		return true;
	if (!e->dir) {
		free(v->file);
		v->file = mem_strdup(e->name);
		v->top = 0;
		return true;
	}
	char *path = view_tree_joined(v->dir, e->name);
	free(v->dir);
	v->dir = path;
	v->l.at = v->l.top = 0;
	return true;
}

static void view_tree_compared(struct ui *ui, const char *text)
{
	struct view *top = ui_top(ui);
	struct tree_view *v = top->ops == view_find("tree") ? top->self : NULL;
	if (!v || !text)
		return;
	uint64_t at = *text ? place_named(ui, v->source, text) : 0;
	if (*text && !at) {
		ui_say(ui, ROLE_ERROR, "bookmark or event '%s' not found; :bookmarks lists them",
		       text);
		return;
	}
	const struct file_entry *e = tree_chosen(v);
	if (e && !e->dir && !*v->file)
		down_into(v);
	v->against = at;
	v->diff = true;
	v->top = 0;
}

static bool ask_diff(struct tree_view *v, struct ui *ui)
{
	const struct file_entry *e = tree_chosen(v);
	if (!e || e->dir)
		return false; /* of all files: the diff screen */
	if (v->diff && *v->file)
		v->diff = false;
	else
		ui_ask(ui, "compare with bookmark or event (empty: the base): ",
		       &(struct subject){ .source = v->source }, view_tree_compared);
	return true;
}

static bool next_box(struct tree_view *v, struct ui *ui)
{
	const struct source *s = ui_source(ui, v->source);
	uint64_t now = s ? view_tree_box_of(v, &s->model) : 0;
	for (size_t i = 0; s && i < s->model.nr_boxes; i++)
		if (s->model.box[i].id == now) {
			v->box = s->model.box[(i + 1) % s->model.nr_boxes].id;
			ui_say(ui, ROLE_DIM, "sandbox %s",
			       s->model.box[(i + 1) % s->model.nr_boxes].name);
		}
	v->l.at = v->l.top = 0;
	return true;
}

static bool view_tree_verb(void *self, struct ui *ui, enum verb verb)
{
	struct tree_view *v = self;
	if (*v->file ? scroll_verb(&v->top, v->rows, verb) : list_verb(&v->l, verb)) {
		if (!*v->file)
			v->top = 0;
		return true;
	}
	switch ((int)verb) {
	case VERB_OPEN:
		return down_into(v);
	case VERB_BACK:
		return view_tree_up(v);
	case VERB_DIFF:
		return ask_diff(v, ui);
	case VERB_BLAME:
		if (!*v->file)
			down_into(v);
		v->blame = !v->blame;
		return true;
	case VERB_NEXT_PANE:
		return next_box(v, ui);
	case VERB_TREE:
		*v->file = *v->dir = 0;
		return true;
	default:
		return false;
	}
}

static bool view_tree_key(void *self, struct ui *ui, uint32_t key)
{
	struct tree_view *v = self;
	(void)ui;
	if (key == 'J' || key == 'K')
		v->top += key == 'J' ? 1 : -1;
	else if (key == 'h' || key == K_BACKSPACE)
		view_tree_up(v);
	else if (key == 'l')
		down_into(v);
	else
		return false;
	return true;
}

static enum click view_tree_click(void *self, struct ui *ui, int row, int col)
{
	struct tree_view *v = self;
	bool list = !*v->file && (ui->grid.cols < WIDE_COLS || col < LEFT_COLS);
	return list ? list_click(&v->l, row) : CLICK_NONE;
}

static void view_tree_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct tree_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

static const char *view_tree_name_of(const void *self, const struct ui *ui, size_t i,
				     struct arena *a)
{
	const struct tree_view *v = self;
	(void)ui;
	(void)a;
	return i < v->f.nr ? v->f.entry[i].name : "";
}

static void view_tree_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct tree_view *v = self;
	if (*v->file)
		*out = (struct looked){ .what = LOOK_TEXT,
					.source = v->source,
					.text = &v->text,
					.at = v->text_top,
					.gutters = v->blame || v->diff,
					.seen = { .first = v->text_top,
						  .row = 3,
						  .rows = v->rows,
						  .cols = ui->grid.cols } };
	else
		*out = (struct looked){ .what = LOOK_LINES,
					.source = v->source,
					.nr = v->f.nr,
					.line = view_tree_name_of,
					.at = v->l.at };
}

static void view_tree_go(void *self, struct ui *ui, uint64_t to)
{
	struct tree_view *v = self;
	(void)ui;
	if (*v->file)
		v->top = (int64_t)to;
	else
		list_move(&v->l, (int64_t)to);
}

static void view_tree_as_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct tree_view *v = self;
	(void)ui;
	if (*v->file) {
		text_plain(&v->text, v->blame || v->diff, out);
		return;
	}
	for (size_t i = 0; i < v->f.nr; i++) {
		buf_printf(out, "%c ", v->f.entry[i].op);
		sanitize_line(v->f.entry[i].name, strlen(v->f.entry[i].name), 0, out);
		buf_puts(out, v->f.entry[i].dir ? "/\n" : "\n");
	}
}

static const char *const view_tree_own[] = { "h l", "out of a directory, into it", "J K",
					     "scroll a line", NULL };

const struct view_ops view_tree = {
	.name = "tree",
	.where = IN_FILES,
	.size = sizeof(struct tree_view),
	.open = view_tree_open_view,
	.close = view_tree_close_view,
	.recalc = view_tree_recalc,
	.paint = tree_paint,
	.verb = view_tree_verb,
	.key = view_tree_key,
	.own = view_tree_own,
	.click = view_tree_click,
	.subject = view_tree_subject,
	.look = view_tree_look,
	.go = view_tree_go,
	.text = view_tree_as_text,
};
