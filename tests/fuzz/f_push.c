/* A push on its way to a host: refused, or the refs that it would move, each with a name. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/push.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next of git's lines, after its length; NULL: "0000". Anything else aborts. */
static const char *line_at(const char **at, const char *end, size_t *len)
{
	char hex[5] = "";
	if (end - *at < 4)
		abort();
	memcpy(hex, *at, 4);
	size_t n = strtoul(hex, NULL, 16);
	if (n && (n <= 4 || n > 65520 || n > (size_t)(end - *at)))
		abort();
	const char *line = n ? *at + 4 : NULL;
	*len = n ? n - 4 : 0;
	*at += n ? n : 4;
	return line;
}

/* The content of the bands of @in, which ends with "0000". */
static void unband(const struct buf *in, struct buf *out)
{
	const char *at = in->data, *end = at + in->len, *line;
	size_t len;
	for (; (line = line_at(&at, end, &len)); buf_append(out, line + 1, len - 1))
		if (*line != 1)
			abort();
	if (at != end)
		abort();
}

/* The refusal names each ref, in order, with the same reason. */
static void check_refusal(const struct push *p, const struct buf *report)
{
	const char *at = report->data, *end = at + report->len;
	size_t len;
	const char *line = line_at(&at, end, &len);
	if (!line || len != 10 || memcmp(line, "unpack ok\n", 10) != 0)
		abort();
	for (size_t i = 0; i < p->nr; i++) {
		size_t name = strnlen(p->ref[i].name, 4096);
		line = line_at(&at, end, &len);
		if (!line || len != 3 + name + 7 || memcmp(line, "ng ", 3) != 0 || memcmp(line + 3, p->ref[i].name, name) != 0 ||
		    memcmp(line + 3 + name, " no no\n", 7) != 0)
			abort();
	}
	if (line_at(&at, end, &len) || at != end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct push p;
	CLEANUP(free_ptr) char *body = mem_dup(size ? (const char *)data : "", size);
	const char *why = push_request(&p, "POST", "/r.git/git-receive-pack", "", body, size);
	if (p.nr > PUSH_REFS_MAX || (!why && !p.nr && size != 4))
		abort();
	for (size_t i = 0; i < p.nr; i++)
		if (!*p.ref[i].name || strlen(p.ref[i].old) != strlen(p.ref[i].new) || strlen(p.ref[i].old) < 40)
			abort();
	CLEANUP(buf_release) struct buf out = BUF_INIT, plain = BUF_INIT;
	bool told = !why && push_refusal(&p, "no\nno", &out);
	if (!why && told != (p.reports && p.nr))
		abort();
	if (told && p.bands)
		unband(&out, &plain);
	if (told)
		check_refusal(&p, p.bands ? &plain : &out);
	push_release(&p);
	return 0;
}
