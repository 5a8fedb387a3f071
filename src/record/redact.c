/* Removal after the fact: found by the loop thread through a reader of its own, carried out by the
 * writer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/record_priv.h"
#include "record/record_event.h"
#include "record/read/session.h"

int record_redact(struct record *r, const char *what, uint64_t id, const struct object_id *oid,
		  const char *who, const char *why, record_done_fn *done, void *self,
		  struct err *err)
{
	static const char *const table[] = { "event", "segment", "object", "message" };
	size_t i = 0;
	while (i < ARRAY_LEN(table) && strcmp(table[i], what))
		i++;
	if (i == ARRAY_LEN(table))
		return err_set(err, ERR_INVALID,
			       "can't redact a '%s': expected event, segment, object, or message",
			       what);
	struct session *s;
	if (session_open(&s, r->path, err) < 0)
		return -1;
	uint64_t row = session_row_of(s, what, id, oid);
	session_close(&s);
	if (!row)
		return err_set(err, ERR_NOENT, "session '%s' has no such %s", r->id, what);
	if (!strcmp(what, "event") && row == 1)
		return err_set(err, ERR_INVALID,
			       "can't redact the first event: it identifies the session");
	char hex[41];
	bool object = oid && !strcmp(what, "object");
	if (object)
		object_hex(oid, hex);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	event_encode(&desc_ev_redacted,
		     &(struct ev_redacted){ .what = ev_text_of(what),
					    .id = (int64_t)row,
					    .oid = ev_text_of(object ? hex : NULL),
					    .who = ev_text_of(who),
					    .why = ev_text_of(why) },
		     &text);
	if (record_clean_json(r, text.data, text.len, &r->clean)) {
		buf_reset(&text);
		buf_append(&text, r->clean.data, r->clean.len);
	}
	if (!strcmp(what, "message"))
		lru_free(&r->lists); /* if it is one, the next must not begin with it */
	struct item *it = item_new(ITEM_REDACT, text.data, text.len);
	it->ev.kind = EV_REDACTED;
	it->ev.cause = !strcmp(what, "event") ? row : 0;
	snprintf(it->redact.what, sizeof(it->redact.what), "%s", what);
	it->redact.id = row;
	it->redact.done = done;
	it->redact.self = self;
	record_queue_event(r, it);
	return 0;
}
