#include "phrase/describe_box.h"

#include "phrase/phrase.h"

static void describe_box_open(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_box_open b;
	event_decode(&desc_ev_box_open, ev, a, &b);
	phrase_text(out, "sandbox ", b.name);
	phrase_text(out, ", backend ", b.driver);
}

static void describe_box_ready(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_box_ready b;
	event_decode(&desc_ev_box_ready, ev, a, &b);
	phrase_text(out, "sandbox ready, isolation ", b.profile);
}

static void describe_proxy_open(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proxy_open p;
	event_decode(&desc_ev_proxy_open, ev, a, &p);
	phrase_text(out, "proxy ", p.proxy.name);
}

static void describe_proxy_refused(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proxy_refused p;
	event_decode(&desc_ev_proxy_refused, ev, a, &p);
	phrase_text(out, "refused: ", p.method);
	phrase_text(out, " ", p.path);
	phrase_text(out, ": ", p.why);
	if (p.count > 1)
		buf_printf(out, " (the last of %lld requests)", (long long)p.count);
}

static void describe_proxy_gated(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_proxy_gated p;
	event_decode(&desc_ev_proxy_gated, ev, a, &p);
	buf_puts(out, "withheld the tool calls of this answer; ");
	buf_puts(out, ev_text_is(p.then, "end") ? "the turn ends" : "the model is called again");
}

static void describe_port_closed(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_port_closed p;
	event_decode(&desc_ev_port_closed, ev, a, &p);
	buf_printf(out, "connection to sandbox port %d %s", (int)p.port,
		   p.turned_away ? "refused" : "closed");
	phrase_text(out, ": ", p.why);
}

/* "undid the changes of #53: 2 changes" */
static void describe_put_back(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_rollback_done b;
	event_decode(&desc_ev_rollback_done, ev, a, &b);
	if (ev_text_is(b.how, "promote"))
		buf_printf(out, "applied the result of dry run #%lld", (long long)b.to);
	else if (b.of)
		buf_printf(out, "%s the file changes of #%lld",
			   ev_text_is(b.how, "redo") ? "applied" : "undid", (long long)b.of);
	else if (b.takes)
		buf_printf(out, "undid #%lld", (long long)b.takes);
	else
		buf_printf(out, "restored the files of #%lld", (long long)b.to);
	if (!phrase_text(out, ": failed: ", b.why))
		buf_printf(out, ": %lld change%s", (long long)b.ops, b.ops == 1 ? "" : "s");
}

bool describe_box(const struct event *ev, struct buf *out)
{
	static const struct phrase table[] = {
		{ EV_BOX_OPEN, describe_box_open },
		{ EV_BOX_READY, describe_box_ready },
		{ EV_PROXY_OPEN, describe_proxy_open },
		{ EV_PROXY_REFUSED, describe_proxy_refused },
		{ EV_PROXY_GATED, describe_proxy_gated },
		{ EV_PORT_CLOSED, describe_port_closed },
		{ EV_ROLLBACK_DONE, describe_put_back },
	};
	return phrase_from(table, ARRAY_LEN(table), ev, out);
}
