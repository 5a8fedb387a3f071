#include "ui/rows/row_priv.h"

#include <inttypes.h>
#include <string.h>

#include "phrase/describe.h"
#include "query/aim.h"
#include "ui/model/wall.h"
#include "ui/term/fmt.h"
#include "ui/rows/tried.h"

enum { TOOL_TEXT_MAX = 300 }; /* bytes of a tool's result */

static const char *views_row_text_of(const json_t *o, struct arena *a)
{
	const char *text = row_bytes(o, "text", a);
	return text ? text : "";
}

static const char *snapshot_text(const json_t *o, struct arena *a)
{
	int64_t n = json_int(o, "changed", 0);
	const json_t *changes = json_object_get(o, "changes");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (n == 0)
		return arena_printf(a, "s%" PRId64 "  nothing changed", json_int(o, "n", 0));
	buf_printf(&b, "s%" PRId64 " ", json_int(o, "n", 0));
	for (size_t i = 0; i < json_array_size(changes) && i < 3; i++) {
		const json_t *c = json_array_get(changes, i);
		const char *path = row_bytes(c, "path", a);
		buf_printf(&b, " %s %s", json_str(c, "op", "?"), path ? path : "?");
	}
	if (n > 3)
		buf_printf(&b, "  and %" PRId64 " more", n - 3);
	return arena_strdup(a, buf_cstr(&b));
}

static const char *decision_text(const json_t *o, struct arena *a)
{
	struct row_info tmp = { .by = "", .why = "" };
	row_decided(&tmp, o, a);
	const char *waiver = json_str(o, "waiver", ""), *rule = json_str(o, "rule", "");
	int64_t with = json_int(o, "with", 0);
	return arena_printf(a, "%s%s%s%s%s%s%s%s%s", tmp.verdict, *tmp.by ? " by " : "", tmp.by,
			    with ? arena_printf(a, " together with #%" PRId64, with) : "",
			    *waiver ? " for the session: "
			    : *rule ? " with the new rule "
				    : "",
			    waiver, rule, *tmp.why ? ": " : "", tmp.why);
}

/* The body as it is: what no view knows is still shown. */
static const char *raw_text(const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!o)
		return "(redacted)";
	json_dump_buf(o, &b);
	return arena_strdup(a, buf_cstr(&b));
}

static const char *views_row_who_name(const json_t *o)
{
	return json_str(json_object_get(o, "who"), "name", "unknown user");
}

static const char *limits_text(const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int64_t steps = json_int(o, "steps", 0), actions = json_int(o, "actions", 0),
		tokens = json_int(o, "tokens", 0);
	if (json_int(o, "uusd", 0))
		buf_printf(&b, ", %s", fmt_money(a, json_int(o, "uusd", 0)));
	if (tokens)
		buf_printf(&b, ", %s %s", fmt_count(a, tokens), tokens == 1 ? "token" : "tokens");
	if (json_int(o, "time_us", 0))
		buf_printf(&b, ", %s", fmt_age(a, json_int(o, "time_us", 0)));
	if (steps)
		buf_printf(&b, ", %s", fmt_plural(a, steps, "step", "steps"));
	if (actions)
		buf_printf(&b, ", %s", fmt_plural(a, actions, "action", "actions"));
	return b.len ? arena_strdup(a, b.data + 2) : "no limit";
}

/* A program start that the kernel reported, below the action that caused it. */
static const char *views_row_executed(const json_t *o, struct arena *a)
{
	const char *words = row_argv(o, a), *path = row_bytes(o, "path", a);
	if (!words)
		return path ? arena_printf(a, "  %s", path) : "  (unreadable path)";
	return arena_printf(a, "  %s", one_line(words, a));
}

/* The name of a limit, as users type it. */
static const char *budget_word(const char *what)
{
	return !strcmp(what, "uusd") ? "usd" : !strcmp(what, "time_us") ? "time" : what;
}

/* A change of the files: a rollback, the undo of one action, or an applied second run. */
static const char *went_back(const json_t *o, struct arena *a)
{
	const char *how = json_str(o, "how", ""), *why = json_str(o, "why", "");
	int64_t of = json_int(o, "of", 0), takes = json_int(o, "takes", 0);
	const char *what = strcmp(how, "promote") == 0
				   ? arena_printf(a, "applied the result of dry run #%" PRId64,
						  json_int(o, "to", 0))
			   : strcmp(how, "redo") == 0
				   ? arena_printf(a, "applied the changes of #%" PRId64, of)
			   : of	   ? arena_printf(a, "undid the changes of #%" PRId64, of)
			   : takes ? arena_printf(a, "undid #%" PRId64, takes)
				   : arena_printf(a, "to #%" PRId64, json_int(o, "to", 0));
	return arena_printf(a, "%s%s%s", what, *why ? ": failed: " : "", why);
}

static const char *drift_text(const json_t *o, struct arena *a)
{
	const json_t *list = json_object_get(o, "changes"), *first = json_array_get(list, 0);
	int64_t nr = (int64_t)json_array_size(list) + json_int(o, "more", 0);
	const char *path = first ? row_bytes(first, "path", a) : NULL;
	bool touched = false;
	for (size_t i = 0; i < json_array_size(list); i++)
		touched = touched || json_flag(json_array_get(list, i), "touched", false);
	return arena_printf(a, "your repository changed: %s%s%s%s",
			    path ? one_line(path, a) : fmt_plural(a, nr, "file", "files"),
			    path && nr > 1 ? arena_printf(a, " and %" PRId64 " more", nr - 1) : "",
			    touched ? "; the sandbox changed it, too" : "",
			    touched ? ": a merge will be three-way" : "");
}

/* By its name, as scripts and commands call it. */
static const char *views_row_box_name(const struct model *m, uint64_t id, struct arena *a)
{
	const struct model_box *b = model_box(m, id);
	return b && b->name ? b->name : arena_printf(a, "#%" PRIu64, id);
}

/* ", cost $0.12" of a hosted sandbox. */
static const char *rent_text(const json_t *cost, struct arena *a)
{
	if (json_int(cost, "open_us", 0) <= 0)
		return "";
	return arena_printf(a, ", cost %s",
			    fmt_cost(a, json_int(cost, "uusd", 0), !json_object_get(cost, "uusd")));
}

/* A script's own tool: its arguments, or its result. */
static const char *views_row_tool(uint16_t kind, const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (kind == EV_TOOL_CALL)
		tool_call_words(o, &line);
	else
		tool_end_words(o, TOOL_TEXT_MAX, &line);
	return arena_strdup(a, buf_cstr(&line));
}

/* Budgets, bases, merges, answers of users. NULL: not one of them. */
static const char *work_text(const struct model *m, uint16_t kind, const json_t *o,
			     const char **word, struct arena *a)
{
	switch (kind) {
	case EV_BUDGET_NEW:
	case EV_BUDGET_EXTENDED:
		*word = "budget";
		return limits_text(json_object_get(o, "limits"), a);
	case EV_BUDGET_WARN:
	case EV_BUDGET_EMPTY:
		*word = "budget";
		return arena_printf(a, "%s: %s", budget_word(json_str(o, "what", "")),
				    kind == EV_BUDGET_EMPTY ? "used up" : "80 % used");
	case EV_BASE_LISTED:
		*word = "base";
		return arena_printf(a, "%s: %s files", json_str(o, "dir", ""),
				    fmt_count(a, json_int(o, "files", 0)));
	case EV_BASE_HASHED:
		*word = "base";
		return "contents hashed";
	case EV_BASE_DRIFT:
		*word = "drift";
		return drift_text(o, a);
	case EV_MODEL_AGAIN:
		*word = "retry";
		return arena_printf(a, "%s; retry in %s", json_str(o, "why", ""),
				    fmt_span(a, json_int(o, "wait_us", 0)));
	case EV_PROXY_OPEN:
		*word = "proxy";
		return arena_printf(
			a, "%s, %zu routes", json_str(json_object_get(o, "proxy"), "name", ""),
			json_array_size(json_object_get(json_object_get(o, "proxy"), "routes")));
	case EV_PROXY_REFUSED:
		*word = "refused";
		return arena_printf(a, "%s %s: %s", json_str(o, "method", ""),
				    json_str(o, "path", ""), json_str(o, "why", ""));
	case EV_PROXY_GATED:
		*word = "gated";
		return arena_printf(a, "withheld the tool calls of this answer; the %s",
				    strcmp(json_str(o, "then", ""), "end") ? "model is called again"
									   : "turn ends");
	case EV_SECRET_WANTED:
		*word = "secret";
		return arena_printf(a, "%s requested", json_str(o, "name", ""));
	case EV_HONEYTOKEN_PLANTED:
		*word = "honey";
		return arena_printf(
			a, "planted: %s",
			fmt_plural(a, (int64_t)json_array_size(json_object_get(o, "tokens")),
				   "fake credential", "fake credentials"));
	case EV_SECRET_USED:
		*word = "secret";
		return arena_printf(a, "%s used: %s", json_str(o, "name", ""),
				    json_str(o, "what", ""));
	case EV_ASK_ANSWERED:
		*word = "answer";
		return arena_printf(a, "%s%s by %s", json_str(o, "choice", ""),
				    strcmp(json_str(o, "choice", ""), json_str(o, "text", ""))
					    ? json_str(o, "text", "")
					    : "",
				    views_row_who_name(o));
	case EV_ROLLBACK_DONE:
		*word = "rollback";
		return went_back(o, a);
	case EV_MERGE_DONE:
		*word = "merge";
		return arena_printf(a, "succeeded, mode %s", json_str(o, "mode", ""));
	case EV_FORK_DONE:
		*word = "fork";
		return arena_printf(a, "sandbox %s copies %s",
				    views_row_box_name(m, (uint64_t)json_int(o, "to", 0), a),
				    views_row_box_name(m, (uint64_t)json_int(o, "from", 0), a));
	case EV_REDO_STARTED:
		*word = "repeat";
		return arena_printf(a, "#%" PRId64 " runs again in a new sandbox",
				    json_int(json_object_get(o, "origin"), "action", 0));
	case EV_REDO_ENDED:
		*word = "repeat";
		return arena_printf(a, "of #%" PRId64 " as #%" PRId64 ": %s%s",
				    json_int(json_object_get(o, "origin"), "action", 0),
				    json_int(o, "action", 0),
				    *json_str(o, "why", "")	  ? "not compared: "
				    : json_flag(o, "same", false) ? "same result"
								  : "DIFFERS",
				    json_str(o, "why", ""));
	case EV_PREVIEW_ENDED:
		*word = "dry run";
		return arena_printf(
			a, "of #%" PRId64 ": %s%s", json_int(o, "of", 0), tried_sum(o, a),
			json_array_size(json_object_get(o, "incomplete")) ? ", incomplete" : "");
	case EV_PROC_EXEC:
		*word = "ran";
		return views_row_executed(o, a);
	case EV_PROC_CONNECT:
		*word = "net";
		return json_object_get(o, "address")
			       ? arena_printf(a, "  connects to %s port %" PRId64,
					      json_str(o, "address", ""), json_int(o, "port", 0))
			       : arena_printf(a, "  connects to %s",
					      json_object_get(o, "path") ? row_bytes(o, "path", a)
									 : "?");
	case EV_PROC_GAP:
		*word = "ran";
		return arena_printf(
			a, "  %s and %s more, not recorded",
			fmt_plural(a, json_int(o, "execs", 0), "program", "programs"),
			fmt_plural(a, json_int(o, "connects", 0), "connection", "connections"));
	case EV_TOOL_CALL:
	case EV_TOOL_END:
		*word = "tool";
		return views_row_tool(kind, o, a);
	default:
		return NULL;
	}
}

static const char *text_or_raw(const json_t *o, struct arena *a)
{
	const char *text = row_bytes(o, "text", a);
	return text ? text : raw_text(o, a);
}

/* What src/phrase says of the event; else its text, or its body as it is. */
static const char *phrase_or_raw(const struct event *ev, const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return ev->body && describe_typed(ev, &b) ? arena_strdup(a, buf_cstr(&b))
						  : text_or_raw(o, a);
}

static void load_other(struct row_info *out, const struct model *m, const struct event *ev,
		       const struct row *r, const json_t *o, struct arena *a)
{
	const char *name = event_kind_name(r->kind), *text;
	out->word = name ? name : arena_printf(a, "kind-%u", r->kind);
	switch (r->kind) {
	case EV_AGENT_TURN:
		out->turn = true;
		out->word = "turn";
		out->what = json_int(o, "n", 0) > 0
				    ? arena_printf(a, "turn %" PRId64, json_int(o, "n", 0))
				    : "turn (redacted)";
		break;
	case EV_AGENT_INSTRUCTIONS:
		out->word = "project";
		out->what = arena_printf(
			a, "%s of instructions%s",
			fmt_plural(a, (int64_t)json_array_size(json_object_get(o, "files")), "file",
				   "files"),
			json_array_size(json_object_get(o, "left_out")) ? ", more left out" : "");
		break;
	case EV_AGENT_SKILL:
		out->word = "project";
		out->what = arena_printf(a, "skill %s loaded", json_str(o, "name", ""));
		break;
	case EV_AGENT_START:
		out->word = "agent";
		out->what = arena_printf(a, "started: %s", json_str(o, "task", ""));
		break;
	case EV_AGENT_END:
		out->word = "end";
		out->outcome = arena_strdup(a, json_str(o, "stop", ""));
		out->what = views_row_text_of(o, a);
		out->sign = json_flag(o, "ok", false) ? '.' : 'x';
		out->role = out->sign == 'x' ? ROLE_FAILED : ROLE_OK;
		break;
	case EV_AGENT_TOLD:
		out->word = arena_strdup(a, json_str(o, "what", "report"));
		out->what = arena_strdup(a, json_str(o, "say", ""));
		break;
	case EV_AGENT_SAY:
		out->word = "say";
		out->what = arena_printf(a, "you: %s", json_str(o, "text", ""));
		break;
	case EV_NOTE:
		out->word = "note";
		out->what = text_or_raw(o, a);
		if (strcmp(json_str(o, "level", ""), "warn") == 0)
			out->sign = '!', out->role = ROLE_WARN;
		break;
	case EV_SNAPSHOT_TAKEN:
		out->word = "snap";
		out->what = snapshot_text(o, a);
		break;
	case EV_ACTION_LATER:
		out->word = "defer";
		out->what = arena_printf(a, "deferred by %s%s%s", views_row_who_name(o),
					 *json_str(o, "note", "")      ? ", note: "
					 : *json_str(o, "message", "") ? ": "
								       : "",
					 json_str(o, "note", json_str(o, "message", "")));
		break;
	case EV_ACTION_DECIDED:
		out->word = "decide";
		out->what = decision_text(o, a);
		break;
	case EV_BOX_OPEN:
		out->word = "sandbox";
		out->what = arena_printf(a, "opening %s, backend %s", json_str(o, "name", ""),
					 json_str(o, "driver", ""));
		break;
	case EV_BOX_READY:
		out->word = "sandbox";
		out->what =
			arena_printf(a, "%s ready, isolation %s", views_row_box_name(m, ev->box, a),
				     wall_words(json_str(o, "profile", "")));
		break;
	case EV_BOX_CLOSED:
		out->word = "sandbox";
		out->what =
			arena_printf(a, "%s closed%s%s%s", views_row_box_name(m, ev->box, a),
				     rent_text(json_object_get(o, "cost"), a),
				     *json_str(o, "why", "") ? ": " : "", json_str(o, "why", ""));
		break;
	case EV_BOX_FROZEN:
		out->word = "sandbox";
		out->what =
			arena_printf(a, "%s %s%s%s", views_row_box_name(m, ev->box, a),
				     json_flag(o, "frozen", false) ? "frozen" : "unfrozen",
				     *json_str(o, "why", "") ? ": " : "", json_str(o, "why", ""));
		break;
	case EV_BOX_SAID:
		out->word = "sandbox";
		out->what = text_or_raw(o, a);
		break;
	case EV_BOX_CALL:
		out->word = "sandbox";
		out->what =
			arena_printf(a, "%s: %s %s%s %lld%s%s", json_str(o, "provider", "?"),
				     json_str(o, "method", ""), json_str(o, "host", ""),
				     json_str(o, "path", ""), (long long)json_int(o, "status", 0),
				     json_str(o, "why", NULL) ? ": " : "", json_str(o, "why", ""));
		break;
	case EV_ASK:
		out->word = "ask";
		out->what = views_row_text_of(o, a);
		break;
	case EV_HONEYTOKEN_SEEN:
	case EV_SECRET_SEEN:
		out->word = "leak";
		out->sign = '!';
		out->role = ROLE_FAILED;
		out->what = text_or_raw(o, a);
		break;
	case EV_SUPER_WARN:
	case EV_BOX_NOTICE:
	case EV_BOX_WARN:
		out->word = json_flag(o, "over", false) ? "note" : "warn";
		out->sign = json_flag(o, "over", false) ? '.' : '!';
		out->role = json_flag(o, "over", false) ? ROLE_OK : ROLE_WARN;
		out->what = text_or_raw(o, a);
		break;
	default:
		if (r->kind <= EV_SESSION_END)
			out->word = "session";
		text = row_control(ev, &out->word, a);
		text = text ? text : work_text(m, r->kind, o, &out->word, a);
		text = text || !o ? text : row_session(ev, o, &out->word, a);
		out->what = text ? text : phrase_or_raw(ev, o, a);
		break;
	}
}

void row_load(struct row_info *out, struct source *s, const struct row *r, struct arena *a)
{
	struct err err = ERR_INIT;
	struct event ev;
	*out = (struct row_info){ .seq = r->seq,
				  .sign = ' ',
				  .role = ROLE_TEXT,
				  .word = "",
				  .what = "",
				  .verdict = "",
				  .by = "",
				  .outcome = "",
				  .why = "",
				  .dur_us = -1 };
	if (session_event(s->session, r->seq, &ev, a, &err) < 0)
		return;
	out->ts_us = ev.ts_us;
	out->agent = ev.agent;
	out->box = ev.box;
	const struct model_action *act =
		r->kind == EV_ACTION_REQUESTED ? model_action(&s->model, r->seq) : NULL;
	if (act) {
		row_action(out, s, act, a);
		return;
	}
	CLEANUP(json_release)
	json_t *o = ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
	load_other(out, &s->model, &ev, r, o, a);
}
