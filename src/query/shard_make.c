/* Writing a shard: words of all texts into postings, then one new file. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leb128.h"
#include "base/mem.h"
#include "query/shard_priv.h"
#include "query/shard_vfs.h"
#include "query/shard_words.h"
#include "record/read/text.h"

struct shard_maker *shard_maker_new(void)
{
	struct shard_maker *m = NEW(struct shard_maker);
	m->slots = 1 << 12;
	m->slot = mem_calloc(m->slots, sizeof(*m->slot));
	m->deed = json_object();
	return m;
}

void shard_maker_free(struct shard_maker **mp)
{
	struct shard_maker *m = *mp;
	*mp = NULL;
	if (!m)
		return;
	for (size_t i = 0; i < m->postings; i++) {
		free(m->posting[i].word);
		free(m->posting[i].doc);
	}
	for (size_t i = 0; i < m->sessions; i++) {
		free((char *)(uintptr_t)m->session[i].about.file);
		free((char *)(uintptr_t)m->session[i].about.id);
		free((char *)(uintptr_t)m->session[i].about.state);
		free((char *)(uintptr_t)m->session[i].about.why);
		free((char *)(uintptr_t)m->session[i].about.glance);
		free(m->session[i].details);
		buf_release(&m->session[i].deeds);
	}
	json_decref(m->deed);
	strv_release(&m->text);
	free(m->posting);
	free(m->slot);
	free(m->session);
	free(m);
}

size_t shard_maker_count(const struct shard_maker *m)
{
	return m->sessions;
}

static size_t shard_make_hash(const char *word, size_t len)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)word[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 29);
}

static void shard_make_grow(struct shard_maker *m)
{
	free(m->slot);
	m->slots *= 2;
	m->slot = mem_calloc(m->slots, sizeof(*m->slot));
	for (size_t i = 0; i < m->postings; i++) {
		size_t at = shard_make_hash(m->posting[i].word, m->posting[i].len) & (m->slots - 1);
		while (m->slot[at])
			at = (at + 1) & (m->slots - 1);
		m->slot[at] = (uint32_t)i + 1;
	}
}

struct posting *shard_make_posting(struct shard_maker *m, const char *word, size_t len)
{
	size_t at = shard_make_hash(word, len) & (m->slots - 1);
	for (; m->slot[at]; at = (at + 1) & (m->slots - 1)) {
		struct posting *p = &m->posting[m->slot[at] - 1];
		if (p->len == len && !memcmp(p->word, word, len))
			return p;
	}
	if (m->postings * 2 > m->slots) {
		shard_make_grow(m);
		return shard_make_posting(m, word, len);
	}
	GROW(m->posting, m->postings, m->posting_cap);
	m->posting[m->postings++] = (struct posting){ .word = mem_strndup(word, len), .len = len };
	m->slot[at] = (uint32_t)m->postings;
	return &m->posting[m->postings - 1];
}

void shard_make_document(struct posting *p, uint32_t doc)
{
	if (p->nr && p->doc[p->nr - 1] == doc)
		return;
	GROW(p->doc, p->nr, p->cap);
	p->doc[p->nr++] = doc;
}

static void shard_make_text(struct shard_maker *m, uint32_t doc, const struct buf *text)
{
	for (size_t at = 0, len; (len = shard_word_next(text->data, text->len, &at));) {
		const char *word = text->data + at - len, *instead = shard_word_instead(word, len);
		struct posting *p = instead ? shard_make_posting(m, instead, strlen(instead))
					    : shard_make_posting(m, word, len);
		shard_make_document(p, doc);
	}
}

/* An action and its steps, which `search` treats together, are one document. */
static int shard_make_words(struct shard_maker *m, struct session *s, uint64_t head,
			    uint32_t *docs_out, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, folded = BUF_INIT;
	struct text_reader reader = TEXT_READER(session_handle(s));
	uint32_t *doc = mem_calloc(head + 1, sizeof(*doc)), docs = 0;
	struct event ev[256];
	size_t nr = ARRAY_LEN(ev);
	int rc = 0;
	session_hold(s);
	for (uint64_t at = 0; rc == 0 && nr == ARRAY_LEN(ev);) {
		nr = 0;
		rc = session_headers(s, at, ev, ARRAY_LEN(ev), &nr, err);
		for (size_t i = 0; rc == 0 && i < nr; i++) {
			at = ev[i].seq;
			uint64_t row = ev[i].action && ev[i].action < at ? ev[i].action : at;
			if (at > head) /* a foreign file */
				rc = err_set(err, ERR_DAMAGED, "events without order");
			if (rc == 0 && !doc[row])
				doc[row] = ++docs;
			rc = rc == 0 ? text_of_event(&reader, at, &text, err) : rc;
			if (rc != 1)
				continue;
			rc = 0;
			text_fold(text.data, text.len, &folded);
			shard_make_text(m, m->docs + doc[row] - 1, &folded);
		}
	}
	session_let_go(s);
	text_reader_release(&reader);
	free(doc);
	*docs_out = docs;
	return rc;
}

struct made_session *shard_make_keep(struct shard_maker *m, const struct shard_session *about)
{
	GROW(m->session, m->sessions, m->session_cap);
	struct made_session *one = &m->session[m->sessions++];
	*one = (struct made_session){ .about = *about };
	one->about.file = mem_strdup(about->file);
	one->about.id = about->id ? mem_strdup(about->id) : NULL;
	one->about.state = mem_strdup(about->state);
	one->about.why = about->why ? mem_strdup(about->why) : NULL;
	one->about.glance = mem_strdup(about->glance ? about->glance : "");
	one->about.first = m->docs;
	one->about.docs = 0;
	return one;
}

void shard_make_deed(struct shard_maker *m, struct made_session *one, uint64_t distance,
		     const char *text, size_t len)
{
	CLEANUP(free_ptr) char *key = mem_strndup(text, len);
	const json_t *at = json_object_get(m->deed, key);
	json_int_t deed = at ? json_integer_value(at) : (json_int_t)m->text.nr;
	if (!at) {
		json_object_set_new_nocheck(m->deed, key, json_integer(deed));
		strv_push_bytes(&m->text, text, len);
	}
	leb128_put(&one->deeds, distance);
	leb128_put(&one->deeds, (uint64_t)deed);
}

int shard_maker_add(struct shard_maker *m, struct session *s, const struct shard_session *about,
		    const json_t *details, const struct shard_actions *actions, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct session_end end;
	uint32_t docs = 0;
	uint64_t head = session_head(s);
	if (session_end(s, &end, err) < 0 ||
	    (head <= SHARD_EVENTS_MOST && shard_make_words(m, s, head, &docs, err) < 0))
		return -1;
	json_dump_buf(details, &text);
	struct made_session *one = shard_make_keep(m, about);
	one->end = end;
	one->details = buf_take(&text);
	one->about.docs = docs;
	m->docs += docs;
	one->deeds_known = !actions->unknown;
	for (size_t i = 0; one->deeds_known && i < actions->nr; i++)
		shard_make_deed(m, one, actions->id[i] - (i ? actions->id[i - 1] : 0),
				actions->text.item[i], actions->text.len[i]);
	return 0;
}

void shard_maker_leave(struct shard_maker *m, const struct shard_session *about)
{
	struct shard_session left = {
		.file = about->file, .size = about->size, .mtime_us = about->mtime_us, .state = ""
	};
	shard_make_keep(m, &left)->details = mem_strdup("{}");
}

/* --- the file --------------------------------------------------------------------------------- */

static const char shard_schema[] =
	"PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
	"PRAGMA application_id=1397181251; PRAGMA user_version=5; BEGIN;"
	"CREATE TABLE session(n INTEGER PRIMARY KEY, file TEXT NOT NULL, uuid BLOB NOT NULL,"
	" size INTEGER NOT NULL, mtime_us INTEGER NOT NULL, events INTEGER NOT NULL,"
	" chain BLOB NOT NULL, begun_us INTEGER NOT NULL, last_us INTEGER NOT NULL,"
	" state TEXT NOT NULL, why TEXT, first INTEGER NOT NULL, docs INTEGER NOT NULL,"
	" glance TEXT NOT NULL, id TEXT) STRICT;"
	"CREATE TABLE detail(n INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;"
	"CREATE TABLE vocabulary(words TEXT NOT NULL) STRICT;"
	"CREATE TABLE posting(word INTEGER PRIMARY KEY, docs BLOB NOT NULL) STRICT;"
	"CREATE TABLE deed(n INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;"
	"CREATE TABLE done(n INTEGER PRIMARY KEY, deeds BLOB NOT NULL) STRICT;";

static int shard_make_failed(sqlite3 *db, struct err *err)
{
	return err_set(err, ERR_IO, "can't write a shard of the catalog: %s", sqlite3_errmsg(db));
}

static int shard_make_by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void shard_make_docs(struct posting *p, struct buf *out)
{
	uint32_t last = 0;
	qsort(p->doc, p->nr, sizeof(*p->doc), shard_make_by_number);
	buf_reset(out);
	for (size_t i = 0; i < p->nr; i++) {
		if (i && p->doc[i] == last)
			continue;
		leb128_put(out, p->doc[i] - (i ? last : 0));
		last = p->doc[i];
	}
}

static int shard_make_put_words(struct shard_maker *m, sqlite3 *db, struct err *err)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT, docs = BUF_INIT;
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO posting VALUES(?,?)", -1, &st, NULL);
	buf_putc(&words, '\n');
	for (size_t i = 0; rc == SQLITE_OK && i < m->postings; i++) {
		struct posting *p = &m->posting[i];
		buf_append(&words, p->word, p->len);
		buf_putc(&words, '\n');
		shard_make_docs(p, &docs);
		sqlite3_bind_int64(st, 1, (sqlite3_int64)i);
		sqlite3_bind_blob64(st, 2, docs.data, docs.len, SQLITE_STATIC);
		rc = sqlite3_step(st) == SQLITE_DONE ? sqlite3_reset(st) : SQLITE_ERROR;
	}
	sqlite3_finalize(st);
	st = NULL;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO vocabulary VALUES(?)", -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text64(st, 1, words.data, words.len, SQLITE_STATIC, SQLITE_UTF8);
		rc = sqlite3_step(st) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	}
	int result = rc == SQLITE_OK ? 0 : shard_make_failed(db, err);
	sqlite3_finalize(st);
	return result;
}

static bool shard_make_put_deeds(const struct shard_maker *m, sqlite3 *db)
{
	sqlite3_stmt *deed = NULL, *done = NULL;
	bool good = sqlite3_prepare_v2(db, "INSERT INTO deed VALUES(?,?)", -1, &deed, NULL) ==
			    SQLITE_OK &&
		    sqlite3_prepare_v2(db, "INSERT INTO done VALUES(?,?)", -1, &done, NULL) ==
			    SQLITE_OK;
	for (size_t i = 0; good && i < m->text.nr; i++) {
		sqlite3_bind_int64(deed, 1, (sqlite3_int64)i);
		sqlite3_bind_text64(deed, 2, m->text.item[i], m->text.len[i], SQLITE_STATIC,
				    SQLITE_UTF8);
		good = sqlite3_step(deed) == SQLITE_DONE && sqlite3_reset(deed) == SQLITE_OK;
	}
	for (size_t i = 0; good && i < m->sessions; i++) {
		const struct made_session *one = &m->session[i];
		if (!one->deeds_known)
			continue;
		sqlite3_bind_int64(done, 1, (sqlite3_int64)i);
		sqlite3_bind_blob64(done, 2, one->deeds.len ? one->deeds.data : "", one->deeds.len,
				    SQLITE_STATIC);
		good = sqlite3_step(done) == SQLITE_DONE && sqlite3_reset(done) == SQLITE_OK;
	}
	sqlite3_finalize(deed);
	sqlite3_finalize(done);
	return good;
}

static bool shard_make_put_session(const struct made_session *m, size_t n, sqlite3_stmt *st,
				   sqlite3_stmt *detail)
{
	const struct shard_session *a = &m->about;
	const int64_t number[] = { a->size, a->mtime_us, (int64_t)m->end.seq };
	sqlite3_bind_int64(st, 1, (sqlite3_int64)n);
	sqlite3_bind_text(st, 2, a->file, -1, SQLITE_STATIC);
	sqlite3_bind_blob(st, 3, m->end.uuid, UUID_LEN, SQLITE_STATIC);
	for (size_t i = 0; i < ARRAY_LEN(number); i++)
		sqlite3_bind_int64(st, (int)i + 4, number[i]);
	sqlite3_bind_blob(st, 7, m->end.chain.b, HASH_LEN, SQLITE_STATIC);
	sqlite3_bind_int64(st, 8, a->begun_us);
	sqlite3_bind_int64(st, 9, a->last_us);
	sqlite3_bind_text(st, 10, a->state, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 11, a->why, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 12, a->first);
	sqlite3_bind_int64(st, 13, a->docs);
	sqlite3_bind_text(st, 14, a->glance, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 15, a->id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(detail, 1, (sqlite3_int64)n);
	sqlite3_bind_text(detail, 2, m->details, -1, SQLITE_STATIC);
	bool good = sqlite3_step(st) == SQLITE_DONE && sqlite3_step(detail) == SQLITE_DONE;
	sqlite3_reset(st);
	sqlite3_reset(detail);
	return good;
}

static int shard_make_put(struct shard_maker *m, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *st = NULL, *detail = NULL;
	bool good =
		shard_vfs_room(db) == SQLITE_OK &&
		sqlite3_exec(db, shard_schema, NULL, NULL, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(db, "INSERT INTO session VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
				   -1, &st, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(db, "INSERT INTO detail VALUES(?,?)", -1, &detail, NULL) ==
			SQLITE_OK;
	for (size_t i = 0; good && i < m->sessions; i++)
		good = shard_make_put_session(&m->session[i], i, st, detail);
	good = good && shard_make_put_deeds(m, db);
	int rc = good ? shard_make_put_words(m, db, err) : shard_make_failed(db, err);
	sqlite3_finalize(st);
	sqlite3_finalize(detail);
	if (rc == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = shard_make_failed(db, err);
	return rc;
}

int shard_maker_write(struct shard_maker *m, const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *draft = mem_printf("%s.%d", path, (int)getpid());
	sqlite3 *db = NULL;
	mode_t before = umask(077);
	int rc = sqlite3_open_v2(draft, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
				 SQLITE_OK
			 ? shard_make_put(m, db, err)
			 : shard_make_failed(db, err);
	umask(before);
	sqlite3_close(db);
	if (rc == 0)
		rc = shard_vfs_seal(draft, err);
	if (rc == 0 && rename(draft, path) < 0)
		rc = err_sys(err, "can't write '%s'", path);
	if (rc < 0)
		unlink(draft);
	return rc;
}
