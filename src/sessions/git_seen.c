#include "sessions/git_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"

enum { REFS_TEXT_MAX = 64 << 20, GITDIRS_MAX = 1000 };

static bool is_git_place(const char *p)
{
	return !strncmp(p, "refs/", 5) || !strncmp(p, "objects/", 8) || !strncmp(p, "logs/", 5) ||
	       !strncmp(p, "worktrees/", 10) || !strcmp(p, "HEAD") || !strcmp(p, "packed-refs");
}

/* Does a ref of this name keep work? Others are of remotes, or git's own for an operation under
 * way. */
static bool is_kept_ref(const char *name)
{
	static const char *const not [] = { "refs/remotes/",   "refs/bisect/",	"refs/rewritten/",
					    "refs/worktree/",  "refs/replace/", "refs/prefetch/",
					    "refs/sandglass/", GIT_SEEN_LEFT };
	for (size_t i = 0; i < ARRAY_LEN(not ); i++)
		if (!strncmp(name, not [i], strlen(not [i])))
			return false;
	return !strncmp(name, "refs/", 5);
}

/* How many bytes of @path are the repository's own directory; 0: it isn't in one. */
static size_t gitdir_len(const char *path)
{
	const char *git = NULL;
	for (const char *p = path; p && *p && !git; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strncmp(p, ".git/", 5))
			git = p + 4;
	if (!git)
		return 0;
	if (strncmp(git, "/modules/", 9) != 0)
		return is_git_place(git + 1) ? (size_t)(git - path) : 0;
	for (const char *p = strchr(git + 9, '/'); p; p = strchr(p + 1, '/'))
		if (is_git_place(p + 1))
			return (size_t)(p - path);
	return 0;
}

/* NULL: there are too many. */
static struct git_seen *seen_of(struct refs_reader *r, const char *path, size_t len)
{
	for (size_t k = 0; k <= r->nr; k++) { /* mostly the same as before */
		size_t i = k ? k - 1 : r->last;
		if (i < r->nr && strlen(r->seen[i].gitdir) == len &&
		    !memcmp(r->seen[i].gitdir, path, len)) {
			r->last = i;
			return &r->seen[i];
		}
	}
	r->more |= r->nr >= GITDIRS_MAX;
	if (r->nr >= GITDIRS_MAX)
		return NULL;
	GROW(r->seen, r->nr, r->cap);
	r->seen[r->nr] = (struct git_seen){ .gitdir = mem_strndup(path, len) };
	r->last = r->nr;
	return &r->seen[r->nr++];
}

static void id_list_put(struct id_list *l, const char *name, struct named_id of)
{
	GROW(l->item, l->nr, l->cap);
	of.name = mem_strdup(name);
	l->item[l->nr++] = of;
}

static void id_array_put(struct id_array *a, const struct object_id *id)
{
	GROW(a->item, a->nr, a->cap);
	a->item[a->nr++] = *id;
}

/* @names: the file may name branches. */
static bool refs_text(struct refs_reader *r, const struct object_id *id, bool names,
		      struct buf *out)
{
	enum object_type type;
	struct err none = ERR_INIT;
	if (r->full)
		return false;
	if (r->st->get(r->st->self, id, &type, out, &none) < 0) {
		r->unread |= names && !r->base;
		return false;
	}
	if (memchr(buf_cstr(out), 0, out->len)) /* git reads no ref from it */
		return false;
	r->text += out->len;
	r->full = r->text > REFS_TEXT_MAX;
	return !r->full;
}

/* How many digits the object name at @text has: 40, of SHA-256 64, 0. */
static size_t read_name(const char *text, struct named_id *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strspn(text, digits);
	char hex[41];
	if (len != 40 && len != 64)
		return 0;
	memcpy(hex, text, 40);
	hex[40] = 0;
	out->wide = len == 64;
	return object_parse(hex, &out->id) ? len : 0;
}

/* "ID NAME" lines. */
static void see_packed(struct git_seen *g, struct id_list *l, char *text)
{
	for (char *line = text, *next; line && *line; line = next) {
		struct named_id of = { 0 };
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		size_t len = read_name(line, &of);
		const char *name = line + len + 1;
		if (!len || line[len] != ' ')
			continue;
		if (is_kept_ref(name))
			id_list_put(l, name, of);
		else if (!strncmp(name, "refs/remotes/", 13))
			id_array_put(&g->remote, &of.id);
	}
}

/* A checkout that left a commit which no branch named: "OLD NEW who<tab>checkout: moving from ID".
 */
static void see_left(struct id_list *l, const char *line, size_t len)
{
	static const char from[] = "\tcheckout: moving from ";
	const char *at = memmem(line, len, from, sizeof(from) - 1);
	struct named_id of = { .loose = true }, old;
	char name[64];
	if (!at || !read_name(at + sizeof(from) - 1, &of) || !read_name(line, &old) ||
	    memcmp(&of.id, &old.id, sizeof(of.id)) != 0)
		return;
	snprintf(name, sizeof(name), GIT_SEEN_LEFT "%.12s", line);
	id_list_put(l, name, of);
}

/* Of all lines of a log of HEAD. */
static void see_all_left(struct id_list *l, const char *text)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		see_left(l, line, len);
		line += len + (line[len] == '\n');
	}
}

/* The newest entry of a log, or with @all each of them, the newest first. */
static void see_log(char *text, struct object_id *newest, struct id_list *all)
{
	size_t nr = 0;
	for (char *end = text + strlen(text); end > text;) {
		char *line = end - 1, name[32];
		struct named_id of = { .loose = true };
		while (line > text && line[-1] != '\n')
			line--;
		size_t old = strspn(line, "0123456789abcdef");
		if ((old == 40 || old == 64) && (size_t)(end - line) > 2 * old + 1 &&
		    read_name(line + old + 1, &of) == old) {
			if (newest && !nr)
				*newest = of.id;
			snprintf(name, sizeof(name), nr ? "refs/stash-%zu" : "refs/stash", nr);
			if (all)
				id_list_put(all, name, of);
			nr++;
		}
		end = line;
	}
}

static void see_head(struct git_seen *g, const char *text)
{
	size_t len = strcspn(text, "\r\n");
	CLEANUP(free_ptr) char *line = mem_strndup(text, len);
	if (!strncmp(line, "ref: ", 5)) {
		free(g->head_ref);
		g->head_ref = mem_strdup(line + 5);
	} else if (!object_parse(line, &g->head)) {
		g->head = (struct object_id){ 0 };
	}
}

static void see_object(struct git_seen *g, const char *rest, const struct object_id *blob)
{
	struct object_id id;
	if (!strncmp(rest, "pack/", 5))
		g->packs |= strstr(rest, ".pack") != NULL;
	else if (loose_name(rest, strlen(rest), &id)) {
		GROW(g->made, g->nr, g->cap);
		g->made[g->nr++] = (struct made_object){ .id = id, .blob = *blob };
	}
}

static void see_head_log(const struct refs_reader *r, struct git_seen *g, char *text)
{
	g->log_seen |= !r->base;
	if (!r->base)
		see_all_left(&g->now, text);
	see_log(text, r->base ? &g->base_head : &g->log_head, NULL);
}

/* @path: "NAME/HEAD" or "NAME/logs/HEAD". A HEAD that names a branch keeps nothing itself. */
static void see_worktree(const struct refs_reader *r, struct git_seen *g, const char *path,
			 const char *text)
{
	size_t len = strcspn(path, "/");
	struct named_id of = { .loose = true };
	CLEANUP(free_ptr) char *name = mem_printf("refs/worktrees/%.*s", (int)len, path);
	if (!strcmp(path + len, "/HEAD") && read_name(text, &of))
		id_list_put(r->base ? &g->base : &g->now, name, of);
	else if (!strcmp(path + len, "/logs/HEAD") && !r->base)
		see_all_left(&g->now, text);
}

static bool is_text_wanted(const char *rest)
{
	const char *in = !strncmp(rest, "worktrees/", 10) ? strchr(rest + 10, '/') : NULL;
	return in ? !strcmp(in, "/HEAD") || !strcmp(in, "/logs/HEAD")
		  : !strncmp(rest, "refs/", 5) || !strcmp(rest, "packed-refs") ||
			       !strcmp(rest, "logs/refs/stash") || !strcmp(rest, "logs/HEAD") ||
			       !strcmp(rest, "HEAD");
}

static void see_git_text(struct refs_reader *r, struct git_seen *g, const char *rest, char *text)
{
	struct id_list *list = r->base ? &g->base : &g->now;
	struct named_id of = { .loose = true };
	if (!strncmp(rest, "worktrees/", 10))
		see_worktree(r, g, rest + 10, text);
	else if (is_kept_ref(rest) && read_name(text, &of))
		id_list_put(list, rest, of);
	else if (!strncmp(rest, "refs/remotes/", 13) && read_name(text, &of))
		id_array_put(&g->remote, &of.id);
	else if (!strcmp(rest, "packed-refs"))
		see_packed(g, list, text);
	else if (!strcmp(rest, "logs/refs/stash"))
		see_log(text, NULL, list);
	else if (!strcmp(rest, "logs/HEAD"))
		see_head_log(r, g, text);
	else if (!strcmp(rest, "HEAD") && !r->base)
		see_head(g, text);
}

static bool see_entry(void *self, const char *path, size_t len, unsigned mode,
		      const struct object_id *oid, struct err *err)
{
	struct refs_reader *r = self;
	CLEANUP(free_ptr) char *whole = mem_strndup(path, len);
	size_t at = gitdir_len(whole);
	struct git_seen *g = at ? seen_of(r, whole, at) : NULL;
	(void)mode;
	(void)err;
	if (!g)
		return true;
	const char *rest = whole + at + 1;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	bool object = !strncmp(rest, "objects/", 8), wanted = is_text_wanted(rest);
	if (object && !r->base)
		see_object(g, rest + 8, oid);
	else if (!object && wanted && refs_text(r, oid, !strstr(rest, "logs/HEAD"), &text))
		see_git_text(r, g, rest, text.len ? text.data : (char[1]){ 0 });
	return true;
}

static int see_tree(struct refs_reader *r, const json_t *body, const char *key, struct err *err)
{
	struct object_id root;
	const char *hex = json_str(body, key, NULL);
	if (!hex || !object_parse(hex, &root))
		return 0;
	return tree_each(r->st, &root, false, see_entry, r, err);
}

/* --- in order --- */

static int cmp_id_order(const void *pa, const void *pb)
{
	const struct named_id *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);
	return c ? c : (int)b->loose - (int)a->loose;
}

static int cmp_id_names(const void *pa, const void *pb)
{
	const struct named_id *a = pa, *b = pb;
	return strcmp(a->name, b->name);
}

static int cmp_id_first(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct object_id));
}

static void id_list_order(struct id_list *l)
{
	size_t keep = 0;
	if (l->nr)
		qsort(l->item, l->nr, sizeof(*l->item), cmp_id_order);
	for (size_t i = 0; i < l->nr; i++)
		if (keep && !strcmp(l->item[keep - 1].name, l->item[i].name))
			free(l->item[i].name);
		else
			l->item[keep++] = l->item[i];
	l->nr = keep;
}

struct named_id *id_list_find(const struct id_list *l, const char *name)
{
	struct named_id key = { .name = (char *)(uintptr_t)name };
	return l->nr ? bsearch(&key, l->item, l->nr, sizeof(key), cmp_id_names) : NULL;
}

bool id_array_has(const struct id_array *a, const struct object_id *id)
{
	return a->nr && bsearch(id, a->item, a->nr, sizeof(*id), cmp_id_first);
}

struct made_object *made_find(const struct git_seen *g, const struct object_id *id)
{
	return g->nr ? bsearch(id, g->made, g->nr, sizeof(*g->made), cmp_id_first) : NULL;
}

int git_seen_read(struct refs_reader *r, const json_t *body, struct err *err)
{
	int rc = see_tree(r, body, "git", err);
	if (rc == 0)
		rc = see_tree(r, body, "tree", err);
	r->base = true;
	if (rc == 0)
		rc = see_tree(r, body, "git_under", err);
	if (rc == 0)
		rc = see_tree(r, body, "under", err);
	for (size_t i = 0; i < r->nr; i++) {
		struct git_seen *g = &r->seen[i];
		id_list_order(&g->now);
		id_list_order(&g->base);
		if (g->remote.nr)
			qsort(g->remote.item, g->remote.nr, sizeof(*g->remote.item), cmp_id_first);
		if (g->nr)
			qsort(g->made, g->nr, sizeof(*g->made), cmp_id_first);
	}
	return rc;
}

static void id_list_release(struct id_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->item[i].name);
	free(l->item);
}

void git_seen_release(struct refs_reader *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		free(r->seen[i].gitdir);
		free(r->seen[i].head_ref);
		free(r->seen[i].made);
		free(r->seen[i].remote.item);
		id_list_release(&r->seen[i].now);
		id_list_release(&r->seen[i].base);
	}
	free(r->seen);
}
