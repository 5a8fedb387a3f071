/* A window below 60x16: what waits and who works, as far as there is room, and how it can be
 * decided from elsewhere. Nothing is decided here: who cannot read a command whole must not let it
 * run. */
#include <inttypes.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/frame/ui.h"
#include "ui/rows/row.h"

/* The first of @texts (the longest first, the last one always) that is whole in @cols. */
static const char *small_fitting(const char *const *texts, size_t nr, int cols)
{
	size_t i = 0;
	while (i + 1 < nr && text_cells(texts[i], true) > cols)
		i++;
	return texts[i];
}

static void small_paint_counts(const struct ui *ui, struct area a, struct arena *ar)
{
	size_t held = 0, run = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		held += ui_waits(ui, i);
		run += ui->src[i]->lost ? 0
					: model_count(&ui->src[i]->model, AGENT_RUN) +
						  model_count(&ui->src[i]->model, AGENT_THINK);
	}
	const char *both = arena_printf(ar, "%zu held, %zu run", held, run);
	const char *const texts[] = {
		arena_printf(ar, "sandglass: %s (window too small)", both),
		arena_printf(ar, "%s (too small)", both),
		both,
		held ? arena_printf(ar, "%zu held", held) : arena_printf(ar, "%zu run", run),
		held  ? "!"
		: run ? ">"
		      : ".",
	};
	grid_put(a, 0, 0, held ? ROLE_HELD : ROLE_TEXT,
		 small_fitting(texts, ARRAY_LEN(texts), a.cols));
}

/* "#405 fix-parser: git push origin fix/parser" */
static const char *small_waiting(const struct ui *ui, size_t source, uint64_t id, struct arena *ar)
{
	struct source *s = ui->src[source];
	const struct model_action *act = model_action(&s->model, id);
	const struct model_agent *agent = act ? model_agent(&s->model, act->agent) : NULL;
	struct row_info r;
	row_load(&r, s, &(struct row){ id, act ? EV_ACTION_REQUESTED : EV_ASK }, ar);
	return arena_printf(ar, "! #%" PRIu64 " %s: %s", id,
			    agent ? ui_agent_name(ui, source, agent) : r.word,
			    one_line(r.what, ar));
}

/* How the first thing that we may decide is decided: which command, and its number on the command
 * line. */
struct first {
	const char *verb, *id;
};

static void small_paint_one(const struct ui *ui, struct area a, size_t source, uint64_t seq,
			    int *row, int end, struct arena *ar)
{
	if (*row < end)
		grid_put(a, (*row)++, 0, ROLE_TEXT, small_waiting(ui, source, seq, ar));
}

static void find_first(struct first *f, const struct ui *ui, size_t source, const char *verb,
		       uint64_t seq, struct arena *ar)
{
	if (f->verb || !ui_may_act(ui, source))
		return;
	f->verb = verb;
	f->id = ui->nr_src > 1 ? arena_printf(ar, "%s#%" PRIu64, ui->src[source]->model.id, seq)
			       : arena_printf(ar, "%" PRIu64, seq);
}

/* What waits, from @row on, at most @rows of it. */
static struct first paint_waiting(const struct ui *ui, struct area a, int row, int rows,
				  struct arena *ar)
{
	struct first first = { 0 };
	int end = row + rows;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		if (!ui_waits(ui, i))
			continue;
		for (size_t k = 0; k < m->nr_held; k++) {
			find_first(&first, ui, i, "approve", m->held[k], ar);
			small_paint_one(ui, a, i, m->held[k], &row, end, ar);
		}
		for (size_t k = 0; k < m->nr_asks; k++) {
			find_first(&first, ui, i, "answer", m->ask[k].seq, ar);
			small_paint_one(ui, a, i, m->ask[k].seq, &row, end, ar);
		}
	}
	return first;
}

static const char *small_how(const struct first *f, int cols, struct arena *ar)
{
	const char * or = strcmp(f->verb, "approve") == 0 ? " or 'deny'" : "";
	const char *const texts[] = {
		arena_printf(ar, "'sandglass %s %s'%s in another terminal", f->verb, f->id, or),
		arena_printf(ar, "in a shell: sandglass %s %s", f->verb, f->id),
		arena_printf(ar, "sandglass %s %s", f->verb, f->id), ""
	};
	return small_fitting(texts, ARRAY_LEN(texts), cols);
}

/* The list of sessions reads no pending approvals: it counts none instead of zero. */
static void small_paint_browse(struct area a)
{
	static const char *const top[] = { "sandglass: window too small", "window too small",
					   "too small", "" };
	static const char *const how[] = { "in a shell: sandglass ls --waiting",
					   "sandglass ls --waiting", "" };
	grid_put(a, 0, 0, ROLE_TEXT, small_fitting(top, ARRAY_LEN(top), a.cols));
	if (a.rows > 2)
		grid_put(a, a.rows - 2, 0, ROLE_DIM, small_fitting(how, ARRAY_LEN(how), a.cols));
}

void small_paint(const struct ui *ui, struct area a)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	static const char *const leave[] = { "all is shown from 60x16 on; q leaves",
					     "60x16 shows all; q leaves", "q leaves", "" };
	if (ui->nr_src)
		small_paint_counts(ui, a, &ar);
	else
		small_paint_browse(a);
	if (a.rows < 2)
		return;
	struct first first = paint_waiting(ui, a, 1, a.rows - 3, &ar);
	if (first.verb && a.rows > 2)
		grid_put(a, a.rows - 2, 0, ROLE_DIM, small_how(&first, a.cols, &ar));
	grid_put(a, a.rows - 1, 0, ROLE_DIM, small_fitting(leave, ARRAY_LEN(leave), a.cols));
}
