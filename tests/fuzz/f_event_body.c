/* Bodies of events, decoded from their text: jansson reads the same, or both refuse. The first two bytes choose the kind
 * (low one first), the rest is the body. */
#include <stdio.h>

#include "tests/unit/wire/decoded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	uint16_t kind = event_kind_at((data[0] | (size_t)data[1] << 8) % event_kind_count());
	CLEANUP(free_ptr) char *body = mem_strndup((const char *)data + 2, size - 2);
	const char *why = decoded_differs(kind, body, size - 2);
	if (why) {
		fprintf(stderr, "%s: %s: %s\n", event_kind_name(kind), why, body);
		abort();
	}
	return 0;
}
