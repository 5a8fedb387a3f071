/* The index of a merge's target: which of its entries change. */
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"

bool plan_in_index(const struct plan_path *p)
{
	return ws_has_content(&p->base) || ws_has_content(&p->want);
}

/* Entry @path of the index stays there. */
static bool gitindex_stays(struct target *t, const char *path, size_t len)
{
	unsigned mode;
	struct object_id oid;
	const struct plan_path *p = plan_find(&t->all, path, len);
	target_staged(t, path, len, &mode, &oid);
	return mode && !(p && p->stage && !p->stage_mode);
}

static bool gitindex_below_file(struct target *t, const struct plan_path *p)
{
	for (size_t i = 1; i < p->len; i++)
		if (p->path[i] == '/' && gitindex_stays(t, p->path, i))
			return true;
	return false;
}

static bool gitindex_over_files(struct target *t, const struct plan_path *p)
{
	CLEANUP(buf_release) struct buf below = BUF_INIT;
	size_t at = 0, cut = t->prefix_len ? t->prefix_len + 1 : 0;
	target_path(t, p->path, p->len, &below);
	buf_puts(&below, "/");
	if (git_index_find_prefix(&at, t->index, buf_cstr(&below)) < 0)
		return false;
	for (const git_index_entry *e; (e = git_index_get_byindex(t->index, at)); at++) {
		if (strncmp(e->path, buf_cstr(&below), below.len) != 0)
			return false;
		if (gitindex_stays(t, e->path + cut, strlen(e->path + cut)))
			return true;
	}
	return false;
}

void plan_index(struct target *t, bool commits)
{
	struct err err = ERR_INIT;
	for (size_t i = 0; i < t->all.nr; i++) {
		struct plan_path *p = &t->all.path[i];
		if (p->skip || p->conflict || !plan_in_index(p) || (p->untracked && !commits))
			continue;
		target_staged(t, p->path, p->len, &p->staged_mode, &p->staged_oid);
		int rc = plan_merge_git(t, p, p->staged_mode, &p->staged_oid, &p->stage_mode,
					&p->stage_oid, &err);
		p->stage = rc == 0 &&
			   (p->staged_mode != p->stage_mode ||
			    memcmp(&p->staged_oid, &p->stage_oid, sizeof(p->stage_oid)) != 0);
		/* of the index only: the working file is merged, the index stays */
		p->conflict = NULL;
	}
	/* an index has no file where it has a directory: adding the one would drop the other */
	for (size_t i = 0; t->index && i < t->all.nr; i++) {
		struct plan_path *p = &t->all.path[i];
		if (p->stage && p->stage_mode &&
		    (gitindex_below_file(t, p) || gitindex_over_files(t, p)))
			p->stage = false;
	}
}
