/* A .git for a subdirectory of a repository: the paths from the whole one's top become paths from
 * the subdirectory in refs and trees (workspace/gitsub.h), the index, and the ignored patterns and
 * attributes of the directories above. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/sha1.h"
#include "sandbox/view/git_index.h"
#include "sandbox/view/git_view.h"
#include "sandbox/workspace/gitsub.h"
#include "sandbox/workspace/ignore.h"

enum {
	FLAG_EXTENDED = 0x4000,
	FLAG_NAME = 0x0fff,
	STAT_LEN = 40,
	HEAD_LEN = STAT_LEN + SHA1_LEN + 2,
	PATTERNS_MAX = 1 << 20
};

/* --- the index --- */

struct new_index {
	const char *prefix;
	struct buf entries;
	uint32_t nr;
	bool extended, folders;
};

static void put_be32(struct buf *b, uint32_t v)
{
	char bytes[4];
	put_u32be(bytes, v);
	buf_append(b, bytes, sizeof(bytes));
}

static void git_sub_put_entry(struct new_index *x, const char *head, size_t head_len,
			      const char *path, size_t len)
{
	size_t start = x->entries.len;
	buf_append(&x->entries, head, head_len);
	unsigned char *flags = (unsigned char *)x->entries.data + start + HEAD_LEN - 2;
	unsigned f = (unsigned)flags[0] << 8 | flags[1];
	f = (f & ~(unsigned)FLAG_NAME) | (len < FLAG_NAME ? (unsigned)len : (unsigned)FLAG_NAME);
	flags[0] = (unsigned char)(f >> 8);
	flags[1] = (unsigned char)f;
	x->extended |= (f & FLAG_EXTENDED) != 0;
	x->folders |= len && path[len - 1] == '/';
	buf_append(&x->entries, path, len);
	for (size_t n = x->entries.len - start, to = (n + 8) & ~(size_t)7; n < to; n++)
		buf_putc(&x->entries, 0);
	x->nr++;
}

static void keep_entry(void *self, const struct git_entry *e)
{
	struct new_index *x = self;
	size_t n = strlen(x->prefix);
	if (e->len > n + 1 && !memcmp(e->path, x->prefix, n) && e->path[n] == '/')
		git_sub_put_entry(x, e->head, e->head_len, e->path + n + 1, e->len - n - 1);
}

/* Without times: git reads the file once. */
static bool git_sub_add_file(void *self, const char *path, size_t len, unsigned mode,
			     const struct object_id *id, struct err *err)
{
	char head[HEAD_LEN] = { 0 };
	(void)err;
	put_u32be(head + 24, mode);
	memcpy(head + STAT_LEN, id->b, sizeof(id->b));
	git_sub_put_entry(self, head, sizeof(head), path, len);
	return true;
}

/* A split index is put down in two files, one of which says what of the other holds: that of HEAD's
 * files is as good. */
static int git_sub_write_index(const struct git_made *m, const char *to,
			       const struct object_id *tree, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(to, "index");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct new_index x = { .prefix = m->prefix };
	uint8_t sum[SHA1_LEN];
	int rc = 0;
	if (git_index_split(&m->place) || !git_index_of(&m->place, keep_entry, &x)) {
		buf_reset(&x.entries);
		x.nr = 0;
		rc = gitsub_files(m->place.stores.item[0], tree, git_sub_add_file, &x, err);
	}
	buf_puts(&out, "DIRC");
	put_be32(&out, x.extended ? 3 : 2);
	put_be32(&out, x.nr);
	buf_append(&out, buf_cstr(&x.entries), x.entries.len);
	if (x.folders) {
		buf_puts(&out, "sdir");
		put_be32(&out, 0);
	}
	sha1_of(out.data, out.len, sum);
	buf_append(&out, sum, sizeof(sum));
	buf_release(&x.entries);
	return rc < 0 ? -1 : file_write_renamed(path, out.data, out.len, 0644, err);
}

/* --- patterns of the directories above --- */

/* The rest of an anchored pattern below @way ("packages/one"); NULL: it says nothing about what is
 * there. */
static const char *rest_below(const char *pattern, const char *way)
{
	const char *p = pattern, *w = way;
	while (*w) {
		size_t pn = strcspn(p, "/"), wn = strcspn(w, "/");
		if (pn == 2 && !memcmp(p, "**", 2))
			return p;
		if (!ignore_glob(p, pn, w, wn) || p[pn] != '/')
			return NULL;
		p += pn + 1;
		w += wn;
		w += *w == '/';
	}
	return *p ? p : NULL;
}

static void put_pattern(struct buf *out, const char *line, size_t len, const char *way)
{
	CLEANUP(free_ptr) char *text = mem_strndup(line, len);
	char *word = text, *end;
	bool negated = *word == '!';
	word += negated;
	if (!*word || *word == '#' || *word == '\r')
		return;
	for (end = word; *end && *end != ' ' && *end != '\t'; end++)
		if (*end == '\\' && end[1])
			end++;
	CLEANUP(free_ptr) char *more = mem_strdup(end);
	*end = 0;
	size_t n = strlen(word);
	bool anchored = memchr(word, '/', n > 1 ? n - 1 : 0) != NULL;
	const char *rest = anchored ? rest_below(word + (*word == '/'), way) : NULL;
	if (!anchored)
		buf_printf(out, "%s%s%s\n", negated ? "!" : "", word, more);
	else if (rest)
		buf_printf(out, "%s%s%s%s\n", negated ? "!" : "", strncmp(rest, "**", 2) ? "/" : "",
			   rest, more);
}

/* From the top down to the subdirectory: later lines are stronger. */
static void patterns_above(const struct git_made *m, const char *name, struct buf *out)
{
	for (const char *way = m->prefix; *way;) {
		CLEANUP(free_ptr)
		char *path = mem_printf("%s/%.*s%s", m->place.top, (int)(way - m->prefix),
					m->prefix, name);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		git_read_file(path, &text, PATTERNS_MAX);
		for (size_t at = 0; at < text.len;) {
			const char *nl = memchr(text.data + at, '\n', text.len - at);
			size_t n = nl ? (size_t)(nl - text.data) - at : text.len - at;
			put_pattern(out, text.data + at, n, way);
			at += n + 1;
		}
		way += strcspn(way, "/");
		way += *way == '/';
	}
}

void git_sub_patterns(const struct git_made *m, struct buf *excludes, struct buf *attributes)
{
	patterns_above(m, ".gitignore", excludes);
	patterns_above(m, ".gitattributes", attributes);
}

/* --- */

bool git_sub_tracked(const struct git_place *p, const char *prefix)
{
	struct new_index x = { .prefix = prefix };
	git_index_of(p, keep_entry, &x);
	buf_release(&x.entries);
	return x.nr > 0;
}

int git_sub_finish(const struct git_made *m, const char *to, struct err *err)
{
	static const char *const of_whole[] = { "info/sparse-checkout", "ORIG_HEAD", "AUTO_MERGE" };
	struct object_id tree;
	if (gitsub_write(m->place.stores.item[0], to, m->prefix, &tree, err) < 0 ||
	    git_sub_write_index(m, to, &tree, err) < 0)
		return err_wrap(err, "'%s' of the repository '%s'", m->prefix, m->place.top);
	for (size_t i = 0; i < ARRAY_LEN(of_whole); i++) {
		CLEANUP(free_ptr) char *path = path_join(to, of_whole[i]);
		(void)unlink(path);
	}
	return 0;
}
