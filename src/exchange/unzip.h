/* The files of a zip archive, one after the other (libarchive inside, seen in unzip.c only). Any
 * thread. */
#ifndef EXCHANGE_UNZIP_H
#define EXCHANGE_UNZIP_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

struct unzip {
	bool (*wanted)(void *self, const char *name); /* the others are passed over unread */
	/* A requested one; NULL and @err if it cannot be read (its sum is wrong, it is larger
	 * than max). Borrowed. */
	void (*file)(void *self, const char *name, const char *bytes, size_t len,
		     const struct err *err);
	void *self;
	size_t max; /* bytes of one file, unpacked */
};

/* Reads @in from its start. ERR_PARSE: not an archive, or a truncated one; intact files before
 * that were passed on. */
NODISCARD int unzip_each(FILE *in, const struct unzip *u, struct err *err);

#endif
