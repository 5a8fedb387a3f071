/* An address: refused with a reason, or normalized, and the result parses to the same place. First line: its base,
 * perhaps empty; the rest: the address. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libcurl's own, for addresses that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libcurl";
}

static void same_again(const struct url *u)
{
	struct url again;
	struct err err = ERR_INIT;
	for (const char *p = u->host; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || (*p >= 'A' && *p <= 'Z'))
			abort();
	if (!*u->host || u->host[strlen(u->host) - 1] == '.')
		abort();
	if (url_parse(&again, NULL, u->text, &err) < 0) {
		if (strlen(u->text) <= URL_MAX)
			abort();
		return;
	}
	if (!url_same_origin(u, &again) || strcmp(u->text, again.text) != 0)
		abort();
	url_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url base, u;
	struct err err = ERR_INIT;
	const uint8_t *nl = size ? memchr(data, '\n', size) : NULL;
	if (!nl || size > 20000)
		return 0;
	CLEANUP(free_ptr) char *first = mem_strndup((const char *)data, (size_t)(nl - data));
	CLEANUP(free_ptr) char *text = mem_strndup((const char *)nl + 1, size - (size_t)(nl - data) - 1);
	bool relative = url_parse(&base, NULL, first, &err) == 0;
	if (url_parse(&u, relative ? &base : NULL, text, &err) == 0) {
		same_again(&u);
		url_release(&u);
	} else if (!err.text[0]) {
		abort();
	}
	if (relative)
		url_release(&base);
	return 0;
}
