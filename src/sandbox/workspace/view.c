#include "sandbox/workspace/view.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/tree.h"

/* A source's statement about one side of one path; sorted and folded afterwards. */
struct claim {
	const char *path;
	size_t len;
	bool base, attrs;
	struct ws_state state;
};

struct loader {
	struct claim *item;
	size_t nr, cap;
	struct arena *arena;
	bool base;
};

static struct claim *claim_new(struct loader *l, const char *path, size_t len)
{
	GROW(l->item, l->nr, l->cap);
	struct claim *c = &l->item[l->nr++];
	*c = (struct claim){ .path = arena_strndup(l->arena, path, len), .len = len };
	c->state.nlink = 1;
	return c;
}

static bool on_tree_entry(void *self, const char *path, size_t len, unsigned mode,
			  const struct object_id *oid, struct err *err)
{
	(void)err;
	struct loader *l = self;
	struct claim *c = claim_new(l, path, len);
	c->base = l->base;
	c->state.oid = *oid;
	c->state.kind = mode == TREE_MODE_LINK ? WS_LINK : WS_FILE;
	c->state.mode = mode == TREE_MODE_LINK ? 0777 : (uint16_t)(mode & 0777);
	return true;
}

/* --- attrs --- */

static bool workspace_view_number(const char **p, const char *end, int base, uint64_t max,
				  uint64_t *out)
{
	uint64_t v = 0;
	const char *s = *p;
	for (; s < end && *s != ' '; s++) {
		int d = *s >= '0' && *s <= '9'	 ? *s - '0'
			: *s >= 'a' && *s <= 'f' ? *s - 'a' + 10
						 : 99;
		if (d >= base || v > (UINT64_MAX - 15) / (unsigned)base)
			return false;
		v = v * (unsigned)base + (unsigned)d;
	}
	if (s == *p || s == end || v > max)
		return false;
	*p = s + 1;
	*out = v;
	return true;
}

int attrs_next(const char *bytes, size_t len, size_t *pos, struct attrs_line *l, struct err *err)
{
	if (*pos >= len)
		return 0;
	const char *p = bytes + *pos, *end = memchr(p, 0, len - *pos);
	char word[8];
	enum ws_kind kind;
	uint64_t mode, links, flags, size;
	const char *sp = end && end - p > 4 && p[1] == ' '
				 ? memchr(p + 2, ' ', (size_t)(end - p) - 2)
				 : NULL;
	if (!sp || (*p != 'n' && *p != 'b') || (size_t)(sp - p) - 2 >= sizeof(word))
		return err_set(err, ERR_DAMAGED, "attributes: damaged at byte %zu", *pos);
	memcpy(word, p + 2, (size_t)(sp - p) - 2);
	word[sp - p - 2] = 0;
	const char *at = sp + 1;
	if (!ws_kind_find(word, &kind) || kind == WS_NONE ||
	    !workspace_view_number(&at, end, 8, 07777, &mode) ||
	    !workspace_view_number(&at, end, 10, UINT32_MAX, &links) ||
	    !workspace_view_number(&at, end, 16, 0xff, &flags) ||
	    !workspace_view_number(&at, end, 10, UINT64_MAX, &size) || at == end ||
	    memchr(at, '/', (size_t)(end - at)))
		return err_set(err, ERR_DAMAGED, "attributes: damaged at byte %zu", *pos);
	*l = (struct attrs_line){ .side = *p, .name = at, .len = (size_t)(end - at) };
	l->state = (struct ws_state){ .kind = (uint8_t)kind,
				      .flags = (uint8_t)flags,
				      .mode = (uint16_t)mode,
				      .nlink = (uint32_t)links,
				      .size = size };
	*pos = (size_t)(end - bytes) + 1;
	return 1;
}

static int workspace_view_load_lines(struct loader *l, const struct ws_store *st,
				     const struct object_id *id, const char *dir, size_t dir_len,
				     struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	enum object_type type;
	if (st->get(st->self, id, &type, &b, err) < 0)
		return err_wrap(err, "attributes");
	struct attrs_line line;
	size_t pos = 0;
	int rc;
	while ((rc = attrs_next(buf_cstr(&b), b.len, &pos, &line, err)) > 0) {
		buf_reset(&path);
		if (dir_len) {
			buf_append(&path, dir, dir_len);
			buf_putc(&path, '/');
		}
		buf_append(&path, line.name, line.len);
		struct claim *c = claim_new(l, buf_cstr(&path), path.len);
		c->base = line.side == 'b';
		c->attrs = true;
		c->state = line.state;
	}
	return rc;
}

struct attrs_job {
	struct loader *l;
	const struct ws_store *st;
};

/* The attrs tree's paths are "dNAME/dNAME/a". */
static bool on_attrs_entry(void *self, const char *path, size_t len, unsigned mode,
			   const struct object_id *oid, struct err *err)
{
	struct attrs_job *j = self;
	CLEANUP(buf_release) struct buf dir = BUF_INIT;
	(void)mode;
	for (size_t i = 0; i < len;) {
		const char *slash = memchr(path + i, '/', len - i);
		if (!slash) {
			if (len - i != 1 || path[i] != 'a')
				return err_set(err, ERR_DAMAGED, "attributes: unknown entry"),
				       false;
			break;
		}
		size_t end = (size_t)(slash - path);
		if (path[i] != 'd' || end - i < 2)
			return err_set(err, ERR_DAMAGED, "attributes: unknown directory"), false;
		if (dir.len)
			buf_putc(&dir, '/');
		buf_append(&dir, path + i + 1, end - i - 1);
		i = end + 1;
	}
	return workspace_view_load_lines(j->l, j->st, oid, buf_cstr(&dir), dir.len, err) == 0;
}

static int workspace_view_load_side(struct loader *l, const struct ws_store *st, const json_t *body,
				    const char *key, bool base, struct err *err)
{
	struct object_id id;
	const char *hex = json_str(body, key, NULL);
	if (!hex)
		return 0;
	if (!object_parse(hex, &id))
		return err_set(err, ERR_DAMAGED, "snapshot: invalid object name in %s", key);
	l->base = base;
	if (!strcmp(key, "attrs")) {
		struct attrs_job j = { l, st };
		return tree_each(st, &id, false, on_attrs_entry, &j, err);
	}
	return tree_each(st, &id, false, on_tree_entry, l, err);
}

static int cmp_claim(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;
	int c = ws_path_cmp(a->path, a->len, b->path, b->len);
	return c ? c : (int)a->attrs - (int)b->attrs;
}

static void workspace_view_fold(struct ws_view *v, struct loader *l)
{
	if (l->nr)
		qsort(l->item, l->nr, sizeof(*l->item), cmp_claim);
	for (size_t i = 0; i < l->nr; i++) {
		const struct claim *c = &l->item[i];
		struct ws_path *p = v->nr ? &v->item[v->nr - 1] : NULL;
		if (!p || ws_path_cmp(p->path, p->len, c->path, c->len) != 0) {
			GROW(v->item, v->nr, v->cap);
			p = &v->item[v->nr++];
			*p = (struct ws_path){ .path = c->path, .len = c->len };
			p->base.nlink = p->now.nlink = 1;
		}
		struct ws_state *s = c->base ? &p->base : &p->now;
		struct object_id oid = c->attrs ? s->oid : c->state.oid;
		*s = c->state;
		s->oid = oid;
	}
}

int ws_view_load(struct ws_view *v, const struct ws_store *st, const json_t *body, struct err *err)
{
	struct ws_view out = WS_VIEW_INIT;
	struct loader l = { .arena = &out.arena };
	static const struct {
		const char *key;
		bool base;
	} part[] = { { "tree", false },
		     { "under", true },
		     { "git", false },
		     { "git_under", true },
		     { "attrs", false } };
	int rc = 0;
	for (size_t i = 0; body && rc == 0 && i < ARRAY_LEN(part); i++)
		rc = workspace_view_load_side(&l, st, body, part[i].key, part[i].base, err);
	if (rc == 0)
		workspace_view_fold(&out, &l);
	free(l.item);
	if (rc < 0) {
		ws_view_release(&out);
		return err_wrap(err, "snapshot");
	}
	*v = out;
	return 0;
}

void ws_view_release(struct ws_view *v)
{
	free(v->item);
	arena_release(&v->arena);
	*v = WS_VIEW_INIT;
}

const struct ws_path *ws_view_find(const struct ws_view *v, const char *path, size_t len)
{
	size_t lo = 0, hi = v->nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = ws_path_cmp(path, len, v->item[mid].path, v->item[mid].len);
		if (c == 0)
			return &v->item[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}
