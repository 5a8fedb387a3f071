/* How bytes are kept in the file: as they are, or as one zstd frame (level 1) where that is
 * shorter. Any thread. */
#ifndef RECORD_READ_CODEC_H
#define RECORD_READ_CODEC_H

#include "base/buf.h"
#include "base/err.h"

enum codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };
/* unpacked bytes of one piece; a row that claims more is damaged */
#define CODEC_MAX ((int64_t)1 << 31)

/* One per thread that packs much; NULL is fine for a single piece. */
struct packer;
struct packer *packer_new(void);
void packer_free(struct packer **p);

/* @out is reset first. Below 64 bytes nothing is gained and nothing is tried. */
enum codec codec_pack(struct packer *p, const void *bytes, size_t len, struct buf *out);
/* Appends exactly @size bytes to @out; ERR_DAMAGED when <data, len> is not that. */
NODISCARD int codec_unpack(enum codec codec, const void *data, size_t len, size_t size,
			   struct buf *out, struct err *err);

/* Appends what zstd frames from elsewhere hold, of unknown size. ERR_PARSE: they are none, end
 * early, or hold more than @max bytes. */
NODISCARD int codec_unpack_foreign(const void *data, size_t len, size_t max, struct buf *out,
				   struct err *err);

#endif
