/* The keeper's ways through a hostile tree: beneath a root, without links; removal of anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "tap.h"

static char top[64];
static int root;

static void make(const char *command)
{
	CLEANUP(free_ptr) char *all = mem_printf("cd '%s' && %s", top, command);
	if (system(all) != 0)
		printf("# failed: %s\n", command);
}

static int try_open(const char *path, int flags)
{
	int fd = open_beneath(root, path, strlen(path), flags, 0);
	int rc = fd < 0 ? errno : 0;
	fd_close(&fd);
	return rc;
}

static void beneath(void)
{
	make("mkdir -p d/e && echo x >d/e/f && ln -s d l && ln -s /etc/passwd p && ln -s ../.. up && ln -s "
	     "/proc/self/root magic");
	is_int(try_open("d/e/f", O_RDONLY), 0, "a file");
	is_int(try_open("", O_RDONLY | O_DIRECTORY), 0, "the root itself");
	is_int(try_open("l/e/f", O_RDONLY), ELOOP, "not through a link to a folder");
	is_int(try_open("p", O_RDONLY), ELOOP, "not a link out");
	is_int(try_open("up/x", O_RDONLY), ELOOP, "not a link up");
	is_int(try_open("magic/etc/passwd", O_RDONLY), ELOOP, "not a magic link");
	is_int(try_open("d/../../etc/passwd", O_RDONLY), EXDEV, "not up by dots");
	is_int(try_open("/etc/passwd", O_RDONLY), EXDEV, "not by an absolute path");
}

static void removal(void)
{
	make("mkdir -p outside big && echo kept >outside/f && cd big && mkdir -p a/b/c && touch a/1 a/b/2 a/b/c/3 && "
	     "ln -s ../outside a/b/l "
	     "&& mkfifo a/pipe && mkdir .removed-0 && touch .removed-0/x .removed-1 && touch \"$(printf 'n\\nl')\"");
	make("cd big && p=deep && for i in $(seq 40); do p=$p/$(printf 'd%.0s' $(seq 200)); done && "
	     "python3 -c 'import os\nfor i in range(60):\n os.mkdir(\"d\"*200); os.chdir(\"d\"*200)' 2>/dev/null || "
	     "true");
	is_int(remove_tree(root, "big"), 0, "a tree with everything in it, deeper than a path may be long");
	is_int(try_open("big", O_RDONLY), ENOENT, "has gone");
	is_int(try_open("outside/f", O_RDONLY), 0, "the target of a link in it stays");
	is_int(remove_tree(root, "big"), 0, "removing a missing file succeeds");
	is_int(remove_tree(root, "p"), 0, "a link is removed");
	is_int(access("/etc/passwd", F_OK), 0, "not its target");
}

int main(void)
{
	snprintf(top, sizeof(top), "/tmp/sandglass-keeper-%d", (int)getpid());
	if (mkdir(top, 0700) < 0 || (root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		skip_all("no temporary folder");
	beneath();
	removal();
	struct err err = ERR_INIT;
	fd_close(&root);
	if (dir_remove(top, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
