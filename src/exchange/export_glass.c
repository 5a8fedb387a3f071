/* The session file itself, as one file that opens anywhere, also of a session that runs; with
 * --redact the copy lacks the bodies and the output of some events. That is recorded in the copy as
 * any removal is: it still verifies, as redacted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/export.h"
#include "base/mem.h"
#include "control/share.h"
#include "record/export_copy.h"
#include "record/record.h"

static void export_glass_gone(void *self)
{
	++*(size_t *)self;
}

struct cleaner {
	struct loop *l;
	struct record *r;
	size_t asked, done;
};

static int export_glass_remove_one(struct cleaner *c, const char *what, uint64_t id,
				   struct err *err)
{
	CLEANUP(free_ptr) char *name = share_own_name();
	if (record_redact(c->r, what, id, NULL, name, "left out of an export", export_glass_gone,
			  &c->done, err) < 0)
		return -1;
	c->asked++;
	while (c->done < c->asked && record_state(c->r) == RECORD_OK)
		loop_turn(c->l, 50);
	return c->done == c->asked ? 0 : err_set(err, ERR_IO, "can't write the copy");
}

static int export_glass_remove_all(struct cleaner *c, struct export *x, struct err *err)
{
	for (size_t i = 0; i < x->redact->nr; i++) {
		const char *text = strchr(x->redact->item[i], '#')
					   ? strchr(x->redact->item[i], '#') + 1
					   : x->redact->item[i];
		uint64_t seq = strtoull(text, NULL, 10), row[256], after = 0;
		size_t nr = 0;
		if (!seq || !session_row_of(x->s, "event", seq, NULL))
			return err_set(err, ERR_NOENT, "session %s has no event '%s'",
				       session_id(x->s), x->redact->item[i]);
		if (export_glass_remove_one(c, "event", seq, err) < 0)
			return -1;
		do {
			if (session_segments(x->s, seq, after, row, ARRAY_LEN(row), &nr, err) < 0)
				return -1;
			for (size_t k = 0; k < nr; k++) {
				after = row[k];
				if (export_glass_remove_one(c, "segment", row[k], err) < 0)
					return -1;
			}
		} while (nr == ARRAY_LEN(row));
	}
	return 0;
}

/* The recorder's companions of the copy; the copy is complete without them. */
static void export_glass_tidy(const char *path)
{
	static const char *const tail[] = { "-wal", "-shm", "-lease", "-reserve" };
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *one = mem_printf("%s%s", path, tail[i]);
		unlink(one);
	}
}

static int export_glass_without(struct export *x, struct err *err)
{
	static const struct record_ops ops = { .copy = true };
	struct cleaner c = { 0 };
	json_t *end = json_object();
	json_put_flag(end, "ok", true);
	json_put_flag(end, "exported", true);
	int rc = loop_new(&c.l, err);
	if (rc == 0)
		rc = record_resume(&c.r, c.l, x->path, &ops, NULL, err);
	if (rc == 0)
		rc = export_glass_remove_all(&c, x, err);
	if (rc == 0)
		rc = record_close(&c.r, json_incref(end), err);
	else if (c.r)
		record_abandon(&c.r);
	if (c.l)
		loop_free(c.l);
	json_decref(end);
	export_glass_tidy(x->path);
	return rc;
}

int export_glass(struct export *x, struct err *err)
{
	int rc = export_copy_write(session_path(x->s), x->path, err);
	return rc == 0 && x->redact && x->redact->nr ? export_glass_without(x, err) : rc;
}
