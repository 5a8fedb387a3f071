#include "sandbox/workspace/git.h"

#include <pthread.h>
#include <stdlib.h>

static void git_ready(void)
{
	static const int level[] = { GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL,
				     GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_PROGRAMDATA };
	git_libgit2_init();
	for (size_t i = 0; i < ARRAY_LEN(level); i++)
		git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level[i], "");
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
	git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
	git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)64 << 20);
}

void ws_git_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, git_ready);
}

int ws_git_err(struct err *err, const char *what)
{
	const git_error *e = git_error_last();
	return err_set(err, ERR_IO, "%s: %s", what, e && e->message ? e->message : "failed");
}
