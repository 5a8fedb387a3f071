/* `sandglass serve KIND`: the API of a sandbox provider with our sandboxes behind it, so that
 * programs written for its SDK run supervised. This is the outer half: HTTP on the host, access,
 * bytes in and out. lua/sandglass/serve.lua in the session defines the meaning of a request; it
 * receives each one complete, and recorded.
 *
 * 1. A request comes in with the token of this start, in any of the headers that the SDKs use.
 *    {token} in the environment of programs and in answers marked "fill" is filled in here: the
 *    session never has it.
 * 2. Tools of the session's script (serve/mcp_session.h):
 *    hello {url,models? (hash of "sk-sg-{token}", the key for them)} -> {name,env} or {wrong};
 *    http {method,path,query,headers,body,upload?,socket?,target} ->
 *    {status,type?,body?,stream?,fill?,location?};
 *    part {upload,body} ahead of a long request;
 *    more {stream} -> {body?,over?,broken?}, repeated while the client reads;
 *    leave {stream,upload}: the client has left.
 *    A request for a WebSocket (socket) that is answered with 101, a stream, and protocol? becomes
 *    one. Each piece is a message (text? of characters), the last has code? and reason?. The
 *    client's messages come as said {stream,body,text}, in order. An answer with wrong (why the
 *    message can't be delivered) closes it with 1011.
 * 3. A request for the host "PORT-ID.localhost", E2B's name for a port of a sandbox, reaches the
 *    session as GET /port/ID/PORT with its own target beside it, from any client that knows the
 *    name. Its answer redirects (location).
 * 4. A client that leaves cancels its requests; a stream's command continues.
 * Loop thread only. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/json.h"

struct serve_how {
	/* "PORT", "HOST" or "HOST:PORT"; NULL: 127.0.0.1 and a free port */
	const char *address;
	bool models;	  /* the programs ask their models through the session as well */
	bool quiet, json; /* printed at the start: nothing, one JSON object */
	/* runs with the words for programs in its environment; its end is ours. Empty: until a
	 * signal */
	const struct strv *program;
};

/* @opts: of the supervisor; takes it. Returns an exit status: the program's, if there is one. */
int serve_run(json_t *opts, const struct serve_how *how);

#endif
