/* The filter line: checked at every key, with completion and a count; the filter of each view;
 * saved filters. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/model/facts.h"

enum { WORK_US = 30000, VALUES_LOOKED = 300 };

static const char filter_keys[] = "Esc removes the filter, :filter save NAME keeps it";

static struct view_filter *filter_on(const struct ui *ui)
{
	return &ui->find->filter[view_index(ui->stack[ui->depth - 1].ops)];
}

void filterline_drop(struct pick **pick)
{
	for (size_t i = 0; i < FINDER_SOURCES; i++)
		pick_free(&pick[i]);
}

/* --- saved filters ---------------------------------------------------------------------------- */

static char *saved_path(const struct ui *ui)
{
	const char *history = ui->find->history.path,
		   *slash = history ? strrchr(history, '/') : NULL;
	return slash ? mem_printf("%.*sfilters", (int)(slash + 1 - history), history) : NULL;
}

static struct saved_filters *saved_of(const struct ui *ui)
{
	struct finder *f = ui->find;
	CLEANUP(free_ptr) char *path = saved_path(ui);
	if (!f->saved_loaded && path) {
		f->saved_loaded = true;
		saved_load(&f->saved, path);
	}
	return &f->saved;
}

static bool saved_write(struct ui *ui, struct err *err)
{
	CLEANUP(free_ptr) char *path = saved_path(ui);
	return !path || saved_store(saved_of(ui), path, err) == 0;
}

size_t filter_saved_count(const struct ui *ui)
{
	return saved_of(ui)->nr;
}

void filter_saved_at(const struct ui *ui, size_t i, const char **name, const char **text)
{
	*name = saved_of(ui)->one[i].name;
	*text = saved_of(ui)->one[i].text;
}

/* ":filter", ":filter save NAME", ":filter rm NAME", ":filter TEXT" */
void filter_command(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct err err = ERR_INIT;
	if (nr == 3 && strcmp(words[1], "save") == 0) {
		const char *bad = words[2];
		while (isalnum((unsigned char)*bad) || *bad == '_' || *bad == '-')
			bad++;
		if (*bad || !*ui_filter(ui)) {
			ui_say(ui, ROLE_ERROR,
			       *bad ? "a name has letters, digits, _ and -"
				    : "no filter is set here: f sets one");
			return;
		}
		saved_put(saved_of(ui), words[2], ui_filter(ui));
		if (saved_write(ui, &err))
			ui_say(ui, ROLE_TEXT, "saved as @%s: %s", words[2], ui_filter(ui));
		else
			ui_say_error(ui, &err);
	} else if (nr == 3 && strcmp(words[1], "rm") == 0) {
		if (!saved_remove(saved_of(ui), words[2])) {
			ui_say(ui, ROLE_ERROR, "saved filter '%s' not found", words[2]);
			return;
		}
		ui_say(ui, saved_write(ui, &err) ? ROLE_TEXT : ROLE_ERROR, "removed @%s", words[2]);
	} else if (nr == 2 && (strcmp(words[1], "save") == 0 || strcmp(words[1], "rm") == 0)) {
		ui_say(ui, ROLE_ERROR, "%s under which name? :filter %s NAME",
		       strcmp(words[1], "rm") ? "save" : "remove what is saved", words[1]);
	} else {
		filter_set(ui, rest);
	}
}

/* --- the filter of a view --------------------------------------------------------------------- */

const char *ui_filter(const struct ui *ui)
{
	const struct view_filter *v = filter_on(ui);
	return v->text ? v->text : "";
}

bool ui_filtering(const struct ui *ui)
{
	const struct view_filter *v = filter_on(ui);
	for (size_t i = 0; v->text && i < FINDER_SOURCES; i++)
		if (v->busy[i])
			return true;
	return false;
}

static bool filterline_make(struct ui *ui, struct pick **pick, const char *text, size_t *column,
			    struct err *err)
{
	const struct filter_saved saved = saved_lookup(saved_of(ui));
	ui->stale = true;
	filterline_drop(pick);
	for (size_t i = 0; i < ui->nr_src && i < FINDER_SOURCES; i++)
		if (pick_new(&pick[i], text, &saved, column, err) < 0)
			return false;
	return true;
}

void filter_set(struct ui *ui, const char *text)
{
	struct view_filter *v = filter_on(ui);
	struct pick *made[FINDER_SOURCES] = { NULL };
	struct err err = ERR_INIT;
	while (text && *text == ' ')
		text++;
	bool none = !text || !*text;
	/* the one that is in force stays */
	if (!none && !filterline_make(ui, made, text, NULL, &err)) {
		filterline_drop(made);
		ui_say_error(ui, &err);
		return;
	}
	ui->stale = true;
	filterline_drop(v->pick);
	memcpy(v->pick, made, sizeof(made));
	memset(v->busy, 0, sizeof(v->busy));
	free(v->text);
	v->text = none ? NULL : mem_strdup(text);
	ui_say(ui, ROLE_DIM, "%s", none ? "no filter: everything is listed" : filter_keys);
}

void filter_begin(struct ui *ui, const char *text)
{
	static const char *const lists[] = { "fleet", "agent", "log" };
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct view_filter *v = &ui->find->filter[view_index(view_find(lists[i]))];
		free(v->text);
		v->text = mem_strdup(text);
	}
}

/* A session that began after the filter was set gets its own. */
static struct pick *pick_of(struct ui *ui, struct view_filter *v, size_t source)
{
	if (!v->text || source >= FINDER_SOURCES)
		return NULL;
	if (!v->pick[source]) {
		const struct filter_saved saved = saved_lookup(saved_of(ui));
		struct err err = ERR_INIT;
		if (pick_new(&v->pick[source], v->text, &saved, NULL, &err) < 0)
			ui_say_error(ui, &err);
	}
	return v->pick[source];
}

static struct pick *filterline_working(struct ui *ui, size_t source)
{
	struct view_filter *v = filter_on(ui);
	struct source *s = ui_source(ui, source);
	struct pick *p = pick_of(ui, v, source);
	if (!p || !s)
		return NULL;
	bool was = ui_filtering(ui);
	v->busy[source] = pick_work(p, s, ui_now(ui), WORK_US);
	if (v->busy[source]) {
		ui_say(ui, ROLE_DIM, "filtering.. %d%%", pick_percent(p, s));
		ui->wake_us = ui->mono_us + 1;
	} else if (was && !ui_filtering(ui)) {
		ui_say(ui, ROLE_DIM, "%s", filter_keys);
	}
	if (pick_failed(p))
		ui_say(ui, ROLE_ERROR, "%s", pick_failed(p));
	return p;
}

const struct rows *ui_rows(struct ui *ui, size_t source, const struct rows *of)
{
	struct pick *p = filterline_working(ui, source);
	const struct rows *in = p ? pick_rows(p, ui->src[source], of, ui_now(ui)) : of;
	ui->find->shown = in->nr;
	ui->find->of = of->nr;
	return in;
}

void filter_count_anew(struct ui *ui)
{
	ui->find->shown = ui->find->of = 0;
}

static bool filterline_counted(struct ui *ui, bool lets)
{
	ui->find->shown += lets;
	ui->find->of++;
	return lets;
}

static bool filterline_lets(struct ui *ui, const struct view_filter *v, size_t source, json_t *row)
{
	bool in = filter_match(pick_filter(v->pick[source]), row, ui_now(ui));
	json_decref(row);
	return in;
}

bool ui_lets_agent(struct ui *ui, size_t source, const struct model_agent *a)
{
	struct view_filter *v = filter_on(ui);
	return filterline_counted(
		ui, !pick_of(ui, v, source) ||
			    filterline_lets(ui, v, source, facts_agent(ui->src[source], a)));
}

bool ui_lets_row(struct ui *ui, size_t source, uint64_t seq)
{
	struct view_filter *v = filter_on(ui);
	return filterline_counted(
		ui, !pick_of(ui, v, source) ||
			    filterline_lets(ui, v, source, facts_row(ui->src[source], seq)));
}

bool ui_below_lets_row(struct ui *ui, const char *view, size_t source, uint64_t seq)
{
	bool open = false;
	for (size_t i = 0; i < ui->depth; i++)
		open |= strcmp(ui->stack[i].ops->name, view) == 0;
	struct view_filter *v = &ui->find->filter[view_index(view_find(view))];
	return !open || !pick_of(ui, v, source) ||
	       filterline_lets(ui, v, source, facts_row(ui->src[source], seq));
}

/* --- completion ------------------------------------------------------------------------------- */

static void filterline_add_if(struct finder *f, const char *text, const char *begin)
{
	if (text && *text && strncasecmp(text, begin, strlen(begin)) == 0)
		choice_add(f, text);
}

/* One that the language would take apart is quoted. */
static void filterline_add_value(struct finder *f, const char *text, const char *begin)
{
	if (!text || strlen(text) > 60 || strpbrk(text, "\"\n"))
		return;
	if (strpbrk(text, " ,()\t")) {
		CLEANUP(free_ptr) char *quoted = mem_printf("\"%s\"", text);
		filterline_add_if(f, quoted, begin);
	} else {
		filterline_add_if(f, text, begin);
	}
}

/* What the newest rows have there. */
static void add_seen(struct ui *ui, const char *field, const char *begin)
{
	for (size_t i = 0; i < ui->nr_src; i++) {
		struct source *s = ui->src[i];
		const struct rows *r = &s->model.rows;
		for (size_t k = r->nr; k > 0 && r->nr - k < VALUES_LOOKED; k--) {
			CLEANUP(json_release) json_t *row = facts_row(s, r->row[k - 1].seq);
			const json_t *v = json_object_get(row, field), *one;
			size_t n;
			if (json_is_string(v))
				filterline_add_value(ui->find, json_string_value(v), begin);
			else
				json_array_foreach((json_t *)(uintptr_t)v, n, one)
					filterline_add_value(ui->find, json_string_value(one),
							     begin);
		}
	}
}

static void filterline_add_values(struct ui *ui, const char *field, const char *begin)
{
	const char *const *closed = filter_field_values(field);
	for (; closed && *closed; closed++)
		filterline_add_if(ui->find, *closed, begin);
	if (filter_field_values(field))
		return;
	if (strcmp(field, "agent") == 0 || strcmp(field, "box") == 0)
		for (size_t i = 0; i < ui->nr_src; i++) {
			const struct model *m = &ui->src[i]->model;
			for (size_t k = 0; *field == 'a' && k < m->nr_agents; k++)
				filterline_add_value(ui->find, m->agent[k].name, begin);
			for (size_t k = 0; *field == 'b' && k < m->nr_boxes; k++)
				filterline_add_value(ui->find, m->box[k].name, begin);
		}
	else if (strcmp(field, "text") != 0)
		add_seen(ui, field, begin);
}

static void filterline_complete(struct ui *ui)
{
	struct finder *f = ui->find;
	const struct prompt *p = &ui->prompt;
	const char *text = buf_cstr(&p->text);
	size_t from = p->at;
	choices_clear(f);
	while (from > 0 && !strchr(" \t(!,", text[from - 1]))
		from--;
	size_t term = from;
	while (term > 0 && !strchr(" \t(!", text[term - 1]))
		term--;
	size_t op = term;
	while (op < p->at && (isalpha((unsigned char)text[op]) || text[op] == '_'))
		op++;
	CLEANUP(free_ptr) char *field = mem_strndup(text + term, op - term);
	if (op < p->at && op > term && strchr(":=!", text[op])) {
		size_t value = op + 1 + (text[op] == '!' && text[op + 1] == '=');
		value = from > value ? from : value;
		CLEANUP(free_ptr)
		char *begin = mem_strndup(text + value, p->at > value ? p->at - value : 0);
		f->choice_from = value;
		f->choice_doc = "value";
		filterline_add_values(ui, field, begin);
		return;
	}
	CLEANUP(free_ptr) char *begin = mem_strndup(text + from, p->at - from);
	f->choice_from = from;
	f->choice_doc = "field";
	for (size_t i = 0; filter_field_name(i); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("%s:", filter_field_name(i));
		filterline_add_if(f, name, begin);
	}
	for (size_t i = 0; *begin == '@' && i < filter_saved_count(ui); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("@%s", saved_of(ui)->one[i].name);
		filterline_add_if(f, name, begin);
	}
}

/* --- the line --------------------------------------------------------------------------------- */

void filterline_changed(struct ui *ui)
{
	struct finder *f = ui->find;
	f->wrong = ERR_INIT;
	f->wrong_column = 0;
	if (!filterline_make(ui, f->draft, buf_cstr(&ui->prompt.text), &f->wrong_column,
			     &f->wrong)) {
		filterline_drop(f->draft);
		f->wrong_column = f->wrong_column ? f->wrong_column : 1;
	}
	filterline_complete(ui);
}

bool filterline_key(struct ui *ui, uint32_t key)
{
	struct finder *f = ui->find;
	if (key == K_TAB) {
		choice_tab(ui, "");
		if (f->choosing) { /* the list stays as it was */
			f->wrong_column = 0;
			if (!filterline_make(ui, f->draft, buf_cstr(&ui->prompt.text),
					     &f->wrong_column, &f->wrong))
				filterline_drop(f->draft);
		}
		return true;
	}
	if (key == K_CTRL('t')) {
		f->show_sql = !f->show_sql;
		return true;
	}
	if (key == K_ENTER && f->wrong_column)
		return true; /* the reason stands there already */
	return false;
}

/* How many rows of the sessions on the screen it lets through, as far as has been asked. */
static const char *filterline_count(const struct ui *ui, char *out, size_t size)
{
	size_t nr = 0, of = 0;
	bool more = false;
	for (size_t i = 0; i < ui->nr_src && i < FINDER_SOURCES; i++) {
		struct pick *p = ui->find->draft[i];
		if (!p)
			continue;
		more = pick_work(p, ui->src[i], ui_now(ui), WORK_US) || more;
		nr += pick_rows(p, ui->src[i], &ui->src[i]->model.rows, ui_now(ui))->nr;
		of += ui->src[i]->model.rows.nr;
	}
	snprintf(out, size, "%zu%s of %zu", nr, more ? ".. so far" : "", of);
	return out;
}

void hint_saying(const struct ui *ui, struct area a, int row, const char *keys)
{
	struct finder *f = ui->find;
	char text[64];
	bool open_end =
		f->wrong_column && f->nr_choices > 0 && ui->prompt.at == ui->prompt.text.len;
	if (open_end) {
		choices_paint(f, a, row); /* not wrong yet, only not whole */
		return;
	}
	if (f->wrong_column) {
		put_bytes(a, row, 1, a.cols - 2, ROLE_ERROR, f->wrong.text, strlen(f->wrong.text),
			  0);
		return;
	}
	filterline_count(ui, text, sizeof(text));
	int n = (int)strlen(text);
	if (f->show_sql && f->draft[0]) {
		CLEANUP(buf_release) struct buf sql = BUF_INIT;
		filter_sql(pick_filter(f->draft[0]), &sql);
		put_bytes(a, row, 1, a.cols - n - 4, ROLE_DIM, sql.data, sql.len, 0);
	} else if (f->nr_choices > 0) {
		choices_paint(f, area_sub(a, 0, 0, a.rows, a.cols - n - 2), row);
	} else {
		grid_put(a, row, 1, ROLE_DIM, keys);
	}
	grid_put(a, row, a.cols - n - 1, ROLE_OK, text);
}

static void filterline_hint(const struct ui *ui, struct area a, int row)
{
	hint_saying(ui, a, row, "Enter filters  Esc cancels  Up history  Ctrl-t SQL");
}

/* What is wrong: from the column to the end of the word. */
bool filterline_part(const struct ui *ui, size_t *from, size_t *len, enum role *role)
{
	const struct finder *f = ui->find;
	const char *text = buf_cstr(&ui->prompt.text);
	if (f->nr_choices > 0 && ui->prompt.at == ui->prompt.text.len)
		return false;
	if (!f->wrong_column || f->wrong_column > ui->prompt.text.len)
		return false;
	*from = f->wrong_column - 1;
	*len = strcspn(text + *from + 1, " \t)") + 1;
	*role = ROLE_ERROR;
	return true;
}

static const struct prompt_ops filterline_ops = {
	.history = 'f',
	.key = filterline_key,
	.changed = filterline_changed,
	.hint = filterline_hint,
	.part = filterline_part,
};

static void filterline_done(struct ui *ui, const char *text)
{
	ui->stale = true;
	filterline_drop(ui->find->draft);
	choices_clear(ui->find);
	ui->find->wrong_column = 0;
	if (text)
		filter_set(ui, text);
}

void filter_ask(struct ui *ui, const char *text)
{
	prompt_ask(ui, "f:", text, &filterline_ops, &(struct subject){ 0 }, filterline_done);
}

void filter_ask_saved(struct ui *ui)
{
	if (filter_saved_count(ui) > 0)
		filter_ask(ui, "@"); /* Tab goes through their names */
	else
		ui_say(ui, ROLE_DIM,
		       "no filter is saved yet: f sets one, :filter save NAME keeps it");
}

struct filter_saved filter_names(struct ui *ui)
{
	return saved_lookup(saved_of(ui));
}
