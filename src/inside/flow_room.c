/* Memory of a proxy's requests: a program in a sandbox decides how much it sends, and a few KB of
 * zstd can unpack to many JSON values. Part of the proxy (inside_priv.h). */
#include "inside/inside_priv.h"

enum {
	FLOW_VALUES_MAX = 500000,
	FLOW_VALUE_BYTES = 256 /* of a parsed value, its text not counted */
};

void flow_room_begin(struct flow *f, struct http_visit *v)
{
	http_visit_take_body(v, &f->body);
	f->room = f->body.len;
}

static bool flow_room_take(struct flow *f, size_t bytes)
{
	if (!http_room_take(bytes))
		return false;
	f->room += bytes;
	return true;
}

const char *flow_room_json(struct flow *f, int *status_out)
{
	size_t packed = f->packed.len ? f->body.len : 0; /* the packed body has its room */
	size_t nr = json_count(buf_cstr(&f->body), f->body.len, FLOW_VALUES_MAX);
	*status_out = 413;
	if (nr > FLOW_VALUES_MAX)
		return "the body has too many JSON values (at most 500000)";
	*status_out = 503;
	if (!flow_room_take(f, packed + f->body.len + nr * FLOW_VALUE_BYTES))
		return "the requests of this session take too much memory (at most 512 MiB); try "
		       "again when others have ended";
	return NULL;
}

void flow_room_end(struct flow *f)
{
	http_room_give(f->room);
	f->room = 0;
}
