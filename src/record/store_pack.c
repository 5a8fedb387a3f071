/* A small session is mostly pages that hold little: an empty table takes one. So a short file gets
 * small pages when it ends, and the recorder's own before it is written again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/read/page_checksum.h"
#include "record/store_pack.h"

enum { PACK_PAGE = SUMS_SMALL, PACK_MOST = 1 << 20 /* bytes: above, small pages save little */ };

static int store_pack_fail(sqlite3 *db, const char *path, struct err *err)
{
	return err_set(err, (sqlite3_errcode(db) & 0xff) == SQLITE_FULL ? ERR_FULL : ERR_IO,
		       "can't copy session file '%s': %s", path, sqlite3_errmsg(db));
}

static int store_pack_sums(int fd, int page_size, const char *path, struct err *err)
{
	uint8_t page[SUMS_PAGE];
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(err, "can't read '%s'", path);
	for (off_t at = 0; at < st.st_size; at += page_size) {
		if (pread(fd, page, (size_t)page_size, at) != page_size)
			return err_sys(err, "can't read '%s'", path);
		page_checksum_make_of(page, (size_t)page_size);
		if (pwrite(fd, page, (size_t)page_size, at) != page_size)
			return err_sys(err, "can't write '%s'", path);
	}
	return fsync(fd) < 0 ? err_sys(err, "can't write '%s'", path) : 0;
}

static int store_pack_vacuum(const char *from, const char *to, int page_size, struct err *err)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	CLEANUP(free_ptr) char *size = mem_printf("PRAGMA page_size=%d", page_size);
	int rc = sqlite3_open_v2(from, &db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (rc == SQLITE_OK) /* a log that is left stays in the log */
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, size, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(st, 1, to, -1, SQLITE_STATIC);
		rc = sqlite3_step(st) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
	}
	sqlite3_finalize(st);
	rc = rc == SQLITE_OK ? 0 : store_pack_fail(db, from, err);
	sqlite3_close(db);
	return rc;
}

/* A session may be shared with a group. */
static int store_pack_owner(const char *from, int fd, const char *to, struct err *err)
{
	struct stat was, is;
	if (stat(from, &was) < 0 || fstat(fd, &is) < 0)
		return err_sys(err, "can't read '%s'", from);
	if ((was.st_uid != is.st_uid || was.st_gid != is.st_gid) &&
	    fchown(fd, was.st_uid, was.st_gid) < 0)
		return err_sys(err, "can't give '%s' the owner of '%s'", to, from);
	return fchmod(fd, was.st_mode & 0777) < 0 ? err_sys(err, "can't change '%s'", to) : 0;
}

int store_pack_copy(const char *from, const char *to, int page_size, struct err *err)
{
	CLEANUP(fd_close)
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "can't make '%s'", to);
	if (store_pack_owner(from, fd, to, err) == 0 &&
	    store_pack_vacuum(from, to, page_size, err) == 0 &&
	    store_pack_sums(fd, page_size, to, err) == 0)
		return 0;
	unlink(to);
	return -1;
}

static int store_pack_replace(const char *path, int page_size, struct err *err)
{
	CLEANUP(free_ptr) char *to = mem_printf("%s-pack", path);
	if (store_pack_copy(path, to, page_size, err) < 0)
		return -1;
	failpoint_hit("pack-before-rename");
	if (rename(to, path) == 0)
		return 0;
	err_sys(err, "can't replace '%s'", path);
	unlink(to);
	return -1;
}

int store_page_size(const char *path)
{
	uint8_t head[20] = { 0 };
	CLEANUP(fd_close)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool read = fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head);
	return read && head[18] == 1 ? head[16] << 8 | head[17] : 0;
}

int store_page_size_for(int64_t bytes)
{
	return bytes <= PACK_MOST ? PACK_PAGE : SUMS_PAGE;
}

void store_pack(const char *path)
{
	struct err none = ERR_INIT;
	struct stat st;
	if (stat(path, &st) == 0 && store_page_size_for(st.st_size) == PACK_PAGE &&
	    store_page_size(path) == SUMS_PAGE && store_pack_replace(path, PACK_PAGE, &none) < 0)
		none.code = ERR_NONE; /* the larger file is as good */
}

int store_unpack(const char *path, struct err *err)
{
	return store_page_size(path) == PACK_PAGE ? store_pack_replace(path, SUMS_PAGE, err) : 0;
}
