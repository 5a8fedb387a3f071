/* Policy order: what the events of each action say about when it was allowed, begun and ended. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/read/verify_priv.h"

enum step {
	NOTHING,
	REQUESTED,
	JUDGED,
	DECIDED,
	STARTED,
	ENDED,
	BEGIN,
	RESUMED,
	END,
	NOTICE,
	SNAPSHOT
};

static enum step verify_order_look_up(enum event_kind kind)
{
	static const struct {
		enum event_kind kind;
		enum step step;
	} table[] = { { EV_ACTION_REQUESTED, REQUESTED },
		      { EV_ACTION_JUDGED, JUDGED },
		      { EV_ACTION_DECIDED, DECIDED },
		      { EV_ACTION_STARTED, STARTED },
		      { EV_ACTION_ENDED, ENDED },
		      { EV_SESSION_START, BEGIN },
		      { EV_SESSION_RESUMED, RESUMED },
		      { EV_SESSION_FORKED, RESUMED },
		      { EV_SESSION_END, END },
		      { EV_BOX_NOTICE, NOTICE },
		      { EV_SNAPSHOT_TAKEN, SNAPSHOT } };
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].kind == kind)
			return table[i].step;
	return NOTHING;
}

/* Every event asks: answers are kept in @v. */
static enum step step_of(struct verify *v, enum event_kind kind)
{
	if (kind >= ARRAY_LEN(v->step))
		return verify_order_look_up(kind);
	if (!v->step[kind])
		v->step[kind] = (uint8_t)(verify_order_look_up(kind) + 1);
	return (enum step)(v->step[kind] - 1);
}

/* Actions are requested in ascending order of their ids. */
static struct verify_action *action_of(struct verify *v, uint64_t id)
{
	size_t low = 0, high = v->actions;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (v->action[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < v->actions && v->action[low].id == id ? &v->action[low] : NULL;
}

static void out_of_order(struct verify *v, uint64_t seq, uint64_t action, const char *what)
{
	if (v->order_bad)
		return;
	v->order_bad = seq;
	snprintf(v->order_text, sizeof(v->order_text), "event %" PRIu64 ": action %" PRIu64 " %s",
		 seq, action, what);
}

static void set_intent(char to[65], const json_t *body)
{
	snprintf(to, 65, "%s", body ? json_str(body, "intent", "") : "*");
}

static bool same_intent(const char *a, const char *b)
{
	return !strcmp(a, "*") || !strcmp(b, "*") || !strcmp(a, b);
}

static bool verify_order_approves(const json_t *body)
{
	const char *decision = body ? json_str(body, "decision", "") : "approve";
	return !strcmp(decision, "approve") || !strcmp(decision, "edit") ||
	       !strcmp(decision, "promote");
}

static void see_start(struct verify *v, struct verify_action *a, const struct event *ev,
		      const json_t *body)
{
	char intent[65];
	set_intent(intent, body);
	v->started++;
	if (a->started)
		out_of_order(v, ev->seq, a->id, "started twice");
	else if (a->ended)
		out_of_order(v, ev->seq, a->id, "started after its end");
	else if (!a->may)
		out_of_order(v, ev->seq, a->id, "started before it was allowed");
	else if (!(a->allowed[0] && same_intent(a->allowed, intent)) &&
		 !(a->approved[0] && same_intent(a->approved, intent)))
		out_of_order(v, ev->seq, a->id,
			     "started with a different intent than the allowed one");
	a->started = true;
}

/* The edited form is checked against policy again, and its ask counts as answered by the same
 * decision. */
static bool edit_still_asks(const struct verify_action *a, const json_t *body)
{
	return body && json_flag(body, "edited", false) &&
	       !strcmp(json_str(body, "verdict", ""), "ask") && a->may && a->approved[0] &&
	       !strcmp(a->approved, json_str(body, "intent", ""));
}

static void verify_order_see_action(struct verify *v, enum step step, const struct event *ev,
				    const json_t *body)
{
	struct verify_action *a = action_of(v, ev->action);
	if (!a) {
		out_of_order(v, ev->seq, ev->action, "was never requested");
		return;
	}
	if (step == JUDGED && edit_still_asks(a, body))
		return;
	if (step == JUDGED) {
		const char *verdict = body ? json_str(body, "verdict", "") : "allow";
		/* an edited action is checked against policy again: earlier verdicts are void */
		a->allowed[0] = a->approved[0] = 0;
		a->may = !strcmp(verdict, "allow");
		if (a->may)
			set_intent(a->allowed, body);
		if (a->may && !a->allowed[0])
			strcpy(a->allowed, "*");
	} else if (step == DECIDED && verify_order_approves(body)) {
		a->may = true;
		set_intent(a->approved, body);
		if (!a->approved[0])
			strcpy(a->approved, "*");
	} else if (step == STARTED) {
		see_start(v, a, ev, body);
	} else if (step == ENDED) {
		if (a->ended)
			out_of_order(v, ev->seq, a->id, "ended twice");
		a->ended = true;
	}
}

static void see_key(struct verify *v, const json_t *body)
{
	const char *hex = json_str(body, "key", "");
	GROW(v->key, v->keys, v->key_cap);
	if (hex_parse(hex, strlen(hex), v->key[v->keys], SIGN_KEY_LEN))
		v->keys++;
}

/* Files that snapshots were to hold, and do not. */
static void see_missing(struct verify *v, enum step step, const struct event *ev)
{
	static const char unlisted[] = "\"unlisted\":[";
	struct err err;
	if (!ev->body ||
	    (step == SNAPSHOT && !memmem(ev->body, ev->len, unlisted, sizeof(unlisted) - 1)))
		return;
	CLEANUP(json_release) json_t *body = json_parse(ev->body, ev->len, "event", &err);
	bool missing = step == NOTICE ? !strcmp(json_str(body, "not_in", ""), "recording")
				      : json_array_size(json_object_get(body, "unlisted")) > 0;
	if (!missing || v->missing)
		return;
	v->missing = ev->seq;
	snprintf(v->missing_text, sizeof(v->missing_text), "%s",
		 json_str(body, "text", "directories could not be listed"));
}

void verify_see(struct verify *v, const struct event *ev)
{
	struct err err;
	enum step step = step_of(v, ev->kind);
	v->ended = step == END; /* of the last event */
	if (step == NOTHING || step == END)
		return;
	if (step == NOTICE || step == SNAPSHOT) {
		see_missing(v, step, ev);
		return;
	}
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	if (step == BEGIN || step == RESUMED) {
		see_key(v, body);
	} else if (step == REQUESTED) {
		if (v->actions && v->action[v->actions - 1].id >= ev->seq)
			return; /* the chain check has told that numbers are wrong */
		GROW(v->action, v->actions, v->action_cap);
		v->action[v->actions++] = (struct verify_action){ .id = ev->seq };
	} else {
		verify_order_see_action(v, step, ev, body);
	}
}

int verify_order(struct verify *v, struct err *err)
{
	(void)err;
	if (v->order_bad)
		verify_say(v, "order", VERIFY_FAIL, v->order_bad, "%s", v->order_text);
	else
		verify_say(v, "order", VERIFY_OK, 0,
			   "%" PRIu64 " %s started, each after it was allowed",
			   VERIFY_NR(v->started, "action", "actions"));
	return 0;
}

int verify_complete(struct verify *v, struct err *err)
{
	(void)err;
	if (v->missing) /* a recording without gaps needs no line */
		verify_say(v, "complete", VERIFY_FAIL, v->missing, "%s", v->missing_text);
	return 0;
}

int verify_closed(struct verify *v, struct err *err)
{
	(void)err;
	uint64_t open = 0, first = 0;
	for (size_t i = 0; i < v->actions; i++)
		if (!v->action[i].ended) {
			open++;
			first = first ? first : v->action[i].id;
		}
	if (!open)
		verify_say(v, "closed", VERIFY_OK, 0, "%" PRIu64 " %s, all ended",
			   VERIFY_NR(v->actions, "action", "actions"));
	else if (v->ended)
		verify_say(v, "closed", VERIFY_FAIL, first,
			   "%" PRIu64 " %s no end; the first is %" PRIu64,
			   VERIFY_NR(open, "action has", "actions have"), first);
	else
		verify_say(v, "closed", VERIFY_SKIP, 0, "%" PRIu64 " %s open: %s",
			   VERIFY_NR(open, "action is", "actions are"),
			   session_live(v->s)
				   ? "the session is running"
				   : "the session was interrupted; resuming closes them");
	return 0;
}
