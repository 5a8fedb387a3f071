/* What each agent claimed at its end, the verdict, and the events that show it. Enter goes to the
 * first of them. Reads: ui->claimed. */
#include <inttypes.h>
#include <string.h>

#include "ui/frame/claimed.h"
#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/rows/outcome.h"
#include "ui/rows/row.h"
#include "ui/term/fmt.h"
#include "ui/term/text.h"
#include "ui/views/listed.h"

enum { CLAIM_DETAIL_ROWS = 6, CLAIM_EVIDENCE = 8 };

struct claims_view {
	size_t source, next; /* next: of the evidence of the claim under the cursor */
	struct listed l;
	struct arena *arena;
	const json_t *list; /* borrowed */
	struct text detail;
	const char *title;
};

static void view_claims_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct claims_view *v = self;
	v->source = ui->replay ? 0 : on->source;
}

static const json_t *view_claims_here(const struct claims_view *v)
{
	return json_array_get(v->list, v->l.at);
}

/* --- recalc ----------------------------------------------------------------------------------- */

static const char *view_claims_evidence(const struct claims_view *v, const json_t *claim)
{
	const json_t *seq;
	size_t i;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const json_t *list = json_object_get(claim, "evidence");
	json_array_foreach(list, i, seq) if (i < CLAIM_EVIDENCE)
		buf_printf(&b, "%s#%" PRId64, i ? " " : "", (int64_t)json_integer_value(seq));
	if (json_array_size(list) > CLAIM_EVIDENCE)
		buf_printf(&b, " and %zu more", json_array_size(list) - CLAIM_EVIDENCE);
	return arena_strdup(v->arena, buf_cstr(&b));
}

static void view_claims_ran(struct claims_view *v, const json_t *claim)
{
	const json_t *e;
	size_t i;
	json_array_foreach(json_object_get(claim, "ran"), i, e)
	{
		const char *exec = json_str(e, "exec", json_str(e, "path", NULL));
		text_putf(&v->detail, ROLE_TEXT, "%s %s  #%" PRId64, exec ? "ran" : "connected to",
			  one_line(exec ? exec : json_str(e, "connect", "?"), v->arena),
			  json_int(e, "event", 0));
	}
}

static void view_claims_detail(struct claims_view *v, int cols, bool ascii)
{
	const json_t *claim = view_claims_here(v);
	const char *why = json_str(claim, "why", ""), *evidence;
	text_init(&v->detail, v->arena, cols - 2, 2, ascii);
	if (!claim)
		return;
	text_puts(&v->detail, ROLE_TEXT, json_str(claim, "text", ""));
	if (*why)
		text_puts(&v->detail, outcome_holds(claim) ? ROLE_TEXT : ROLE_ERROR, why);
	view_claims_ran(v, claim);
	evidence = view_claims_evidence(v, claim);
	if (*evidence)
		text_putf(&v->detail, ROLE_TEXT, "evidence: %s", evidence);
	text_putf(&v->detail, ROLE_DIM, "Enter goes to %s",
		  *evidence ? "the evidence, again to the next one" : "the claim");
}

static void view_claims_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct claims_view *v = self;
	const struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->list = claimed_list(ui, v->source);
	v->l.nr = json_array_size(v->list);
	list_settle(&v->l, rows - CLAIM_DETAIL_ROWS - 1);
	view_claims_detail(v, cols, ui->grid.ascii);
	v->title = s ? arena_printf(ar, "claims of %s %s", s->model.id, s->model.name) : "claims";
}

/* --- paint ------------------------------------------------------------------------------------ */

enum { COL_VERDICT, COL_AGENT, COL_KIND, COL_EVIDENCE, COL_TEXT, COL_NR };

static const struct column view_claims_columns[COL_NR] = {
	{ "VERDICT", { 12, 12 }, { 0, 0 }, false }, { "AGENT", { 12, 14 }, { 1, 1 }, false },
	{ "ABOUT", { 0, 10 }, { 0, 1 }, false },    { "EVIDENCE", { 8, 14 }, { 1, 1 }, false },
	{ "CLAIM", { 0, 0 }, { 1, 1 }, false },
};

static void view_claims_row(const struct claims_view *v, struct area a, int row,
			    const struct columns *c, const json_t *claim)
{
	bool holds = outcome_holds(claim);
	const char *verdict = json_str(claim, "verdict", "?");
	enum role role = !holds ? ROLE_FAILED : strcmp(verdict, "seen") == 0 ? ROLE_DIM : ROLE_OK;
	grid_put(a, row, 1, role, holds ? " " : "x");
	list_cell(a, row, c, COL_VERDICT, role, verdict);
	list_cell(a, row, c, COL_AGENT, ROLE_NAME, json_str(claim, "agent", ""));
	list_cell(a, row, c, COL_KIND, ROLE_DIM, json_str(claim, "kind", ""));
	list_cell(a, row, c, COL_EVIDENCE, ROLE_TEXT, view_claims_evidence(v, claim));
	list_cell(a, row, c, COL_TEXT, ROLE_TEXT, one_line(json_str(claim, "text", ""), v->arena));
}

static void view_claims_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct claims_view *v = self;
	struct columns c;
	int row;
	size_t failing = claimed_failing(ui, v->source, NULL);
	const struct piece p[] = {
		{ ROLE_FAILED,
		  failing ? arena_printf(v->arena, "%zu not supported", failing) : "" },
		{ ROLE_TEXT, fmt_plural(v->arena, (int64_t)v->l.nr, "claim", "claims") }
	};
	struct area list = area_sub(a, 0, 0, a.rows - CLAIM_DETAIL_ROWS - 1, a.cols);
	draw_title(a, 0, v->title, p, ARRAY_LEN(p));
	list_rule(&v->l, a, v->l.nr ? "checked against the recording" : NULL, v->arena);
	if (!v->l.nr) {
		grid_put(a, 4, 3, ROLE_TEXT,
			 claimed_comes(ui) ? "The claims are being checked .."
			 : v->list	   ? "No agent claims anything."
			 : claimed_can(ui, v->source)
				 ? "No agent has ended yet: claims are checked at its end."
				 : "Claims can't be checked here: 'sandglass claims' does.");
		return;
	}
	list_columns(&c, view_claims_columns, COL_NR, a.cols, a.cols >= 100, COL_NR);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, list, &row); i++) {
		view_claims_row(v, list, row, &c, json_array_get(v->list, i));
		if (i == v->l.at)
			put_cursor_row(list, row);
	}
	put_rule(a, a.rows - CLAIM_DETAIL_ROWS - 1, NULL, ROLE_RULE, NULL);
	text_paint(&v->detail,
		   area_sub(a, a.rows - CLAIM_DETAIL_ROWS, 1, CLAIM_DETAIL_ROWS, a.cols), 0);
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool view_claims_verb(void *self, struct ui *ui, enum verb verb)
{
	struct claims_view *v = self;
	const json_t *claim = view_claims_here(v);
	if (verb != VERB_OPEN) {
		bool moved = list_verb(&v->l, verb);
		v->next = moved ? 0 : v->next;
		return moved;
	}
	const json_t *evidence = json_object_get(claim, "evidence");
	size_t nr = json_array_size(evidence);
	int64_t seq = nr ? (int64_t)json_integer_value(json_array_get(evidence, v->next % nr))
			 : json_int(claim, "event", 0);
	size_t source = v->source;
	v->next++;
	if (claim && seq > 0 && ui->replay) /* there it is the cursor that moves */
		ui_back(ui);
	if (claim && seq > 0)
		jump_to(ui, source, (uint64_t)seq);
	return true;
}

static enum click view_claims_click(void *self, struct ui *ui, int row, int col)
{
	struct claims_view *v = self;
	(void)ui, (void)col;
	v->next = 0;
	return list_click(&v->l, row);
}

static void view_claims_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct claims_view *v = self;
	const json_t *claim = view_claims_here(v);
	(void)ui;
	*out = (struct subject){ .source = v->source,
				 .agent = (uint64_t)json_int(claim, "agent_id", 0) };
}

static const char *const *view_claims_hints(const void *self, const struct ui *ui)
{
	static const char *const all[] = { "Enter evidence", "j down", "k up", ": cmd",
					   "? help",	     "q back", NULL };
	(void)self, (void)ui;
	return all;
}

const struct view_ops view_claims = {
	.name = "claims",
	.where = IN_TABLE,
	.size = sizeof(struct claims_view),
	.open = view_claims_open_view,
	.recalc = view_claims_recalc,
	.paint = view_claims_paint,
	.verb = view_claims_verb,
	.click = view_claims_click,
	.subject = view_claims_subject,
	.hints = view_claims_hints,
};
