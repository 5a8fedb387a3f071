#include "sessions/companions.h"

#include <unistd.h>

#include "base/mem.h"
#include "cli/lib/cmd_priv.h"

static const char *const companions_suffix[] = { "-wal",     "-shm",	"-lease", "-reserve",
						 "-journal", "-anchor", "-pack" };

int64_t session_companions_usage(const char *path)
{
	int64_t bytes = 0;
	for (size_t i = 0; i < ARRAY_LEN(companions_suffix); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", path, companions_suffix[i]);
		bytes += cmd_disk_usage(name);
	}
	return bytes;
}

void session_companions_remove(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(companions_suffix); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", path, companions_suffix[i]);
		unlink(name);
	}
}
