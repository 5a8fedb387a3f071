/* Spans and metrics of the session that runs, sent to an OTLP collector as it goes (OTLP/HTTP with
 * JSON, POST to ENDPOINT/v1/traces and ENDPOINT/v1/metrics), when the configuration names one:
 *     c.otlp = { endpoint = "http://127.0.0.1:4318", headers = { Authorization = { secret = "NAME",
 *     prefix = "Bearer " } },
 *                every = "5s", content = false }
 *
 * 1. The session never waits for it and never fails by it: it reads committed events on a worker
 * thread, some hundred spans
 *    at a time, and one request is under way at most. At the end what is left gets OTLP_END_US.
 * 2. A collector that is away is asked again, later each time (or when it says), from where it
 * stopped. People are told once.
 *    What it refuses as wrong (400, 413, 422) is left out, so that the rest gets there; people are
 *    told once.
 * 3. What was said and printed is not sent unless `content` is set. Secrets are not in what was
 * recorded, and those in
 *    headers come from the vault. Redirects are not followed.
 * A resumed session sends from where it goes on. Loop thread only. */
#ifndef SUPERVISOR_TELEMETRY_OTLP_LIVE_H
#define SUPERVISOR_TELEMETRY_OTLP_LIVE_H

#include "supervisor/core/core.h"

enum { OTLP_END_US = 3000000 };

/* @conf: settings "otlp" as data, may be NULL. 1: they name a collector; 0: they name none; -1
 * ERR_INVALID with what is wrong. */
NODISCARD int otlp_live_check(const json_t *conf, struct err *err);

/* As soon as record and vault are there. Nothing when there is nothing to do. */
NODISCARD int otlp_live_begin(struct super *s, struct err *err);
/* Before the record is closed: sends what is left and frees it. @turns: the loop may still turn. */
void otlp_live_end(struct super *s, bool turns);

#endif
