/* A cassette: model traffic as a JSONL file that a repository can hold, played back instead of
 * the network.
 *
 *   line 1   {"cassette":1,"created":"2026-11-21T...Z","match":1}
 *   others   {"key":HEX,"path":"/v1/messages","request":{...},"status":200,
 *            "type":"text/event-stream",
 *            "chunks":[[us since the one before, bytes],...],"end":"eof"|"cut"}
 *
 * key = H over path and request in canonical form (rule set 1): keys sorted; without metadata,
 * stream_options, prompt_cache_key, service_tier, cache_control. Variable parts are replaced in
 * every text: UUIDs, ISO times, names below /tmp, call ids, durations in seconds. The same key
 * asked again gets the next answer recorded under it, and finally the last one again. Headers
 * are not kept; texts are cleaned of secrets before they get here. */
#ifndef MODELS_CASSETTE_H
#define MODELS_CASSETTE_H

#include "base/json.h"

struct cassette;

/* @add: requests that it does not know are let through and added; else they are an error. A file
 * that does not exist is made when @add. ERR_PARSE names the line; only a last line that was cut
 * off is left out (and taken away when @add). */
NODISCARD int cassette_open(struct cassette **out, const char *path, bool add, struct err *err);
void cassette_free(struct cassette **c);
bool cassette_adds(const struct cassette *c);

/* The next answer for a request, borrowed; NULL when there is none: then @err says where the
 * nearest recorded request differs. */
const json_t *cassette_find(struct cassette *c, const char *path, const char *body, size_t len,
			    struct err *err);

/* Appends what was asked and answered; @answer is taken: status, type, chunks, end. */
NODISCARD int cassette_add(struct cassette *c, const char *path, const char *body, size_t len,
			   json_t *answer, struct err *err);

/* The canonical form, for tests and for differences. Appends. */
void cassette_canonical(const char *path, const char *body, size_t len, struct buf *out);

#endif
