/* What supervisor and launcher say to each other: frames of wire/frame.h with JSON bodies over
 * descriptor 3.
 *
 *  1. The launcher speaks first: LAUNCH_HELLO
 *     {"v":2,"root":bool,"uid":n,"gid":n,"spare":n,"cgroup":"v1"|"v2"|"none",
 *     "freezer":bool,"why":text}. uid, gid: what boxes and Lua hosts run as (root: never 0; an
 *     ordinary user: his own). spare: the first of 16 unused uids, one for each box of rule 4 (root
 *     only, else 0). why: what a missing cgroup lacks.
 *  2. Each request carries an id of the supervisor's and gets exactly one LAUNCH_OK or LAUNCH_ERR
 *     with that id, in
 * order. LAUNCH_ERR {"code":n,"sys":n,"text":..}: an enum err_code, errno, a line.
 *  3. LAUNCH_KEEPER {"box":n,"uid":n,"gid":n,"limits":{"mem_bytes","cpu_milli","pids"}},
 *     descriptors: one or two seccomp filters. -> {"pid":n,"cgroup":bool,"freezer":bool},
 *     descriptors: pidfd of the keeper, our ends of its loop channel, worker channel and guest
 *     channel. box is the supervisor's number, used once. LAUNCH_SPARE {"uid":n,"gid":n},
 *     descriptors as there -> {}: from now on one keeper is started ahead, when nothing else is
 *     asked for, and is the next LAUNCH_KEEPER's of the same uid, gid and filters.
 *  4. LAUNCH_GUEST as 3 for profile reduced: the guest itself without a keeper. Descriptors: guest
 *     channel, filters; in the answer: pidfd. With {"dir":path}: the working directory.
 *  5. LAUNCH_TREES {"uid":n,"gid":n,"trees":[{"path":p,"kind":"repo"|"plain"|"own"|"guest"}]} at
 *     most FD_PASS_MAX of
 * them
 *     -> {"trees":[{"path":p,"fd":bool,"uid":n,"gid":n,"idmap":bool}]}, one descriptor for each
 *     fd:true: a detached
 * mount. Where the launcher is an ordinary user fd is false and the keeper opens the path by
 * itself. "repo": read only, owner shown as uid; "plain": read only, as it is; "own": made if
 * missing, given to uid:gid, 0700; "guest": our guest program, no path.
 *  6. LAUNCH_HOST {"program":path,"argv":[..],"env":[..]}, descriptors: those of the child from 0
 *     on -> {"pid":n},
 * pidfd. It runs without privileges as rule 1's uid and dies with the launcher.
 *  7. LAUNCH_CGROUP {"box":n,"verb":"freeze"|"thaw"|"kill"|"stats"} -> {} or
 *     {"cpu_us","mem_bytes","pids","oom"}. For boxes of rule 4 "kill" also ends every process of
 *     their uid.
 *  8. LAUNCH_EXITED {"pid":n,"code":n,"signal":n}, id 0: a keeper, guest or host has ended and its
 *     cgroup is gone.
 *  9. The end of the channel is the end of the launcher and of everything that it started. */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include "base/json.h"

enum { LAUNCH_VERSION = 2, LAUNCH_MAX_BODY = 4 << 20 };

enum launch_frame {
	LAUNCH_HELLO = 1,
	LAUNCH_OK,
	LAUNCH_ERR,
	LAUNCH_EXITED,
	LAUNCH_KEEPER = 16,
	LAUNCH_GUEST,
	LAUNCH_TREES,
	LAUNCH_HOST,
	LAUNCH_CGROUP,
	LAUNCH_SPARE,
};

/* The body of LAUNCH_ERR and KEEPER_ERR. */
void wire_err_body(const struct err *e, struct buf *out);
/* always sets @out to an error */
void wire_err_parse(const char *body, size_t len, struct err *out);

#endif
