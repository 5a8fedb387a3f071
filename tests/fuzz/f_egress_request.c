/* A sandbox's bytes to the proxy: request heads, bodies, TLS hellos. Accepted ones must follow the rules. */
#include <stdlib.h>
#include <string.h>

#include "proxy/egress_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	char once[EGRESS_HOST_MAX + 1], twice[EGRESS_HOST_MAX + 1];
	if (!egress_name(name, once))
		return;
	if (!egress_name(once, twice) || strcmp(once, twice) != 0 || strpbrk(once, "@%:[]/\\ \r\n_"))
		abort();
}

static void check_head(const char *bytes, size_t size)
{
	struct egress_head h;
	const char *why = NULL;
	int rc = egress_head_parse(bytes, size, &h, &why);
	if (rc < 0 && !why)
		abort();
	if (rc <= 0)
		return;
	if (h.len > size || h.len > EGRESS_HEAD_MAX || !h.port || (h.chunked && h.has_length))
		abort();
	if (!h.connect && (!h.path || h.path[0] != '/' || strpbrk(h.path, "\r\n #")))
		abort();
	for (size_t i = 0; i < h.fields.len; i++) /* lines, and nothing that another reader takes for one */
		if (h.fields.data[i] == '\n' && (i == 0 || h.fields.data[i - 1] != '\r'))
			abort();
	check_name(h.host);
	egress_head_release(&h);
}

/* The same bytes at once and one by one. */
static void check_chunks(const char *bytes, size_t size)
{
	struct egress_chunks a = { 0 }, b = { 0 };
	ssize_t n = egress_chunks_feed(&a, bytes, size), m = 0;
	for (size_t i = 0; i < size && m >= 0 && !b.done; i++) {
		ssize_t one = egress_chunks_feed(&b, bytes + i, 1);
		m = one < 0 ? -1 : m + one;
	}
	if (n != m || a.done != b.done)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[EGRESS_HOST_MAX + 1];
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	check_head(text, size);
	check_chunks(text, size);
	check_name(text);
	if (egress_sni(data, size, name) == 1)
		check_name(name);
	free(text);
	return 0;
}
