#include "sandbox/workspace/gitsub.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/git.h"
#include "sandbox/workspace/tree.h"

enum { PACKED_MAX = 64 << 20, REF_MAX = 4096, SLOTS = 1 << 15, PEEL_MAX = 5 };

struct sub_ref {
	char *name;
	struct object_id id, commit;
	bool loose;
};
struct sub_commit {
	struct object_id id, tree, sub;
	int64_t time;
	size_t first_parent, nr_parents; /* in parent */
	bool queued, read, missing;
};
struct sub_walk {
	git_odb *odb;
	const char *git, *prefix;
	struct sub_ref *ref;
	size_t nr_refs, cap_refs;
	struct sub_commit *commit;
	size_t nr, cap, nr_read;
	struct object_id *parent;
	size_t nr_parents, cap_parents;
	uint32_t *slot; /* number of a commit + 1 */
	struct object_id head;
};

static const char empty_tree[] = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/* --- objects --- */

static git_odb_object *read_object(struct sub_walk *w, const struct object_id *id)
{
	git_oid oid;
	git_odb_object *o = NULL;
	memcpy(oid.id, id->b, sizeof(id->b));
	return git_odb_read(&o, w->odb, &oid) == 0 ? o : NULL;
}

static int gitsub_odb_get(void *self, const struct object_id *id, enum object_type *type_out,
			  struct buf *out, struct err *err)
{
	git_odb_object *o = read_object(self, id);
	if (!o)
		return err_set(err, ERR_NOENT, "an object of the repository is missing");
	*type_out = git_odb_object_type(o) == GIT_OBJECT_TREE ? OBJECT_TREE : OBJECT_BLOB;
	buf_reset(out);
	buf_append(out, git_odb_object_data(o), git_odb_object_size(o));
	git_odb_object_free(o);
	return 0;
}

/* --- commits --- */

static size_t gitsub_slot_of(const struct sub_walk *w, const struct object_id *id)
{
	size_t at = get_u32le(id->b) & (SLOTS - 1);
	while (w->slot[at] && memcmp(&w->commit[w->slot[at] - 1].id, id, sizeof(*id)) != 0)
		at = (at + 1) & (SLOTS - 1);
	return at;
}

static struct sub_commit *commit_of(struct sub_walk *w, const struct object_id *id)
{
	size_t at = gitsub_slot_of(w, id);
	if (w->slot[at])
		return &w->commit[w->slot[at] - 1];
	if (w->nr >= SLOTS / 2)
		return NULL;
	GROW(w->commit, w->nr, w->cap);
	w->commit[w->nr] = (struct sub_commit){ .id = *id };
	w->slot[at] = (uint32_t)++w->nr;
	return &w->commit[w->nr - 1];
}

static int64_t committed_at(const char *line, size_t len)
{
	const char *close = memrchr(line, '>', len);
	return close ? strtoll(close + 1, NULL, 10) : 0;
}

/* Its tree, parents and time; false: it is not there, or no commit. */
static bool read_commit(struct sub_walk *w, size_t i)
{
	struct sub_commit *c = &w->commit[i];
	git_odb_object *o = read_object(w, &c->id);
	if (!o || git_odb_object_type(o) != GIT_OBJECT_COMMIT) {
		git_odb_object_free(o);
		c->missing = true;
		return false;
	}
	const char *at = git_odb_object_data(o), *end = at + git_odb_object_size(o);
	c->first_parent = w->nr_parents;
	while (at < end && *at != '\n') {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = nl ? (size_t)(nl - at) : (size_t)(end - at);
		CLEANUP(free_ptr) char *line = mem_strndup(at, n);
		struct object_id id;
		if (!strncmp(line, "tree ", 5) && object_parse(line + 5, &id)) {
			c->tree = id;
		} else if (!strncmp(line, "parent ", 7) && object_parse(line + 7, &id)) {
			GROW(w->parent, w->nr_parents, w->cap_parents);
			w->parent[w->nr_parents++] = id;
			c->nr_parents++;
		} else if (!strncmp(line, "committer ", 10)) {
			c->time = committed_at(line, n);
		}
		at += n + 1;
	}
	git_odb_object_free(o);
	return true;
}

static void queue_commit(struct sub_walk *w, const struct object_id *id)
{
	struct sub_commit *c = commit_of(w, id);
	if (!c || c->queued)
		return;
	c->queued = true;
	read_commit(w, (size_t)(c - w->commit));
}

/* The newest of those that wait; HEAD's own first of all. */
static struct sub_commit *next_commit(struct sub_walk *w)
{
	struct sub_commit *best = NULL;
	for (size_t i = 0; i < w->nr; i++) {
		struct sub_commit *c = &w->commit[i];
		if (!c->queued || c->read || c->missing)
			continue;
		if (!memcmp(&c->id, &w->head, sizeof(c->id)))
			return c;
		if (!best || c->time > best->time)
			best = c;
	}
	return best;
}

static int sub_tree(struct sub_walk *w, struct sub_commit *c, struct err *err)
{
	const struct ws_store st = { .get = gitsub_odb_get, .self = w };
	unsigned mode = 0;
	int rc = tree_find(&st, &c->tree, w->prefix, strlen(w->prefix), &mode, &c->sub, err);
	if (rc < 0)
		return -1;
	if (rc == 0 || mode != TREE_MODE_DIR)
		return object_parse(empty_tree, &c->sub)
			       ? 0
			       : err_set(err, ERR_PARSE, "the empty tree");
	return 0;
}

static int walk_history(struct sub_walk *w, struct err *err)
{
	struct sub_commit *c;
	if (!object_is_null(&w->head))
		queue_commit(w, &w->head);
	for (size_t i = 0; i < w->nr_refs; i++)
		queue_commit(w, &w->ref[i].commit);
	while (w->nr_read < SUB_COMMITS_MAX && (c = next_commit(w))) {
		size_t first = c->first_parent, nr = c->nr_parents;
		c->read = true;
		w->nr_read++;
		if (sub_tree(w, c, err) < 0)
			return err_wrap(err, "a commit's tree");
		for (size_t k = 0; k < nr; k++) {
			const struct object_id parent = w->parent[first + k];
			queue_commit(w, &parent);
		}
	}
	return 0;
}

/* --- refs --- */

/* The commit that a ref leads to, through tags. */
static bool peel_ref(struct sub_walk *w, struct sub_ref *r)
{
	struct object_id id = r->id;
	for (int i = 0; i < PEEL_MAX; i++) {
		git_odb_object *o = read_object(w, &id);
		git_object_t type = o ? git_odb_object_type(o) : GIT_OBJECT_INVALID;
		CLEANUP(free_ptr)
		char *text = type == GIT_OBJECT_TAG
				     ? mem_strndup(git_odb_object_data(o), git_odb_object_size(o))
				     : NULL;
		git_odb_object_free(o);
		if (type == GIT_OBJECT_COMMIT) {
			r->commit = id;
			return true;
		}
		if (!text || strncmp(text, "object ", 7) != 0 || strlen(text) < 47)
			return false;
		text[47] = 0;
		if (!object_parse(text + 7, &id))
			return false;
	}
	return false;
}

static void add_ref(struct sub_walk *w, const char *name, const char *hex, bool loose)
{
	struct sub_ref r = { .loose = loose };
	if (!object_parse(hex, &r.id))
		return;
	for (size_t i = 0; i < w->nr_refs; i++)
		if (!strcmp(w->ref[i].name, name))
			return; /* a loose one was there first */
	if (!peel_ref(w, &r))
		return;
	r.name = mem_strdup(name);
	GROW(w->ref, w->nr_refs, w->cap_refs);
	w->ref[w->nr_refs++] = r;
}

static void read_loose(struct sub_walk *w)
{
	CLEANUP(free_ptr) char *refs = path_join(w->git, "refs");
	char *const paths[] = { refs, NULL };
	FTS *f = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *e;
	while (f && (e = fts_read(f))) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err ignored = ERR_INIT;
		if (e->fts_info != FTS_F || file_read(e->fts_path, &text, REF_MAX, &ignored) < 0 ||
		    text.len < 40)
			continue;
		text.data[40] = 0;
		add_ref(w, e->fts_path + strlen(w->git) + 1, text.data, true);
	}
	if (f)
		fts_close(f);
}

static void read_packed(struct sub_walk *w)
{
	CLEANUP(free_ptr) char *path = path_join(w->git, "packed-refs");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read(path, &text, PACKED_MAX, &ignored) < 0)
		return;
	for (char *line = text.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (strlen(line) > 41 && line[40] == ' ') {
			line[40] = 0;
			add_ref(w, line + 41, line, false);
		}
	}
}

static void gitsub_find_head(struct sub_walk *w)
{
	CLEANUP(free_ptr) char *path = path_join(w->git, "HEAD");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read(path, &text, REF_MAX, &ignored) < 0)
		return;
	text.data[strcspn(text.data, "\r\n")] = 0;
	if (strncmp(text.data, "ref: ", 5) != 0) {
		if (!object_parse(text.data, &w->head))
			w->head = (struct object_id){ 0 };
		return;
	}
	for (size_t i = 0; i < w->nr_refs; i++)
		if (!strcmp(w->ref[i].name, text.data + 5))
			w->head = w->ref[i].commit;
}

/* --- writing --- */

static int cmp_lines(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	return strcmp(*x + 41, *y + 41);
}

/* A root tree that is some subdirectory's tree too (a history that was joined in) must stay what it
 * is. */
static bool is_sub_of_any(const struct sub_walk *w, const struct object_id *tree)
{
	for (size_t i = 0; i < w->nr; i++)
		if (w->commit[i].read && !memcmp(&w->commit[i].sub, tree, sizeof(*tree)))
			return true;
	return false;
}

static void gitsub_add_line(struct strv *lines, const struct object_id *id, const char *prefix,
			    const char *name)
{
	char hex[41];
	object_hex(id, hex);
	CLEANUP(free_ptr) char *line = mem_printf("%s %s%s", hex, prefix, name);
	strv_push(lines, line);
}

static int write_refs(struct sub_walk *w, struct err *err)
{
	struct strv lines = STRV_INIT;
	CLEANUP(free_ptr) char *path = path_join(w->git, "packed-refs");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	char hex[41];
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->nr_refs; i++) {
		const struct sub_ref *r = &w->ref[i];
		const struct sub_commit *c = commit_of(w, &r->commit);
		CLEANUP(free_ptr) char *loose = path_join(w->git, r->name);
		if (c && c->read)
			gitsub_add_line(&lines, &r->id, "", r->name);
		if (r->loose && unlink(loose) < 0)
			rc = err_sys(err, "can't remove '%s'", loose);
	}
	for (size_t i = 0; i < w->nr; i++) {
		const struct sub_commit *c = &w->commit[i];
		if (!c->read || !memcmp(&c->tree, &c->sub, sizeof(c->tree)) ||
		    is_sub_of_any(w, &c->tree))
			continue;
		object_hex(&c->tree, hex);
		gitsub_add_line(&lines, &c->sub, "refs/replace/", hex);
	}
	if (lines.nr)
		qsort(lines.item, lines.nr, sizeof(*lines.item), cmp_lines);
	buf_puts(&out, "# pack-refs with: peeled sorted \n");
	for (size_t i = 0; i < lines.nr; i++)
		if (!i || strcmp(lines.item[i], lines.item[i - 1]) != 0)
			buf_printf(&out, "%s\n", lines.item[i]);
	strv_release(&lines);
	return rc < 0 ? -1 : file_write_renamed(path, buf_cstr(&out), out.len, 0644, err);
}

/* Where history ends: commits of which a parent was not read. */
static int write_shallow(struct sub_walk *w, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(w->git, "shallow");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	for (size_t i = 0; i < w->nr; i++) {
		const struct sub_commit c = w->commit[i];
		bool ends = false;
		char hex[41];
		for (size_t k = 0; c.read && k < c.nr_parents && !ends; k++) {
			const struct sub_commit *p = commit_of(w, &w->parent[c.first_parent + k]);
			ends = !p || !p->read;
		}
		if (!ends)
			continue;
		object_hex(&c.id, hex);
		buf_printf(&out, "%s\n", hex);
	}
	if (out.len)
		return file_write_renamed(path, out.data, out.len, 0644, err);
	return unlink(path) < 0 && errno != ENOENT ? err_sys(err, "can't remove '%s'", path) : 0;
}

int gitsub_write(const char *objects, const char *git, const char *prefix,
		 struct object_id *tree_out, struct err *err)
{
	struct sub_walk w = { .git = git,
			      .prefix = prefix,
			      .slot = mem_calloc(SLOTS, sizeof(*w.slot)) };
	int rc = 0;
	*tree_out = (struct object_id){ 0 };
	ws_git_ready();
	if (git_odb_open(&w.odb, objects) < 0)
		rc = ws_git_err(err, "can't open the repository's objects");
	if (rc == 0) {
		read_loose(&w);
		read_packed(&w);
		gitsub_find_head(&w);
		rc = walk_history(&w, err);
	}
	if (rc == 0)
		rc = write_refs(&w, err) < 0 ? -1 : write_shallow(&w, err);
	if (rc == 0 && !object_is_null(&w.head)) {
		const struct sub_commit *c = commit_of(&w, &w.head);
		if (c && c->read)
			*tree_out = c->sub;
	}
	for (size_t i = 0; i < w.nr_refs; i++)
		free(w.ref[i].name);
	free(w.ref);
	free(w.commit);
	free(w.parent);
	free(w.slot);
	git_odb_free(w.odb);
	return rc;
}

int gitsub_files(const char *objects, const struct object_id *tree,
		 bool (*fn)(void *self, const char *path, size_t len, unsigned mode,
			    const struct object_id *id, struct err *err),
		 void *self, struct err *err)
{
	struct sub_walk w = { 0 };
	const struct ws_store st = { .get = gitsub_odb_get, .self = &w };
	struct object_id none;
	ws_git_ready();
	if (object_is_null(tree) ||
	    (object_parse(empty_tree, &none) && !memcmp(&none, tree, sizeof(none))))
		return 0;
	if (git_odb_open(&w.odb, objects) < 0)
		return ws_git_err(err, "can't open the repository's objects");
	int rc = tree_each(&st, tree, false, fn, self, err);
	git_odb_free(w.odb);
	return rc;
}
