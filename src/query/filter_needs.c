/* Texts without which a filter matches nothing of a session: what an index over many sessions is
 * asked. */
#include <ctype.h>
#include <string.h>

#include "query/filter_priv.h"

enum { ALTERNATIVES_MOST = 32 };

/* Alternatives: a match contains all texts of one of them. */
struct alternatives {
	struct strv any[ALTERNATIVES_MOST];
	size_t nr;
};

static void alternatives_release(struct alternatives *a)
{
	for (size_t i = 0; i < a->nr; i++)
		strv_release(&a->any[i]);
	a->nr = 0;
}

/* The runs of letters and digits of @text that have a letter; numbers have several forms. */
static void needs_of_text(const char *text, struct strv *out)
{
	while (*text) {
		size_t len = 0;
		bool letter = false;
		for (; isascii((unsigned char)text[len]) && isalnum((unsigned char)text[len]);
		     len++)
			letter |= isalpha((unsigned char)text[len]) != 0;
		if (letter && len > 1)
			strv_push_bytes(out, text, len);
		text += len ? len : 1;
	}
}

static bool needs_on_pieces(void *self, const struct strv *pieces)
{
	struct alternatives *a = self;
	if (a->nr == ALTERNATIVES_MOST)
		return false;
	struct strv *texts = &a->any[a->nr++];
	for (size_t i = 0; i < pieces->nr; i++)
		needs_of_text(pieces->item[i], texts);
	return texts->nr > 0;
}

/* A text of the body, which may also be written with \u00. */
static bool needs_of_term(const struct node *n, struct alternatives *out)
{
	static const bool of_body[FIELD_NR] = {
		[FIELD_TOOL] = true, [FIELD_CMD] = true, [FIELD_PATH] = true,
		[FIELD_RULE] = true, [FIELD_BY] = true,	 [FIELD_HOST] = true
	};
	if (n->op == OP_NOT || !of_body[n->field] || !filter_pieces(n, needs_on_pieces, out) ||
	    !out->nr || out->nr == ALTERNATIVES_MOST)
		return false;
	strv_push(&out->any[out->nr++], "\\u00");
	return true;
}

static bool needs_of_words(const struct node *n, struct alternatives *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (const char *c = n->value[0].text; *c; c++)
		if (*c != '"')
			buf_putc(&text, *c);
	while (text.len && text.data[text.len - 1] == '*') /* as look_new does */
		text.data[--text.len] = 0;
	strv_push(&out->any[out->nr++], buf_cstr(&text));
	return true;
}

/* One condition that holds wherever @n does; false: none is known. */
static bool needs_one(const struct node *n, struct alternatives *out)
{
	switch (n->type) {
	case NODE_WORDS:
		return needs_of_words(n, out);
	case NODE_TERM:
		return needs_of_term(n, out);
	case NODE_AND: {
		if (needs_one(n->left, out))
			return true;
		alternatives_release(out);
		return needs_one(n->right, out);
	}
	case NODE_OR: {
		struct alternatives more = { .nr = 0 };
		bool both = needs_one(n->left, out) && needs_one(n->right, &more) &&
			    out->nr + more.nr <= ALTERNATIVES_MOST;
		for (size_t i = 0; both && i < more.nr; i++)
			strv_copy(&out->any[out->nr++], &more.any[i]);
		alternatives_release(&more);
		return both;
	}
	case NODE_ALL:
	case NODE_NOT:
		break;
	}
	return false;
}

static void needs_of_node(const struct node *n, filter_need_fn *fn, void *self)
{
	if (n->type == NODE_AND) {
		needs_of_node(n->left, fn, self);
		needs_of_node(n->right, fn, self);
		return;
	}
	struct alternatives a = { .nr = 0 };
	if (needs_one(n, &a))
		fn(self, a.any, a.nr);
	alternatives_release(&a);
}

void filter_needs(const struct filter *f, filter_need_fn *fn, void *self)
{
	needs_of_node(f->root, fn, self);
}
