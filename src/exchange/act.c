#include "exchange/act.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "phrase/describe.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "record/record.h"

static json_t *act_parse(const struct event *ev)
{
	struct err none = ERR_INIT;
	return ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
}

/* False: there is nothing to read. */
static bool act_decode(struct act *a, const struct event_desc *d, const struct event *ev, void *out)
{
	struct event kept = *ev;
	if (ev->body)
		kept.body = arena_strndup(a->mem, ev->body, ev->len);
	event_decode(d, &kept, a->mem, out);
	return ((const struct ev_state *)out)->reading == BODY_READ;
}

const char *exchange_text(struct arena *a, struct ev_text t, const char *absent)
{
	if (!t.s || memchr(t.s, 0, t.n) || !utf8_valid(t.s, t.n))
		return absent;
	return arena_strndup(a, t.s, t.n);
}

const char *act_text(const struct act *a, struct ev_text t, const char *absent)
{
	return exchange_text(a->mem, t, absent);
}

/* The start has the fields that a user edited; the request has the others. */
static void act_edited(struct act *a, const struct event *ev)
{
	json_t *started = act_parse(ev);
	if (a->wanted && json_flag(started, "edited", false)) {
		json_decref(a->edited);
		a->edited = json_copy(a->wanted);
		if (json_object_get(started, "argv"))
			json_object_del(a->edited, "cmd");
		json_object_update(a->edited, started);
	}
	json_decref(started);
}

static void act_fold(struct act *a, const struct event *ev)
{
	struct ev_output_gap gap;
	switch (ev->kind) { /* kinds are numbers of a file: most say nothing here */
	case EV_ACTION_JUDGED:
		act_decode(a, &desc_ev_action_judged, ev, &a->judged);
		break;
	case EV_ACTION_DECIDED:
		a->has_decided = act_decode(a, &desc_ev_action_decided, ev, &a->decided);
		a->decided_seq = ev->seq;
		break;
	case EV_ACTION_STARTED:
		a->started_us = ev->ts_us;
		act_edited(a, ev);
		break;
	case EV_ACTION_ENDED:
		act_decode(a, &desc_ev_action_ended, ev, &a->ended);
		a->end_us = ev->ts_us;
		break;
	case EV_MODEL_REPLY:
		a->has_reply = act_decode(a, &desc_ev_model_reply, ev, &a->reply);
		break;
	case EV_SNAPSHOT_TAKEN:
		a->has_snapshot = act_decode(a, &desc_ev_snapshot_taken, ev, &a->snapshot);
		a->snapshot_seq = ev->seq;
		break;
	case EV_OUTPUT_GAP:
		event_decode(&desc_ev_output_gap, ev, a->mem, &gap);
		a->gap_bytes += (uint64_t)gap.bytes;
		break;
	default:
		break;
	}
}

int act_load(struct act *a, struct session *s, uint64_t seq, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	*a = (struct act){ .seq = seq, .mem = NEW(struct arena) };
	int rc = session_event(s, seq, &ev, &arena, err);
	if (rc == 0 && ev.kind != EV_ACTION_REQUESTED)
		rc = err_set(err, ERR_NOENT, "#%" PRIu64 " of session %s is not an action", seq,
			     session_id(s));
	if (rc == 0) {
		a->agent = ev.agent;
		a->box = ev.box;
		a->ts_us = ev.ts_us;
		a->mono_us = ev.mono_us;
		a->wanted = act_parse(&ev);
		rc = feed_new(&feed, s, FEED_ACTION, seq, err);
	}
	while (rc == 0 && (rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		act_fold(a, &ev);
		arena_reset(&arena);
		rc = 0;
	}
	feed_free(&feed);
	arena_release(&arena);
	if (rc < 0)
		act_release(a);
	return rc;
}

void act_release(struct act *a)
{
	json_decref(a->wanted);
	json_decref(a->edited);
	if (a->mem)
		arena_release(a->mem);
	free(a->mem);
	*a = (struct act){ 0 };
}

const char *act_kind(const struct act *a)
{
	return json_str(a->wanted, "kind", "unknown");
}

const char *act_tool(const struct act *a)
{
	return json_str(a->wanted, "tool", act_kind(a));
}

void act_what(const struct act *a, struct buf *out)
{
	if (a->wanted)
		describe_action(a->edited ? a->edited : a->wanted, out);
	else
		buf_puts(out, "(redacted)");
}

bool act_proposed(const struct act *a, struct buf *out)
{
	if (a->edited)
		describe_action(a->wanted, out);
	return a->edited != NULL;
}

const char *act_end(const struct act *a)
{
	return a->end_us ? act_text(a, a->ended.end, "unknown") : "open";
}

void ended_how(const struct ev_action_ended *e, struct buf *out)
{
	if (!e->end.s)
		buf_puts(out, "unknown");
	else if (!ev_text_is(e->end, "ok") || (!e->code && !e->signal))
		buf_append(out, e->end.s, e->end.n);
	else
		buf_printf(out, "%s %" PRId64, e->signal ? "signal" : "exit",
			   e->signal ? e->signal : e->code);
}

void act_how(const struct act *a, struct buf *out)
{
	if (a->end_us)
		ended_how(&a->ended, out);
	else
		buf_puts(out, act_end(a));
}

bool act_good(const struct act *a)
{
	return !strcmp(act_end(a), "ok") && a->ended.code == 0 && a->ended.signal == 0;
}

const char *act_person(const struct act *a)
{
	const struct ev_action_decided *d = &a->decided;
	bool human = !d->by.s || ev_text_is(d->by, "human");
	return human && d->who.name.n ? act_text(a, d->who.name, NULL) : NULL;
}

const char *act_decider(const struct act *a, const char *absent)
{
	const char *name = act_person(a);
	return name ? name : act_text(a, a->decided.by, absent);
}

void act_rules(const struct act *a, struct buf *out)
{
	for (size_t i = 0; i < a->judged.rules.nr; i++) {
		const struct ev_rule_match *rule = &a->judged.rules.item[i];
		buf_printf(out, "%s%s %s (%s:%d)", i ? ", " : "", act_text(a, rule->verdict, "?"),
			   act_text(a, rule->name, "?"), act_text(a, rule->file, "?"),
			   (int)rule->line);
	}
}

/* One stream, whole or its two ends. */
static uint64_t one_stream(struct session *s, uint64_t action, int stream, size_t max,
			   struct buf *out)
{
	struct err none = ERR_INIT;
	uint64_t size = session_output_size(s, action, stream);
	if (size <= max) {
		if (size && session_output(s, action, stream, 0, size, out, &none) < 0)
			buf_printf(out, "(can't be read: %s)", none.text);
		return size;
	}
	if (session_output(s, action, stream, 0, max / 2, out, &none) < 0)
		return size;
	buf_printf(out,
		   "\n[... %" PRIu64 " bytes are left out here; the session file has them ...]\n",
		   size - max / 2 - (max - max / 2));
	if (session_output(s, action, stream, size - (max - max / 2), max - max / 2, out, &none) <
	    0)
		buf_printf(out, "(can't be read: %s)", none.text);
	return size;
}

uint64_t act_output(const struct act *a, struct session *s, size_t max, struct buf *out)
{
	static const int stream[] = { STREAM_OUT, STREAM_ERR, STREAM_PTY };
	uint64_t all = 0;
	for (size_t i = 0; i < ARRAY_LEN(stream); i++) {
		if (out->len && out->data[out->len - 1] != '\n' &&
		    session_output_size(s, a->seq, stream[i]))
			buf_putc(out, '\n');
		all += one_stream(s, a->seq, stream[i], max, out);
	}
	if (a->gap_bytes)
		buf_printf(out, "\n[... %" PRIu64 " bytes were not kept by the recorder ...]\n",
			   a->gap_bytes);
	return all;
}
