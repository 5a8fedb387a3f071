#include "ui/views/approve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/views/merge_card.h"
#include "ui/rows/row.h"
#include "ui/model/wall.h"
#include "ui/rows/tried.h"

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

/* --- the bytes -------------------------------------------------------------------------------- */

static const char *byte_counts(const json_t *req, uint32_t hidden, uint32_t foreign, size_t lines,
			       struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t words = json_array_size(json_object_get(req, "argv"));
	if (hidden > 0)
		buf_printf(&b, "%s, ",
			   fmt_plural(a, hidden, "HIDDEN CHARACTER", "HIDDEN CHARACTERS"));
	buf_puts(&b, "exact bytes");
	if (!req)
		buf_puts(&b, ", edited by you");
	else if (json_object_get(req, "cmd"))
		buf_puts(&b, ", a shell command");
	else if (words > 0)
		buf_printf(&b, ", %s", fmt_plural(a, (int64_t)words, "argument", "arguments"));
	if (lines > 1)
		buf_printf(&b, ", %zu lines", lines);
	if (foreign > 0)
		buf_printf(&b, ", %s outside ASCII",
			   fmt_plural(a, foreign, "character", "characters"));
	else
		buf_puts(&b, ", ASCII only");
	if (hidden == 0)
		buf_puts(&b, ", no hidden characters");
	return arena_strdup(a, buf_cstr(&b));
}

/* Lines of the command, numbered in the gutter when there is more than one, so that a line break is
 * never mistaken. */
static size_t exact_lines(struct text *t, enum role r, const char *bytes, size_t len,
			  const char *first)
{
	size_t lines = 0;
	bool many = memchr(bytes, '\n', len) != NULL;
	do {
		const char *nl = len ? memchr(bytes, '\n', len) : NULL;
		size_t n = nl ? (size_t)(nl - bytes) : len;
		const char *gutter = many ? arena_printf(t->arena, "%zu", lines + 1) : first;
		text_add(t, r, gutter, bytes, n, SANITIZE_EXACT);
		lines++;
		len -= nl ? n + 1 : n;
		bytes += nl ? n + 1 : n;
	} while (len > 0);
	return lines;
}

static size_t exact_field(struct text *t, const json_t *o, const char *key, const char *gutter)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, key), &b))
		return 0;
	return exact_lines(t, ROLE_CMD, buf_cstr(&b), b.len, gutter);
}

static bool approve_is_merge(const json_t *req)
{
	return strcmp(json_str(req, "kind", ""), "merge") == 0;
}

static size_t exact_action(struct text *t, const json_t *req, const char *command, struct arena *a)
{
	const char *kind = json_str(req, "kind", "");
	if (command)
		return exact_lines(t, ROLE_CMD, command, strlen(command), "$");
	if (json_object_get(req, "path")) {
		/* 'put' copies from the host into the sandbox, everything else out of it */
		bool in = strcmp(kind, "put") == 0;
		size_t lines = exact_field(t, req, in ? "host_path" : "path", "");
		if (json_object_get(req, "host_path"))
			exact_field(t, req, in ? "path" : "host_path", "->");
		return lines;
	}
	const char *what = action_what(req, a);
	text_add(t, ROLE_DIM, NULL, kind, strlen(kind), 0);
	size_t lines = exact_lines(t, ROLE_CMD, what, strlen(what), NULL);
	if (approve_is_merge(req))
		merge_card_args(t, req);
	return lines;
}

/* The content of a web request besides its address: names of headers, harmless values, the body. */
static void approve_carried(struct text *t, const json_t *req)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	const char *key;
	json_t *v;
	json_object_foreach(json_object_get(json_object_get(req, "args"), "headers"), key, v)
	{
		const char *secret = json_str(v, "$secret", NULL);
		const char *line =
			arena_printf(t->arena, "%s: %s%s%s", key, secret ? "<secret:" : "",
				     secret		 ? secret
				     : json_is_string(v) ? json_string_value(v)
							 : "",
				     secret ? ">" : "");
		text_add(t, ROLE_TEXT, "", line, strlen(line), SANITIZE_EXACT | TEXT_SOFT);
	}
	if (!json_get_bytes(json_object_get(req, "data"), &body) || !body.len)
		return;
	text_putf(t, ROLE_DIM,
		  "with %s bytes:", fmt_count(t->arena, json_int(req, "data_bytes", 0)));
	exact_lines(t, ROLE_CMD, arena_strndup(t->arena, body.data, body.len), body.len, "");
}

static void approve_head(struct text *t, const char *title)
{
	text_head(t, ROLE_TITLE, "%s", title);
}

/* @input goes to a row of its own where the space before it would begin the next row. */
static void approve_with_input(struct text *t, struct buf *line, const char *input)
{
	int room = t->width - t->gutter, cells = text_cells(buf_cstr(line), t->ascii);
	bool apart = cells <= room && cells + 6 + (int)strlen(input) > room;
	if (!apart)
		buf_printf(line, "      %s", input);
	text_add(t, ROLE_DIM, "", line->data, line->len, SANITIZE_EXACT | TEXT_SOFT);
	if (apart)
		text_add(t, ROLE_DIM, "", input, strlen(input), SANITIZE_EXACT);
}

static void approve_circumstances(struct text *t, struct source *s, const json_t *req,
				  const struct model_action *act)
{
	CLEANUP(buf_release) struct buf cwd = BUF_INIT, line = BUF_INIT;
	const struct model_box *b = model_box(&s->model, act->box);
	int64_t in = json_int(req, "stdin_bytes", 0), limit = json_int(req, "timeout_us", 0);
	const json_t *env = json_object_get(req, "env");
	struct arena *a = t->arena;
	if (!strcmp(json_str(req, "kind", ""), "fetch")) {
		approve_carried(t, req);
		return;
	}
	if (approve_is_merge(req)) { /* runs no command: no directory, limit, or input */
		if (json_array_size(json_object_get(req, "boxes")))
			return; /* the card names them */
		if (b)
			text_putf(t, ROLE_DIM, "from sandbox %s:%s %s", b->driver, b->name,
				  *b->profile ? wall_words(b->profile) : "");
		return;
	}
	if (!json_get_bytes(json_object_get(req, "cwd"), &cwd) || cwd.len == 0)
		buf_puts(&cwd, "/workspace");
	buf_printf(&line, "cwd  %s", cwd.data);
	if (b)
		buf_printf(&line, "      sandbox %s:%s%s%s", b->driver, b->name,
			   *b->profile ? " " : "", wall_words(b->profile));
	if (limit > 0)
		buf_printf(&line, "      limit %s", fmt_span(a, limit));
	const char *input =
		arena_printf(a, "stdin %s",
			     in > 0 ? arena_printf(a, "%s bytes", fmt_count(a, in))
			     : json_flag(json_object_get(req, "args"), "stdin", false) ? "open"
										       : "closed");
	approve_with_input(t, &line, input);
	buf_reset(&line);
	for (size_t i = 0; i < json_array_size(env); i++) {
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (json_get_bytes(json_array_get(env, i), &name))
			buf_printf(&line, " +%s", buf_cstr(&name));
	}
	if (line.len > 0) {
		buf_printf(&cwd, " ");
		CLEANUP(buf_release) struct buf all = BUF_INIT;
		buf_printf(&all, "env %s", line.data);
		text_add(t, ROLE_DIM, "", all.data, all.len, SANITIZE_EXACT | TEXT_SOFT);
	}
}

/* --- why -------------------------------------------------------------------------------------- */

static const char *approve_place(const json_t *rule, struct arena *a)
{
	const char *file = json_str(rule, "file", "");
	return *file ? arena_printf(a, "%s:%" PRId64, file, json_int(rule, "line", 0)) : "";
}

static enum role verdict_role(const char *v)
{
	return strcmp(v, "deny") == 0 ? ROLE_ERROR : strcmp(v, "ask") == 0 ? ROLE_HELD : ROLE_OK;
}

static void one_rule(struct text *t, const json_t *rule, bool stricter_won)
{
	const char *verdict = json_str(rule, "verdict", "?"), *name = json_str(rule, "name", "");
	const char *why = json_str(rule, "why", ""), *text = json_str(rule, "text", ""),
		   *note = json_str(rule, "note", "");
	const char *said = *why ? why : text, *matched = *why ? text : "";
	text_putf(t, verdict_role(verdict), "%-5s %-14s %s  %s%s%s%s%s %s%s", verdict, name,
		  approve_place(rule, t->arena), *said ? "\"" : "", said, *said ? "\"" : "",
		  *matched ? "  matched " : "", matched, note,
		  json_flag(rule, "lifted", false) ? " (answered by an added rule)"
		  : stricter_won		   ? " (overruled)"
						   : "");
}

/* No rule matched: the default of the sandbox, with the file that sets it. */
static void default_reason(struct text *t, const json_t *judged, const char *verdict, bool leaves)
{
	const char *file = json_str(judged, "default_file", "");
	bool boxed = strcmp(json_str(judged, "default", ""), "boxed") == 0;
	if (boxed && !leaves)
		text_putf(t, ROLE_DIM,
			  "allow no rule matched; the action stays in the sandbox    (overruled)");
	else
		text_putf(t, ROLE_HELD, "%-5s no rule matched; %s%s%s", verdict,
			  boxed ? "leaving the sandbox requires approval"
				: "the default requires approval",
			  *file ? ", " : "", file);
}

static void approve_reasons(struct text *t, const json_t *held, const json_t *judged,
			    const struct approval_info *info)
{
	const json_t *rules = json_object_get(judged, "rules"),
		     *why = json_object_get(held, "reasons");
	const char *verdict = json_str(judged, "verdict", "ask"),
		   *filter = json_str(held, "filter", "");
	if (info->edited)
		text_puts(
			t, ROLE_HELD,
			"edited  y approves these bytes; policy checks them again first, and a denial holds");
	for (size_t i = 0; i < json_array_size(why); i++) {
		const char *w = json_string_value(json_array_get(why, i));
		if (w && strcmp(w, "ask") != 0)
			text_putf(
				t, ROLE_HELD, "%-5s %s%s%s", w,
				strcmp(w, "hold") == 0 ? "it matches the breakpoint"
				: strcmp(w, "budget") == 0
					? "a budget is used up: $ extends it, y approves this action only"
				: strcmp(w, "price") == 0
					? "no price is known for this model: a budget in dollars can't limit it"
					: "paused by a user",
				strcmp(w, "hold") == 0 && *filter ? ": " : "",
				strcmp(w, "hold") == 0 ? filter : "");
	}
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		one_rule(t, rule, strcmp(json_str(rule, "verdict", ""), verdict) != 0);
	}
	if (json_flag(judged, "by_default", false) || json_array_size(rules) == 0)
		default_reason(t, judged, verdict, *info->risk_why != 0);
	if (json_str(held, "type", NULL))
		text_putf(t, ROLE_HELD, "%-5s an approval needs the name typed: %s", "type",
			  json_str(held, "type", ""));
	if (json_flag(judged, "opaque", false))
		text_putf(t, ROLE_WARN, "the command can't be parsed: %s",
			  json_str(judged, "opaque_why", ""));
	if (info->note)
		text_putf(t, ROLE_NAME, "note  %s: %s", info->note_by, info->note);
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
