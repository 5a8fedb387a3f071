#include "ui/views/approval_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/prompt.h"
#include "ui/term/fmt.h"
#include "ui/term/text.h"

static const struct {
	const char *name, *opt, *value;
} approval_widen_lasts[] = {
	{ "session ends", NULL, NULL },
	{ "30 minutes", "for", "30m" },
	{ "5 uses", "uses", "5" },
};

static void row_clear(struct widen_row *r)
{
	free(r->pattern);
	json_decref(r->tried);
	*r = (struct widen_row){ 0 };
}

void widen_close(struct widen *w)
{
	for (size_t i = 0; i < w->nr; i++)
		row_clear(&w->row[i]);
	json_decref(w->hosts);
	*w = (struct widen){ 0 };
}

/* --- asking the supervisor -------------------------------------------------------------------- */

static struct widen_row *approval_widen_at(struct widen *w)
{
	return w->at < w->nr ? &w->row[w->at] : NULL;
}

/* The host that is also allowed; before a choice, the first possible one. NULL: no host. */
static const json_t *approval_widen_host_of(const struct widen *w)
{
	return json_array_get(w->hosts, w->host ? w->host - 1 : 0);
}

static void approval_widen_proposals(struct widen *w, const json_t *list)
{
	struct widen_row own = { 0 };
	w->known = true;
	if (w->nr > 0) /* typed before they came: it stays the last */
		own = w->row[--w->nr];
	for (size_t i = 0; i < json_array_size(list) && w->nr < WIDEN_ROWS - 1; i++) {
		json_t *o = json_array_get(list, i);
		w->row[w->nr++] =
			(struct widen_row){ .pattern = mem_strdup(json_str(o, "pattern", "")),
					    .wide = json_flag(o, "wide", false),
					    .counted = true,
					    .matched = json_int(o, "matched", 0),
					    .denied = json_int(o, "denied", 0),
					    .tried = w->what == WIDEN_SESSION ? json_incref(o)
									      : NULL };
	}
	if (!own.pattern)
		return;
	w->at = w->nr;
	w->row[w->nr++] = own;
}

static void approval_widen_tried(struct widen *w, json_t *o)
{
	for (size_t i = 0; i < w->nr; i++) {
		struct widen_row *r = &w->row[i];
		if (strcmp(r->pattern, json_str(o, "pattern", "")) != 0)
			continue;
		json_decref(r->tried);
		r->tried = json_incref(o);
		r->wide = json_flag(o, "wide", r->wide);
		r->counted = true;
		r->matched = json_int(o, "matched", 0);
		r->denied = json_int(o, "denied", 0);
	}
}

static void approval_widen_ask(struct approval *v, struct ui *ui);

/* Questions that are under way. A place is used again long after its answer has come. */
static struct question {
	struct ui *ui;
	unsigned n;
} approval_widen_question[64];

static void approval_widen_answered(void *self, const json_t *result, const struct err *err)
{
	const struct question *q = self;
	struct ui *ui = q->ui;
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	if (strcmp(top->ops->name, "approval") != 0)
		return;
	struct widen *w = &v->widen;
	if (!w->what || w->asked != q->n || w->action != v->action)
		return; /* a newer question was sent, or the screen has moved on */
	snprintf(w->wrong, sizeof(w->wrong), "%s", err ? err->text : "");
	bool first = !w->known;
	if (!err && first && w->what == WIDEN_SESSION)
		w->hosts = json_incref(json_object_get(result, "hosts"));
	if (!err && first)
		approval_widen_proposals(w, json_object_get(result, "proposals"));
	if (!err && json_is_object(json_object_get(result, "tried")))
		approval_widen_tried(w, json_object_get(result, "tried"));
	if (!err && first && w->what == WIDEN_RULE)
		approval_widen_ask(v, ui);
}

/* Asks for the effect of the pattern under the cursor; before the first answer: for the
 * patterns. */
static void approval_widen_ask(struct approval *v, struct ui *ui)
{
	static unsigned nr;
	struct widen *w = &v->widen;
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { "waivers", id,
				approval_widen_at(w) ? approval_widen_at(w)->pattern : NULL };
	if (!ui_may_act(ui, v->source) ||
	    (w->known && (!approval_widen_at(w) || !*approval_widen_at(w)->pattern)))
		return;
	json_t *opts = json_object();
	if (approval_widen_at(w) && w->what == WIDEN_RULE) {
		json_put_str(opts, "rule", w->deny ? "deny" : "allow");
		if (*v->note)
			json_put_str(opts, "note", v->note);
	}
	w->asked = ++nr;
	struct question *q = &approval_widen_question[nr % ARRAY_LEN(approval_widen_question)];
	*q = (struct question){ ui, nr };
	ui->act[v->source].command(ui->act[v->source].self, words, approval_widen_at(w) ? 3 : 2,
				   opts, approval_widen_answered, q);
	json_decref(opts);
}

void widen_open(struct approval *v, struct ui *ui, bool rule)
{
	struct widen *w = &v->widen;
	widen_close(w);
	w->what = rule ? WIDEN_RULE : WIDEN_SESSION;
	w->action = v->action;
	/* back on the first screen nothing is decided by mistake either */
	w->opened_us = v->opened_us = ui->mono_us;
	ui->flush = true;
	ui->wake_us = ui->mono_us + ui->dead_us;
	approval_widen_ask(v, ui);
}

/* --- a pattern of one's own ------------------------------------------------------------------- */

static void approval_widen_typing(struct ui *ui)
{
	struct approval *v = approval_on_top(ui);
	if (!v || !v->widen.what)
		return;
	struct widen_row *r = approval_widen_at(&v->widen);
	if (!r || !r->typed)
		return;
	free(r->pattern);
	r->pattern = mem_strdup(buf_cstr(&ui->prompt.text));
	json_release(&r->tried);
	r->wide = r->counted = v->widen.sure = false;
	v->widen.wrong[0] = 0;
	approval_widen_ask(v, ui);
}

/* The subject of its patterns, as in waivers. */
static const char *patterns_of(const struct approval *v)
{
	static const char *const of[][2] = { { "exec", "commands" }, { "shell", "commands" },
					     { "read", "paths" },    { "write", "paths" },
					     { "edit", "paths" },    { "put", "paths" },
					     { "get", "paths" },     { "connect", "hosts" },
					     { "fetch", "hosts" },   { "port", "hosts" } };
	for (size_t i = 0; v->info.act && i < ARRAY_LEN(of); i++)
		if (!strcmp(v->info.act->kind, of[i][0]))
			return of[i][1];
	return "tools";
}

static void approval_widen_hint(const struct ui *ui, struct area a, int row)
{
	const struct view *top = &ui->stack[ui->depth - 1];
	const struct approval *v = top->self;
	if (strcmp(top->ops->name, "approval") != 0 || !v->widen.what)
		return;
	const struct widen_row *r = &v->widen.row[v->widen.at];
	if (*v->widen.wrong)
		put_bytes(a, row, 1, a.cols - 2, ROLE_ERROR, v->widen.wrong, strlen(v->widen.wrong),
			  0);
	else if (!*r->pattern)
		grid_put(
			a, row, 1, ROLE_DIM,
			strcmp(patterns_of(v), "commands") == 0
				? "word by word; * within a word, \" *\" at the end for more arguments"
				: "as it is written above; * for any part of it");
	else if (r->tried)
		grid_put(a, row, 1, r->wide ? ROLE_WARN : ROLE_OK,
			 r->wide ? "a pattern, and a WIDE one" : "a pattern");
}

static void approval_widen_typed(struct ui *ui, const char *text)
{
	struct approval *v = approval_on_top(ui);
	if (!v || !v->widen.what)
		return;
	struct widen *w = &v->widen;
	if (text && *text)
		return;
	row_clear(&w->row[--w->nr]); /* the typed one is the last */
	w->at = 0;
	w->wrong[0] = 0;
	approval_widen_ask(v, ui);
}

static void approval_widen_edit(struct approval *v, struct ui *ui)
{
	static const struct prompt_ops ops = { .changed = approval_widen_typing,
					       .hint = approval_widen_hint };
	const struct subject on = { .source = v->source, .action = v->action };
	struct widen *w = &v->widen;
	CLEANUP(free_ptr)
	char *from = mem_strdup(approval_widen_at(w) ? approval_widen_at(w)->pattern
				: v->info.command    ? v->info.command
						     : "");
	if (w->nr == 0 || !w->row[w->nr - 1].typed)
		w->row[w->nr++] = (struct widen_row){ .pattern = mem_strdup(from), .typed = true };
	w->at = w->nr - 1;
	prompt_ask(ui, "pattern:", from, &ops, &on, approval_widen_typed);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void approval_widen_save(struct approval *v, struct ui *ui)
{
	struct widen *w = &v->widen;
	const struct widen_row *r = approval_widen_at(w);
	if (!ui_may_act(ui, v->source))
		return;
	if (ui->mono_us - w->opened_us < ui->dead_us) {
		ui_say(ui, ROLE_DIM,
		       "keys are off for a moment, so that nothing is saved by mistake");
	} else if (!r || !*r->pattern || *w->wrong || !r->tried) {
		ui_say(ui, ROLE_WARN, "%s",
		       *w->wrong ? w->wrong : "its matches are not known yet; nothing was saved");
	} else if (r->wide && !w->sure && !w->deny) {
		w->sure = true;
		ui_say(ui, ROLE_WARN,
		       "WIDE: it would allow many different actions; Enter again saves it");
	} else {
		json_t *opts = json_object();
		json_put_bytes(opts, w->what == WIDEN_RULE ? "rule" : "session", r->pattern,
			       strlen(r->pattern));
		if (w->what == WIDEN_SESSION && approval_widen_lasts[w->until].opt)
			json_put_str(opts, approval_widen_lasts[w->until].opt,
				     approval_widen_lasts[w->until].value);
		if (w->what == WIDEN_SESSION && w->all)
			json_put_flag(opts, "all-agents", true);
		if (w->host)
			json_put_str(opts, "also-host",
				     json_str(approval_widen_host_of(w), "host", ""));
		CLEANUP(free_ptr) char *others = others_opt(v, ui);
		if (strcmp(others, "none") != 0)
			json_put_str(opts, "others", others);
		if (w->deny)
			approval_send(v, ui, "deny", opts);
		else
			approval_pass(v, ui, "approve", opts);
		if (!v->pending)
			widen_close(w);
	}
}

static void approval_widen_move(struct approval *v, struct ui *ui, bool down)
{
	struct widen *w = &v->widen;
	size_t to = down ? w->at + 1 : w->at - 1;
	if (to >= w->nr)
		return;
	w->at = to;
	w->top = 0;
	w->wrong[0] = 0;
	if (!w->row[to].tried)
		approval_widen_ask(v, ui);
}

void widen_key(struct approval *v, struct ui *ui, uint32_t key)
{
	struct widen *w = &v->widen;
	if (key != K_ENTER)
		w->sure = false;
	if (key == K_ESC || key == 'q') {
		widen_close(w);
	} else if (key == 'j' || key == K_DOWN || key == 'k' || key == K_UP) {
		approval_widen_move(v, ui, key == 'j' || key == K_DOWN);
	} else if (key == K_CTRL('d') || key == K_PGDN) {
		pattern_scroll(v, ui, 1);
	} else if (key == K_CTRL('u') || key == K_PGUP) {
		pattern_scroll(v, ui, -1);
	} else if (key == 'e') {
		approval_widen_edit(v, ui);
	} else if (key == 'u' && w->what == WIDEN_SESSION) {
		w->until = (w->until + 1) % ARRAY_LEN(approval_widen_lasts);
	} else if (key == 'a' && w->what == WIDEN_SESSION) {
		w->all = !w->all;
	} else if (key == 'h' && w->what == WIDEN_SESSION && approval_widen_host_of(w)) {
		w->host = (w->host + 1) % (json_array_size(w->hosts) + 1);
	} else if (key == 'd' && w->what == WIDEN_RULE) {
		w->deny = !w->deny;
		for (size_t i = 0; i < w->nr; i++)
			json_release(&w->row[i].tried);
		approval_widen_ask(v, ui);
	} else if (key == K_ENTER) {
		approval_widen_save(v, ui);
	}
}

/* --- on the screen ---------------------------------------------------------------------------- */

const char *const *widen_hints(const struct widen *w)
{
	static const char *const session[] = { "Enter save and approve",
					       "Esc back",
					       "j k choose",
					       "e edit",
					       "u until",
					       "a for whom",
					       NULL },
				 *const hosts[] = { "Enter save and approve",
						    "Esc back",
						    "j k choose",
						    "e edit",
						    "u until",
						    "a for whom",
						    "h host",
						    NULL },
				 *const rule[] = { "Enter save and approve",
						   "Esc back",
						   "j k choose",
						   "e edit",
						   "d allow or deny",
						   NULL };
	return w->what == WIDEN_RULE ? rule : approval_widen_host_of(w) ? hosts : session;
}

int widen_rows(int rows)
{
	int least = rows - 4; /* what it is about stays: the title and the command's first line */
	return rows >= 30 ? 20 : least < 15 ? least : 15;
}

static int paint_choices(const struct approval *v, struct area a, int row)
{
	const struct widen *w = &v->widen;
	int col = grid_put(a, row, 3, ROLE_KEY, "u") + 3;
	col = grid_put(a, row, col, ROLE_TEXT, "until  ");
	for (size_t i = 0; i < ARRAY_LEN(approval_widen_lasts); i++) {
		col = grid_put(a, row, col, ROLE_KEY, i == w->until ? "(*) " : "( ) ");
		col = grid_put(a, row, col, ROLE_TEXT, approval_widen_lasts[i].name) + 2;
	}
	if (a.cols < 100) {
		row++;
		col = 3;
	} else {
		col += 2;
	}
	col = grid_put(a, row, col, ROLE_KEY, "a") + 3;
	col = grid_put(a, row, col, ROLE_TEXT, a.cols < 100 ? "for    " : "for  ");
	if (!v->info.agent) { /* a waiver is an agent's or everybody's */
		grid_put(a, row, col, ROLE_TEXT, "everything of this session: it has no agent");
		return row + 1;
	}
	col = grid_put(a, row, col, ROLE_KEY, w->all ? "( ) " : "(*) ");
	col = grid_put(a, row, col, ROLE_TEXT, v->info.agent->name) + 2;
	col = grid_put(a, row, col, ROLE_KEY, w->all ? "(*) " : "( ) ");
	grid_put(a, row, col, ROLE_TEXT, "all agents");
	return row + 1;
}

/* A host that is too long for its line, on lines of its own: what stands at its end says whose it
 * is. Where all of it finds no room, the end does. Returns the row after it. */
static int paint_long(const struct approval *v, struct area a, int row, const char *host)
{
	enum { LEFT = 17 };
	struct text t;
	text_init(&t, v->arena, a.cols - LEFT - 1, 0, a.g->ascii);
	text_add(&t, ROLE_CMD, NULL, host, strlen(host), SANITIZE_EXACT);
	int room = a.rows - row - 1; /* what it would have matched comes below */
	size_t top = text_clamp(&t, INT32_MAX, room < 1 ? 1 : room);
	text_paint(&t, area_sub(a, row, LEFT, (int)(t.nr - top), a.cols - LEFT), top);
	if (top > 0)
		grid_put(a, row, LEFT - 3, ROLE_WARN, "..");
	return row + (int)(t.nr - top);
}

/* "h  [x] also allow github.com:443   matches 2: #31 #28" */
static int paint_host(const struct approval *v, struct area a, int row)
{
	const struct widen *w = &v->widen;
	const json_t *o = approval_widen_host_of(w), *ids = json_object_get(o, "actions");
	if (!o)
		return row;
	size_t nr = json_array_size(w->hosts);
	int64_t denied = json_int(o, "denied", 0);
	int col = grid_put(a, row, 3, ROLE_KEY, "h") + 3;
	col = grid_put(a, row, col, ROLE_TEXT, "also   ");
	col = grid_put(a, row, col, ROLE_KEY, w->host ? "[x] " : "[ ] ");
	col = grid_put(a, row, col, ROLE_TEXT, "allow connections to ");
	const char *host = json_str(o, "host", "");
	bool below = !pattern_fits(v, a, host, a.cols - col - (nr > 1 ? 12 : 1));
	if (!below)
		col = put_bytes(a, row, col, a.cols - col, ROLE_CMD, host, strlen(host),
				SANITIZE_EXACT);
	if (nr > 1)
		col = grid_put(a, row, col + 1, ROLE_DIM,
			       arena_printf(v->arena, "(%zu of %zu)", w->host ? w->host : 1, nr));
	if (below || a.cols < 100) {
		row = below ? paint_long(v, a, row + 1, host) : row + 1;
		col = below ? 15 : 17;
	}
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_printf(&b, "would have matched %" PRId64, json_int(o, "matched", 0));
	if (denied)
		buf_printf(&b, ", %" PRId64 " denied", denied);
	for (size_t i = 0; i < json_array_size(ids) && i < 5; i++)
		buf_printf(&b, "%s#%" PRId64, i ? " " : ": ",
			   (int64_t)json_integer_value(json_array_get(ids, i)));
	buf_puts(&b, w->host ? "" : "; others HELD");
	put_bytes(a, row, col + 2, a.cols - col - 3, denied ? ROLE_WARN : ROLE_DIM, buf_cstr(&b),
		  b.len, 0);
	return row + 1;
}

static int approval_widen_paint_rule(const struct approval *v, struct area a, int row)
{
	const struct widen *w = &v->widen;
	const json_t *o = w->at < w->nr ? w->row[w->at].tried : NULL;
	const char *text = json_str(o, "text", ""), *then = json_str(o, "then", "");
	int col = grid_put(a, row, 3, ROLE_KEY, "d") + 3;
	col = grid_put(a, row, col, ROLE_KEY, w->deny ? "( ) " : "(*) ");
	col = grid_put(a, row, col, ROLE_TEXT, "allow") + 2;
	col = grid_put(a, row, col, ROLE_KEY, w->deny ? "(*) " : "( ) ");
	grid_put(a, row++, col, ROLE_TEXT, "deny");
	if (!o)
		return row;
	row += a.rows > 12;
	size_t len = strlen(text);
	/* in a small window the line comes before its file and its earlier matches */
	int below = a.rows > 12 ? 3 : 1;
	/* the very line, over several if need be */
	for (int wide = a.cols - 6; len > 0 && row < a.rows - below; row++) {
		size_t n = 0;
		while (n < len && (n < (size_t)wide || ((unsigned char)text[n] & 0xc0) == 0x80))
			n++;
		put_bytes(a, row, 5, wide, ROLE_CMD, text, n, SANITIZE_EXACT);
		text += n;
		len -= n;
	}
	bool good = strcmp(then, w->deny ? "deny" : "allow") == 0;
	if (row < a.rows - 1)
		grid_put(a, row++, 3, ROLE_DIM,
			 arena_printf(v->arena, "%s:%" PRId64 ", in effect now and in later runs",
				      json_str(o, "file", ""), json_int(o, "line", 0)));
	grid_put(a, row++, 3, good ? ROLE_OK : ROLE_WARN,
		 good ? arena_printf(v->arena, "with this rule, #%" PRIu64 ": %s", v->action, then)
		      : arena_printf(v->arena, "with this rule, #%" PRIu64 " is still: %s, by %s",
				     v->action, then, json_str(o, "by", "")));
	return row;
}

/* One line is left for those from @i on: which they are, at least. */
static void paint_ids(struct area a, int row, const json_t *ids, size_t i, struct arena *ar)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t nr = json_array_size(ids);
	for (; i < nr && b.len + 30 < (size_t)a.cols; i++)
		buf_printf(&b, "%s#%" PRId64, b.len ? "  " : "",
			   (int64_t)json_integer_value(json_array_get(ids, i)));
	if (i < nr)
		buf_printf(&b, "  and %zu more", nr - i);
	grid_put(a, row, 5, ROLE_DIM, arena_strdup(ar, buf_cstr(&b)));
}

/* The commands themselves, not only how many. */
static void paint_tried(const struct approval *v, const struct ui *ui, struct area a, int row)
{
	const struct widen *w = &v->widen;
	const json_t *o = w->at < w->nr ? w->row[w->at].tried : NULL,
		     *ids = json_object_get(o, "actions");
	struct source *s = ui_source(ui, v->source);
	if (!o || row >= a.rows)
		return;
	grid_put(a, row++, 3, ROLE_TEXT,
		 arena_printf(v->arena,
			      "checked against %s of this session: matches %" PRId64 ", %" PRId64
			      " of them denied",
			      fmt_plural(v->arena, json_int(o, "tried", 0), "action", "actions"),
			      json_int(o, "matched", 0), json_int(o, "denied", 0)));
	size_t nr = json_array_size(ids);
	bool itself = false;
	for (size_t i = 0; i < nr; i++)
		itself =
			itself || (uint64_t)json_integer_value(json_array_get(ids, i)) == v->action;
	if (!itself && row < a.rows)
		grid_put(
			a, row++, 5, ROLE_WARN,
			arena_printf(v->arena, "it does not match #%" PRIu64 " itself", v->action));
	for (size_t i = 0; i < nr && row < a.rows; i++, row++) {
		uint64_t id = (uint64_t)json_integer_value(json_array_get(ids, i));
		if (row == a.rows - 1 && i + 1 < nr) {
			paint_ids(a, row, ids, i, v->arena);
			return;
		}
		CLEANUP(json_release) json_t *req = source_body(s, id);
		const char *what = req ? action_what(req, v->arena) : "";
		int col = grid_put(a, row, 5, ROLE_DIM, arena_printf(v->arena, "#%" PRIu64, id));
		put_bytes(a, row, col < 11 ? 12 : col + 1, a.cols - 14, ROLE_TEXT, what,
			  strlen(what), SANITIZE_EXACT);
	}
}

void widen_paint(const struct approval *v, const struct ui *ui, struct area a)
{
	const struct widen *w = &v->widen;
	bool rule = w->what == WIDEN_RULE;
	put_rule(a, 0,
		 arena_printf(v->arena, "%s: which %s?",
			      !rule	     ? "approve for session"
			      : a.cols < 100 ? "add a rule"
					     : "add a rule to .sandglass/added.lua",
			      patterns_of(v)),
		 ROLE_HELD,
		 rule ? w->deny ? "Enter writes it and denies, Esc back"
				: "Enter writes it and approves, Esc back"
		      : "Enter saves and approves, Esc back");
	struct area body = area_sub(a, 0, 0, a.rows - 1, a.cols);
	int row = patterns_paint(v, body, 1);
	row = rule ? approval_widen_paint_rule(v, body, row)
		   : paint_host(v, body, paint_choices(v, body, row));
	if (*w->wrong)
		put_bytes(body, row++, 3, a.cols - 4, ROLE_ERROR, w->wrong, strlen(w->wrong), 0);
	row = others_paint(v, ui, body, row);
	paint_tried(v, ui, body, row);
	grid_put(
		a, a.rows - 1, 3, ROLE_DIM,
		rule ? "never covers: deny rules, the host's policy, commands that can't be parsed"
		     : "never covers: deny rules, compound commands with a part that does not match");
}
