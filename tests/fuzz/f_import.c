/* A foreign file: each importer reads it without writing; it is counted, refused with a reason, or marked as gaps. The first
 * byte says which importer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/import.h"
#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t nr = 0;
	struct err err = ERR_INIT;
	struct import_sums sums;
	hash_init();
	while (importer_at(nr))
		nr++;
	if (size < 2 || size > 65536)
		return 0;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_append(&text, data + 1, size - 1);
	importer_sniff(buf_cstr(&text), text.len);
	FILE *in = fmemopen(text.data, text.len, "r");
	if (!in)
		abort();
	if (import_dry(importer_at(data[0] % nr), in, &sums, &err) < 0 && !err.text[0])
		abort();
	if (sums.gaps > sums.lines + text.len)
		abort();
	fclose(in);
	return 0;
}
