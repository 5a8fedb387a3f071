#include "sandbox/vm/cpio.h"

#include <string.h>

/* Number of the entry: files of one number would be hard links of each other. */
static unsigned cpio_number(const struct buf *out)
{
	return (unsigned)(out->len / 4 + 1);
}

static void cpio_pad(struct buf *out)
{
	while (out->len % 4)
		buf_putc(out, 0);
}

void cpio_add(struct buf *out, const char *name, unsigned mode, const void *bytes, size_t len)
{
	const unsigned field[] = {
		cpio_number(out),	    mode, 0, 0, 1, 0, (unsigned)len, 0, 0, 0, 0,
		(unsigned)strlen(name) + 1, 0
	};
	buf_puts(out, "070701");
	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		buf_printf(out, "%08X", field[i]);
	buf_append(out, name, strlen(name) + 1);
	cpio_pad(out);
	buf_append(out, bytes, len);
	cpio_pad(out);
}

void cpio_end(struct buf *out)
{
	cpio_add(out, "TRAILER!!!", 0, "", 0);
}
