/* A session in figures: what compare and report put beside each other. */
#ifndef APP_SUMMARY_H
#define APP_SUMMARY_H

#include "base/json.h"
#include "record/read/session.h"

struct summary {
	char *id, *name;   /* owned */
	const char *state; /* "ok", "stopped", "failed", "running", "broken off" */
	int64_t begun_us, took_us;
	uint64_t events, actions, execs, failed, model_calls, tokens, tokens_in, tokens_out;
	uint64_t asked, approved, denied, denied_by_rule;
	uint64_t honeytokens; /* times that one was seen */
	int64_t cost_uusd, model_us, box_us, people_us; /* times are sums over actions; they may overlap */
	char *tree; /* H over the files of all boxes at the end, hexadecimal; NULL: the record cannot say */
	char *why;  /* of its end; may be NULL */
};
NODISCARD int summary_of(struct session *s, struct summary *out, struct err *err);
void summary_release(struct summary *m);
json_t *summary_json(const struct summary *m);

#endif
