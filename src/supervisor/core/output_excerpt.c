#include "supervisor/core/output_excerpt.h"

#include "wire/host.h"

void output_excerpt_add(struct shown *o, const void *bytes, size_t len)
{
	const char *p = bytes;
	o->total += len;
	size_t room = HOST_OUTPUT_SHOWN - o->head.len;
	size_t first = len < room ? len : room;
	buf_append(&o->head, p, first);
	p += first;
	len -= first;
	if (len > HOST_OUTPUT_SHOWN) {
		p += len - HOST_OUTPUT_SHOWN;
		len = HOST_OUTPUT_SHOWN;
	}
	buf_append(&o->tail, p, len);
	if (o->tail.len > 4 * HOST_OUTPUT_SHOWN) /* not at each byte: moving costs */
		buf_drop(&o->tail, o->tail.len - HOST_OUTPUT_SHOWN);
}

void output_excerpt_text(const struct shown *o, struct buf *out)
{
	size_t keep = o->tail.len < HOST_OUTPUT_SHOWN ? o->tail.len : HOST_OUTPUT_SHOWN;
	buf_append(out, buf_cstr(&o->head), o->head.len);
	uint64_t cut = o->total - o->head.len - keep;
	if (cut)
		buf_printf(out, "\n... %llu bytes left out; the recording has all of them ...\n",
			   (unsigned long long)cut);
	buf_append(out, buf_cstr(&o->tail) + (o->tail.len - keep), keep);
}

void output_excerpt_release(struct shown *o)
{
	buf_release(&o->head);
	buf_release(&o->tail);
}
