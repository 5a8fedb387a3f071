/* A session in figures: what compare and report put beside each other. */
#ifndef CHECK_SUMMARY_H
#define CHECK_SUMMARY_H

#include "base/json.h"
#include "record/read/session.h"

struct summary {
	char *id, *name;   /* owned */
	const char *state; /* "ok", "stopped", "failed", "running", "interrupted" */
	int64_t begun_us, took_us;
	uint64_t events, actions, execs, failed, model_calls, tokens, tokens_in, tokens_out;
	uint64_t asked, approved, denied, denied_by_rule;
	uint64_t honeytokens; /* times that one was seen */
	bool cost_unknown;    /* cost_uusd is the least: some calls or boxes have no known price */
	int64_t box_uusd;     /* of cost_uusd: rented boxes */
	/* times are sums over actions; they may overlap */
	int64_t cost_uusd, model_us, box_us, people_us;
	/* H over the files of all boxes at the end, hexadecimal; NULL: the record cannot say */
	char *tree;
	char *why; /* of its end; may be NULL */
};
NODISCARD int summary_of(struct session *s, struct summary *out, struct err *err);
/* The same without tree, which reads the content of files. */
NODISCARD int summary_counts(struct session *s, struct summary *out, struct err *err);
void summary_release(struct summary *m);
/* "0.4100" dollars, "0.4100+?" when that is the least, "?" when nothing is known. */
void summary_cost(int64_t uusd, bool unknown, struct buf *out);
/* The same as "cost_uusd" (null when nothing is known) and "cost_unknown". */
void summary_put_cost(json_t *o, int64_t uusd, bool unknown);
json_t *summary_json(const struct summary *m);
/* Reads the result of summary_json; @out->state borrows from @o. */
void summary_from_json(struct summary *out, const json_t *o);

#endif
