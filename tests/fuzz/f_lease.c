/* The note of a writer that lies beside a session file: whatever its bytes, a process number or 0, and a note that agrees with
 * itself or none. '@' stands for the present run of the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "record/read/lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/tmp/fuzz-lease-XXXXXX", *boot;
	static char *note;
	struct err err = ERR_INIT;
	if (size > 1 << 12)
		return 0;
	if (!note) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		if (!mkdtemp(path) || file_read("/proc/sys/kernel/random/boot_id", &text, 64, &err) < 0)
			abort();
		boot = mem_strndup(text.data, strcspn(text.data, "\n"));
		note = mem_printf("%s/s.glass-lease", path);
	}
	FILE *f = fopen(note, "we");
	for (size_t i = 0; f && i < size; i++)
		if (data[i] == '@')
			fputs(boot, f);
		else
			fputc(data[i], f);
	if (!f || fclose(f) != 0)
		abort();
	CLEANUP(free_ptr) char *session = mem_printf("%s/s.glass", path);
	struct lease_note n = { 0 };
	bool known = lease_noted(session, &n);
	if (lease_pid(session) < 0 || lease_held(session))
		abort();
	/* a note that is read is the one that would be written */
	if (known) {
		struct lease_note again = { 0 };
		int fd = lease_take(session, NULL, &err);
		if (fd < 0)
			abort();
		lease_note(fd, &n);
		close(fd);
		if (!lease_noted(session, &again) || again.seq != n.seq || again.salt != n.salt || again.end != n.end)
			abort();
	}
	unlink(note);
	return 0;
}
