/* Checkpoints in the file, and the anchors noted outside of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/verify_priv.h"

enum { ANCHOR_MOST = 1 << 30 };

static bool known_key(const struct verify *v, const uint8_t *key)
{
	/* the key that the chain starts with; the others of a fork are in its events, not only in
	 * tables */
	if (!memcmp(v->s->nr_origins ? v->s->origin[0].key : v->s->key, key, SIGN_KEY_LEN))
		return true;
	for (size_t i = 0; i < v->keys; i++)
		if (!memcmp(v->key[i], key, SIGN_KEY_LEN))
			return true;
	return false;
}

static const char *check_checkpoint(struct verify *v, sqlite3_stmt *st, uint64_t seq)
{
	struct hash chain, now;
	const uint8_t *key = sqlite3_column_blob(st, 3);
	const uint8_t *sig = sqlite3_column_blob(st, 4);
	if (!verify_hash_column(st, 2, &chain) || !key ||
	    sqlite3_column_bytes(st, 3) != SIGN_KEY_LEN || !sig ||
	    sqlite3_column_bytes(st, 4) != SIGN_LEN)
		return "is not a checkpoint";
	if (!known_key(v, key))
		return "is signed by a key that the session doesn't name";
	if (v->opts->key && memcmp(v->opts->key, key, SIGN_KEY_LEN))
		return "is signed by a different key than the given one";
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	chain_checkpoint(session_uuid_at(v->s, seq), seq, &chain, sqlite3_column_int64(st, 1),
			 &text);
	if (!sign_check(key, text.data, text.len, sig))
		return "has an invalid signature";
	if (!verify_chain_at(v, seq, &now))
		return "names a missing event";
	return hash_eq(&now, &chain) ? NULL : "signs a different chain than the file contains";
}

/* Whether the event after @o says that the session of @o was left there for @uuid. */
static bool left_there(struct verify *v, const struct origin *o, const uint8_t *uuid)
{
	struct event ev;
	struct err err;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;
	if (session_event(v->s, o->seq + 1, &ev, &arena, &err) < 0 || ev.kind != EV_SESSION_FORKED)
		return false;
	CLEANUP(json_release)
	json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
	hex_append(&from, o->uuid, UUID_LEN);
	hex_append(&to, uuid, UUID_LEN);
	return !ev.body || (!strcmp(json_str(body, "from_uuid", ""), from.data) &&
			    !strcmp(json_str(body, "uuid", ""), to.data));
}

/* A fork names its origin twice: in the table, which nothing signs, and in the event after the
 * copied ones, which the chain holds. Only a fork that has not gone on lacks that event. */
static bool origins_hold(struct verify *v, uint64_t *bad)
{
	for (size_t i = 0; i < v->s->nr_origins; i++) {
		const struct origin *o = &v->s->origin[i];
		bool last = i + 1 == v->s->nr_origins;
		*bad = o->seq + 1;
		if (last && o->seq && o->seq == v->head)
			continue;
		if (!o->seq || o->seq >= v->head ||
		    !left_there(v, o, last ? v->s->uuid : o[1].uuid))
			return false;
	}
	return true;
}

int verify_signatures(struct verify *v, struct err *err)
{
	uint64_t foreign = 0;
	if (!origins_hold(v, &foreign)) {
		verify_say(v, "signatures", VERIFY_FAIL, foreign,
			   "event %" PRIu64 " doesn't record the fork of the session", foreign);
		return 0;
	}
	sqlite3_stmt *st = verify_sql(
		v, "SELECT seq, ts_us, chain, key, sig FROM checkpoint ORDER BY seq", err);
	const char *wrong = NULL;
	uint64_t seq = 0, signed_to = 0;
	if (!st)
		return -1;
	while (!wrong && verify_row(v, st)) {
		seq = (uint64_t)sqlite3_column_int64(st, 0);
		wrong = check_checkpoint(v, st, seq);
		v->totals->checkpoints++;
		if (!wrong)
			signed_to = seq;
	}
	if (!verify_end(v, st, "signatures", "the checkpoint at event %" PRIu64, seq))
		return 0;
	if (wrong)
		verify_say(v, "signatures", VERIFY_FAIL, seq,
			   "the checkpoint at event %" PRIu64 " %s", seq, wrong);
	else if (!v->totals->checkpoints && v->ended)
		verify_say(v, "signatures", VERIFY_FAIL, v->head,
			   "the session has ended without a signature");
	else if (v->ended && signed_to < v->head)
		verify_say(v, "signatures", VERIFY_FAIL, signed_to + 1,
			   "the session has ended, but events after %" PRIu64 " have no signature",
			   signed_to);
	else
		verify_say(v, "signatures", v->totals->checkpoints ? VERIFY_OK : VERIFY_SKIP, 0,
			   "%" PRIu64 " %s, signed up to event %" PRIu64 " of %" PRIu64,
			   VERIFY_NR(v->totals->checkpoints, "checkpoint", "checkpoints"),
			   signed_to, v->head);
	return 0;
}

struct anchored {
	uint64_t seq;
	struct hash chain;
	uint8_t key[SIGN_KEY_LEN];
	bool good; /* its signature holds */
};

/* "1 UUID SEQ CHAIN TS KEY SIG"; false for a torn or foreign line. */
static bool parse_anchor(const uint8_t *of, const char *line, struct anchored *out)
{
	char uuid[33], chain[65], key[65], sig[129];
	uint8_t id[UUID_LEN], signature[SIGN_LEN];
	int64_t ts_us;
	if (sscanf(line, "1 %32s %" SCNu64 " %64s %" SCNd64 " %64s %128s", uuid, &out->seq, chain,
		   &ts_us, key, sig) != 6 ||
	    !hex_parse(uuid, strlen(uuid), id, sizeof(id)) || memcmp(id, of, sizeof(id)) ||
	    !hex_parse(chain, strlen(chain), out->chain.b, HASH_LEN) ||
	    !hex_parse(key, strlen(key), out->key, SIGN_KEY_LEN) ||
	    !hex_parse(sig, strlen(sig), signature, SIGN_LEN))
		return false;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	chain_checkpoint(of, out->seq, &out->chain, ts_us, &text);
	out->good = sign_check(out->key, text.data, text.len, signature);
	return true;
}

struct anchors {
	uint64_t nr, last;
	uint64_t after; /* only lines about events after this one are counted */
};

/* Lines of the session @uuid about events after @from, up to @to: later events of an origin are not
 * ours. False: a line is wrong, which has been reported. */
static bool check_lines(struct verify *v, const struct buf *log, const uint8_t *uuid, uint64_t from,
			uint64_t to, struct anchors *seen)
{
	CLEANUP(buf_release) struct buf tag = BUF_INIT;
	buf_puts(&tag, "1 ");
	hex_append(&tag, uuid, UUID_LEN);
	const char *at = log->data, *end = log->data + log->len;
	while (at && at < end && (at = memmem(at, (size_t)(end - at), tag.data, tag.len))) {
		struct anchored a = { 0 };
		struct hash now;
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		CLEANUP(free_ptr) char *line = mem_strndup(at, (size_t)((stop ? stop : end) - at));
		at = stop;
		if (!stop || !parse_anchor(uuid, line, &a) || !a.good || a.seq <= from ||
		    a.seq > to)
			continue;
		seen->nr += a.seq > seen->after;
		if (a.seq > seen->last)
			seen->last = a.seq;
		if (!verify_chain_at(v, a.seq, &now)) {
			verify_say(v, "anchor", VERIFY_FAIL, v->head + 1,
				   "gap: the file ends at event %" PRIu64 ", but event %" PRIu64
				   " was anchored",
				   v->head, a.seq);
			return false;
		}
		if (!hash_eq(&now, &a.chain)) {
			verify_say(v, "anchor", VERIFY_FAIL, a.seq,
				   "event %" PRIu64
				   " differs from the anchored one: the file was rewritten",
				   a.seq);
			return false;
		}
	}
	return true;
}

/* Lines of the session and of its origins. False: a line is wrong, which has been reported. */
static bool check_log(struct verify *v, const struct buf *log, struct anchors *seen)
{
	uint64_t from = 0;
	for (size_t i = 0; i < v->s->nr_origins; i++) {
		const struct origin *o = &v->s->origin[i];
		if (!check_lines(v, log, o->uuid, from, o->seq, seen))
			return false;
		from = o->seq;
	}
	return check_lines(v, log, v->s->uuid, from, UINT64_MAX, seen);
}

/* A program that can change the session file can change @file beside it as well: lines that only
 * @file has are named and prove nothing. */
static void report_anchors(struct verify *v, const struct anchors *outside,
			   const struct anchors *beside, const char *file)
{
	CLEANUP(buf_release) struct buf only = BUF_INIT;
	if (beside->nr)
		buf_printf(&only,
			   "%" PRIu64 " %s, the last one at event %" PRIu64 ", only in '%.150s' "
			   "beside the file, which can be changed together with it",
			   VERIFY_NR(beside->nr, "anchor agrees", "anchors agree"), beside->last,
			   file);
	if (outside->nr)
		verify_say(v, "anchor", VERIFY_OK, 0,
			   "%" PRIu64 " %s, the last one at event %" PRIu64 "%s%s",
			   VERIFY_NR(outside->nr, "anchor agrees", "anchors agree"), outside->last,
			   only.len ? "; " : "", buf_cstr(&only));
	else if (v->opts->anchor) /* who names a log wants it to hold the session */
		verify_say(v, "anchor", VERIFY_FAIL, 0, "'%s' has no anchor of this session",
			   v->opts->anchor);
	else if (beside->nr)
		verify_say(v, "anchor", VERIFY_SKIP, 0, "no anchor elsewhere on this host; %s",
			   buf_cstr(&only));
	else
		verify_say(v, "anchor", VERIFY_SKIP, 0,
			   "no anchor of this session on this host (recorded elsewhere?)");
}

/* Is @path the file @beside? That file is not an outside witness, even if the user names it. */
static bool anchors_same_file(const char *path, const char *beside)
{
	struct stat a, b;
	return stat(path, &a) == 0 && stat(beside, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int verify_anchor(struct verify *v, struct err *err)
{
	CLEANUP(free_ptr)
	char *path = v->opts->anchor ? mem_strdup(v->opts->anchor) : paths_state("anchor.log");
	CLEANUP(buf_release) struct buf log = BUF_INIT, own = BUF_INIT;
	/* of a session in an archive */
	CLEANUP(free_ptr) char *beside = mem_printf("%s-anchor", v->s->path);
	struct anchors from_log = { 0 }, from_beside = { 0 };
	bool has_own = !v->opts->anchor && access(beside, F_OK) == 0;
	const char *slash = strrchr(beside, '/');
	if (v->opts->anchor && anchors_same_file(path, beside))
		return err_set(err, ERR_USAGE,
			       "'%.150s' is beside the session file and can be changed together "
			       "with it\nName an anchor log that is kept elsewhere.",
			       slash ? slash + 1 : beside);
	if (has_own && file_read(beside, &own, ANCHOR_MOST, err) < 0)
		return -1;
	if (!has_own && (!*path || access(path, F_OK) < 0)) {
		verify_say(v, "anchor", VERIFY_SKIP, 0, "anchor log not found%s%s",
			   *path ? " at " : "", path);
		return 0;
	}
	if (access(path, F_OK) == 0 && file_read(path, &log, ANCHOR_MOST, err) < 0)
		return -1;
	if (!check_log(v, &log, &from_log))
		return 0;
	from_beside.after = from_log.last;
	if (!check_log(v, &own, &from_beside))
		return 0;
	v->totals->anchors = from_log.nr;
	v->totals->anchors_beside = from_beside.nr;
	report_anchors(v, &from_log, &from_beside, slash ? slash + 1 : beside);
	return 0;
}
