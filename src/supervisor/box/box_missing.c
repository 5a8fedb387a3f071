/* A command that was not found in a box: is its program on the host, and which directory would
 * bring it in? */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/box/super_box.h"
#include "base/paths.h"

/* "sh: 1: cargo: not found", "bash: line 1: cargo: command not found": the word before ": not
 * found". */
static char *missing_word(const char *text, const json_t *args)
{
	const char *p = strstr(text, ": not found");
	if (!p)
		p = strstr(text, ": command not found");
	if (p) {
		const char *start = p;
		while (start > text && start[-1] != ' ' && start[-1] != '\n' && start[-1] != ':')
			start--;
		if (start < p)
			return mem_strndup(start, (size_t)(p - start));
	}
	const json_t *first = json_array_get(json_object_get(args, "argv"), 0);
	return json_is_string(first) ? mem_strdup(json_string_value(first)) : NULL;
}

/* The directory to give so that a program runs with what belongs to it: ~/.cargo for
 * ~/.cargo/bin/cargo, /opt/go for /opt/go/bin/go. */
static char *box_missing_root_of(const char *program)
{
	char full[PATH_MAX];
	const char *home = getenv("HOME");
	char *path = mem_strdup(realpath(program, full) ? full : program);
	size_t n = home ? strlen(home) : 0;
	if (n > 1 && !strncmp(path, home, n) && path[n] == '/') {
		char *slash = strchr(path + n + 1, '/');
		if (slash)
			*slash = 0;
		return path;
	}
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(path, '/');
		if (slash && slash != path)
			*slash = 0;
	}
	return path;
}

bool super_box_explain_missing(struct super *s, const char *stderr_text, const json_t *args,
			       struct buf *out)
{
	CLEANUP(free_ptr) char *word = missing_word(stderr_text, args);
	const char *path = getenv("PATH");
	const struct box *b = boxes_get(s->boxes, (uint64_t)json_int(args, "box", 0));
	if (b && !(b->driver->caps & CAP_SHELL))
		return false; /* it takes no programs */
	if (!word || !*word || strchr(word, '/') || !path)
		return false;
	CLEANUP(free_ptr) char *copy = mem_strdup(path);
	char *save = NULL;
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		CLEANUP(free_ptr) char *full = path_join(dir, word);
		if (access(full, X_OK) != 0)
			continue;
		CLEANUP(free_ptr) char *root = box_missing_root_of(full);
		buf_printf(out, "'%s' is on the host (%s) but not in the sandbox; add --root %s",
			   word, full, root ? root : dir);
		return true;
	}
	return false;
}
