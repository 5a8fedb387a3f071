/* The lists of messages that events name: each exists with every list that it starts with, is well
 * formed, and names messages that the file holds. A redacted message counts as held: another check
 * verifies that an event redacted it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/read/verify_priv.h"

struct found {
	struct hash name;
	int64_t row;
	/* of the list; UINT64_MAX not known: it, or what it begins with, was removed */
	uint64_t len;
	/* the first element that is not in the file; UINT64_MAX: none, or not known */
	uint64_t missing;
	bool read; /* as a list */
};

struct lists_check {
	struct verify *v;
	struct found *row; /* every message, by name */
	size_t nr, cap;
	const char *wrong; /* static */
};

static int verify_list_by_name(const void *a, const void *b)
{
	return memcmp(((const struct found *)a)->name.b, ((const struct found *)b)->name.b,
		      HASH_LEN);
}

static struct found *verify_list_find(struct lists_check *c, const json_t *name)
{
	struct found key;
	if (!json_is_string(name) ||
	    !hex_parse(json_string_value(name), json_string_length(name), key.name.b, HASH_LEN) ||
	    !c->nr)
		return NULL;
	return bsearch(&key, c->row, c->nr, sizeof(key), verify_list_by_name);
}

static uint64_t verify_list_missing(struct lists_check *c, const json_t *plus)
{
	size_t i;
	json_t *v;
	json_array_foreach((json_t *)(uintptr_t)plus, i, v) if (!verify_list_find(c, v)) return i;
	return UINT64_MAX;
}

/* The items that row @f adds, if it starts with @as. */
static void verify_list_take_row(struct lists_check *c, struct found *f, const struct found *as,
				 const json_t *row)
{
	const json_t *plus = json_object_get(row, "plus"), *keep = json_object_get(row, "keep");
	uint64_t begin = as ? as->len : 0;
	if (!json_is_array(plus)) {
		c->wrong = "names an invalid list of messages";
	} else if (as && as->row >= f->row) {
		c->wrong = "names a list that starts with a later one";
	} else if (keep && (!json_is_integer(keep) || json_integer_value(keep) < 0 ||
			    (uint64_t)json_integer_value(keep) > begin)) {
		c->wrong = "names a list that keeps more messages than exist";
	} else {
		uint64_t missing = verify_list_missing(c, plus);
		if (keep)
			begin = (uint64_t)json_integer_value(keep);
		f->len = begin == UINT64_MAX ? begin : begin + json_array_size(plus);
		/* elements of the beginning that are not kept are no part of this list */
		if (as && as->missing < begin)
			f->missing = as->missing;
		else if (missing != UINT64_MAX)
			f->missing = begin == UINT64_MAX ? UINT64_MAX - 1 : begin + missing;
		else
			f->missing = UINT64_MAX;
		f->read = true;
	}
}

/* Down to the lists read before, then up again: a chain may be long. */
static int verify_list_check_list(struct lists_check *c, const json_t *name, bool deep,
				  struct err *err)
{
	CLEANUP(json_release) json_t *rows = json_array();
	struct found **chain = NULL, *f = verify_list_find(c, name);
	size_t nr = 0, cap = 0;
	int rc = 0;
	const struct found *as = NULL;
	while (!c->wrong) {
		if (!f) {
			c->wrong = "names a list of messages that is missing";
			break;
		}
		as = f;
		if (f->read)
			break;
		struct hash id = f->name;
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		int64_t row;
		struct err e = ERR_INIT;
		if (session_message_row(c->v->s, &id, &row, &text, &e) < 0 &&
		    e.code != ERR_CANCELLED) {
			*err = e;
			rc = -1;
			break;
		}
		if (e.code == ERR_CANCELLED) { /* what it was is not known, nor what follows */
			f->len = UINT64_MAX;
			f->missing = UINT64_MAX;
			f->read = true;
			break;
		}
		json_t *o = json_parse(text.data, text.len, "list", &e);
		if (!o || nr > c->nr) {
			json_decref(o);
			c->wrong = "names an invalid list of messages";
			break;
		}
		json_array_append_new(rows, o);
		GROW(chain, nr, cap);
		chain[nr++] = f;
		as = NULL;
		if (!json_object_get(o, "as"))
			break;
		f = verify_list_find(c, json_object_get(o, "as"));
	}
	while (rc == 0 && !c->wrong && nr-- > 0) {
		verify_list_take_row(c, chain[nr], as, json_array_get(rows, nr));
		as = chain[nr];
	}
	if (rc == 0 && !c->wrong && deep && as && as->missing != UINT64_MAX)
		c->wrong = "names a message that is missing";
	free(chain);
	return rc;
}

/* 1: the lists can't be read, which has been reported. */
static int read_names(struct lists_check *c, struct err *err)
{
	sqlite3_stmt *st = verify_sql(c->v, "SELECT message, hash FROM message", err);
	int64_t last = 0;
	if (!st)
		return -1;
	while (verify_row(c->v, st)) {
		GROW(c->row, c->nr, c->cap);
		last = sqlite3_column_int64(st, 0);
		c->row[c->nr] = (struct found){ .row = last };
		c->nr += verify_hash_column(st, 1, &c->row[c->nr].name);
	}
	if (!verify_end(c->v, st, "messages", "message %" PRId64, last))
		return 1;
	if (c->nr)
		qsort(c->row, c->nr, sizeof(*c->row), verify_list_by_name);
	return 0;
}

/* Of a call that was not made the messages may be missing: host.call comes before the gate. */
static const char named_sql[] =
	"SELECT e.seq, e.body, k.name FROM event e JOIN kind k ON k.number = e.kind"
	" WHERE k.name IN ('host.call', 'model.call', 'model.sent') AND e.body IS NOT NULL"
	" AND (k.name != 'host.call' OR json_extract(e.body, '$.op') = 'model.call') ORDER BY e.seq";

int verify_lists(struct verify *v, uint64_t *bad_out, const char **wrong_out, struct err *err)
{
	struct lists_check c = { .v = v };
	*bad_out = 0;
	*wrong_out = NULL;
	int rc = read_names(&c, err);
	sqlite3_stmt *st = rc == 0 ? verify_sql(v, named_sql, err) : NULL;
	rc = rc == 0 && !st ? -1 : rc;
	while (st && rc == 0 && !c.wrong && verify_row(v, st)) {
		const char *text = (const char *)sqlite3_column_text(st, 1),
			   *kind = (const char *)sqlite3_column_text(st, 2);
		struct err none = ERR_INIT;
		CLEANUP(json_release)
		json_t *body =
			text ? json_parse(text, (size_t)sqlite3_column_bytes(st, 1), "event", &none)
			     : NULL;
		bool call = !strcmp(kind, "host.call");
		const json_t *list =
			call ? json_object_get(json_object_get(body, "args"), "messages")
			     : json_object_get(body,
					       !strcmp(kind, "model.sent") ? "body" : "messages");
		*bad_out = (uint64_t)sqlite3_column_int64(st, 0);
		if (json_is_string(list))
			rc = verify_list_check_list(&c, list, !call, err);
		else if (!call && verify_list_missing(&c, list) != UINT64_MAX)
			c.wrong = "names a message that is missing";
	}
	if (!verify_end(v, st, "messages", "messages of event %" PRIu64, *bad_out) && rc == 0)
		rc = 1;
	free(c.row);
	*wrong_out = c.wrong;
	return rc;
}
