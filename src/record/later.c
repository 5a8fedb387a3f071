#include "record/later.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "record/read/lease.h"
#include "record/store.h"

enum { STEP_BYTES = 4 << 20, TRIES = 40, TRY_MS = 250 };

bool later_due(struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	const char *path = session_path(s);
	uint64_t head = session_head(s);
	struct stat st;
	bool due = session_indexed(s) < head && stat(path, &st) == 0 && st.st_uid == geteuid() && !lease_busy(path) && access(path, W_OK) == 0 &&
		   session_event(s, head, &ev, &arena, &err) == 0 && ev.kind == EV_SESSION_END;
	arena_release(&arena);
	return due;
}

/* Whoever has it open for reading in the old way goes sooner or later. */
static int open_patiently(struct store **out, const char *path, struct err *err)
{
	static const uint8_t no_seed[SIGN_SEED_LEN]; /* nothing is signed */
	struct timespec pause = { .tv_nsec = TRY_MS * 1000000L };
	uint8_t uuid[UUID_LEN];
	int rc = -1;
	for (int i = 0; i < TRIES && rc < 0; i++) {
		CLEANUP(free_ptr) char *id = NULL;
		if (i)
			nanosleep(&pause, NULL);
		rc = store_open(out, path, no_seed, &id, uuid, err);
		if (rc < 0 && err->code != ERR_BUSY)
			break;
	}
	return rc;
}

static bool step(struct store *s, int lease, later_fn *fn, void *self)
{
	struct lease_note note;
	bool more = store_index(s, STEP_BYTES);
	store_note(s, &note);
	lease_note(lease, &note);
	store_tidy(s, false);
	return fn(self, store_indexed(s), store_seq(s)) && more && !lease_wanted(lease);
}

static int add(const char *path, int lease, later_fn *fn, void *self, struct err *err)
{
	struct store *s = NULL;
	if (open_patiently(&s, path, err) < 0)
		return -1;
	while (step(s, lease, fn, self))
		;
	bool whole = store_indexed(s) >= store_seq(s);
	CLEANUP(free_ptr) char *why = xstrdup(store_why(s));
	if (store_close(&s, true, err) < 0)
		return -1;
	return *why && !whole ? err_set(err, ERR_IO, "%s", why) : whole;
}

int later_index(const char *path, later_fn *fn, void *self, struct err *err)
{
	struct stat was;
	CLEANUP(free_ptr) char *companion = xasprintf("%s-lease", path), *log = xasprintf("%s-wal", path);
	if (stat(path, &was) < 0)
		return err_sys(err, "cannot look at '%s'", path);
	bool ours = access(companion, F_OK) < 0;
	CLEANUP(fd_close) int lease = lease_borrow(path, err);
	if (lease < 0)
		return -1;
	int rc = add(path, lease, fn, self, err);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, was.st_mtim };
	utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
	if (rc >= 0 || (ours && access(log, F_OK) < 0)) /* else its note tells how far the log reached */
		unlink(companion);
	return rc;
}
