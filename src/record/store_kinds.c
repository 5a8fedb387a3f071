/* Table kind names the kinds that the file's events have, each from its first event on. */
#include "record/store_priv.h"

enum { KINDS_MEMORY = 8 * sizeof(((struct store *)0)->kinds) };

/* True the first time; kinds above the memory are inserted again, which does nothing. */
static bool store_kinds_is_new(struct store *s, uint16_t kind)
{
	if (kind >= KINDS_MEMORY)
		return true;
	bool is = !(s->kinds[kind / 64] >> kind % 64 & 1);
	s->kinds[kind / 64] |= (uint64_t)1 << kind % 64;
	return is;
}

static int store_kinds_put(sqlite3_stmt *st, uint16_t kind)
{
	sqlite3_bind_int(st, 1, kind);
	sqlite3_bind_text(st, 2, event_kind_name(kind), -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, event_kind_doc(kind), -1, SQLITE_STATIC);
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc;
}

enum store_rc store_kinds_note(struct store *s, const struct event *const *ev, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!store_kinds_is_new(s, ev[i]->kind) || !event_kind_name(ev[i]->kind))
			continue;
		int rc = store_kinds_put(s->stmt[SQL_KIND], ev[i]->kind);
		if (rc != SQLITE_DONE)
			return store_failed(s, rc);
	}
	return STORE_OK;
}

/* Names that other versions wrote. */
int store_kinds_again(struct store *s)
{
	static const char sql[] = "UPDATE kind SET name = ?2, doc = ?3 WHERE number = ?1";
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	rc = SQLITE_DONE;
	for (size_t i = 0; i < event_kind_count() && rc == SQLITE_DONE; i++)
		rc = store_kinds_put(st, event_kind_at(i));
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
