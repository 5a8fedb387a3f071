#include "sessions/submodule.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"

enum { POINTER_MAX = 4096 };

char *submodule_gitdir(const char *dir, const char *prefix)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s/.git", dir, prefix);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char real[PATH_MAX], top[PATH_MAX];
	struct stat st;
	struct err none = ERR_INIT;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !realpath(dir, top) ||
	    file_read(path, &text, POINTER_MAX, &none) < 0 ||
	    strncmp(buf_cstr(&text), "gitdir: ", 8) != 0)
		return NULL;
	text.data[8 + strcspn(text.data + 8, "\r\n")] = 0;
	CLEANUP(free_ptr)
	char *to = text.data[8] == '/' ? mem_strdup(text.data + 8)
				       : mem_printf("%s/%s/%s", dir, prefix, text.data + 8);
	if (!realpath(to, real))
		return NULL;
	size_t len = strlen(top);
	const char *modules = strstr(real, "/modules/");
	if (!strncmp(real, top, len) && real[len] == '/')
		return mem_strdup(real + len + 1);
	return modules ? mem_printf(".git%s", modules) : NULL;
}
