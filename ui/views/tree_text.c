/* Part of view_tree.c: the chosen file as text, its contents or its difference. */
#include <string.h>

#include "ui/views/tree_priv.h"
#include "ui/term/fmt.h"
#include "ui/rows/pane.h"
#include "ui/rows/who.h"

/* A gutter's text stands at its right end. By hand: a file may have very many lines. */
static const char *view_tree_number_of(struct tree_view *v, size_t n)
{
	char digits[24], *p = digits + sizeof(digits);
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return arena_strndup(&v->kept, p, (size_t)(digits + sizeof(digits) - p));
}

/* "   #381     12", the number of the event only where it is another than in the line before. */
static const char *gutter_of(struct tree_view *v, struct source *s, size_t line)
{
	bool open = v->shown.blame && line == 0 && !blaming_over(v->whose);
	bool new_ = v->shown.blame && line < v->by.nr &&
		    (line == 0 || v->by.by[line] != v->by.by[line - 1]);
	if (!open && !new_)
		return view_tree_number_of(v, line + 1);
	return arena_printf(&v->kept, "%*s %*zu", WHO_COLS - 1,
			    open ? "..." : who_mark(s, v->by.by[line], &v->kept), NUMBER_COLS - 1,
			    line + 1);
}

static void add_lines(struct tree_view *v, struct source *s, const struct buf *b)
{
	size_t line = 0, cut = b->len > TEXT_MAX ? TEXT_MAX : b->len;
	const char *p = buf_cstr(b), *end = p + cut;
	for (; p < end; line++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);
		text_add(&v->text, ROLE_TEXT, gutter_of(v, s, line), p, len, 0);
		p += len + 1;
	}
	if (b->len > cut)
		text_putf(&v->text, ROLE_WARN, "%zu more bytes: 'sandglass cat' prints all of it",
			  b->len - cut);
}

static void add_difference(struct tree_view *v, struct source *s, const char *path,
			   const struct file_entry *now)
{
	struct file_entry then = { .id = now->was, .mode = now->was_mode };
	if (v->against && !files_find(s, v->shown.box, v->against, path, &v->kept, &then))
		then = (struct file_entry){ 0 };
	struct change c = { .op = 'M', .path = path };
	c.old = then.id;
	c.old_mode = object_is_null(&then.id) ? 0 : then.mode;
	if (now->op != 'D') {
		c.new_ = now->id;
		c.new_mode = now->mode;
	}
	if (c.old_mode && c.new_mode && memcmp(c.old.b, c.new_.b, sizeof(c.old.b)) == 0)
		text_puts(&v->text, ROLE_DIM, "no difference");
	else
		pane_change(&v->text, s, &c, 3);
}

static void add_contents(struct tree_view *v, struct source *s, const char *path,
			 const struct file_entry *e)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (e->op == 'D') {
		text_puts(&v->text, ROLE_DIM, "removed: its last content");
		text_blank(&v->text);
	}
	int64_t size = session_object_size(s->session, &e->id);
	if (size > FILES_READ_MAX) {
		text_putf(&v->text, ROLE_WARN,
			  "%s bytes are not read here: 'sandglass cat' prints them",
			  fmt_count(&v->kept, size));
		return;
	}
	if (!files_read(s, &e->id, &b)) {
		text_puts(
			&v->text, ROLE_DIM,
			e->op == ' '
				? "as in the base: the recording holds its name and hash, not its bytes"
				: "the recording holds its name and hash, not its bytes");
		return;
	}
	if ((e->mode & TREE_MODE_KIND) == TREE_MODE_LINK) {
		text_putf(&v->text, ROLE_TEXT, "link to %s", buf_cstr(&b));
		return;
	}
	if (memchr(buf_cstr(&b), 0, b.len > 8000 ? 8000 : b.len)) {
		text_putf(&v->text, ROLE_DIM, "no text: %s bytes",
			  fmt_count(&v->kept, (int64_t)b.len));
		return;
	}
	if (v->shown.blame)
		v->whose = blaming_new(s, v->shown.box, 0, path);
	add_lines(v, s, &b);
}

static void make_text(struct tree_view *v, struct source *s, const struct file_entry *e,
		      const struct shown *want)
{
	CLEANUP(free_ptr) char *path = e ? view_tree_joined(v->dir, e->name) : NULL;
	arena_reset(&v->kept);
	blaming_free(&v->whose);
	v->by = (struct blame){ 0 };
	v->shown = *want;
	int gutter = want->diff ? 3 : want->blame ? WHO_COLS + NUMBER_COLS + 1 : NUMBER_COLS + 1;
	text_init(&v->text, &v->kept, want->width, gutter, want->ascii);
	if (!e || e->dir)
		text_puts(&v->text, ROLE_DIM, *v->file && !e ? "file not found here" : "");
	else if (want->diff)
		add_difference(v, s, path, e);
	else
		add_contents(v, s, path, e);
	number_rows(v);
}

/* Known lines are marked at the start of each other author's lines. */
static void mark_lines(struct tree_view *v, struct source *s)
{
	v->by = *blaming_result(v->whose);
	for (size_t i = 0; i < v->text.nr; i++) {
		size_t line = v->line[i];
		bool first = line > 0 && (i == 0 || v->line[i - 1] != line);
		if (first &&
		    (line == 1 || (line <= v->by.nr && v->by.by[line - 1] != v->by.by[line - 2])))
			v->text.row[i].gutter = gutter_of(v, s, line - 1);
	}
}

static void view_tree_go_on(struct tree_view *v, struct source *s)
{
	if (blaming_over(v->whose))
		return;
	if (blaming_step(v->whose, BLAME_SLICE_US))
		mark_lines(v, s);
}

void keep_text(struct tree_view *v, struct ui *ui, struct source *s, int width)
{
	const struct file_entry *e = tree_chosen(v);
	struct shown want = { .box = view_tree_box_of(v, &s->model),
			      .width = width,
			      .blame = v->blame && *v->file,
			      .diff = v->diff && *v->file,
			      .ascii = ui->grid.ascii,
			      .reading = ui_reading(ui) };
	if (e) {
		want.id = e->id;
		want.was = e->was;
		want.at = want.blame && !want.diff ? files_state(s, want.box) : v->against;
	}
	if (v->text.arena != &v->kept || memcmp(&want, &v->shown, sizeof(want)) != 0)
		make_text(v, s, e, &want);
	else
		view_tree_go_on(v, s); /* not in the same frame */
	if (!blaming_over(v->whose)) {
		ui->wake_us = ui->mono_us + 1;
		v->note = arena_printf(v->arena, "who brought each line ... %d%%",
				       blaming_percent(v->whose));
	}
}
