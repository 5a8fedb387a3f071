/* Every event as one line of JSON, output with its bytes: what all other forms can be made from,
 * for jq and data bases. */
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "exchange/export.h"
#include "base/mem.h"
#include "wire/event_json.h"

struct lines {
	struct export *x;
	json_t *chunks;
};

/* [microseconds since 1970, the bytes] */
static bool export_jsonl_on_chunk(void *self, int stream, int64_t ts_us, const void *bytes,
				  size_t len)
{
	struct lines *l = self;
	json_t *pair = json_array();
	(void)stream;
	json_array_append_new(pair, json_integer(ts_us));
	json_array_append_new(pair, json_bytes(bytes, len));
	json_array_append_new(l->chunks, pair);
	return true;
}

static int export_jsonl_one_line(struct lines *l, const struct event *ev, struct err *err)
{
	json_t *o = event_json(ev), *body = json_object_get(o, "body");
	int rc = 0;
	if (ev->kind == EV_OUTPUT && body && !l->x->no_content) {
		l->chunks = json_array();
		rc = session_segment_each(l->x->s, (uint64_t)json_int(body, "segment", 0),
					  export_jsonl_on_chunk, l, err);
		json_put(o, "chunks", l->chunks);
	}
	if (l->x->no_content)
		json_object_del(o, "body");
	export_json(l->x->out, o);
	fputc('\n', l->x->out);
	return rc;
}

int export_jsonl(struct export *x, struct err *err)
{
	struct lines l = { .x = x };
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	uint64_t head = session_head(x->s);
	json_t *first = json_object();
	json_put_str(first, "format", "sandglass-events");
	json_put_int(first, "version", 1);
	json_put_str(first, "session", session_id(x->s));
	json_put_int(first, "events", (int64_t)head);
	export_json(x->out, first);
	fputc('\n', x->out);
	int rc = feed_new(&feed, x->s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(feed, &ev, &arena, head, err)) > 0) {
		rc = export_wanted(x, &ev) ? export_jsonl_one_line(&l, &ev, err) : 0;
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	return rc;
}
