#include "cli/lib/template.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "luahost/library.h"
#include "base/fd.h"
#include "base/mem.h"

bool template_good_name(const char *name)
{
	static const char fine[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	return *name && *name != '-' && strspn(name, fine) == strlen(name) && strlen(name) <= 64;
}

static void put_caps(struct buf *out, const char *name)
{
	for (const char *p = name; *p; p++)
		buf_putc(out, (char)(*p == '-' ? '_' : toupper((unsigned char)*p)));
}

int template_fill(struct buf *out, const char *template, const char *name, struct err *err)
{
	static const char plain[] = "@NAME@", caps[] = "@CAPS@"; /* of one length */
	size_t len;
	CLEANUP(free_ptr) char *key = mem_printf("templates/%s.lua", template);
	const char *text = library_file(key, &len), *end = text ? text + len : NULL;
	if (!text)
		return err_set(err, ERR_NOENT, "template '%s' not found in this build", template);
	for (const char *at; text < end; text = at) {
		at = memchr(text, '@', (size_t)(end - text));
		buf_append(out, text, (size_t)((at ? at : end) - text));
		if (!at)
			break;
		size_t left = (size_t)(end - at), n = sizeof(plain) - 1;
		bool is_plain = left >= n && memcmp(at, plain, n) == 0,
		     is_caps = left >= n && memcmp(at, caps, n) == 0;
		if (is_plain)
			buf_puts(out, name);
		else if (is_caps)
			put_caps(out, name);
		else
			buf_putc(out, '@');
		at += is_plain || is_caps ? n : 1;
	}
	return 0;
}

int template_write(const char *path, const struct buf *text, bool force, struct err *err)
{
	if (force)
		return file_write_atomic(path, text->data, text->len, 0644, err);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_EXISTS, "'%s' already exists\nOverwrite it with --force.",
			       path);
	if (fd < 0)
		return err_sys(err, "can't write '%s'", path);
	return fd_write_all(fd, text->data, text->len, err);
}
