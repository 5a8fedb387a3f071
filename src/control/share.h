/* A session that is shared with a unix group, to watch or to decide.
 *
 * The session file and its companions become readable by the group, and a second socket, beside
 * the file and named as it is (.sock for .glass), lets its members in: the kernel says who they
 * are (SO_PEERCRED, SO_PEERGROUPS). Who watches can send nothing that changes anything; who
 * decides can send what has COMMAND_DECIDES. The owner's own socket stays as it is. The
 * directories on the way must let the group through; ours are opened to be passed through (not
 * listed), others are named. */
#ifndef CONTROL_SHARE_H
#define CONTROL_SHARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct share {
	char group[64]; /* "" = not shared */
	gid_t gid;
	bool decide;
};

/* "devs", "devs:watch", "devs:decide". ERR_USAGE: no such group or role, or a group that we are not
 * in. */
NODISCARD int share_parse(const char *text, struct share *out, struct err *err);
/* Can the group reach @dir once share_open has run? ERR_DENIED with the command that makes it
 * reachable. */
NODISCARD int share_reach(const char *dir, const struct share *s, struct err *err);
/* Lets the group read the session file @path and what lies beside it, and pass through the
 * directories that are ours. */
NODISCARD int share_open(const char *path, const struct share *s, struct err *err);

/* The socket for the session file @path; returns owned. */
char *share_socket(const char *path);
/* The path of the socket for session @id with its file at @path: our own, else the shared one
 * beside it. Owned. */
char *share_find(const char *id, const char *path);
/* Listens there, in place of a stale one; mode 0660, group of @s. Non-blocking. */
NODISCARD int share_listen(const char *path, const struct share *s, char **socket_out, int *fd_out,
			   struct err *err);
/* Says in the kernel's table of sockets where the session file @path lies, for as long as the
 * descriptor is open, so that share_list of others finds it: "sandglass-share:PATH" without
 * ".glass", abstract. -1: too long or odd a path for that. */
int share_announce(const char *path);
/* Paths of session files that others announce now and that a group of ours may read. A name that
 * anybody could have made up: taken only for a file whose group we are in, with its socket beside
 * it. */
void share_list(struct strv *out);
/* Is the process at the other end of @sock in the group? */
bool share_member(int sock, gid_t gid);
/* The name that the system knows @uid by, or its number; returns owned. */
char *share_user(uid_t uid);
/* The name recorded with our actions: the setting `user`, or that of our account; returns owned. */
char *share_own_name(void);

#endif
