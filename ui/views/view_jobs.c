/* Running work: commands and processes that run, dry runs, commands that run again,
 * merges, boxes that open; below them what was over and had taken long. Reads: models; texts of the
 * rows shown. Enter opens it, X ends it (asks). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"
#include "ui/views/listed.h"

enum { MOST_OVER = 100, LOOK_BACK = 20000, LONG_US = 10000000 };

enum job_kind { JOB_ACTION, JOB_DRY_RUN, JOB_REPEAT, JOB_BOX };

struct job {
	enum job_kind kind;
	size_t source;
	uint64_t id; /* of the action, preview.started, redo.started, box */
	/* whose work it is; NULL a box, a repeat that has not begun to run */
	const struct model_action *act;
	const struct model_box *box;
	int64_t begin_us, end_us; /* end 0: still running */
};

struct jobs {
	size_t source;
	uint64_t id;
	struct job *job;
	struct listed l;
	size_t cap, running;
	struct arena *arena;
};

/* --- recalc ----------------------------------------------------------------------------------- */

static void view_jobs_add(struct jobs *v, struct arena *ar, struct job j)
{
	if (v->l.nr == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		struct job *wider = arena_alloc(ar, cap * sizeof(*wider));
		if (v->l.nr > 0)
			memcpy(wider, v->job, v->l.nr * sizeof(*wider));
		v->job = wider;
		v->cap = cap;
	}
	v->job[v->l.nr++] = j;
}

/* A model's answer is an agent that thinks, which the fleet shows; a question waits for a
 * user. */
static bool view_jobs_is_work(const struct model_action *a)
{
	return strcmp(a->kind, "model") != 0 && strcmp(a->kind, "ask") != 0;
}

static void add_running(struct jobs *v, struct arena *ar, size_t source, const struct model *m)
{
	for (size_t i = 0; i < m->nr_actions && !m->ended; i++) {
		const struct model_action *a = &m->action[i];
		const struct model_box *b = model_box(m, a->box);
		if (a->state == ACT_RUNS && view_jobs_is_work(a))
			view_jobs_add(
				v, ar,
				(struct job){ JOB_ACTION, source, a->id, a, b, a->start_us, 0 });
		if (a->preview && !a->previewed)
			view_jobs_add(v, ar,
				      (struct job){ JOB_DRY_RUN, source, a->preview, a, b,
						    a->preview_us, 0 });
	}
	for (size_t i = 0; i < m->nr_boxes && !m->ended; i++) {
		const struct model_box *b = &m->box[i];
		if (!b->ready && !b->closed)
			view_jobs_add(
				v, ar,
				(struct job){ JOB_BOX, source, b->id, NULL, b, b->asked_us, 0 });
	}
}

/* Its steps are entries of their own: only the newest of each counts. */
static void add_repeats(struct jobs *v, struct arena *ar, size_t source, const struct model *m)
{
	for (size_t i = 0; i < m->nr_repeats && !m->ended; i++) {
		const struct model_repeat *r = &m->repeat[i];
		bool newest = true;
		for (size_t k = i + 1; k < m->nr_repeats; k++)
			newest = newest && m->repeat[k].seq != r->seq;
		const struct model_action *a = model_action(m, r->again);
		if (newest && !r->ended && (!a || a->state != ACT_RUNS))
			view_jobs_add(v, ar,
				      (struct job){ JOB_REPEAT, source, r->seq, a,
						    a ? model_box(m, a->box) : NULL, r->begin_us,
						    0 });
	}
}

static void add_over(struct jobs *v, struct arena *ar, size_t source, const struct model *m)
{
	size_t found = 0;
	for (size_t i = m->nr_actions; i > 0 && m->nr_actions - i < LOOK_BACK && found < MOST_OVER;
	     i--) {
		const struct model_action *a = &m->action[i - 1];
		if (a->state != ACT_OVER || !a->started || a->end_us - a->start_us < LONG_US ||
		    !view_jobs_is_work(a))
			continue;
		view_jobs_add(v, ar,
			      (struct job){ JOB_ACTION, source, a->id, a, model_box(m, a->box),
					    a->start_us, a->end_us });
		found++;
	}
}

/* The row under the cursor is known by its work, not by its place. */
static void view_jobs_keep(struct jobs *v)
{
	if (v->l.nr == 0)
		return;
	v->source = v->job[v->l.at].source;
	v->id = v->job[v->l.at].id;
}

static void view_jobs_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct jobs *v = self;
	(void)cols;
	v->arena = ar;
	v->job = NULL;
	v->l.nr = v->cap = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		add_running(v, ar, i, &ui->src[i]->model);
		add_repeats(v, ar, i, &ui->src[i]->model);
	}
	v->running = v->l.nr;
	for (size_t i = 0; i < ui->nr_src; i++)
		add_over(v, ar, i, &ui->src[i]->model);
	for (size_t i = 0; i < v->l.nr; i++) /* if the job has gone: the row in its place */
		if (v->job[i].source == v->source && v->job[i].id == v->id)
			v->l.at = i;
	list_settle(&v->l, rows);
	view_jobs_keep(v);
}

/* --- paint ------------------------------------------------------------------------------------ */

enum { COL_WORK, COL_SESSION, COL_STATE, COL_TIME, COL_AGENT, COL_OUTPUT, COL_WHAT, COL_NR };

static const struct column view_jobs_columns[COL_NR] = {
	{ "WORK", { 8, 8 }, { 1, 1 }, false },	  { "SESSION", { 0, 9 }, { 1, 1 }, false },
	{ "STATE", { 9, 9 }, { 1, 1 }, false },	  { "TIME", { 7, 7 }, { 1, 1 }, true },
	{ "AGENT", { 11, 14 }, { 2, 2 }, false }, { "OUTPUT", { 0, 7 }, { 1, 1 }, true },
	{ "WHAT", { 0, 0 }, { 1, 2 }, false },
};

static const char *work_word(const struct job *j, const struct row_info *info)
{
	return j->kind == JOB_DRY_RUN  ? "dry run"
	       : j->kind == JOB_REPEAT ? "repeat"
	       : j->kind == JOB_BOX    ? "sandbox"
				       : info->word;
}

static const char *view_jobs_state_word(const struct job *j, const struct row_info *info,
					enum role *r, char *sign)
{
	bool frozen = j->box && j->box->frozen && !j->end_us;
	*r = frozen		  ? ROLE_PAUSED
	     : j->kind == JOB_BOX ? ROLE_THINK
	     : !j->end_us	  ? ROLE_RUN
	     : j->act->ok	  ? ROLE_DONE
				  : ROLE_FAILED;
	*sign = frozen ? '=' : j->kind == JOB_BOX ? 'z' : !j->end_us ? '>' : j->act->ok ? '.' : 'x';
	return frozen		    ? "FROZEN"
	       : j->kind == JOB_BOX ? "opens"
	       : !j->end_us	    ? "run"
	       : *info->outcome	    ? info->outcome
				    : "done";
}

static const char *what_text(const struct jobs *v, const struct job *j, const struct row_info *info)
{
	if (j->kind == JOB_BOX)
		return arena_printf(v->arena, "%s  %s", j->box->name, j->box->driver);
	return j->act ? one_line(info->what, v->arena) : "prepares its sandbox";
}

static void paint_job(const struct jobs *v, const struct ui *ui, struct area a, int row,
		      const struct job *j, const struct columns *c)
{
	struct source *s = ui->src[j->source];
	struct arena *ar = v->arena;
	struct row_info info = { .word = "", .what = "", .outcome = "" };
	enum role r;
	char sign;
	if (j->act)
		row_load(&info, s, &(struct row){ j->act->id, EV_ACTION_REQUESTED }, ar);
	const struct model_agent *agent = j->act ? model_agent(&s->model, j->act->agent) : NULL;
	const char *state = view_jobs_state_word(j, &info, &r, &sign),
		   *what = what_text(v, j, &info);
	grid_put(a, row, 1, r, arena_printf(ar, "%c", sign));
	list_cell(a, row, c, COL_WORK, ROLE_NAME, work_word(j, &info));
	list_cell(a, row, c, COL_SESSION, ROLE_DIM, s->model.id);
	list_cell(a, row, c, COL_STATE, r, state);
	list_cell(a, row, c, COL_TIME, ROLE_TEXT,
		  j->end_us ? fmt_span(ar, j->end_us - j->begin_us)
			    : fmt_age(ar, ui_now_of(ui, j->source) - j->begin_us));
	list_cell(a, row, c, COL_AGENT, ROLE_TEXT, ui_agent_name(ui, j->source, agent));
	if (j->act && j->kind == JOB_ACTION)
		list_cell(a, row, c, COL_OUTPUT, ROLE_DIM,
			  fmt_bytes(ar, (int64_t)(j->act->out_bytes + j->act->err_bytes)));
	list_cell(a, row, c, COL_WHAT, j->end_us ? ROLE_DIM : ROLE_TEXT, what);
}

static void view_jobs_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct jobs *v = self;
	struct arena *ar = v->arena;
	struct columns c;
	int row;
	const struct piece p[] = {
		{ ROLE_RUN, v->running ? arena_printf(ar, "%zu run", v->running) : "" },
		{ ROLE_DIM,
		  v->l.nr > v->running ? arena_printf(ar, "%zu over", v->l.nr - v->running) : "" },
	};
	draw_title(a, 0, "jobs: running work", p, ARRAY_LEN(p));
	list_rule(&v->l, a, ui_may_act(ui, v->source) ? "Enter open   X end it.." : "Enter open",
		  ar);
	list_columns(&c, view_jobs_columns, COL_NR, a.cols, a.cols >= 100,
		     ui->nr_src > 1 ? COL_NR : COL_SESSION);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		paint_job(v, ui, a, row, &v->job[i], &c);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (v->l.nr == 0)
		grid_put(a, 4, 3, ROLE_DIM, "nothing runs, and nothing took longer than 10 s");
}

/* --- verbs ------------------------------------------------------------------------------------ */

static const struct job *view_jobs_here(const struct jobs *v)
{
	return v->l.nr > 0 ? &v->job[v->l.at] : NULL;
}

static void end_chosen(struct ui *ui, const char *key)
{
	char id[24];
	/* an agent may be called like the number */
	snprintf(id, sizeof(id), "#%" PRIu64, ui->prompt.on.action);
	if (key && *key == 'y')
		ui_send(ui, ui->prompt.on.source, (const char *[]){ "kill", id, NULL }, NULL);
}

static bool view_jobs_ask_end(const struct jobs *v, struct ui *ui)
{
	const struct job *j = view_jobs_here(v);
	char label[120];
	if (!j)
		return true;
	if (j->end_us) {
		ui_say(ui, ROLE_DIM, "it is over");
	} else if (j->kind == JOB_DRY_RUN) {
		ui_say(ui, ROLE_DIM, "a dry run ends after 30 s at the latest");
	} else if (j->kind == JOB_BOX || !j->act) {
		ui_say(ui, ROLE_DIM,
		       "it has not begun to run; :kill ends the agent, :stop the session");
	} else {
		snprintf(label, sizeof(label),
			 "end action #%" PRIu64 "? Its agent continues with an error  (y/n)",
			 j->act->id);
		ui_choose(ui, label, "yn",
			  &(struct subject){ .source = j->source, .action = j->act->id },
			  end_chosen);
	}
	return true;
}

static bool open_job(const struct jobs *v, struct ui *ui)
{
	const struct job *j = view_jobs_here(v);
	struct subject on = { .source = j ? j->source : 0 };
	if (!j)
		return true;
	if (j->act) {
		on.agent = j->act->agent;
		on.action = j->act->id;
	}
	ui_open(ui,
		j->kind == JOB_BOX	 ? "sandboxes"
		: j->kind == JOB_REPEAT	 ? "repeat"
		: j->kind == JOB_DRY_RUN ? "approval"
		: on.agent		 ? "agent"
					 : "log",
		&on);
	return true;
}

static bool view_jobs_verb(void *self, struct ui *ui, enum verb verb)
{
	struct jobs *v = self;
	if (list_verb(&v->l, verb)) {
		view_jobs_keep(v);
		return true;
	}
	switch ((int)verb) {
	case VERB_OPEN:
		return open_job(v, ui);
	case VERB_KILL:
		return view_jobs_ask_end(v, ui);
	default:
		return false;
	}
}

static enum click view_jobs_click(void *self, struct ui *ui, int row, int col)
{
	struct jobs *v = self;
	enum click c = list_click(&v->l, row);
	(void)ui, (void)col;
	view_jobs_keep(v);
	return c;
}

static void view_jobs_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct job *j = view_jobs_here(self);
	(void)ui;
	*out = (struct subject){ .source = ((const struct jobs *)self)->source };
	if (j && j->act) {
		out->agent = j->act->agent;
		out->action = j->act->id;
	}
}

static const char *view_jobs_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct jobs *v = self;
	const struct job *j = &v->job[i];
	struct row_info info = { .word = "", .what = "" };
	if (j->act)
		row_load(&info, ui->src[j->source],
			 &(struct row){ j->act->id, EV_ACTION_REQUESTED }, a);
	const struct model_agent *agent =
		j->act ? model_agent(&ui->src[j->source]->model, j->act->agent) : NULL;
	return arena_printf(a, "%s %s %s", work_word(j, &info), ui_agent_name(ui, j->source, agent),
			    what_text(v, j, &info));
}

static void view_jobs_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct jobs *v = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = v->source,
				.nr = v->l.nr,
				.line = view_jobs_line,
				.at = v->l.at };
}

static void view_jobs_go(void *self, struct ui *ui, uint64_t to)
{
	struct jobs *v = self;
	(void)ui;
	list_move(&v->l, (int64_t)to);
	view_jobs_keep(v);
}

const struct view_ops view_jobs = {
	.name = "jobs",
	.where = IN_JOBS,
	.size = sizeof(struct jobs),
	.recalc = view_jobs_recalc,
	.paint = view_jobs_paint,
	.verb = view_jobs_verb,
	.click = view_jobs_click,
	.subject = view_jobs_subject,
	.look = view_jobs_look,
	.go = view_jobs_go,
};
