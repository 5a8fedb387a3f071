#include "ui/views/fleet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/model/progress.h"
#include "ui/model/wall.h"
#include "ui/term/fmt.h"

enum { TAIL_BYTES = 200, TIMED_US = 10000000 };

static const char *fleet_rows_box_name(const struct model *m, const struct model_agent *a,
				       struct arena *ar)
{
	const struct model_box *b = model_box(m, a->box);
	if (!b)
		return "";
	return arena_printf(ar, "%s:%s", b->driver, b->name);
}

const char *fleet_now(const struct line *l, const struct ui *ui, struct arena *ar)
{
	const struct model_agent *a = l->agent;
	struct row_info r;
	if (!a)
		return "";
	if (l->state == AGENT_DONE || l->state == AGENT_STOPPED || l->state == AGENT_FAILED) {
		const char *text = a->text ? first_line(a->text, ar) : "";
		return *text ? text : a->stop ? a->stop : "";
	}
	const struct model_action *held = model_held(&ui->src[l->source]->model, a);
	uint64_t id = held ? held->id : a->current ? a->current : a->ask ? a->ask : a->last;
	if (!id)
		return "";
	row_load(&r, ui->src[l->source],
		 &(struct row){ id, a->ask == id ? EV_ASK : EV_ACTION_REQUESTED }, ar);
	const struct model_action *stands = model_stands(&ui->src[l->source]->model, a);
	if (l->state == AGENT_PAUSED && stands)
		return arena_printf(ar, "%s %s  %s", stands->latched ? "before" : "FROZEN in",
				    r.word, one_line(r.what, ar));
	if (l->state == AGENT_PAUSED)
		return arena_printf(ar, "at #%" PRIu64, id);
	if (strcmp(r.word, "model") == 0 && l->state == AGENT_THINK)
		return "model answering";
	return arena_printf(ar, "%s%s  %s",
			    l->state == AGENT_LOST   ? "was at "
			    : l->state == AGENT_IDLE ? "after "
						     : "",
			    r.word, one_line(r.what, ar));
}

static int fleet_rows_urgency(enum agent_state s)
{
	static const int order[] = {
		[AGENT_HELD] = 0,    [AGENT_ASK] = 0,  [AGENT_FAILED] = 1, [AGENT_RUN] = 2,
		[AGENT_THINK] = 2,   [AGENT_IDLE] = 2, [AGENT_PAUSED] = 3, [AGENT_DONE] = 4,
		[AGENT_STOPPED] = 4, [AGENT_LOST] = 1,
	};
	return order[s];
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_lines(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int d = fleet_rows_urgency(a->state) - fleet_rows_urgency(b->state);
	if (d == 0 && a->state == AGENT_HELD)
		d = (a->since_us > b->since_us) - (a->since_us < b->since_us);
	if (d == 0)
		d = a->agent->script - b->agent->script;
	if (d == 0)
		d = (a->source > b->source) - (a->source < b->source);
	return d ? d : (a->agent->id > b->agent->id) - (a->agent->id < b->agent->id);
}

static char fleet_rows_small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool fleet_rows_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* As users count: a-2 before a-10, and b after A. Names that differ in nothing else are as their
 * bytes. */
int fleet_name_cmp(const char *a, const char *b)
{
	const char *x = a, *y = b;
	while (*x && *y) {
		if (fleet_rows_is_digit(*x) && fleet_rows_is_digit(*y)) {
			x += strspn(x, "0");
			y += strspn(y, "0");
			size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");
			int d = n != m ? (n > m) - (n < m) : memcmp(x, y, n);
			if (d)
				return d;
			x += n;
			y += m;
			continue;
		}
		if (fleet_rows_small(*x) != fleet_rows_small(*y))
			break;
		x++;
		y++;
	}
	int d = (unsigned char)fleet_rows_small(*x) - (unsigned char)fleet_rows_small(*y);
	return d ? d : strcmp(a, b);
}

static int compare_names(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int d = fleet_name_cmp(a->agent->name, b->agent->name);
	if (d == 0)
		d = (a->source > b->source) - (a->source < b->source);
	return d ? d : (a->agent->id > b->agent->id) - (a->agent->id < b->agent->id);
}

/* The quarter of a minute of its newest event. */
static int64_t fleet_rows_newest(const struct model_agent *a)
{
	int64_t at = 0;
	for (size_t i = 0; i < SPARK_SLOTS; i++)
		at = a->spark.slot[i] > at ? a->spark.slot[i] : at;
	return at;
}

/* The most recently active comes first; rows within 15 s of each other keep their order. */
static int compare_recent(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int64_t at = fleet_rows_newest(a->agent), bt = fleet_rows_newest(b->agent);
	int d = (bt > at) - (bt < at);
	return d ? d : compare_names(x, y);
}

static int compare_cost(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int d = (b->agent->uusd > a->agent->uusd) - (b->agent->uusd < a->agent->uusd);
	if (d == 0)
		d = (b->agent->tokens > a->agent->tokens) - (b->agent->tokens < a->agent->tokens);
	return d ? d : compare_names(x, y);
}

/* Sorts @nr rows and puts the one under the cursor back to where it was when the cursor came. */
static void fleet_rows_order(struct fleet *f, struct line *line, size_t nr)
{
	static int (*const by[SORT_NR])(const void *,
					const void *) = { compare_lines, compare_names,
							  compare_recent, compare_cost };
	if (nr > 1)
		qsort(line, nr, sizeof(*line), by[f->sort]);
	size_t at = 0;
	while (at < nr && !(line[at].source == f->source && line[at].agent->id == f->agent))
		at++;
	if (at == nr || !f->moved)
		return;
	bool same = f->pin.set && f->pin.source == f->source && f->pin.agent == f->agent;
	size_t to = same ? (f->pin.at < nr ? f->pin.at : nr - 1) : at;
	if (!same)
		f->pin.at = at;
	if (to == at)
		return;
	struct line l = line[at];
	l.moved = true;
	if (to < at)
		memmove(&line[to + 1], &line[to], (at - to) * sizeof(l));
	else
		memmove(&line[at], &line[at + 1], (to - at) * sizeof(l));
	line[to] = l;
}

/* --- groups ----------------------------------------------------------------------------------- */

static void count_in(struct fleet *f, struct group *g, const struct line *l)
{
	g->nr++;
	g->count[l->state]++;
	g->tokens += l->agent->tokens;
	g->uusd += l->agent->uusd;
	g->steps += l->agent->turn;
	g->cost_unknown = g->cost_unknown || l->agent->cost_unknown;
	f->cost_unknown = f->cost_unknown || l->agent->cost_unknown;
	if (fleet_rows_urgency(l->state) < g->urgency)
		g->urgency = fleet_rows_urgency(l->state);
	f->total++;
	f->nr_scripts += l->agent->script;
	g->nr_scripts += l->agent->script;
	f->count[l->state]++;
}

/* The agents of source @i that the filter lets through, at @line. */
static size_t list_source(struct fleet *f, struct ui *ui, size_t i, struct line *line)
{
	const struct model *m = &ui->src[i]->model;
	size_t n = 0;
	f->group[i] = (struct group){ .urgency = INT32_MAX };
	for (size_t k = 0; k < m->nr_agents; k++) {
		if (!ui_lets_agent(ui, i, &m->agent[k]))
			continue;
		line[n] = (struct line){
			.source = i, .agent = &m->agent[k], .box = "", .now = "", .age = ""
		};
		line[n].state = source_agent_state(ui->src[i], &m->agent[k]);
		const struct model_action *held = model_held(m, &m->agent[k]);
		line[n].since_us = held ? held->held_us : m->agent[k].since_us;
		count_in(f, &f->group[i], &line[n++]);
	}
	f->cost_unknown = f->cost_unknown || m->cost_unknown;
	if (n == m->nr_agents) { /* with what no agent has spent: boxes of the script */
		f->group[i].uusd = m->uusd;
		f->group[i].cost_unknown = m->cost_unknown;
	}
	return n;
}

static bool fleet_rows_waits(const struct line *l)
{
	return l->state == AGENT_HELD || l->state == AGENT_ASK;
}

/* Heading and rows of one session, from @line to @out. */
static size_t put_group(struct fleet *f, size_t source, const struct line *line, size_t nr,
			struct line *out)
{
	struct group *g = &f->group[source];
	char fold = f->fold[source % FLEET_SOURCES];
	size_t n = 0;
	g->folded = fold ? fold == 'f' : f->grouping == GROUP_AUTO && f->total > nr;
	out[n++] = (struct line){ .source = source, .group = g, .box = "", .now = "", .age = "" };
	for (size_t i = 0; i < nr; i++)
		if (!g->folded || fleet_rows_waits(&line[i]))
			out[n++] = line[i];
		else if (line[i].source == f->source && line[i].agent->id == f->agent)
			f->agent = 0; /* the cursor goes to the heading */
	return n;
}

/* The source that comes next: the most urgent of those not @done. */
static size_t next_group(const struct fleet *f, const struct ui *ui, const bool *done)
{
	size_t best = ui->nr_src;
	for (size_t i = 0; i < ui->nr_src; i++)
		if (!done[i] &&
		    (best == ui->nr_src || f->group[i].urgency < f->group[best].urgency))
			best = i;
	return best;
}

static void list_groups(struct fleet *f, struct ui *ui, struct line *all, const size_t *from,
			struct arena *ar)
{
	bool *done = arena_alloc(ar, ui->nr_src * sizeof(*done));
	memset(done, 0, ui->nr_src * sizeof(*done));
	for (size_t k = 0; k < ui->nr_src; k++) {
		size_t i = next_group(f, ui, done), nr = f->group[i].nr;
		done[i] = true;
		fleet_rows_order(f, all + from[i], nr);
		if (nr > 0)
			f->nr += put_group(f, i, all + from[i], nr, f->line + f->nr);
	}
}

static void fleet_rows_list_all(struct fleet *f, struct ui *ui, struct arena *ar)
{
	size_t n = 0, *from = arena_alloc(ar, (ui->nr_src + 1) * sizeof(*from));
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_agents;
	struct line *all = arena_alloc(ar, (n + 1) * sizeof(*all));
	f->group = arena_alloc(ar, (ui->nr_src + 1) * sizeof(*f->group));
	f->total = f->nr_scripts = f->nr = n = 0;
	f->cost_unknown = false;
	memset(f->count, 0, sizeof(f->count));
	for (size_t i = 0; i < ui->nr_src; i++) {
		from[i] = n;
		n += list_source(f, ui, i, all + n);
	}
	f->grouped =
		f->grouping == GROUP_YES || (f->grouping == GROUP_AUTO && f->total > GROUP_OVER);
	if (!f->grouped) {
		fleet_rows_order(f, all, n);
		f->line = all;
		f->nr = n;
		return;
	}
	f->line = arena_alloc(ar, (n + ui->nr_src + 1) * sizeof(*f->line));
	list_groups(f, ui, all, from, ar);
}

bool fleet_fold(struct fleet *f)
{
	if (!f->grouped || f->nr == 0)
		return false;
	size_t source = f->line[f->at].source;
	f->fold[source % FLEET_SOURCES] = f->group[source].folded ? 'u' : 'f';
	f->moved = true;
	f->source = source;
	f->agent = 0;
	return true;
}

/* --- what is seen ----------------------------------------------------------------------------- */

static uint64_t id_of(const struct line *l)
{
	return l->agent ? l->agent->id : 0;
}

static void find_selection(struct fleet *f)
{
	f->at = 0;
	for (size_t i = 0; i < f->nr && f->moved; i++)
		if (f->line[i].source == f->source && id_of(&f->line[i]) == f->agent)
			f->at = i;
	if (!f->moved && f->nr > 1 && !f->line[0].agent && f->line[1].agent)
		f->at = 1; /* the first one, not its heading */
	if (f->nr == 0)
		return;
	f->source = f->line[f->at].source;
	f->agent = id_of(&f->line[f->at]);
}

/* The selection stays on its row of the screen; a new one is brought into sight. */
static void fleet_rows_scroll(struct fleet *f, int visible)
{
	bool same =
		f->moved && f->pin.set && f->pin.source == f->source && f->pin.agent == f->agent;
	int at = (int)f->at, last = (int)f->nr - visible;
	if (same && f->pin.row < visible)
		f->top = at - f->pin.row;
	if (f->top > last)
		f->top = last;
	if (f->top < 0)
		f->top = 0;
	if (at < f->top)
		f->top = at;
	if (at >= f->top + visible)
		f->top = at - visible + 1;
	f->pin.source = f->source;
	f->pin.agent = f->agent;
	f->pin.row = at - f->top;
	f->pin.set = true;
}

/* A command's own progress; otherwise, for a long command, the used part of its time limit. */
static void fleet_rows_running(struct line *l, struct ui *ui)
{
	struct source *s = ui->src[l->source];
	const struct model_action *act = model_action(&s->model, l->agent->current);
	if (!act || !act->started)
		return;
	CLEANUP(buf_release) struct buf tail = BUF_INIT;
	if (act->out_bytes > 0)
		source_tail(s, act->id, 1, TAIL_BYTES, &tail);
	if (tail.len > 0 && progress_parse(tail.data, tail.len, &l->done, &l->total))
		return;
	int64_t gone = ui_now_of(ui, l->source) - act->start_us;
	if (gone < TIMED_US)
		return;
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	l->total = json_int(req, "timeout_us", 0);
	l->done = gone;
	l->timed = true;
}

static void fleet_rows_fill(struct line *l, struct ui *ui, struct arena *ar)
{
	if (!l->agent)
		return;
	l->box = fleet_rows_box_name(&ui->src[l->source]->model, l->agent, ar);
	l->bare = wall_none(model_box(&ui->src[l->source]->model, l->agent->box));
	l->now = fleet_now(l, ui, ar);
	if (fleet_rows_waits(l))
		l->age = fmt_age(ar, ui_now_of(ui, l->source) - l->since_us);
	if (!l->agent->ended && l->agent->total > 0) {
		l->done = l->agent->done;
		l->total = l->agent->total;
	} else if (l->state == AGENT_RUN) {
		fleet_rows_running(l, ui);
	}
}

void fleet_gather(struct fleet *f, struct ui *ui, int visible, struct arena *ar)
{
	fleet_rows_list_all(f, ui, ar);
	find_selection(f);
	fleet_rows_scroll(f, visible < 1 ? 1 : visible);
	for (int i = 0; i < visible && (size_t)(f->top + i) < f->nr; i++)
		fleet_rows_fill(&f->line[f->top + i], ui, ar);
}
