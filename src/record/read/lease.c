#include "record/read/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/buf.h"
#include "base/mem.h"

enum { NOTE_AT = 64, NOTE_LEN = 50 };

static void boot_id(char out[40])
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	snprintf(out, 40, "%.36s", file_read("/proc/sys/kernel/random/boot_id", &text, 64, &err) == 0 ? buf_cstr(&text) : "-");
	out[strcspn(out, "\n")] = 0;
}

static char *companion(const char *session_path)
{
	return xasprintf("%s-lease", session_path);
}

/* Of the machine's present run; false: there is none, or half of one. */
static bool read_note(const struct buf *text, struct lease_note *out)
{
	char boot[40], said[40] = "";
	uint32_t turned;
	boot_id(boot);
	if (text->len <= NOTE_AT || sscanf(text->data, "%*d %39s", said) != 1 || strcmp(said, boot) != 0)
		return false;
	return sscanf(text->data + NOTE_AT, "%16" SCNx64 " %8" SCNx32 " %12" SCNx64 " %8" SCNx32, &out->seq, &out->salt, &out->end,
		      &turned) == 4 && turned == (out->salt ^ (uint32_t)out->end ^ (uint32_t)out->seq);
}

int lease_take(const char *session_path, struct lease_note *was_out, struct err *err)
{
	CLEANUP(free_ptr) char *path = companion(session_path);
	CLEANUP(buf_release) struct buf before = BUF_INIT;
	struct lease_note was;
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
	char text[NOTE_AT] = "", boot[40];
	if (file_read(path, &before, 256, err) < 0 || !read_note(&before, &was)) {
		was = (struct lease_note){ 0 };
		lease_note(fd, &was);
	}
	boot_id(boot);
	snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), boot);
	if (pwrite(fd, text, sizeof(text), 0) != sizeof(text))
		return err_sys(err, "cannot write '%s'", path);
	if (was_out)
		*was_out = was;
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
	return file_read(path, &text, 256, &err) == 0 ? atoi(buf_cstr(&text)) : 0;
}

/* "SEQ SALT END CHECK" in hexadecimal; half a note is none. */
void lease_note(int lease, const struct lease_note *note)
{
	char text[NOTE_LEN + 2];
	snprintf(text, sizeof(text), "%016" PRIx64 " %08" PRIx32 " %012" PRIx64 " %08" PRIx32 "\n", note->seq, note->salt,
		 note->end & 0xffffffffffff, note->salt ^ (uint32_t)note->end ^ (uint32_t)note->seq);
	if (lease >= 0 && pwrite(lease, text, strlen(text), NOTE_AT) < 0)
		return; /* nobody depends on it */
}

bool lease_noted(const char *session_path, struct lease_note *out)
{
	CLEANUP(free_ptr) char *path = companion(session_path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	return file_read(path, &text, 256, &err) == 0 && read_note(&text, out);
}
