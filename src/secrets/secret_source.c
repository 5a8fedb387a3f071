#include "secrets/secret_source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "record/secrets.h"

enum { COMMAND_US = 30000000, NAME_LONGEST = 100, AMBIENT_SHORTEST = 12 };

extern char **environ;

bool secret_name_ok(const char *name)
{
	size_t n = strlen(name);
	if (!n || n > NAME_LONGEST || *name == '.' || *name == '-')
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
			return false;
	return true;
}

void secret_wipe_buf(struct buf *b)
{
	if (b->data)
		secret_wipe(b->data, b->len);
	buf_release(b);
}

const char *secret_kind_name(enum secret_kind k)
{
	switch (k) {
	case SECRET_ENV:
		return "env";
	case SECRET_FILE:
		return "file";
	case SECRET_STORE:
		return "kept";
	case SECRET_COMMAND:
		return "command";
	}
	return "?";
}

void secret_source_release(struct secret_source *s)
{
	free(s->what);
	strv_release(&s->argv);
	*s = (struct secret_source){ 0 };
}

static char *secret_source_store_path(const char *name)
{
	CLEANUP(free_ptr) char *tail = mem_printf("secrets%s%s", *name ? "/" : "", name);
	return paths_data(tail);
}

/* --- finding ---------------------------------------------------------------------------------- */

static int from_conf(const json_t *entry, const char *name, struct secret_source *out,
		     struct err *err)
{
	const char *text = json_is_string(entry) ? json_string_value(entry) : "";
	*out = (struct secret_source){ 0 };
	if (!strncmp(text, "env:", 4) && text[4]) {
		out->kind = SECRET_ENV;
		out->what = mem_strdup(text + 4);
		return 0;
	}
	if (!strncmp(text, "file:", 5) && text[5]) {
		const char *home = getenv("HOME");
		out->kind = SECRET_FILE;
		out->what = !strncmp(text + 5, "~/", 2) && home ? path_join(home, text + 7)
								: mem_strdup(text + 5);
		return 0;
	}
	out->kind = SECRET_COMMAND;
	if (json_is_array(entry) && json_get_argv(entry, &out->argv) && out->argv.nr)
		return 0;
	secret_source_release(out);
	return err_set(
		err, ERR_INVALID,
		"configuration: secrets.%s: expected \"env:VARIABLE\", \"file:PATH\", or a list (a "
		"command and its arguments)",
		name);
}

int secret_find(const json_t *conf, const char *name, struct secret_source *out, struct err *err)
{
	if (!secret_name_ok(name))
		return err_set(
			err, ERR_INVALID,
			"invalid name of a secret: expected letters, digits, '_', '-', and '.'");
	const json_t *entry = json_object_get(conf, name);
	if (entry)
		return from_conf(entry, name, out, err);
	char *path = secret_source_store_path(name);
	if (access(path, F_OK) == 0) {
		*out = (struct secret_source){ .kind = SECRET_STORE, .what = path };
		return 0;
	}
	free(path);
	if (getenv(name) && *getenv(name)) {
		*out = (struct secret_source){ .kind = SECRET_ENV, .what = mem_strdup(name) };
		return 0;
	}
	return err_set(
		err, ERR_NOENT,
		"secret '%s' not found: run 'sandglass secret set %s', set the variable %s, or name "
		"a source in the configuration (secrets.%s)",
		name, name, name, name);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int secret_source_read_file(const char *path, struct buf *out, struct err *err)
{
	struct stat st;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a file", path);
	if (st.st_mode & 077)
		return err_set(err, ERR_INVALID, "'%s' can be read by others; run chmod 600 on it",
			       path);
	return fd_read_all(fd, out, SECRET_LONGEST + 2, err);
}

static int secret_source_drain(int fd, struct buf *out, int64_t until, struct err *err)
{
	char bytes[4096];
	for (;;) {
		int64_t left = until - clock_mono_us();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / 1000 + 1));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_TIMEOUT, "not ended within %d s",
				       COMMAND_US / 1000000);
		ssize_t got = read(fd, bytes, sizeof(bytes));
		if (got < 0)
			return err_sys(err, "can't read its output");
		if (!got)
			return 0;
		buf_append(out, bytes, (size_t)got);
		secret_wipe(bytes, (size_t)got);
		if (out->len > SECRET_LONGEST + 2)
			return err_set(err, ERR_FULL, "its output exceeds %d bytes",
				       SECRET_LONGEST);
	}
}

/* Its standard error goes nowhere: it might hold the value. */
static int secret_source_run(const struct strv *argv, struct buf *out, struct err *err)
{
	int pipe_fd[2], pid, pidfd, status = -1;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	struct strv full = STRV_INIT;
	strv_push(&full, "env");
	strv_push(&full, "--");
	for (size_t i = 0; i < argv->nr; i++)
		strv_push(&full, argv->item[i]);
	int fds[3] = { -1, pipe_fd[1], -1 };
	int rc = proc_spawn("/usr/bin/env", full.item, environ, fds, 3, &pid, &pidfd, err);
	strv_release(&full);
	close(pipe_fd[1]);
	if (rc == 0) {
		rc = secret_source_drain(pipe_fd[0], out, clock_mono_us() + COMMAND_US, err);
		if (rc < 0)
			syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		struct err ignored = ERR_INIT;
		if (proc_reap(pidfd, &status, rc < 0 ? &ignored : err) < 0)
			rc = -1;
		else if (rc == 0 && status != 0)
			rc = err_set(err, ERR_INVALID, "exit status %d", status);
		close(pidfd);
	}
	close(pipe_fd[0]);
	return rc < 0 ? err_wrap(err, "command '%s'", argv->item[0]) : 0;
}

int secret_read(const struct secret_source *s, struct buf *out, struct err *err)
{
	CLEANUP(secret_wipe_buf) struct buf b = BUF_INIT;
	int rc = 0;
	switch (s->kind) {
	case SECRET_ENV:
		if (!getenv(s->what))
			return err_set(err, ERR_NOENT, "the environment variable %s is not set",
				       s->what);
		buf_puts(&b, getenv(s->what));
		break;
	case SECRET_FILE:
	case SECRET_STORE:
		rc = secret_source_read_file(s->what, &b, err);
		break;
	case SECRET_COMMAND:
		rc = secret_source_run(&s->argv, &b, err);
		break;
	}
	if (rc < 0)
		return -1;
	if (s->kind != SECRET_ENV && b.len && b.data[b.len - 1] == '\n')
		b.len -= b.len > 1 && b.data[b.len - 2] == '\r' ? 2 : 1;
	if (b.len < SECRET_SHORTEST || b.len > SECRET_LONGEST)
		return err_set(err, ERR_INVALID, "its value has %zu bytes; expected %d to %d",
			       b.len, SECRET_SHORTEST, SECRET_LONGEST);
	buf_append(out, b.data, b.len);
	return 0;
}

/* --- what is kept ----------------------------------------------------------------------------- */

int secret_store_set(const char *name, const void *value, size_t len, struct err *err)
{
	if (!secret_name_ok(name))
		return err_set(
			err, ERR_INVALID,
			"invalid name of a secret: expected letters, digits, '_', '-', and '.', got '%s'",
			name);
	if (len < SECRET_SHORTEST || len > SECRET_LONGEST)
		return err_set(err, ERR_INVALID, "the value has %zu bytes; expected %d to %d", len,
			       SECRET_SHORTEST, SECRET_LONGEST);
	CLEANUP(free_ptr) char *dir = secret_source_store_path("");
	CLEANUP(free_ptr) char *path = secret_source_store_path(name);
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	if (chmod(dir, 0700) < 0)
		return err_sys(err, "can't restrict '%s' to its owner", dir);
	return file_write_atomic(path, value, len, 0600, err);
}

int secret_store_remove(const char *name, struct err *err)
{
	if (!secret_name_ok(name))
		return err_set(err, ERR_INVALID, "invalid name of a secret: '%s'", name);
	CLEANUP(free_ptr) char *path = secret_source_store_path(name);
	if (unlink(path) < 0)
		return errno == ENOENT ? err_set(err, ERR_NOENT, "secret '%s' not found", name)
				       : err_sys(err, "can't remove '%s'", path);
	return 0;
}

static int secret_source_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void secret_store_list(struct strv *out)
{
	CLEANUP(free_ptr) char *dir = secret_source_store_path("");
	DIR *d = opendir(dir);
	const struct dirent *e;
	while (d && (e = readdir(d)))
		if (secret_name_ok(e->d_name))
			strv_push(out, e->d_name);
	if (d)
		closedir(d);
	if (out->nr)
		qsort(out->item, out->nr, sizeof(*out->item), secret_source_by_name);
}

void secret_ambient(struct strv *out)
{
	static const char *const tails[] = { "_API_KEY",     "_TOKEN",	     "_SECRET",
					     "_PASSWORD",    "_ACCESS_KEY",  "_SECRET_KEY",
					     "_PRIVATE_KEY", "_CREDENTIALS", "_APIKEY" };
	for (char **e = environ; *e; e++) {
		const char *eq = strchr(*e, '=');
		size_t n = eq ? (size_t)(eq - *e) : 0;
		/* a path is not a secret */
		if (!eq || strlen(eq + 1) < AMBIENT_SHORTEST || eq[1] == '/')
			continue;
		for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
			size_t t = strlen(tails[i]);
			if (n > t && !strncmp(eq - t, tails[i], t)) {
				CLEANUP(free_ptr) char *name = mem_strndup(*e, n);
				if (secret_name_ok(name))
					strv_push(out, name);
				break;
			}
		}
	}
}
