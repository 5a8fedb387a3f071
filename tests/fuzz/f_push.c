/* A push on its way to a host: refused, or the refs that it would move, each with a name. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/push.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct push p;
	CLEANUP(free_ptr) char *body = xmemdup(size ? (const char *)data : "", size);
	const char *why = push_request(&p, "POST", "/r.git/git-receive-pack", "", body, size);
	if (p.nr > PUSH_REFS_MAX || (!why && !p.nr && size != 4))
		abort();
	for (size_t i = 0; i < p.nr; i++)
		if (!*p.ref[i].name || strlen(p.ref[i].old) != strlen(p.ref[i].new) || strlen(p.ref[i].old) < 40)
			abort();
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!why && push_refusal(&p, "no", &out) != p.reports)
		abort();
	push_release(&p);
	return 0;
}
