#include "query/shard_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "record/read/page_checksum.h"

/* The file of the VFS below follows it in memory. */
struct shard_file {
	sqlite3_file base;
};

static sqlite3_vfs shard_vfs_ours;
static sqlite3_vfs *shard_vfs_below;

static sqlite3_file *shard_vfs_real(sqlite3_file *f)
{
	return (sqlite3_file *)((struct shard_file *)f + 1);
}

static int shard_vfs_close(sqlite3_file *f)
{
	return shard_vfs_real(f)->pMethods->xClose(shard_vfs_real(f));
}

/* Any part of the file, from whole pages. */
static int shard_vfs_read(sqlite3_file *f, void *buf, int amount, sqlite3_int64 at)
{
	sqlite3_file *to = shard_vfs_real(f);
	uint8_t page[SUMS_PAGE];
	for (int done = 0; done < amount;) {
		sqlite3_int64 from = (at + done) / SUMS_PAGE * SUMS_PAGE;
		int skip = (int)(at + done - from), take = SUMS_PAGE - skip;
		int rc = to->pMethods->xRead(to, page, SUMS_PAGE, from);
		if (rc != SQLITE_OK)
			return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_CORRUPT : rc;
		if (!page_checksum_hold(page))
			return SQLITE_CORRUPT;
		take = take < amount - done ? take : amount - done;
		memcpy((char *)buf + done, page + skip, (size_t)take);
		done += take;
	}
	return SQLITE_OK;
}

static int shard_vfs_write(sqlite3_file *f, const void *buf, int amount, sqlite3_int64 at)
{
	(void)f, (void)buf, (void)amount, (void)at;
	return SQLITE_READONLY;
}

static int shard_vfs_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	(void)f, (void)size;
	return SQLITE_READONLY;
}

static int shard_vfs_sync(sqlite3_file *f, int flags)
{
	(void)f, (void)flags;
	return SQLITE_OK;
}

static int shard_vfs_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return shard_vfs_real(f)->pMethods->xFileSize(shard_vfs_real(f), size);
}

static int shard_vfs_lock(sqlite3_file *f, int level)
{
	(void)f, (void)level;
	return SQLITE_OK;
}

static int shard_vfs_reserved(sqlite3_file *f, int *out)
{
	(void)f;
	*out = 0;
	return SQLITE_OK;
}

static int shard_vfs_control(sqlite3_file *f, int op, void *arg)
{
	(void)f, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int shard_vfs_sector(sqlite3_file *f)
{
	(void)f;
	return SUMS_PAGE;
}

static int shard_vfs_traits(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods shard_vfs_methods = {
	.iVersion = 1,
	.xClose = shard_vfs_close,
	.xRead = shard_vfs_read,
	.xWrite = shard_vfs_write,
	.xTruncate = shard_vfs_truncate,
	.xSync = shard_vfs_sync,
	.xFileSize = shard_vfs_size,
	.xLock = shard_vfs_lock,
	.xUnlock = shard_vfs_lock,
	.xCheckReservedLock = shard_vfs_reserved,
	.xFileControl = shard_vfs_control,
	.xSectorSize = shard_vfs_sector,
	.xDeviceCharacteristics = shard_vfs_traits,
};

static int shard_vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	(void)vfs;
	f->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB) || !(flags & SQLITE_OPEN_READONLY))
		return SQLITE_CANTOPEN;
	int rc = shard_vfs_below->xOpen(shard_vfs_below, name, shard_vfs_real(f), flags, out);
	if (rc == SQLITE_OK)
		f->pMethods = &shard_vfs_methods;
	return rc;
}

static void shard_vfs_once(void)
{
	sqlite3_initialize();
	shard_vfs_below = sqlite3_vfs_find(NULL);
	shard_vfs_ours = *shard_vfs_below;
	shard_vfs_ours.pNext = NULL;
	shard_vfs_ours.zName = SHARD_VFS;
	shard_vfs_ours.szOsFile = (int)sizeof(struct shard_file) + shard_vfs_below->szOsFile;
	shard_vfs_ours.xOpen = shard_vfs_open;
	sqlite3_vfs_register(&shard_vfs_ours, 0);
}

void shard_vfs_register(void)
{
	static pthread_once_t shard_vfs_done = PTHREAD_ONCE_INIT;
	pthread_once(&shard_vfs_done, shard_vfs_once);
}

int shard_vfs_room(sqlite3 *db)
{
	int room = SUMS_TAIL;
	return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &room);
}

int shard_vfs_seal(const char *path, struct err *err)
{
	struct stat st;
	uint8_t page[SUMS_PAGE];
	CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size % SUMS_PAGE)
		return err_sys(err, "can't seal the shard '%s'", path);
	for (off_t at = 0; at < st.st_size; at += SUMS_PAGE) {
		if (pread(fd, page, SUMS_PAGE, at) != SUMS_PAGE)
			return err_sys(err, "can't read the shard '%s'", path);
		page_checksum_make(page);
		if (pwrite(fd, page, SUMS_PAGE, at) != SUMS_PAGE)
			return err_sys(err, "can't write the shard '%s'", path);
	}
	return 0;
}
