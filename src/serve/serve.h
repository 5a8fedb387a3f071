/* `sandglass serve KIND`: the API of a sandbox provider with boxes of ours behind it, so that
 * programs that were written for its SDK run supervised. This is the outer half: HTTP on this
 * machine, who may ask, bytes in and out. What a request means and does is lua/sandglass/serve.lua
 * in the session, which is handed each one whole and recorded with it.
 *
 *  1. A request comes in with the token of this start, in any of the headers that the SDKs use;
 *  {token} in the words for programs
 *     and in answers marked "fill" is filled in here: the session never knows it.
 *  2. Tools of the session's script (serve/mcp_session.h): hello {url,models? (hash of
 *  "sk-sg-{token}", the key for them)} -> {name,env} or {wrong}; http
 *  {method,path,query,headers,body,upload?,socket?,target}
 *     -> {status,type?,body?,stream?,fill?,location?}; part {upload,body} ahead of a long request;
 *     more {stream} -> {body?,over?,broken?},
 *     asked again and again while the client takes what comes; leave {stream,upload}: nobody takes
 *     or sends it any more. A
 *     request for a WebSocket (socket) that is answered with 101, a stream and protocol? becomes
 *     one: each piece is a message
 *     (text? of characters), the last has code? and reason?; what the client says comes as said
 *     {stream,body,text}, in order; an
 *     answer with wrong (why nobody hears it) closes it with 1011.
 *  3. A request for the host "PORT-ID.localhost", as E2B names what a sandbox serves on a port,
 *  comes to the session as GET
 *     /port/ID/PORT with its own target beside it, from anybody who knows the name; its answer
 *     leads on (location).
 *  4. Who goes away cancels what he has asked for; a stream's command goes on.
 * Loop thread only. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/json.h"

struct serve_how {
	/* "PORT", "HOST" or "HOST:PORT"; NULL: 127.0.0.1 and a free port */
	const char *address;
	bool models;	  /* the programs ask their models through the session as well */
	bool quiet, json; /* what is said at the start: nothing, one JSON object */
	/* runs with the words for programs in its environment; its end is ours. Empty: until a
	 * signal */
	const struct strv *program;
};

/* @opts: of the supervisor; takes it. Returns an exit status: the program's, if there is one. */
int serve_run(json_t *opts, const struct serve_how *how);

#endif
