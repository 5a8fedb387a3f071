#include "ui/term/csi_bound.h"

#include <string.h>

enum { SEPARATORS_MAX = 15, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f };

/* Is @byte dropped? */
static bool csi_bound_step(struct csi_bound *c, unsigned char byte)
{
	bool argument = byte >= '0' && byte <= ';';
	if (byte == ESC) {
		c->at = CSI_AFTER_ESC;
	} else if (byte == CAN || byte == SUB) {
		c->at = CSI_OUTSIDE;
	} else if (c->at == CSI_AFTER_ESC) {
		/* controls and bytes beyond ASCII leave libvterm where it is */
		c->at = byte == '['		    ? CSI_INSIDE
			: byte >= '0' && byte < DEL ? CSI_OUTSIDE
						    : CSI_AFTER_ESC;
		c->nr_separators = 0;
	} else if (c->at == CSI_INSIDE && argument) {
		c->nr_separators += byte >= ':' && c->nr_separators <= SEPARATORS_MAX;
		return c->nr_separators > SEPARATORS_MAX;
	} else if (byte >= '@' && byte < DEL) {
		c->at = CSI_OUTSIDE;
	}
	return false;
}

void csi_bound_drop(struct csi_bound *c, struct buf *b)
{
	size_t out = 0;
	for (size_t i = 0; i < b->len; i++) {
		const char *esc = c->at ? NULL : memchr(b->data + i, ESC, b->len - i);
		size_t run = c->at ? 0 : (esc ? (size_t)(esc - b->data) : b->len) - i;
		if (run && out != i)
			memmove(b->data + out, b->data + i, run);
		out += run;
		i += run;
		if (i >= b->len)
			break;
		if (b->data[i] == 's' && c->at == CSI_INSIDE)
			b->data[i] = CAN;
		if (!csi_bound_step(c, (unsigned char)b->data[i]))
			b->data[out++] = b->data[i];
	}
	b->len = out;
}
