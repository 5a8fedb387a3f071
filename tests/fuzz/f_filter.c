/* A filter line: refused with a column inside it, or matched against a row and prepared as SQL with a parameter for
 * each question mark. A text that matches its regular expression contains the index's search text. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/filter_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *db;
static json_t *row;

static const char schema[] =
	"CREATE TABLE session(id,name); CREATE TABLE kind(number INTEGER PRIMARY KEY,name);"
	"CREATE TABLE event(seq INTEGER PRIMARY KEY,cause,agent,box,action,ts_us,mono_us,kind,body);"
	"CREATE TABLE segment(action); INSERT INTO event VALUES(1,0,0,0,0,5,5,100,'{\"kind\":\"exec\",\"argv\":[\"ls\"]}');";

static void begin(void)
{
	static const char text[] = "{\"kind\":\"exec\",\"cmd\":\"rm -rf x\",\"path\":\"/workspace/a\",\"id\":7,\"rule\":[\"a\",\"b\"]}";
	struct err err = ERR_INIT;
	row = json_parse(text, strlen(text), "row", &err);
	if (!row || sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    filter_functions(db, &err) < 0)
		abort();
}

static void prepare(const struct filter *f)
{
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	sqlite3_stmt *st = NULL;
	buf_puts(&sql, "SELECT r.seq FROM event r WHERE ");
	filter_sql(f, &sql);
	int rc = sqlite3_prepare_v2(db, buf_cstr(&sql), -1, &st, NULL);
	bool big = rc != SQLITE_OK && (strstr(sqlite3_errmsg(db), "too large") || strstr(sqlite3_errmsg(db), "too many") ||
				       strstr(sqlite3_errmsg(db), "overflow") || strstr(sqlite3_errmsg(db), "depth"));
	if (rc != SQLITE_OK && !big)
		abort();
	/* unbound parameters are NULL: it must run all the same */
	if (st && sqlite3_step(st) != SQLITE_DONE && sqlite3_reset(st) != SQLITE_OK)
		abort();
	sqlite3_finalize(st);
}

struct held {
	const char *text;
	bool any; /* of the alternatives */
};

static bool holds(void *self, const struct strv *pieces)
{
	struct held *h = self;
	bool all = pieces->nr > 0;
	for (size_t i = 0; i < pieces->nr; i++)
		all = all && strstr(h->text, pieces->item[i]);
	h->any = h->any || all;
	return pieces->nr > 0;
}

/* The text at hand is the whole line, and what of it the expression is. */
static void look_for_pieces(const struct node *n, const char *line)
{
	if (!n)
		return;
	const char *const texts[] = { line, n->has_regex ? n->value[0].text : "" };
	for (size_t i = 0; n->has_regex && i < ARRAY_LEN(texts); i++) {
		struct held h = { texts[i], false };
		if (filter_pieces(n, holds, &h) && !h.any && regexec(&n->regex, texts[i], 0, NULL, 0) == 0)
			abort();
	}
	look_for_pieces(n->left, line);
	look_for_pieces(n->right, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	size_t column = 0;
	if (!db)
		begin();
	if (size > 4096)
		return 0;
	CLEANUP(free_ptr) char *text = mem_strndup((const char *)data, size);
	if (filter_parse(&f, text, NULL, &column, &err) < 0) {
		if (f || !err.text[0] || column < 1 || column > strlen(text) + 1)
			abort();
		return 0;
	}
	filter_match(f, row, 1000);
	if (filter_known_before(f, &err) < 0 && !err.text[0])
		abort();
	prepare(f);
	look_for_pieces(f->root, text);
	filter_free(&f);
	return 0;
}
