/* Copies of a session file that leave the house. Any thread; the source is only read, and may be
 * running.
 *
 * A proof bundle is one SQLite file that holds the record in a form which sqlite3, sha256sum and
 * git can check without any program of ours (schema/check_proof.sh, schema/README.md "Proof
 * bundle"): contents unpacked, hashed headers beside their columns, no triggers, no index of
 * ours. */
#ifndef RECORD_EXPORT_COPY_H
#define RECORD_EXPORT_COPY_H

#include "base/err.h"

/* One consistent copy, also of a session that runs: one file, no WAL. @to does not exist. */
NODISCARD int export_copy_write(const char *from, const char *to, struct err *err);
NODISCARD int export_copy_proof(const char *from, const char *to, struct err *err);

#endif
