/* Each call of the file system that SQLite makes for a session fails once: creating it, recording, redacting, closing,
 * and resuming. The record stops with an error or continues, nothing that was acknowledged is missing, the file verifies,
 * and it can be continued. Some of the calls; with LONG all of them. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_help.h"

enum { STEP = 31, AT_ONCE = 8, CALLS_MAX = 20000, TIME_US = 20000000 };

/* --- a VFS below the recorder's own, which fails one call --- */

static struct {
	atomic_uint calls, fail_at; /* 0: none */
	atomic_int errno_of;
	atomic_bool hit;
	const char *volatile what;
} faults;

struct file {
	sqlite3_file base;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return (sqlite3_file *)((struct file *)f + 1);
}

static bool fails_now(const char *what)
{
	if (++faults.calls != faults.fail_at)
		return false;
	faults.what = what;
	faults.hit = true;
	errno = faults.errno_of;
	return true;
}

#define BELOW(f) real_of(f)->pMethods
#define CALL(name, code, proto, ...)                                                               \
	static int fault_##name proto                                                              \
	{                                                                                          \
		return fails_now(#name) ? (code) : (__VA_ARGS__);                                  \
	}

static int full_or(int code)
{
	return faults.errno_of == ENOSPC ? SQLITE_FULL : code;
}

CALL(read, SQLITE_IOERR_READ, (sqlite3_file * f, void *b, int n, sqlite3_int64 at),
     BELOW(f)->xRead(real_of(f), b, n, at))
CALL(write, full_or(SQLITE_IOERR_WRITE), (sqlite3_file * f, const void *b, int n, sqlite3_int64 at),
     BELOW(f)->xWrite(real_of(f), b, n, at))
CALL(truncate, SQLITE_IOERR_TRUNCATE, (sqlite3_file * f, sqlite3_int64 n),
     BELOW(f)->xTruncate(real_of(f), n))
CALL(sync, SQLITE_IOERR_FSYNC, (sqlite3_file * f, int flags), BELOW(f)->xSync(real_of(f), flags))
CALL(size, SQLITE_IOERR_FSTAT, (sqlite3_file * f, sqlite3_int64 *n),
     BELOW(f)->xFileSize(real_of(f), n))
CALL(lock, SQLITE_IOERR_LOCK, (sqlite3_file * f, int how), BELOW(f)->xLock(real_of(f), how))
CALL(shm_map, SQLITE_IOERR_SHMMAP, (sqlite3_file * f, int p, int n, int more, void volatile **out),
     BELOW(f)->xShmMap(real_of(f), p, n, more, out))

/* Giving a lock back can't fail on Linux. */
static int fault_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	if ((flags & SQLITE_SHM_LOCK) && fails_now("shm_lock"))
		return SQLITE_IOERR_SHMLOCK;
	return BELOW(f)->xShmLock(real_of(f), at, n, flags);
}

static int fault_close(sqlite3_file *f)
{
	return BELOW(f)->xClose(real_of(f));
}

static int fault_unlock(sqlite3_file *f, int how)
{
	return BELOW(f)->xUnlock(real_of(f), how);
}

static int fault_reserved(sqlite3_file *f, int *out)
{
	return BELOW(f)->xCheckReservedLock(real_of(f), out);
}

static int fault_control(sqlite3_file *f, int op, void *arg)
{
	return BELOW(f)->xFileControl(real_of(f), op, arg);
}

static int fault_sector(sqlite3_file *f)
{
	return BELOW(f)->xSectorSize(real_of(f));
}

static int fault_traits(sqlite3_file *f)
{
	return BELOW(f)->xDeviceCharacteristics(real_of(f));
}

static void fault_barrier(sqlite3_file *f)
{
	BELOW(f)->xShmBarrier(real_of(f));
}

static int fault_shm_unmap(sqlite3_file *f, int remove)
{
	return BELOW(f)->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods fault_methods = {
	2,
	fault_close,
	fault_read,
	fault_write,
	fault_truncate,
	fault_sync,
	fault_size,
	fault_lock,
	fault_unlock,
	fault_reserved,
	fault_control,
	fault_sector,
	fault_traits,
	fault_shm_map,
	fault_shm_lock,
	fault_barrier,
	fault_shm_unmap,
	NULL,
	NULL,
};

static sqlite3_vfs *below, ours;

static int fault_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
		      int *flags_out)
{
	(void)vfs;
	f->pMethods = NULL;
	if (fails_now("open"))
		return SQLITE_CANTOPEN;
	int rc = below->xOpen(below, name, real_of(f), flags, flags_out);
	f->pMethods = real_of(f)->pMethods ? &fault_methods : NULL;
	return rc;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	return fails_now("delete") ? SQLITE_IOERR_DELETE : below->xDelete(below, name, sync);
}

static void stand_below(void)
{
	sqlite3_initialize();
	below = sqlite3_vfs_find(NULL);
	ours = *below;
	ours.zName = "faults";
	ours.pNext = NULL;
	ours.szOsFile = (int)sizeof(struct file) + below->szOsFile;
	ours.xOpen = fault_open;
	ours.xDelete = fault_delete;
	sqlite3_vfs_register(&ours, 1);
}

/* --- a session --- */

struct life {
	struct loop *l;
	struct record *r;
	char dir[64], path[300];
	uint64_t acked, secret;
	bool dead, waited, redacted;
	char why[200];
};

static void on_state(void *self, enum record_state state, const char *why)
{
	struct life *life = self;
	life->dead |= state == RECORD_DEAD;
	if (state != RECORD_OK)
		snprintf(life->why, sizeof life->why, "%s", why);
}

static const struct record_ops life_ops = { .on_state = on_state };

static void on_waited(void *self)
{
	struct life *life = self;
	life->waited = true;
}

/* True when everything so far is acknowledged. */
static bool acknowledge(struct life *life)
{
	uint64_t seq = record_head(life->r);
	int64_t until = clock_mono_us() + TIME_US;
	life->waited = false;
	record_barrier(life->r, seq, on_waited, life);
	while (!life->waited && !life->dead && clock_mono_us() < until)
		loop_turn(life->l, 10);
	if (life->waited)
		life->acked = seq;
	else
		record_barrier_forget(life->r, life);
	return life->waited;
}

static void on_redacted(void *self)
{
	struct life *life = self;
	life->redacted = true;
}

static void put_some(struct life *life, int n)
{
	uint64_t action = record_append_json(life->r, 420, 0, 0, 0, 0, json_object());
	char text[3000];
	memset(text, 'a' + n, sizeof text);
	record_output(life->r, action, STREAM_OUT, text, sizeof text);
	record_output_end(life->r, action);
	struct objects *o = objects_new();
	struct object_id blob;
	struct event ev = { .kind = 210, .body = "{}", .len = 2 };
	snprintf(text, sizeof text, "object %d", n);
	objects_add(o, OBJECT_BLOB, text, strlen(text), &blob);
	record_objects(life->r, o, &ev);
	if (n == 2)
		record_checkpoint(life->r);
}

static bool works(struct life *life, int from, int to)
{
	for (int n = from; n < to; n++) {
		put_some(life, n);
		if (!acknowledge(life))
			return false;
	}
	return true;
}

/* Ends it in some way: a record that is dead can't be closed. Returns a problem or NULL. */
static const char *end_life(struct life *life)
{
	struct err err = ERR_INIT;
	if (!life->r)
		return NULL;
	if (life->dead) {
		const char *problem = life->why[0] ? NULL : "it died without a reason";
		record_abandon(&life->r);
		return problem;
	}
	if (record_close(&life->r, NULL, &err) < 0 && !err.text[0])
		return "closing failed without a reason";
	if (life->r)
		record_abandon(&life->r);
	return NULL;
}

static const char *begin_life(struct life *life, const char *path)
{
	struct err err = ERR_INIT;
	life->dead = false;
	int rc = path ? record_resume(&life->r, life->l, path, &life_ops, life, &err)
		      : record_create(&life->r, life->l, life->dir, "fault", NULL, &life_ops, life,
				      &err);
	if (rc < 0)
		return err.text[0] ? "" : "opening failed without a reason";
	snprintf(life->path, sizeof life->path, "%s", record_path(life->r));
	return NULL;
}

static char last_said[300];

static const char *say(const char *what, const char *detail)
{
	snprintf(last_said, sizeof last_said, "%s: %s", what, detail);
	return last_said;
}

static void on_check(void *self, const char *name, enum verify_result result, const char *text,
		     uint64_t seq)
{
	(void)seq;
	if (result == VERIFY_FAIL)
		snprintf(self, 200, "%s: %s", name, text);
}

static void redact_one(struct life *life)
{
	struct err err = ERR_INIT;
	json_t *b = json_object();
	json_put_str(b, "text", "Zwetschgenkuchen");
	life->secret = record_append_json(life->r, 420, 0, 0, 0, 0, b);
	if (acknowledge(life) && record_redact(life->r, "event", life->secret, NULL, "me", "why",
					       on_redacted, life, &err) == 0)
		for (int64_t until = clock_mono_us() + TIME_US;
		     !life->redacted && !life->dead && clock_mono_us() < until;)
			loop_turn(life->l, 10);
}

/* Is text that was redacted in a file of the session? */
static bool redacted_is_there(struct life *life)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	bool there = false;
	for (size_t i = 0; life->redacted && i < ARRAY_LEN(tail); i++) {
		struct err err;
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", life->path, tail[i]);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		there |= access(name, F_OK) == 0 && file_read(name, &b, 64 << 20, &err) == 0 &&
			 memmem(b.data, b.len, "Zwetschgenkuchen", 16);
	}
	return there;
}

/* The file as the next program finds it. */
static const char *look_at(struct life *life)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct verify_totals t = { 0 };
	char failed[200] = "";
	if (session_open(&s, life->path, &err) < 0)
		return say("it can't be opened", err.text);
	const char *problem = NULL;
	if (session_head(s) < life->acked)
		problem = say("acknowledged events are missing", life->why);
	else if (verify_session(s, NULL, on_check, failed, &t, &err) < 0)
		problem = say("verification fails", err.text);
	else if (t.failed)
		problem = say("verification finds", failed);
	else if (redacted_is_there(life))
		problem = "redacted text is still there";
	session_close(&s);
	return problem;
}

/* One life with one fault; NULL: all is well. */
static const char *live(struct life *life)
{
	const char *problem = begin_life(life, NULL);
	if (!problem) {
		if (works(life, 0, 4)) {
			redact_one(life);
			works(life, 4, 5);
		}
		problem = end_life(life);
		if (!problem && !(problem = begin_life(life, life->path))) {
			works(life, 5, 7);
			problem = end_life(life);
		}
	}
	faults.fail_at = 0;
	if (problem && *problem)
		return problem;
	if (life->path[0] && (problem = look_at(life)))
		return problem;
	life->why[0] = 0;
	problem = begin_life(life, life->path[0] ? life->path : NULL);
	if (problem)
		return "it can't be continued";
	if (!works(life, 7, 8))
		return say("it can't be written", life->why);
	if ((problem = end_life(life)))
		return problem;
	return look_at(life);
}

/* In a process of its own, so that nothing of one life is left for the next. Returns 0 well, 1 not, 2 the call @n is
 * never made. */
static int try_one(unsigned n, int errno_of)
{
	struct err err = ERR_INIT;
	struct life life = { 0 };
	faults.errno_of = errno_of;
	faults.calls = 0;
	faults.fail_at = n;
	snprintf(life.dir, sizeof life.dir, "%s/%u.%d", help_root, n, errno_of);
	if (loop_new(&life.l, &err) < 0)
		return 1;
	alarm(60);
	const char *problem = live(&life);
	if (problem)
		printf("# call %u (%s), %s: %s\n", n, faults.what ? faults.what : "none",
		       strerrorname_np(errno_of), problem);
	fflush(stdout);
	(void)!dir_remove(life.dir, &err);
	return !faults.hit ? 2 : problem ? 1 : 0;
}

/* Waits for one child. True if it found that no call has its number. */
static bool take_one(unsigned *bad)
{
	int status = 0;
	wait(&status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return true;
	*bad += status != 0;
	if (WIFSIGNALED(status))
		printf("# signal %d\n", WTERMSIG(status));
	return false;
}

/* A life mostly waits, so several run at once. */
static void try_all(int errno_of)
{
	const char *one = getenv("FAULT"); /* this call only */
	unsigned bad = 0, begun = 0, ended = 0, step = getenv("LONG") ? 1 : STEP;
	bool over = false;
	for (unsigned n = one ? (unsigned)atoi(one) : 1; !over && n < CALLS_MAX; n += step) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0)
			_exit(try_one(n, errno_of));
		begun++;
		if (begun - ended == AT_ONCE) {
			over = take_one(&bad);
			ended++;
		}
		over |= one != NULL;
	}
	for (; ended < begun; ended++)
		over |= take_one(&bad);
	ok(over && !bad, "%s: of %u calls that failed once, %u did harm", strerrorname_np(errno_of),
	   begun, bad);
	ok(one || begun > 10, "the calls were made");
}

int main(void)
{
	help_init();
	stand_below();
	try_all(EIO);
	try_all(ENOSPC);
	return help_done();
}
