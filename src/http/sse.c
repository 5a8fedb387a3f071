#include "http/sse.h"

#include <string.h>

void sse_init(struct sse *s, size_t max, sse_fn *fn, void *self)
{
	*s = (struct sse){
		.fn = fn, .self = self, .max = max ? max : SSE_EVENT_MAX, .retry_ms = -1, .bom = 0
	};
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->data);
	buf_release(&s->type);
	buf_release(&s->id);
}

static void sse_dispatch(struct sse *s, bool last)
{
	if (s->had_data) {
		size_t len = s->data.len - 1; /* the newline after the last data line */
		s->data.data[len] = 0;
		struct sse_event ev = {
			.type = s->type.len ? buf_cstr(&s->type) : "message",
			.data = s->data.data,
			.len = len,
			.id = buf_cstr(&s->id),
			.last = last,
		};
		s->fn(s->self, &ev);
	}
	buf_reset(&s->data);
	buf_reset(&s->type);
	s->had_data = false;
}

static void set_retry(struct sse *s, const char *v, size_t len)
{
	int64_t ms = 0;
	for (size_t i = 0; i < len; i++) {
		if (v[i] < '0' || v[i] > '9' || ms > INT64_MAX / 100)
			return;
		ms = ms * 10 + (v[i] - '0');
	}
	if (len)
		s->retry_ms = ms;
}

static bool sse_is(const char *name, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(name, what, len) == 0;
}

static void take_field(struct sse *s, const char *name, size_t name_len, const char *v, size_t len)
{
	if (sse_is(name, name_len, "data")) {
		buf_append(&s->data, v, len);
		buf_putc(&s->data, '\n');
		s->had_data = true;
	} else if (sse_is(name, name_len, "event")) {
		buf_reset(&s->type);
		buf_append(&s->type, v, len);
	} else if (sse_is(name, name_len, "id")) {
		if (memchr(v, 0, len))
			return;
		buf_reset(&s->id);
		buf_append(&s->id, v, len);
	} else if (sse_is(name, name_len, "retry")) {
		set_retry(s, v, len);
	}
}

static void sse_take_line(struct sse *s)
{
	const char *line = buf_cstr(&s->line);
	size_t len = s->line.len;
	if (!len) {
		sse_dispatch(s, false);
		return;
	}
	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : len;
	const char *v = colon ? colon + 1 : line + len;
	size_t v_len = colon ? len - name_len - 1 : 0;
	if (v_len && *v == ' ') {
		v++;
		v_len--;
	}
	if (name_len) /* else a comment */
		take_field(s, line, name_len, v, v_len);
	buf_reset(&s->line);
}

/* How many bytes of a leading BOM stand at @p; the BOM may come in pieces. */
static size_t skip_bom(struct sse *s, const char *p, size_t len)
{
	static const char bom[] = "\xef\xbb\xbf";
	size_t n = 0;
	while (s->bom < 3 && n < len) {
		if (p[n] != bom[s->bom]) {
			/* not a byte order mark: the bytes held back are text */
			buf_append(&s->line, bom, s->bom);
			s->bom = 3;
			break;
		}
		n++;
		s->bom++;
	}
	return n;
}

int sse_feed(struct sse *s, const void *bytes, size_t len, struct err *err)
{
	const char *p = bytes, *end = p + len;
	if (s->over)
		return err_set(err, ERR_FULL, "an event of the stream is larger than %zu bytes",
			       s->max);
	if (s->bom < 3)
		p += skip_bom(s, p, len);
	while (p < end) {
		if (s->cr && *p == '\n')
			p++;
		s->cr = false;
		const char *q = p;
		while (q < end && *q != '\n' && *q != '\r')
			q++;
		buf_append(&s->line, p, (size_t)(q - p));
		if (s->line.len + s->data.len > s->max) {
			s->over = true;
			return err_set(err, ERR_FULL,
				       "an event of the stream is larger than %zu bytes", s->max);
		}
		if (q == end)
			break;
		s->cr = *q == '\r';
		p = q + 1;
		sse_take_line(s);
	}
	return 0;
}

void sse_end(struct sse *s)
{
	if (s->over)
		return;
	if (s->bom < 3) /* the stream ended inside what might have been a BOM */
		buf_append(&s->line, "\xef\xbb\xbf", s->bom);
	if (s->line.len)
		sse_take_line(s);
	sse_dispatch(s, true);
}
