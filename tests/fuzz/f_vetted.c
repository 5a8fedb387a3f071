/* Output for a terminal: the result is the same for one or two pieces and is valid UTF-8. A terminal finds no string
 * for itself in it (OSC, DCS, APC, PM, SOS), whatever the spelling of the escape. */
#include <stdlib.h>
#include <string.h>

#include "exchange/vetted.h"
#include "base/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void vet(bool pty, const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	struct vetted v;
	vetted_init(&v, pty);
	vetted_feed(&v, p, cut, out);
	vetted_feed(&v, p + cut, len - cut, out);
	vetted_end(&v, out);
}

/* As a terminal reads it: controls inside an escape are executed, and the escape continues after them. */
static void as_terminal(const struct buf *b)
{
	bool escape = false;
	size_t used;
	uint32_t c;
	for (size_t at = 0; at < b->len; at += used) {
		if (utf8_next(b->data + at, b->len - at, &c, &used) != UTF8_OK)
			abort();
		if (c >= 0x80 && c < 0xa0)
			abort();
		if (escape && c && c < 0x80 && strchr("]P_^X", (int)c))
			abort();
		if (c == 033)
			escape = true;
		else if (escape && (c == 0x18 || c == 0x1a || (c >= 0x20 && c != 0x7f)))
			escape = false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 1 << 14)
		return 0;
	bool pty = data[0] & 1;
	size_t cut = (size_t)(data[0] >> 1 | data[1] << 7) % (size - 1);
	CLEANUP(buf_release) struct buf whole = BUF_INIT, pieces = BUF_INIT;
	vet(pty, data + 2, size - 2, 0, &whole);
	vet(pty, data + 2, size - 2, cut, &pieces);
	if (whole.len != pieces.len || (whole.len && memcmp(whole.data, pieces.data, whole.len) != 0))
		abort();
	as_terminal(&whole);
	return 0;
}
