/* Frames of WebSocket (RFC 6455): bytes in, messages out, no I/O. Strict:
 *
 *  1. No reserved bit and no unknown opcode; lengths in their shortest form; a client's frame is
 *  masked, a server's is not.
 *  2. A control frame has at most 125 bytes and is whole; it may stand between the parts of a
 *  message.
 *  3. Parts of a message follow one another; a text is UTF-8; nothing comes after a close frame.
 *  4. A message has at most WS_MESSAGE_MAX bytes.
 * Fuzzed (tests/fuzz/f_websock_frame.c). Any thread. */
#ifndef HTTP_WEBSOCK_FRAME_H
#define HTTP_WEBSOCK_FRAME_H

#include "base/buf.h"

enum websock_op { WS_MORE = 0, WS_TEXT = 1, WS_BYTES = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };
enum { WS_MESSAGE_MAX = 64 << 20, WS_CONTROL_MAX = 125 };

struct websock_reader {
	/* A whole message, or a control frame. Borrowed. false: send no more (the reader may be
	 * gone). */
	bool (*on_message)(void *self, enum websock_op op, const void *bytes, size_t len);
	void *self;
	bool of_client; /* whose frames these are */
	struct buf head, message, control;
	uint8_t mask[4];
	size_t masked;	/* bytes of the payload that it has been taken off */
	uint64_t left;	/* of the frame's payload */
	unsigned op;	/* of the message that has begun, 0 none */
	unsigned frame; /* opcode of the frame */
	bool in_payload, fin, closed;
};

/* 0; 1: on_message wanted no more, do not touch @r; -1: @why_out is a static sentence. */
int websock_feed(struct websock_reader *r, const void *bytes, size_t len, const char **why_out);
void websock_reader_release(struct websock_reader *r);
/* Appends one whole frame, masked, as clients send it. */
void websock_frame(struct buf *out, enum websock_op op, const void *bytes, size_t len);
/* as servers send it */
void websock_frame_plain(struct buf *out, enum websock_op op, const void *bytes, size_t len);

#endif
