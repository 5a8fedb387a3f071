#include "record/vfs.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "record/checksum_queue.h"
#include "record/frames.h"
#include "record/read/page_checksum.h"

enum which { MAIN, LOG };
enum { LOG_HEADER = 32, AHEAD = 60 }; /* frames that the log should have room for */
enum keeps { UNKNOWN, NONE, KEPT };
/* of the log, in its shared memory: WAL_WRITE_LOCK in SQLite's description of the format */
enum { LOG_WRITE_LOCK };

/* The file of the VFS below stands behind it. */
struct file {
	sqlite3_file base;
	enum which which;
	enum keeps sums;
	struct due due;	   /* of MAIN */
	const char *name;  /* of MAIN, as long as it is open */
	struct file *main; /* of LOG: the file that it is the log of; NULL: one without sums */
	struct file *log;  /* of MAIN, as long as it is open */
	uint32_t salt;	   /* of LOG */
	uint64_t end, top; /* of the last complete transaction; of everything written */
	struct frames out; /* of LOG */
	bool gone;	   /* ... they are written, and not noted yet in @due of MAIN */
	uint64_t room;	   /* of LOG: its size, as far as it is known */
	bool tight;	   /* there was no space for more of it */
	bool relaxed;	   /* LOG: commits are not synced */
	/* LOG: begun anew, and not synced since: its head must be on the disk before its frames
	 * count */
	bool fresh;
};

static sqlite3_vfs vfs_ours;
static sqlite3_vfs *vfs_below;

static sqlite3_file *vfs_real(sqlite3_file *f)
{
	return (sqlite3_file *)((struct file *)f + 1);
}

static enum keeps vfs_says(const uint8_t *header)
{
	return header[20] == SUMS_TAIL && header[16] == (SUMS_PAGE >> 8) && !header[17] ? KEPT
											: NONE;
}

static bool keeps_sums(struct file *f)
{
	UNSET uint8_t header[24];
	sqlite3_file *to = vfs_real(&f->base);
	if (f->sums == UNKNOWN)
		f->sums = to->pMethods->xRead(to, header, sizeof(header), 0) == SQLITE_OK
				  ? vfs_says(header)
				  : NONE;
	return f->sums == KEPT;
}

static int write_page(struct file *f, const void *bytes, sqlite3_int64 at)
{
	UNSET uint8_t page[SUMS_PAGE];
	sqlite3_file *to = vfs_real(&f->base);
	if (at == 0)
		f->sums = vfs_says(bytes);
	if (!keeps_sums(f))
		return to->pMethods->xWrite(to, bytes, SUMS_PAGE, at);
	memcpy(page, bytes, sizeof(page));
	page_checksum_make(page);
	int rc = to->pMethods->xWrite(to, page, SUMS_PAGE, at);
	if (rc == SQLITE_OK)
		checksum_queue_summed(&f->due, (uint32_t)(at / SUMS_PAGE) + 1, page);
	return rc;
}

/* The committed pages in the log, read at the first query. */
struct in_log {
	bool looked;
	struct log_pages pages;
};

static bool was_committed(const struct file *f, struct in_log *log, uint32_t nr,
			  const uint8_t page[SUMS_PAGE])
{
	struct err err;
	if (!log->looked && page_checksum_log_pages(f->name, &log->pages, &err) < 0)
		log->pages.nr = 0;
	log->looked = true;
	return page_checksum_in_log(f->name, &log->pages, nr, page);
}

/* The log is about to restart, so the main file holds all its pages: pages that another program has
 * moved there get their checksums. A read or write failure here is found by verification. */
static void give_sums(struct file *f)
{
	UNSET uint8_t page[SUMS_PAGE];
	sqlite3_file *to = vfs_real(&f->base);
	const struct due_page *p;
	struct in_log log = { 0 };
	bool any = false;
	for (size_t at = 0; (p = checksum_queue_next(&f->due, &at));) {
		sqlite3_int64 where = (sqlite3_int64)(p->nr - 1) * SUMS_PAGE;
		if (to->pMethods->xRead(to, page, SUMS_PAGE, where) != SQLITE_OK ||
		    page_checksum_hold(page))
			continue;
		page_checksum_make(page);
		if (!memcmp(page + SUMS_PAGE - SUMS_TAIL, p->sum, SUMS_TAIL) ||
		    was_committed(f, &log, p->nr, page))
			any |= to->pMethods->xWrite(to, page, SUMS_PAGE, where) == SQLITE_OK;
	}
	log_pages_release(&log.pages);
	if (any)
		(void)to->pMethods->xSync(to, SQLITE_SYNC_NORMAL);
}

static uint32_t page_of(const uint8_t head[FRAME_HEAD])
{
	return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

/* A page of a frame that was written before: its head says which. */
static void note_again(struct file *f, const void *bytes, sqlite3_int64 at)
{
	uint8_t head[FRAME_HEAD];
	sqlite3_file *log = vfs_real(&f->base);
	if (log->pMethods->xRead(log, head, sizeof(head), at - FRAME_HEAD) == SQLITE_OK)
		checksum_queue_logged(&f->main->due, page_of(head), bytes);
}

static bool logs_sums(const struct file *f)
{
	return f->main && keeps_sums(f->main);
}

/* Notes a write to the log of a file with sums. */
static void vfs_note_due(struct file *f, const void *bytes, int len, sqlite3_int64 at)
{
	if (at == 0)
		checksum_queue_reset(&f->main->due);
	else if (len == FRAME_LEN)
		checksum_queue_logged(&f->main->due, page_of(bytes),
				      (const uint8_t *)bytes + FRAME_HEAD);
	else if (len == FRAME_HEAD)
		checksum_queue_logged(&f->main->due, page_of(bytes), NULL);
	else if (len == SUMS_PAGE)
		note_again(f, bytes, at);
}

static void note_log(struct file *f, const void *bytes, int len, sqlite3_int64 at)
{
	uint32_t salt;
	if (at == 0 && len >= 20) {
		memcpy(&salt, (const char *)bytes + 16, sizeof(salt));
		f->salt = be32toh(salt);
		f->end = f->top = 0;
		f->fresh = true;
		f->tight = false;
	}
	if ((uint64_t)at + (uint64_t)len > f->top)
		f->top = (uint64_t)at + (uint64_t)len;
	if (f->top > f->room)
		f->room = f->top;
	if (at && (len == FRAME_HEAD || len == FRAME_LEN) && frame_ends(bytes))
		f->end = (uint64_t)at + FRAME_LEN;
}

static int put_log(struct file *f, const void *bytes, int len, sqlite3_int64 at)
{
	sqlite3_file *to = vfs_real(&f->base);
	bool due = logs_sums(f);
	if (due && at == 0)
		give_sums(f->main);
	int rc = to->pMethods->xWrite(to, bytes, len, at);
	if (rc != SQLITE_OK)
		return rc;
	if (due)
		vfs_note_due(f, bytes, len, at);
	note_log(f, bytes, len, at);
	return SQLITE_OK;
}

/* Frames that have been written: what nobody waits for. */
static void vfs_catch_up_file(struct file *f)
{
	const uint8_t *frame;
	int len;
	if (!f->gone)
		return;
	sqlite3_int64 at = f->out.at;
	for (size_t n = 0; logs_sums(f) && (frame = frames_next(&f->out, &n, &len)); at += len)
		vfs_note_due(f, frame, len, at);
	frames_clear(&f->out);
	f->gone = false;
}

/* Before any operation that does not continue the frames held. */
static int give_out(sqlite3_file *file)
{
	struct file *f = (struct file *)file;
	const uint8_t *frame;
	int len;
	if (f->gone || !f->out.len)
		return SQLITE_OK;
	int rc = vfs_real(file)->pMethods->xWrite(vfs_real(file), f->out.bytes, (int)f->out.len,
						  f->out.at);
	if (rc != SQLITE_OK) {
		frames_clear(&f->out);
		return rc;
	}
	f->gone = true;
	sqlite3_int64 at = f->out.at;
	for (size_t n = 0; (frame = frames_next(&f->out, &n, &len)); at += len)
		note_log(f, frame, len, at);
	return SQLITE_OK;
}

static int write_log(struct file *f, const void *bytes, int len, sqlite3_int64 at)
{
	vfs_catch_up_file(f);
	if (f->out.len && frames_take(&f->out, bytes, len, at))
		return frames_due(&f->out) ? give_out(&f->base) : SQLITE_OK;
	int rc = give_out(&f->base);
	if (rc != SQLITE_OK)
		return rc;
	vfs_catch_up_file(f);
	/* a head that is written anew has its page already: none follows */
	bool more = (uint64_t)at >= f->top && frames_take(&f->out, bytes, len, at);
	return more ? SQLITE_OK : put_log(f, bytes, len, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	struct file *f = (struct file *)file;
	if (f->which == LOG)
		return write_log(f, bytes, len, at);
	return len == SUMS_PAGE ? write_page(f, bytes, at)
				: vfs_real(file)->pMethods->xWrite(vfs_real(file), bytes, len, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct file *f = (struct file *)file;
	int rc = give_out(file);
	if (rc != SQLITE_OK)
		return rc;
	vfs_catch_up_file(f);
	bool emptied = f->which == LOG && size == 0 && f->main;
	if (emptied)
		give_sums(f->main);
	if (f->which == LOG && f->end > (uint64_t)size)
		f->end = (uint64_t)size;
	if (f->which == LOG && f->top > (uint64_t)size)
		f->top = (uint64_t)size;
	rc = vfs_real(file)->pMethods->xTruncate(vfs_real(file), size);
	if (rc == SQLITE_OK)
		f->room = (uint64_t)size;
	if (rc == SQLITE_OK && emptied)
		checksum_queue_reset(&f->main->due);
	return rc;
}

/* --- the rest is handed on --- */

static int file_close(sqlite3_file *f)
{
	int rc = give_out(f), closed = vfs_real(f)->pMethods->xClose(vfs_real(f));
	struct file *of = ((struct file *)f)->main;
	if (of)
		of->log = NULL;
	checksum_queue_release(&((struct file *)f)->due);
	frames_release(&((struct file *)f)->out);
	return rc != SQLITE_OK ? rc : closed;
}

static int file_read_at(sqlite3_file *f, void *buf, int len, sqlite3_int64 at)
{
	int rc = give_out(f);
	return rc == SQLITE_OK ? vfs_real(f)->pMethods->xRead(vfs_real(f), buf, len, at) : rc;
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct file *f = (struct file *)file;
	int rc = give_out(file);
	if (rc != SQLITE_OK || (f->relaxed && !f->fresh))
		return rc;
	rc = vfs_real(file)->pMethods->xSync(vfs_real(file), flags);
	f->fresh &= rc != SQLITE_OK;
	return rc;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *out)
{
	int rc = give_out(f);
	return rc == SQLITE_OK ? vfs_real(f)->pMethods->xFileSize(vfs_real(f), out) : rc;
}

static int file_lock(sqlite3_file *f, int how)
{
	return vfs_real(f)->pMethods->xLock(vfs_real(f), how);
}

static int file_unlock(sqlite3_file *f, int how)
{
	return vfs_real(f)->pMethods->xUnlock(vfs_real(f), how);
}

static int file_reserved(sqlite3_file *f, int *out)
{
	return vfs_real(f)->pMethods->xCheckReservedLock(vfs_real(f), out);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return vfs_real(f)->pMethods->xFileControl(vfs_real(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return vfs_real(f)->pMethods->xSectorSize(vfs_real(f));
}

static int file_traits(sqlite3_file *f)
{
	return vfs_real(f)->pMethods->xDeviceCharacteristics(vfs_real(f));
}

static int shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return vfs_real(f)->pMethods->xShmMap(vfs_real(f), page, size, extend, out);
}

/* A commit has written all its frames. So frames still held when the write lock goes belong to a
 * transaction that was rolled back, and the next writer gets their place. */
static void drop_undone(struct file *log)
{
	if (log && !log->gone)
		frames_clear(&log->out);
}

static int shm_lock(sqlite3_file *f, int from, int nr, int flags)
{
	if (from == LOG_WRITE_LOCK && (flags & SQLITE_SHM_UNLOCK) && (flags & SQLITE_SHM_EXCLUSIVE))
		drop_undone(((struct file *)f)->log);
	return vfs_real(f)->pMethods->xShmLock(vfs_real(f), from, nr, flags);
}

static void shm_barrier(sqlite3_file *f)
{
	vfs_real(f)->pMethods->xShmBarrier(vfs_real(f));
}

static int shm_unmap(sqlite3_file *f, int remove)
{
	return vfs_real(f)->pMethods->xShmUnmap(vfs_real(f), remove);
}

static const sqlite3_io_methods vfs_methods = {
	2, /* no memory maps: reads through them would not be checked */
	file_close, file_read_at, file_write,	 file_truncate, file_sync,   file_size,
	file_lock,  file_unlock,  file_reserved, file_control,	file_sector, file_traits,
	shm_map,    shm_lock,	  shm_barrier,	 shm_unmap,	NULL,	     NULL,
};

static int vfs_open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
			 int *flags_out)
{
	struct file *f = (struct file *)file;
	(void)vfs;
	if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		return vfs_below->xOpen(vfs_below, name, file, flags, flags_out);
	*f = (struct file){ .which = flags & SQLITE_OPEN_WAL ? LOG : MAIN, .name = name };
	int rc = vfs_below->xOpen(vfs_below, name, vfs_real(file), flags, flags_out);
	f->base.pMethods = vfs_real(file)->pMethods ? &vfs_methods : NULL;
	sqlite3_file *of = flags & SQLITE_OPEN_WAL ? sqlite3_database_file_object(name) : NULL;
	if (rc == SQLITE_OK && of && of->pMethods == &vfs_methods) {
		f->main = (struct file *)of;
		f->main->log = f;
	}
	return rc;
}

static void make_vfs(void)
{
	vfs_below = sqlite3_vfs_find(NULL);
	vfs_ours = *vfs_below;
	vfs_ours.zName = RECORD_VFS;
	vfs_ours.pNext = NULL;
	vfs_ours.szOsFile = (int)sizeof(struct file) + vfs_below->szOsFile;
	vfs_ours.xOpen = vfs_open_file;
	sqlite3_vfs_register(&vfs_ours, 0);
}

void vfs_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_vfs);
}

int vfs_keep_sums(sqlite3 *db)
{
	int room = SUMS_TAIL;
	return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &room);
}

/* NULL: it has none now. */
static struct file *log_of(sqlite3 *db)
{
	sqlite3_file *file = NULL;
	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK ||
	    !file || file->pMethods != &vfs_methods)
		return NULL;
	return (struct file *)file;
}

void vfs_log_end(sqlite3 *db, uint32_t *salt_out, uint64_t *end_out)
{
	const struct file *f = log_of(db);
	*salt_out = f ? f->salt : 0;
	*end_out = f ? f->end : 0;
}

void vfs_relax(sqlite3 *db, bool relaxed)
{
	struct file *f = log_of(db);
	if (f)
		f->relaxed = relaxed;
}

void vfs_catch_up(sqlite3 *db)
{
	struct file *f = log_of(db);
	if (f)
		vfs_catch_up_file(f);
}

bool vfs_log_is_short(sqlite3 *db)
{
	const struct file *f = log_of(db);
	return f && f->top && !f->tight && f->top + AHEAD * FRAME_LEN > f->room;
}

/* From @at on. Its size is that of whole frames, as a log's is. */
static int add_room(sqlite3_file *log, uint64_t at, uint64_t *end_out)
{
	static uint8_t zeros[FRAMES_MAX * FRAME_LEN];
	int rc = SQLITE_OK;
	at += (FRAME_LEN - (at - LOG_HEADER) % FRAME_LEN) % FRAME_LEN;
	for (int n = 0; rc == SQLITE_OK && n < 2 * AHEAD; n += FRAMES_MAX, at += sizeof(zeros))
		rc = log->pMethods->xWrite(log, zeros, sizeof(zeros), (sqlite3_int64)at);
	*end_out = at;
	return rc == SQLITE_OK
		       ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY)
		       : rc;
}

void vfs_log_grow(sqlite3 *db)
{
	struct file *f = log_of(db);
	sqlite3_file *log = f ? vfs_real(&f->base) : NULL;
	sqlite3_int64 size = 0;
	uint64_t end;
	if (!f || file_size(&f->base, &size) != SQLITE_OK)
		return;
	f->room = (uint64_t)size;
	if (size < LOG_HEADER || !vfs_log_is_short(db))
		return;
	f->tight = add_room(log, (uint64_t)size, &end) != SQLITE_OK;
	if (f->tight)
		(void)log->pMethods->xTruncate(log, size);
	else
		f->room = end;
}

int vfs_mend_sums(const char *path, struct err *err)
{
	uint8_t page[SUMS_PAGE], head[24] = { 0 }, was[SUMS_TAIL];
	struct stat st;
	CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't open session file '%s'", path);
	if (pread(fd, head, sizeof(head), 0) < 0)
		return err_sys(err, "can't read session file '%s'", path);
	size_t size = (size_t)head[16] << 8 | head[17];
	if (head[20] != SUMS_TAIL || (size != SUMS_PAGE && size != SUMS_SMALL))
		return 0;
	for (off_t at = 0; at + (off_t)size <= st.st_size; at += (off_t)size) {
		if (pread(fd, page, size, at) != (ssize_t)size)
			return err_sys(err, "can't read session file '%s'", path);
		memcpy(was, page + size - SUMS_TAIL, SUMS_TAIL);
		page_checksum_make_of(page, size);
		if (memcmp(was, page + size - SUMS_TAIL, SUMS_TAIL) != 0 &&
		    pwrite(fd, page, size, at) != (ssize_t)size)
			return err_sys(err, "can't write session file '%s'", path);
	}
	return 0;
}
