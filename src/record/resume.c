#include <inttypes.h>
#include <stdio.h>

#include "record/record_priv.h"
#include "record/read/page_checksum.h"
#include "record/read/verify.h"

/* Committed events that are missing were removed: the host has not gone down since. */
static int record_resume_reaches(struct session *s, const struct lease_note *was, struct err *err)
{
	uint64_t head = session_head(s);
	if (head >= was->seq)
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "session file '%s' ends at event %" PRIu64 ", but event %" PRIu64
		       " was committed: its write-ahead log is truncated or damaged; "
		       "'sandglass fork %s#%" PRIu64
		       "' makes a new session of the remaining events",
		       session_path(s), head, was->seq, session_id(s), head);
}

int resume_check(const char *path, const struct lease_note *was, char *torn, size_t cap,
		 struct err *err)
{
	struct session *s;
	struct log_end log;
	*torn = 0;
	if (page_checksum_look_log(path, &log, err) < 0 || session_open(&s, path, err) < 0)
		return -1;
	int rc = verify_tail(s, err);
	if (rc == 0)
		rc = record_resume_reaches(s, was, err);
	if (rc == 0 && log.was_synced)
		rc = err_set(
			err, ERR_DAMAGED,
			"session file '%s': its write-ahead log %s at byte 0 and can't be read",
			path, log.why);
	if (rc == 0 && log.turned_at && !was->seq)
		rc = err_set(err, ERR_DAMAGED,
			     "session file '%s': a bit of byte %" PRIu64
			     " of its write-ahead log is flipped, and the rest can't be read; "
			     "'sandglass fork %s' makes a new session of the remaining events",
			     path, log.turned_at, session_id(s));
	session_close(&s);
	if (log.why && !was->seq)
		snprintf(torn, cap, "the write-ahead log %s at byte %" PRIu64, log.why, log.bad_at);
	return rc;
}
