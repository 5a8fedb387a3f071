/* Request bodies that a program sends compressed (Codex: zstd). They are read and recorded plain;
 * upstream gets the program's own bytes, as long as nobody had to change them. Part of the proxy
 * (inside_priv.h). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inside/inside_priv.h"
#include "record/read/codec.h"

static const char packed_header[] = "content-encoding:";

const char *packed_body_open(struct flow *f, const char *coding, size_t max)
{
	struct err none = ERR_INIT;
	if (!coding || !strcasecmp(coding, "identity"))
		return NULL;
	if (strcasecmp(coding, "zstd") != 0)
		return "can't read a body compressed with anything but zstd; send it uncompressed";
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	if (codec_unpack_foreign(f->body.data, f->body.len, max, &plain, &none) < 0)
		return "can't read the compressed body";
	f->packed = f->body;
	f->body = plain;
	plain = BUF_INIT;
	return NULL;
}

void packed_body_changed(struct flow *f)
{
	if (!f->packed.len)
		return;
	buf_release(&f->packed);
	for (size_t i = 0; i < f->nr_plain_headers; i++)
		if (!strncasecmp(f->headers.item[i], packed_header, sizeof(packed_header) - 1)) {
			free(f->headers.item[i]);
			for (size_t k = i + 1; k < f->headers.nr; k++) {
				f->headers.item[k - 1] = f->headers.item[k];
				f->headers.len[k - 1] = f->headers.len[k];
			}
			f->headers.item[--f->headers.nr] = NULL;
			f->nr_plain_headers--;
			return;
		}
}
