#include "sandbox/notice.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { NAMED = 5, PATH_SHOWN = 80 };

static const struct {
	const char *what;
	const char *as;	 /* before the paths */
	const char *fix; /* NULL: nothing helps */
} notice_kinds[] = {
	[NOTICE_MASKED] = { "masked", "", "sandbox option expose = { \"PATH\" } shows it" },
	[NOTICE_CLEANED] = { "cleaned", "credentials of ",
			     "sandbox option expose = { \"PATH\" } shows it as it is" },
	[NOTICE_MOUNT] = { "mount", "files mounted at ",
			   "open the mounted directory as a repository of its own (repos)" },
	[NOTICE_UNREADABLE] = { "unreadable", "",
				"make it readable for the owner of the repository" },
	[NOTICE_DEEP] = { "deep", "files below ", "move it up" },
	[NOTICE_LAYOUT] = { "layout", "", NULL },
	[NOTICE_HISTORY] = { "history", "",
			     "mask = { history = true } refuses to open such a repository" },
	[NOTICE_SNAPSHOT] = { "snapshot", "", "'sandglass events' shows snapshot.failed" },
};
static const char *const notice_places[] = {
	[NOTICE_SANDBOX] = "sandbox", [NOTICE_RECORDING] = "recording"
};

static bool notice_is_kind(const json_t *n, enum notice_kind kind)
{
	return !strcmp(json_str(n, "what", ""), notice_kinds[kind].what);
}

static json_t *notice_like(json_t *list, enum notice_place in, enum notice_kind kind,
			   const char *repo, const char *why)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *n = json_array_get(list, i);
		if (notice_is_kind(n, kind) &&
		    !strcmp(json_str(n, "not_in", ""), notice_places[in]) &&
		    !strcmp(json_str(n, "repo", ""), repo) && !strcmp(json_str(n, "why", ""), why))
			return n;
	}
	json_t *n = json_object();
	json_put_str(n, "not_in", notice_places[in]);
	json_put_str(n, "what", notice_kinds[kind].what);
	json_put_str(n, "repo", repo);
	json_put_str(n, "why", why);
	json_put(n, "paths", json_array());
	json_array_append_new(list, n);
	return n;
}

void notice_add(json_t *list, enum notice_place in, enum notice_kind kind, const char *repo,
		const json_t *path, const char *why)
{
	json_t *n = notice_like(list, in, kind, repo ? repo : "", why ? why : "");
	json_t *paths = json_object_get(n, "paths");
	if (path && json_array_size(paths) < NOTICE_PATHS)
		json_array_append(paths, (json_t *)(uintptr_t)path);
	json_put_int(n, "count", json_int(n, "count", 0) + (path != NULL));
}

/* --- words --- */

/* Without control characters and bytes that are not UTF-8. */
static void notice_put_plain(struct buf *out, const json_t *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool utf8 = json_is_string(path);
	if (!json_get_bytes(path, &b))
		return;
	for (size_t i = 0; i < b.len && i < PATH_SHOWN; i++) {
		unsigned char c = (unsigned char)b.data[i];
		if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
			buf_printf(out, "\\x%02x", c);
		else
			buf_putc(out, (char)c);
	}
	if (b.len > PATH_SHOWN) {
		while (out->len && ((unsigned char)out->data[out->len - 1] & 0xc0) == 0x80)
			out->len--; /* no half of a character */
		if (out->len && (unsigned char)out->data[out->len - 1] >= 0xc0)
			out->len--;
		out->data[out->len] = 0;
		buf_puts(out, "..");
	}
}

static void put_paths(struct buf *out, const json_t *n)
{
	const json_t *paths = json_object_get(n, "paths");
	const char *repo = json_str(n, "repo", "");
	int64_t count = json_int(n, "count", 0);
	size_t i;
	for (i = 0; i < json_array_size(paths) && i < NAMED; i++) {
		buf_printf(out, "%s%s%s", i ? ", " : "", repo, *repo ? "/" : "");
		notice_put_plain(out, json_array_get(paths, i));
	}
	if (count > (int64_t)i)
		buf_printf(out, "%s%lld more", i ? " and " : "", (long long)count - (long long)i);
}

static void notice_word(json_t *n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t k = 0;
	while (k < ARRAY_LEN(notice_kinds) && !notice_is_kind(n, (enum notice_kind)k))
		k++;
	if (k == ARRAY_LEN(notice_kinds))
		return;
	const char *why = json_str(n, "why", "");
	if (k == NOTICE_LAYOUT || (k == NOTICE_HISTORY && !json_int(n, "count", 0))) {
		buf_puts(&b, why);
		why = "";
	} else if (k == NOTICE_HISTORY) {
		buf_puts(&b, "hidden in this sandbox, but readable from git's history: ");
		put_paths(&b, n);
	} else {
		buf_printf(&b, "not in this %s: %s", json_str(n, "not_in", ""), notice_kinds[k].as);
		put_paths(&b, n);
	}
	bool paths = json_int(n, "count", 0) > 0;
	if (*why)
		buf_printf(&b, paths ? " (%s)" : "%s", why);
	json_put_bytes(n, "text", b.data, b.len);
	if (notice_kinds[k].fix)
		json_put_str(n, "fix", notice_kinds[k].fix);
}

void notices_word(json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		notice_word(json_array_get(list, i));
}

bool notice_same(const json_t *a, const json_t *b)
{
	return !strcmp(json_str(a, "text", ""), json_str(b, "text", "")) &&
	       json_int(a, "count", 0) == json_int(b, "count", 0);
}

/* --- from facts --- */

/* [{repo, path, why}] */
static void add_each(json_t *list, const json_t *facts, enum notice_place in, enum notice_kind kind)
{
	size_t i;
	json_t *f;
	json_array_foreach((json_t *)(uintptr_t)facts, i, f)
	{
		bool cleaned = json_flag(f, "shown_cleaned", false),
		     deep = json_flag(f, "deep", false);
		notice_add(list, in,
			   cleaned ? NOTICE_CLEANED
			   : deep  ? NOTICE_DEEP
				   : kind,
			   json_str(f, "repo", ""), json_object_get(f, "path"),
			   cleaned ? "" : json_str(f, "why", ""));
	}
}

static void add_paths(json_t *list, const json_t *paths, enum notice_kind kind, const char *repo,
		      const char *why)
{
	size_t i;
	json_t *p;
	json_array_foreach((json_t *)(uintptr_t)paths, i, p)
		notice_add(list, NOTICE_RECORDING, kind, repo, p, why);
}

json_t *notices_of_ready(const json_t *ready)
{
	json_t *list = json_array(), *limit;
	size_t i;
	add_each(list, json_object_get(ready, "masked"), NOTICE_SANDBOX, NOTICE_MASKED);
	json_array_foreach(json_object_get(ready, "mounts"), i, limit)
		notice_add(list, NOTICE_SANDBOX, NOTICE_MOUNT, "", limit, "too large to copy");
	add_each(list, json_object_get(ready, "unreadable"), NOTICE_SANDBOX, NOTICE_UNREADABLE);
	add_each(list, json_object_get(ready, "history"), NOTICE_SANDBOX, NOTICE_HISTORY);
	json_array_foreach(json_object_get(ready, "git_limits"), i, limit)
		notice_add(list, NOTICE_SANDBOX, NOTICE_LAYOUT, "", NULL, json_string_value(limit));
	notices_word(list);
	return list;
}

json_t *notices_of_snapshot(const json_t *taken)
{
	json_t *list = json_array();
	const char *repo = json_str(taken, "repo", "");
	add_paths(list, json_object_get(taken, "deep"), NOTICE_DEEP, repo,
		  "more directories deep than snapshots go");
	add_paths(list, json_object_get(taken, "unlisted"), NOTICE_UNREADABLE, repo,
		  "directories that can't be listed");
	add_paths(list, json_object_get(taken, "unread"), NOTICE_UNREADABLE, repo,
		  "files that can't be read");
	notices_word(list);
	return list;
}
