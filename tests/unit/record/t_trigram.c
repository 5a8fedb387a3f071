/* The faster tokenizer makes the index that SQLite's own makes. */
#include "tap.h"

#include <string.h>

#include "base/buf.h"
#include "record/trigram.h"

static const char table[] = "CREATE VIRTUAL TABLE search USING fts5(text, content='', tokenize='trigram', detail='none', columnsize=0);"
			    "CREATE VIRTUAL TABLE terms USING fts5vocab('search', 'row')";

static const char *const texts[] = {
	"", "a", "ab", "abc", "abcabcabcabc", "The Quick BROWN fox\n\nthe quick brown FOX\n\n", "テストが失敗しています。test テスト",
	"\xc3\x9c" "ber \xc3\xbc" "ber \xc4\xb0i \xce\xa3\xcf\x83\xcf\x82", "broken \xff\xfe bytes \xe3\x83 here", "\x7f\x01\x02 \x7f\x01\x02",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "{\"cmd\":\"make -j2 test\",\"cwd\":\"/workspace\"}\n\n",
};

static sqlite3 *open_one(bool mine)
{
	sqlite3 *db = NULL;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK || (mine && trigram_register(db) != SQLITE_OK) ||
	    sqlite3_exec(db, table, NULL, NULL, NULL) != SQLITE_OK)
		printf("# %s\n", sqlite3_errmsg(db));
	return db;
}

static void put(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		sqlite3_bind_int64(st, 1, (int64_t)i + 1);
		sqlite3_bind_text(st, 2, texts[i], -1, SQLITE_STATIC);
		if (sqlite3_step(st) != SQLITE_DONE)
			printf("# %s\n", sqlite3_errmsg(db));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
}

/* Every term with the rows that hold it. */
static void dump(sqlite3 *db, struct buf *out)
{
	sqlite3_stmt *st = NULL, *in = NULL;
	CLEANUP(buf_release) struct buf quoted = BUF_INIT;
	buf_reset(out);
	sqlite3_prepare_v2(db, "SELECT term, doc FROM terms", -1, &st, NULL);
	sqlite3_prepare_v2(db, "SELECT group_concat(rowid) FROM search WHERE search MATCH ?1", -1, &in, NULL);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *term = (const char *)sqlite3_column_text(st, 0);
		buf_reset(&quoted);
		buf_putc(&quoted, '"');
		for (const char *c = term; *c; c++)
			buf_printf(&quoted, "%s%c", *c == '"' ? "\"" : "", *c);
		buf_putc(&quoted, '"');
		sqlite3_bind_text(in, 1, quoted.data, (int)quoted.len, SQLITE_STATIC);
		const char *rows = sqlite3_step(in) == SQLITE_ROW ? (const char *)sqlite3_column_text(in, 0) : NULL;
		buf_printf(out, "%s %d %s\n", term, sqlite3_column_int(st, 1), rows ? rows : "-");
		sqlite3_reset(in);
	}
	sqlite3_finalize(in);
	sqlite3_finalize(st);
}

int main(void)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT, ours = BUF_INIT;
	sqlite3 *a = open_one(false), *b = open_one(true);
	put(a, "INSERT INTO search(rowid, text) VALUES(?1, ?2)");
	put(b, "INSERT INTO search(rowid, text) VALUES(?1, ?2)");
	dump(a, &plain);
	dump(b, &ours);
	ok(plain.len > 1000, "SQLite's own: %zu bytes of terms", plain.len);
	ok(plain.len == ours.len && !memcmp(plain.data, ours.data, plain.len), "ours: the same terms in the same rows");
	put(b, "INSERT INTO search(search, rowid, text) VALUES('delete', ?1, ?2)");
	dump(b, &ours);
	is_int((long long)ours.len, 0, "and taken out again nothing is left");
	sqlite3_close(a);
	sqlite3_close(b);
	return done_testing();
}
