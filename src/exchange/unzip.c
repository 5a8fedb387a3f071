#include "exchange/unzip.h"

#include <archive.h>
#include <archive_entry.h>

static const char *unzip_reason(struct archive *a)
{
	const char *why = archive_error_string(a);
	return why ? why : "no reason";
}

static int unzip_read_file(struct archive *a, size_t max, struct buf *out, struct err *err)
{
	for (;;) {
		buf_reserve(out, 64 << 10);
		la_ssize_t n = archive_read_data(a, out->data + out->len, 64 << 10);
		if (n < 0)
			return err_set(err, ERR_PARSE, "%s", unzip_reason(a));
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		if (out->len > max)
			return err_set(err, ERR_FULL, "larger than %zu MB", max >> 20);
	}
}

static void unzip_one(struct archive *a, const struct unzip *u, const char *name)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct err err = ERR_INIT;
	bool ok = unzip_read_file(a, u->max, &bytes, &err) == 0;
	u->file(u->self, name, ok ? buf_cstr(&bytes) : NULL, ok ? bytes.len : 0, ok ? NULL : &err);
}

static int unzip_each_entry(struct archive *a, const struct unzip *u, struct err *err)
{
	struct archive_entry *e;
	int rc;
	while ((rc = archive_read_next_header(a, &e)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		const char *utf8 = archive_entry_pathname_utf8(e),
			   *name = utf8 ? utf8 : archive_entry_pathname(e);
		if (name && u->wanted(u->self, name))
			unzip_one(a, u, name);
	}
	return rc == ARCHIVE_EOF
		       ? 0
		       : err_set(err, ERR_PARSE, "can't read the archive: %s", unzip_reason(a));
}

int unzip_each(FILE *in, const struct unzip *u, struct err *err)
{
	struct archive *a = archive_read_new();
	rewind(in);
	archive_read_support_format_zip(a);
	int rc = archive_read_open_FILE(a, in) == ARCHIVE_OK
			 ? unzip_each_entry(a, u, err)
			 : err_set(err, ERR_PARSE, "can't read the archive: %s", unzip_reason(a));
	archive_read_free(a);
	return rc;
}
