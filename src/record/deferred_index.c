#include "record/deferred_index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "record/read/lease.h"
#include "record/store.h"

enum {
	STEP_BYTES = 4 << 20,
	TRIES = 10,
	TRY_MS = 250, /* beside as much in SQLite */
	/* events: a shorter session is read through for what no words lead to in less than a
	 * second */
	LONG = 1 << 20,
};

static bool deferred_index_has_ended(struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	bool ended = session_event(s, session_head(s), &ev, &arena, &err) == 0 &&
		     ev.kind == EV_SESSION_END;
	arena_release(&arena);
	return ended;
}

int deferred_index_may(struct session *s, struct err *err)
{
	const char *path = session_path(s);
	struct stat st;
	if (stat(path, &st) < 0)
		return err_sys(err, "can't read '%s'", path);
	if (session_live(s))
		return err_set(err, ERR_BUSY, "the session is running and builds its index itself");
	if (lease_busy(path))
		return err_set(err, ERR_BUSY, "another process builds its index");
	if (!deferred_index_has_ended(s))
		return err_set(
			err, ERR_INVALID,
			"the session was interrupted: run 'sandglass resume %s', then build its index",
			session_id(s));
	if (st.st_uid != geteuid())
		return err_set(
			err, ERR_DENIED,
			"its file belongs to another user (uid %u), and only that user can build its index; searches read the rest "
			"through",
			(unsigned)st.st_uid);
	if (access(path, W_OK) < 0)
		return err_set(err, ERR_DENIED,
			       "its file is read-only; searches read the part without an index");
	return 0;
}

bool deferred_index_due(struct session *s)
{
	struct err err = ERR_INIT;
	uint64_t head = session_head(s);
	return ((session_indexed(s) < head && !session_short(s)) ||
		(head > LONG && !session_valued(s))) &&
	       deferred_index_may(s, &err) == 0;
}

/* Waits for old-style readers to close the file. */
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

/* A transaction of its own: a process that waits for the file waits for one of them. *why_out: it
 * has failed. */
static bool deferred_index_step(struct store *s, int lease, later_fn *fn, void *self,
				char **why_out)
{
	struct lease_note note;
	bool more = store_index(s, STEP_BYTES);
	if (!more && *store_why(s))
		*why_out = mem_strdup(store_why(s));
	store_note(s, &note);
	lease_note(lease, &note);
	store_tidy(s, false);
	return fn(self, store_indexed(s), store_seq(s)) && more && !lease_wanted(lease);
}

static int deferred_index_add(const char *path, int lease, later_fn *fn, void *self,
			      struct err *err)
{
	struct store *s = NULL;
	if (open_patiently(&s, path, err) < 0)
		return err->code == ERR_BUSY
			       ? err_set(err, ERR_BUSY,
					 "another program keeps the file open for reading: "
					 "nothing changed; try again when it has closed the file")
			       : -1;
	CLEANUP(free_ptr) char *why = NULL;
	while (deferred_index_step(s, lease, fn, self, &why))
		;
	bool whole = store_indexed(s) >= store_seq(s);
	if (store_close(&s, true, err) < 0)
		return -1;
	return why ? err_set(err, ERR_IO, "%s", why) : whole;
}

int deferred_index_build(const char *path, later_fn *fn, void *self, struct err *err)
{
	struct stat was;
	CLEANUP(free_ptr)
	char *companion = mem_printf("%s-lease", path), *log = mem_printf("%s-wal", path);
	if (stat(path, &was) < 0)
		return err_sys(err, "can't read '%s'", path);
	bool ours = access(companion, F_OK) < 0;
	CLEANUP(fd_close) int lease = lease_borrow(path, err);
	if (lease < 0)
		return -1;
	int rc = deferred_index_add(path, lease, fn, self, err);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, was.st_mtim };
	utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
	/* else its note tells how far the log reached */
	if (rc >= 0 || (ours && access(log, F_OK) < 0))
		unlink(companion);
	return rc;
}
