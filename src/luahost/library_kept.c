#include "luahost/library_kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "luahost/library.h"

enum { TEXT_MOST = 4 << 20, LEVELS = 5 /* an archive has three: YEAR/MONTH/DAY */ };

/* DIR of "DIR/file", owned. */
static char *library_dir_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return mem_strdup(strcmp(path, ".") ? "." : "..");
	return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

static char *library_place(const char *dir, const struct hash *hash)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, hash->b, HASH_LEN);
	return mem_printf("%s/library/%s.lua", dir, buf_cstr(&hex));
}

bool library_keep(const char *session, const char *name, const char *text, size_t len,
		  struct hash *out)
{
	struct err none = ERR_INIT;
	struct stat st;
	size_t known_len = 0;
	const char *known = library_find(name, &known_len);
	if (!known || known_len != len || memcmp(known, text, len) != 0)
		return false;
	hash_of(text, len, out);
	CLEANUP(free_ptr) char *dir = library_dir_above(session);
	CLEANUP(free_ptr) char *place = library_place(dir, out);
	if (stat(place, &st) == 0 && st.st_size == (off_t)len)
		return true;
	CLEANUP(free_ptr) char *library = library_dir_above(place);
	return dir_make(library, 0700, &none) == 0 &&
	       file_write_atomic(place, text, len, 0600, &none) == 0;
}

static bool library_text_is(const char *text, size_t len, const struct hash *hash)
{
	struct hash is;
	hash_of(text, len, &is);
	return hash_eq(&is, hash);
}

/* The session may have been moved into an archive, whose library is at its top. */
static bool library_read_kept(const char *session, const struct hash *hash, struct buf *out)
{
	struct err none = ERR_INIT;
	CLEANUP(free_ptr) char *dir = library_dir_above(session);
	for (int level = 0; level < LEVELS; level++) {
		CLEANUP(free_ptr) char *place = library_place(dir, hash);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		if (file_read(place, &text, TEXT_MOST, &none) == 0 &&
		    library_text_is(buf_cstr(&text), text.len, hash)) {
			buf_append(out, buf_cstr(&text), text.len);
			return true;
		}
		char *above = library_dir_above(dir);
		free(dir);
		dir = above;
	}
	return false;
}

int library_kept(const char *session, const char *name, const struct hash *hash, struct buf *out,
		 struct err *err)
{
	size_t len = 0;
	const char *known = library_find(name, &len);
	if (known && library_text_is(known, len, hash)) {
		buf_append(out, known, len);
		return 0;
	}
	if (library_read_kept(session, hash, out))
		return 0;
	CLEANUP(free_ptr) char *dir = library_dir_above(session);
	CLEANUP(free_ptr) char *place = library_place(dir, hash);
	return err_set(
		err, ERR_NOENT,
		"module '%s' had another text at that event: copy '%s' from the host that recorded it",
		name, place);
}
