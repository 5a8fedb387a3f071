#include "secrets/trust.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

enum { TRUST_MAX = 4 << 20 };

/* "HASH  /full/path\n" for the file as it is now. */
static int trust_line_of(const char *path, struct buf *line, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char full[PATH_MAX];
	struct hash h;
	if (!realpath(path, full))
		return err_sys(err, "can't open '%s'", path);
	if (file_read(full, &text, TRUST_MAX, err) < 0)
		return -1;
	hash_of(buf_cstr(&text), text.len, &h);
	hex_append(line, h.b, HASH_LEN);
	buf_printf(line, "  %s\n", full);
	return 0;
}

static void trust_read_all(struct buf *out)
{
	CLEANUP(free_ptr) char *path = paths_state("trusted");
	struct err err = ERR_INIT;
	if (file_read(path, out, TRUST_MAX, &err) < 0)
		buf_reset(out);
}

bool trusted_file(const char *path)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	struct err err = ERR_INIT;
	if (trust_line_of(path, &line, &err) < 0)
		return false;
	trust_read_all(&all);
	return all.len && memmem(all.data, all.len, line.data, line.len);
}

static void text_line(const char *path, const void *bytes, size_t len, struct buf *line)
{
	struct hash h;
	hash_of(len ? bytes : "", len, &h);
	hex_append(line, h.b, HASH_LEN);
	buf_printf(line, "  %s\n", path);
}

enum trust_state trust_of_text(const char *path, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	enum { NAME_AT = 2 * HASH_LEN };
	text_line(path, bytes, len, &line);
	trust_read_all(&all);
	if (!all.len || strchr(path, '\n'))
		return TRUST_NONE;
	if (memmem(all.data, all.len, line.data, line.len))
		return TRUST_YES;
	return memmem(all.data, all.len, line.data + NAME_AT, line.len - NAME_AT) ? TRUST_CHANGED
										  : TRUST_NONE;
}

int trust_text(const char *path, const void *bytes, size_t len, struct err *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	CLEANUP(free_ptr) char *file = paths_state("trusted");
	CLEANUP(free_ptr) char *dir = paths_state("");
	if (strchr(path, '\n'))
		return err_set(err, ERR_INVALID, "can't trust a path with a line break");
	if (trust_of_text(path, bytes, len) == TRUST_YES)
		return 0;
	trust_read_all(&all);
	text_line(path, bytes, len, &all);
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	return file_write_atomic(file, all.data, all.len, 0600, err);
}

int trust_file(const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	CLEANUP(free_ptr) char *file = paths_state("trusted");
	CLEANUP(free_ptr) char *dir = paths_state("");
	if (trusted_file(path))
		return 0;
	trust_read_all(&all);
	if (trust_line_of(path, &all, err) < 0 || dir_make(dir, 0700, err) < 0)
		return -1;
	return file_write_atomic(file, all.data, all.len, 0600, err);
}
