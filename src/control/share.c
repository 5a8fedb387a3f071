#include "control/share.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/socket.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static const char share_suffix[] = ".glass";

static bool in_group(gid_t gid)
{
	gid_t list[1024];
	int nr = getgroups(ARRAY_LEN(list), list);
	bool in = geteuid() == 0 || getegid() == gid;
	for (int i = 0; i < nr && !in; i++)
		in = list[i] == gid;
	return in;
}

int share_parse(const char *text, struct share *out, struct err *err)
{
	size_t n = strcspn(text, ":");
	const char *role = text[n] ? text + n + 1 : "watch";
	struct share s = { .decide = !strcmp(role, "decide") };
	if (!s.decide && strcmp(role, "watch") != 0)
		return err_set(err, ERR_USAGE, "--share %s: expected watch or decide, got '%s'",
			       text, role);
	if (!n || n >= sizeof(s.group))
		return err_set(
			err, ERR_USAGE,
			"--share: expected a group of this host, as in devs:decide, got '%s'",
			text);
	memcpy(s.group, text, n);
	const struct group *g = getgrnam(s.group);
	if (!g)
		return err_set(
			err, ERR_USAGE,
			"--share: group '%s' not found on this host\n'id' lists your groups.",
			s.group);
	s.gid = g->gr_gid;
	if (!in_group(s.gid))
		return err_set(err, ERR_USAGE,
			       "--share: you are not in group '%s'\n'id' lists your groups.",
			       s.group);
	*out = s;
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool lets_through(const struct stat *st, gid_t gid)
{
	return st->st_mode & (st->st_gid == gid ? S_IXGRP : S_IXOTH);
}

/* Directories that we made for sessions. */
static bool share_is_ours(const char *dir, const char *sessions)
{
	CLEANUP(free_ptr) char *data = paths_data("");
	struct stat a, b;
	if (!strcmp(dir, sessions))
		return true;
	return stat(dir, &a) == 0 && stat(data, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Calls for every directory on the way to @dir, from the top; adds those that keep the group out
 * and are not ours to @closed, opens the others if @widen. */
static int share_walk(const char *dir, const struct share *s, bool widen, struct buf *closed,
		      struct err *err)
{
	size_t len = strlen(dir);
	for (size_t i = 1; i <= len; i++) {
		if (dir[i] != '/' && dir[i])
			continue;
		CLEANUP(free_ptr) char *part = mem_strndup(dir, i);
		struct stat st;
		if (stat(part, &st) < 0)
			return err_sys(err, "can't read the status of '%s'", part);
		if (lets_through(&st, s->gid))
			continue;
		if (!share_is_ours(part, dir) || st.st_uid != geteuid())
			buf_printf(closed, " %s", part);
		else if (widen && chmod(part, (st.st_mode & 07777) | S_IXOTH |
						      (st.st_gid == s->gid ? S_IXGRP : 0)) < 0)
			return err_sys(err, "can't let group '%s' into '%s'", s->group, part);
	}
	return 0;
}

static int share_reach_dir(const char *dir, const struct share *s, bool widen, struct err *err)
{
	CLEANUP(free_ptr) char *full = realpath(dir, NULL);
	CLEANUP(buf_release) struct buf closed = BUF_INIT;
	if (!full)
		return err_sys(err, "can't read the status of '%s'", dir);
	if (share_walk(full, s, widen, &closed, err) < 0)
		return -1;
	if (!closed.len)
		return 0;
	return err_set(
		err, ERR_DENIED,
		"--share: group '%s' can't reach '%s'\nRun 'chmod o+x%s', or choose another directory with --sessions DIR.",
		s->group, dir, buf_cstr(&closed));
}

int share_reach(const char *dir, const struct share *s, struct err *err)
{
	return share_reach_dir(dir, s, false, err);
}

static char *share_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path))
		     : mem_strdup(".");
}

int share_open(const char *path, const struct share *s, struct err *err)
{
	static const char *const tail[] = { "", "-wal", "-shm", "-lease" };
	CLEANUP(free_ptr) char *dir = share_folder_of(path);
	if (share_reach_dir(dir, s, true, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *file = mem_printf("%s%s", path, tail[i]);
		if (chown(file, (uid_t)-1, s->gid) < 0 || chmod(file, 0640) < 0) {
			if (errno == ENOENT && i > 0)
				continue;
			return err_sys(err, "can't let group '%s' read '%s'", s->group, file);
		}
	}
	return 0;
}

/* --- the socket ------------------------------------------------------------------------------- */

char *share_socket(const char *path)
{
	size_t n = strlen(path), cut = sizeof(share_suffix) - 1;
	if (n > cut && !strcmp(path + n - cut, share_suffix))
		n -= cut;
	return mem_printf("%.*s.sock", (int)n, path);
}

char *share_find(const char *id, const char *path)
{
	CLEANUP(free_ptr) char *own = control_path(id);
	CLEANUP(free_ptr) char *shared = share_socket(path);
	return access(own, F_OK) != 0 && access(shared, F_OK) == 0 ? take(&shared) : take(&own);
}

int share_listen(const char *path, const struct share *s, char **socket_out, int *fd_out,
		 struct err *err)
{
	CLEANUP(free_ptr) char *socket = share_socket(path);
	CLEANUP(free_ptr) char *dir = share_folder_of(socket);
	const char *slash = strrchr(socket, '/');
	if (control_listen_at(dir, slash ? slash + 1 : socket, 0660, s->gid, fd_out, err) < 0)
		return -1;
	*socket_out = take(&socket);
	return 0;
}

/* --- being found ------------------------------------------------------------------------------ */

static const char share_announced[] = "sandglass-share:";
enum { SHARES_MAX = 64 };

int share_announce(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	CLEANUP(free_ptr) char *full = realpath(path, NULL);
	size_t n = full ? strlen(full) : 0, cut = sizeof(share_suffix) - 1;
	if (n <= cut || strcmp(full + n - cut, share_suffix) != 0 || strpbrk(full, " \t\n@"))
		return -1;
	CLEANUP(free_ptr) char *name = mem_printf("%s%.*s", share_announced, (int)(n - cut), full);
	if (strlen(name) > sizeof(sa.sun_path) - 1)
		return -1;
	memcpy(sa.sun_path + 1, name, strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 &&
	    bind(fd, (const struct sockaddr *)&sa,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) < 0)
		fd_close(&fd);
	return fd;
}

static bool shared_with_us(const char *path)
{
	CLEANUP(free_ptr) char *socket = share_socket(path);
	struct stat st;
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid != geteuid() &&
	       in_group(st.st_gid) && access(path, R_OK) == 0 && access(socket, W_OK) == 0;
}

void share_list(struct strv *out)
{
	CLEANUP(free_ptr) char *line = NULL;
	FILE *f = fopen("/proc/net/unix", "re");
	size_t cap = 0;
	while (f && out->nr < SHARES_MAX && getline(&line, &cap, f) > 0) {
		char *at = strstr(line, share_announced);
		if (!at || at == line || at[-1] != '@')
			continue;
		at[strcspn(at, "\n")] = 0;
		CLEANUP(free_ptr)
		char *path = mem_printf("%s%s", at + sizeof(share_announced) - 1, share_suffix);
		if (*path == '/' && shared_with_us(path))
			strv_push(out, path);
	}
	if (f)
		fclose(f);
}

bool share_member(int sock, gid_t gid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	gid_t list[1024];
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	if (cred.gid == gid)
		return true;
	len = sizeof(list);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, list, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(*list); i++)
		if (list[i] == gid)
			return true;
	return false;
}

char *share_user(uid_t uid)
{
	const struct passwd *pw = getpwuid(uid);
	return pw ? mem_strdup(pw->pw_name) : mem_printf("uid %u", uid);
}

char *share_own_name(void)
{
	const char *named = getenv("SANDGLASS_USER");
	return named && *named ? mem_strdup(named) : share_user(getuid());
}
