/* Facts in a report beside the events of a session: its cost, whether the recording verifies,
 * and its agents' claims. */
#ifndef CHECK_EVIDENCE_H
#define CHECK_EVIDENCE_H

#include "base/json.h"
#include "record/read/session.h"

/* {"cost_uusd" (null: unknown), "cost_unknown" (cost_uusd is the least), "verification": {"verdict"
 * (verified, incomplete, failed, damaged, unknown), "why"?, "checks": [{name, result (ok, failed,
 * skipped), text}]}, "claims": as check_claims, or "claims_why": they could not be checked}. Never
 * fails; reads the whole file and runs a Lua host. Returns owned. */
json_t *evidence_of(struct session *s);

#endif
