/* Pages of strangers as text: any bytes, any charset; out comes valid UTF-8 without controls, within the limit. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/charset.h"
#include "base/text/html.h"
#include "base/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *link_of(void *self, const char *href)
{
	(void)self;
	return href[0] == 'h' ? mem_strdup(href) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sets[] = { NULL, "utf-16le", "windows-1252", "shift_jis", "gb18030", "euc-kr" };
	if (!size)
		return 0;
	struct buf utf8 = BUF_INIT, out = BUF_INIT;
	struct html_found found = { .title = BUF_INIT };
	const struct html_opts o = { .link = link_of, .max = data[0] & 8 ? 64 : 0 };
	char *meta = html_charset((const char *)data, size);
	text_to_utf8(data + 1, size - 1, meta ? meta : sets[data[0] % 6], &utf8);
	free(meta);
	assert(utf8_valid(buf_cstr(&utf8), utf8.len) && !memchr(buf_cstr(&utf8), 0, utf8.len));
	html_to_text(buf_cstr(&utf8), utf8.len, &o, &out, &found);
	assert(utf8_valid(buf_cstr(&out), out.len));
	assert(!o.max || out.len <= o.max + 1);
	for (size_t i = 0; i < out.len; i++)
		assert((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n' || out.data[i] == '\t');
	html_found_release(&found);
	buf_release(&utf8);
	buf_release(&out);
	return 0;
}
