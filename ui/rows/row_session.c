/* Texts for events of a session outside actions and agents: frozen sandboxes, reviews, undone
 * and removed data, clocks, connections. The painter sanitizes the sandboxes' bytes in them. */
#include <inttypes.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/rows/row.h"
#include "wire/event_body.h"

static const char *row_session_because(struct arena *a, struct ev_text t)
{
	const char *why = row_words_of(a, t, "");
	return *why ? arena_printf(a, ": %s", why) : "";
}

static const char *row_session_path_of(struct arena *a, struct ev_text path)
{
	return path.s ? arena_strndup(a, path.s, path.n) : "?";
}

static const char *label_text(const json_t *value)
{
	return json_is_string(value) ? json_string_value(value) : "";
}

/* "team=core nightly; removed: old; by ann" */
static const char *labels_text(const struct event *ev, const json_t *body, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct ev_session_labeled o;
	const char *name;
	json_t *value, *set = json_object_get(body, "set"); /* its keys are the labels */
	event_decode(&desc_ev_session_labeled, ev, a, &o);
	json_object_foreach(set, name, value)
		buf_printf(&b, "%s%s%s%s", b.len ? " " : "", name, *label_text(value) ? "=" : "",
			   label_text(value));
	for (size_t i = 0; i < o.unset.nr; i++)
		buf_printf(&b, "%s%s",
			   i	   ? " "
			   : b.len ? "; removed: "
				   : "removed: ",
			   row_words_of(a, o.unset.item[i], ""));
	buf_printf(&b, "; by %s", o.call ? "the script" : row_user_of(a, &o.who));
	return arena_strdup(a, buf_cstr(&b));
}

/* "src/a.c hunk 2 rejected by ann: a debug print" */
static const char *review_text(const struct event *ev, struct arena *a)
{
	struct ev_review_choice o;
	event_decode(&desc_ev_review_choice, ev, a, &o);
	const char *said = row_words_of(a, o.comment, "");
	const char *part = o.range.nr == 4
				   ? arena_printf(a, " line %lld", (long long)o.range.item[2] + 1)
			   : o.hunk ? arena_printf(a, " hunk %" PRId64, o.hunk)
				    : "";
	const char *what = ev_text_is(o.choice, "take")	   ? "accepted"
			   : ev_text_is(o.choice, "leave") ? "rejected"
			   : ev_text_is(o.choice, "open")  ? "undecided"
							   : "viewed";
	return arena_printf(a, "%s%s %s%s by %s%s%s", row_session_path_of(a, o.path), part, what,
			    o.text.s ? " with edited lines" : "", row_user_of(a, &o.who),
			    *said ? ": " : "", said);
}

/* The first target of @nr: its reference, else its directory. */
static const char *target_text(struct arena *a, struct ev_text ref, struct ev_text dir, size_t nr)
{
	return arena_printf(a, "%s%s",
			    ref.n ? row_words_of(a, ref, "") : row_session_path_of(a, dir),
			    nr > 1 ? arena_printf(a, " and %zu more", nr - 1) : "");
}

static const char *undone_text(const struct event *ev, struct arena *a)
{
	struct ev_merge_undone o;
	event_decode(&desc_ev_merge_undone, ev, a, &o);
	struct ev_undone_target first =
		o.targets.nr ? o.targets.item[0] : (struct ev_undone_target){ 0 };
	int64_t kept = (int64_t)first.kept.nr;
	return arena_printf(a, "undid the merge into %s%s",
			    target_text(a, first.ref, first.dir, o.targets.nr),
			    kept ? arena_printf(a, "; kept %s that changed since",
						fmt_plural(a, kept, "file", "files"))
				 : "");
}

static const char *removed_text(const struct event *ev, struct arena *a)
{
	struct ev_redacted o;
	event_decode(&desc_ev_redacted, ev, a, &o);
	const char *oid = row_words_of(a, o.oid, "");
	return arena_printf(a, "%s%s%s by %s%s", row_words_of(a, o.what, "event"),
			    o.id   ? arena_printf(a, " #%" PRId64, o.id)
			    : *oid ? " "
				   : "",
			    o.id ? "" : oid, row_words_of(a, o.who, "unknown user"),
			    row_session_because(a, o.why));
}

static const char *closed_text(const struct event *ev, struct arena *a)
{
	struct ev_net_closed o;
	event_decode(&desc_ev_net_closed, ev, a, &o);
	return arena_printf(a, "%s:%" PRId64 " %s, %s up, %s down%s", row_words_of(a, o.host, "?"),
			    o.port, o.connected ? "closed" : "not connected",
			    fmt_bytes(a, o.up_bytes), fmt_bytes(a, o.down_bytes),
			    row_session_because(a, o.why));
}

static const char *planned_text(const struct event *ev, struct arena *a)
{
	struct ev_merge_planned o;
	event_decode(&desc_ev_merge_planned, ev, a, &o);
	struct ev_merge_target first =
		o.targets.nr ? o.targets.item[0] : (struct ev_merge_target){ 0 };
	int64_t nr = o.counts.conflict;
	return arena_printf(a, "merge into %s: %s",
			    target_text(a, first.ref, first.dir, o.targets.nr),
			    o.clean  ? "no conflicts"
			    : nr > 0 ? fmt_plural(a, nr, "conflict", "conflicts")
				     : "it would fail");
}

static const char *merge_failed_text(const struct event *ev, struct arena *a)
{
	struct ev_merge_failed o;
	event_decode(&desc_ev_merge_failed, ev, a, &o);
	return arena_printf(a, "failed, nothing changed%s", row_session_because(a, o.why));
}

static const char *cancel_text(const struct event *ev, const char **word, struct arena *a)
{
	struct ev_action_cancel o;
	event_decode(&desc_ev_action_cancel, ev, a, &o);
	*word = o.how.n && o.how.s[0] == 'k' ? "kill" : "cancel";
	return arena_printf(a, "requested%s", row_session_because(a, o.why));
}

static const char *jump_text(const struct event *ev, struct arena *a)
{
	struct ev_clock_jump o;
	event_decode(&desc_ev_clock_jump, ev, a, &o);
	return arena_printf(a, "moved %s by %s", o.us < 0 ? "back" : "forward",
			    fmt_span(a, o.us < 0 ? -o.us : o.us));
}

static const char *suspend_text(const struct event *ev, struct arena *a)
{
	struct ev_clock_suspend o;
	event_decode(&desc_ev_clock_suspend, ev, a, &o);
	return arena_printf(a, "the host slept for %s", fmt_span(a, o.us));
}

static const char *stalled_text(const struct event *ev, struct arena *a)
{
	struct ev_record_stalled o;
	event_decode(&desc_ev_record_stalled, ev, a, &o);
	return arena_printf(a, "writing stalled for %s, then continued%s", fmt_span(a, o.us),
			    row_session_because(a, o.why));
}

static const char *snapshot_failed_text(const struct event *ev, struct arena *a)
{
	struct ev_snapshot_failed o;
	event_decode(&desc_ev_snapshot_failed, ev, a, &o);
	return arena_printf(a, "failed%s", row_session_because(a, o.why));
}

static const char *snapshot_labeled_text(const struct event *ev, struct arena *a)
{
	struct ev_snapshot_labeled o;
	event_decode(&desc_ev_snapshot_labeled, ev, a, &o);
	return arena_printf(a, "#%" PRId64 " labeled %s", o.snapshot, row_words_of(a, o.label, ""));
}

static const char *gap_text(const struct event *ev, struct arena *a)
{
	struct ev_output_gap o;
	event_decode(&desc_ev_output_gap, ev, a, &o);
	return arena_printf(a, "%s not recorded%s", fmt_bytes(a, o.bytes),
			    row_session_because(a, o.why));
}

static const char *net_refused_text(const struct event *ev, struct arena *a)
{
	struct ev_net_refused o;
	event_decode(&desc_ev_net_refused, ev, a, &o);
	return arena_printf(a, "%s:%" PRId64 " refused%s", row_words_of(a, o.host, "?"), o.port,
			    row_session_because(a, o.why));
}

static const char *notify_text(const struct event *ev, struct arena *a)
{
	struct ev_notify o;
	event_decode(&desc_ev_notify, ev, a, &o);
	return arena_printf(a, "%s, exit %" PRId64, row_words_of(a, o.command, "?"), o.code);
}

static const char *signal_text(const struct event *ev, struct arena *a)
{
	struct ev_proc_signal o;
	event_decode(&desc_ev_proc_signal, ev, a, &o);
	return arena_printf(a, "%" PRId64, o.signal);
}

const char *row_session(const struct event *ev, const json_t *o, const char **word, struct arena *a)
{
	switch (ev->kind) {
	case EV_REVIEW_CHOICE:
		*word = "review";
		return review_text(ev, a);
	case EV_MERGE_PLANNED:
		*word = "dry run";
		return planned_text(ev, a);
	case EV_MERGE_UNDONE:
		*word = "undo";
		return undone_text(ev, a);
	case EV_MERGE_FAILED:
		*word = "merge";
		return merge_failed_text(ev, a);
	case EV_ACTION_CANCEL:
		return cancel_text(ev, word, a);
	case EV_SESSION_LABELED:
		*word = "label";
		return labels_text(ev, o, a);
	case EV_REDACTED:
		*word = "redact";
		return removed_text(ev, a);
	case EV_CLOCK_JUMP:
		*word = "clock";
		return jump_text(ev, a);
	case EV_CLOCK_SUSPEND:
		*word = "clock";
		return suspend_text(ev, a);
	case EV_RECORD_STALLED:
		*word = "record";
		return stalled_text(ev, a);
	case EV_SNAPSHOT_FAILED:
		*word = "snap";
		return snapshot_failed_text(ev, a);
	case EV_SNAPSHOT_LABELED:
		*word = "snap";
		return snapshot_labeled_text(ev, a);
	case EV_OUTPUT_GAP:
		*word = "output";
		return gap_text(ev, a);
	case EV_NET_REFUSED:
		*word = "net";
		return net_refused_text(ev, a);
	case EV_NET_CLOSED:
		*word = "net";
		return closed_text(ev, a);
	case EV_NOTIFY:
		*word = "notify";
		return notify_text(ev, a);
	case EV_PROC_SIGNAL:
		*word = "signal";
		return signal_text(ev, a);
	default:
		return NULL;
	}
}
