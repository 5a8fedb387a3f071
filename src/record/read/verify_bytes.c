/* Is every byte of the file, and of the write-ahead log beside it, what was put there? Also those
 * that no query reads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/read/lease.h"
#include "record/read/page_checksum.h"
#include "record/read/verify_priv.h"

enum { LOOKS = 5 };

struct raw {
	const struct session *s;
	sqlite3_file *file;
	const char *path;
	struct log_pages in_log; /* read when the first page is in doubt */
	bool looked;
};

/* Through SQLite's own descriptor: closing another one would drop the locks of this process. */
static bool read_raw(void *self, uint64_t at, void *buf, size_t len)
{
	const struct raw *r = self;
	sqlite3_file *f = r->file;
	if (session_stopped(r->s)) { /* zeros have a sum that holds: nothing is tried again */
		memset(buf, 0, len);
		return true;
	}
	return f->pMethods->xRead(f, buf, (int)len, (sqlite3_int64)at) == SQLITE_OK;
}

/* Another program has moved it out of the log of a running session; its sum follows. */
static bool moved_by_others(void *self, uint64_t page, const uint8_t bytes[SUMS_PAGE])
{
	struct raw *r = self;
	struct err err;
	if (!r->looked && page_checksum_log_pages(r->path, &r->in_log, &err) < 0)
		r->in_log.nr = 0;
	r->looked = true;
	return page_checksum_in_log(r->path, &r->in_log, page, bytes);
}

/* The table or index that page @page belongs to. */
static void owner_of(struct verify *v, uint64_t page, char out[80])
{
	struct err err;
	snprintf(out, 80, "%s", page == 1 ? "header and schema" : "free space");
	sqlite3_stmt *st =
		page > 1 ? verify_sql(v, "SELECT name FROM dbstat WHERE pageno = ?1", &err) : NULL;
	if (!st)
		return;
	sqlite3_bind_int64(st, 1, (int64_t)page);
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		snprintf(out, 80, "%.70s", (const char *)sqlite3_column_text(st, 0));
	else if (rc != SQLITE_DONE)
		snprintf(out, 80, "unknown contents");
	sqlite3_finalize(st);
}

static uint32_t run_of_log(const char *path)
{
	struct log_end log;
	struct err err;
	return page_checksum_look_log(path, &log, &err) == 0 ? log.salt : 0;
}

/* Reads again if a running session's log restarted meanwhile: the two halves of the first reading
 * don't match. */
static void look_at_pages(struct raw *raw, uint64_t size, bool live, struct sums *out)
{
	for (int tries = 0; tries < 3; tries++) {
		uint32_t before = live ? run_of_log(raw->path) : 0;
		raw->looked = false;
		page_checksum_look(read_raw, moved_by_others, raw, size, live, out);
		log_pages_release(&raw->in_log);
		if (!live || !out->bad || run_of_log(raw->path) == before)
			return;
	}
}

/* The progress of the writer is unknown because the host has been down since. At the end of a log a
 * power cut only loses commits that were never acknowledged as durable, so that isn't damage.
 * Complete frames after a break prove nothing: commits that nobody waits for are not synced, and
 * the kernel writes them in any order. Anchored events were synced: that check finds their loss. A
 * frame with one or two flipped bits was most likely written completely (bitflip.h): that counts
 * as damage. */
static bool is_torn(const struct lease_note *note, bool live, const struct log_end *log)
{
	return log->why && !note && !live && !log->was_synced && !log->turned_at;
}

/* Of a running session it may be emptied, at its end cut to nothing, in the middle of a look: then
 * another one tells. */
static int look_at_log(const char *path, bool live, struct log_end *out, struct err *err)
{
	static const struct timespec while_it_is_emptied = { .tv_nsec = 5000000 };
	int rc = page_checksum_look_log(path, out, err);
	for (int tries = 1; live && rc == 0 && out->why && tries < LOOKS; tries++) {
		nanosleep(&while_it_is_emptied, NULL);
		rc = page_checksum_look_log(path, out, err);
	}
	return rc;
}

/* The log; false and a report if it is not whole. */
static bool log_is_whole(struct verify *v, const char *path, const struct lease_note *note,
			 bool live, struct log_end *log)
{
	struct err err;
	if (look_at_log(path, live, log, &err) < 0) {
		verify_say(v, "bytes", VERIFY_FAIL, 0, "%s", err.text);
		return false;
	}
	uint64_t noted = note && note->salt == log->salt ? note->end : 0;
	if (is_torn(note, live, log))
		return true;
	if (log->why && log->bad_at == 1) {
		if (!live)
			verify_say(v, "bytes", VERIFY_FAIL, 0,
				   "the write-ahead log %s at byte 0; it was not read", log->why);
		return live;
	}
	/* behind what was committed: a frame that was being written when its writer was killed */
	bool under_way = log->bad_at >= noted && (note || live);
	if (log->why && !under_way && log->turned_at) {
		verify_say(v, "bytes", VERIFY_FAIL, 0,
			   "the write-ahead log %s: a bit of byte %" PRIu64
			   " is flipped (frame %" PRIu64 "); the rest was not read",
			   log->why, log->turned_at, log->frames + 1);
		return false;
	}
	if (log->why && !under_way) {
		verify_say(v, "bytes", VERIFY_FAIL, 0,
			   "the write-ahead log %s at byte %" PRIu64 " (frame %" PRIu64
			   "); the rest was not read",
			   log->why, log->bad_at, log->frames + 1);
		return false;
	}
	if (!live && log->there && log->end < noted) {
		verify_say(v, "bytes", VERIFY_FAIL, 0,
			   "the write-ahead log ends at byte %" PRIu64
			   ", but its writer wrote up to byte %" PRIu64,
			   log->end, noted);
		return false;
	}
	return true;
}

static void verify_bytes_say_whole(struct verify *v, const struct sums *sums,
				   const struct log_end *log, bool demanded, bool torn)
{
	char behind[120] = "";
	if (log->there)
		snprintf(behind, sizeof(behind), ", %" PRIu64 " frames of the log%s", log->frames,
			 log->left ? " (frames after them are ignored)" : "");
	if (torn)
		verify_say(
			v, "bytes", VERIFY_SKIP, 0,
			"the write-ahead log %s at byte %" PRIu64 " (frame %" PRIu64
			"): a power cut (which loses only events that were not durable yet) or more"
			" than two flipped bits; a later anchor distinguishes them",
			log->why, log->bad_at, log->frames + 1);
	else if (!sums->kept)
		verify_say(v, "bytes", VERIFY_SKIP, 0,
			   "this file has no page checksums: its unused space was not checked%s",
			   behind);
	else if (!demanded)
		verify_say(
			v, "bytes", VERIFY_SKIP, 0,
			"the session has not ended, and its log is empty (another program?): unused space was not checked");
	else
		verify_say(v, "bytes", VERIFY_OK, 0, "%" PRIu64 " pages match their checksums%s",
			   sums->pages, behind);
}

static bool verify_bytes_reaches(struct verify *v, const struct lease_note *note)
{
	uint64_t head = session_head(v->s);
	if (!note || head >= note->seq)
		return true;
	verify_say(v, "bytes", VERIFY_FAIL, head + 1,
		   "gap: the file ends at event %" PRIu64
		   ", but its writer committed event %" PRIu64,
		   head, note->seq);
	return false;
}

int verify_bytes(struct verify *v, struct err *err)
{
	struct lease_note noted;
	const struct lease_note *note =
		!v->s->copy && lease_noted(v->s->path, &noted) ? &noted : NULL;
	const char *path = sqlite3_db_filename(v->s->db, "main");
	bool live = lease_busy(v->s->path); /* also when its index is being added to */
	struct raw raw = { .s = v->s, .path = path };
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	struct sums sums;
	struct log_end log;
	if (sqlite3_file_control(v->s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return err_set(err, ERR_IO, "can't read session file '%s'", v->s->path);
	raw.file = file;
	look_at_pages(&raw, (uint64_t)size, live, &sums);
	if (!log_is_whole(v, path, note, live, &log))
		return 0;
	bool demanded = sums.kept && (sums.ended || log.there || live);
	if (demanded && sums.bad && live && !log.there) {
		verify_say(v, "bytes", VERIFY_SKIP, 0,
			   "another program emptied the log: %" PRIu64
			   " pages can be checked after the session continues",
			   sums.bad);
	} else if (demanded && sums.bad) {
		char owner[80];
		owner_of(v, sums.first_bad, owner);
		verify_say(v, "bytes", VERIFY_FAIL, 0,
			   "page %" PRIu64 " (%s, bytes %" PRIu64 " to %" PRIu64
			   ") doesn't match its checksum%s",
			   sums.first_bad, owner, (sums.first_bad - 1) * sums.page,
			   sums.first_bad * sums.page - 1,
			   sums.bad > 1 ? ", and others don't" : "");
	} else if (!live && sums.cut && !log.frames) { /* else the rest may be in the log still */
		verify_say(v, "bytes", VERIFY_FAIL, 0,
			   "the file is truncated at byte %lld of %" PRIu64, (long long)size,
			   sums.pages * sums.page);
	} else if (!live && sums.more && sums.ended) {
		verify_say(v, "bytes", VERIFY_FAIL, 0, "%lld extra bytes after the last page",
			   (long long)size - (long long)(sums.pages * sums.page));
	} else if (live || verify_bytes_reaches(v, note)) {
		verify_bytes_say_whole(v, &sums, &log, demanded, is_torn(note, live, &log));
	}
	return 0;
}

bool verify_unopened(const char *path, char *out, size_t cap)
{
	struct sums sums;
	struct err err;
	uint64_t size;
	if (page_checksum_look_file(path, &sums, &size, &err) < 0 || !sums.kept)
		return false;
	if (sums.bad)
		snprintf(out, cap,
			 "page %" PRIu64 " (bytes %" PRIu64 " to %" PRIu64
			 ") doesn't match its checksum%s",
			 sums.first_bad, (sums.first_bad - 1) * sums.page,
			 sums.first_bad * sums.page - 1, sums.bad > 1 ? ", and others don't" : "");
	else if (sums.cut)
		snprintf(out, cap, "the file is truncated at byte %" PRIu64 " of %" PRIu64, size,
			 sums.pages * sums.page);
	else
		return false;
	return true;
}
