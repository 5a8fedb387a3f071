#include "ui/frame/claimed.h"
#include "ui/rows/outcome.h"
#include "ui/line_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/filter.h"
#include "ui/model/facts.h"
#include "ui/term/fmt.h"
#include "ui/rows/row.h"
#include "ui/rows/tried.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "wire/event_json.h"

enum { RAN_NAMES = 6 };	    /* programs that a line names */
enum { LINE_ANSWER = 800 }; /* bytes that are shown of a model's answer */
enum { NOTE_LINES = 200 };  /* lines that are shown of what a script prints */

void line_print_safe(FILE *out, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &b);
	fputs(buf_cstr(&b), out);
}

/* --- one event -------------------------------------------------------------------------------- */

static void line_print_json(struct line *l, const struct event *ev)
{
	CLEANUP(json_release) json_t *o = json_object(), *event = event_json(ev);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_put_int(o, "schema", LINE_SCHEMA);
	json_object_update(o, event);
	json_dump_buf(o, &text);
	fprintf(l->out, "%s\n", buf_cstr(&text));
}

static void print_what(struct line *l, const char *what)
{
	if (*what) {
		fputs(": ", l->out);
		line_print_safe(l->out, what);
	}
}

static void print_by(struct line *l, const char *by)
{
	if (*by) {
		fputs(" by ", l->out);
		line_print_safe(l->out, by);
	}
}

/* An answer may be a whole file: its beginning, and how to get the rest. */
static void print_answer(struct line *l, const struct row_info *r, struct arena *a)
{
	size_t len = strlen(r->what), cut = LINE_ANSWER;
	if (len <= LINE_ANSWER + LINE_ANSWER / 4) {
		print_what(l, r->what);
		return;
	}
	while (cut > 0 && ((unsigned char)r->what[cut] & 0xc0) == 0x80) /* not within a character */
		cut--;
	print_what(l, arena_printf(a, "%.*s", (int)cut, r->what));
	fprintf(l->out, " .. (%s bytes; \"show %" PRIu64 "\" prints them)",
		fmt_count(a, (int64_t)len), r->seq);
}

static void print_ended(struct line *l, const struct row_info *r, struct arena *a)
{
	if (strcmp(r->outcome, "denied") == 0) {
		fprintf(l->out, "%s DENIED", r->word);
		print_by(l, r->by);
		print_what(l, r->what);
		return;
	}
	if (strcmp(r->word, "model") == 0 && r->sign != 'x') {
		fprintf(l->out, "model answered in %s", fmt_span(a, r->dur_us));
		if (r->tokens > 0)
			fprintf(l->out, ", %s tokens, %s", fmt_count(a, r->tokens),
				fmt_cost(a, r->uusd, r->cost_unknown));
		print_answer(l, r, a);
		return;
	}
	if (strcmp(r->outcome, "failed") == 0)
		fputs("FAILED", l->out);
	else if (strcmp(r->outcome, "allowed") == 0)
		fputs("allowed", l->out);
	else
		fprintf(l->out, "%s: %s", r->sign == 'x' ? "FAILED" : "done",
			*r->outcome ? r->outcome : "ok");
	if (r->dur_us >= 0)
		fprintf(l->out, " in %s", fmt_span(a, r->dur_us));
	if (r->out_bytes > 0)
		fprintf(l->out, ", %s bytes of output (\"out %" PRIu64 "\" prints them)",
			fmt_count(a, (int64_t)r->out_bytes), r->seq);
	print_what(l, r->why);
}

/* Where no prompt follows, a reader of a pipe or log learns how to decide. */
static void line_print_how(struct line *l, uint64_t action)
{
	if (!l->ask && session_live(l->s->session))
		fprintf(l->out,
			"\n  pending: 'sandglass approve %s#%" PRIu64
			"' or 'sandglass deny %s#%" PRIu64 "'",
			l->s->model.id, action, l->s->model.id, action);
}

/* True if there is something to say about this step in an action's life. */
static bool line_print_action(struct line *l, const struct event *ev, const struct row_info *r,
			      struct arena *a)
{
	switch (ev->kind) {
	case EV_ACTION_STARTED:
		fprintf(l->out, "%s %s", r->word,
			strcmp(r->verdict, "allow") == 0 ? "allowed" : "runs");
		if (strcmp(r->verdict, "allow") != 0) {
			print_what(l, r->what);
			return true;
		}
		break;
	case EV_ACTION_HELD:
		fputs(r->verdict, l->out);
		break;
	case EV_ACTION_DECIDED:
		fprintf(l->out, "%s", r->verdict);
		break;
	case EV_ACTION_ENDED:
		print_ended(l, r, a);
		return true;
	default:
		return false;
	}
	print_by(l, r->by);
	print_what(l, ev->kind == EV_ACTION_DECIDED && *r->why ? r->why : r->what);
	if (ev->kind == EV_ACTION_HELD)
		line_print_how(l, ev->action);
	return true;
}

/* What follows the first line of a text: what a script prints was meant to be read, of all else the
 * number says enough. */
static void print_more_lines(struct line *l, const struct row_info *r, const char *from)
{
	size_t nr = 0, shown = strcmp(r->word, "note") == 0 ? NOTE_LINES : 0;
	while (from && from[1]) {
		const char *text = from + 1;
		from = strchr(text, '\n');
		if (nr++ >= shown)
			continue;
		CLEANUP(free_ptr)
		char *one = from ? mem_strndup(text, (size_t)(from - text)) : mem_strdup(text);
		fputs("\n  | ", l->out);
		line_print_safe(l->out, one);
	}
	if (nr > shown)
		fprintf(l->out, "%s(and %zu more %s)", shown ? "\n  | " : " ", nr - shown,
			nr - shown == 1 ? "line" : "lines");
}

/* Whose files changed: on a screen the row stands among its box's, here nothing else would say
 * so. */
static void print_box(struct line *l, const struct event *ev)
{
	const struct model *m = &l->s->model;
	const struct model_box *b =
		ev->kind == EV_SNAPSHOT_TAKEN && m->nr_boxes > 1 ? model_box(m, ev->box) : NULL;
	if (b && b->name) {
		fputs(" of ", l->out);
		line_print_safe(l->out, b->name);
	}
}

static void print_other(struct line *l, const struct event *ev, const struct row_info *r)
{
	if (r->turn) {
		fputs(r->what, l->out);
		return;
	}
	fputs(strcmp(r->word, "end") == 0 ? "ended" : r->word, l->out);
	print_box(l, ev);
	if (*r->outcome)
		fprintf(l->out, " (%s)", r->outcome);
	const char *more = strchr(r->what, '\n');
	CLEANUP(free_ptr)
	char *first = more ? mem_strndup(r->what, (size_t)(more - r->what)) : mem_strdup(r->what);
	print_what(l, first);
	print_more_lines(l, r, more);
}

/* Facts that a user needs before applying a dry run: files, output, and missing abilities. */
static void print_dry_run(struct line *l, const struct model_action *act, struct arena *a)
{
	struct text t;
	text_init(&t, a, 100, 3, false);
	if (!act || !tried_text(&t, l->s, act, 0, TRIED_FULL))
		return;
	for (size_t i = 1; i < t.nr; i++) { /* the first says what stands above it already */
		CLEANUP(buf_release) struct buf row = BUF_INIT;
		text_row_plain(&t.row[i], &row);
		fprintf(l->out, "  %s ",
			t.row[i].gutter && *t.row[i].gutter ? t.row[i].gutter : " ");
		line_print_safe(l->out, buf_cstr(&row));
		fputc('\n', l->out);
	}
}

static bool is_step(enum event_kind kind)
{
	return kind == EV_ACTION_STARTED || kind == EV_ACTION_HELD || kind == EV_ACTION_DECIDED ||
	       kind == EV_ACTION_ENDED;
}

/* A refusal of our own command: the user who typed it has the answer already. */
static bool is_answered(const struct line *l, const struct event *ev)
{
	struct err err = ERR_INIT;
	if (ev->kind != EV_CONTROL_REFUSED || !ev->body || !l->act || !l->act->command)
		return false;
	CLEANUP(json_release) json_t *o = json_parse(ev->body, ev->len, "control.refused", &err);
	return json_int(json_object_get(o, "who"), "pid", 0) == getpid();
}

/* Events that are a line: steps of actions (not the wish itself, which says nothing yet) and rows
 * of their own. */
static bool is_line(const struct model *m, const struct event *ev)
{
	const struct model_action *act = is_step(ev->kind) ? model_action(m, ev->action) : NULL;
	enum event_kind kind = ev->kind;
	if (act && kind == EV_ACTION_STARTED && strcmp(act->kind, "model") == 0)
		return false; /* what it answers is the line */
	if (act && kind == EV_ACTION_ENDED && act->person && !act->started)
		return false; /* the decision was the line */
	return is_step(kind) || (model_is_row(kind) && kind != EV_ACTION_REQUESTED);
}

/* The time zone is printed when it differs from the line before. */
static void print_time(struct line *l, int64_t wall_us, struct arena *a)
{
	const char *when = fmt_hms_zone(a, wall_us), *zone = strchrnul(when, ' ');
	bool same = strncmp(l->zone, zone, sizeof(l->zone) - 1) == 0;
	snprintf(l->zone, sizeof(l->zone), "%s", zone);
	fprintf(l->out, "%s ", same ? fmt_hms(a, wall_us) : when);
}

void line_filter(struct line *l, const struct filter *f)
{
	l->filter = f;
}

void line_quiet(struct line *l)
{
	l->quiet = true;
}

void line_past(struct line *l, uint64_t seq)
{
	l->past = l->json ? 0 : seq;
}

static bool body_says(const struct event *ev, const char *key, const char *value)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release)
	json_t *o = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	return strcmp(json_str(o, key, ""), value) == 0;
}

/* True for an event printed also with -q. */
static bool is_loud(const struct model *m, const struct event *ev)
{
	const struct model_agent *a;
	switch (ev->kind) {
	case EV_ACTION_HELD:
	case EV_ASK:
	case EV_BUDGET_EMPTY:
	case EV_SUPER_WARN:
	case EV_BOX_WARN:
	case EV_BOX_NOTICE:
	case EV_HONEYTOKEN_SEEN:
	case EV_SECRET_SEEN:
	case EV_SNAPSHOT_FAILED:
	case EV_MERGE_FAILED:
	case EV_RECORD_STALLED:
	case EV_SESSION_END:
		return true;
	case EV_NOTE:
		/* what a script prints was asked for */
		return body_says(ev, "level", "warn") || body_says(ev, "level", "print");
	case EV_ACTION_ENDED:
		return body_says(ev, "end", "failed");
	case EV_AGENT_END:
		a = model_agent(m, ev->agent);
		return a && !a->good;
	default:
		return false;
	}
}

/* A missing key that each model call needs is reported once. */
static bool line_said_before(struct line *l, const struct event *ev)
{
	struct err err = ERR_INIT;
	if (ev->kind != EV_SECRET_USED || !ev->body)
		return false;
	CLEANUP(json_release) json_t *o = json_parse(ev->body, ev->len, "event", &err);
	const char *name = json_str(o, "name", "");
	for (size_t i = 0; i < l->secrets.nr; i++)
		if (strcmp(l->secrets.item[i], name) == 0)
			return true;
	strv_push(&l->secrets, name);
	return false;
}

static bool line_lets(struct line *l, const struct event *ev)
{
	if (!l->json && ((l->quiet && !is_loud(&l->s->model, ev)) || line_said_before(l, ev)))
		return false;
	if (!l->filter)
		return true;
	CLEANUP(json_release) json_t *row = facts_row(l->s, ev->action ? ev->action : ev->seq);
	return filter_match(l->filter, row, ev->ts_us);
}

/* --- programs that an action runs: one line for all until its next other event --------------- */

static void ran_tell(struct line *l, struct line_ran *r, int64_t wall_us, struct arena *a)
{
	const struct model *m = &l->s->model;
	const struct model_action *act = model_action(m, r->action);
	const struct model_agent *agent = model_agent(m, act ? act->agent : 0);
	if (l->at_prompt)
		fputc('\n', l->out);
	l->at_prompt = false;
	print_time(l, wall_us, a);
	line_print_safe(l->out, agent ? agent->name : "session");
	fprintf(l->out, " event %" PRIu64 " ran %s: ", r->action,
		fmt_plural(a, (int64_t)r->nr, "program", "programs"));
	for (size_t i = 0; i < r->names.nr; i++) {
		fputs(i ? ", " : "", l->out);
		line_print_safe(l->out, r->names.item[i]);
	}
	fprintf(l->out, "%s\n", r->more ? " .." : "");
	strv_release(&r->names);
	*r = (struct line_ran){ .names = STRV_INIT };
}

/* Prints the collected programs of @action (0: of any). */
static void ran_flush(struct line *l, uint64_t action, int64_t wall_us, struct arena *a)
{
	for (size_t i = 0; i < ARRAY_LEN(l->ran); i++)
		if (l->ran[i].action && (!action || l->ran[i].action == action))
			ran_tell(l, &l->ran[i], wall_us, a);
}

static void ran_add(struct line *l, const struct event *ev, struct arena *a)
{
	struct err err = ERR_INIT;
	struct line_ran *r = NULL;
	CLEANUP(json_release)
	json_t *o = ev->body ? json_parse(ev->body, ev->len, "proc.exec", &err) : NULL;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(l->ran); i++)
		if (l->ran[i].action == ev->action || (!r && !l->ran[i].action))
			r = &l->ran[i];
	if (!r) { /* too many at the same time */
		r = &l->ran[0];
		ran_tell(l, r, ev->ts_us, a);
	}
	r->action = ev->action;
	r->nr++;
	json_get_bytes(json_object_get(o, "path"), &path);
	const char *name = strrchr(buf_cstr(&path), '/');
	name = name ? name + 1 : path.len ? buf_cstr(&path) : "?";
	for (size_t i = 0; i < r->names.nr; i++)
		if (strcmp(r->names.item[i], name) == 0)
			return;
	r->more = r->names.nr == RAN_NAMES;
	if (!r->more)
		strv_push(&r->names, name);
}

bool line_event(struct line *l, const struct event *ev)
{
	struct arena a = ARENA_INIT;
	struct row_info r;
	if (!line_lets(l, ev))
		return false;
	if (l->json) {
		line_print_json(l, ev);
		return true;
	}
	if (!is_line(&l->s->model, ev) || ev->seq <= l->past || is_answered(l, ev))
		return false;
	if (ev->kind == EV_PROC_EXEC && ev->action) {
		/* not the command itself */
		if (l->s->model.rows.nr &&
		    l->s->model.rows.row[l->s->model.rows.nr - 1].seq == ev->seq)
			ran_add(l, ev, &a);
		arena_release(&a);
		return false;
	}
	if (ev->action || ev->kind == EV_SESSION_END)
		ran_flush(l, ev->action, ev->ts_us, &a);
	if (l->at_prompt)
		fputc('\n', l->out);
	l->at_prompt = false;
	const struct model *m = &l->s->model;
	bool step = is_step(ev->kind);
	const struct model_action *act = step ? model_action(m, ev->action) : NULL;
	const struct model_agent *agent = model_agent(m, ev->kind == EV_AGENT_START ? ev->seq
							 : act			    ? act->agent
										    : ev->agent);
	row_load(
		&r, l->s,
		&(struct row){ step ? ev->action : ev->seq, step ? EV_ACTION_REQUESTED : ev->kind },
		&a);
	print_time(l, ev->ts_us, &a);
	line_print_safe(l->out, agent ? agent->name : "session");
	fprintf(l->out, " event %" PRIu64 " ", step ? ev->action : ev->seq);
	if (!step) {
		print_other(l, ev, &r);
	} else if (!line_print_action(l, ev, &r, &a)) {
		fputs(r.word, l->out);
	}
	fputc('\n', l->out);
	if (ev->kind == EV_PREVIEW_ENDED)
		print_dry_run(l, model_action(m, ev->action), &a);
	arena_release(&a);
	return true;
}

/* --- following -------------------------------------------------------------------------------- */

struct line *line_new(struct source *s, const struct act *act, FILE *out, bool json, bool ask)
{
	struct line *l = NEW(struct line);
	*l = (struct line){ .s = s, .act = act, .out = out, .json = json, .ask = ask };
	return l;
}

void line_free(struct line **l)
{
	if (*l) {
		line_forget(*l);
		for (struct line_decision *d; (d = (*l)->decisions);) {
			(*l)->decisions = d->next;
			free(d);
		}
		free((*l)->off);
		strv_release(&(*l)->secrets);
		for (size_t i = 0; i < ARRAY_LEN((*l)->ran); i++)
			strv_release(&(*l)->ran[i].names);
	}
	free(*l);
	*l = NULL;
}

int line_sync(struct line *l, uint64_t limit_seq, struct err *err)
{
	struct event ev;
	struct arena a = ARENA_INIT;
	int rc;
	while ((rc = feed_next(l->s->feed, &ev, &a, limit_seq, err)) == 1) {
		model_apply(&l->s->model, &ev);
		line_event(l, &ev);
		arena_reset(&a);
	}
	arena_release(&a);
	line_prompt(l);
	fflush(l->out);
	return rc < 0 ? -1 : 0;
}
