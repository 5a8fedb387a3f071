/* A store's file: made, opened again, left as one file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/read/schema.h"
#include "record/store_pack.h"
#include "record/store_priv.h"
#include "record/read/page_checksum.h"
#include "record/trigram.h"
#include "record/vfs.h"

static int store_file_fail(struct store *s, struct err *err, const char *what)
{
	int rc = sqlite3_errcode(s->db);
	enum err_code code = (rc & 0xff) == SQLITE_FULL	  ? ERR_FULL
			     : (rc & 0xff) == SQLITE_BUSY ? ERR_BUSY
							  : ERR_IO;
	if ((rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT)
		code = ERR_DAMAGED;
	return err_set(err, code, "can't %s session file '%s': %s", what, s->path,
		       sqlite3_errmsg(s->db));
}

static int store_file_run(struct store *s, const char *sql, const char *what, struct err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : store_file_fail(s, err, what);
}

static struct store *store_new(const char *path, const uint8_t seed[SIGN_SEED_LEN])
{
	struct store *s = NEW(struct store);
	s->path = mem_strdup(path);
	memcpy(s->seed, seed, sizeof(s->seed));
	sign_key(seed, s->key);
	s->packer = packer_new();
	return s;
}

static void store_free(struct store **s)
{
	if (!*s)
		return;
	for (size_t i = 0; i < SQL_NR; i++)
		sqlite3_finalize((*s)->stmt[i]);
	sqlite3_close((*s)->db);
	packer_free(&(*s)->packer);
	buf_release(&(*s)->packed);
	buf_release(&(*s)->body);
	buf_release(&(*s)->anchor);
	secret_wipe((*s)->seed, sizeof((*s)->seed));
	free((*s)->path);
	free(*s);
	*s = NULL;
}

static int connect_db(struct store *s, struct err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE |
		    SQLITE_OPEN_NOMUTEX;
	vfs_register();
	if (sqlite3_open_v2(s->path, &s->db, flags, RECORD_VFS) != SQLITE_OK)
		return store_file_fail(s, err, "open");
	if (trigram_register(s->db) != SQLITE_OK)
		return err_set(err, ERR_UNSUPPORTED,
			       "SQLite on this host has no full-text search (FTS5 with trigrams)");
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, 1 << 30);
	sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	return store_file_run(
		s,
		"PRAGMA secure_delete=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;"
		"PRAGMA foreign_keys=ON; PRAGMA recursive_triggers=ON; PRAGMA cache_size=-8000",
		"open", err);
}

/* From here on the WAL keeps its size, so that a sync overwrites and does not grow the file. */
static int enter_wal(struct store *s, struct err *err)
{
	if (store_file_run(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", "open", err) < 0)
		return (sqlite3_errcode(s->db) & 0xff) != SQLITE_BUSY
			       ? -1
			       : err_set(err, ERR_BUSY,
					 "another program reads session file '%s': close it ('q' leaves a console), then try again",
					 s->path);
	/* instead of SQLite's own, which moves pages while a barrier waits */
	sqlite3_wal_hook(s->db, store_on_log, s);
	return 0;
}

static int make_tables(struct store *s, const char *id, const char *name, struct err *err)
{
	char sql[160];
	if (vfs_keep_sums(s->db) != SQLITE_OK)
		return store_file_fail(s, err, "make");
	snprintf(
		sql, sizeof(sql),
		"PRAGMA page_size=4096; PRAGMA journal_mode=MEMORY; PRAGMA application_id=%d; BEGIN IMMEDIATE",
		SCHEMA_APPLICATION);
	if (store_file_run(s, sql, "make", err) < 0)
		return -1;
	if (store_file_run(s, schema_tables(), "make", err) < 0 ||
	    store_file_run(s, schema_views(), "make", err) < 0)
		return -1;
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(s->db, "INSERT INTO session VALUES(1, ?1, ?2, ?3, ?4, ?5)", -1, &st,
			       NULL) != SQLITE_OK)
		return store_file_fail(s, err, "make");
	sqlite3_bind_text(st, 1, id, -1, SQLITE_STATIC);
	sqlite3_bind_blob(st, 2, s->uuid, UUID_LEN, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, name, -1, SQLITE_STATIC);
	sqlite3_bind_blob(st, 4, s->key, SIGN_KEY_LEN, SQLITE_STATIC);
	sqlite3_bind_int64(st, 5, clock_wall_us());
	int rc = sqlite3_step(st);
	sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		return store_file_fail(s, err, "make");
	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d; COMMIT", SCHEMA_FORMAT);
	return store_file_run(s, sql, "make", err);
}

static int store_prepare(struct store *s, struct err *err)
{
	for (size_t i = 0; i < SQL_NR; i++)
		if (sqlite3_prepare_v3(s->db, store_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->stmt[i], NULL) != SQLITE_OK)
			return store_file_fail(s, err, "open");
	return 0;
}

int store_create(struct store **out, const char *path, const char *id, const uint8_t uuid[UUID_LEN],
		 const char *name, const uint8_t seed[SIGN_SEED_LEN], struct err *err)
{
	CLEANUP(store_free) struct store *s = store_new(path, seed);
	memcpy(s->uuid, uuid, UUID_LEN);
	/* the tables go into the main file before the WAL begins: even a bare copy of a running
	 * session says what it is */
	if (connect_db(s, err) < 0 || make_tables(s, id, name, err) < 0 || enter_wal(s, err) < 0 ||
	    store_prepare(s, err) < 0)
		return -1;
	chain_start(s->uuid, s->key, &s->now.chain);
	s->now.signed_us = clock_mono_us();
	*out = take(&s);
	return 0;
}

uint64_t store_number(struct store *s, const char *sql)
{
	sqlite3_stmt *st;
	uint64_t v = 0;
	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		v = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

/* A fork's chain begins where that of its first origin does. */
static void start_chain(struct store *s, const uint8_t key[SIGN_KEY_LEN])
{
	sqlite3_stmt *st;
	chain_start(s->uuid, key, &s->now.chain);
	int rc = sqlite3_prepare_v2(s->db, "SELECT uuid, key FROM origin ORDER BY seq LIMIT 1", -1,
				    &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 0) == UUID_LEN && sqlite3_column_bytes(st, 1) == SIGN_KEY_LEN)
		chain_start(sqlite3_column_blob(st, 0), sqlite3_column_blob(st, 1), &s->now.chain);
	sqlite3_finalize(st);
}

/* Fills @chain with event.chain of the last event, or with that of event 0. */
static int store_file_read_state(struct store *s, char **id_out, struct err *err)
{
	sqlite3_stmt *st;
	uint8_t key[SIGN_KEY_LEN];
	int rc = sqlite3_prepare_v2(s->db, "SELECT id, uuid, key FROM session", -1, &st, NULL);
	bool good = rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
		    sqlite3_column_bytes(st, 1) == UUID_LEN &&
		    sqlite3_column_bytes(st, 2) == SIGN_KEY_LEN;
	if (good) {
		*id_out = mem_strdup((const char *)sqlite3_column_text(st, 0));
		memcpy(s->uuid, sqlite3_column_blob(st, 1), UUID_LEN);
		memcpy(key, sqlite3_column_blob(st, 2), SIGN_KEY_LEN);
	}
	sqlite3_finalize(st);
	if (!good)
		return err_set(err, ERR_DAMAGED, "session file '%s' doesn't identify its session",
			       s->path);
	start_chain(s, key);
	rc = sqlite3_prepare_v2(s->db, "SELECT seq, chain FROM event ORDER BY seq DESC LIMIT 1", -1,
				&st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 1) == HASH_LEN) {
		s->now.seq = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(s->now.chain.b, sqlite3_column_blob(st, 1), HASH_LEN);
	}
	sqlite3_finalize(st);
	s->now.segment = store_number(s, "SELECT max(segment) FROM segment");
	s->now.signed_seq = store_number(s, "SELECT max(seq) FROM checkpoint");
	return 0;
}

/* A killed session whose log is empty: another program may have emptied it without writing
 * checksums. */
static bool emptied_by_others(const char *path)
{
	uint8_t header[20] = { 0 };
	struct stat st;
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	CLEANUP(fd_close)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       header[18] == 2 && (stat(wal, &st) < 0 || st.st_size == 0);
}

int store_open(struct store **out, const char *path, const uint8_t seed[SIGN_SEED_LEN],
	       char **id_out, uint8_t uuid_out[UUID_LEN], struct err *err)
{
	CLEANUP(store_free) struct store *s = store_new(path, seed);
	CLEANUP(free_ptr) char *id = NULL;
	if (emptied_by_others(path) && vfs_mend_sums(path, err) < 0)
		return -1;
	if (store_unpack(path, err) < 0 || connect_db(s, err) < 0 || enter_wal(s, err) < 0)
		return -1;
	char end[60];
	snprintf(end, sizeof(end), "PRAGMA user_version=%d; COMMIT", SCHEMA_FORMAT);
	if (store_file_run(s, "BEGIN IMMEDIATE", "open", err) < 0 ||
	    store_file_run(s, schema_views(), "open", err) < 0)
		return -1;
	if (store_kinds_again(s) != SQLITE_OK)
		return store_file_fail(s, err, "open");
	if (store_file_run(s, end, "open", err) < 0)
		return -1;
	if (store_prepare(s, err) < 0 || store_file_read_state(s, &id, err) < 0)
		return -1;
	memcpy(uuid_out, s->uuid, UUID_LEN);
	*id_out = take(&id);
	*out = take(&s);
	return 0;
}

/* SQLite leaves WAL mode only when no other process has the file open, and at the end of a session
 * consoles usually have. With the WAL emptied and synced and no writer left, only bytes 18 and 19
 * of the header differ (1 = rollback journal, 2 = WAL). Readers that stay connected continue on the
 * main file through their descriptors. */
static int leave_wal_by_hand(const char *path, struct err *err)
{
	uint8_t page[SUMS_PAGE];
	CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || pread(fd, page, sizeof(page), 0) != sizeof(page))
		return err_sys(err, "can't close session file '%s'", path);
	page[18] = page[19] = 1;
	if (page[20] == SUMS_TAIL)
		page_checksum_make(page);
	if (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fsync(fd) < 0)
		return err_sys(err, "can't close session file '%s'", path);
	static const char *const tail[] = { "-wal", "-shm" };
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *beside = mem_printf("%s%s", path, tail[i]);
		if (unlink(beside) < 0 && errno != ENOENT)
			return err_sys(err, "can't remove '%s'", beside);
	}
	return 0;
}

static int leave_wal(struct store *s, struct err *err)
{
	enum store_rc rc = STORE_RETRY;
	/* readers' transactions last one query */
	for (int tries = 0; rc == STORE_RETRY && tries < 40; tries++)
		rc = store_scrub(s);
	if (rc != STORE_OK)
		return err_set(err, ERR_BUSY, "session file '%s' remains in two parts: %s", s->path,
			       s->why);
	for (size_t i = 0; i < SQL_NR; i++) {
		sqlite3_finalize(s->stmt[i]);
		s->stmt[i] = NULL;
	}
	sqlite3_busy_timeout(s->db, 0);
	if (sqlite3_exec(s->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	sqlite3_close(s->db);
	s->db = NULL;
	return leave_wal_by_hand(s->path, err);
}

int store_close(struct store **s, bool clean, struct err *err)
{
	int rc = clean ? leave_wal(*s, err) : 0;
	CLEANUP(free_ptr) char *path = mem_strdup((*s)->path);
	store_free(s);
	if (clean && rc == 0)
		store_pack(path);
	return rc;
}
