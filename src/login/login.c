#include "login/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"

enum { FILE_MAX = 1 << 20, SOON_S = 300, AGAIN_S = 60, REFRESH_S = 60 };

const struct login_kind *login_kind_at(size_t i)
{
	return i < login_kinds_nr ? &login_kinds[i] : NULL;
}

const struct login_kind *login_kind_find(const char *name)
{
	for (size_t i = 0; i < login_kinds_nr; i++)
		if (!strcmp(login_kinds[i].name, name))
			return &login_kinds[i];
	return NULL;
}

void login_token_wipe(struct login_token *t)
{
	if (t->token)
		explicit_bzero(t->token, strlen(t->token));
	free(t->token);
	*t = (struct login_token){ 0 };
}

/* --- what was added --- */

static char *login_path(const char *name, const char *end)
{
	CLEANUP(free_ptr) char *tail = mem_printf("logins/%s%s", name, end);
	return paths_data(tail);
}

json_t *login_added(const char *name)
{
	CLEANUP(free_ptr) char *path = login_path(name, ".json");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (!login_kind_find(name) || file_read(path, &text, FILE_MAX, &none) < 0)
		return NULL;
	json_t *login = json_parse(text.data, text.len, path, &none);
	if (json_is_object(login))
		return login;
	json_decref(login);
	return NULL;
}

int login_keep(const char *name, const json_t *login, struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_data("logins");
	CLEANUP(free_ptr) char *path = login_path(name, ".json");
	CLEANUP(free_ptr) char *text = json_dump_str(login);
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	return file_write_atomic(path, text, strlen(text), 0600, err);
}

int login_remove(const char *name, struct err *err)
{
	CLEANUP(free_ptr) char *path = login_path(name, ".json");
	CLEANUP(free_ptr) char *failed = login_path(name, ".failed");
	if (unlink(path) < 0)
		return errno == ENOENT ? err_set(err, ERR_NOENT, "login '%s' not found", name)
				       : err_sys(err, "can't remove '%s'", path);
	unlink(failed);
	return 0;
}

static char *vendor_file(const struct login_kind *k, const char *file)
{
	const char *home = getenv("HOME");
	return file ? mem_strdup(file) : path_join(home ? home : "/", k->file);
}

static json_t *read_json(const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(path, &text, FILE_MAX, err) < 0)
		return NULL;
	json_t *o = json_parse(text.data, text.len, path, err);
	explicit_bzero(text.data, text.len);
	return o;
}

int login_add(const struct login_kind *k, const char *file, const char *secret, json_t **out,
	      struct err *err)
{
	CLEANUP(free_ptr) char *path = vendor_file(k, file);
	json_t *login = json_object();
	struct login_token t = { 0 };
	json_put_str(login, "name", k->name);
	json_put_str(login, "file", secret ? NULL : path);
	json_put_str(login, "secret", secret);
	if (!secret) {
		CLEANUP(json_release) json_t *own = read_json(path, err);
		if (!own || login_read(login, &t, err) < 0) {
			json_decref(login);
			return err_wrap(err, "login '%s'", k->name);
		}
		login_token_wipe(&t);
		k->describe(own, login);
	}
	*out = login;
	return 0;
}

/* --- the token --- */

int login_read(const json_t *login, struct login_token *out, struct err *err)
{
	const char *path = json_str(login, "file", "");
	CLEANUP(json_release) json_t *own = read_json(path, err);
	const struct login_kind *k = login_kind_find(json_str(login, "name", ""));
	int64_t expires_us = 0;
	const char *token = own && k ? k->token(own, &expires_us) : "";
	*out = (struct login_token){ 0 };
	if (!own)
		return -1;
	if (!*token)
		return err_set(err, ERR_DENIED, "'%s' holds no login", path);
	*out = (struct login_token){ .token = mem_strdup(token), .expires_us = expires_us };
	return 0;
}

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
	return stat(path, &st) == 0 && time(NULL) - st.st_mtime < AGAIN_S &&
	       file_read(path, &was, FILE_MAX, &none) == 0 &&
	       !strcmp(buf_cstr(&was), buf_cstr(&hex));
}

static void note_failed(const char *name, const struct login_token *t)
{
	CLEANUP(free_ptr) char *path = login_path(name, ".failed");
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct err none = ERR_INIT;
	token_hash(t->token, &hex);
	if (file_write_atomic(path, hex.data, hex.len, 0600, &none) < 0)
		unlink(path);
}

/* The vendor's program, with its own locks; its output is dropped. */
static void run_refresh(const struct login_kind *k)
{
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		alarm(REFRESH_S);
		execvp(k->refresh[0], (char *const *)(uintptr_t)k->refresh);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int login_gone(const struct login_kind *k, struct login_token *t, struct err *err)
{
	login_token_wipe(t);
	return err_set(err, ERR_DENIED, "login '%s' is no longer valid: run '%s' on the host",
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
		run_refresh(k);
		if (login_read(login, out, err) < 0) {
			note_failed(k->name, &before);
			login_token_wipe(&before);
			return login_gone(k, out, err);
		}
		if (!token_serves(out, refused))
			note_failed(k->name, &before);
		login_token_wipe(&before);
	}
	return token_lives(out, refused) ? 0 : login_gone(k, out, err);
}

int login_fresh(const json_t *login, const char *refused, struct login_token *out, struct err *err)
{
	const struct login_kind *k = login_kind_find(json_str(login, "name", ""));
	if (!k)
		return err_set(err, ERR_INVALID, "unknown login '%s'", json_str(login, "name", ""));
	if (login_read(login, out, err) == 0 && token_serves(out, refused))
		return 0;
	login_token_wipe(out);
	CLEANUP(free_ptr) char *path = login_path(k->name, ".lock");
	CLEANUP(fd_close) int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_sys(err, "can't open '%s'", path);
	while (flock(lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(err, "can't lock '%s'", path);
	*err = ERR_INIT;
	return refresh_locked(k, login, refused, out, err);
}
