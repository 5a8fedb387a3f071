/* A shard without one of its sessions: nothing of it is left, and no session file is read. */
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "query/shard_priv.h"

/* What becomes of the sessions of the old shard. */
struct shard_taking {
	struct shard_maker *m;
	struct shard *from;
	size_t *place;	/* of each session in @m; SIZE_MAX: it is left out; owned */
	int64_t *moved; /* documents of each session: new number - old number; owned */
};

static bool shard_take_session(struct shard_taking *t, sqlite3_stmt *st, size_t i, const char *file,
			       const uint8_t *uuid)
{
	const struct shard_session *about = shard_at(t->from, i);
	const void *own = sqlite3_column_blob(st, 0), *chain = sqlite3_column_blob(st, 1);
	int own_len = sqlite3_column_bytes(st, 0), chain_len = sqlite3_column_bytes(st, 1);
	const char *details = (const char *)sqlite3_column_text(st, 2);
	t->place[i] = SIZE_MAX;
	if (own_len != UUID_LEN || chain_len != HASH_LEN || !details)
		return false;
	if (!strcmp(about->file, file) || (uuid && !memcmp(own, uuid, UUID_LEN)))
		return true;
	t->place[i] = t->m->sessions;
	t->moved[i] = (int64_t)t->m->docs - about->first;
	struct made_session *one = shard_make_keep(t->m, about);
	one->end.seq = about->events;
	memcpy(one->end.uuid, own, UUID_LEN);
	memcpy(one->end.chain.b, chain, HASH_LEN);
	one->details = mem_strdup(details);
	one->about.docs = about->docs;
	t->m->docs += about->docs;
	return true;
}

static bool shard_take_sessions(struct shard_taking *t, const char *file, const uint8_t *uuid)
{
	sqlite3_stmt *st = shard_select(t->from, "SELECT s.uuid,s.chain,d.body FROM session s"
						 " JOIN detail d ON d.n=s.n ORDER BY s.n");
	size_t i = 0;
	bool good = true;
	int rc = SQLITE_ERROR;
	while (good && (rc = shard_step(t->from, st)) == SQLITE_ROW)
		good = i < t->from->nr && shard_take_session(t, st, i++, file, uuid);
	sqlite3_finalize(st);
	return good && rc == SQLITE_DONE && i == t->from->nr;
}

/* The session of a document; the sessions are in the order of their documents. */
static size_t shard_take_owner(const struct shard_taking *t, uint64_t doc)
{
	size_t low = 0, high = t->from->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct shard_session *s = &t->from->session[middle];
		if (s->first + s->docs <= doc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool shard_take_word(struct shard_taking *t, sqlite3_stmt *st, const char *word, size_t len)
{
	uint64_t doc = 0, more;
	if (shard_step(t->from, st) != SQLITE_ROW)
		return false;
	const uint8_t *p = sqlite3_column_blob(st, 0), *end = p + sqlite3_column_bytes(st, 0);
	struct posting *to = NULL;
	while (p < end && leb128_get(&p, end, &more)) {
		doc += more;
		size_t of = shard_take_owner(t, doc);
		if (of == t->from->nr)
			return false;
		if (t->place[of] == SIZE_MAX)
			continue;
		to = to ? to : shard_make_posting(t->m, word, len);
		shard_make_document(to, (uint32_t)((int64_t)doc + t->moved[of]));
	}
	return p == end;
}

static bool shard_take_words(struct shard_taking *t)
{
	sqlite3_stmt *all = shard_select(t->from, "SELECT words FROM vocabulary"),
		     *one = shard_select(t->from, "SELECT docs FROM posting WHERE word=?1");
	bool good = shard_step(t->from, all) == SQLITE_ROW && one;
	const char *at = good ? (const char *)sqlite3_column_text(all, 0) : NULL,
		   *end = at ? at + sqlite3_column_bytes(all, 0) : NULL;
	good = at && at < end && *at == '\n';
	if (good)
		at++;
	for (sqlite3_int64 n = 0; good && at < end; n++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		good = line != NULL;
		if (!good)
			break;
		sqlite3_bind_int64(one, 1, n);
		good = shard_take_word(t, one, at, (size_t)(line - at));
		sqlite3_reset(one);
		at = line + 1;
	}
	sqlite3_finalize(all);
	sqlite3_finalize(one);
	return good;
}

static void shard_take_text(void *self, uint32_t deed, const char *text, size_t len)
{
	struct strv *all = self;
	if (deed == all->nr)
		strv_push_bytes(all, text, len);
}

static bool shard_take_deeds(struct shard_taking *t)
{
	struct strv all = STRV_INIT;
	bool good = shard_deeds_each(t->from, 0, UINT32_MAX, shard_take_text, &all) == 0;
	for (size_t i = 0; good && i < t->from->nr; i++) {
		struct shard_deed *list;
		size_t nr;
		if (t->place[i] == SIZE_MAX || shard_deeds_of(t->from, i, &list, &nr) < 0)
			continue;
		struct made_session *one = &t->m->session[t->place[i]];
		one->deeds_known = true;
		for (size_t k = 0; k < nr && good; k++) {
			good = list[k].deed < all.nr;
			if (good)
				shard_make_deed(t->m, one, list[k].id - (k ? list[k - 1].id : 0),
						all.item[list[k].deed], all.len[list[k].deed]);
		}
		free(list);
	}
	strv_release(&all);
	return good;
}

int shard_maker_take(struct shard_maker *m, const char *path, const char *file, const uint8_t *uuid,
		     struct err *err)
{
	struct shard_taking t = { .m = m };
	if (shard_open(&t.from, path, err) < 0)
		return -1;
	t.place = mem_calloc(t.from->nr + 1, sizeof(*t.place));
	t.moved = mem_calloc(t.from->nr + 1, sizeof(*t.moved));
	bool good = shard_take_sessions(&t, file, uuid) && shard_take_words(&t) &&
		    shard_take_deeds(&t) && !shard_damaged(t.from);
	free(t.place);
	free(t.moved);
	shard_close(&t.from);
	return good ? 0 : err_set(err, ERR_DAMAGED, "shard '%s': damaged", path);
}
