#include "ui/line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/views/approve.h"
#include "ui/term/fmt.h"
#include "ui/views/row.h"
#include "ui/term/term.h"
#include "ui/ui.h"

/* What the person's next line is taken for. */
enum awaiting { AWAIT_COMMAND, AWAIT_CHOICE, AWAIT_MESSAGE, AWAIT_PATTERN, AWAIT_EDIT, AWAIT_ANSWER };

struct line {
	struct source *s;
	const struct act *act;
	FILE *out;
	bool json, ask;
	enum awaiting awaiting;
	uint64_t asked;     /* the action or question that a prompt is about; 0 none */
	uint64_t later;     /* not asked again by itself up to this one */
	char *intent;
	bool at_prompt;     /* the prompt is the last thing on the screen */
	char zone[16];	    /* of the line before */
};

static void print_safe(FILE *out, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &b);
	fputs(buf_cstr(&b), out);
}

/* --- one event ---------------------------------------------------------------------------------------------------- */

static void print_json(struct line *l, const struct event *ev)
{
	CLEANUP(json_release) json_t *o = json_object();
	CLEANUP(buf_release) struct buf ts = BUF_INIT, text = BUF_INIT;
	struct err err = ERR_INIT;
	const char *name = event_kind_name(ev->kind);
	json_put_int(o, "schema", LINE_SCHEMA);
	json_put_int(o, "seq", (int64_t)ev->seq);
	json_put(o, "kind", name ? json_string(name) : json_integer(ev->kind));
	clock_rfc3339(ev->ts_us, &ts);
	json_put_str(o, "ts", buf_cstr(&ts));
	if (ev->cause)
		json_put_int(o, "cause", (int64_t)ev->cause);
	if (ev->agent)
		json_put_int(o, "agent", (int64_t)ev->agent);
	if (ev->box)
		json_put_int(o, "box", (int64_t)ev->box);
	if (ev->action)
		json_put_int(o, "action", (int64_t)ev->action);
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	json_put(o, "body", body ? body : json_null());
	json_dump_buf(o, &text);
	fprintf(l->out, "%s\n", buf_cstr(&text));
}

static void print_what(struct line *l, const char *what)
{
	if (*what) {
		fputs(": ", l->out);
		print_safe(l->out, what);
	}
}

static void print_by(struct line *l, const char *by)
{
	if (*by) {
		fputs(" by ", l->out);
		print_safe(l->out, by);
	}
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
		print_what(l, r->what);
		return;
	}
	fprintf(l->out, "%s: %s", r->sign == 'x' ? "FAILED" : "done", *r->outcome ? r->outcome : "ok");
	if (r->dur_us >= 0)
		fprintf(l->out, " in %s", fmt_span(a, r->dur_us));
	if (r->out_bytes > 0)
		fprintf(l->out, ", %s bytes of output, say \"out %" PRIu64 "\" to read them",
			fmt_count(a, (int64_t)r->out_bytes), r->seq);
	print_what(l, r->why);
}

/* True if there is something to say about this step in an action's life. */
static bool print_action(struct line *l, const struct event *ev, const struct row_info *r, struct arena *a)
{
	switch (ev->kind) {
	case EV_ACTION_STARTED:
		fprintf(l->out, "%s %s", r->word, strcmp(r->verdict, "allow") == 0 ? "allowed" : "runs");
		if (strcmp(r->verdict, "allow") != 0) {
			print_what(l, r->what);
			return true;
		}
		break;
	case EV_ACTION_HELD:
		fprintf(l->out, "HELD");
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
	return true;
}

static void print_other(struct line *l, const struct row_info *r)
{
	if (r->turn) {
		fputs(r->what, l->out);
		return;
	}
	fputs(strcmp(r->word, "end") == 0 ? "ended" : r->word, l->out);
	if (*r->outcome)
		fprintf(l->out, " (%s)", r->outcome);
	const char *more = strchr(r->what, '\n');
	size_t lines = 0;
	for (const char *p = more; p && p[1]; p = strchr(p + 1, '\n'))
		lines++;
	if (lines == 0) {
		print_what(l, r->what);
		return;
	}
	CLEANUP(free_ptr) char *first = xstrndup(r->what, (size_t)(more - r->what));
	print_what(l, first);
	fprintf(l->out, " (and %zu more %s)", lines, lines == 1 ? "line" : "lines");
}

static bool is_step(uint16_t kind)
{
	return kind == EV_ACTION_STARTED || kind == EV_ACTION_HELD || kind == EV_ACTION_DECIDED ||
	       kind == EV_ACTION_ENDED;
}

/* Events that are a line: steps of actions (not the wish itself, which says nothing yet) and rows of their own. */
static bool is_line(const struct model *m, const struct event *ev)
{
	const struct model_action *act = is_step(ev->kind) ? model_action(m, ev->action) : NULL;
	uint16_t kind = ev->kind;
	if (act && kind == EV_ACTION_STARTED && strcmp(act->kind, "model") == 0)
		return false; /* what it answers is the line */
	if (act && kind == EV_ACTION_ENDED && act->person && !act->started)
		return false; /* the decision was the line */
	return is_step(kind) || (model_is_row(kind) && kind != EV_ACTION_REQUESTED);
}

/* The zone is said when it is another than that of the line before. */
static void print_time(struct line *l, int64_t wall_us, struct arena *a)
{
	const char *when = fmt_hms_zone(a, wall_us), *zone = strchrnul(when, ' ');
	bool same = strncmp(l->zone, zone, sizeof(l->zone) - 1) == 0;
	snprintf(l->zone, sizeof(l->zone), "%s", zone);
	fprintf(l->out, "%s ", same ? fmt_hms(a, wall_us) : when);
}

static void print_event(struct line *l, const struct event *ev)
{
	struct arena a = ARENA_INIT;
	struct row_info r;
	if (l->json) {
		print_json(l, ev);
		return;
	}
	if (!is_line(&l->s->model, ev))
		return;
	if (l->at_prompt)
		fputc('\n', l->out);
	l->at_prompt = false;
	const struct model *m = &l->s->model;
	bool step = is_step(ev->kind);
	const struct model_action *act = step ? model_action(m, ev->action) : NULL;
	const struct model_agent *agent = model_agent(m, ev->kind == EV_AGENT_START ? ev->seq
							 : act			    ? act->agent
										    : ev->agent);
	row_load(&r, l->s, &(struct row){ step ? ev->action : ev->seq, step ? EV_ACTION_REQUESTED : ev->kind }, &a);
	print_time(l, ev->ts_us, &a);
	print_safe(l->out, agent ? agent->name : "session");
	fprintf(l->out, " event %" PRIu64 " ", step ? ev->action : ev->seq);
	if (!step) {
		print_other(l, &r);
	} else if (!print_action(l, ev, &r, &a)) {
		fputs(r.word, l->out);
	}
	fputc('\n', l->out);
	arena_release(&a);
}

/* --- prompts ------------------------------------------------------------------------------------------------------ */

static const char choices[] =
	"  1 approve once  2 approve for session  3 edit  4 deny with message  5 deny and pause  6 kill  "
	"7 later  8 tell me more  9 try it first  10 make the preview so\n";

static bool can_act(const struct line *l)
{
	return l->ask && l->act && l->act->command;
}

/* Events that came between have pushed it up. */
static void show_prompt(struct line *l)
{
	static const char *const labels[] = { [AWAIT_MESSAGE] = "tell the agent", [AWAIT_PATTERN] = "pattern",
					      [AWAIT_EDIT] = "run this instead" };
	const char *label = l->awaiting < ARRAY_LEN(labels) ? labels[l->awaiting] : NULL;
	if (!l->at_prompt)
		fprintf(l->out, "%" PRIu64 "%s%s> ", l->asked, label ? " " : "", label ? label : "");
	l->at_prompt = true;
}

static void prompt_action(struct line *l, const struct model_action *act)
{
	struct arena a = ARENA_INIT;
	struct approval_info info;
	approval_load(&info, l->s, act->id, &a);
	l->asked = act->id;
	l->awaiting = AWAIT_CHOICE;
	free(l->intent);
	l->intent = xstrdup(info.intent);
	fprintf(l->out, "ask %" PRIu64 ", risk %s", act->id, info.high ? "high" : "normal");
	if (act->until_us)
		fprintf(l->out, ", %s in %s if nobody answers",
			strcmp(info.on_timeout, "allow") == 0 ? "ALLOWED" : "denied",
			fmt_age(&a, act->until_us - l->s->model.last_us));
	fprintf(l->out, ".\n%s", choices);
	show_prompt(l);
	arena_release(&a);
}

static void prompt_question(struct line *l, uint64_t seq)
{
	CLEANUP(json_release) json_t *o = source_body(l->s, seq);
	const json_t *list = json_object_get(o, "choices");
	l->asked = seq;
	l->awaiting = AWAIT_ANSWER;
	fprintf(l->out, "question %" PRIu64 ": ", seq);
	print_safe(l->out, json_str(o, "text", ""));
	fputc('\n', l->out);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		fprintf(l->out, "  %zu ", i + 1);
		print_safe(l->out, json_is_string(c) ? json_string_value(c) : json_str(c, "text", "?"));
	}
	fputc('\n', l->out);
	show_prompt(l);
}

static bool still_waits(const struct line *l)
{
	const struct model_action *act = model_action(&l->s->model, l->asked);
	if (act)
		return act->state == ACT_WAITS;
	for (size_t i = 0; i < l->s->model.nr_asks; i++)
		if (l->s->model.ask[i].seq == l->asked)
			return true;
	return false;
}

/* Never while an answer is being typed for something that still waits. */
static void prompt_next(struct line *l)
{
	const struct model *m = &l->s->model;
	if (!can_act(l) || l->json)
		return;
	if (l->asked && still_waits(l)) {
		show_prompt(l);
		return;
	}
	if (l->asked)
		fputs("(it is decided)\n", l->out);
	l->asked = 0;
	l->awaiting = AWAIT_COMMAND;
	for (size_t i = 0; i < m->nr_held; i++)
		if (m->held[i] > l->later) {
			prompt_action(l, model_action(m, m->held[i]));
			return;
		}
	for (size_t i = 0; i < m->nr_asks; i++)
		if (m->ask[i].seq > l->later) {
			prompt_question(l, m->ask[i].seq);
			return;
		}
}

/* --- what is typed ------------------------------------------------------------------------------------------------ */

static void sent(void *self, const json_t *result, const struct err *err)
{
	struct line *l = self;
	if (l->at_prompt && (err || json_str(result, "text", NULL)))
		fputc('\n', l->out), l->at_prompt = false;
	const char *text = json_str(result, "text", NULL);
	if (err)
		fprintf(l->out, "not done: %s\n", err->text);
	else if (text)
		print_safe(l->out, text), fputc('\n', l->out);
	fflush(l->out);
}

static void send_words(struct line *l, const char *const *words, size_t nr, json_t *opts)
{
	if (l->act && l->act->command)
		l->act->command(l->act->self, words, nr, opts, sent, l);
	else
		fputs("read only: there is nobody to tell it to\n", l->out);
	json_decref(opts);
}

static void decide(struct line *l, const char *word, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { word, id };
	if (l->intent && *l->intent)
		json_put_str(opts, "intent", l->intent);
	send_words(l, words, 2, opts);
	l->awaiting = AWAIT_COMMAND;
	l->later = l->asked > l->later ? l->asked : l->later;
	l->asked = 0;
}

static void decide_with(struct line *l, const char *word, const char *opt, const char *text)
{
	json_t *opts = json_object();
	if (text)
		json_put_str(opts, opt, text);
	else
		json_put_flag(opts, opt, true);
	decide(l, word, opts);
}

static void ask_text(struct line *l, enum awaiting what, const char *label)
{
	l->awaiting = what;
	fputs(label, l->out);
	l->at_prompt = true;
}

static void tell_more(struct line *l)
{
	struct arena a = ARENA_INIT;
	struct approval_info info;
	struct text t;
	size_t end;
	text_init(&t, &a, 100, 5, false);
	approval_load(&info, l->s, l->asked, &a);
	approval_text(&t, l->s, &info, 0, &end);
	fprintf(l->out, "(%s)\n", info.counts ? info.counts : "");
	for (size_t i = 0; i < t.nr; i++) {
		fprintf(l->out, "%-5s", t.row[i].gutter ? t.row[i].gutter : "");
		for (uint32_t k = 0; k < t.row[i].nr; k++)
			fputs(t.row[i].glyph[k].s, l->out);
		fputc('\n', l->out);
	}
	fputs(choices, l->out);
	show_prompt(l);
	arena_release(&a);
}

static void try_it(struct line *l)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { "preview", id };
	fputs("it is being tried, for at most 30 seconds\n", l->out);
	send_words(l, words, 2, NULL);
	show_prompt(l);
}

static void chosen(struct line *l, const char *text)
{
	if (strcmp(text, "10") == 0) {
		decide(l, "promote", json_object());
		return;
	}
	switch (strlen(text) == 1 ? text[0] : 0) {
	case '1':
		decide(l, "approve", json_object());
		break;
	case '2':
		ask_text(l, AWAIT_PATTERN, "pattern (as 'git fetch *'; empty: back)> ");
		break;
	case '3':
		ask_text(l, AWAIT_EDIT, "run this instead (empty: back)> ");
		break;
	case '4':
		ask_text(l, AWAIT_MESSAGE, "tell the agent (may be empty)> ");
		break;
	case '5':
		decide_with(l, "deny", "pause", NULL);
		break;
	case '6':
		decide_with(l, "deny", "kill", NULL);
		break;
	case '7':
		l->later = l->asked;
		l->asked = 0;
		l->awaiting = AWAIT_COMMAND;
		fputs("it stays held; \"approve\" and \"deny\" with its number work at any time\n", l->out);
		prompt_next(l);
		break;
	case '8':
		tell_more(l);
		break;
	case '9':
		try_it(l);
		break;
	default:
		if (*text)
			fprintf(l->out, "a number from 1 to 10, please\n");
		show_prompt(l);
		break;
	}
}

static void answered(struct line *l, const char *text)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { "answer", id, text };
	if (*text)
		send_words(l, words, 3, NULL);
	l->later = l->asked;
	l->asked = 0;
	l->awaiting = AWAIT_COMMAND;
}

static void command(struct line *l, const char *text)
{
	const char *words[16];
	size_t nr = 0;
	CLEANUP(free_ptr) char *copy = xstrdup(text);
	char *save = NULL;
	for (char *w = strtok_r(copy, " \t", &save); w && nr < ARRAY_LEN(words); w = strtok_r(NULL, " \t", &save))
		words[nr++] = w;
	if (nr > 0)
		send_words(l, words, nr, NULL);
}

/* A line that begins with a letter is a command even while a number is asked for; a text that was asked for is not. */
void line_typed(struct line *l, const char *text)
{
	l->at_prompt = false;
	bool word = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
	if (l->asked && !still_waits(l)) {
		fputs("it is decided already\n", l->out);
		l->asked = 0;
		l->awaiting = AWAIT_COMMAND;
	} else if (l->awaiting == AWAIT_CHOICE && !word) {
		chosen(l, text);
	} else if (l->awaiting == AWAIT_MESSAGE) {
		decide_with(l, "deny", "message", text);
	} else if (l->awaiting == AWAIT_PATTERN || l->awaiting == AWAIT_EDIT) {
		bool edit = l->awaiting == AWAIT_EDIT;
		l->awaiting = AWAIT_CHOICE;
		if (*text)
			decide_with(l, "approve", edit ? "cmd" : "session", text);
		else
			show_prompt(l);
	} else if (l->awaiting == AWAIT_ANSWER) {
		answered(l, text);
	} else {
		command(l, text);
	}
	fflush(l->out);
}

/* --- following ---------------------------------------------------------------------------------------------------- */

struct line *line_new(struct source *s, const struct act *act, FILE *out, bool json, bool ask)
{
	struct line *l = NEW(struct line);
	*l = (struct line){ .s = s, .act = act, .out = out, .json = json, .ask = ask };
	return l;
}

void line_free(struct line **l)
{
	if (*l)
		free((*l)->intent);
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
		print_event(l, &ev);
		arena_reset(&a);
	}
	arena_release(&a);
	prompt_next(l);
	fflush(l->out);
	return rc < 0 ? -1 : 0;
}

/* As time went: each event after its pause. */
static int print_slowly(struct line *l, const struct line_opts *o, struct err *err)
{
	struct event ev[64];
	uint64_t at = l->s->model.head;
	int64_t last = 0;
	for (size_t nr = 1; nr > 0;) {
		if (session_headers(l->s->session, at, ev, ARRAY_LEN(ev), &nr, err) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++) {
			int64_t gap = last ? ev[i].ts_us - last : 0;
			at = ev[i].seq;
			last = ev[i].ts_us;
			if (o->to && at > o->to)
				return 0;
			gap = gap < 0 ? 0 : gap > TRACK_IDLE_US ? TRACK_IDLE_US : gap;
			if (gap > 0)
				usleep((useconds_t)(gap * o->den / o->num));
			if (line_sync(l, at, err) < 0)
				return -1;
		}
	}
	return 0;
}

int line_print(const struct line_opts *o, struct err *err)
{
	struct source *s = NULL;
	if (source_open(&s, o->path, err) < 0)
		return -1;
	if (o->from > 0)
		source_seek(s, o->from);
	struct line *l = line_new(s, NULL, o->out, o->json, false);
	int rc = o->num > 0 ? print_slowly(l, o, err) : line_sync(l, o->to, err);
	line_free(&l);
	source_close(&s);
	return rc;
}

static void dump_screens(struct ui *ui, FILE *out)
{
	static const char *const views[] = { "fleet", "agent", "log" };
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		const struct model *m = &ui->src[0]->model;
		fprintf(out, "# event %" PRIu64 " %s\n", m->head, views[i]);
		ui_open(ui, views[i], &(struct subject){ .agent = m->nr_agents ? m->agent[0].id : 0 });
		ui_draw(ui);
		term_dump(&ui->grid, out);
		if (ui->depth > 1)
			ui_back(ui);
	}
}

int line_dump(const char *path, uint64_t from, uint64_t to, bool follow, FILE *out, struct err *err)
{
	struct source *s = NULL;
	struct ui ui;
	uint64_t seq = from;
	if (source_open(&s, path, err) < 0)
		return -1;
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	for (;;) {
		bool live = follow && session_live(s->session); /* asked first: what it wrote before it ended is then there */
		uint64_t head = session_head(s->session);
		while (seq < head && (to == 0 || seq < to)) {
			ui.limit = ++seq;
			ui_sync(&ui);
			dump_screens(&ui, out);
		}
		if (!live || s->model.ended || (to && seq >= to))
			break;
		usleep(2000);
	}
	ui_release(&ui);
	source_close(&s);
	return 0;
}
