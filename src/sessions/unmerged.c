#include "sessions/unmerged.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/workspace/merge.h"
#include "wire/event_body.h"
#include "base/paths.h"
#include "sessions/box_folder.h"

enum { CLOSING_TICKS = 1000, CLOSING_TICK_US = 3000 };

static struct unmerged_box *unmerged_box_of(struct unmerged *u, uint64_t id)
{
	for (size_t i = 0; i < u->nr; i++)
		if (u->box[i].id == id)
			return &u->box[i];
	return NULL;
}

/* The newest of those that had the state of @owner. */
static struct unmerged_box *unmerged_state_of(struct unmerged *u, uint64_t owner)
{
	for (size_t i = u->nr; i > 0; i--)
		if (u->box[i - 1].owner == owner)
			return &u->box[i - 1];
	return NULL;
}

static void unmerged_see_open(struct unmerged *u, const struct event *ev)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct ev_box_open o;
	event_decode(&desc_ev_box_open, ev, &arena, &o);
	size_t nr = o.repos.nr;
	uint64_t was = (uint64_t)o.was, state = (uint64_t)o.state;
	bool copy = o.fork.box > 0;
	struct unmerged_box *before = was	       ? unmerged_box_of(u, was)
				      : state && !copy ? unmerged_state_of(u, state)
						       : NULL;
	if (before && (!was || !before->closed)) {
		before->closed = false;
		before->id = ev->seq; /* the same sandbox, opened again by a resumed session */
		return;
	}
	GROW(u->box, u->nr, u->cap);
	struct unmerged_box *b = &u->box[u->nr++];
	*b = (struct unmerged_box){ .id = ev->seq,
				    .owner = ev->seq,
				    .name = mem_strndup(o.name.s ? o.name.s : "", o.name.n),
				    .nr = nr ? nr : 1 };
	b->layer = mem_calloc(b->nr, sizeof(*b->layer));
	for (size_t i = 0; i < b->nr; i++) {
		struct ev_box_repo r = nr ? o.repos.item[i] : (struct ev_box_repo){ 0 };
		b->layer[i].repo = mem_strndup(r.name.s ? r.name.s : "", r.name.n);
		b->layer[i].dir = r.dir.s ? mem_strndup(r.dir.s, r.dir.n) : NULL;
	}
}

static void unmerged_see_snapshot(struct unmerged_box *b, const struct event *ev, json_t *body)
{
	for (size_t i = 0; i < b->nr; i++) {
		struct unmerged_layer *l = &b->layer[i];
		if (strcmp(l->repo, json_str(body, "repo", "")) != 0)
			continue;
		json_decref(l->snap);
		l->snap = json_incref(body);
		GROW(l->snaps, l->nr_snaps, l->cap_snaps);
		l->snaps[l->nr_snaps++] = ev->seq;
		/* what was merged stays merged while nothing changes; a box that is opened again
		 * lists what it had */
		const char *why = json_str(body, "why", "");
		if (!l->seq || (json_int(body, "changed", 0) > 0 && strcmp(why, "open") != 0 &&
				strcmp(why, "resume") != 0))
			l->seq = ev->seq;
	}
}

static void see_merged(struct unmerged *u, const struct unmerged_box *b, const struct event *ev,
		       json_t *body)
{
	GROW(u->merges, u->nr_merges, u->cap_merges);
	struct unmerged_merge *m = &u->merges[u->nr_merges++];
	*m = (struct unmerged_merge){ .box = (size_t)(b - u->box),
				      .seq = ev->seq,
				      .action = ev->action,
				      .body = json_incref(body) };
	snprintf(m->id, sizeof(m->id), "%s", json_str(body, "merge", ""));
}

static void see_undone(struct unmerged *u, const struct event *ev)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct ev_merge_undone o;
	event_decode(&desc_ev_merge_undone, ev, &arena, &o);
	const char *id = ev_text_dup(&arena, o.merge);
	u->nr_recovered += o.interrupted;
	for (size_t i = u->nr_merges; i-- > 0;)
		if (!u->merges[i].undone && !strcmp(u->merges[i].id, id)) {
			u->merges[i].undone = true;
			return;
		}
}

static void see_hashed(struct unmerged_box *b, const struct event *ev)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct ev_base_hashed o;
	event_decode(&desc_ev_base_hashed, ev, &arena, &o);
	const char *repo = ev_text_dup(&arena, o.repo), *tree = ev_text_dup(&arena, o.tree);
	for (size_t i = 0; i < b->nr; i++)
		if (!strcmp(b->layer[i].repo, repo) && object_is_null(&b->layer[i].opening) &&
		    !object_parse(tree, &b->layer[i].opening))
			b->layer[i].opening = (struct object_id){ 0 };
}

static void unmerged_see(struct unmerged *u, const struct event *ev, json_t *body)
{
	struct unmerged_box *b = unmerged_box_of(u, ev->box);
	switch (ev->kind) {
	case EV_BOX_OPEN:
		unmerged_see_open(u, ev);
		return;
	case EV_BOX_CLOSED:
		if (b)
			b->closed = true;
		return;
	case EV_SNAPSHOT_TAKEN:
		if (b)
			unmerged_see_snapshot(b, ev, body);
		return;
	case EV_BOX_NOTICE:
		if (b && !b->notices)
			b->notices = json_array();
		if (b)
			json_array_append(b->notices, body);
		return;
	case EV_MERGE_DONE:
		if (b)
			see_merged(u, b, ev, body);
		return;
	case EV_MERGE_UNDONE:
		see_undone(u, ev);
		return;
	case EV_BASE_HASHED:
		if (b)
			see_hashed(b, ev);
		return;
	case EV_SESSION_END:
		json_decref(u->end);
		u->end = json_incref(body);
		return;
	default: /* no other kind says anything about it */
		return;
	}
}

static bool unmerged_wanted(enum event_kind kind)
{
	return kind == EV_BOX_OPEN || kind == EV_BOX_CLOSED || kind == EV_SNAPSHOT_TAKEN ||
	       kind == EV_MERGE_DONE || kind == EV_MERGE_UNDONE || kind == EV_BASE_HASHED ||
	       kind == EV_SESSION_END || kind == EV_BOX_NOTICE;
}

static void unmerged_add_object(void *self, enum object_type type, const void *bytes, size_t len,
				struct object_id *id_out)
{
	(void)self; /* a view only reads */
	(void)type;
	(void)bytes;
	(void)len;
	*id_out = (struct object_id){ 0 };
}

static int unmerged_get_object(void *self, const struct object_id *id, enum object_type *type_out,
			       struct buf *out, struct err *err)
{
	return session_object(self, id, type_out, out, err);
}

static int unmerged_count(struct unmerged_layer *l, const json_t *merged, struct session *s,
			  struct err *err)
{
	struct ws_store st = { .add = unmerged_add_object, .get = unmerged_get_object, .self = s };
	struct ws_view v = WS_VIEW_INIT;
	if (!l->dir || !l->snap || json_int(l->snap, "touched", 0) == 0)
		return 0;
	if (sandbox_refs_read(&l->refs, &st, l->snap, merged, err) < 0)
		return -1;
	if (l->merged > l->seq) {
		l->files = l->left;
		return 0;
	}
	if (ws_view_load(&v, &st, l->snap, err) < 0)
		return -1;
	l->files = ws_merged_rest(&l->had, &v, NULL, NULL, &l->large);
	ws_view_release(&v);
	return 0;
}

/* The contents that valid merges have brought to each layer of @b. */
static int add_merges(struct unmerged *u, size_t b, struct session *s, struct err *err)
{
	struct ws_store st = { .add = unmerged_add_object, .get = unmerged_get_object, .self = s };
	for (size_t i = 0; i < u->nr_merges; i++)
		for (size_t k = 0;
		     u->merges[i].box == b && !u->merges[i].undone && k < u->box[b].nr; k++) {
			struct unmerged_layer *l = &u->box[b].layer[k];
			int rc = ws_merged_event(&l->had, &st, u->merges[i].body, l->repo, l->dir,
						 err);
			if (rc < 0)
				return -1;
			l->merged = rc ? 0 : u->merges[i].seq;
			l->left = (size_t)json_int(u->merges[i].body, "left", 0);
		}
	return 0;
}

static json_t *merged_refs(const struct unmerged *u, size_t b, const struct unmerged_layer *l)
{
	json_t *set = NULL;
	for (size_t i = 0; l->dir && i < u->nr_merges; i++)
		if (u->merges[i].box == b && !u->merges[i].undone)
			sandbox_refs_see(&set, u->merges[i].body, l->repo, l->dir);
	return set;
}

int unmerged_into(struct unmerged *u, size_t box, const char *dir, struct session *s,
		  struct err *err)
{
	struct unmerged_box *b = &u->box[box];
	struct err redacted = ERR_INIT;
	if (b->nr != 1)
		return err_set(err, ERR_INVALID,
			       "sandbox '%s' has %zu repositories: it is merged into their own "
			       "directories, not into one",
			       b->name, b->nr);
	free(b->layer->dir);
	b->layer->dir = mem_strdup(dir);
	ws_merged_release(&b->layer->had);
	b->layer->had = WS_MERGED_INIT;
	(void)!add_merges(u, box, s, &redacted);
	return 0;
}

/* Files that are not merged stand for the commits of HEAD. */
static bool unmerged_counts(const struct unmerged_layer *l, const struct sandbox_ref *ref)
{
	return !ref->of_head || !l->files;
}

int unmerged_read(struct unmerged *out, struct session *s, struct err *err)
{
	struct feed *f;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	*out = UNMERGED_INIT;
	if (feed_new(&f, s, FEED_ALL, 0, err) < 0)
		return -1;
	int rc;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		if (unmerged_wanted(ev.kind)) {
			struct err none = ERR_INIT; /* redacted: it counts as an empty one */
			CLEANUP(json_release)
			json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", &none)
					       : json_object();
			unmerged_see(out, &ev, body);
		}
		arena_reset(&a);
	}
	feed_free(&f);
	for (size_t i = 0; rc == 0 && i < out->nr; i++) {
		struct err redacted = ERR_INIT; /* what removed trees named counts as not merged */
		(void)!add_merges(out, i, s, &redacted);
		for (size_t k = 0; rc == 0 && k < out->box[i].nr; k++) {
			struct unmerged_layer *l = &out->box[i].layer[k];
			/* objects that were redacted are not to be merged either */
			struct err gone = ERR_INIT;
			CLEANUP(json_release) json_t *merged = merged_refs(out, i, l);
			if (unmerged_count(l, merged, s, &gone) < 0)
				l->files = (size_t)json_int(l->snap, "touched", 0);
			out->box[i].files += l->files;
			for (size_t r = 0; r < l->refs.nr; r++)
				out->box[i].branches += unmerged_counts(l, &l->refs.item[r]);
			out->box[i].large += l->large;
		}
	}
	if (rc < 0)
		unmerged_release(out);
	return rc;
}

void unmerged_release(struct unmerged *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		for (size_t k = 0; k < u->box[i].nr; k++) {
			free(u->box[i].layer[k].repo);
			free(u->box[i].layer[k].dir);
			json_decref(u->box[i].layer[k].snap);
			free(u->box[i].layer[k].snaps);
			ws_merged_release(&u->box[i].layer[k].had);
			sandbox_refs_release(&u->box[i].layer[k].refs);
		}
		free(u->box[i].layer);
		json_decref(u->box[i].notices);
		free(u->box[i].name);
	}
	for (size_t i = 0; i < u->nr_merges; i++)
		json_decref(u->merges[i].body);
	free(u->merges);
	free(u->box);
	json_decref(u->end);
	*u = UNMERGED_INIT;
}

size_t unmerged_work(const struct unmerged *u)
{
	size_t nr = 0;
	for (size_t i = 0; i < u->nr; i++)
		nr += u->box[i].files + u->box[i].branches;
	return nr;
}

void unmerged_what(const struct unmerged_box *b, struct buf *out)
{
	size_t named = 0;
	if (b->files)
		buf_printf(out, "%zu file%s%s", b->files, b->files == 1 ? "" : "s",
			   b->branches ? " and " : "");
	if (b->branches)
		buf_puts(out, b->branches == 1 ? "branch " : "branches ");
	for (size_t i = 0; i < b->nr; i++)
		for (size_t k = 0; k < b->layer[i].refs.nr; k++)
			if (unmerged_counts(&b->layer[i], &b->layer[i].refs.item[k]))
				buf_printf(out, "%s%s", named++ ? ", " : "",
					   b->layer[i].refs.item[k].name);
}

void unmerged_tell(struct cmd_ctx *ctx, const char *path)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err err = ERR_INIT;
	size_t boxes = 0;
	if (session_open(&s, path, &err) < 0)
		return;
	if (unmerged_read(&u, s, &err) == 0) {
		/* its last words are written, its file is still being closed: who comes next finds
		 * it free */
		for (int i = 0; u.end && i < CLOSING_TICKS && session_live(s); i++)
			usleep(CLOSING_TICK_US);
		for (size_t i = 0; u.end && !ctx->json && !ctx->quiet && i < u.nr; i++)
			boxes += u.box[i].files + u.box[i].branches > 0;
		for (size_t i = 0; boxes && i < u.nr; i++) {
			const struct unmerged_box *b = &u.box[i];
			bool alone = true;
			for (size_t k = 0; k < u.nr; k++)
				alone &= k == i || strcmp(u.box[k].name, b->name) != 0;
			CLEANUP(free_ptr)
			char *which = boxes == 1 ? mem_strdup("")
				      : alone	 ? mem_printf("/%s", b->name)
						 : mem_printf("/#%" PRIu64, b->id);
			if (!b->files && !b->branches)
				continue;
			CLEANUP(buf_release) struct buf what = BUF_INIT, safe = BUF_INIT;
			unmerged_what(b, &what);
			cmd_safe(&safe, buf_cstr(&what), what.len, false);
			fprintf(ctx->err,
				"sandglass: sandbox %s: %s not merged; 'sandglass merge %s%s' or 'sandglass prune "
				"%s'\n",
				b->name, buf_cstr(&safe), session_id(s), which, session_id(s));
			if (b->large)
				fprintf(ctx->err,
					"sandglass: sandbox %s: %zu of them larger than keep.file: only their hashes "
					"are left\n",
					b->name, b->large);
		}
		unmerged_release(&u);
	}
	session_close(&s);
}

static void merged_tell_targets(struct cmd_ctx *ctx, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *target = json_array_get(list, i);
		const char *ref = json_str(target, "ref", "");
		CLEANUP(buf_release) struct buf branch = BUF_INIT;
		if (strncmp(ref, "refs/heads/", 11) != 0 || json_int(target, "files", 0) == 0)
			continue;
		cmd_safe(&branch, ref + 11, strlen(ref + 11), false);
		fprintf(ctx->err, "sandglass: merged to %s\n", buf_cstr(&branch));
	}
}

void merged_tell(struct cmd_ctx *ctx, const char *path)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err err = ERR_INIT;
	if (ctx->quiet || ctx->json || session_open(&s, path, &err) < 0)
		return;
	if (unmerged_read(&u, s, &err) == 0) {
		for (size_t i = 0; u.end && i < u.nr_merges; i++)
			if (!u.merges[i].undone)
				merged_tell_targets(ctx,
						    json_object_get(u.merges[i].body, "targets"));
		unmerged_release(&u);
	}
	session_close(&s);
}

/* Does a directory below the @workspace of a sandbox hold files? */
static bool workspace_holds(const char *workspace)
{
	DIR *d = opendir(workspace), *in = NULL;
	bool holds = false;
	for (struct dirent *e; d && !holds && (e = readdir(d));) {
		CLEANUP(free_ptr) char *layer = path_join(workspace, e->d_name);
		in = *e->d_name == '.' ? NULL : opendir(layer);
		for (struct dirent *f; in && !holds && (f = readdir(in));)
			holds = strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0;
		if (in)
			closedir(in);
	}
	if (d)
		closedir(d);
	return holds;
}

bool unmerged_cut_off(const struct unmerged *u, const char *path, const char *id)
{
	CLEANUP(free_ptr) char *boxes = box_folder(id);
	if (path && !box_folder_is(boxes, path))
		return false;
	for (size_t i = 0; i < u->nr; i++) {
		CLEANUP(free_ptr)
		char *workspace = mem_printf("%s/#%" PRIu64 "/workspace", boxes, u->box[i].owner);
		if (!u->box[i].closed && workspace_holds(workspace))
			return true;
	}
	return false;
}

bool unmerged_in_file(const char *path, size_t *out)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err err = ERR_INIT;
	*out = 0;
	if (session_open(&s, path, &err) < 0)
		return false;
	bool known = unmerged_read(&u, s, &err) == 0;
	if (known)
		*out = unmerged_work(&u);
	known = known && !unmerged_cut_off(&u, path, session_id(s));
	unmerged_release(&u);
	session_close(&s);
	return known;
}
