#include "check/evidence.h"

#include <string.h>

#include "check/check.h"
#include "check/summary.h"
#include "record/read/verify.h"

struct evidence_check {
	json_t *checks;
	bool damaged, failed, incomplete;
};

static void evidence_on_check(void *self, const char *name, enum verify_result result,
			      const char *text, uint64_t seq)
{
	static const char *const words[] = {
		[VERIFY_OK] = "ok", [VERIFY_FAIL] = "failed", [VERIFY_SKIP] = "skipped"
	};
	struct evidence_check *c = self;
	json_t *o = json_object();
	json_put_str(o, "name", name);
	json_put_str(o, "result", words[result]);
	json_put_str(o, "text", text);
	if (seq)
		json_put_int(o, "event", (int64_t)seq);
	json_array_append_new(c->checks, o);
	if (result != VERIFY_FAIL)
		return;
	/* order and closed are about what was done, the others about the recording itself */
	if (!strcmp(name, "complete"))
		c->incomplete = true;
	else if (!strcmp(name, "order") || !strcmp(name, "closed"))
		c->failed = true;
	else
		c->damaged = true;
}

static json_t *evidence_verify(struct session *s)
{
	struct evidence_check c = { .checks = json_array() };
	struct verify_totals totals;
	struct err err = ERR_INIT;
	json_t *o = json_object();
	int rc = verify_session(s, NULL, evidence_on_check, &c, &totals, &err);
	json_put_str(o, "verdict",
		     rc < 0	    ? "unknown"
		     : c.damaged    ? "damaged"
		     : c.failed	    ? "failed"
		     : c.incomplete ? "incomplete"
				    : "verified");
	if (rc < 0)
		json_put_str(o, "why", err.text);
	json_put(o, "checks", c.checks);
	return o;
}

json_t *evidence_of(struct session *s)
{
	struct summary sum = { 0 };
	struct err err = ERR_INIT, why = ERR_INIT;
	json_t *o = json_object(), *claims = NULL;
	if (summary_of(s, &sum, &err) == 0)
		summary_put_cost(o, sum.cost_uusd, sum.cost_unknown);
	else
		summary_put_cost(o, 0, true);
	summary_release(&sum);
	json_put(o, "verification", evidence_verify(s));
	if (check_claims(s, &claims, &why) == 0)
		json_put(o, "claims", claims);
	else
		json_put_str(o, "claims_why", why.text);
	return o;
}
