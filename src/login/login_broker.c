/* The process that hands a token to a supervisor. Part of login; login.h, rule 4. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "login/login.h"
#include "login/login_lockdown.h"

enum { SOON_S = 300, AGAIN_S = 60, REFRESH_S = 60, HEX_LEN = 2 * HASH_LEN };

/* What the confined process may ask of its helper: a verb, and the hash of a token. */
struct errand {
	char verb; /* one of: */
	char hex[HEX_LEN];
};
enum { ERRAND_REFRESH = 'r', ERRAND_FAILED = 'f' };

static void token_hash(const char *token, struct buf *hex)
{
	struct hash h;
	hash_of(token, strlen(token), &h);
	buf_reset(hex);
	hex_append(hex, h.b, sizeof(h.b));
}

static bool token_serves(const struct login_token *t, const char *refused)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	token_hash(t->token, &hex);
	bool soon = t->expires_us && t->expires_us < clock_wall_us() + SOON_S * INT64_C(1000000);
	return !soon && !(refused && !strcmp(refused, buf_cstr(&hex)));
}

/* A token that the vendor has not renewed yet may still be good for its last minutes. */
static bool token_lives(const struct login_token *t, const char *refused)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	token_hash(t->token, &hex);
	return (!t->expires_us || t->expires_us > clock_wall_us()) &&
	       !(refused && !strcmp(refused, buf_cstr(&hex)));
}

static bool failed_lately(const char *name, const struct login_token *t)
{
	CLEANUP(free_ptr) char *path = login_path(name, ".failed");
	CLEANUP(buf_release) struct buf was = BUF_INIT, hex = BUF_INIT;
	struct err none = ERR_INIT;
	struct stat st;
	token_hash(t->token, &hex);
	return stat(path, &st) == 0 && clock_wall_us() / 1000000 - (int64_t)st.st_mtime < AGAIN_S &&
	       file_read(path, &was, HEX_LEN, &none) == 0 &&
	       !strcmp(buf_cstr(&was), buf_cstr(&hex));
}

/* --- the helper: it has no filter, and parses nothing but an errand --- */

static void note_failed(const char *name, const char hex[HEX_LEN])
{
	CLEANUP(free_ptr) char *path = login_path(name, ".failed");
	struct err none = ERR_INIT;
	if (file_write_atomic(path, hex, HEX_LEN, 0600, &none) < 0)
		unlink(path);
}

/* The vendor's program, with its own locks; its output is dropped. The helper's standard output is
 * closed, so @null may get that number and must survive exec: else the first file that the program
 * opens would receive its output. */
static void run_refresh(const struct login_kind *k)
{
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		if (null > 2)
			close(null);
		signal(SIGPIPE, SIG_DFL);
		alarm(REFRESH_S);
		execvp(k->refresh[0], (char *const *)(uintptr_t)k->refresh);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Until the other end is closed. A refresh is carried to its end even if nobody waits for it. */
static void helper_serve(const struct login_kind *k, int fd)
{
	struct errand e;
	struct err none = ERR_INIT;
	while (fd_read_full(fd, &e, sizeof(e), &none) == 0) {
		if (e.verb == ERRAND_REFRESH && k->refresh)
			run_refresh(k);
		else if (e.verb == ERRAND_FAILED)
			note_failed(k->name, e.hex);
		if (fd_write_all(fd, "", 1, &none) < 0)
			break;
	}
}

static int helper_start(const struct login_kind *k, int out, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "can't make a socket");
	pid_t pid = fork();
	if (pid == 0) {
		close(out); /* its end is the end of the answer */
		close(pair[0]);
		helper_serve(k, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_sys(err, "can't start the helper");
	}
	return pair[0];
}

/* --- the confined process --- */

static void send_errand(int helper, char verb, const struct login_token *about)
{
	struct errand e = { .verb = verb };
	struct err none = ERR_INIT;
	char done;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	token_hash(about->token, &hex);
	memcpy(e.hex, hex.data, HEX_LEN);
	if (fd_write_all(helper, &e, sizeof(e), &none) < 0 ||
	    fd_read_full(helper, &done, 1, &none) < 0)
		return; /* without a helper the token stays what it was */
}

static int login_gone(const struct login_kind *k, struct login_token *t, struct err *err)
{
	login_token_wipe(t);
	return err_set(err, ERR_DENIED, "login '%s' expired or can't be read; run '%s' on the host",
		       k->name, k->again);
}

static int refresh_locked(const struct login_kind *k, const json_t *login, const char *refused,
			  struct login_token *out, struct err *err)
{
	if (login_read(login, out, err) < 0)
		return login_gone(k, out, err);
	if (token_serves(out, refused))
		return 0;
	if (k->refresh && !failed_lately(k->name, out)) {
		struct login_token before = *out;
		*out = (struct login_token){ 0 };
		send_errand(LOGIN_HELPER_FD, ERRAND_REFRESH, &before);
		bool read = login_read(login, out, err) == 0;
		if (!read || !token_serves(out, refused))
			send_errand(LOGIN_HELPER_FD, ERRAND_FAILED, &before);
		login_token_wipe(&before);
		if (!read)
			return login_gone(k, out, err);
	}
	return token_lives(out, refused) ? 0 : login_gone(k, out, err);
}

/* A token that is good for some minutes. Waits for the lock and for a refresh. */
static int login_fresh(const struct login_kind *k, const json_t *login, const char *refused,
		       struct login_token *out, struct err *err)
{
	if (login_read(login, out, err) == 0 && token_serves(out, refused))
		return 0;
	login_token_wipe(out);
	while (flock(LOGIN_LOCK_FD, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(err, "can't lock login '%s'", k->name);
	*err = ERR_INIT;
	return refresh_locked(k, login, refused, out, err);
}

/* Ends the process. @t: NULL with an error. */
static void login_answer(struct login_token *t, const char *error)
{
	CLEANUP(json_release) json_t *said = json_object();
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	struct err none = ERR_INIT;
	json_put_str(said, "error", error);
	if (t) {
		json_put_str(said, "token", t->token);
		json_put_int(said, "expires_us", t->expires_us);
		login_token_wipe(t);
	}
	json_dump_buf(said, &line);
	buf_putc(&line, '\n');
	bool sent = fd_write_all(LOGIN_OUT_FD, line.data, line.len, &none) == 0;
	explicit_bzero(line.data, line.len);
	_exit(sent ? 0 : 1);
}

/* Puts the three descriptors where the filter's process has them. */
static int place_descriptors(int out, int helper, int lock, struct err *err)
{
	const int from[] = { out, helper, lock },
		  to[] = { LOGIN_OUT_FD, LOGIN_HELPER_FD, LOGIN_LOCK_FD };
	int high[ARRAY_LEN(from)];
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, LOGIN_LAST_FD + 1)) < 0)
			return err_sys(err, "can't copy a descriptor");
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		if (dup2(high[i], to[i]) < 0)
			return err_sys(err, "can't copy a descriptor");
	return 0;
}

int login_broker(const char *name, const char *refused, int out, struct err *err)
{
	const struct login_kind *k = login_kind_find(name);
	CLEANUP(json_release) json_t *login = login_added(name);
	if (!k || !login) /* there is nothing to read, and perhaps no directory for a lock */
		return err_set(err, ERR_NOENT,
			       "login '%s' not found\nRun 'sandglass login add %s'.", name, name);
	CLEANUP(free_ptr) char *path = login_path(name, ".lock");
	int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_sys(err, "can't open '%s'", path);
	signal(SIGPIPE, SIG_IGN);
	int helper = helper_start(k, out, err);
	if (helper < 0 || place_descriptors(out, helper, lock, err) < 0)
		return -1;
	struct login_token t = { 0 };
	if (login_lockdown_enter(err) < 0 || login_fresh(k, login, refused, &t, err) < 0)
		login_answer(NULL, err->text);
	else
		login_answer(&t, NULL);
	return 0;
}
