/* Texts for events of the session itself: its start and end, policies, scripts, users, latches. */
#include <inttypes.h>

#include "base/text/utf8.h"
#include "record/read/ended.h"
#include "ui/rows/row.h"
#include "ui/term/fmt.h"
#include "wire/event_body.h"

enum { WHY_MAX = 300 }; /* bytes of why a session ended */

const char *row_words_of(struct arena *a, struct ev_text t, const char *absent)
{
	return t.s && utf8_valid(t.s, t.n) ? arena_strndup(a, t.s, t.n) : absent;
}

const char *row_user_of(struct arena *a, const struct ev_who *who)
{
	return row_words_of(a, who->name, "unknown user");
}

static const char *row_control_start(const struct event *ev, struct arena *a)
{
	struct ev_session_start o;
	event_decode(&desc_ev_session_start, ev, a, &o);
	return arena_printf(a, "%s %s started", row_words_of(a, o.id, ""),
			    row_words_of(a, o.name, ""));
}

/* "failed: HTTP 401: invalid x-api-key" */
static const char *row_control_end(const struct event *ev, struct arena *a)
{
	struct ev_session_end end;
	event_decode(&desc_ev_session_end, ev, a, &end);
	struct ev_text why = ended_why(&end);
	if (end.decoded.reading != BODY_READ)
		return "ended"; /* redacted: the result is unknown */
	if (end.ok)
		return "succeeded";
	if (why.n > WHY_MAX)
		for (why.n = WHY_MAX; why.n > 0 && ((unsigned char)why.s[why.n] & 0xc0) == 0x80;
		     why.n--)
			; /* between two characters */
	return arena_printf(a, "%s%s%.*s", ended_word(&end), why.n ? ": " : "", (int)why.n, why.s);
}

static const char *row_control_resumed(const struct event *ev, struct arena *a)
{
	struct ev_session_resumed o;
	event_decode(&desc_ev_session_resumed, ev, a, &o);
	if (!row_words_of(a, o.torn, NULL))
		return "resumed by a new supervisor";
	return arena_printf(a, "resumed by a new supervisor; %s", row_words_of(a, o.torn, ""));
}

static const char *row_control_forked(const struct event *ev, struct arena *a)
{
	struct ev_session_forked o;
	event_decode(&desc_ev_session_forked, ev, a, &o);
	return arena_printf(a, "from %s; the events above are its history",
			    row_words_of(a, o.from, ""));
}

static const char *row_control_policy(const struct event *ev, struct arena *a)
{
	struct ev_policy_loaded o;
	event_decode(&desc_ev_policy_loaded, ev, a, &o);
	return arena_printf(a, "%s, %s", row_words_of(a, o.file, ""),
			    fmt_plural(a, o.rules, "rule", "rules"));
}

static const char *row_control_waiver(const struct event *ev, struct arena *a)
{
	struct ev_policy_waiver o;
	event_decode(&desc_ev_policy_waiver, ev, a, &o);
	return arena_printf(a, "%s approved for the session by %s", row_words_of(a, o.pattern, ""),
			    row_user_of(a, &o.who));
}

static const char *row_control_waiver_end(const struct event *ev, struct arena *a)
{
	struct ev_policy_waiver_end o;
	event_decode(&desc_ev_policy_waiver_end, ev, a, &o);
	return arena_printf(a, "session approval of %s ended by %s", row_words_of(a, o.pattern, ""),
			    row_user_of(a, &o.who));
}

static const char *row_control_rule(const struct event *ev, struct arena *a)
{
	struct ev_policy_added o;
	event_decode(&desc_ev_policy_added, ev, a, &o);
	return arena_printf(a, "%s adds to %s: %s", row_user_of(a, &o.who),
			    row_words_of(a, o.file, ""), row_words_of(a, o.text, ""));
}

static const char *row_control_script(const struct event *ev, struct arena *a)
{
	struct ev_host_start o;
	event_decode(&desc_ev_host_start, ev, a, &o);
	return arena_printf(a, "%s started", row_words_of(a, o.script, ""));
}

static const char *row_control_script_end(const struct event *ev, struct arena *a)
{
	struct ev_host_end o;
	event_decode(&desc_ev_host_end, ev, a, &o);
	return arena_printf(a, "%s%s",
			    o.code == 0 ? "succeeded" : "failed: ", row_words_of(a, o.why, ""));
}

static const char *row_control_saved(const struct event *ev, struct arena *a)
{
	struct ev_host_changed o;
	event_decode(&desc_ev_host_changed, ev, a, &o);
	return arena_printf(a, "first new action after %lld ms", (long long)o.us / 1000);
}

static const char *row_control_attached(const struct event *ev, struct arena *a)
{
	struct ev_control_attach o;
	event_decode(&desc_ev_control_attach, ev, a, &o);
	return arena_printf(a, "%s attached", row_user_of(a, &o.who));
}

static const char *row_control_detached(const struct event *ev, struct arena *a)
{
	struct ev_control_detach o;
	event_decode(&desc_ev_control_detach, ev, a, &o);
	return arena_printf(a, "%s detached", row_user_of(a, &o.who));
}

static const char *row_control_shared(const struct event *ev, struct arena *a)
{
	struct ev_control_share o;
	event_decode(&desc_ev_control_share, ev, a, &o);
	return arena_printf(a, "with group %s, to %s", row_words_of(a, o.group, ""),
			    row_words_of(a, o.role, ""));
}

static const char *row_control_on_host(const struct event *ev, struct arena *a)
{
	struct ev_control_host o;
	event_decode(&desc_ev_control_host, ev, a, &o);
	return arena_printf(a, "%s %s on the host: %s%s", row_user_of(a, &o.who),
			    o.of ? "ran" : "runs", row_words_of(a, o.cmd, ""),
			    o.of ? arena_printf(a, ", exit %" PRId64, o.status) : "");
}

static const char *row_control_refused(const struct event *ev, struct arena *a)
{
	struct ev_control_refused o;
	event_decode(&desc_ev_control_refused, ev, a, &o);
	return row_words_of(a, o.text, "");
}

static const char *row_control_pause(const struct event *ev, struct arena *a)
{
	struct ev_latch_pause o;
	event_decode(&desc_ev_latch_pause, ev, a, &o);
	return arena_printf(a, "%s by %s%s", o.freeze ? "frozen" : "paused", row_user_of(a, &o.who),
			    o.agent ? "" : ", all agents");
}

static const char *row_control_continue(const struct event *ev, struct arena *a)
{
	struct ev_latch_continue o;
	event_decode(&desc_ev_latch_continue, ev, a, &o);
	return arena_printf(a, "by %s%s", row_user_of(a, &o.who),
			    o.freeze  ? ", sandboxes unfrozen"
			    : o.agent ? ""
				      : ", all agents");
}

static const char *row_control_step(const struct event *ev, struct arena *a)
{
	struct ev_latch_step o;
	event_decode(&desc_ev_latch_step, ev, a, &o);
	return arena_printf(a, "one action, by %s", row_user_of(a, &o.who));
}

static const char *row_control_break(const struct event *ev, struct arena *a)
{
	struct ev_latch_hold o;
	event_decode(&desc_ev_latch_hold, ev, a, &o);
	const char *filter = row_words_of(a, o.filter, "");
	return *filter ? filter : "breakpoint removed";
}

const char *row_control(const struct event *ev, const char **word, struct arena *a)
{
	static const struct {
		enum event_kind kind;
		const char *word; /* NULL: stays */
		const char *(*text)(const struct event *ev, struct arena *a);
	} table[] = {
		{ EV_SESSION_START, NULL, row_control_start },
		{ EV_SESSION_END, NULL, row_control_end },
		{ EV_SESSION_RESUMED, NULL, row_control_resumed },
		{ EV_SESSION_FORKED, "forked", row_control_forked },
		{ EV_POLICY_LOADED, "policy", row_control_policy },
		{ EV_POLICY_WAIVER, "approval", row_control_waiver },
		{ EV_POLICY_WAIVER_END, "approval", row_control_waiver_end },
		{ EV_POLICY_ADDED, "rule", row_control_rule },
		{ EV_HOST_START, "script", row_control_script },
		{ EV_HOST_END, "script", row_control_script_end },
		{ EV_HOST_CHANGED, "saved", row_control_saved },
		{ EV_CONTROL_ATTACH, "user", row_control_attached },
		{ EV_CONTROL_DETACH, "user", row_control_detached },
		{ EV_CONTROL_SHARE, "shared", row_control_shared },
		{ EV_CONTROL_HOST, "host", row_control_on_host },
		{ EV_CONTROL_REFUSED, "refused", row_control_refused },
		{ EV_LATCH_PAUSE, "pause", row_control_pause },
		{ EV_LATCH_CONTINUE, "continue", row_control_continue },
		{ EV_LATCH_STEP, "step", row_control_step },
		{ EV_LATCH_HOLD, "break", row_control_break },
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].kind == ev->kind) {
			*word = table[i].word ? table[i].word : *word;
			return table[i].text(ev, a);
		}
	return NULL;
}
