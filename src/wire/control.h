/* The control socket: consoles, line mode and other shells talk to a supervisor.
 *
 *  1. A unix stream socket RUNTIME/s-7k2m9q.sock, one per session, named by its id; RUNTIME is
 *     paths_runtime("") with mode 0700 and our owner, the socket has mode 0600. A client
 *     must have the supervisor's uid or be root (SO_PEERCRED, both ways); others are closed without
 *     a word. A session that is shared has a second one beside its file, for the members of a
 *     group, who may watch or decide (control/share.h); WELCOME has "role" for them.
 *  2. Frames of wire/frame.h, no descriptors, body one JSON object of at most CONTROL_MAX_BODY
 *     bytes.
 *  3. The client begins with HELLO {version, min, program, name, tty, watch}. version is the newest
 *     protocol it speaks, min the oldest. name and tty are claims; uid and pid are taken from the
 *     kernel. watch: true asks for a connection that can only look. stays: true says that a user
 *     sits there who sees what waits (console, line mode); a command that comes and goes does not.
 *     The supervisor answers WELCOME {version, program, session, name, path, pid, uid, head,
 *     commands[], state{}}: version is what both speak from now on, min(the two newest); commands[]
 *     names all that this supervisor understands, so that a newer console greys out what an older
 *     supervisor lacks. Without a common version: BYE {why, fix, version}.
 *  4. COMMAND {words[], opts{}} with an id chosen by the client (not 0); words[0] is the command's
 *     name. Bytes are strings or {"b64"}. Exactly one REPLY with the same id follows, in any order:
 *     {ok: true, result: any} or {ok: false, error: {code, text}}; code as err_code_name says it.
 *  5. HEAD {head}: everything up to this seq can be read from the session file. At most 60 a second
 *     and one a loop
 * turn; the newest wins, none is queued behind another.
 *  6. STATE {...}: state that no event holds: held[], paused, hold, clients[].
 *     Complete each time.
 *  7. BYE {why} from the supervisor: the connection ends; "session ended", "too slow", "refused".
 *  8. PING {} is answered with PONG {} and the same id, by both sides.
 *  9. Unknown types and fields are ignored. Fields are only added; a changed meaning is a new
 *     version.
 * 10. TTY_OUT and TTY_IN carry the bytes of a program's terminal as they are, no JSON; the frame's
 *     id is the action's. A client gets and sends them after the command `terminal` has tied it to
 *     that action.
 * 11. A client that leaves more than CONTROL_SLOW bytes unread for CONTROL_SLOW_MS is closed.
 *     Nobody waits for it. */
#ifndef WIRE_CONTROL_H
#define WIRE_CONTROL_H

#include "base/json.h"

enum { CONTROL_VERSION = 1, CONTROL_MIN = 1 };
enum { CONTROL_MAX_BODY = 4 << 20, CONTROL_SLOW = 256 << 10, CONTROL_SLOW_MS = 5000 };

enum control_type {
	CONTROL_HELLO = 1,
	CONTROL_WELCOME = 2,
	CONTROL_COMMAND = 3,
	CONTROL_REPLY = 4,
	CONTROL_HEAD = 5,
	CONTROL_STATE = 6,
	CONTROL_BYE = 7,
	CONTROL_PING = 8,
	CONTROL_PONG = 9,
	CONTROL_TTY_OUT = 10,
	CONTROL_TTY_IN = 11,
};

/* Every function that returns a json_t * returns owned. */
json_t *control_hello(const char *program, const char *name, const char *tty, bool watch);
/* Chooses the version for a HELLO body; 0 when there is none in common. */
int control_agree(const json_t *hello);
json_t *control_bye(const char *why, const char *fix);
json_t *control_reply_ok(json_t *result); /* takes @result, NULL = null */
json_t *control_reply_err(const struct err *err);
/* Takes a REPLY apart: 0 and *result_out (borrowed, may be JSON null), or -1 and the error as it
 * was on the other side.
 */
int control_reply_read(const json_t *reply, json_t **result_out, struct err *err);

#endif
