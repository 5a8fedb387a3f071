#include "sessions/index_background.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>

#include "base/mem.h"

static void spawn_behind(char *const *argv)
{
	char *environment[] = { NULL }; /* ours may hold keys */
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&fa, fd, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addclosefrom_np(&fa, 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	(void)!posix_spawn(&pid, "/proc/self/exe", &fa, &attr, argv, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
}

void index_background(const char *const *path, size_t nr)
{
	static const char *const words[] = { "sandglass", "index", "--behind", "--" };
	char **argv = mem_calloc(ARRAY_LEN(words) + nr + 1, sizeof(*argv));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		argv[i] = mem_strdup(words[i]);
	for (size_t i = 0; i < nr; i++)
		argv[ARRAY_LEN(words) + i] = mem_strdup(path[i]);
	if (nr)
		spawn_behind(argv);
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
	free(argv);
}

void catalog_background(const char *dir)
{
	CLEANUP(free_ptr) char *sessions = mem_strdup(dir);
	char words[][16] = { "sandglass", "index", "--behind", "--catalog", "--sessions" };
	char *argv[] = { words[0], words[1], words[2], words[3], words[4], sessions, NULL };
	spawn_behind(argv);
}
