/* Verifies a recording (record/read/verify.h) while the screens stay alive, in its own thread
 * with the session file opened anew. It only reads. Call from the console's thread. */
#ifndef UI_FRAME_VERIFYING_H
#define UI_FRAME_VERIFYING_H

#include "base/mem.h"
#include "record/read/verify.h"

struct verifying;

typedef int64_t verifying_clock(void); /* mono, in microseconds; any thread */

struct verified {
	const char *name, *text;
	enum verify_result result;
	uint64_t seq; /* the first bad event; 0 none */
	int64_t took_us;
};
/* How far it is. */
struct verify_seen {
	struct verified *row; /* in the arena, those that have come, in their order */
	size_t nr;
	/* the last event of the file as it was opened; 0 it is not open yet */
	uint64_t head;
	bool over;
	int64_t since_us; /* mono: when the check under way began */
	int64_t took_us;  /* of the whole, once it is over */
	struct verify_totals totals;
	struct err err; /* the reason for an early end */
};

/* The checks by name, with what each proves, in their order; NULL past the end. */
const char *verify_name(size_t i);
const char *verify_about(size_t i);

/* Begins. Returns owned; NULL with @err. */
struct verifying *verifying_new(const char *path, verifying_clock *clock, struct err *err);
/* Stops the thread and waits for it, as long as one read of the disk takes. Finished checks
 * stay. err is ERR_CANCELLED if checks are missing. */
void verifying_stop(struct verifying *v);
/* The same, and nothing stays. NULL inside is fine. */
void verifying_free(struct verifying **v);
void verifying_look(struct verifying *v, struct verify_seen *out, struct arena *a);

#endif
