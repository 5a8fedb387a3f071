#include "sandbox/view/masks_look.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/secrets.h"
#include "sandbox/workspace/base.h"

enum {
	FILE_LONGEST = 1 << 20,
	BINARY_LOOK = 8 << 10,
	SALT = 16,
	CACHE_MOST = 64 << 20,
	SETTLED_S = 2,
	RULES = 1
};
static const int64_t READ_MOST = 1 << 30;

/* A verdict in the cache: its first byte; the rest names the rules and values under which it was
 * found. */
enum verdict { CLEAN = 0, BINARY = 1, TOKEN = 2, VALUE = 3 };

struct look {
	struct oid_cache *cache;
	struct secrets *values;
	struct object_id tag;
	int64_t looked, reread, unread, bytes;
	int64_t now_s;
	struct buf text;
};

static pthread_mutex_t masks_look_mu = PTHREAD_MUTEX_INITIALIZER;
static struct secrets *masks_look_known; /* what the session holds */

void masks_values(struct secrets *s)
{
	pthread_mutex_lock(&masks_look_mu);
	struct secrets *old = masks_look_known;
	masks_look_known = s;
	pthread_mutex_unlock(&masks_look_mu);
	secrets_free(&old);
}

/* Sixteen random bytes of the user's: so that what the cache holds of values says nothing about
 * them to others. */
static void salt_of_user(uint8_t out[SALT])
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *dir = paths_cache("");
	CLEANUP(free_ptr) char *path = paths_cache("look-salt");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (file_read(path, &b, SALT + 1, &err) == 0 && b.len == SALT) {
		memcpy(out, b.data, SALT);
		return;
	}
	random_bytes(out, SALT);
	if (dir_make(dir, 0700, &err) == 0 && file_write_atomic(path, out, SALT, 0600, &err) < 0)
		log_warn("%s", err.text); /* what is cached now is not found again */
}

struct look *look_begin(int dir)
{
	struct look *l = NEW(struct look);
	struct err err = ERR_INIT;
	struct stat st = { 0 };
	uint8_t salt[SALT + 1];
	struct hash h;
	CLEANUP(free_ptr) char *folder = paths_cache("look");
	pthread_mutex_lock(&masks_look_mu);
	l->values = secrets_copy(masks_look_known);
	pthread_mutex_unlock(&masks_look_mu);
	salt_of_user(salt);
	salt[SALT] = RULES;
	secrets_fingerprint(l->values, salt, sizeof(salt), &h);
	memcpy(l->tag.b, h.b, sizeof(l->tag.b));
	l->now_s = clock_wall_us() / 1000000;
	if (fstat(dir, &st) == 0 && dir_make(folder, 0700, &err) == 0) {
		CLEANUP(free_ptr)
		char *path = mem_printf("%s/%" PRIx64 "-%" PRIx64, folder, (uint64_t)st.st_dev,
					(uint64_t)st.st_ino);
		struct stat was;
		if (stat(path, &was) == 0 && was.st_size > CACHE_MOST)
			unlink(path);
		l->cache = oid_cache_open(path);
	} else {
		l->cache = oid_cache_open(NULL);
	}
	return l;
}

void look_end(struct look **lp, struct masks *counts)
{
	struct look *l = *lp;
	*lp = NULL;
	counts->looked += l->looked;
	counts->reread += l->reread;
	counts->unread += l->unread;
	oid_cache_close(&l->cache);
	secrets_free(&l->values);
	if (l->text.data)
		secret_wipe(l->text.data, l->text.len);
	buf_release(&l->text);
	free(l);
}

bool look_filled(const char *name)
{
	static const char *const filled[] = {
		"node_modules", "target",      ".venv", "venv",	 "__pycache__", ".tox",
		".gradle",	".mypy_cache", ".next", ".nuxt", ".cache",	"bower_components",
		".terraform",	"_build",      "dist",	"build"
	};
	for (size_t i = 0; i < ARRAY_LEN(filled); i++)
		if (!strcmp(name, filled[i]))
			return true;
	return false;
}

static int64_t masks_look_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static enum verdict masks_look_judge(struct look *l)
{
	const char *text = buf_cstr(&l->text);
	size_t len = l->text.len;
	if (memchr(text, 0, len < BINARY_LOOK ? len : BINARY_LOOK))
		return BINARY;
	if (masks_token_form(text, len))
		return TOKEN;
	return secrets_within(l->values, text, len) ? VALUE : CLEAN;
}

static bool masks_look_read_text(struct look *l, int dir, const char *name)
{
	struct err ignored = ERR_INIT;
	CLEANUP(fd_close)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	buf_reset(&l->text);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       fd_read_all(fd, &l->text, FILE_LONGEST, &ignored) == 0;
}

const char *look_into(struct look *l, int dir, const char *name, const struct stat *st,
		      bool tracked, bool filled)
{
	struct object_id kept;
	const struct oid_key key = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
				     masks_look_ns(st->st_mtim), masks_look_ns(st->st_ctim) };
	enum verdict v;
	if (!S_ISREG(st->st_mode) || !st->st_size)
		return NULL;
	if ((filled && !tracked) || st->st_size > FILE_LONGEST) {
		l->unread++;
		return NULL;
	}
	if (oid_cache_get(l->cache, &key, &kept) &&
	    !memcmp(kept.b + 1, l->tag.b + 1, sizeof(kept.b) - 1)) {
		v = (enum verdict)kept.b[0];
	} else if (l->bytes >= READ_MOST || !masks_look_read_text(l, dir, name)) {
		l->unread++;
		return NULL;
	} else {
		l->bytes += (int64_t)l->text.len;
		l->reread++;
		v = masks_look_judge(l);
		kept = l->tag;
		kept.b[0] = (uint8_t)v;
		/* one that has changed just now may change again without a new time */
		if (l->now_s - st->st_mtim.tv_sec > SETTLED_S &&
		    l->now_s - st->st_ctim.tv_sec > SETTLED_S)
			oid_cache_put(l->cache, &key, &kept);
	}
	if (v == BINARY)
		l->unread++;
	else
		l->looked++;
	return v == TOKEN   ? "holds what looks like a live token"
	       : v == VALUE ? "holds a secret of this session"
			    : NULL;
}
