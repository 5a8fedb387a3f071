#include "ui/views/approve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/views/merge_card.h"
#include "ui/rows/row.h"
#include "ui/model/wall.h"
#include "ui/rows/tried.h"
#include "ui/views/approve_priv.h"

enum { SAME_MOST = 500 };

static const char *approve_when(struct source *s, uint64_t seq, struct arena *a)
{
	struct event ev;
	struct err err = ERR_INIT;
	return session_event(s->session, seq, &ev, a, &err) < 0
		       ? ""
		       : arena_printf(a, " at %s", fmt_hms(a, ev.ts_us));
}

static const char *decision_line(struct source *s, const struct model_action *act, struct arena *a)
{
	struct row_info r;
	if (act->state == ACT_WAITS)
		return NULL;
	row_load(&r, s, &(struct row){ act->id, EV_ACTION_REQUESTED }, a);
	bool edited = act->started && strcmp(r.verdict, "edited") == 0;
	if (act->decided)
		return arena_printf(a, "%s by %s%s%s%s%s%s", r.verdict, r.by,
				    approve_when(s, act->decided, a), edited ? ", it ran as: " : "",
				    edited ? r.what : "", *r.why ? ": " : "", r.why);
	return arena_printf(a, "%s", *r.outcome ? r.outcome : "no longer pending");
}

int waits_order(const void *x, const void *y)
{
	const struct waits *a = x, *b = y;
	int d = (a->since_us > b->since_us) - (a->since_us < b->since_us);
	if (!d)
		d = (a->source > b->source) - (a->source < b->source);
	return d ? d : (a->action > b->action) - (a->action < b->action);
}

void approval_load(struct approval_info *out, struct source *s, uint64_t action, struct arena *a)
{
	*out = (struct approval_info){ .action = action,
				       .now_us = s->model.last_us,
				       .act = model_action(&s->model, action),
				       .intent = "",
				       .risk_why = "",
				       .on_timeout = "deny",
				       .rule = "",
				       .why = "" };
	if (!out->act)
		return;
	out->agent = model_agent(&s->model, out->act->agent);
	CLEANUP(json_release) json_t *req = source_body(s, action);
	CLEANUP(json_release) json_t *held = source_body(s, out->act->held);
	const char *kind = json_str(req, "kind", "");
	out->intent = arena_strdup(a, json_str(held, "intent", json_str(req, "intent", "")));
	out->high = strcmp(json_str(held, "risk", ""), "high") == 0;
	const json_t *why = json_object_get(held, "reasons");
	const char *only =
		json_array_size(why) == 1 ? json_string_value(json_array_get(why, 0)) : NULL;
	out->budget = only && strcmp(only, "budget") == 0;
	out->risk_why = json_flag(req, "leaves_box", false) ? "leaves the sandbox" : "";
	out->rule = arena_strdup(a, json_str(held, "rule", ""));
	out->why = arena_strdup(a, json_str(held, "why", ""));
	out->on_timeout = arena_strdup(a, json_str(held, "on_timeout", "deny"));
	out->type =
		json_str(held, "type", NULL) ? arena_strdup(a, json_str(held, "type", "")) : NULL;
	CLEANUP(json_release) json_t *left = source_body(s, out->act->later);
	if (*json_str(left, "note", "")) {
		out->note = arena_strdup(a, json_str(left, "note", ""));
		out->note_by =
			arena_strdup(a, json_str(json_object_get(left, "who"), "name", "somebody"));
	}
	out->again = json_flag(held, "again", false);
	out->decided = decision_line(s, out->act, a);
	out->trying = out->act->preview && !out->act->previewed;
	out->tried = out->act->preview && out->act->previewed;
	if (strcmp(kind, "exec") == 0 || strcmp(kind, "shell") == 0)
		out->command = action_what(req, a);
	out->tries = out->command || strcmp(kind, "write") == 0 || strcmp(kind, "edit") == 0;
}

/* --- what it would do ------------------------------------------------------------------------- */

static bool is_text_change(const json_t *req)
{
	const char *kind = json_str(req, "kind", "");
	return strcmp(kind, "write") == 0 || strcmp(kind, "edit") == 0;
}

/* An edit names parts of lines: nothing is known of line numbers and the end of the file. */
static void only_changes(struct text_diff *d)
{
	size_t nr = 0, hunks = 0;
	for (size_t i = 0; i < d->nr; i++)
		hunks += d->line[i].op == '@';
	for (size_t i = 0; i < d->nr; i++)
		if (d->line[i].op != '\\' && (d->line[i].op != '@' || hunks > 1))
			d->line[nr++] = d->line[i];
	d->nr = nr;
}

bool approval_difference(struct text *t, const json_t *req)
{
	const json_t *args = json_object_get(req, "args");
	CLEANUP(buf_release) struct buf old = BUF_INIT, new_ = BUF_INIT;
	struct text_diff d;
	const char *kind = json_str(req, "kind", "");
	if (strcmp(kind, "write") == 0) {
		if (!json_get_bytes(json_object_get(req, "data"), &new_))
			return false;
	} else if (strcmp(kind, "edit") != 0 ||
		   !json_get_bytes(json_object_get(args, "old"), &old) ||
		   !json_get_bytes(json_object_get(args, "new"), &new_)) {
		return false;
	}
	const char *a = arena_strndup(t->arena, buf_cstr(&old), old.len),
		   *b = arena_strndup(t->arena, buf_cstr(&new_), new_.len);
	diff_texts(a, old.len, b, new_.len, 3, t->arena, &d);
	if (strcmp(kind, "edit") == 0)
		only_changes(&d);
	if (d.binary)
		text_putf(t, ROLE_TEXT, "binary, %s bytes", fmt_count(t->arena, (int64_t)new_.len));
	pane_lines(t, &d);
	if (json_int(req, "data_bytes", 0) > (int64_t)new_.len)
		text_putf(t, ROLE_WARN, "only the first %s of %s bytes are in the recording",
			  fmt_count(t->arena, (int64_t)new_.len),
			  fmt_count(t->arena, json_int(req, "data_bytes", 0)));
	return true;
}

/* The known effects without a difference or a dry run. */
static void effect_words(struct text *t, const struct source *s, const json_t *req,
			 const struct approval_info *info)
{
	bool bare = wall_none(model_box(&s->model, info->act->box));
	text_puts(
		t, bare ? ROLE_WARN : ROLE_TEXT,
		json_flag(req, "leaves_box", false)
			? "it reaches outside the sandbox; sandglass can't undo it"
		: bare ? "unknown; without isolation, only changes in the workspace can be rolled back"
		: json_flag(req, "may_write", false)
			? "unknown; changes in the sandbox can be rolled back"
			: "unknown");
}

/* The same intent: command and place, environment, input, and contents. Without intents: all
 * recorded fields; values of an environment are not recorded. */
static bool same_action(const json_t *a, const json_t *b)
{
	static const char *const keys[] = { "tool",	  "argv",      "cmd",  "cwd",  "stdin_hash",
					    "path",	  "host_path", "host", "port", "data",
					    "data_bytes", "data_hash", "args" };
	const char *x = json_str(a, "intent", NULL), *y = json_str(b, "intent", NULL);
	if (!a || !b)
		return false;
	if (x || y)
		return x && y && strcmp(x, y) == 0;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const json_t *one = json_object_get(a, keys[i]),
			     *other = json_object_get(b, keys[i]);
		if ((one || other) && !json_equal(one, other))
			return false;
	}
	return !json_object_get(a, "env") && !json_object_get(b, "env");
}

/* How often the same was asked before in this box, among the last actions of its kind. Looked up
 * once for each action. */
static const char *same_before(struct source *s, const json_t *req,
			       const struct approval_info *info, struct arena *a)
{
	static struct {
		const struct source *s;
		int64_t start_us;
		uint64_t action;
		size_t times, denied, looked;
	} known;
	const struct model *m = &s->model;
	if (known.s != s || known.start_us != m->start_us || known.action != info->action) {
		known.s = s, known.start_us = m->start_us, known.action = info->action;
		known.times = known.denied = known.looked = 0;
		for (size_t i = m->nr_actions; i-- > 0 && known.looked < SAME_MOST;) {
			const struct model_action *act = &m->action[i];
			if (act->id >= info->action || act->kind != info->act->kind)
				continue;
			CLEANUP(json_release) json_t *other = source_body(s, act->id);
			known.looked++;
			if (act->box != info->act->box || !same_action(other, req))
				continue;
			known.times++;
			known.denied += act->person && !act->started;
		}
	}
	if (known.times == 0)
		return "seen before: never";
	return arena_printf(a, "seen before: %s%s",
			    fmt_plural(a, (int64_t)known.times, "time", "times"),
			    known.denied ? arena_printf(a, " (%zu denied)", known.denied) : "");
}

static void approve_seen(struct text *t, struct source *s, const json_t *req,
			 const struct approval_info *info)
{
	const struct model *m = &s->model;
	uint64_t since = 0, denied = 0;
	for (size_t i = 0; i < m->nr_actions; i++) {
		const struct model_action *act = &m->action[i];
		if (act->id >= info->action || act->agent != info->act->agent)
			continue;
		since = act->person ? 0 : since + 1;
		denied += act->person && !act->started;
	}
	text_putf(t, ROLE_DIM, "%s since the last decision; %" PRIu64 " denied so far; %s",
		  fmt_plural(t->arena, (int64_t)since, "action", "actions"), denied,
		  same_before(s, req, info, t->arena));
}

static void approve_taint(struct text *t, const json_t *req)
{
	if (json_flag(req, "tainted", false))
		text_puts(t, ROLE_WARN, "it follows untrusted content (tainted)");
}

static void approve_effect(struct text *t, struct source *s, const json_t *req,
			   const struct approval_info *info)
{
	bool tried = !info->edited && tried_text(t, s, info->act, info->now_us, TRIED_FULL);
	if (approve_is_merge(req))
		merge_card(t, s, info->act, false);
	else if (!approval_difference(t, req) && !tried)
		effect_words(t, s, req, info);
	approve_seen(t, s, req, info);
	approve_taint(t, req);
}

/* The agent's text with the action, else its last one before it. */
static const char *said_text(struct source *s, const json_t *req, const struct approval_info *info,
			     struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(json_release) json_t *reply = NULL;
	if (json_get_bytes(json_object_get(req, "said"), &b) && b.len > 0)
		return arena_strdup(a, b.data);
	reply = source_body(s, info->agent && info->agent->said < info->action ? info->agent->said
									       : 0);
	if (reply && json_get_bytes(json_object_get(reply, "text"), &b))
		return arena_strdup(a, buf_cstr(&b));
	return "";
}

/* Takes rows out, [from, to). */
static void approve_drop(struct text *t, size_t from, size_t to)
{
	if (from >= to)
		return;
	memmove(&t->row[from], &t->row[to], (t->nr - to) * sizeof(*t->row));
	t->nr -= to - from;
}

/* The part that begins at row @from has a name in the gutter, and at most @rows. */
static void name_part(struct text *t, size_t from, const char *name, size_t rows)
{
	if (from >= t->nr)
		return;
	t->row[from].gutter = name;
	t->row[from].gutter_role = ROLE_TITLE;
	if (rows < t->nr - from)
		text_cut(t, from + rows);
}

/* The parts that fit, one line each: first the deciding rule, then the effect, the agent's
 * message, and the history; the other rules if there is room. The difference of a write comes
 * last and may continue below. */
static void brief_rest(struct text *t, struct source *s, const json_t *req,
		       const struct approval_info *info, const json_t *held, const json_t *judged,
		       const char *said, size_t rows)
{
	size_t why = t->nr, does, before;
	approve_reasons(t, held, judged, info);
	name_part(t, why, "WHY", SIZE_MAX);
	before = t->nr;
	if (*said) {
		text_putf(t, ROLE_TEXT, "\"%s\"", first_line(said, t->arena));
		name_part(t, before, "SAID", 1);
	}
	does = t->nr;
	if (info->act->preview && !info->edited)
		tried_text(t, s, info->act, info->now_us, TRIED_BRIEF);
	else if (approve_is_merge(req))
		merge_card(t, s, info->act, true);
	else if (!is_text_change(req))
		effect_words(t, s, req, info);
	approve_taint(t, req);
	name_part(t, does, "DOES", SIZE_MAX);
	size_t saw = t->nr;
	approve_seen(t, s, req, info);
	name_part(t, saw, "SEEN", 2);
	size_t over = t->nr > rows ? t->nr - rows : 0;
	/* what came before goes first, then the rules that did not win, then what was said */
	if (over) {
		over -= t->nr - saw < over ? t->nr - saw : over;
		t->nr = saw;
		size_t n = before - why > 1 ? before - why - 1 : 0;
		n = n < over ? n : over;
		approve_drop(t, before - n, before);
		over -= n, before -= n, does -= n;
		if (over)
			approve_drop(t, before, does);
	}
	size_t diff = t->nr;
	if (!info->act->preview && approval_difference(t, req))
		name_part(t, diff, "DOES", SIZE_MAX);
}

static void full_rest(struct text *t, struct source *s, const json_t *req, const json_t *held,
		      const json_t *judged, const struct approval_info *info, const char *said)
{
	text_blank(t);
	approve_head(t, "WHY IT NEEDS APPROVAL");
	approve_reasons(t, held, judged, info);
	text_blank(t);
	if (*said) {
		approve_head(t, "MESSAGE OF THE AGENT");
		text_putf(t, ROLE_TEXT, "\"%s\"", said);
		text_blank(t);
	}
	approve_head(t, "EFFECT");
	approve_effect(t, s, req, info);
}

void approval_text(struct text *t, struct source *s, struct approval_info *info, size_t rows,
		   size_t *command_end)
{
	struct arena *a = t->arena;
	*command_end = 0;
	if (!info->act)
		return;
	CLEANUP(json_release) json_t *req = source_body(s, info->action);
	CLEANUP(json_release) json_t *held = source_body(s, info->act->held);
	CLEANUP(json_release) json_t *judged = source_body(s, info->act->judged);
	const char *said = said_text(s, req, info, a);
	uint32_t hidden = t->hidden, foreign = t->non_ascii;
	/* its counts are known only after it: the caller draws them beside it */
	approve_head(t, "COMMAND");
	size_t lines = exact_action(t, req, info->edited ? info->edited : info->command, a);
	foreign = t->non_ascii - foreign;
	*command_end = t->nr;
	if (info->edited)
		exact_lines(t, ROLE_DIM, info->command, strlen(info->command), "was");
	approve_circumstances(t, s, req, info->act);
	info->hidden = t->hidden - hidden;
	info->counts = byte_counts(info->edited ? NULL : req, info->hidden, foreign, lines, a);
	size_t basis = t->nr;
	full_rest(t, s, req, held, judged, info, said);
	if (rows == 0 || t->nr <= rows)
		return;
	/* the rule that won is seen before where it would run: that is one page on */
	bool tight = basis + 2 > rows;
	t->nr = tight ? *command_end : basis;
	info->folded = true;
	brief_rest(t, s, req, info, held, judged, tight ? "" : said, rows);
	if (tight)
		approve_circumstances(t, s, req, info->act);
}

void approval_output(struct text *t, struct source *s, const struct approval_info *info)
{
	approve_head(t, "OUTPUT OF THE DRY RUN");
	tried_output(t, s, info->act, 0);
}
