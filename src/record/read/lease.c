#include "record/read/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/buf.h"
#include "base/mem.h"

enum { NOTE_AT = 64, NOTE_LEN = 50, WAIT_MS = 10000, LOOK_MS = 10 };

/* Bytes of the companion file that are locked (they need not exist): a session's writer holds the
 * first two, a process that borrows the file holds the second alone, and a process that waits for
 * the borrower holds the third. */
enum { BYTE_LIVE, BYTE_WRITES, BYTE_WANTS };

static struct flock lease_range(short type, int first, int last)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = last - first + 1
	};
}

static void boot_id(char out[40])
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	snprintf(out, 40, "%.36s",
		 file_read("/proc/sys/kernel/random/boot_id", &text, 64, &err) == 0
			 ? buf_cstr(&text)
			 : "-");
	out[strcspn(out, "\n")] = 0;
}

static char *lease_companion(const char *session_path)
{
	return mem_printf("%s-lease", session_path);
}

/* Of the machine's present run; false: there is none, or half of one. */
static bool read_note(const struct buf *text, struct lease_note *out)
{
	char boot[40], said[40] = "";
	uint32_t turned;
	boot_id(boot);
	if (text->len <= NOTE_AT || sscanf(text->data, "%*d %39s", said) != 1 ||
	    strcmp(said, boot) != 0)
		return false;
	return sscanf(text->data + NOTE_AT, "%16" SCNx64 " %8" SCNx32 " %12" SCNx64 " %8" SCNx32,
		      &out->seq, &out->salt, &out->end, &turned) == 4 &&
	       turned == (out->salt ^ (uint32_t)out->end ^ (uint32_t)out->seq);
}

static int lease_refuse(const char *session_path, struct err *err)
{
	return err_set(err, ERR_BUSY, "process %d writes session '%s': attach to it instead",
		       lease_pid(session_path), session_path);
}

/* Has process @pid ended, or been killed? Its last thread may still wait for the disk, and holds
 * its locks until then. */
static bool lease_ends(int pid)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("/proc/%d/status", pid);
	static const char *const pending[] = { "\nSigPnd:", "\nShdPnd:" };
	struct err err = ERR_INIT;
	if (pid <= 0)
		return false;
	if (file_read(path, &text, 1 << 16, &err) < 0)
		return err.code == ERR_NOENT || err.sys == ESRCH;
	const char *said = buf_cstr(&text), *state = strstr(said, "\nState:\t");
	bool over = state && (state[8] == 'Z' || state[8] == 'X');
	for (size_t i = 0; i < ARRAY_LEN(pending); i++) {
		const char *mask = strstr(said, pending[i]);
		over |= mask && strtoull(mask + strlen(pending[i]), NULL, 16) >> (SIGKILL - 1) & 1;
	}
	return over;
}

/* A borrower checks now and then whether another process waits for the file. */
static int lease_lock(int fd, const char *session_path, int first, struct err *err)
{
	struct flock both = lease_range(F_WRLCK, first, BYTE_WRITES),
		     want = lease_range(F_WRLCK, BYTE_WANTS, BYTE_WANTS);
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	int left = WAIT_MS / LOOK_MS, rc;
	while ((rc = fcntl(fd, F_OFD_SETLK, &both)) < 0 && (errno == EAGAIN || errno == EACCES)) {
		bool stays = lease_held(session_path) && !lease_ends(lease_pid(session_path));
		if (first != BYTE_LIVE || stays || !left--)
			return lease_refuse(session_path, err);
		fcntl(fd, F_OFD_SETLK, &want); /* two who wait want the same */
		nanosleep(&pause, NULL);
	}
	if (rc < 0)
		return err_sys(err, "can't lock '%s-lease'", session_path);
	want.l_type = F_UNLCK;
	fcntl(fd, F_OFD_SETLK, &want);
	return 0;
}

/* The companion, locked. One that was removed while it was waited for binds nobody. */
static int open_locked(const char *path, const char *session_path, int first, struct err *err)
{
	for (;;) {
		struct stat mine, there;
		CLEANUP(fd_close)
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return err_sys(err, "can't create '%s'", path);
		if (lease_lock(fd, session_path, first, err) < 0)
			return -1;
		if (fstat(fd, &mine) == 0 && stat(path, &there) == 0 &&
		    mine.st_ino == there.st_ino) {
			int got = fd;
			fd = -1;
			return got;
		}
	}
}

static int lease_take_from(const char *session_path, int first, struct lease_note *was_out,
			   struct err *err)
{
	CLEANUP(free_ptr) char *path = lease_companion(session_path);
	CLEANUP(buf_release) struct buf before = BUF_INIT;
	struct lease_note was;
	CLEANUP(fd_close) int fd = open_locked(path, session_path, first, err);
	if (fd < 0)
		return -1;
	char text[NOTE_AT] = "", boot[40];
	if (file_read(path, &before, 256, err) < 0 || !read_note(&before, &was)) {
		was = (struct lease_note){ 0 };
		lease_note(fd, &was);
	}
	boot_id(boot);
	snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), boot);
	if (pwrite(fd, text, sizeof(text), 0) != sizeof(text))
		return err_sys(err, "can't write '%s'", path);
	if (was_out)
		*was_out = was;
	int got = fd;
	fd = -1;
	return got;
}

int lease_take(const char *session_path, struct lease_note *was_out, struct err *err)
{
	return lease_take_from(session_path, BYTE_LIVE, was_out, err);
}

int lease_borrow(const char *session_path, struct err *err)
{
	return lease_take_from(session_path, BYTE_WRITES, NULL, err);
}

static bool is_locked(int fd, int byte)
{
	struct flock l = lease_range(F_RDLCK, byte, byte);
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

static bool lease_asked(const char *session_path, int byte)
{
	CLEANUP(free_ptr) char *path = lease_companion(session_path);
	CLEANUP(fd_close)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return is_locked(fd, byte);
}

bool lease_held(const char *session_path)
{
	return lease_asked(session_path, BYTE_LIVE);
}

bool lease_busy(const char *session_path)
{
	return lease_asked(session_path, BYTE_WRITES);
}

bool lease_wanted(int lease)
{
	return is_locked(lease, BYTE_WANTS);
}

int lease_pid(const char *session_path)
{
	CLEANUP(free_ptr) char *path = lease_companion(session_path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	if (file_read(path, &text, 256, &err) < 0)
		return 0;
	long pid = strtol(buf_cstr(&text), NULL, 10);
	return pid > 0 && pid <= INT_MAX ? (int)pid : 0;
}

/* "SEQ SALT END CHECK" in hexadecimal; half a note is none. */
void lease_note(int lease, const struct lease_note *note)
{
	char text[NOTE_LEN + 2];
	snprintf(text, sizeof(text), "%016" PRIx64 " %08" PRIx32 " %012" PRIx64 " %08" PRIx32 "\n",
		 note->seq, note->salt, note->end & 0xffffffffffff,
		 note->salt ^ (uint32_t)note->end ^ (uint32_t)note->seq);
	if (lease >= 0 && pwrite(lease, text, strlen(text), NOTE_AT) < 0)
		return; /* nobody depends on it */
}

bool lease_noted(const char *session_path, struct lease_note *out)
{
	CLEANUP(free_ptr) char *path = lease_companion(session_path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	return file_read(path, &text, 256, &err) == 0 && read_note(&text, out);
}
