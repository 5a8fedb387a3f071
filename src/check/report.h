/* The findings of a verification as text: a line each, JSON lines, JUnit, TAP, SARIF. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "base/json.h"
#include "base/mem.h"

enum report_result { REPORT_OK, REPORT_FAILED, REPORT_WARN, REPORT_SKIPPED };

struct report_item {
	char *group, *name, *text; /* owned; group: "record", "release.lua", "redo" */
	char *at;		   /* "checks/release.lua:12" or NULL */
	enum report_result result;
	uint64_t *seq; /* evidence: events, the first one first */
	size_t nr_seq;
};
struct report {
	char *session; /* id */
	struct report_item *item;
	size_t nr, cap;
};
void report_release(struct report *r);

/* Copies everything; @text and @at may be NULL. Returns the new item, valid until the next call. */
struct report_item *report_add(struct report *r, const char *group, enum report_result result,
			       const char *name, const char *text, const char *at,
			       const uint64_t *seq, size_t nr_seq);
/* The list that check.h fills. */
void report_add_checks(struct report *r, const char *group, const json_t *results);

/* One item as users read it, without a line break; and for --json, without the schema. */
void report_line(const struct report_item *i, struct buf *out);
json_t *report_json(const struct report_item *i);

/* Whole documents. Formats: JUnit XML as Jenkins and GitLab take it; TAP 14; SARIF 2.1.0
 * (oasis-open.org/sarif), one run, the place is the check's own file and line, the events are its
 * logical locations, and in the message and in properties. */
void report_junit(const struct report *r, struct buf *out);
void report_tap(const struct report *r, struct buf *out);
void report_sarif(const struct report *r, struct buf *out);
/* The text after "ok N - ". */
void report_tap_name(struct buf *out, const char *name);

#endif
