#include "base/text/charset.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

#include "base/text/utf8.h"

static const char charset_bad[] = "\xef\xbf\xbd";

/* As the web calls it, as iconv does. Latin 1 and ASCII are windows-1252 there. */
static const char *const charset_names[][2] = {
	{ "utf-8", "UTF-8" },
	{ "utf8", "UTF-8" },
	{ "us-ascii", "CP1252" },
	{ "ascii", "CP1252" },
	{ "iso-8859-1", "CP1252" },
	{ "latin1", "CP1252" },
	{ "windows-1252", "CP1252" },
	{ "cp1252", "CP1252" },
	{ "windows-1250", "CP1250" },
	{ "windows-1251", "CP1251" },
	{ "windows-1253", "CP1253" },
	{ "windows-1254", "CP1254" },
	{ "windows-1255", "CP1255" },
	{ "windows-1256", "CP1256" },
	{ "windows-1257", "CP1257" },
	{ "windows-1258", "CP1258" },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "iso-8859-3", "ISO-8859-3" },
	{ "iso-8859-4", "ISO-8859-4" },
	{ "iso-8859-5", "ISO-8859-5" },
	{ "iso-8859-6", "ISO-8859-6" },
	{ "iso-8859-7", "ISO-8859-7" },
	{ "iso-8859-8", "ISO-8859-8" },
	{ "iso-8859-9", "CP1254" },
	{ "iso-8859-10", "ISO-8859-10" },
	{ "iso-8859-13", "ISO-8859-13" },
	{ "iso-8859-14", "ISO-8859-14" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "iso-8859-16", "ISO-8859-16" },
	{ "koi8-r", "KOI8-R" },
	{ "koi8-u", "KOI8-U" },
	{ "gbk", "GBK" },
	{ "gb2312", "GBK" },
	{ "gb18030", "GB18030" },
	{ "big5", "BIG5" },
	{ "shift_jis", "CP932" },
	{ "sjis", "CP932" },
	{ "euc-jp", "EUC-JP" },
	{ "euc-kr", "CP949" },
	{ "utf-16", "UTF-16LE" },
	{ "utf-16le", "UTF-16LE" },
	{ "utf-16be", "UTF-16BE" },
};

static const char *charset_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(charset_names); i++)
		if (!strcasecmp(charset_names[i][0], name))
			return charset_names[i][1];
	return NULL;
}

bool charset_known(const char *name)
{
	return charset_find(name) != NULL;
}

static void from_utf8(const char *p, size_t len, struct buf *out)
{
	while (len) {
		uint32_t cp;
		size_t used;
		enum utf8_result r = utf8_next(p, len, &cp, &used);
		if (r != UTF8_OK)
			buf_puts(out, charset_bad);
		else if (cp)
			buf_append(out, p, used);
		p += used;
		len -= used;
	}
}

static void from_other(const char *name, char *p, size_t len, struct buf *out)
{
	iconv_t cd = iconv_open("UTF-8", name);
	size_t unit = !strncmp(name, "UTF-16", 6) ? 2 : 1;
	char piece[4096];
	if (cd == (iconv_t)-1) {
		from_utf8(p, len, out);
		return;
	}
	while (len) {
		char *to = piece;
		size_t room = sizeof(piece);
		size_t rc = iconv(cd, &p, &len, &to, &room);
		int why = rc == (size_t)-1 ? errno : 0;
		for (const char *c = piece; c < to; c++)
			if (*c)
				buf_putc(out, *c);
		if (why == EILSEQ || why == EINVAL) {
			size_t skip = len < unit ? len : unit;
			buf_puts(out, charset_bad);
			p += skip;
			len -= skip;
			iconv(cd, NULL, NULL, NULL, NULL);
		}
	}
	iconv_close(cd);
}

void text_to_utf8(const void *bytes, size_t len, const char *name, struct buf *out)
{
	char *p = (char *)(uintptr_t)bytes; /* iconv moves it, and reads only */
	const char *as = charset_find(name);
	size_t mark = 0;
	if (len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) {
		as = "UTF-8";
		mark = 3;
	} else if (len >= 2 && (!memcmp(p, "\xff\xfe", 2) || !memcmp(p, "\xfe\xff", 2))) {
		as = p[0] == '\xff' ? "UTF-16LE" : "UTF-16BE";
		mark = 2;
	}
	if (!as || !strcmp(as, "UTF-8"))
		from_utf8(p + mark, len - mark, out);
	else
		from_other(as, p + mark, len - mark, out);
}
