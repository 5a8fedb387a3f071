/* Texts for events of a session outside actions and agents: frozen sandboxes, reviews, undone
 * and removed data, clocks, connections. The painter sanitizes the sandboxes' bytes in them. */
#include <inttypes.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/rows/row.h"

static const char *row_session_who_name(const json_t *o)
{
	return json_str(json_object_get(o, "who"), "name", "unknown user");
}

static const char *row_session_because(const json_t *o, struct arena *a)
{
	const char *why = json_str(o, "why", "");
	return *why ? arena_printf(a, ": %s", why) : "";
}

static const char *row_session_path_of(const json_t *o, const char *key, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return json_get_bytes(json_object_get(o, key), &b) ? arena_strdup(a, buf_cstr(&b)) : "?";
}

/* "team=core nightly; removed: old; by ann" */
static const char *labels_text(const json_t *o, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *name;
	json_t *value;
	size_t i;
	json_t *set = json_object_get(o, "set");
	json_object_foreach(set, name, value)
		buf_printf(&b, "%s%s%s%s", b.len ? " " : "", name,
			   *json_string_value(value) ? "=" : "", json_string_value(value));
	json_array_foreach(json_object_get(o, "unset"), i, value)
		buf_printf(&b, "%s%s",
			   i	   ? " "
			   : b.len ? "; removed: "
				   : "removed: ",
			   json_string_value(value));
	buf_printf(&b, "; by %s",
		   json_object_get(o, "call") ? "the script" : row_session_who_name(o));
	return arena_strdup(a, buf_cstr(&b));
}

/* "src/a.c hunk 2 rejected by ann: a debug print" */
static const char *review_text(const json_t *o, struct arena *a)
{
	const char *choice = json_str(o, "choice", ""), *said = json_str(o, "comment", "");
	int64_t hunk = json_int(o, "hunk", 0);
	const json_t *range = json_object_get(o, "range");
	const char *part =
		json_array_size(range) == 4
			? arena_printf(a, " line %lld",
				       (long long)json_integer_value(json_array_get(range, 2)) + 1)
		: hunk ? arena_printf(a, " hunk %" PRId64, hunk)
		       : "";
	const char *what = !strcmp(choice, "take")    ? "accepted"
			   : !strcmp(choice, "leave") ? "rejected"
			   : !strcmp(choice, "open")  ? "undecided"
						      : "viewed";
	return arena_printf(a, "%s%s %s%s by %s%s%s", row_session_path_of(o, "path", a), part, what,
			    json_object_get(o, "text") ? " with edited lines" : "",
			    row_session_who_name(o), *said ? ": " : "", said);
}

static const char *targets_text(const json_t *o, struct arena *a)
{
	const json_t *list = json_object_get(o, "targets"), *first = json_array_get(list, 0);
	const char *ref = json_str(first, "ref", "");
	size_t n = json_array_size(json_object_get(first, "kept"));
	return arena_printf(a, "%s%s%s", *ref ? ref : row_session_path_of(first, "dir", a),
			    json_array_size(list) > 1
				    ? arena_printf(a, " and %zu more", json_array_size(list) - 1)
				    : "",
			    n ? arena_printf(a, "; kept %s that changed since",
					     fmt_plural(a, (int64_t)n, "file", "files"))
			      : "");
}

static const char *removed_text(const json_t *o, struct arena *a)
{
	const char *what = json_str(o, "what", "event"), *oid = json_str(o, "oid", "");
	int64_t id = json_int(o, "id", 0);
	return arena_printf(a, "%s%s%s by %s%s", what,
			    id	   ? arena_printf(a, " #%" PRId64, id)
			    : *oid ? " "
				   : "",
			    id ? "" : oid, json_str(o, "who", "unknown user"),
			    row_session_because(o, a));
}

static const char *closed_text(const json_t *o, struct arena *a)
{
	return arena_printf(a, "%s:%" PRId64 " %s, %s up, %s down%s", json_str(o, "host", "?"),
			    json_int(o, "port", 0),
			    json_flag(o, "connected", false) ? "closed" : "not connected",
			    fmt_bytes(a, json_int(o, "up_bytes", 0)),
			    fmt_bytes(a, json_int(o, "down_bytes", 0)), row_session_because(o, a));
}

static const char *planned_text(const json_t *o, struct arena *a)
{
	int64_t nr = json_int(json_object_get(o, "counts"), "conflict", 0);
	return arena_printf(a, "merge into %s: %s", targets_text(o, a),
			    json_flag(o, "clean", false) ? "no conflicts"
			    : nr > 0 ? fmt_plural(a, nr, "conflict", "conflicts")
				     : "it would fail");
}

const char *row_session(uint16_t kind, const json_t *o, const char **word, struct arena *a)
{
	switch (kind) {
	case EV_REVIEW_CHOICE:
		*word = "review";
		return review_text(o, a);
	case EV_MERGE_PLANNED:
		*word = "dry run";
		return planned_text(o, a);
	case EV_MERGE_UNDONE:
		*word = "undo";
		return arena_printf(a, "undid the merge into %s", targets_text(o, a));
	case EV_MERGE_FAILED:
		*word = "merge";
		return arena_printf(a, "failed, nothing changed%s", row_session_because(o, a));
	case EV_ACTION_CANCEL:
		*word = json_str(o, "how", "")[0] == 'k' ? "kill" : "cancel";
		return arena_printf(a, "requested%s", row_session_because(o, a));
	case EV_SESSION_LABELED:
		*word = "label";
		return labels_text(o, a);
	case EV_REDACTED:
		*word = "redact";
		return removed_text(o, a);
	case EV_CLOCK_JUMP:
		*word = "clock";
		return arena_printf(a, "moved %s by %s",
				    json_int(o, "us", 0) < 0 ? "back" : "forward",
				    fmt_span(a, json_int(o, "us", 0) < 0 ? -json_int(o, "us", 0)
									 : json_int(o, "us", 0)));
	case EV_CLOCK_SUSPEND:
		*word = "clock";
		return arena_printf(a, "the host slept for %s", fmt_span(a, json_int(o, "us", 0)));
	case EV_RECORD_STALLED:
		*word = "record";
		return arena_printf(a, "writing stalled for %s, then continued%s",
				    fmt_span(a, json_int(o, "us", 0)), row_session_because(o, a));
	case EV_SNAPSHOT_FAILED:
		*word = "snap";
		return arena_printf(a, "failed%s", row_session_because(o, a));
	case EV_SNAPSHOT_LABELED:
		*word = "snap";
		return arena_printf(a, "#%" PRId64 " labeled %s", json_int(o, "snapshot", 0),
				    json_str(o, "label", ""));
	case EV_OUTPUT_GAP:
		*word = "output";
		return arena_printf(a, "%s not recorded%s", fmt_bytes(a, json_int(o, "bytes", 0)),
				    row_session_because(o, a));
	case EV_NET_REFUSED:
		*word = "net";
		return arena_printf(a, "%s:%" PRId64 " refused%s", json_str(o, "host", "?"),
				    json_int(o, "port", 0), row_session_because(o, a));
	case EV_NET_CLOSED:
		*word = "net";
		return closed_text(o, a);
	case EV_NOTIFY:
		*word = "notify";
		return arena_printf(a, "%s, exit %" PRId64, json_str(o, "command", "?"),
				    json_int(o, "code", 0));
	case EV_PROC_SIGNAL:
		*word = "signal";
		return arena_printf(a, "%" PRId64, json_int(o, "signal", 0));
	default:
		return NULL;
	}
}
