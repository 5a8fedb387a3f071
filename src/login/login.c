#include "login/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { FILE_MAX = 1 << 20 };

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

char *login_path(const char *name, const char *end)
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
