#include "record/read/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

static char *companion(const char *session_path)
{
	return xasprintf("%s-lease", session_path);
}

int lease_take(const char *session_path, struct err *err)
{
	CLEANUP(free_ptr) char *path = companion(session_path);
	CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "cannot make '%s'", path);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_sys(err, "cannot lock '%s'", path);
		return err_set(err, ERR_BUSY, "session '%s' is being written by process %d: attach to it instead",
			       session_path, lease_pid(session_path));
	}
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || fd_write_all(fd, text, (size_t)n, err) < 0)
		return err_sys(err, "cannot write '%s'", path);
	int got = fd;
	fd = -1;
	return got;
}

bool lease_held(const char *session_path)
{
	CLEANUP(free_ptr) char *path = companion(session_path);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int lease_pid(const char *session_path)
{
	CLEANUP(free_ptr) char *path = companion(session_path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	return file_read(path, &text, 64, &err) == 0 ? atoi(buf_cstr(&text)) : 0;
}
