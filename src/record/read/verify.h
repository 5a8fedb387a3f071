/* Is a session file what was written, and did everything happen in the right order?
 *
 * Checks, in this order (name: proof):
 *   bytes        every byte of the file and its write-ahead log is as written, also in unused
 *                space (page_checksum.h)
 *   pages        the file is intact as a database: pages, indexes, the search index
 *   chain        seqs without a hole, every body and header under one chain of hashes
 *   signatures   every checkpoint is signed by a key that the chain names, over the chain at
 *                that event
 *   anchor       the file reaches every anchor noted outside of it: nothing was cut off or remade;
 *                FILE-anchor beside an archived file can be changed together with it: a wrong
 *                line fails, right ones are named and alone make the check a skipped one
 *   segments     output matches its events
 *   objects      git objects match their names and their events
 *   messages     pooled model messages match their names; the messages that calls name exist
 *   order        nothing was started before it was allowed
 *   closed       every action that was requested has ended
 *   complete     no event says that something is not in the recording
 *   redactions   what was removed was removed by a recorded event
 * Reading only; any thread (the session's). */
#ifndef RECORD_READ_VERIFY_H
#define RECORD_READ_VERIFY_H

#include "record/read/session.h"

enum verify_result { VERIFY_OK, VERIFY_FAIL, VERIFY_SKIP };

struct verify_opts {
	/* path of an anchor.log; NULL = ours; "" = none (the check is skipped); a named one has to
	 * hold the session */
	const char *anchor;
	/* check events only: bytes, pages, segments, objects, and messages are reported as
	 * skipped */
	bool quick;
	/* the 32 bytes that must have signed; NULL = whatever key the file names */
	const uint8_t *key;
};

/* One check. @text: one line for users ("41,203 events, chain unbroken"). @seq: the first bad
 * event, 0 = none. */
typedef void verify_report_fn(void *self, const char *name, enum verify_result result,
			      const char *text, uint64_t seq);

struct verify_totals {
	uint64_t events, segments, objects, messages, checkpoints, redacted;
	/* lines that agree: of the anchor log; of FILE-anchor, about later events */
	uint64_t anchors, anchors_beside;
	unsigned ok, failed, skipped;
	uint64_t first_bad; /* 0 = none */
};

/* 0 when it ran (see totals.failed), -1 when the file could not be read. @opts and @report may be
 * NULL. */
NODISCARD int verify_session(struct session *s, const struct verify_opts *opts,
			     verify_report_fn *report, void *self, struct verify_totals *totals,
			     struct err *err);

/* Where a file that could not be opened is damaged, as far as its sums tell: "page 7 (bytes ...) is
 * ..."; false: they do not. */
bool verify_unopened(const char *path, char *out, size_t cap);

/* Checks from the last checkpoint on, and against the anchor: before a new writer continues.
 * ERR_DAMAGED: the text names the damage. */
NODISCARD int verify_tail(struct session *s, struct err *err);

#endif
