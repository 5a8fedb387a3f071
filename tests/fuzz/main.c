/* Replays files through a fuzz target, without a fuzzer: f_NAME FILE-OR-FOLDER... Each file is a TAP result. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int nr;

static void replay(const char *path)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	bool good = file_read(path, &b, 16 << 20, &err) == 0;
	if (good) {
		/* a copy of the exact size: a sanitizer then sees reads past the end */
		uint8_t *data = mem_dup(b.len ? b.data : "", b.len);
		LLVMFuzzerTestOneInput(data, b.len);
		free(data);
	}
	printf("%sok %d - %s\n", good ? "" : "not ", ++nr, path);
	fflush(stdout);
	buf_release(&b);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *e;
		if (!d)
			replay(argv[i]);
		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.') {
				char *path = mem_printf("%s/%s", argv[i], e->d_name);
				replay(path);
				free(path);
			}
		if (d)
			closedir(d);
	}
	printf("1..%d\n", nr);
	return 0;
}
