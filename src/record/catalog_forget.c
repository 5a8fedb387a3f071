#include "record/catalog_forget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/chain.h"
#include "record/read/page_checksum.h"

enum { USERS_MOST = 1 << 20 };

static catalog_without_fn *forget_without;

void catalog_forget_with(catalog_without_fn *fn)
{
	forget_without = fn;
}

static char *catalog_cache(const char *dir)
{
	CLEANUP(free_ptr) char *real = realpath(dir, NULL);
	CLEANUP(buf_release) struct buf tail = BUF_INIT;
	struct hash h;
	const char *name = real ? real : dir;
	hash_of(name, strlen(name), &h);
	buf_puts(&tail, "catalog-");
	hex_append(&tail, h.b, 8);
	return paths_cache(buf_cstr(&tail));
}

char *catalog_place(const char *dir)
{
	return access(dir, W_OK) == 0 ? path_join(dir, "catalog") : catalog_cache(dir);
}

int catalog_lock(const char *place)
{
	CLEANUP(free_ptr) char *path = path_join(place, "lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Also one that can't be read: nothing is lost with it. */
static bool shard_holds(const char *path, const char *file, const uint8_t *uuid)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	struct sums sums;
	uint64_t size;
	struct err none = ERR_INIT;
	int rc = SQLITE_ERROR;
	if (page_checksum_look_file(path, &sums, &size, &none) < 0 || !sums.kept || sums.bad)
		return true;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "SELECT 1 FROM session WHERE file=?1 OR uuid=?2", -1, &st,
			       NULL) == SQLITE_OK) {
		sqlite3_bind_text(st, 1, file, -1, SQLITE_STATIC);
		if (uuid)
			sqlite3_bind_blob(st, 2, uuid, UUID_LEN, SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc != SQLITE_DONE;
}

static bool catalog_file(const char *name)
{
	return name[0] != '.' && strcmp(name, "lock") != 0 && strcmp(name, "building") != 0;
}

static int catalog_forget_in(const char *place, const char *file, const uint8_t *uuid,
			     struct err *err)
{
	static const char suffix[] = ".shard";
	DIR *d = opendir(place);
	struct dirent *e;
	int rc = 0;
	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return err_sys(err, "catalog '%s': can't read it", place);
	int lock = catalog_lock(place);
	if (lock < 0)
		rc = err_sys(err, "catalog '%s': can't lock it", place);
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);
		CLEANUP(free_ptr) char *path = path_join(place, e->d_name);
		if (!catalog_file(e->d_name))
			continue;
		struct err none = ERR_INIT;
		bool shard = len >= sizeof(suffix) && !strcmp(e->d_name + len - 6, suffix);
		if (shard && !shard_holds(path, file, uuid))
			continue;
		if (shard && forget_without && forget_without(path, file, uuid, &none) == 0)
			continue;
		if (unlink(path) < 0 && errno != ENOENT)
			rc = err_sys(err, "catalog: can't remove '%s'", path);
	}
	closedir(d);
	if (lock >= 0)
		close(lock);
	return rc;
}

/* The shards of @dir, here and in the cache. */
static int catalog_forget_of(const char *dir, const char *file, const uint8_t *uuid,
			     struct err *err)
{
	CLEANUP(free_ptr) char *here = path_join(dir, "catalog"), *cache = catalog_cache(dir);
	int rc = catalog_forget_in(here, file, uuid, err);
	return catalog_forget_in(cache, file, uuid, err) < 0 ? -1 : rc;
}

static int catalog_drop_in(const char *place, struct err *err)
{
	DIR *d = opendir(place);
	struct dirent *e;
	int rc = 0;
	if (!d)
		return errno == ENOENT ? 0 : err_sys(err, "catalog '%s': can't read it", place);
	CLEANUP(fd_close) UNUSED int lock = catalog_lock(place);
	while ((e = readdir(d))) {
		CLEANUP(free_ptr) char *path = path_join(place, e->d_name);
		if (catalog_file(e->d_name) && unlink(path) < 0 && errno != ENOENT)
			rc = err_sys(err, "catalog: can't remove '%s'", path);
	}
	closedir(d);
	return rc;
}

int catalog_drop(const char *dir, struct err *err)
{
	CLEANUP(free_ptr) char *here = path_join(dir, "catalog"), *cache = catalog_cache(dir);
	int rc = catalog_drop_in(here, err);
	return catalog_drop_in(cache, err) < 0 ? -1 : rc;
}

/* Of a session in ARCHIVE/YEAR/MONTH/DAY: the directories that use the archive. */
static int catalog_forget_users(const char *archive, const char *file, const uint8_t *uuid,
				struct err *err)
{
	CLEANUP(free_ptr) char *users = path_join(archive, "used-by");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char *save = NULL;
	int rc = 0;
	if (access(users, F_OK) < 0)
		return 0;
	if (file_read(users, &text, USERS_MOST, err) < 0)
		return -1;
	for (char *dir = strtok_r(text.data, "\n", &save); dir; dir = strtok_r(NULL, "\n", &save))
		if (access(dir, F_OK) < 0)
			rc = err_set(
				err, ERR_NOENT,
				"'%s', which '%s' names, is out of reach, and so is its catalog",
				dir, users);
		else if (catalog_forget_of(dir, file, uuid, err) < 0)
			rc = -1;
	return rc;
}

/* Of an archive that is DIR/archive: DIR may have been moved since it was noted. */
static int catalog_forget_above(const char *archive, const char *file, const uint8_t *uuid,
				struct err *err)
{
	const char *slash = strrchr(archive, '/');
	if (!slash || slash == archive || strcmp(slash, "/archive") != 0)
		return 0;
	CLEANUP(free_ptr) char *dir = mem_strndup(archive, (size_t)(slash - archive));
	return catalog_forget_of(dir, file, uuid, err);
}

int catalog_forget(const char *session_path, const uint8_t *uuid, struct err *err)
{
	const char *slash = strrchr(session_path, '/');
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(session_path, (size_t)(slash - session_path) + 1)
			  : mem_strdup("./");
	const char *file = slash ? slash + 1 : session_path;
	CLEANUP(free_ptr) char *up = path_join(dir, "../../..");
	CLEANUP(free_ptr) char *archive = realpath(up, NULL);
	int rc = catalog_forget_of(dir, file, uuid, err);
	if (archive && (catalog_forget_of(archive, file, uuid, err) < 0 ||
			catalog_forget_above(archive, file, uuid, err) < 0 ||
			catalog_forget_users(archive, file, uuid, err) < 0))
		rc = -1;
	return rc;
}
