/* Words for what commands and models did, which screens show in words of their own. */
#include "phrase/describe_work.h"

#include <string.h>

#include "phrase/phrase.h"

static void describe_output(const struct event *ev, struct arena *a, struct buf *out)
{
	static const char *const names[] = { "output",		"stdout",	 "stderr",
					     "terminal output", "model request", "model answer" };
	struct ev_output o;
	event_decode(&desc_ev_output, ev, a, &o);
	buf_printf(out, "%lld bytes of %s", (long long)o.len,
		   names[o.stream > 0 && o.stream < (int64_t)ARRAY_LEN(names) ? o.stream : 0]);
}

static void describe_model_call(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_model_call m;
	event_decode(&desc_ev_model_call, ev, a, &m);
	phrase_text(out, "calls ", m.model);
}

static void describe_money(int64_t uusd, struct buf *out)
{
	buf_printf(out, "$%lld.%04lld", (long long)(uusd / 1000000),
		   (long long)(uusd % 1000000 / 100));
}

static void describe_model_reply(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_model_reply m;
	event_decode(&desc_ev_model_reply, ev, a, &m);
	buf_puts(out, "model answered");
	phrase_text(out, ": ", m.text);
	if (m.calls.nr)
		buf_printf(out, " [%zu calls]", m.calls.nr);
	if (!m.usage.there)
		return;
	buf_printf(out, " (%lld + %lld tokens", (long long)m.usage.in, (long long)m.usage.out);
	if (m.cost_unknown) {
		buf_puts(out, ", $?");
	} else if (m.cost_uusd) {
		buf_puts(out, ", ");
		describe_money(m.cost_uusd, out);
	}
	buf_putc(out, ')');
}

static void describe_box_closed(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_box_closed b;
	event_decode(&desc_ev_box_closed, ev, a, &b);
	buf_puts(out, "sandbox closed");
	if (b.cost.open_us > 0) { /* a hosted sandbox */
		buf_puts(out, ", cost ");
		if (b.cost.has_uusd)
			describe_money(b.cost.uusd, out);
		else
			buf_puts(out, "$?");
	}
	phrase_text(out, ": ", b.why);
}

/* "ran /usr/bin/git push (process 12)". */
static void describe_proc_exec(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proc_exec p;
	event_decode(&desc_ev_proc_exec, ev, a, &p);
	const struct ev_text *word = p.argv.item;
	buf_puts(out, "ran ");
	for (size_t i = 0; i < p.argv.nr; i++) {
		buf_puts(out, i ? " " : "");
		phrase_word(out, word[i]);
	}
	if (!p.argv.nr)
		buf_puts(out, p.path.n ? ev_text_dup(a, p.path) : "(unreadable path)");
	else if (p.path.n && !ev_text_is(word[0], ev_text_dup(a, p.path)))
		buf_printf(out, " as %s", ev_text_dup(a, p.path));
	phrase_number(out, " (process ", p.has_pid, p.pid);
	phrase_number(out, " of ", p.has_parent, p.parent);
	buf_puts(out, ")");
	phrase_number(out, ", pending as #", p.has_held, p.held);
}

static void describe_proc_connect(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proc_connect p;
	event_decode(&desc_ev_proc_connect, ev, a, &p);
	buf_puts(out, "connects to ");
	if (!phrase_text(out, "", p.address))
		phrase_text(out, "", p.path);
	phrase_number(out, " port ", p.has_port, p.port);
	phrase_number(out, " (process ", p.has_pid, p.pid);
	buf_puts(out, ")");
}

static void describe_proc_gap(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proc_gap p;
	event_decode(&desc_ev_proc_gap, ev, a, &p);
	phrase_number(out, "", p.has_execs, p.execs);
	phrase_number(out, " more programs and ", p.has_connects, p.connects);
	buf_puts(out, " more connections not recorded");
}

static void describe_snapshot(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_snapshot_taken s;
	event_decode(&desc_ev_snapshot_taken, ev, a, &s);
	phrase_number(out, "snapshot ", s.has_n, s.n);
	phrase_number(out, ": files changed: ", s.has_changed, s.changed);
	phrase_text(out, " after ", s.why);
}

static void describe_preview_started(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_preview_started p;
	event_decode(&desc_ev_preview_started, ev, a, &p);
	phrase_text(out, "dry run started, ", p.how);
	phrase_who(out, &p.who, (struct ev_text){ 0 });
}

static void describe_redo_ended(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_redo_ended r;
	event_decode(&desc_ev_redo_ended, ev, a, &r);
	phrase_number(out, "repeat of #", r.origin.has_action, r.origin.action);
	buf_puts(out, r.why.n ? ": not compared" : r.same ? ": same result" : ": differs");
	phrase_text(out, ", ", r.why);
}

bool describe_work(const struct event *ev, struct buf *out)
{
	static const struct phrase table[] = {
		{ EV_OUTPUT, describe_output },
		{ EV_MODEL_CALL, describe_model_call },
		{ EV_MODEL_REPLY, describe_model_reply },
		{ EV_BOX_CLOSED, describe_box_closed },
		{ EV_PROC_EXEC, describe_proc_exec },
		{ EV_PROC_CONNECT, describe_proc_connect },
		{ EV_PROC_GAP, describe_proc_gap },
		{ EV_SNAPSHOT_TAKEN, describe_snapshot },
		{ EV_PREVIEW_STARTED, describe_preview_started },
		{ EV_REDO_ENDED, describe_redo_ended },
	};
	return phrase_from(table, ARRAY_LEN(table), ev, out);
}
