#include "sandbox/workspace/hostplace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/failpoint.h"
#include "base/hash.h"

static char hostplace_salt[HOSTPLACE_TOKEN];

void hostplace_token(char out[HOSTPLACE_TOKEN])
{
	uint64_t salt;
	random_bytes(&salt, sizeof(salt));
	snprintf(out, HOSTPLACE_TOKEN, "%016llx", (unsigned long long)salt);
}

void hostplace_use(const char *token)
{
	snprintf(hostplace_salt, sizeof(hostplace_salt), "%s", token ? token : "");
}

void hostplace_temp(const char *path, size_t len, bool fresh, char out[HOSTPLACE_TEMP])
{
	char token[HOSTPLACE_TOKEN];
	struct hash h;
	CLEANUP(buf_release) struct buf text = BUF_INIT, hex = BUF_INIT;
	hostplace_token(token);
	buf_printf(&text, "%s/", *hostplace_salt ? hostplace_salt : token);
	buf_append(&text, path, len);
	hash_of(text.data, text.len, &h);
	hex_append(&hex, h.b, 8);
	snprintf(out, HOSTPLACE_TEMP, ".sandglass-%.16s%s", buf_cstr(&hex), fresh ? ".new" : "");
}

bool hostplace_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool hostplace_holds(int dir, const char *name, const struct stat *was)
{
	struct stat now = { 0 };
	return fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) < 0 ? was->st_ino == 0
								 : hostplace_same(&now, was);
}

static int place_taken(struct err *err)
{
	return err_set(err, ERR_BUSY, "was changed by another process just now; try again");
}

static bool not_supported(void)
{
	return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

/* After a failure, the file that was to be put there goes. */
static int put_failed(int dir, const char *temp, int rc)
{
	if (rc < 0)
		(void)unlinkat(dir, temp, 0);
	return rc;
}

/* Without an atomic exchange, the look comes just before the rename. */
static int put_plainly(int dir, const char *temp, const char *name, const struct stat *was,
		       struct err *err)
{
	if (!hostplace_holds(dir, name, was))
		return place_taken(err);
	return renameat(dir, temp, dir, name) < 0 ? err_sys(err, "can't write") : 0;
}

static int put_new(int dir, const char *temp, const char *name, const struct stat *was,
		   struct err *err)
{
	if (renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST)
		return place_taken(err);
	return not_supported() ? put_plainly(dir, temp, name, was, err)
			       : err_sys(err, "can't write");
}

/* The other process's version, now @temp, returns to its place. */
static int put_back(int dir, const char *temp, const char *name, struct err *err)
{
	if (renameat2(dir, temp, dir, name, RENAME_EXCHANGE) < 0)
		return err_sys(err, "was changed by another process just now; its version is '%s'",
			       temp);
	return put_failed(dir, temp, place_taken(err));
}

static int put_over(int dir, const char *temp, const char *name, const struct stat *was,
		    struct err *err)
{
	if (renameat2(dir, temp, dir, name, RENAME_EXCHANGE) < 0) {
		int rc = errno == ENOENT   ? place_taken(err)
			 : not_supported() ? put_plainly(dir, temp, name, was, err)
					   : err_sys(err, "can't write");
		return put_failed(dir, temp, rc);
	}
	failpoint_hit("merge-exchanged");
	if (!hostplace_holds(dir, temp, was))
		return put_back(dir, temp, name, err);
	return unlinkat(dir, temp, 0) < 0 ? err_sys(err, "can't remove the old version") : 0;
}

int hostplace_put(int dir, const char *temp, const char *name, const struct stat *was,
		  struct err *err)
{
	return was->st_ino ? put_over(dir, temp, name, was, err)
			   : put_failed(dir, temp, put_new(dir, temp, name, was, err));
}

int hostplace_return(int dir, const char *temp, const char *name, const struct stat *was)
{
	if (!was->st_ino)
		return renameat2(dir, temp, dir, name, RENAME_NOREPLACE);
	if (!hostplace_holds(dir, name, was) ||
	    renameat2(dir, temp, dir, name, RENAME_EXCHANGE) < 0)
		return -1;
	if (hostplace_holds(dir, temp, was))
		return unlinkat(dir, temp, 0);
	(void)renameat2(dir, temp, dir, name, RENAME_EXCHANGE);
	return -1;
}

int hostplace_remove(int dir, const char *temp, const char *name, const struct stat *was,
		     struct err *err)
{
	if (renameat2(dir, name, dir, temp, RENAME_NOREPLACE) < 0) {
		if (errno == ENOENT)
			return 0;
		if (!not_supported())
			return err_sys(err, "can't remove");
		if (!hostplace_holds(dir, name, was))
			return place_taken(err);
		return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? err_sys(err, "can't remove")
								     : 0;
	}
	failpoint_hit("merge-moved");
	if (hostplace_holds(dir, temp, was))
		return unlinkat(dir, temp, 0) < 0 ? err_sys(err, "can't remove") : 0;
	if (renameat2(dir, temp, dir, name, RENAME_NOREPLACE) < 0)
		return err_sys(err, "was changed by another process just now; its version is '%s'",
			       temp);
	return place_taken(err);
}
