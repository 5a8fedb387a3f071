#include "sandbox/workspace/ignore.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/state.h"
#include "base/beneath.h"

enum { FILE_MAX = 1 << 20, INDEX_MAX = 256 << 20 };

struct pattern {
	char *text;
	size_t len;
	/* anchored: matched against the path below its file, else against the name */
	bool negated, dir_only, anchored;
};

/* The rules of one file; later ones win, deeper files win. */
struct rules {
	char *dir; /* "" or "a/b" */
	size_t dir_len;
	const struct rules *above; /* of the nearest directory over it that has any; NULL = none */
	struct pattern *item;
	size_t nr, cap;
};

struct ignore {
	int lower;
	struct rules **loaded; /* sorted by dir */
	size_t nr, cap;
	struct rules *exclude, *more;
	bool have_index;
	struct strv index; /* tracked paths, sorted */
};

/* --- globs --- */

static bool match_class(const char *p, size_t len, unsigned char c, size_t *used)
{
	size_t i = 1;
	bool negate = i < len && (p[i] == '!' || p[i] == '^'), hit = false;
	i += negate;
	for (size_t first = i; i < len && (p[i] != ']' || i == first); i++) {
		if (p[i] == '\\' && i + 1 < len)
			i++;
		unsigned char lo = (unsigned char)p[i], hi = lo;
		if (i + 2 < len && p[i + 1] == '-' && p[i + 2] != ']') {
			hi = (unsigned char)p[i + 2];
			i += 2;
		}
		hit |= c >= lo && c <= hi;
	}
	if (i >= len)
		return false; /* no end: never matches */
	*used = i + 1;
	return hit != negate;
}

enum { PATTERN_MAX = 4096 };

struct glob {
	const char *p;
	size_t len;
	bool *on; /* places of the pattern that have been reached; [len] is its end */
};

/* "**" that stands for whole components: at the beginning or behind a slash, and at the end or
 * before one. */
static bool ignore_doubled(const struct glob *g, size_t i)
{
	return g->len - i >= 2 && g->p[i] == '*' && g->p[i + 1] == '*' &&
	       (i == 0 || g->p[i - 1] == '/') && (i + 2 == g->len || g->p[i + 2] == '/');
}

/* Reaches place @i, and the places reachable from it without a byte of text. */
static void ignore_reach(struct glob *g, size_t i)
{
	while (i <= g->len && !g->on[i]) {
		g->on[i] = true;
		if (i == g->len || g->p[i] != '*')
			return;
		if (!ignore_doubled(g, i))
			i++; /* a star may stand for nothing */
		else if (i + 2 < g->len)
			i += 3; /* as may the slash behind the two */
		else
			return;
	}
}

/* Where byte @c leads from place @i. */
static void ignore_step(const struct glob *from, struct glob *to, size_t i, char c)
{
	size_t used;
	const char *p = from->p + i;
	if (i && i + 1 == from->len && ignore_doubled(from, i - 1)) { /* within a last "**" */
		ignore_reach(to, i);
	} else if (ignore_doubled(from, i)) {
		if (i + 2 == from->len) {
			/* "a/" followed by anything at all */
			to->on[i + 1] = to->on[from->len] = true;
			return;
		}
		to->on[i] = true;
		if (c == '/')
			ignore_reach(to, i + 3);
	} else if (*p == '*') {
		if (c != '/')
			ignore_reach(to, i);
	} else if (*p == '?') {
		if (c != '/')
			ignore_reach(to, i + 1);
	} else if (*p == '[') {
		if (c != '/' && match_class(p, from->len - i, (unsigned char)c, &used))
			ignore_reach(to, i + used);
	} else if (*p == '\\' && i + 1 < from->len) {
		if (p[1] == c)
			ignore_reach(to, i + 2);
	} else if (*p == c) {
		ignore_reach(to, i + 1);
	}
}

/* All places at once, so that the cost is the product of the lengths whatever the pattern is. */
bool ignore_glob(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	if (pattern_len > PATTERN_MAX)
		return false;
	bool a[PATTERN_MAX + 1], b[PATTERN_MAX + 1];
	struct glob now = { pattern, pattern_len, a }, next = { pattern, pattern_len, b };
	memset(a, 0, pattern_len + 1);
	ignore_reach(&now, 0);
	for (size_t k = 0; k < len; k++) {
		bool any = false;
		memset(next.on, 0, pattern_len + 1);
		for (size_t i = 0; i < pattern_len; i++)
			if (now.on[i]) {
				ignore_step(&now, &next, i, text[k]);
				any = true;
			}
		if (!any)
			return false;
		bool *swap = now.on;
		now.on = next.on;
		next.on = swap;
	}
	return now.on[pattern_len];
}

/* --- files --- */

static void ignore_add_pattern(struct rules *r, const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		len--;
	while (len && line[len - 1] == ' ' && !(len > 1 && line[len - 2] == '\\'))
		len--;
	struct pattern p = { 0 };
	if (!len || line[0] == '#')
		return;
	if (line[0] == '!') {
		p.negated = true;
		line++;
		len--;
	}
	if (len && line[len - 1] == '/') {
		p.dir_only = true;
		len--;
	}
	if (!len)
		return;
	p.anchored = memchr(line, '/', len) != NULL;
	if (line[0] == '/') {
		line++;
		len--;
	}
	p.text = mem_strndup(line, len);
	p.len = len;
	GROW(r->item, r->nr, r->cap);
	r->item[r->nr++] = p;
}

static void parse_rules(struct rules *r, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		const char *nl = memchr(text + i, '\n', len - i);
		size_t n = nl ? (size_t)(nl - text) - i : len - i;
		ignore_add_pattern(r, text + i, n);
		i += n + 1;
	}
}

static struct rules *rules_new(const char *dir, size_t len)
{
	struct rules *r = NEW(struct rules);
	r->dir = mem_strndup(dir, len);
	r->dir_len = len;
	return r;
}

static void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr; i++)
		free(r->item[i].text);
	free(r->item);
	free(r->dir);
	free(r);
}

static bool read_lower(struct ignore *ig, const char *path, size_t len, size_t max, struct buf *out)
{
	struct err err = ERR_INIT;
	if (ig->lower < 0)
		return false;
	CLEANUP(fd_close)
	int fd = beneath_open(ig->lower, path, len, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && fd_read_all(fd, out, max, &err) == 0;
}

static bool find_rules(const struct ignore *ig, const char *dir, size_t len, size_t *at_out)
{
	size_t lo = 0, hi = ig->nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = ws_path_cmp(dir, len, ig->loaded[mid]->dir, ig->loaded[mid]->dir_len);
		*at_out = mid;
		if (c == 0)
			return true;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	*at_out = lo;
	return false;
}

static size_t parent_len(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	return slash ? (size_t)(slash - path) : 0;
}

static struct rules *ignore_load_rules(struct ignore *ig, const char *dir, size_t len)
{
	struct rules *r = rules_new(dir, len);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_append(&b, dir, len);
	buf_puts(&b, len ? "/.gitignore" : ".gitignore");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (read_lower(ig, buf_cstr(&b), b.len, FILE_MAX, &text))
		parse_rules(r, buf_cstr(&text), text.len);
	return r;
}

/* Directories lie as deep as a box likes: each remembers who has something to say above it, so
 * that nobody climbs in vain. The recursion ends at the first directory that is known, which is
 * the parent when a walk comes from above. */
static struct rules *rules_of(struct ignore *ig, const char *dir, size_t len)
{
	size_t at;
	if (find_rules(ig, dir, len, &at))
		return ig->loaded[at];
	const struct rules *parent = len ? rules_of(ig, dir, parent_len(dir, len)) : NULL;
	struct rules *r = ignore_load_rules(ig, dir, len);
	r->above = parent && !parent->nr ? parent->above : parent;
	(void)find_rules(ig, dir, len, &at);
	GROW(ig->loaded, ig->nr, ig->cap);
	memmove(ig->loaded + at + 1, ig->loaded + at, (ig->nr - at) * sizeof(struct rules *));
	ig->loaded[at] = r;
	ig->nr++;
	return r;
}

struct ignore *ignore_new(int lower, const char *const *more, size_t nr_more)
{
	struct ignore *ig = NEW(struct ignore);
	ig->lower = lower;
	ig->exclude = rules_new("", 0);
	ig->more = rules_new("", 0);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	static const char name[] = ".git/info/exclude";
	if (read_lower(ig, name, sizeof(name) - 1, FILE_MAX, &text))
		parse_rules(ig->exclude, buf_cstr(&text), text.len);
	for (size_t i = 0; i < nr_more; i++)
		ignore_add_pattern(ig->more, more[i], strlen(more[i]));
	return ig;
}

void ignore_free(struct ignore **ig)
{
	if (!*ig)
		return;
	for (size_t i = 0; i < (*ig)->nr; i++)
		rules_free((*ig)->loaded[i]);
	rules_free((*ig)->exclude);
	rules_free((*ig)->more);
	strv_release(&(*ig)->index);
	free((*ig)->loaded);
	free(*ig);
	*ig = NULL;
}

/* 1 ignored, 0 re-admitted, -1 the rules say nothing. */
static int ignore_judge(const struct rules *r, const char *path, size_t len, bool dir)
{
	const char *below = path + (r->dir_len ? r->dir_len + 1 : 0);
	size_t below_len = len - (size_t)(below - path);
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
	size_t name_len = len - (size_t)(name - path);
	for (size_t i = r->nr; i-- > 0;) {
		const struct pattern *p = &r->item[i];
		if (p->dir_only && !dir)
			continue;
		if (p->anchored ? ignore_glob(p->text, p->len, below, below_len)
				: ignore_glob(p->text, p->len, name, name_len))
			return !p->negated;
	}
	return -1;
}

bool ignore_match(struct ignore *ig, const char *path, size_t len, bool dir)
{
	int v = ignore_judge(ig->more, path, len, dir);
	if (v > 0)
		return true;
	if (ig->lower < 0)
		return false;
	for (const struct rules *r = len ? rules_of(ig, path, parent_len(path, len)) : NULL; r;
	     r = r->above) {
		v = ignore_judge(r, path, len, dir);
		if (v >= 0)
			return v > 0;
	}
	return ignore_judge(ig->exclude, path, len, dir) > 0;
}

bool ignore_covers(struct ignore *ig, const char *path, size_t len, bool dir)
{
	for (size_t i = 1; i < len; i++)
		if (path[i] == '/' && ignore_match(ig, path, i, true))
			return true;
	return len && ignore_match(ig, path, len, dir);
}

/* --- the index (gitformat-index(5)), versions 2 to 4: only the names are taken --- */

static int cmp_str(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint32_t ignore_be32(const char *p)
{
	const uint8_t *b = (const void *)p;
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void parse_index(struct ignore *ig, const char *p, size_t len)
{
	if (len < 12 || memcmp(p, "DIRC", 4) != 0)
		return;
	uint32_t version = ignore_be32(p + 4), nr = ignore_be32(p + 8);
	size_t at = 12;
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	if (version < 2 || version > 4)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		size_t start = at, head = 62;
		if (len - at < head)
			return;
		if (version >= 3 && (p[at + 60] & 0x40))
			head += 2;
		if (len - at < head)
			return;
		at += head;
		if (version == 4) {
			size_t strip = 0;
			unsigned char c;
			int n = 0;
			do { /* git's offset encoding */
				if (at >= len || n++ > 4)
					return;
				c = (unsigned char)p[at++];
				strip = n == 1 ? (c & 127u) : ((strip + 1) << 7 | (c & 127u));
			} while (c & 128);
			if (strip > name.len)
				return;
			name.len -= strip;
		} else {
			buf_reset(&name);
		}
		const char *nul = memchr(p + at, 0, len - at);
		if (!nul)
			return;
		buf_append(&name, p + at, (size_t)(nul - p) - at);
		strv_push_bytes(&ig->index, buf_cstr(&name), name.len);
		at = version == 4 ? (size_t)(nul - p) + 1
				  : start + ((((size_t)(nul - p) - start) + 8) & ~(size_t)7);
		if (at > len)
			return;
	}
}

bool ignore_tracked(struct ignore *ig, const char *path, size_t len)
{
	if (!ig->have_index) {
		ig->have_index = true;
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		static const char name[] = ".git/index";
		if (read_lower(ig, name, sizeof(name) - 1, INDEX_MAX, &b))
			parse_index(ig, buf_cstr(&b), b.len);
		if (ig->index.nr)
			qsort(ig->index.item, ig->index.nr, sizeof(char *), cmp_str);
	}
	CLEANUP(free_ptr) char *key = mem_strndup(path, len);
	return ig->index.nr &&
	       bsearch(&key, ig->index.item, ig->index.nr, sizeof(char *), cmp_str) != NULL;
}
