#include "phrase/describe_session.h"

#include "phrase/phrase.h"
#include "record/read/ended.h"

static void describe_session_start(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_session_start s;
	event_decode(&desc_ev_session_start, ev, a, &s);
	buf_puts(out, "session");
	phrase_text(out, " ", s.name);
	buf_puts(out, " started");
	phrase_text(out, ": ", s.script);
}

static void describe_session_end(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_session_end s;
	event_decode(&desc_ev_session_end, ev, a, &s);
	buf_printf(out, "session ended: %s",
		   s.ok ? "successful" : ended_status_word(s.ok, s.status));
	phrase_text(out, ": ", s.why);
}

static void describe_agent_start(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_start g;
	event_decode(&desc_ev_agent_start, ev, a, &g);
	phrase_text(out, "agent ", g.name);
	phrase_text(out, " with ", g.model);
	phrase_text(out, ": ", g.task);
}

static void describe_agent_instructions(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_instructions i;
	event_decode(&desc_ev_agent_instructions, ev, a, &i);
	buf_printf(out, "project instructions: %zu files given, %zu left out", i.files.nr,
		   i.left_out.nr);
}

static void describe_agent_skill(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_skill s;
	event_decode(&desc_ev_agent_skill, ev, a, &s);
	phrase_text(out, "skill ", s.name);
	phrase_text(out, ": ", s.path);
}

static void describe_agent_turn(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_turn t;
	event_decode(&desc_ev_agent_turn, ev, a, &t);
	phrase_number(out, "turn ", t.n != 0, t.n);
}

static void describe_agent_state(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_state s;
	event_decode(&desc_ev_agent_state, ev, a, &s);
	phrase_text(out, "state: ", s.state);
}

static void describe_agent_end(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_end e;
	event_decode(&desc_ev_agent_end, ev, a, &e);
	phrase_text(out, "agent ended: ", e.stop);
	phrase_text(out, ", ", e.why);
	phrase_text(out, ": ", e.text);
}

static void describe_agent_told(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_told t;
	event_decode(&desc_ev_agent_told, ev, a, &t);
	phrase_text(out, "reports: ", t.what);
	phrase_text(out, ", ", t.say);
}

static void describe_agent_say(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_agent_say s;
	event_decode(&desc_ev_agent_say, ev, a, &s);
	buf_puts(out, "message");
	phrase_who(out, &s.who, (struct ev_text){ 0 });
	phrase_text(out, ": ", s.text);
}

static void describe_note(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_note n;
	event_decode(&desc_ev_note, ev, a, &n);
	phrase_text(out, "", n.level);
	phrase_text(out, ": ", n.text);
}

static void describe_ask(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_ask k;
	event_decode(&desc_ev_ask, ev, a, &k);
	phrase_text(out, "asks: ", k.text);
	phrase_list(out, " - ", k.choices.item, k.choices.nr);
}

static void describe_check_done(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_check_done c;
	event_decode(&desc_ev_check_done, ev, a, &c);
	phrase_text(out, "check ", c.file);
	buf_printf(out, ": %zu results, %lld failed", c.results.nr, (long long)c.failed);
}

static void describe_control_command(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_control_command c;
	event_decode(&desc_ev_control_command, ev, a, &c);
	phrase_list(out, "command ", c.words.item, c.words.nr);
	phrase_who(out, &c.who, (struct ev_text){ 0 });
}

static void describe_control_host(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_control_host h;
	event_decode(&desc_ev_control_host, ev, a, &h);
	buf_puts(out, h.of ? "command on the host ended" : "command on the host");
	phrase_who(out, &h.who, (struct ev_text){ 0 });
	phrase_text(out, ": ", h.cmd);
	phrase_number(out, ", exit ", h.of != 0, h.status);
}

static void describe_control_share(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_control_share s;
	event_decode(&desc_ev_control_share, ev, a, &s);
	phrase_text(out, "shared with group ", s.group);
	phrase_text(out, ", to ", s.role);
}

static void describe_policy_added(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_policy_added p;
	event_decode(&desc_ev_policy_added, ev, a, &p);
	buf_puts(out, "rule added");
	phrase_who(out, &p.who, (struct ev_text){ 0 });
	phrase_text(out, ": ", p.text);
	phrase_text(out, " in ", p.file);
}

bool describe_session(const struct event *ev, struct buf *out)
{
	static const struct phrase table[] = {
		{ EV_SESSION_START, describe_session_start },
		{ EV_SESSION_END, describe_session_end },
		{ EV_AGENT_START, describe_agent_start },
		{ EV_AGENT_INSTRUCTIONS, describe_agent_instructions },
		{ EV_AGENT_SKILL, describe_agent_skill },
		{ EV_AGENT_TURN, describe_agent_turn },
		{ EV_AGENT_STATE, describe_agent_state },
		{ EV_AGENT_END, describe_agent_end },
		{ EV_AGENT_TOLD, describe_agent_told },
		{ EV_AGENT_SAY, describe_agent_say },
		{ EV_NOTE, describe_note },
		{ EV_ASK, describe_ask },
		{ EV_CHECK_DONE, describe_check_done },
		{ EV_CONTROL_COMMAND, describe_control_command },
		{ EV_CONTROL_HOST, describe_control_host },
		{ EV_CONTROL_SHARE, describe_control_share },
		{ EV_POLICY_ADDED, describe_policy_added },
	};
	return phrase_from(table, ARRAY_LEN(table), ev, out);
}
