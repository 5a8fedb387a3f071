/* A merge's plan in git's terms: entries of trees and of the index, and lines. */
#include <string.h>

#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/tree.h"

enum { LINES_MAX = 8 << 20 };

int merge_lines(const struct buf *base, const struct buf *ours, const struct buf *theirs,
		struct buf *out, struct err *err)
{
	git_merge_file_input b, o, t;
	git_merge_file_options opts;
	git_merge_file_result r;
	const struct buf *side[] = { base, ours, theirs };
	for (size_t i = 0; i < ARRAY_LEN(side); i++)
		if (side[i]->len > LINES_MAX ||
		    memchr(buf_cstr(side[i]), 0, side[i]->len < 8000 ? side[i]->len : 8000))
			return 1;
	ws_git_ready();
	git_merge_file_input_init(&b, GIT_MERGE_FILE_INPUT_VERSION);
	git_merge_file_input_init(&o, GIT_MERGE_FILE_INPUT_VERSION);
	git_merge_file_input_init(&t, GIT_MERGE_FILE_INPUT_VERSION);
	git_merge_file_options_init(&opts, GIT_MERGE_FILE_OPTIONS_VERSION);
	b.ptr = buf_cstr(base);
	b.size = base->len;
	o.ptr = buf_cstr(ours);
	o.size = ours->len;
	t.ptr = buf_cstr(theirs);
	t.size = theirs->len;
	if (git_merge_file(&r, &b, &o, &t, &opts) < 0)
		return ws_git_err(err, "can't merge by lines");
	int rc = r.automergeable ? 0 : 1;
	if (rc == 0) {
		buf_reset(out);
		buf_append(out, r.ptr, r.len);
	}
	git_merge_file_result_free(&r);
	return rc;
}

bool plan_alike(const struct ws_state *a, const struct ws_state *b)
{
	if (a->kind != b->kind || ((a->flags | b->flags) & WS_UNREADABLE))
		return false;
	if (!ws_has_content(a))
		return true;
	return !memcmp(&a->oid, &b->oid, sizeof(a->oid)) &&
	       (a->kind == WS_LINK || !((a->mode ^ b->mode) & 0100));
}

bool plan_no_change(const struct plan_path *p)
{
	return ws_has_content(&p->want) && plan_alike(&p->base, &p->want) && !p->has_had;
}

int plan_bytes_of(struct target *t, const struct ws_state *s, struct buf *out, struct err *err)
{
	buf_reset(out);
	return ws_has_content(s) ? child_get(t, &s->oid, out, err) : 0;
}

int plan_lines_onto(const struct buf *base, const struct buf *had, const struct buf *ours,
		    const struct buf *want, struct buf *out, struct err *err)
{
	int rc = had ? merge_lines(base, ours, had, out, err) : 1;
	bool holds = rc == 0 && out->len == ours->len &&
		     !memcmp(buf_cstr(out), buf_cstr(ours), ours->len);
	return rc < 0 ? -1 : merge_lines(holds ? had : base, ours, want, out, err);
}

/* Bytes of one side. Those of an ignored file are often not kept, but may be in the target. */
static int gittree_side_bytes(struct target *t, struct plan_path *p, const struct ws_state *s,
			      struct buf *out, struct err *err)
{
	const struct plan_path *whole = plan_find(&t->all, p->path, p->len);
	const struct ws_state *h = whole ? &whole->host.state : NULL;
	int rc = plan_bytes_of(t, s, out, err);
	if (rc <= 0)
		return rc;
	if (h && h->kind == s->kind && !(h->flags & (WS_HASH_ONLY | WS_UNREADABLE)) &&
	    !memcmp(&h->oid, &s->oid, sizeof(h->oid))) {
		buf_append(out, buf_cstr(&whole->host.bytes), whole->host.bytes.len);
		return 0;
	}
	p->conflict =
		"HEAD differs from an earlier version of which the recording has only the hash";
	return 1;
}

/* Mode and name of one side as git stores it; its bytes into @clean. 0, 1 unknown, -1. */
static int git_side(struct target *t, struct plan_path *p, const struct ws_state *s, unsigned *mode,
		    struct object_id *oid, struct buf *clean, struct err *err)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT;
	const char *filter = NULL;
	*mode = ws_has_content(s) ? ws_git_mode(s) : 0;
	*oid = (struct object_id){ 0 };
	buf_reset(clean);
	if (!*mode)
		return 0;
	int rc = gittree_side_bytes(t, p, s, &raw, err);
	if (rc == 0 && s->kind == WS_FILE)
		rc = target_clean(t, p->path, p->len, &raw, clean, &filter, err);
	else if (rc == 0)
		buf_append(clean, buf_cstr(&raw), raw.len);
	if (filter && !strcmp(filter, ATTR_ENCODING))
		p->conflict =
			"has another encoding in the working tree than in git, which isn't converted; only "
			"the working file can be merged";
	else if (filter)
		p->conflict =
			"uses a filter program (such as LFS), which isn't run; only the working file can be "
			"merged";
	if (rc == 0)
		object_name(OBJECT_BLOB, buf_cstr(clean), clean->len, oid);
	return rc;
}

/* Is it there as an earlier merge has left it? */
static bool same_as_had(struct target *t, struct plan_path *p, unsigned mode,
			const struct object_id *oid)
{
	CLEANUP(buf_release) struct buf had = BUF_INIT;
	unsigned had_mode;
	struct object_id had_oid;
	struct err err = ERR_INIT;
	return p->has_had && git_side(t, p, &p->had, &had_mode, &had_oid, &had, &err) == 0 &&
	       mode == had_mode && !memcmp(oid, &had_oid, sizeof(*oid));
}

int plan_merge_git(struct target *t, struct plan_path *p, unsigned mode,
		   const struct object_id *oid, unsigned *mode_out, struct object_id *oid_out,
		   struct err *err)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT;
	CLEANUP(buf_release) struct buf want = BUF_INIT;
	CLEANUP(buf_release) struct buf ours = BUF_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	unsigned base_mode = 0, want_mode;
	struct object_id base_oid = { 0 }, want_oid;
	enum object_type type;
	*mode_out = mode;
	*oid_out = *oid;
	if (plan_no_change(p))
		return 0;
	int rc = git_side(t, p, &p->want, &want_mode, &want_oid, &want, err);
	if (rc)
		return rc;
	*mode_out = want_mode;
	*oid_out = want_oid;
	/* what was a file is a directory there already */
	if (mode == TREE_MODE_DIR && !want_mode) {
		*mode_out = mode;
		*oid_out = *oid;
		return 0;
	}
	if (mode == want_mode && (!mode || !memcmp(oid, &want_oid, sizeof(*oid))))
		return 0;
	if (!mode && p->apart) { /* the base's bytes aren't needed, and often not kept */
		t->store.add(t->store.self, OBJECT_BLOB, buf_cstr(&want), want.len, oid_out);
		return 0;
	}
	bool known = same_as_had(t, p, mode, oid);
	rc = known ? 0 : git_side(t, p, &p->base, &base_mode, &base_oid, &base, err);
	if (rc)
		return rc;
	if (!known && mode == TREE_MODE_DIR && !base_mode)
		mode = 0; /* the files in that directory are planned on their own */
	if (known || (mode == base_mode && (!mode || !memcmp(oid, &base_oid, sizeof(*oid))))) {
		if (want_mode)
			t->store.add(t->store.self, OBJECT_BLOB, buf_cstr(&want), want.len,
				     oid_out);
		return 0;
	}
	bool files = (mode & 0170000) == 0100000 && (base_mode & 0170000) == 0100000 &&
		     (want_mode & 0170000) == 0100000;
	if (!files)
		return 1;
	if (t->store.get(t->store.self, oid, &type, &ours, err) < 0)
		return -1;
	unsigned had_mode;
	struct object_id had_oid;
	CLEANUP(buf_release) struct buf had = BUF_INIT;
	known = p->has_had && p->had.kind == WS_FILE &&
		git_side(t, p, &p->had, &had_mode, &had_oid, &had, err) == 0;
	rc = plan_lines_onto(&base, known ? &had : NULL, &ours, &want, &out, err);
	if (rc)
		return rc;
	*mode_out = want_mode == base_mode && !(known && had_mode == mode) ? mode : want_mode;
	t->store.add(t->store.self, OBJECT_BLOB, buf_cstr(&out), out.len, oid_out);
	return 0;
}

/* --- files in the way of directories, and the other way round --- */

struct gittree_below {
	struct plan_step *step;
	const struct plan_path *path;
	bool stays;
};

/* Nothing but what the step takes away may be in the directory. */
static bool gittree_goes(void *self, const char *path, size_t len, unsigned mode,
			 const struct object_id *oid, struct err *err)
{
	struct gittree_below *b = self;
	CLEANUP(buf_release) struct buf full = BUF_INIT;
	(void)mode;
	(void)oid;
	(void)err;
	buf_append(&full, b->path->path, b->path->len);
	buf_putc(&full, '/');
	buf_append(&full, path, len);
	const struct plan_path *p = plan_find(b->step, buf_cstr(&full), full.len);
	b->stays |= !p || p->skip || ws_has_content(&p->want);
	return !b->stays;
}

static int gittree_over_dir(struct target *t, struct plan_step *s, struct plan_path *p,
			    const struct object_id *oid, struct err *err)
{
	struct gittree_below b = { .step = s, .path = p };
	int rc = tree_each(&t->store, oid, false, gittree_goes, &b, err);
	if (b.stays)
		p->conflict =
			"HEAD has a directory there, with files that the sandbox didn't remove";
	return b.stays ? 1 : rc;
}

int plan_tree_way(struct target *t, struct plan_step *s, struct plan_path *p, unsigned mode,
		  const struct object_id *tree, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct object_id oid;
	if (object_is_null(tree) || (mode && mode != TREE_MODE_DIR))
		return 0;
	target_path(t, p->path, p->len, &path);
	if (mode) {
		int rc = tree_find(&t->store, tree, buf_cstr(&path), path.len, &mode, &oid, err);
		return rc <= 0 ? rc : gittree_over_dir(t, s, p, &oid, err);
	}
	for (size_t i = p->len; i-- > 1;) {
		if (p->path[i] != '/')
			continue;
		target_path(t, p->path, i, &path);
		int rc = tree_find(&t->store, tree, buf_cstr(&path), path.len, &mode, &oid, err);
		if (rc < 0 || (rc > 0 && mode == TREE_MODE_DIR))
			return rc < 0 ? -1 : 0;
		const struct plan_path *up = rc > 0 ? plan_find(s, p->path, i) : NULL;
		if (rc > 0 &&
		    (!up || up->skip || ws_has_content(&up->want) || !ws_has_content(&up->base))) {
			p->conflict = "HEAD has a file where this needs a directory";
			return 1;
		}
	}
	return 0;
}
