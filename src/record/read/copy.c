#include "record/read/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

/* --- those that go with the program ----------------------------------------------------------- */

enum { COPIES = 64, PLACE = 200 }; /* more of them, or at a longer place: at copy_remove only */

static const int read_copy_ends[] = { SIGINT, SIGTERM, SIGHUP };

static struct place {
	atomic_bool used; /* all of what follows can be read */
	char dir[PLACE], file[3][PLACE + 32];
} read_copy_places[COPIES];
static pthread_mutex_t read_copy_lock = PTHREAD_MUTEX_INITIALIZER;

/* Only what a signal handler may call. */
static void read_copy_on_end(int signo)
{
	int was = errno;
	for (size_t i = 0; i < COPIES; i++) {
		if (!atomic_load(&read_copy_places[i].used))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(read_copy_places[i].file); k++)
			unlink(read_copy_places[i].file[k]);
		rmdir(read_copy_places[i].dir);
	}
	/* SA_RESETHAND: once this returns, it ends the program as if nobody had looked */
	raise(signo);
	errno = was;
}

/* A program that handles a signal closes its sessions itself. */
static void watch_ends(void)
{
	struct sigaction now,
		ours = { .sa_handler = read_copy_on_end, .sa_flags = (int)SA_RESETHAND };
	sigemptyset(&ours.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(read_copy_ends); i++)
		if (sigaction(read_copy_ends[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
		    now.sa_handler == SIG_DFL)
			sigaction(read_copy_ends[i], &ours, NULL);
}

static void read_copy_remember(const char *dir)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	struct place *p = NULL;
	for (size_t i = 0; i < COPIES && strlen(dir) < PLACE && !p; i++)
		p = atomic_load(&read_copy_places[i].used) ? NULL : &read_copy_places[i];
	if (!p)
		return;
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	for (size_t k = 0; k < ARRAY_LEN(tail); k++)
		snprintf(p->file[k], sizeof(p->file[k]), "%s/" COPY_NAME "%s", dir, tail[k]);
	atomic_store(&p->used, true);
	watch_ends();
}

static void read_copy_forget(const char *dir)
{
	for (size_t i = 0; i < COPIES; i++)
		if (atomic_load(&read_copy_places[i].used) && !strcmp(read_copy_places[i].dir, dir))
			atomic_store(&read_copy_places[i].used, false);
}

/* A signal between the two would leave a directory that nobody knows. */
static bool make_known(char *dir)
{
	sigset_t set, was;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(read_copy_ends); i++)
		sigaddset(&set, read_copy_ends[i]);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	pthread_mutex_lock(&read_copy_lock);
	bool made = mkdtemp(dir) != NULL;
	int why = errno;
	if (made)
		read_copy_remember(dir);
	pthread_mutex_unlock(&read_copy_lock);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	errno = why;
	return made;
}

/* --- copying ---------------------------------------------------------------------------------- */

static int read_copy_file(const char *from, const char *to, const atomic_bool *stop,
			  struct err *err)
{
	CLEANUP(fd_close) int in = file_open(from, err);
	if (in < 0)
		return -1;
	CLEANUP(fd_close) int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, "can't create '%s'", to);
	for (;;) {
		char chunk[64 << 10];
		if (stop && atomic_load(stop))
			return err_set(err, ERR_CANCELLED, "the copy of '%s' was stopped", from);
		ssize_t n = read(in, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "can't read '%s'", from);
		if (n == 0)
			return 0;
		if (fd_write_all(out, chunk, (size_t)n, err) < 0)
			return err_wrap(err, "copy '%s'", from);
	}
}

/* The WAL's header changes whenever SQLite begins it anew. */
static bool wal_header(const char *wal, uint8_t out[32])
{
	CLEANUP(fd_close) int fd = open(wal, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	memset(out, 0, 32);
	return fd >= 0 && pread(fd, out, 32, 0) == 32;
}

/* Main file first, WAL after it: whatever a checkpoint moves meanwhile is in the WAL too, as long
 * as that is the same. */
static int copy_both(const char *path, const char *to, const atomic_bool *stop, struct err *err)
{
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	CLEANUP(free_ptr) char *to_wal = mem_printf("%s-wal", to);
	for (int tries = 0; tries < 20; tries++) {
		uint8_t before[32], after[32];
		wal_header(wal, before);
		if (read_copy_file(path, to, stop, err) < 0)
			return -1;
		if (access(wal, F_OK) == 0 && read_copy_file(wal, to_wal, stop, err) < 0)
			return -1;
		wal_header(wal, after);
		if (!memcmp(before, after, sizeof(before)))
			return 0;
	}
	return err_set(err, ERR_BUSY,
		       "session file '%s' changes too fast to copy: attach to the session instead",
		       path);
}

int copy_make(char **dir_out, const char *path, const atomic_bool *stop, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP(free_ptr)
	char *dir = mem_printf("%s/sandglass-read-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!make_known(dir))
		return err_sys(err, "can't create a private directory for a copy of '%s'", path);
	*dir_out = take(&dir);
	CLEANUP(free_ptr) char *to = path_join(*dir_out, COPY_NAME);
	return copy_both(path, to, stop, err);
}

void copy_remove(char **dir)
{
	struct err ignored = ERR_INIT;
	if (*dir && dir_remove(*dir, &ignored) < 0)
		/* a temporary copy that stays is not the reader's failure */
		ignored.code = ERR_NONE;
	if (*dir) {
		pthread_mutex_lock(&read_copy_lock);
		read_copy_forget(*dir);
		pthread_mutex_unlock(&read_copy_lock);
	}
	free_ptr(dir);
}
