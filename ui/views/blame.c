#include "ui/views/blame.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/read/settled.h"
#include "ui/rows/textdiff.h"

enum { LOOK_BACK = 100000, VERSIONS = 400 };

struct version {
	uint64_t by;
	struct object_id id;
};

struct blaming {
	struct source *s;
	uint64_t box;
	char *repo, *path;
	struct feed *feed; /* backwards; NULL: all versions are found */
	int looked;
	struct object_id under;
	struct version item[VERSIONS]; /* newest first */
	size_t nr, left;	       /* left: those that are not carried over yet */
	struct buf old;
	struct blame by, known;
	bool over;
};

/* --- its versions ----------------------------------------------------------------------------- */

/* May this snapshot have changed @path? It names what it changed, unless that was too much. */
static bool changed_here(const json_t *o, const char *path)
{
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(o, "changes"), i, c)
	{
		CLEANUP(buf_release) struct buf p = BUF_INIT;
		if (json_get_bytes(json_object_get(c, "path"), &p) &&
		    strcmp(buf_cstr(&p), path) == 0)
			return true;
	}
	return json_int(o, "more", 0) > 0 || json_int(o, "prev", 0) == 0;
}

static void blame_add_version(struct blaming *b, const struct event *ev, const json_t *o)
{
	const json_t *by = json_object_get(o, "by");
	uint64_t whose = json_array_size(by) == 1
				 ? (uint64_t)json_integer_value(json_array_get(by, 0))
				 : ev->seq;
	struct object_id id = files_blob(b->s, json_str(o, "tree", ""), b->path),
			 below = files_blob(b->s, json_str(o, "under", ""), b->path);
	if (object_is_null(&b->under))
		b->under = below;
	/* else not touched: as in the base, or not there yet */
	if (!object_is_null(&id) || !object_is_null(&below))
		b->item[b->nr++] = (struct version){ .by = whose, .id = id };
}

static void all_found(struct blaming *b)
{
	if (!object_is_null(&b->under))
		b->item[b->nr++] = (struct version){ .id = b->under };
	b->left = b->nr;
	feed_free(&b->feed);
}

/* A sandbox that is a copy, or that replaced another, continues the snapshots of the one before.
 * Its own first snapshot only has their result, and gets the lines that no earlier snapshot has. */
static void blame_go_on(struct blaming *b, uint64_t before, uint64_t upto)
{
	struct err err = ERR_INIT;
	b->box = before;
	feed_free(&b->feed);
	if (feed_new(&b->feed, b->s->session, FEED_BOX, before, &err) == 0)
		feed_seek(b->feed, upto + 1);
	else
		all_found(b);
}

/* One event further back. */
static void find_one(struct blaming *b)
{
	struct event ev;
	struct err err = ERR_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (b->looked++ >= LOOK_BACK || b->nr + 1 >= VERSIONS ||
	    feed_prev(b->feed, &ev, &a, &err) != 1) {
		all_found(b);
		return;
	}
	bool is = ev.kind == EV_SNAPSHOT_TAKEN && ev.box == b->box && ev.body;
	CLEANUP(json_release) json_t *o = is ? json_parse(ev.body, ev.len, "snapshot", &err) : NULL;
	if (!o || strcmp(json_str(o, "repo", ""), b->repo) != 0)
		return;
	uint64_t upto = 0, before = json_int(o, "prev", 0)
					    ? 0
					    : session_box_before(b->s->session, b->box, &upto);
	/* it has the files of the base, or already those of before */
	bool anew = before && !strcmp(json_str(o, "why", ""), "open");
	if (!anew && changed_here(o, b->path))
		blame_add_version(b, &ev, o);
	if (before)
		blame_go_on(b, before, upto);
}

/* --- from one to the next --------------------------------------------------------------------- */

/* Lines of the next version: those that are in the one before as well keep their origin. */
static void blame_carry(struct blame *b, const struct buf *old, const struct buf *now, uint64_t by)
{
	struct text_diff d;
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
	size_t lines = 0, at = 0, was = 0;
	for (size_t i = 0; i < now->len; i++)
		lines += now->data[i] == '\n' || i + 1 == now->len;
	struct blame next = { .by = mem_calloc(lines + 1, sizeof(uint64_t)), .nr = lines };
	diff_texts(buf_cstr(old), old->len, buf_cstr(now), now->len, 0, &scratch, &d);
	for (size_t i = 0; i < d.nr; i++) {
		const struct diff_line *l = &d.line[i];
		if (l->op == '+') {
			while (at + 1 < l->new_no && at < lines)
				next.by[at++] = was < b->nr ? b->by[was++] : by;
			if (at < lines)
				next.by[at++] = by;
		} else if (l->op == '-') {
			while (was + 1 < l->old_no && at < lines)
				next.by[at++] = was < b->nr ? b->by[was++] : by;
			was++;
		}
	}
	while (at < lines)
		next.by[at++] = was < b->nr ? b->by[was++] : by;
	free(b->by);
	*b = next;
}

static void carry_one(struct blaming *b)
{
	CLEANUP(buf_release) struct buf now = BUF_INIT;
	const struct version *v = &b->item[--b->left];
	/* removed here, or not known or read: it begins anew */
	if (!files_read(b->s, &v->id, &now)) {
		buf_reset(&b->old);
		b->by.nr = 0;
		return;
	}
	blame_carry(&b->by, &b->old, &now, v->by);
	struct buf swap = b->old;
	b->old = now;
	now = swap;
}

bool blaming_step(struct blaming *b, int64_t budget_us)
{
	int64_t until = clock_mono_us() + budget_us;
	while (!b->over) {
		if (b->feed)
			find_one(b);
		else if (b->left)
			carry_one(b);
		b->over = !b->feed && !b->left;
		if (clock_mono_us() >= until)
			break;
	}
	if (b->over)
		b->known = b->by;
	return b->over;
}

struct blaming *blaming_new(struct source *s, uint64_t box, uint64_t at, const char *path)
{
	struct err err = ERR_INIT;
	struct blaming *b = NEW(struct blaming);
	*b = (struct blaming){ .s = s, .box = box };
	if (!files_repo(s, box, at, path, &b->repo, &b->path) ||
	    feed_new(&b->feed, s->session, FEED_BOX, box, &err) < 0)
		b->over = true;
	else
		feed_seek(b->feed, (at ? at : s->model.head) + 1);
	return b;
}

bool blaming_over(const struct blaming *b)
{
	return !b || b->over;
}

int blaming_percent(const struct blaming *b)
{
	return b->over ? 100 : b->feed || !b->nr ? 0 : (int)((b->nr - b->left) * 100 / b->nr);
}

const struct blame *blaming_result(const struct blaming *b)
{
	return &b->known;
}

void blaming_free(struct blaming **at)
{
	struct blaming *b = take(at);
	if (!b)
		return;
	feed_free(&b->feed);
	buf_release(&b->old);
	free(b->by.by);
	free(b->repo);
	free(b->path);
	free(b);
}
