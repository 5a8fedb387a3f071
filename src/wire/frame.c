#include "wire/frame.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void frame_append(struct buf *out, uint16_t type, uint64_t id, const void *body, size_t len)
{
	frame_append_fds(out, type, id, body, len, 0);
}

void frame_append_fds(struct buf *out, uint16_t type, uint64_t id, const void *body, size_t len,
		      size_t nr_fds)
{
	assert(len <= UINT32_MAX && nr_fds <= FD_PASS_MAX);
	buf_u32le(out, (uint32_t)len);
	buf_u16le(out, type);
	buf_u16le(out, (uint16_t)nr_fds);
	buf_u64le(out, id);
	buf_append(out, body, len);
}

int frame_parse(const char *in, size_t len, size_t max_body, struct frame *f, size_t *used_out,
		struct err *err)
{
	if (len < FRAME_HEADER)
		return 0;
	size_t body = get_u32le(in);
	if (get_u16le(in + 6) > FD_PASS_MAX)
		return err_set(err, ERR_PARSE, "frame header is damaged");
	if (body > max_body)
		return err_set(err, ERR_PARSE, "frame of %zu bytes is longer than the limit of %zu",
			       body, max_body);
	if (len - FRAME_HEADER < body)
		return 0;
	*f = (struct frame){
		.type = get_u16le(in + 4),
		.nr_fds = get_u16le(in + 6),
		.id = get_u64le(in + 8),
		.body = in + FRAME_HEADER,
		.len = body,
	};
	*used_out = FRAME_HEADER + body;
	return 1;
}

int frame_send(int sock, uint16_t type, uint64_t id, const void *body, size_t len, const int *fds,
	       size_t nr_fds, struct err *err)
{
	struct buf b = BUF_INIT;
	frame_append_fds(&b, type, id, body, len, nr_fds);
	int rc = fd_send(sock, b.data, b.len, fds, nr_fds, err);
	buf_release(&b);
	return rc;
}

int frame_recv(int sock, size_t max_body, struct frame *f, struct buf *body, int *fds,
	       size_t *nr_fds_out, struct err *err)
{
	char head[FRAME_HEADER];
	size_t got = 0, nr = 0;
	while (got < sizeof(head)) {
		size_t some = 0;
		/* descriptors ride on the first byte of the frame they belong to */
		ssize_t n = fd_recv(sock, head + got, sizeof(head) - got, nr || got ? NULL : fds,
				    &some, err);
		if (n < 0)
			return -1;
		if (n == 0)
			return err_set(err, ERR_CLOSED, "the other side closed the connection");
		nr += some;
		got += (size_t)n;
	}
	size_t used, len = get_u32le(head);
	if (frame_parse(head, sizeof(head), max_body, f, &used, err) < 0)
		goto fail;
	buf_reset(body);
	buf_reserve(body, len);
	if (fd_read_full(sock, body->data, len, err) < 0)
		goto fail;
	body->len = len;
	body->data[len] = 0;
	if (get_u16le(head + 6) != nr) {
		err_set(err, ERR_PARSE, "expected a frame with %u descriptors, got %zu",
			get_u16le(head + 6), nr);
		goto fail;
	}
	*f = (struct frame){ .type = get_u16le(head + 4),
			     .nr_fds = (uint16_t)nr,
			     .id = get_u64le(head + 8),
			     .body = body->data,
			     .len = len };
	if (nr_fds_out)
		*nr_fds_out = nr;
	return 0;
fail:
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return -1;
}
