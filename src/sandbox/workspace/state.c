#include "sandbox/workspace/state.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const kind_name[] = { "none", "file",   "link", "dir",
					 "fifo", "socket", "chr",  "blk" };

enum ws_kind ws_kind_of(unsigned st_mode)
{
	switch (st_mode & S_IFMT) {
	case S_IFREG:
		return WS_FILE;
	case S_IFLNK:
		return WS_LINK;
	case S_IFDIR:
		return WS_DIR;
	case S_IFIFO:
		return WS_FIFO;
	case S_IFSOCK:
		return WS_SOCK;
	case S_IFCHR:
		return WS_CHR;
	case S_IFBLK:
		return WS_BLK;
	default:
		return WS_NONE;
	}
}

const char *ws_kind_name(enum ws_kind k)
{
	return kind_name[k];
}

bool ws_kind_find(const char *name, enum ws_kind *out)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_name); i++)
		if (!strcmp(kind_name[i], name)) {
			*out = (enum ws_kind)i;
			return true;
		}
	return false;
}

bool ws_has_content(const struct ws_state *s)
{
	return s->kind == WS_FILE || s->kind == WS_LINK;
}

bool ws_state_eq(const struct ws_state *a, const struct ws_state *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == WS_NONE)
		return true;
	if ((a->flags | b->flags) & WS_UNREADABLE)
		return false;
	return a->mode == b->mode && memcmp(&a->oid, &b->oid, sizeof(a->oid)) == 0;
}

char ws_state_op(const struct ws_state *was, const struct ws_state *now)
{
	if (was->kind == WS_NONE)
		return 'A';
	if (now->kind == WS_NONE)
		return 'D';
	if (was->kind != now->kind)
		return 'T';
	return memcmp(&was->oid, &now->oid, sizeof(was->oid)) == 0 &&
			       !((was->flags | now->flags) & WS_UNREADABLE)
		       ? 'm'
		       : 'M';
}

unsigned ws_git_mode(const struct ws_state *s)
{
	switch ((enum ws_kind)s->kind) {
	case WS_FILE:
		return s->mode & 0100 ? 0100755 : 0100644;
	case WS_LINK:
		return 0120000;
	case WS_DIR:
		return 040000;
	case WS_NONE:
	case WS_FIFO:
	case WS_SOCK:
	case WS_CHR:
	case WS_BLK:
		break;
	}
	return 0;
}

bool ws_state_plain(const struct ws_state *s)
{
	if (s->flags || s->nlink > 1)
		return false;
	if (s->kind == WS_LINK)
		return true;
	return s->kind == WS_FILE && (s->mode == 0644 || s->mode == 0755);
}

int ws_path_cmp(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);
	return c ? c : (a_len > b_len) - (a_len < b_len);
}

bool ws_path_in(const struct strv *sorted, const char *path, size_t len)
{
	size_t lo = 0, hi = sorted->nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = ws_path_cmp(path, len, sorted->item[mid], sorted->len[mid]);
		if (c == 0)
			return true;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return false;
}

/* ".git", its 8.3 short name, and either with the trailing dots and blanks that some file systems
 * drop. */
static bool component_is_git(const char *s, size_t len)
{
	while (len && (s[len - 1] == '.' || s[len - 1] == ' '))
		len--;
	return (len == 4 && !strncasecmp(s, ".git", 4)) ||
	       (len == 5 && !strncasecmp(s, "git~1", 5)) ||
	       (len > 5 && !strncasecmp(s, ".git:", 5));
}

static bool component_is_vcs(const char *s, size_t len)
{
	static const char *const name[] = { ".hg", ".svn", ".jj", ".bzr", "_darcs", ".pijul" };
	while (len && (s[len - 1] == '.' || s[len - 1] == ' '))
		len--;
	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		if (strlen(name[i]) == len && !strncasecmp(s, name[i], len))
			return true;
	return false;
}

static bool any_component(const char *path, size_t len, bool (*test)(const char *s, size_t len))
{
	for (size_t i = 0; i <= len;) {
		const char *slash = i < len ? memchr(path + i, '/', len - i) : NULL;
		size_t end = slash ? (size_t)(slash - path) : len;
		if (test(path + i, end - i))
			return true;
		i = end + 1;
	}
	return false;
}

bool ws_path_is_git(const char *path, size_t len)
{
	return any_component(path, len, component_is_git);
}

bool ws_path_is_vcs(const char *path, size_t len)
{
	return any_component(path, len, component_is_vcs);
}
