/* sandglass-guest [--fd N | --port PATH | --connect SOCKET | --stdio]: see guest/guest_priv.h.
 * sandglass-guest --tool VERB ...: wire/tool.h. As PID 1 of a virtual machine, --machine:
 * wire/machine.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/guest_priv.h"
#include "guest/machine.h"
#include "guest/tool.h"
#include "wire/machine.h"
#include "wire/tool.h"

static int guest_main_usage(void)
{
	fputs("usage: sandglass-guest [--fd N | --port PATH | --connect SOCKET | --stdio]\nStarted "
	      "by sandglass inside a sandbox; uses descriptor 3, N, the port, the socket, or its "
	      "standard streams.\n",
	      stderr);
	return 2;
}

static int machine_main(void)
{
	int channel = getpid() == 1 ? machine_up() : -1;
	if (channel >= 0)
		(void)inner_main(channel, -1, true, true);
	if (getpid() == 1)
		machine_down();
	return guest_main_usage();
}

static int guest_main_connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (strlen(path) >= sizeof(a.sun_path))
		return -1;
	memcpy(a.sun_path, path, strlen(path));
	return fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
	int channel = 3, answers = -1;
	if (argc >= 2 && strcmp(argv[1], TOOL_OPTION) == 0)
		return tool_main(argc - 2, argv + 2);
	if (argc == 2 && strcmp(argv[1], MACHINE_OPTION) == 0)
		return machine_main();
	if (argc == 2 && strcmp(argv[1], "--stdio") == 0) {
		channel = fcntl(0, F_DUPFD_CLOEXEC, 3);
		answers = fcntl(1, F_DUPFD_CLOEXEC, 3);
		if (channel < 0 || answers < 0)
			return guest_main_usage();
	} else if (argc == 3 && strcmp(argv[1], "--fd") == 0) {
		char *end;
		long n = strtol(argv[2], &end, 10);
		if (*end || end == argv[2] || n < 0 || n > 1023)
			return guest_main_usage();
		channel = (int)n;
	} else if (argc == 3 && strcmp(argv[1], "--port") == 0) {
		channel = open(argv[2], O_RDWR | O_CLOEXEC);
		if (channel < 0) {
			fprintf(stderr, "sandglass-guest: can't open '%s'\n", argv[2]);
			return 1;
		}
	} else if (argc == 3 && strcmp(argv[1], "--connect") == 0) {
		channel = guest_main_connect_to(argv[2]);
		if (channel < 0) {
			fprintf(stderr, "sandglass-guest: can't connect to '%s'\n", argv[2]);
			return 1;
		}
	} else if (argc != 1) {
		return guest_main_usage();
	}
	return inner_main(channel, answers, getpid() == 1, false);
}
