#include "sandbox/workspace/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Where @name is or would stand among the children. */
static uint32_t node_place(const struct ws_node *n, const char *name, size_t len, bool *found)
{
	uint32_t lo = 0, hi = n->nr;
	*found = false;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c = ws_path_cmp(name, len, n->child[mid]->name, n->child[mid]->name_len);
		if (c == 0) {
			*found = true;
			return mid;
		}
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct ws_node *node_new(struct ws_node *up, const char *name, size_t len)
{
	struct ws_node *n = mem_calloc(1, sizeof(*n) + len + 1);
	memcpy(n->name, name, len);
	n->name_len = (uint32_t)len;
	n->up = up;
	if (!up)
		return n;
	bool found;
	uint32_t at = node_place(up, name, len, &found);
	assert(!found);
	GROW(up->child, up->nr, up->cap);
	memmove(up->child + at + 1, up->child + at, (up->nr - at) * sizeof(*up->child));
	up->child[at] = n;
	up->nr++;
	return n;
}

/* Goes down to the first leaf, frees it, continues from its parent: no recursion, as the sandbox
 * chooses the depth. */
void node_free(struct ws_node *n)
{
	struct ws_node *top = n;
	while (n) {
		if (n->nr) {
			n = n->child[--n->nr];
			continue;
		}
		struct ws_node *up = n == top ? NULL : n->up;
		free(n->child);
		free(n);
		n = up;
	}
}

struct ws_node *node_child(const struct ws_node *n, const char *name, size_t len)
{
	bool found;
	uint32_t at = node_place(n, name, len, &found);
	return found ? n->child[at] : NULL;
}

struct ws_node *node_find(struct ws_node *root, const char *path, size_t len)
{
	struct ws_node *n = root;
	for (size_t i = 0; n && i < len;) {
		const char *slash = memchr(path + i, '/', len - i);
		size_t end = slash ? (size_t)(slash - path) : len;
		n = node_child(n, path + i, end - i);
		i = end + 1;
	}
	return n;
}

unsigned node_depth(const struct ws_node *n)
{
	unsigned depth = 0;
	for (; n->up; n = n->up)
		depth++;
	return depth;
}

void node_path(const struct ws_node *n, struct buf *out)
{
	size_t len = 0;
	for (const struct ws_node *x = n; x->up; x = x->up)
		len += x->name_len + (x->up->up ? 1u : 0u);
	buf_reset(out);
	buf_reserve(out, len);
	out->len = len;
	out->data[len] = 0;
	for (const struct ws_node *x = n; x->up; x = x->up) {
		len -= x->name_len;
		memcpy(out->data + len, x->name, x->name_len);
		if (len)
			out->data[--len] = '/';
	}
}

void node_dirty(struct ws_node *n)
{
	for (; n && !n->dirty; n = n->up)
		n->dirty = true;
}

bool node_differs(const struct ws_node *n)
{
	return !n->lazy && !ws_state_eq(&n->base, &n->now);
}

size_t node_prune(struct ws_node *n)
{
	size_t left = 0;
	uint32_t keep = 0;
	for (uint32_t i = 0; i < n->nr; i++) {
		struct ws_node *c = n->child[i];
		size_t below = c->nr ? node_prune(c) : 0;
		if (below || c->in_upper || c->changed || node_differs(c)) {
			n->child[keep++] = c;
			left += below + 1;
		} else {
			node_free(c);
		}
	}
	n->nr = keep;
	return left;
}
