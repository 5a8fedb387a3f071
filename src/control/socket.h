/* Control sockets: their directory, and the allowed peers (wire/control.h, rule 1). Blocking,
 * short; any thread.
 *
 * The directory may be under /tmp, where another user could have created it first: it is used only
 * when it is a real directory of ours with mode 0700. Paths longer than a socket address holds are
 * reached through the directory's descriptor. */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Makes the directory if need be and checks it. Fills @out (owned) with its path. */
NODISCARD int control_dir(char **out, struct err *err);
char *control_path(const char *id); /* RUNTIME/ID.sock; returns owned */

/* Listens as @id. The socket appears under its name only when it listens, in place of a stale one.
 * Non-blocking. ERR_BUSY if another process listens there. */
NODISCARD int control_listen(const char *id, char **path_out, int *fd_out, struct err *err);
/* The same in the directory @dir under @name, for the group @gid as well ((gid_t)-1: the socket's
 * group stays). */
NODISCARD int control_listen_at(const char *dir, const char *name, mode_t mode, gid_t gid,
				int *fd_out, struct err *err);
/* ERR_NOENT no such socket, ERR_CLOSED nobody listens, ERR_TIMEOUT, ERR_DENIED an unexpected uid:
 * not ours, root's, or that of the directory's owner (a shared session). */
NODISCARD int control_connect(const char *path, int timeout_ms, int *fd_out, struct err *err);
/* Fills who is at the other end. */
NODISCARD int control_peer_any(int sock, uid_t *uid_out, pid_t *pid_out, struct err *err);
/* The same; ERR_DENIED unless it is our uid or root. */
NODISCARD int control_peer(int sock, uid_t *uid_out, pid_t *pid_out, struct err *err);

/* Adds the ids of all sockets with a listener, sorted. Removes those without. No directory =
 * none. */
NODISCARD int control_list(struct strv *ids, struct err *err);

#endif
