/* The writer of a session: an open-file-description lock on the file's companion, FILE-lease,
 * held for as long as its writer lives. A query takes no lock, so that readers never block a
 * writer. */
#ifndef RECORD_READ_LEASE_H
#define RECORD_READ_LEASE_H

#include "base/err.h"

bool lease_held(const char *session_path);
/* The file is being written: by its session, or by a borrower. */
bool lease_busy(const char *session_path);
/* Of the program that holds it or held it last; 0 = unknown. */
int lease_pid(const char *session_path);

/* How far the file reached when its writer last committed: this note beside the file, never synced,
 * shows after a kill whether the write-ahead log is shorter than it was. */
struct lease_note {
	uint64_t seq;
	uint32_t salt; /* of the run through the log */
	uint64_t end;  /* of its newest frame; 0 = the log was empty */
};
void lease_note(int lease, const struct lease_note *note);
/* Takes the lease: the descriptor that holds it, or -1 (ERR_BUSY names the process that has it).
 * @was_out (may be NULL): what the writer before had noted, as lease_noted; seq 0: nothing is
 * known. It stays noted until the next lease_note. One that is borrowed is asked for and waited
 * for, some seconds; so is that of a process that is being killed. */
NODISCARD int lease_take(const char *session_path, struct lease_note *was_out, struct err *err);
/* For work on the file of a session that has ended (its search index); the session still counts
 * as ended. */
NODISCARD int lease_borrow(const char *session_path, struct err *err);
/* Another process waits for the borrowed file: give it back now. */
bool lease_wanted(int lease);
/* False: there is none (an old one, a copy without its companion), or the machine was started anew
 * since. */
bool lease_noted(const char *session_path, struct lease_note *out);

#endif
