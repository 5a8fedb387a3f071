#include "ui/rows/row_priv.h"

#include <inttypes.h>
#include <string.h>

#include "query/action_end.h"
#include "query/aim.h"
#include "ui/term/fmt.h"

const char *row_bytes(const json_t *o, const char *key, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, key), &b))
		return NULL;
	return arena_strdup(a, buf_cstr(&b));
}

const char *first_line(const char *s, struct arena *a)
{
	while (*s == '\n' || *s == ' ')
		s++;
	return arena_strndup(a, s, strcspn(s, "\n"));
}

const char *one_line(const char *s, struct arena *a)
{
	const char *first = first_line(s, a), *p = strstr(s, first) + strlen(first);
	size_t more = 0;
	for (; *p; p++)
		more += *p == '\n' && p[1] && p[1] != '\n';
	return more ? arena_printf(a, "%s  (+%zu %s)", first, more, more == 1 ? "line" : "lines")
		    : first;
}

const char *row_argv(const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	const char *cmd = row_bytes(o, "cmd", a);
	if (cmd)
		return cmd;
	if (!json_get_argv(json_object_get(o, "argv"), &argv) || argv.nr == 0)
		return NULL;
	fmt_argv(&argv, &b);
	return arena_strdup(a, buf_cstr(&b));
}

const char *action_args(const json_t *o, struct arena *a)
{
	const json_t *args = json_object_get(o, "args");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_is_object(args) || json_object_size(args) == 0)
		return "";
	json_dump_buf(args, &b);
	return arena_strdup(a, buf_cstr(&b));
}

const char *action_what(const json_t *o, struct arena *a)
{
	const char *kind = json_str(o, "kind", ""), *tool = json_str(o, "tool", "");
	const char *text = row_argv(o, a);
	if (text)
		return text;
	if (strcmp(kind, "connect") == 0 || strcmp(kind, "port") == 0)
		return arena_printf(a, "%s:%" PRId64, json_str(o, "host", "sandbox"),
				    json_int(o, "port", 0));
	if (strcmp(kind, "fetch") == 0) {
		const json_t *args = json_object_get(o, "args");
		const char *query = json_str(args, "query", NULL);
		return query ? arena_printf(a, "search %s", query)
			     : arena_printf(a, "%s %s", json_str(args, "method", "GET"),
					    json_str(args, "url", "?"));
	}
	if (strcmp(kind, "model") == 0)
		return arena_strdup(a, json_str(json_object_get(o, "args"), "model", ""));
	if (strcmp(kind, "ask") == 0)
		return arena_strdup(a, json_str(json_object_get(o, "args"), "text", ""));
	CLEANUP(buf_release) struct buf aim = BUF_INIT;
	bool aimed = action_aim(o, &aim);
	/* the row names its sandbox already */
	if (strcmp(kind, "snapshot") == 0 || strcmp(kind, "rollback") == 0)
		return aimed ? arena_strdup(a, buf_cstr(&aim))
			     : arena_strdup(a, json_str(json_object_get(o, "args"), "label", ""));
	text = row_bytes(o, "path", a);
	if (text) {
		const char *host = row_bytes(o, "host_path", a);
		int64_t size = json_int(o, "data_bytes", -1);
		if (host)
			return arena_printf(a, "%s  %s", text, host);
		return size >= 0 && strcmp(kind, "write") == 0
			       ? arena_printf(a, "%s  %s bytes", text, fmt_count(a, size))
			       : text;
	}
	if (aimed)
		return arena_strdup(a, buf_cstr(&aim));
	text = action_args(o, a);
	return *text || *tool ? arena_printf(a, "%s%s%s", tool, *tool && *text ? " " : "", text)
			      : "";
}

/* --- verdict and result ----------------------------------------------------------------------- */

static void row_action_judged(struct row_info *out, const struct ev_action_judged *j,
			      struct arena *a)
{
	const struct ev_rule_match *rule = j->rules.nr ? &j->rules.item[0] : NULL;
	out->verdict = ev_text_dup(a, j->verdict);
	if (rule)
		out->by = ev_text_dup(a, rule->name);
	if (rule && ev_text_is(j->verdict, "deny"))
		out->why = ev_text_dup(a, rule->text.s ? rule->text : rule->why);
}

static const char *file_tail(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void row_action_held(struct row_info *out, const struct ev_action_held *h, struct arena *a)
{
	struct ev_text reason = h->reasons.nr ? h->reasons.item[0] : (struct ev_text){ 0 };
	const char *rule = ev_text_dup(a, h->rule);
	out->verdict = "HELD";
	out->sign = '!';
	out->role = ROLE_HELD;
	out->why = ev_text_dup(a, h->why);
	if (h->reasons.nr == 1 && ev_text_is(reason, "pause")) {
		out->verdict = "PAUSED";
		out->sign = '=';
		out->role = ROLE_PAUSED;
		out->by = "user";
		return;
	}
	if (h->file.n)
		out->by = arena_printf(a, "%s:%" PRId64 " '%s'", file_tail(ev_text_dup(a, h->file)),
				       h->line, rule);
	else if (*rule)
		out->by = rule;
	else
		out->by = ev_text_is(reason, "ask") ? "default" : ev_text_dup(a, reason);
}

const char *row_held_rule(const struct row_info *r)
{
	const char *quote = strcmp(r->verdict, "HELD") == 0 ? strstr(r->by, " '") : NULL;
	return quote && quote[2] && quote[strlen(quote) - 1] == '\'' ? quote + 1 : NULL;
}

void row_decided(struct row_info *out, const json_t *o, struct arena *a)
{
	const char *d = json_str(o, "decision", ""), *by = json_str(o, "by", "");
	bool no = strncmp(d, "deny", 4) == 0 || strcmp(d, "kill") == 0;
	out->verdict = no			   ? "denied"
		       : strcmp(d, "edit") == 0	   ? "edited"
		       : strcmp(d, "release") == 0 ? "released"
						   : "approved";
	if (strcmp(by, "human") == 0)
		out->by = arena_strdup(a, json_str(json_object_get(o, "who"), "name", "user"));
	/* the end of a pause or breakpoint has a row of its own */
	else if (strcmp(by, "latch") != 0)
		out->by = arena_strdup(a, by);
	const char *message = json_str(o, "message", ""), *note = json_str(o, "note", "");
	if (*message || *note)
		out->why = arena_printf(a, "%s%s%s", message,
					*message && *note ? "; note: "
					: *note		  ? "note: "
							  : "",
					note);
}

static void row_action_ended(struct row_info *out, const struct ev_action_ended *e, struct arena *a)
{
	bool ok = ev_text_is(e->end, "ok"), failed = action_outcome_of(e) != OUTCOME_OK;
	/* the program that asked does it, now or later */
	bool permitted = ok && e->permitted, began = !e->has_started || e->started;
	out->dur_us = began && !permitted && e->has_dur_us ? e->dur_us : -1;
	out->sign = failed ? 'x' : ' ';
	out->role = failed ? ROLE_ERROR : ROLE_OK;
	if (ok && failed && e->oom > 0)
		out->outcome = "out of memory";
	else if (ok && e->has_stopped)
		out->outcome = "stopped";
	else if (ok && e->signal)
		out->outcome = arena_printf(a, "signal %" PRId64, e->signal);
	else if (ok && e->has_code)
		out->outcome = arena_printf(a, "exit %" PRId64, e->code);
	else
		out->outcome = permitted ? "allowed" : ok ? "ok" : ev_text_dup(a, e->end);
	if ((!ok || e->has_oom) && !*out->why)
		out->why = ev_text_dup(a, e->why);
}

/* A model call is shown by its answer, or else by its request. */
static void row_action_replied(struct row_info *out, const json_t *o, struct arena *a)
{
	const json_t *usage = json_object_get(o, "usage"), *calls = json_object_get(o, "calls");
	const char *text = row_bytes(o, "text", a);
	out->tokens = json_int(usage, "in", 0) + json_int(usage, "out", 0);
	out->uusd = json_int(o, "cost_uusd", 0);
	out->cost_unknown = json_flag(o, "cost_unknown", false);
	out->what = text ? first_line(text, a) : "";
	if (!*out->what && json_array_size(calls) > 0)
		out->what = arena_printf(a, "calls %s",
					 json_str(json_array_get(calls, 0), "name", "a tool"));
}

void row_action(struct row_info *out, struct source *s, const struct model_action *act,
		struct arena *a)
{
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	struct ev_action_judged judged;
	struct ev_action_held held;
	struct ev_action_ended ended;
	CLEANUP(json_release) json_t *dec = source_body(s, act->decided);
	CLEANUP(json_release) json_t *sta = source_body(s, act->started);
	CLEANUP(json_release) json_t *rep = source_body(s, act->reply);
	out->word = arena_strdup(a, json_str(req, "kind", "action"));
	out->what = action_what(req, a);
	if (json_flag(sta, "edited", false)) {
		const char *ran = row_argv(sta, a);
		out->what = ran ? ran : out->what;
	}
	out->out_bytes = act->out_bytes + act->err_bytes;
	if (source_decode(s, act->judged, &desc_ev_action_judged, a, &judged) &&
	    judged.decoded.reading == BODY_READ)
		row_action_judged(out, &judged, a);
	if (act->state == ACT_WAITS &&
	    source_decode(s, act->held, &desc_ev_action_held, a, &held) &&
	    held.decoded.reading == BODY_READ)
		row_action_held(out, &held, a);
	if (dec)
		row_decided(out, dec, a);
	if (act->state == ACT_RUNS) {
		out->sign = '>';
		out->role = ROLE_RUN;
		out->outcome = "RUN";
	}
	if (rep)
		row_action_replied(out, rep, a);
	if (source_decode(s, act->ended, &desc_ev_action_ended, a, &ended) &&
	    ended.decoded.reading == BODY_READ)
		row_action_ended(out, &ended, a);
}
