#include "record/read/codec.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

enum { LEVEL = 1, SHORTEST = 64 };

struct packer {
	ZSTD_CCtx *zstd;
};

struct packer *packer_new(void)
{
	struct packer *p = NEW(struct packer);
	p->zstd = ZSTD_createCCtx();
	assert(p->zstd);
	return p;
}

void packer_free(struct packer **p)
{
	if (*p)
		ZSTD_freeCCtx((*p)->zstd);
	free(*p);
	*p = NULL;
}

enum codec codec_pack(struct packer *p, const void *bytes, size_t len, struct buf *out)
{
	buf_reset(out);
	if (len > SHORTEST) {
		buf_reserve(out, ZSTD_compressBound(len));
		size_t n =
			p ? ZSTD_compressCCtx(p->zstd, out->data, out->cap - 1, bytes, len, LEVEL)
			  : ZSTD_compress(out->data, out->cap - 1, bytes, len, LEVEL);
		if (!ZSTD_isError(n) && n < len - len / 16) {
			out->len = n;
			return CODEC_ZSTD;
		}
	}
	buf_append(out, bytes, len);
	return CODEC_RAW;
}

int codec_unpack(enum codec codec, const void *data, size_t len, size_t size, struct buf *out,
		 struct err *err)
{
	if (size > CODEC_MAX)
		return err_set(err, ERR_DAMAGED, "stored bytes have a length out of range: %zu",
			       size);
	switch (codec) {
	case CODEC_RAW:
		if (len != size)
			return err_set(err, ERR_DAMAGED,
				       "stored bytes have %zu instead of %zu bytes", len, size);
		buf_append(out, data, len);
		return 0;
	case CODEC_ZSTD: {
		/* the frame holds its own size: a false size in the row must not make us allocate
		 * memory that nobody fills */
		if (ZSTD_getFrameContentSize(data, len) != size)
			return err_set(err, ERR_DAMAGED,
				       "compressed bytes don't have the size of their row");
		buf_reserve(out, size + 1);
		size_t n = ZSTD_decompress(out->data + out->len, size, data, len);
		if (ZSTD_isError(n) || n != size)
			return err_set(err, ERR_DAMAGED, "can't decompress stored bytes: %s",
				       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong size");
		out->len += n;
		out->data[out->len] = 0;
		return 0;
	}
	}
	return err_set(err, ERR_UNSUPPORTED, "unknown compression of stored bytes: %d", (int)codec);
}

int codec_unpack_foreign(const void *data, size_t len, size_t max, struct buf *out, struct err *err)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = { .src = data, .size = len };
	size_t from = out->len, left = 1, piece = ZSTD_DStreamOutSize();
	while (z && (in.pos < in.size || left) && !ZSTD_isError(left) && out->len - from <= max) {
		size_t was = out->len, at = in.pos;
		buf_reserve(out, piece);
		ZSTD_outBuffer to = { .dst = out->data + out->len, .size = piece };
		left = ZSTD_decompressStream(z, &to, &in);
		out->len += to.pos;
		if (out->len == was && in.pos == at)
			break; /* it ends early */
	}
	ZSTD_freeDStream(z);
	if (left || out->len - from > max)
		return err_set(err, ERR_PARSE, "no whole zstd frames of at most %zu bytes", max);
	return 0;
}
