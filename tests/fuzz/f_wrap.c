/* Output of a remote sandbox's shell: the same lines in chunks of any size, each without a control that could end it
 * early. First byte: the place of the cut. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "sandbox/shell_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void keep(void *self, char kind, const char *text, size_t len)
{
	struct buf *b = self;
	if (strlen(text) > len)
		abort();
	buf_printf(b, "%d:%zu:", kind, len);
	buf_append(b, text, len);
	if (kind == 's')
		json_decref(shell_protocol_stat_of(text));
}

static void read_it(const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	struct wrap_reader r = { .on_line = keep, .self = out };
	shell_protocol_feed(&r, p, cut);
	shell_protocol_feed(&r, p + cut, len - cut);
	shell_protocol_reader_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 18)
		return 0;
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	read_it(data + 1, size - 1, size - 1, &one);
	read_it(data + 1, size - 1, data[0] * (size - 1) / 255, &two);
	if (one.len != two.len || (one.len && memcmp(one.data, two.data, one.len) != 0))
		abort();
	return 0;
}
