/* sandglass-guest [--fd N | --port PATH]: what it does is described in guest/inner.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/inner.h"

static int usage(void)
{
	fputs("usage: sandglass-guest [--fd N | --port PATH]\n"
	      "started by sandglass inside a box; talks to it over descriptor 3, N or the port\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int channel = 3;
	if (argc == 3 && strcmp(argv[1], "--fd") == 0) {
		char *end;
		long n = strtol(argv[2], &end, 10);
		if (*end || end == argv[2] || n < 0 || n > 1023)
			return usage();
		channel = (int)n;
	} else if (argc == 3 && strcmp(argv[1], "--port") == 0) {
		channel = open(argv[2], O_RDWR | O_CLOEXEC);
		if (channel < 0) {
			fprintf(stderr, "sandglass-guest: cannot open '%s'\n", argv[2]);
			return 1;
		}
	} else if (argc != 1) {
		return usage();
	}
	return inner_main(channel, getpid() == 1);
}
