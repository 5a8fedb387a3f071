/* The memory of a process that is about to execute or connect, read from outside: arbitrary pointers and bytes. The
 * input is in our own memory and is read like a sandbox's. It is refused, or bounded as in trace.h and fit for the
 * recording. */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTERS = 2 * TRACE_ARGS };

/* "ptr" bytes: an offset into the text, 254 one that leads nowhere, 255 the end. */
static uint64_t pointer(uint8_t b, const char *text, size_t len)
{
	if (b == 255)
		return 0;
	return b == 254 || !len ? 0x10 : (uint64_t)(uintptr_t)(text + b % len);
}

static void as_exec(struct seccomp_notif *n, const uint8_t *p, size_t size)
{
	static uint64_t argv[POINTERS + 1];
	size_t nr = p[0] % POINTERS;
	if (size < nr + 2)
		return;
	CLEANUP(free_ptr) char *text = mem_alloc(size - nr);
	size_t len = size - nr - 1;
	memcpy(text, p + 1 + nr, len);
	text[len] = 0;
	for (size_t i = 0; i < nr; i++)
		argv[i] = pointer(p[1 + i], text, len);
	argv[nr] = 0;
	struct trace_call call;
	bool at = n->data.nr == SYS_execveat;
	n->data.args[0] = at ? (uint64_t)AT_FDCWD : (uint64_t)(uintptr_t)text;
	n->data.args[1] = at ? (uint64_t)(uintptr_t)text : (uint64_t)(uintptr_t)argv;
	n->data.args[2] = (uint64_t)(uintptr_t)argv;
	(void)!trace_read(n, &call);
	const json_t *words = json_object_get(call.body, "argv"), *w;
	size_t i, bytes = 0;
	json_array_foreach(words, i, w) {
		CLEANUP(buf_release) struct buf one = BUF_INIT;
		if (!json_get_bytes(w, &one) || one.len > TRACE_ARG_BYTES)
			abort();
		bytes += one.len + 1;
	}
	if (json_array_size(words) > TRACE_ARGS || bytes > TRACE_ALL_BYTES + TRACE_ARG_BYTES + 1)
		abort();
	if (words && json_array_size(words) < nr && !json_object_get(call.body, "argc") && argv[json_array_size(words)])
		abort(); /* some arguments are missing without a mark */
	free(json_dump_str(call.body));
	json_decref(call.body);
}

static void as_connect(struct seccomp_notif *n, const uint8_t *p, size_t size)
{
	struct trace_call call;
	CLEANUP(free_ptr) char *address = mem_dup(p + 1, size - 1);
	n->data.nr = SYS_connect;
	n->data.args[1] = (uint64_t)(uintptr_t)address;
	n->data.args[2] = p[0] & 0x80 ? UINT64_MAX : p[0] % size;
	(void)!trace_read(n, &call);
	free(json_dump_str(call.body));
	json_decref(call.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seccomp_notif n = { .pid = (uint32_t)getpid() };
	if (size < 3 || size > 1 << 15)
		return 0;
	n.data.nr = data[0] & 2 ? SYS_execveat : SYS_execve;
	if (data[0] & 1)
		as_connect(&n, data + 1, size - 1);
	else
		as_exec(&n, data + 1, size - 1);
	return 0;
}
