/* All sessions of the directory: running ones on top, then the newest. Reads: ui->browse. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ui/frame/browse.h"
#include "ui/frame/prompt.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/listed.h"

enum { LIST_AGAIN_US = 3000000, JOB_AGAIN_US = 100000 };

struct sessions_view {
	struct listed l;
	struct arena *arena;
	char id[24];	   /* of the row under the cursor: rows come and go */
	int64_t listed_us; /* mono */
	size_t running;	   /* among the rows that were seen */
	bool works;	   /* a job of ours runs */
	enum browse_job job;
	char of[24]; /* the session that it is about */
	char *error; /* its last line of text instead of JSON; owned */
};

/* --- rows ------------------------------------------------------------------------------------- */

static void view_sessions_list(struct sessions_view *v, struct ui *ui)
{
	struct browsed b;
	v->l.nr = ui->browse ? ui->browse->list(ui->browse->self) : 0;
	v->listed_us = ui->mono_us;
	if (v->l.at < v->l.nr)
		ui->browse->at(ui->browse->self, v->l.at, &b);
	if (!*v->id || (v->l.at < v->l.nr && strcmp(b.id, v->id) == 0))
		return;
	for (size_t i = 0; i < v->l.nr && i < 200; i++) {
		ui->browse->at(ui->browse->self, i, &b);
		if (strcmp(b.id, v->id) == 0) {
			v->l.at = i;
			return;
		}
	}
}

static void view_sessions_keep(struct sessions_view *v, const struct ui *ui)
{
	struct browsed b;
	*v->id = 0;
	if (v->l.at >= v->l.nr)
		return;
	ui->browse->at(ui->browse->self, v->l.at, &b);
	snprintf(v->id, sizeof(v->id), "%s", b.id);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void view_sessions_job_line(struct sessions_view *v, struct ui *ui, const char *text)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *o = json_parse(text, strlen(text), "answer", &none);
	const char *verdict = json_str(o, "verdict", NULL);
	free(v->error);
	v->error = o ? NULL : mem_strdup(text);
	if (verdict)
		ui_say(ui, strcmp(verdict, "verified") == 0 ? ROLE_OK : ROLE_ERROR,
		       "%s %s: %" PRId64 " checks passed, %" PRId64 " failed", v->of, verdict,
		       json_int(o, "ok", 0), json_int(o, "failed", 0));
}

static void view_sessions_job_ended(struct sessions_view *v, struct ui *ui, int status)
{
	v->works = false;
	v->listed_us = 0;
	if (v->error)
		ui_say(ui, ROLE_ERROR, "%s", v->error);
	else if (v->job == BROWSE_PRUNE && status == 0)
		ui_say(ui, ROLE_TEXT, "%s removed", v->of);
	else if (v->job == BROWSE_PRUNE)
		ui_say(ui, ROLE_ERROR, "%s was not removed: exit %d", v->of, status);
}

static void view_sessions_read_job(struct sessions_view *v, struct ui *ui)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	int status = 0, rc = 0;
	while (v->works && (rc = ui->browse->read(ui->browse->self, &line, &status)) > 0) {
		view_sessions_job_line(v, ui, buf_cstr(&line));
		buf_reset(&line);
	}
	if (v->works && rc < 0)
		view_sessions_job_ended(v, ui, status);
	if (v->works)
		ui->wake_us = ui->mono_us + JOB_AGAIN_US;
}

static void view_sessions_start(struct sessions_view *v, struct ui *ui, enum browse_job job,
				const char *id)
{
	struct err err = ERR_INIT;
	free(v->error);
	v->error = NULL;
	snprintf(v->of, sizeof(v->of), "%s", id);
	v->job = job;
	v->works = ui->browse->start(ui->browse->self, job, id, &err) == 0;
	if (!v->works)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
	else
		ui_say(ui, ROLE_TEXT, job == BROWSE_VERIFY ? "verifying %s .." : "removing %s ..",
		       id);
	ui->stale = true;
}

static void view_sessions_close(void *self)
{
	struct sessions_view *v = self;
	free(v->error);
}

/* --- recalc ----------------------------------------------------------------------------------- */

static void view_sessions_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct sessions_view *v = self;
	(void)cols;
	v->arena = ar;
	if (!ui->browse)
		return;
	view_sessions_read_job(v, ui);
	if (!v->listed_us || ui->mono_us - v->listed_us >= LIST_AGAIN_US)
		view_sessions_list(v, ui);
	list_settle(&v->l, rows);
	if (!ui->wake_us || ui->wake_us > ui->mono_us + LIST_AGAIN_US)
		ui->wake_us = ui->mono_us + LIST_AGAIN_US;
}

/* --- paint ------------------------------------------------------------------------------------ */

enum {
	COL_STATE,
	COL_AGE,
	COL_ID,
	COL_AGENTS,
	COL_COST,
	COL_BAD,
	COL_UNMERGED,
	COL_VERIFIED,
	COL_NAME,
	COL_NR
};

static const struct column view_sessions_columns[COL_NR] = {
	{ "STATE", { 11, 11 }, { 0, 0 }, false }, { "AGE", { 4, 4 }, { 1, 1 }, true },
	{ "SESSION", { 0, 9 }, { 0, 2 }, false }, { "AGENTS", { 6, 6 }, { 1, 1 }, true },
	{ "COST", { 8, 8 }, { 1, 1 }, true },	  { "FAIL/DENY", { 9, 9 }, { 1, 1 }, true },
	{ "UNMERGED", { 8, 8 }, { 1, 1 }, true }, { "VERIFIED", { 8, 10 }, { 1, 2 }, false },
	{ "NAME", { 0, 0 }, { 1, 2 }, false },
};

/* "now", "5m", "3h", "12d", "2y" */
static const char *view_sessions_age(struct arena *ar, int64_t us)
{
	int64_t s = us / 1000000;
	return s < 60		  ? "now"
	       : s < 3600	  ? arena_printf(ar, "%" PRId64 "m", s / 60)
	       : s < 86400	  ? arena_printf(ar, "%" PRId64 "h", s / 3600)
	       : s < 86400 * 730L ? arena_printf(ar, "%" PRId64 "d", s / 86400)
				  : arena_printf(ar, "%" PRId64 "y", s / (86400 * 365L));
}

static enum role view_sessions_role(const struct browsed *b, char *sign)
{
	bool bad = strcmp(b->state, "failed") == 0 || strcmp(b->state, "interrupted") == 0 ||
		   strcmp(b->state, "unreadable") == 0;
	*sign = b->waits ? '!' : b->live ? '>' : bad ? 'x' : '.';
	return b->waits ? ROLE_HELD : b->live ? ROLE_RUN : bad ? ROLE_FAILED : ROLE_TEXT;
}

static const char *view_sessions_cost(struct arena *ar, const struct browsed *b)
{
	if (!b->counted || (b->cost_unknown && !b->cost_uusd))
		return "unknown";
	return arena_printf(ar, "%s%s", fmt_money(ar, b->cost_uusd), b->cost_unknown ? "+" : "");
}

static const char *view_sessions_nr(struct arena *ar, const struct browsed *b, uint64_t n)
{
	return !b->counted ? "?" : n ? arena_printf(ar, "%" PRIu64, n) : "-";
}

static void view_sessions_row(const struct sessions_view *v, const struct ui *ui, struct area a,
			      int row, const struct columns *c, const struct browsed *b)
{
	struct arena *ar = v->arena;
	char sign;
	enum role role = view_sessions_role(b, &sign);
	bool bad = b->failed || b->denied;
	const char *verdict = b->verdict ? b->verdict : "-";
	grid_put(a, row, 1, role, arena_printf(ar, "%c", sign));
	list_cell(a, row, c, COL_STATE, role, b->waits ? "waiting" : b->state);
	list_cell(a, row, c, COL_AGE, ROLE_TEXT,
		  b->begun_us ? view_sessions_age(ar, ui->now_us - b->begun_us) : "?");
	list_cell(a, row, c, COL_ID, ROLE_TEXT, b->id);
	list_cell(a, row, c, COL_AGENTS, ROLE_TEXT, view_sessions_nr(ar, b, b->nr_agents));
	list_cell(a, row, c, COL_COST, ROLE_TEXT, view_sessions_cost(ar, b));
	list_cell(a, row, c, COL_BAD, bad ? ROLE_ERROR : ROLE_TEXT,
		  !b->counted ? "?"
		  : bad	      ? arena_printf(ar, "%" PRIu64 "/%" PRIu64, b->failed, b->denied)
			      : "-");
	list_cell(a, row, c, COL_UNMERGED, b->unmerged ? ROLE_WARN : ROLE_TEXT,
		  view_sessions_nr(ar, b, b->unmerged));
	list_cell(a, row, c, COL_VERIFIED,
		  !b->verdict			     ? ROLE_TEXT
		  : strcmp(verdict, "verified") == 0 ? ROLE_OK
						     : ROLE_FAILED,
		  verdict);
	int name = text_cells(b->name, a.g->ascii), width = c->width[COL_NAME];
	list_cell(a, row, c, COL_NAME, ROLE_NAME, b->name);
	if (*b->agents && strcmp(b->agents, b->name) != 0 && name + 6 < width)
		put_field(a, row, c->col[COL_NAME] + name + 2, width - name - 2, ROLE_DIM,
			  b->agents);
}

static void view_sessions_none(struct area a)
{
	static const char *const how[][2] = {
		{ "sandglass demo", "three scripted agents; no key, no network" },
		{ "sandglass new my", "write an agent script, then 'sandglass run my.lua'" },
		{ "sandglass claude", "Claude Code in a sandbox; also codex, opencode, gemini" },
	};
	grid_put(a, 4, 3, ROLE_TEXT, "There are no sessions yet. To start one:");
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		grid_put(a, 6 + (int)i, 5, ROLE_CMD, how[i][0]);
		grid_put(a, 6 + (int)i, 24, ROLE_TEXT, how[i][1]);
	}
}

static void view_sessions_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct sessions_view *v = self;
	struct columns c;
	struct browsed b;
	int row;
	const struct piece p[] = { { ROLE_TEXT, fmt_plural(v->arena, (int64_t)v->l.nr, "session",
							   "sessions") } };
	draw_title(a, 0, "sessions", p, ARRAY_LEN(p));
	const char *failure =
		ui->browse && ui->browse->failure ? ui->browse->failure(ui->browse->self) : NULL;
	list_rule(&v->l, a, failure ? failure : v->l.nr ? "newest first" : NULL, v->arena);
	if (!v->l.nr && failure) {
		grid_put(a, 4, 3, ROLE_ERROR, failure);
		return;
	}
	if (!v->l.nr) {
		view_sessions_none(a);
		return;
	}
	list_columns(&c, view_sessions_columns, COL_NR, a.cols, a.cols >= 100, COL_NR);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		ui->browse->at(ui->browse->self, i, &b);
		view_sessions_row(v, ui, a, row, &c, &b);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool view_sessions_here(struct sessions_view *v, struct ui *ui, struct browsed *b)
{
	if (!ui->browse || v->l.at >= v->l.nr)
		return false;
	ui->browse->at(ui->browse->self, v->l.at, b);
	return true;
}

static void view_sessions_open(struct sessions_view *v, struct ui *ui)
{
	struct browsed b;
	if (!view_sessions_here(v, ui, &b))
		return;
	for (size_t i = 0; i < ui->nr_src; i++)
		if (strcmp(ui->src[i]->model.id, b.id) == 0) { /* it is on this screen */
			ui_back(ui);
			return;
		}
	v->listed_us = 0;
	ui->wish = WISH_SESSION;
	buf_reset(&ui->wish_text);
	buf_puts(&ui->wish_text, b.id);
}

static void view_sessions_pruned(struct ui *ui, const char *key)
{
	struct sessions_view *v = ui_top(ui)->self;
	if (key && *key == 'y' && strcmp(ui_top(ui)->ops->name, "sessions") == 0)
		view_sessions_start(v, ui, BROWSE_PRUNE, v->id);
}

static void view_sessions_prune(struct sessions_view *v, struct ui *ui)
{
	struct browsed b;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (!view_sessions_here(v, ui, &b))
		return;
	if (b.live) {
		ui_say(ui, ROLE_DIM, "%s is running; stop it first", b.id);
		return;
	}
	view_sessions_keep(v, ui);
	ui_choose(ui,
		  b.unmerged
			  ? arena_printf(&a,
					 "remove %s %s with %" PRIu64
					 " unmerged files? They can't be restored  (y/n)",
					 b.id, text_short(&a, b.name, 20), b.unmerged)
			  : arena_printf(&a, "remove %s %s? Its recording can't be restored  (y/n)",
					 b.id, text_short(&a, b.name, 20)),
		  "yn", &(struct subject){ 0 }, view_sessions_pruned);
}

static void view_sessions_search(struct ui *ui, const char *text)
{
	if (!text || !*text)
		return;
	buf_reset(&ui->wish_text);
	buf_puts(&ui->wish_text, text); /* the screen takes it (view_found.c) */
	ui_open(ui, "found", &(struct subject){ 0 });
}

static bool view_sessions_key(void *self, struct ui *ui, uint32_t key)
{
	struct sessions_view *v = self;
	struct browsed b;
	switch (key) {
	case 'C':
		if (view_sessions_here(v, ui, &b))
			view_sessions_start(v, ui, BROWSE_VERIFY, b.id);
		return true;
	case 'D':
	case K_DEL:
		view_sessions_prune(v, ui);
		return true;
	case '/':
		if (ui->browse)
			ui_ask(ui, "search all sessions: ", &(struct subject){ 0 },
			       view_sessions_search);
		return true;
	case 'r':
		v->listed_us = 0;
		ui->stale = true;
		return true;
	default:
		return false;
	}
}

static bool view_sessions_verb(void *self, struct ui *ui, enum verb verb)
{
	struct sessions_view *v = self;
	if (verb == VERB_OPEN) {
		view_sessions_open(v, ui);
		return true;
	}
	if (!list_verb(&v->l, verb))
		return false;
	view_sessions_keep(v, ui);
	return true;
}

static enum click view_sessions_click(void *self, struct ui *ui, int row, int col)
{
	struct sessions_view *v = self;
	enum click c = list_click(&v->l, row);
	(void)col;
	view_sessions_keep(v, ui);
	return c;
}

static const char *const *view_sessions_hints(const void *self, const struct ui *ui)
{
	static const char *const some[] = { "Enter open", "/ search all", "C verify", "D remove..",
					    "r reload",	  "? help",	  "q back",   NULL };
	static const char *const browser[] = { "Enter open", "/ search all",
					       "C verify",   "D remove..",
					       "r reload",   "? help",
					       "q leave",    NULL };
	static const char *const none[] = { "q leave", NULL };
	const struct sessions_view *v = self;
	return !v->l.nr ? none : ui->depth > 1 ? some : browser;
}

static const char *const view_sessions_own[] = { "Enter", "attach to or replay it",
						 "/",	  "search all sessions",
						 "C",	  "verify its recording",
						 "D Del", "remove it..",
						 "r",	  "list again",
						 NULL };

const struct view_ops view_sessions = {
	.name = "sessions",
	.where = IN_SESSIONS,
	.size = sizeof(struct sessions_view),
	.close = view_sessions_close,
	.recalc = view_sessions_recalc,
	.paint = view_sessions_paint,
	.verb = view_sessions_verb,
	.key = view_sessions_key,
	.own = view_sessions_own,
	.click = view_sessions_click,
	.hints = view_sessions_hints,
};
