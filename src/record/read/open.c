/* Opening a session file in all the states and places in which one is found. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/schema_check.h"
#include "record/read/copied.h"
#include "record/read/copy.h"
#include "record/read/read_priv.h"
#include "record/read/lease.h"
#include "record/read/verify.h"

/* bytes of one value: what store_file.c lets in */
enum { LENGTH_MAX = 1 << 30 };
enum { APPLICATION = 0x53474c53, PROOF = 0x53474b50, FORMAT = 2, HEADER = 100 };

static uint32_t read_open_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Facts without opening the session. Closing a descriptor of the file would drop the locks that
 * SQLite has on it in this process, so the header is read directly only if SQLite could not read
 * the file. */
static int read_open_look(const char *path, struct err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return errno == ENOENT ? err_set(err, ERR_NOENT, "session file not found: %s", path)
				       : err_sys(err, "can't open session file '%s'", path);
	if (S_ISDIR(st.st_mode))
		return err_set(
			err, ERR_INVALID,
			"'%s' is a directory, not a session file: name one of the .glass files in it",
			path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a regular file", path);
	if (st.st_size == 0)
		return err_set(err, ERR_DAMAGED, "session file '%s' is empty", path);
	if (access(path, R_OK) < 0)
		return err_sys(err, "can't open session file '%s'", path);
	return 0;
}

/* Do its sums tell where it is damaged? */
static bool is_damaged(const char *path, struct err *err)
{
	char place[160];
	bool told = verify_unopened(path, place, sizeof(place));
	return told &&
	       err_set(err, ERR_DAMAGED, "session file '%s' is damaged: %s", path, place) < 0;
}

static int read_open_check_header(const char *path, uint32_t application, uint32_t format,
				  struct err *err)
{
	char place[160], doubt[200] = "";
	bool known = application == APPLICATION && format <= FORMAT;
	if (!known && verify_unopened(path, place, sizeof(place)))
		snprintf(doubt, sizeof(doubt), "; or it is damaged: %s", place);
	if (application == PROOF)
		return err_set(
			err, ERR_INVALID,
			"'%s' is a proof bundle, not a session file: check_proof.sh checks it%s",
			path, doubt);
	if (application != APPLICATION)
		return err_set(
			err, ERR_INVALID,
			"'%s' is an SQLite database of another program, not a session file%s", path,
			doubt);
	if (format > FORMAT)
		return err_set(
			err, ERR_UNSUPPORTED,
			"session file '%s' has format %u; this version reads formats up to %d: use a newer sandglass%s",
			path, format, FORMAT, doubt);
	return 0;
}

/* Why SQLite could not read it: something else, something newer, or damage. */
static int read_open_explain(struct session *s, const char *path, struct err *err)
{
	uint8_t head[HEADER];
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n == (ssize_t)sizeof(head) && is_damaged(path, err))
		return -1;
	if (n >= 16 && n < (ssize_t)sizeof(head) && !memcmp(head, "SQLite format 3", 16))
		return err_set(err, ERR_DAMAGED, "'%s' is truncated at byte %zd", path, n);
	if (n < (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16))
		return err_set(err, ERR_INVALID, "'%s' is not a session file", path);
	if (read_open_check_header(path, read_open_be32(head + 68), read_open_be32(head + 60),
				   err) < 0)
		return -1;
	if (s->foreign)
		return err_set(
			err, ERR_DAMAGED,
			"'%s' defines tables, indexes, triggers, or views that no session has",
			path);
	return err_set(err, ERR_DAMAGED, "session file '%s' is damaged: %s", path,
		       sqlite3_errmsg(s->db));
}

/* SQLite's URI: everything that could mean something in one is escaped. */
static char *uri_of(const char *path, const char *query)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, "file:");
	for (const char *p = path; *p; p++)
		if (*p == '?' || *p == '#' || *p == '%')
			buf_printf(&b, "%%%02x", (unsigned)*p);
		else
			buf_putc(&b, *p);
	buf_puts(&b, query);
	return buf_take(&b);
}

static uint32_t read_open_pragma(struct session *s, const char *sql, int *rc)
{
	sqlite3_stmt *st = NULL;
	uint32_t v = 0;
	if (*rc == SQLITE_OK &&
	    (*rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL)) == SQLITE_OK) {
		*rc = sqlite3_step(st);
		v = (uint32_t)sqlite3_column_int64(st, 0);
		*rc = *rc == SQLITE_ROW ? SQLITE_OK : *rc == SQLITE_DONE ? SQLITE_CORRUPT : *rc;
	}
	sqlite3_finalize(st);
	return v;
}

static int read_origins(struct session *s)
{
	sqlite3_stmt *st = NULL;
	free(s->origin);
	s->origin = NULL;
	s->nr_origins = 0;
	int rc = sqlite3_prepare_v2(s->db, "SELECT seq, uuid, key FROM origin ORDER BY seq", -1,
				    &st, NULL);
	if (rc == SQLITE_ERROR)
		return SQLITE_OK; /* made before there were forks */
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (sqlite3_column_bytes(st, 1) != UUID_LEN ||
		    sqlite3_column_bytes(st, 2) != SIGN_KEY_LEN) {
			rc = SQLITE_CORRUPT;
			break;
		}
		s->origin = mem_realloc(s->origin, (s->nr_origins + 1) * sizeof(*s->origin));
		struct origin *o = &s->origin[s->nr_origins++];
		o->seq = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(o->uuid, sqlite3_column_blob(st, 1), UUID_LEN);
		memcpy(o->key, sqlite3_column_blob(st, 2), SIGN_KEY_LEN);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

const uint8_t *session_uuid_at(const struct session *s, uint64_t seq)
{
	for (size_t i = 0; i < s->nr_origins; i++)
		if (seq <= s->origin[i].seq)
			return s->origin[i].uuid;
	return s->uuid;
}

uint64_t session_copied(const struct session *s)
{
	return s->nr_origins ? s->origin[s->nr_origins - 1].seq : 0;
}

void session_chain_start(const struct session *s, struct hash *out)
{
	if (s->nr_origins)
		chain_start(s->origin[0].uuid, s->origin[0].key, out);
	else
		chain_start(s->uuid, s->key, out);
}

/* A definition that is not ours could answer a query with anything, take any time for it, or act
 * when the session is resumed. */
static bool has_foreign_schema(struct session *s)
{
	s->foreign = !schema_is_ours(s->db);
	return s->foreign;
}

static int read_open_connect_to(struct session *s, const char *path, const char *query)
{
	CLEANUP(free_ptr) char *uri = uri_of(path, query);
	sqlite3_stmt *st = NULL;
	sqlite3_close(s->db);
	s->db = NULL;
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE |
		    SQLITE_OPEN_NOMUTEX;
	if (!strcmp(query, "?mode=rw"))
		flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE |
			SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(uri, &s->db, flags, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_busy_timeout(s->db, 2000);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	session_bound(s);
	rc = sqlite3_exec(s->db,
			  "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON",
			  NULL, NULL, NULL);
	s->application = read_open_pragma(s, "PRAGMA application_id", &rc);
	s->format = read_open_pragma(s, "PRAGMA user_version", &rc);
	if (rc == SQLITE_OK && (s->application != APPLICATION || s->format > FORMAT))
		return SQLITE_OK; /* told by the caller */
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(s->db, "SELECT id, uuid, name, key FROM session", -1, &st,
					NULL);
	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 1) == UUID_LEN &&
	    sqlite3_column_bytes(st, 3) == SIGN_KEY_LEN && sqlite3_column_text(st, 0) &&
	    sqlite3_column_text(st, 2)) {
		free(s->id);
		free(s->name);
		s->id = mem_strdup((const char *)sqlite3_column_text(st, 0));
		s->name = mem_strdup((const char *)sqlite3_column_text(st, 2));
		memcpy(s->uuid, sqlite3_column_blob(st, 1), UUID_LEN);
		memcpy(s->key, sqlite3_column_blob(st, 3), SIGN_KEY_LEN);
		rc = SQLITE_OK;
	} else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		rc = SQLITE_CORRUPT;
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_OK && has_foreign_schema(s))
		rc = SQLITE_CORRUPT;
	return rc == SQLITE_OK ? read_origins(s) : rc;
}

/* A live or unclean file in a place where SQLite cannot make its shared memory. */
static int open_copy(struct session *s, const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *to = NULL;
	if (copy_make(&s->copy, path, s->stop, err) < 0)
		return -1;
	to = path_join(s->copy, COPY_NAME);
	return read_open_connect_to(s, to, "?mode=rw") == SQLITE_OK ? 0 : session_failed(s, err);
}

static int connect_somehow(struct session *s, const char *path, struct err *err)
{
	struct stat st;
	int rc = read_open_connect_to(s, path, "?mode=ro");
	if (rc == SQLITE_OK)
		return 0;
	int primary = rc & 0xff;
	if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT || primary == SQLITE_ERROR)
		return read_open_explain(s, path, err);
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	bool unclean = (stat(wal, &st) == 0 && st.st_size > 0) || lease_busy(path);
	if (unclean)
		return open_copy(s, path, err);
	return read_open_connect_to(s, path, "?immutable=1") == SQLITE_OK ? 0
									  : session_failed(s, err);
}

int session_open(struct session **out, const char *path, struct err *err)
{
	return session_open_until(out, path, NULL, err);
}

int session_open_until(struct session **out, const char *path, const atomic_bool *stop,
		       struct err *err)
{
	hash_init();
	if (read_open_look(path, err) < 0)
		return -1;
	struct session *s = NEW(struct session);
	s->path = mem_strdup(path);
	s->stop = stop;
	struct stat st;
	if (stat(path, &st) == 0) { /* before SQLite opens it: at worst one rejoin too many */
		s->device = st.st_dev;
		s->inode = st.st_ino;
	}
	if (connect_somehow(s, path, err) < 0 ||
	    read_open_check_header(path, s->application, s->format, err) < 0) {
		session_close(&s);
		return -1;
	}
	*out = s;
	return 0;
}

bool session_left(struct session *s)
{
	struct stat st;
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", s->path);
	sqlite3_stmt *ask = NULL;
	if (!s->copy && stat(s->path, &st) == 0 &&
	    (st.st_dev != s->device || st.st_ino != s->inode))
		return true;
	if (s->copy || stat(wal, &st) == 0 || errno != ENOENT || stat(s->path, &st) < 0)
		return false;
	bool two = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode", -1, &ask, NULL) == SQLITE_OK &&
		   sqlite3_step(ask) == SQLITE_ROW &&
		   !strcmp((const char *)sqlite3_column_text(ask, 0), "wal");
	sqlite3_finalize(ask);
	return two;
}

int session_rejoin(struct session *s, struct err *err)
{
	struct session *now;
	if (session_open_until(&now, s->path, s->stop, err) < 0)
		return -1;
	if (memcmp(now->uuid, s->uuid, UUID_LEN)) {
		session_close(&now);
		return err_set(err, ERR_INVALID, "'%s' now contains another session", s->path);
	}
	sqlite3 *db = s->db;
	for (size_t i = 0; i < READ_SQL_NR; i++) {
		now->stmt[i] = s->stmt[i];
		s->stmt[i] = NULL;
	}
	char *copy = s->copy;
	s->device = now->device;
	s->inode = now->inode;
	s->db = now->db;
	s->copy = now->copy;
	now->db = db;
	now->copy = copy;
	session_bound(s); /* it has counted for the other one so far */
	session_bound(now);
	feeds_rejoin(s);
	session_close(&now);
	return 0;
}

bool session_stopped(const struct session *s)
{
	return s->stop && atomic_load(s->stop);
}

void session_interrupt(struct session *s)
{
	sqlite3_interrupt(s->db);
}

void session_close(struct session **sp)
{
	struct session *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	for (size_t i = 0; i < READ_SQL_NR; i++)
		sqlite3_finalize(s->stmt[i]);
	sqlite3_close(s->db);
	json_decref(s->list);
	copy_remove(&s->copy);
	free(s->path);
	free(s->id);
	free(s->name);
	free(s->origin);
	free(s);
}
