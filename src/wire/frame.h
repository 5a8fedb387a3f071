/* The frame that control socket, launcher, keeper, Lua host and guest all use.
 *
 *   1. header, 16 bytes, little-endian: u32 body length, u16 type, u16 number of descriptors that
 *      ride along, u64 id
 *   2. body: JSON (control, launcher, keeper, Lua host) or the packed form that wire/guest.h
 *      describes
 *
 * Type numbers are per protocol. @id ties an answer to its request and is chosen by the side that
 * asks; 0 = none. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "base/buf.h"
#include "base/err.h"

enum { FRAME_HEADER = 16 };

struct frame {
	uint16_t type;
	/* a unix socket may hand descriptors over together with bytes of the frame before theirs */
	uint16_t nr_fds;
	uint64_t id;
	const char *body; /* borrowed */
	size_t len;
};

void frame_append(struct buf *out, uint16_t type, uint64_t id, const void *body, size_t len);
void frame_append_fds(struct buf *out, uint16_t type, uint64_t id, const void *body, size_t len,
		      size_t nr_fds);

/* Takes the first whole frame of @in. Returns 1 and fills @f (its body points into @in) and
 * @used_out (bytes to drop after use), 0 when more bytes are needed, -1 when the header breaks the
 * rules or the body exceeds @max_body. */
int frame_parse(const char *in, size_t len, size_t max_body, struct frame *f, size_t *used_out,
		struct err *err);

/* Blocking forms for the small programs. @fds may be NULL. Return 0, or -1 (ERR_CLOSED at EOF). */
NODISCARD int frame_send(int sock, uint16_t type, uint64_t id, const void *body, size_t len,
			 const int *fds, size_t nr_fds, struct err *err);
/* Fills @body (reset first); up to FD_PASS_MAX descriptors into @fds, owned by the caller. */
NODISCARD int frame_recv(int sock, size_t max_body, struct frame *f, struct buf *body, int *fds,
			 size_t *nr_fds_out, struct err *err);

#endif
