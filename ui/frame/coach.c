#include "ui/frame/coach.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct hint {
	const char *name, *text;
	bool (*fits)(const struct ui *ui);
	enum verb done[3]; /* the keys that it teaches */
	bool screen;	   /* said about a screen: it goes when the screen is left */
};

struct coach {
	char *path;
	uint32_t seen;
	bool loaded, off;
	int now; /* index; -1 none */
	size_t nr_done;
	unsigned where;
};

/* --- when ------------------------------------------------------------------------------------- */

static bool coach_on_screen(const struct ui *ui, const char *name)
{
	return strcmp(ui->stack[ui->depth - 1].ops->name, name) == 0;
}

static bool on_agents(const struct ui *ui)
{
	return ui->stack[ui->depth - 1].ops->where & IN_AGENTS && !ui->replay;
}

/* Who only looks, or has lost the supervisor, is not told to decide. */
static bool can_decide(const struct ui *ui, size_t source)
{
	return ui_may_act(ui, source) && !ui->src[source]->lost;
}

static size_t nr_held(const struct ui *ui)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += can_decide(ui, i) ? ui->src[i]->model.nr_held : 0;
	return n;
}

static bool something_held(const struct ui *ui)
{
	return nr_held(ui) > 0 && on_agents(ui);
}

static bool coach_deciding(const struct ui *ui)
{
	const struct view *v = &ui->stack[ui->depth - 1];
	struct subject on = { 0 };
	if (!coach_on_screen(ui, "approval") || ui->replay)
		return false;
	v->ops->subject(v->self, ui, &on);
	const struct source *s = ui_source(ui, on.source);
	const struct model_action *a = s ? model_action(&s->model, on.action) : NULL;
	return a && a->state == ACT_WAITS && can_decide(ui, on.source);
}

static bool coach_replaying(const struct ui *ui)
{
	return ui->replay;
}

static bool some_agent(const struct ui *ui)
{
	return coach_on_screen(ui, "fleet") && !ui->replay && ui->nr_src > 0 &&
	       ui->src[0]->model.nr_agents > 0;
}

static bool files_changed(const struct ui *ui, bool at_end)
{
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; k < m->nr_boxes && m->ended == at_end; k++)
			if (m->box[k].touched > 0 && !m->box[k].merged &&
			    (m->box[k].target || !at_end))
				return on_agents(ui);
	}
	return false;
}

static bool changed_now(const struct ui *ui)
{
	return files_changed(ui, false);
}

static bool changed_at_end(const struct ui *ui)
{
	return files_changed(ui, true) && ui_reached(ui) > 0;
}

static bool changed_and_gone(const struct ui *ui)
{
	return files_changed(ui, true) && ui_reached(ui) == 0;
}

static bool many_agents(const struct ui *ui)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_agents;
	return n > 8 && coach_on_screen(ui, "fleet");
}

/* Once the first ones have been read. */
static bool coach_later(const struct ui *ui)
{
	return on_agents(ui) && ui->coach->nr_done > 0;
}

/* The first matching hint that was not shown before is printed. Texts of at most 72 cells fit on
 * 80 columns. */
static const struct hint coach_hints[] = {
	{ "decide",
	  "read why it needs approval; n denies with a message, Esc defers",
	  coach_deciding,
	  { 0 },
	  true },
	{ "held",
	  "an action is pending approval: a opens it",
	  something_held,
	  { VERB_APPROVE, VERB_QUEUE, VERB_NONE },
	  false },
	{ "replay",
	  "a recording: Space plays, . , step, 50% and ]e seek; nothing runs here",
	  coach_replaying,
	  { VERB_REPLAY_PLAY, VERB_REPLAY_NEXT, VERB_REPLAY_PREV },
	  false },
	{ "open",
	  "Enter opens an agent: timeline, output, transcript; Esc back",
	  some_agent,
	  { VERB_OPEN, VERB_AGENT, VERB_NONE },
	  true },
	{ "diff",
	  "files have changed in the sandbox, yours have not: d shows the diff",
	  changed_now,
	  { VERB_DIFF, VERB_NONE },
	  false },
	{ "review",
	  "it is over, its work is in its sandbox: :review merges it, by hunks",
	  changed_at_end,
	  { VERB_LINE, VERB_PALETTE, VERB_NONE },
	  false },
	{ "merge",
	  "it is over, its work is in its sandbox: q, then 'sandglass merge'",
	  changed_and_gone,
	  { VERB_DIFF, VERB_LINE, VERB_NONE },
	  false },
	{ "many",
	  "many agents: f filters, / searches, :group folds by session, S sorts",
	  many_agents,
	  { VERB_FILTER, VERB_SEARCH, VERB_SORT },
	  false },
	{ "keys",
	  "? has the keys of every screen, Ctrl-p finds anything, : takes commands",
	  coach_later,
	  { VERB_LINE, VERB_PALETTE, VERB_NONE },
	  false },
};

/* --- memory ----------------------------------------------------------------------------------- */

static void coach_load(struct coach *c)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	char *save = NULL;
	if (c->loaded)
		return;
	c->loaded = true;
	if (!c->path || file_read(c->path, &text, 1 << 16, &err) < 0 || text.len == 0)
		return;
	for (char *w = strtok_r(text.data, "\n", &save); w; w = strtok_r(NULL, "\n", &save))
		for (size_t i = 0; i < ARRAY_LEN(coach_hints); i++)
			if (strcmp(w, coach_hints[i].name) == 0)
				c->seen |= 1u << i;
}

/* A file that cannot be written: it is shown again another time. */
static void coach_remember(const struct coach *c, const char *name)
{
	struct err err = ERR_INIT;
	if (!c->path)
		return;
	CLEANUP(free_ptr) char *dir = mem_strdup(c->path), *line = mem_printf("%s\n", name);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	if (slash && dir_make(dir, 0700, &err) < 0)
		return;
	CLEANUP(fd_close)
	int fd = open(c->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		(void)!fd_write_all(fd, line, strlen(line), &err);
}

struct coach *coach_new(const char *path)
{
	struct coach *c = NEW(struct coach);
	c->path = path ? mem_strdup(path) : NULL;
	c->now = -1;
	return c;
}

void coach_free(struct coach *c)
{
	if (c)
		free(c->path);
	free(c);
}

void coach_set(struct ui *ui, bool on)
{
	struct coach *c = ui->coach;
	if (!c)
		return;
	c->off = !on;
	c->now = -1;
	c->loaded = true;
	c->seen = 0;
}

/* --- printing --------------------------------------------------------------------------------- */

void coach_look(struct ui *ui)
{
	struct coach *c = ui->coach;
	unsigned where = ui_where(ui);
	if (!c || c->off || ui_reading(ui))
		return;
	coach_load(c);
	bool over = c->now >= 0 &&
		    ((coach_hints[c->now].fits == something_held && nr_held(ui) == 0) ||
		     /* another user has decided */
		     (coach_hints[c->now].fits == coach_deciding && !coach_deciding(ui)));
	if (over || (c->now >= 0 && coach_hints[c->now].screen && c->where != where)) {
		c->now = -1;
		c->nr_done++;
	}
	for (size_t i = 0; i < ARRAY_LEN(coach_hints); i++) {
		if (c->seen & 1u << i || !coach_hints[i].fits(ui))
			continue;
		if (c->now >= 0 && (int)i > c->now)
			return; /* the current hint matters more */
		c->now = (int)i;
		c->where = where;
		c->seen |= 1u << i;
		coach_remember(c, coach_hints[i].name);
		return;
	}
}

void coach_did(struct ui *ui, enum verb v)
{
	struct coach *c = ui->coach;
	if (!c || c->now < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(coach_hints[c->now].done); i++)
		if (v == VERB_HELP || (v != VERB_NONE && coach_hints[c->now].done[i] == v)) {
			c->now = -1;
			c->nr_done++;
			return;
		}
}

/* A hint that names a key is printed where the key works; elsewhere it waits. */
static bool works_here(const struct ui *ui, const struct hint *h)
{
	unsigned where = ui_where(ui);
	for (size_t i = 0; h->done[0] && i < keymap_count(); i++)
		if (keymap_row(i)->verb == h->done[0] && keymap_row(i)->where & where)
			return true;
	return !h->done[0];
}

const char *coach_text(const struct ui *ui)
{
	const struct coach *c = ui->coach;
	return c && !c->off && c->now >= 0 && works_here(ui, &coach_hints[c->now])
		       ? coach_hints[c->now].text
		       : NULL;
}
