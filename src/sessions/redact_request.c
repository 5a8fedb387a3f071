#include "sessions/redact_request.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/sql.h"
#include "record/read/session.h"

struct removal {
	size_t left, nr;
	removal_done_fn *done;
	void *self;
};

static void one_done(void *self)
{
	struct removal *m = self;
	if (--m->left)
		return;
	m->done(m->self, m->nr);
	free(m);
}

/* The row numbers of the action's output, in one go: more is removed by asking again. */
static int segments_of(struct record *r, uint64_t action, uint64_t **out, size_t *nr,
		       struct err *err)
{
	struct session *s;
	size_t cap = 0, got;
	uint64_t id[256], last = 0;
	if (session_open(&s, record_path(r), err) < 0)
		return -1;
	int rc;
	while ((rc = session_segments(s, action, last, id, ARRAY_LEN(id), &got, err)) == 0 && got)
		for (size_t i = 0; i < got; i++) {
			GROW(*out, *nr, cap);
			(*out)[(*nr)++] = last = id[i];
		}
	session_close(&s);
	if (rc == 0 && !*nr)
		rc = err_set(err, ERR_NOENT, "#%llu has no recorded output",
			     (unsigned long long)action);
	return rc;
}

/* The events that have keyframes of the action's terminal: they show its output. */
static int redact_request_keyframes_of(struct record *r, uint64_t action, uint64_t **out,
				       size_t *nr, struct err *err)
{
	struct session *s;
	struct sql_table t = { 0 };
	size_t cap = 0;
	CLEANUP(free_ptr)
	char *sql = mem_printf("SELECT seq FROM event WHERE action = %" PRIu64
			       " AND kind = %d AND body IS NOT NULL",
			       action, EV_TERMINAL_SCREEN);
	if (session_open(&s, record_path(r), err) < 0)
		return -1;
	int rc = sql_own(s, sql, SIZE_MAX, &t, err);
	for (size_t i = 0; rc == 0 && i < t.rows; i++) {
		GROW(*out, *nr, cap);
		(*out)[(*nr)++] = strtoull(t.cell[i], NULL, 10);
	}
	sql_table_release(&t);
	session_close(&s);
	return rc;
}

/* Does the message, which is JSON, say @text? It may stand there as it is, or as a string has
 * it. */
static bool redact_request_says(const struct buf *message, const char *text)
{
	/* NULL: no UTF-8, so no string of JSON holds it */
	CLEANUP(json_release) json_t *j = json_string(text);
	CLEANUP(free_ptr) char *quoted = j ? json_dump_str(j) : NULL;
	return memmem(message->data, message->len, text, strlen(text)) ||
	       (quoted && memmem(message->data, message->len, quoted + 1, strlen(quoted) - 2));
}

/* Messages of the pool that contain @text: messages to and from models, and the bytes that were
 * sent. */
static int redact_request_messages_of(struct record *r, const char *text, uint64_t **out,
				      size_t *nr, struct err *err)
{
	struct session *s;
	struct sql_table t = { 0 };
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	size_t cap = 0;
	if (!*text)
		return err_set(err, ERR_USAGE, "--messages: expected a text, got an empty one");
	if (session_open(&s, record_path(r), err) < 0)
		return -1;
	int rc = sql_select(s,
			    "SELECT message, lower(hex(hash)) FROM message WHERE data IS NOT NULL",
			    INT_MAX, &t, err);
	if (rc == 0 && (t.timeout || t.cut))
		rc = err_set(err, ERR_FULL, "--messages: too many messages");
	for (size_t i = 0; rc == 0 && i < t.rows; i++) {
		struct hash h;
		struct err none = ERR_INIT;
		buf_reset(&one);
		if (!hex_parse(t.cell[2 * i + 1], 2 * HASH_LEN, h.b, HASH_LEN) ||
		    session_message(s, &h, &one, &none) < 0 || !redact_request_says(&one, text))
			continue;
		GROW(*out, *nr, cap);
		(*out)[(*nr)++] = strtoull(t.cell[2 * i], NULL, 10);
	}
	sql_table_release(&t);
	session_close(&s);
	if (rc == 0 && !*nr)
		rc = err_set(err, ERR_NOENT, "--messages: no model message contains this text");
	return rc;
}

static void redact_request_who_text(json_t *who, struct buf *out)
{
	const char *name = json_str(who, "name", "");
	buf_printf(out, "uid %lld%s%s", (long long)json_int(who, "uid", -1),
		   *name ? ", calls himself " : "", name);
}

int redact_request_begin(struct record *r, const struct removal_wish *w, removal_done_fn *done,
			 void *self, struct err *err)
{
	CLEANUP(buf_release) struct buf who = BUF_INIT;
	struct object_id oid;
	uint64_t *rows = NULL, *keys = NULL;
	size_t nr = 0, nr_keys = 0;
	int rc = 0;
	if (!w->why || !*w->why)
		return err_set(
			err, ERR_USAGE,
			"missing option: --why TEXT\nThe reason is recorded with your name and the time.");
	if (w->output + (w->object != NULL) + (w->messages != NULL) > 1)
		return err_set(err, ERR_USAGE,
			       "expected one of --output, --object, and --messages");
	if (w->object && !hex_parse(w->object, strlen(w->object), oid.b, sizeof(oid.b)))
		return err_set(err, ERR_USAGE, "--object: expected 40 hexadecimal digits, got '%s'",
			       w->object);
	if (w->output && (segments_of(r, w->seq, &rows, &nr, err) < 0 ||
			  redact_request_keyframes_of(r, w->seq, &keys, &nr_keys, err) < 0)) {
		free(rows);
		free(keys);
		return -1;
	}
	if (w->messages && redact_request_messages_of(r, w->messages, &rows, &nr, err) < 0)
		return -1;
	redact_request_who_text(w->who, &who);
	struct removal *m = NEW(struct removal);
	*m = (struct removal){ .left = 1, .done = done, .self = self };
	const char *what = w->output	 ? "segment"
			   : w->messages ? "message"
			   : w->object	 ? "object"
					 : "event";
	for (size_t i = 0; rc == 0 && i < (rows ? nr : 1); i++) {
		rc = record_redact(r, what, rows ? rows[i] : w->seq, w->object ? &oid : NULL,
				   buf_cstr(&who), w->why, one_done, m, err);
		m->left += rc == 0;
		m->nr += rc == 0;
	}
	for (size_t i = 0; rc == 0 && i < nr_keys; i++) {
		rc = record_redact(r, "event", keys[i], NULL, buf_cstr(&who), w->why, one_done, m,
				   err);
		m->left += rc == 0;
		m->nr += rc == 0;
	}
	free(rows);
	free(keys);
	m->left--;
	/* some are being removed and are reported; the rest can be requested again */
	if (rc < 0 && !m->left) {
		free(m);
		return -1;
	}
	return 0;
}

int redact_request_result(const char *left, struct err *err)
{
	return left ? err_set(err, ERR_IO,
			      "redacted in the session, but the text may remain elsewhere: %s",
			      left)
		    : 0;
}
