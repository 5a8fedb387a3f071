/* Spans and metrics as OTLP/HTTP JSON (opentelemetry-proto 1.x, JSON mapping: lowerCamelCase,
 * enumerations as numbers, 64-bit integers as decimal strings, ids in hexadecimal) with the GenAI
 * names of semantic-conventions-genai.
 *
 * Trace: the session's uuid. Span of an event: its seq. session -> invoke_agent NAME -> chat MODEL
 * | execute_tool TOOL. What GenAI has no name for is "sandglass.*": action.seq, decision, verdict,
 * rules, tree.after. Pure. */
#ifndef EXCHANGE_OTLP_H
#define EXCHANGE_OTLP_H

#include "exchange/act.h"

/* The span of an ended action. @content: with messages and output (at most 16 KiB of each). New
 * reference. */
json_t *otlp_action(const struct act *a, struct session *s, const char uuid[33], bool content);
/* Of an agent, from its agent.start to @end_us; @end: body of agent.end or NULL. */
json_t *otlp_agent(struct session *s, uint64_t agent, int64_t begin_us, int64_t end_us,
		   const json_t *end, const char uuid[33]);
json_t *otlp_session(struct session *s, int64_t begin_us, int64_t end_us, bool ok,
		     const char uuid[33]);
/* {"attributes":[service.name, ...]} */
json_t *otlp_resource(struct session *s);
/* {"name":"sandglass","version":...} */
json_t *otlp_scope(void);

#endif
