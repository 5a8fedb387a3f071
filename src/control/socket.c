#include "control/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

static const char socket_suffix[] = ".sock";

static int check_dir(const char *dir, struct err *err)
{
	struct stat st;
	if (lstat(dir, &st) < 0)
		return err_sys(err, "can't read the status of '%s'", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_DENIED, "'%s' is not a directory\nRemove it.", dir);
	if (st.st_uid != geteuid())
		return err_set(
			err, ERR_DENIED,
			"'%s' belongs to uid %u, not to you\nSet XDG_RUNTIME_DIR to a directory of yours.",
			dir, st.st_uid);
	if (st.st_mode & 077)
		return err_set(err, ERR_DENIED,
			       "'%s' is accessible to other users\nRun 'chmod 700' on it.", dir);
	return 0;
}

int control_dir(char **out, struct err *err)
{
	char *dir = paths_runtime("");
	if (dir_make(dir, 0700, err) < 0 || check_dir(dir, err) < 0) {
		free(dir);
		return -1;
	}
	*out = dir;
	return 0;
}

char *control_path(const char *id)
{
	CLEANUP(free_ptr) char *tail = mem_printf("%s%s", id, socket_suffix);
	return paths_runtime(tail);
}

/* A socket address that names @name in the directory @dirfd, however long the directory's path
 * is. */
static int socket_address(int dirfd, const char *name, struct sockaddr_un *sa, struct err *err)
{
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
	if (n < 0 || (size_t)n >= sizeof(sa->sun_path))
		return err_set(err, ERR_INVALID, "'%s' is too long for a socket path", name);
	return 0;
}

static int socket_open_dir(const char *dir, struct err *err)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "can't open '%s'", dir) : fd;
}

static bool nobody_listens(const struct err *err)
{
	return err->code == ERR_CLOSED || err->code == ERR_NOENT;
}

/* Bound under another name first, so that it appears only when it listens. */
int control_listen_at(const char *dir, const char *name, mode_t mode, gid_t gid, int *fd_out,
		      struct err *err)
{
	CLEANUP(fd_close) int dirfd = socket_open_dir(dir, err);
	CLEANUP(fd_close) int sock = -1;
	struct sockaddr_un sa;
	char tmp[40];
	uint32_t r;
	random_bytes(&r, sizeof(r));
	snprintf(tmp, sizeof(tmp), ".new-%08x", r);
	if (dirfd < 0 || socket_address(dirfd, tmp, &sa, err) < 0)
		return -1;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return err_sys(err, "can't create a control socket");
	if (bind(sock, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return err_sys(err, "can't create a socket in '%s'", dir);
	if ((gid != (gid_t)-1 && fchownat(dirfd, tmp, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	    fchmodat(dirfd, tmp, mode, 0) < 0 || listen(sock, 64) < 0 ||
	    renameat(dirfd, tmp, dirfd, name) < 0) {
		err_sys(err, "can't listen at '%s/%s'", dir, name);
		unlinkat(dirfd, tmp, 0);
		return -1;
	}
	*fd_out = sock;
	sock = -1;
	return 0;
}

int control_listen(const char *id, char **path_out, int *fd_out, struct err *err)
{
	CLEANUP(free_ptr) char *dir = NULL;
	CLEANUP(free_ptr) char *path = control_path(id);
	CLEANUP(free_ptr) char *name = mem_printf("%s%s", id, socket_suffix);
	CLEANUP(fd_close) int other = -1;
	struct err none = ERR_INIT;
	if (strchr(id, '/') || id[0] == '.')
		return err_set(err, ERR_INVALID, "'%s' is not a valid socket name", id);
	if (control_dir(&dir, err) < 0)
		return -1;
	if (control_connect(path, 1000, &other, &none) == 0 || !nobody_listens(&none))
		return err_set(err, ERR_BUSY, "another process is listening on '%s'", path);
	if (control_listen_at(dir, name, 0600, (gid_t)-1, fd_out, err) < 0)
		return -1;
	*path_out = take(&path);
	return 0;
}

int control_peer_any(int sock, uid_t *uid_out, pid_t *pid_out, struct err *err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return err_sys(err, "can't identify the connecting process");
	*uid_out = cred.uid;
	*pid_out = cred.pid;
	return 0;
}

static int socket_stranger(uid_t uid, struct err *err)
{
	return err_set(err, ERR_DENIED, "connection refused: from uid %u", uid);
}

int control_peer(int sock, uid_t *uid_out, pid_t *pid_out, struct err *err)
{
	uid_t uid;
	if (control_peer_any(sock, &uid, pid_out, err) < 0)
		return -1;
	if (uid != geteuid() && uid != 0)
		return socket_stranger(uid, err);
	*uid_out = uid;
	return 0;
}

static int connect_until(int sock, const struct sockaddr_un *sa, int timeout_ms)
{
	int64_t end = clock_mono_us() + (int64_t)timeout_ms * 1000;
	for (;;) {
		if (connect(sock, (const struct sockaddr *)sa, sizeof(*sa)) == 0)
			return 0;
		/* the queue of those who wait to be accepted is full */
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		if (clock_mono_us() >= end) {
			errno = ETIMEDOUT;
			return -1;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

int control_connect(const char *path, int timeout_ms, int *fd_out, struct err *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
	CLEANUP(fd_close) int dirfd = socket_open_dir(dir, err);
	CLEANUP(fd_close) int sock = -1;
	struct sockaddr_un sa;
	struct stat st;
	uid_t uid;
	pid_t pid;
	if (dirfd < 0 || socket_address(dirfd, slash ? slash + 1 : path, &sa, err) < 0)
		return -1;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return err_sys(err, "can't create a socket");
	if (connect_until(sock, &sa, timeout_ms) < 0) {
		if (errno == ECONNREFUSED)
			return err_set(err, ERR_CLOSED, "no process is listening on '%s'", path);
		return err_sys(err, "can't connect to '%s'", path);
	}
	if (control_peer_any(sock, &uid, &pid, err) < 0)
		return err_wrap(err, "'%s'", path);
	if (uid != geteuid() && uid != 0 && (fstat(dirfd, &st) < 0 || uid != st.st_uid)) {
		socket_stranger(uid, err);
		return err_wrap(err, "'%s'", path);
	}
	*fd_out = sock;
	sock = -1;
	return 0;
}

static int socket_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int control_list(struct strv *ids, struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_runtime("");
	struct stat st;
	if (lstat(dir, &st) < 0 && errno == ENOENT)
		return 0;
	if (check_dir(dir, err) < 0)
		return -1;
	DIR *d = opendir(dir);
	if (!d)
		return err_sys(err, "can't open '%s'", dir);
	struct strv found = STRV_INIT;
	struct dirent *e;
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);
		if (e->d_name[0] == '.' || n <= sizeof(socket_suffix) - 1 ||
		    strcmp(e->d_name + n - (sizeof(socket_suffix) - 1), socket_suffix) != 0)
			continue;
		CLEANUP(free_ptr) char *path = path_join(dir, e->d_name);
		CLEANUP(fd_close) int sock = -1;
		struct err no = ERR_INIT;
		if (control_connect(path, 200, &sock, &no) == 0 || no.code == ERR_TIMEOUT)
			strv_push_bytes(&found, e->d_name, n - (sizeof(socket_suffix) - 1));
		else if (no.code == ERR_CLOSED)
			unlink(path); /* its supervisor was killed */
	}
	closedir(d);
	if (found.nr)
		qsort(found.item, found.nr, sizeof(*found.item), socket_compare);
	for (size_t i = 0; i < found.nr; i++)
		strv_push(ids, found.item[i]);
	strv_release(&found);
	return 0;
}
