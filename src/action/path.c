#include <string.h>

#include "action/policy_priv.h"
#include "wire/clone.h"

static void push_names(struct buf *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 2 && !memcmp(path, "..", 2)) {
			while (out->len && out->data[out->len - 1] != '/')
				out->len--;
			out->len -= out->len > 0;
		} else if (len && !(len == 1 && *path == '.')) {
			buf_putc(out, '/');
			buf_append(out, path, len);
		}
		path += len;
		path += strspn(path, "/");
	}
}

/* Bytes before "/workspace" in its second place: the same files, so the same rules. */
static size_t clone_prefix(const struct buf *path)
{
	static const char again[] = CLONE_FROM BOX_CWD;
	size_t len = sizeof(again) - 1;
	if (path->len < len || memcmp(path->data, again, len) != 0 ||
	    (path->len > len && path->data[len] != '/'))
		return 0;
	return strlen(CLONE_FROM);
}

void path_resolve(const char *cwd, const char *path, const char *home, struct buf *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (path[0] == '~' && (path[1] == '/' || !path[1])) {
		push_names(&b, home);
		path++;
	} else if (path[0] != '/') {
		push_names(&b, cwd && cwd[0] == '/' ? cwd : BOX_CWD);
		if (cwd && cwd[0] && cwd[0] != '/')
			push_names(&b, cwd);
	}
	push_names(&b, path);
	if (!b.len)
		buf_putc(&b, '/');
	size_t skip = clone_prefix(&b);
	buf_append(out, b.data + skip, b.len - skip);
}

bool pattern_path(const char *glob, const char *abs_path, const char *home)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (glob[0] == '~' && (glob[1] == '/' || !glob[1])) {
		buf_puts(&b, home);
		glob++;
	} else if (glob[0] != '/' && strncmp(glob, "**", 2) != 0) {
		buf_puts(&b, BOX_CWD "/");
		while (!strncmp(glob, "./", 2))
			glob += 2;
	}
	buf_puts(&b, glob);
	return glob_match(GLOB_PATH, buf_cstr(&b), abs_path, strlen(abs_path));
}

bool pattern_name(const char *glob, const char *name)
{
	return glob_match(GLOB_WORD, glob, name, strlen(name));
}

bool pattern_host(const char *pattern, const char *host, uint16_t port)
{
	char name[GLOB_MAX];
	size_t len = strlen(host), plen = strlen(pattern);
	const char *colon = strrchr(pattern, ':');
	/* an IPv6 address without a port */
	bool literal6 = colon && strchr(pattern, ':') != colon && colon[-1] != ']';
	if (plen >= sizeof(name))
		return false;
	memcpy(name, pattern, plen + 1);
	if (colon && !literal6 && colon[1] &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		unsigned want = 0;
		for (const char *d = colon + 1; *d && want < 100000; d++)
			want = want * 10 + (unsigned)(*d - '0');
		if (want != port)
			return false;
		name[colon - pattern] = 0;
		plen = (size_t)(colon - pattern);
	}
	if (plen > 1 && name[plen - 1] == '.')
		name[--plen] = 0;
	if (len > 1 && host[len - 1] == '.')
		len--;
	if (plen > 2 && name[0] == '[' && name[plen - 1] == ']' && host[0] != '[') {
		memmove(name, name + 1, plen - 2);
		name[plen - 2] = 0;
	}
	return glob_match(GLOB_HOST, name, host, len);
}
