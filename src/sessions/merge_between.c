#include "sessions/merge_between.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/meant.h"

enum { TOLD_MAX = 6, LINES_MERGED_MAX = 8 << 20 };

/* One path that one sandbox changed and that its merge would take. */
struct touched {
	const char *full, *name;
	size_t box;
	const struct ws_path *p;
};

struct touched_list {
	struct touched *item;
	size_t nr, cap;
};

static bool touched_content(const struct touched *t)
{
	return ws_has_content(&t->p->now);
}

/* '/' before all other bytes: a directory's files follow it. */
static int full_path_cmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	unsigned x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;
	return x < y ? -1 : x > y;
}

static int cmp_touched(const void *pa, const void *pb)
{
	const struct touched *a = pa, *b = pb;
	int c = full_path_cmp(a->full, b->full);
	return c ? c : a->box < b->box ? -1 : a->box > b->box;
}

static int cmp_word(const void *pa, const void *pb)
{
	return strcmp(*(char *const *)pa, *(char *const *)pb);
}

/* Paths that the dry run of @m would take, as the merge names them, sorted. */
static void between_wanted(const struct box_merge *m, struct strv *out)
{
	for (size_t i = 0; i < json_array_size(m->result.taken); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (json_get_bytes(json_array_get(m->result.taken, i), &b))
			strv_push(out, buf_cstr(&b));
	}
	if (out->nr)
		qsort(out->item, out->nr, sizeof(*out->item), cmp_word);
}

static void between_list(struct between *b, struct box_merge *m, size_t box,
			 struct touched_list *out)
{
	CLEANUP(strv_release) struct strv wanted = STRV_INIT;
	between_wanted(m, &wanted);
	for (size_t k = 0; wanted.nr && k < m->nr; k++)
		for (size_t i = 0; i < m->layer[k].view[0].nr; i++) {
			const struct ws_path *p = &m->layer[k].view[0].item[i];
			const char *repo = m->target[k].repo;
			CLEANUP(free_ptr)
			char *name =
				*repo ? mem_printf("%s/%s", repo, p->path) : mem_strdup(p->path);
			CLEANUP(free_ptr)
			char *full = mem_printf("%s/%s", m->target[k].dir, p->path);
			if (!bsearch(&name, wanted.item, wanted.nr, sizeof(name), cmp_word))
				continue;
			GROW(out->item, out->nr, out->cap);
			out->item[out->nr++] = (struct touched){
				.full = arena_strndup(&b->arena, full, strlen(full)),
				.name = arena_strndup(&b->arena, name, strlen(name)),
				.box = box,
				.p = p,
			};
		}
}

static bool between_bytes(struct box_merge *m, const struct ws_state *s, struct buf *out)
{
	enum object_type type;
	struct err none = ERR_INIT;
	buf_reset(out);
	return s->kind == WS_FILE && !(s->flags & (WS_HASH_ONLY | WS_UNREADABLE)) &&
	       session_object(m->read, &s->oid, &type, out, &none) == 0 &&
	       out->len < LINES_MERGED_MAX;
}

/* Do the sides @t[0..nr) of one file merge by lines, one after the other, from one base? */
static bool merges_by_lines(struct box_merge *m, const struct touched *t, size_t nr)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT, ours = BUF_INIT, theirs = BUF_INIT;
	struct err none = ERR_INIT;
	if (!between_bytes(&m[t->box], &t->p->base, &base) ||
	    !between_bytes(&m[t->box], &t->p->now, &ours))
		return false;
	for (size_t i = 1; i < nr; i++) {
		CLEANUP(buf_release) struct buf both = BUF_INIT;
		if (!ws_state_alike(&t[i].p->base, &t->p->base) ||
		    !between_bytes(&m[t[i].box], &t[i].p->now, &theirs) ||
		    merge_lines(&base, &ours, &theirs, &both, &none) != 0)
			return false;
		buf_reset(&ours);
		buf_append(&ours, buf_cstr(&both), both.len);
	}
	return true;
}

static struct between_item *between_add(struct between *b, const struct touched *t, const char *why)
{
	GROW(b->item, b->nr, b->cap);
	struct between_item *o = &b->item[b->nr++];
	*o = (struct between_item){ .path = t->full, .name = t->name, .why = why };
	return o;
}

static void between_side(struct between_item *o, const struct touched *t, const char *how)
{
	GROW(o->side, o->nr, o->cap);
	o->side[o->nr++] = (struct between_side){ .box = t->box, .path = t->full, .how = how };
}

/* The sides of one path. */
static void between_compare(struct between *b, struct box_merge *m, const struct touched *t,
			    size_t nr)
{
	bool alike = true, gone = false, made = true;
	for (size_t i = 0; i < nr; i++) {
		alike &= ws_state_alike(&t[i].p->now, &t->p->now);
		gone |= !touched_content(&t[i]);
		made &= t[i].p->base.kind == WS_NONE;
	}
	if (nr < 2 || alike)
		return;
	bool lines = !gone && merges_by_lines(m, t, nr);
	struct between_item *o = between_add(b, t,
					     lines  ? NULL
					     : gone ? "removed and changed"
					     : made ? "added with different content"
						    : "changed differently");
	for (size_t i = 0; i < nr; i++)
		between_side(o, &t[i],
			     !touched_content(&t[i])	    ? "removed"
			     : t[i].p->base.kind == WS_NONE ? "added"
							    : "changed");
}

/* A file of one sandbox stands where another one has a directory. */
static void between_below(struct between *b, const struct touched_list *l, size_t first, size_t nr)
{
	const struct touched *t = &l->item[first];
	size_t len = strlen(t->full);
	struct between_item *o = NULL;
	for (size_t i = first + nr; i < l->nr; i++) {
		const struct touched *in = &l->item[i];
		if (strncmp(in->full, t->full, len) != 0 || in->full[len] != '/')
			break;
		for (size_t k = 0; k < nr; k++) {
			if (in->box == t[k].box || !touched_content(in) || !touched_content(&t[k]))
				continue;
			if (!o) {
				o = between_add(b, t, "a file and a directory");
				between_side(o, &t[k], "a file");
			}
			between_side(o, in, "a directory");
			break;
		}
	}
}

int between_find(struct between *out, struct box_merge *m, size_t nr, struct err *err)
{
	struct touched_list l = { 0 };
	(void)err;
	*out = (struct between){ 0 };
	for (size_t i = 0; i < nr; i++)
		between_list(out, &m[i], i, &l);
	if (l.nr)
		qsort(l.item, l.nr, sizeof(*l.item), cmp_touched);
	for (size_t i = 0, n; i < l.nr; i += n) {
		for (n = 1; i + n < l.nr && !strcmp(l.item[i + n].full, l.item[i].full); n++)
			;
		between_compare(out, m, &l.item[i], n);
		between_below(out, &l, i, n);
	}
	free(l.item);
	return 0;
}

/* --- decisions --- */

static size_t between_box(const struct box_merge *m, size_t nr, const char *name)
{
	size_t found = nr;
	for (size_t i = 0; i < nr; i++)
		if (meant_box(name, m[i].box->id, m[i].box->name))
			found = i;
	return found;
}

static bool between_has(const struct between_item *o, size_t box)
{
	for (size_t i = 0; i < o->nr; i++)
		if (o->side[i].box == box)
			return true;
	return false;
}

int between_take(struct between *b, struct box_merge *m, size_t nr, const char *word,
		 struct err *err)
{
	const char *colon = strchr(word, ':');
	CLEANUP(free_ptr) char *name = colon ? mem_strndup(word, (size_t)(colon - word)) : NULL;
	size_t box = name ? between_box(m, nr, name) : nr, kept = 0, taken = 0;
	if (!colon || !colon[1] || box == nr)
		return err_set(
			err, ERR_USAGE,
			"--take '%s': expected SANDBOX:PATTERN, with a sandbox that is merged",
			word);
	for (size_t i = 0; i < b->nr; i++) {
		struct between_item *o = &b->item[i];
		if (fnmatch(colon + 1, o->name, 0) != 0 || !between_has(o, box)) {
			b->item[kept++] = *o;
			continue;
		}
		for (size_t k = 0; k < o->nr; k++)
			if (o->side[k].box != box)
				strv_push(&m[o->side[k].box].decided, o->side[k].path);
		free(o->side);
		taken++;
	}
	b->nr = kept;
	return taken ? 0
		     : err_set(err, ERR_NOENT,
			       "--take '%s': no file of '%s' that matches conflicts with another sandbox",
			       word, name);
}

/* --- words --- */

bool between_clean(const struct between *b)
{
	for (size_t i = 0; i < b->nr; i++)
		if (b->item[i].why)
			return false;
	return true;
}

json_t *between_json(const struct between *b, const struct box_merge *m, bool conflicts)
{
	json_t *list = json_array();
	for (size_t i = 0; i < b->nr; i++) {
		const struct between_item *it = &b->item[i];
		json_t *o, *boxes = json_array();
		for (size_t k = 0; (it->why != NULL) == conflicts && k < it->nr; k++) {
			const struct box_merge *of = &m[it->side[k].box];
			json_t *side = json_object();
			json_put_int(side, "box", (int64_t)of->box->id);
			json_put_str(side, "name", of->box->name);
			json_put(side, "path", json_bytes_z(it->side[k].path));
			json_put_str(side, "how", it->side[k].how);
			json_array_append_new(boxes, side);
		}
		if (!json_array_size(boxes)) {
			json_decref(boxes);
			continue;
		}
		json_array_append_new(list, o = json_object());
		json_put(o, "path", json_bytes_z(it->name));
		json_put_str(o, "why", it->why);
		json_put(o, "boxes", boxes);
	}
	return list;
}

/* "fix-1", or "#12 (fix-1)" if another one has that name. */
static void between_name(const json_t *boxes, size_t i, struct buf *out)
{
	const json_t *one = json_array_get(boxes, i);
	const char *name = json_str(one, "name", "");
	bool alone = true;
	for (size_t k = 0; k < json_array_size(boxes); k++) {
		const json_t *o = json_array_get(boxes, k);
		alone &= strcmp(json_str(o, "name", ""), name) != 0 ||
			 json_int(o, "box", 0) == json_int(one, "box", 0);
	}
	if (alone)
		buf_puts(out, name);
	else
		buf_printf(out, "#%" PRId64 " (%s)", json_int(one, "box", 0), name);
}

/* "changed differently in a and b", or "removed in a, changed in b". */
static void between_sides(const json_t *item, struct buf *out)
{
	const json_t *boxes = json_object_get(item, "boxes");
	const char *why = json_str(item, "why", NULL),
		   *first = json_str(json_array_get(boxes, 0), "how", "");
	size_t nr = json_array_size(boxes), shown = nr < TOLD_MAX ? nr : TOLD_MAX;
	bool alike = true;
	for (size_t i = 1; i < nr; i++)
		alike &= !strcmp(json_str(json_array_get(boxes, i), "how", ""), first);
	if (alike && why)
		buf_printf(out, "%s in ", why);
	for (size_t i = 0; i < shown; i++) {
		buf_puts(out, !i ? "" : alike && i + 1 == nr ? " and " : ", ");
		if (!alike && why)
			buf_printf(out, "%s in ", json_str(json_array_get(boxes, i), "how", ""));
		between_name(boxes, i, out);
	}
	if (nr > shown)
		buf_printf(out, " and %zu more", nr - shown);
}

void between_text(const json_t *list, struct buf *out)
{
	size_t nr = json_array_size(list);
	for (size_t i = 0; i < nr && i < TOLD_MAX; i++) {
		const json_t *o = json_array_get(list, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(json_object_get(o, "path"), &path);
		buf_printf(out, "%s ", i ? "," : "");
		buf_append(out, buf_cstr(&path), path.len);
		buf_puts(out, " (");
		between_sides(o, out);
		buf_putc(out, ')');
	}
	if (nr > TOLD_MAX)
		buf_printf(out, " and %zu more", nr - TOLD_MAX);
}

void between_release(struct between *b)
{
	for (size_t i = 0; i < b->nr; i++)
		free(b->item[i].side);
	free(b->item);
	arena_release(&b->arena);
	*b = (struct between){ 0 };
}
