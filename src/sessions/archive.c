#include "sessions/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "query/sql.h"
#include "record/read/verify.h"
#include "record/store_pack.h"
#include "sessions/companions.h"

enum { LOG_MOST = 1 << 30, ORIGINS_MOST = 1000, TEXT_MOST = 4 << 20 };

void archive_log_release(struct archive_log *log)
{
	buf_release(&log->text);
	*log = ARCHIVE_LOG_INIT;
}

static const char *archive_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static char *archive_dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
}

char *archive_path(const char *archive, const char *path)
{
	const char *name = archive_name(path);
	return mem_printf("%s/%.4s/%.2s/%.2s/%s", archive, name, name + 5, name + 8, name);
}

char *archive_top(const char *path)
{
	char *dir = archive_dir_of(path);
	for (int level = 0; level < 3; level++) {
		char *up = archive_dir_of(dir);
		free(dir);
		dir = up;
	}
	return dir;
}

/* EINVAL: of a file system that has no such request. */
static int archive_sync_dir(const char *dir, struct err *err)
{
	CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && (fsync(fd) == 0 || errno == EINVAL)
		       ? 0
		       : err_sys(err, "can't sync directory '%s'", dir);
}

/* The name of the copy in @dir, and those of YEAR, MONTH, and DAY above it, which may be new. */
static int archive_sync_up(const char *dir, struct err *err)
{
	CLEANUP(free_ptr) char *at = mem_strdup(dir);
	int rc = archive_sync_dir(at, err);
	for (int level = 0; rc == 0 && level < 3; level++) {
		const char *name = archive_name(at);
		if (name == at || !*name || name[strspn(name, "0123456789")])
			break;
		char *up = archive_dir_of(at);
		free(at);
		at = up;
		rc = archive_sync_dir(at, err);
	}
	return rc;
}

struct archive_failure {
	char text[300];
};

static void archive_on_check(void *self, const char *name, enum verify_result result,
			     const char *text, uint64_t seq)
{
	struct archive_failure *f = self;
	(void)seq;
	if (result == VERIFY_FAIL && !f->text[0])
		snprintf(f->text, sizeof(f->text), "%s: %s", name, text);
}

/* Is @copy, read back, the session that ends as @was says? */
static int archive_read_back(const char *copy, const struct session_end *was, struct err *err)
{
	struct session *s = NULL;
	struct session_end is;
	struct verify_totals totals;
	struct archive_failure failure = { "" };
	if (session_open(&s, copy, err) < 0)
		return -1;
	int rc = session_end(s, &is, err);
	if (rc == 0 && (is.seq != was->seq || memcmp(is.uuid, was->uuid, UUID_LEN) != 0 ||
			!hash_eq(&is.chain, &was->chain)))
		rc = err_set(err, ERR_IO, "the copy '%s' isn't the session", copy);
	if (rc == 0)
		rc = verify_session(s, NULL, archive_on_check, &failure, &totals, err);
	if (rc == 0 && totals.failed)
		rc = err_set(err, ERR_DAMAGED, "the session doesn't verify: %s", failure.text);
	session_close(&s);
	return rc;
}

/* Lines of @log about @uuid that @out lacks. */
static void archive_pick_lines(const struct buf *log, const char *uuid, struct buf *out)
{
	CLEANUP(free_ptr) char *tag = mem_printf("1 %s ", uuid);
	for (const char *at = buf_cstr((struct buf *)(uintptr_t)log); (at = strstr(at, tag));) {
		size_t len = strcspn(at, "\n");
		CLEANUP(free_ptr) char *line = mem_strndup(at, len);
		if (at[len] == '\n' && !strstr(buf_cstr(out), line))
			buf_printf(out, "%s\n", line);
		at += len;
	}
}

/* What anchor.log and the file beside @path say about the session. */
static int archive_anchors(struct session *s, const char *path, struct archive_log *log,
			   struct buf *lines, struct err *err)
{
	static const char uuids[] = "SELECT lower(hex(uuid)) FROM origin UNION SELECT "
				    "lower(hex(uuid)) FROM session";
	CLEANUP(free_ptr) char *had = mem_printf("%s-anchor", path);
	CLEANUP(free_ptr) char *own = paths_state("anchor.log");
	struct sql_table t = { 0 };
	if (access(had, F_OK) == 0 && file_read(had, lines, LOG_MOST, err) < 0)
		return -1;
	if (!log->read && access(own, F_OK) == 0 && file_read(own, &log->text, LOG_MOST, err) < 0)
		return -1;
	log->read = true;
	if (sql_own(s, uuids, ORIGINS_MOST, &t, err) < 0)
		return -1;
	for (size_t i = 0; i < t.rows; i++)
		archive_pick_lines(&log->text, t.cell[i], lines);
	sql_table_release(&t);
	return 0;
}

/* Copies to @part, and the anchors to where @to has them. */
static int archive_copy(const char *path, const char *part, const char *to, struct archive_log *log,
			struct err *err)
{
	CLEANUP(free_ptr) char *beside = mem_printf("%s-anchor", to);
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	struct session *s = NULL;
	struct session_end was;
	struct stat st;
	if (stat(path, &st) < 0)
		return err_sys(err, "can't read '%s'", path);
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = session_end(s, &was, err);
	if (rc == 0)
		rc = archive_anchors(s, path, log, &lines, err);
	session_close(&s); /* the copy is made by a connection of its own */
	if (rc == 0)
		rc = store_pack_copy(path, part, store_page_size_for(st.st_size), err);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st.st_mtim };
	if (rc == 0 && utimensat(AT_FDCWD, part, times, AT_SYMLINK_NOFOLLOW) < 0)
		rc = err_sys(err, "can't set the time of '%s'", part);
	if (rc == 0)
		rc = archive_read_back(part, &was, err);
	return rc == 0 && lines.len ? file_write_atomic(beside, lines.data, lines.len, 0600, err)
				    : rc;
}

int archive_move(const char *path, const char *to, struct archive_log *log, struct err *err)
{
	CLEANUP(free_ptr) char *dir = archive_dir_of(to), *from = archive_dir_of(path);
	CLEANUP(free_ptr) char *part = mem_printf("%s-pack", to);
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	if (archive_copy(path, part, to, log, err) < 0) {
		unlink(part);
		return -1;
	}
	failpoint_hit("archive-before-rename");
	if (rename(part, to) < 0) {
		err_sys(err, "can't make '%s'", to);
		unlink(part);
		return -1;
	}
	if (archive_sync_up(dir, err) < 0)
		return -1;
	failpoint_hit("archive-before-removal");
	if (unlink(path) < 0)
		return err_sys(err, "the copy '%s' is complete, but '%s' can't be removed", to,
			       path);
	session_companions_remove(path);
	return archive_sync_dir(from, err);
}

static int archive_text(const char *from, const char *to, struct err *err)
{
	struct stat a, b;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_size == b.st_size)
		return 0;
	return file_read(from, &text, TEXT_MOST, err) < 0
		       ? -1
		       : file_write_atomic(to, buf_cstr(&text), text.len, 0600, err);
}

int archive_library(const char *from, const char *to, struct err *err)
{
	CLEANUP(free_ptr) char *had = path_join(from, "library"), *has = path_join(to, "library");
	DIR *d = opendir(had);
	struct dirent *e;
	if (!d)
		return errno == ENOENT ? 0 : err_sys(err, "can't read '%s'", had);
	int rc = dir_make(has, 0700, err);
	while (rc == 0 && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		CLEANUP(free_ptr)
		char *a = path_join(had, e->d_name), *b = path_join(has, e->d_name);
		if (len == 68 && !strcmp(e->d_name + 64, ".lua"))
			rc = archive_text(a, b, err);
	}
	closedir(d);
	return rc;
}
