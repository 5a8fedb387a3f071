/* JSON-RPC 2.0 as MCP uses it: one message in, one message out, without transport and without a
 * loop.
 *
 *  1. A message is one object with "jsonrpc":"2.0". With "method" and "id" it is a request, with
 *     "method" alone a note, with "result" or "error" an answer. There are no batches.
 *  2. An id is a string or an integer, never null in a request; it goes back as the same JSON
 *     value. Only an answer to something unreadable has id null.
 *  3. params is an object or absent.
 *  4. Over pipes each message is one line of UTF-8; rpc_line writes it so.
 * Pure: no state, any thread. Everything that returns a json_t * returns owned. */
#ifndef WIRE_JSONRPC_H
#define WIRE_JSONRPC_H

#include "base/json.h"

enum { RPC_LINE_MAX = 64 << 20 }; /* of one message, bytes */

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002, /* of the old era; the new one says RPC_PARAMS */
	RPC_HEADERS = -32020,	  /* HTTP headers say something else than the message */
	RPC_CAPABILITY = -32021,  /* the client lacks what this needs */
	RPC_VERSION = -32022,	  /* data: {supported[], requested} */
};

enum rpc_kind { RPC_REQUEST, RPC_NOTE, RPC_RESULT, RPC_ERROR };

/* All but root is borrowed from root. */
struct rpc_msg {
	enum rpc_kind kind;
	json_t *root; /* owned */
	/* string, integer; NULL in notes, JSON null or NULL in errors about nothing in
	 * particular */
	json_t *id;
	const char *method;  /* requests and notes */
	json_t *params;	     /* object or NULL */
	json_t *result;	     /* any value */
	int64_t code;	     /* errors */
	const char *message; /* errors; "" if it has none */
	json_t *data;	     /* errors; may be NULL */
};
void rpc_msg_release(struct rpc_msg *m);

/* Reads one message. ERR_PARSE: no JSON (answer with RPC_PARSE); ERR_INVALID: JSON, but no message
 * (RPC_INVALID). After ERR_INVALID @out->id is set if it had a usable one; release @out in any
 * case. */
NODISCARD int rpc_parse(struct rpc_msg *out, const char *text, size_t len, struct err *err);

/* @id is borrowed (copied by reference), params, result and data are taken; NULL params are left
 * out. */
json_t *rpc_request(json_t *id, const char *method, json_t *params);
json_t *rpc_note(const char *method, json_t *params);
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, enum rpc_code code, json_t *data, const char *fmt, ...) PRINTF(4, 5);
/* Appends @msg as one line; takes @msg. */
void rpc_line(struct buf *out, json_t *msg);

#endif
