/* Sends spans and metrics of the running session to an OTLP collector (OTLP/HTTP with JSON, POST to
 * ENDPOINT/v1/traces and ENDPOINT/v1/metrics), if the configuration names one:
 *     c.otlp = { endpoint = "http://127.0.0.1:4318", headers = { Authorization = { secret = "NAME",
 *                prefix = "Bearer " } }, every = "5s", content = false }
 *
 * 1. The session never waits for the collector and never fails because of it. A worker thread reads
 *    committed events, some hundred spans at a time. One request runs at a time. At the end the
 *    rest gets OTLP_END_US.
 * 2. An unreachable collector is retried with growing delays (or after the delay that it names),
 *    from the same position. The user is warned once. Spans refused as wrong (400, 413, 422) are
 *    left out, so that the rest arrives; the user is warned once.
 * 3. Messages and output are sent only if `content` is set. The recording has no secrets, and those
 *    in headers come from the vault. Redirects are not followed.
 * A resumed session sends its new events. Loop thread only. */
#ifndef SUPERVISOR_TELEMETRY_OTLP_LIVE_H
#define SUPERVISOR_TELEMETRY_OTLP_LIVE_H

#include "supervisor/core/core.h"

enum { OTLP_END_US = 3000000 };

/* @conf: settings "otlp" as data, may be NULL. Returns 1 if they name a collector, 0 if not; -1
 * ERR_INVALID with the wrong setting. */
NODISCARD int otlp_live_check(const json_t *conf, struct err *err);

/* As soon as record and vault are there. Nothing when there is nothing to do. */
NODISCARD int otlp_live_begin(struct super *s, struct err *err);
/* Before the record is closed: sends what is left and frees it. @turns: the loop may still turn. */
void otlp_live_end(struct super *s, bool turns);

#endif
