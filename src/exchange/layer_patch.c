#include "exchange/layer_patch.h"

#include <string.h>

#include "base/text/sanitize.h"
#include "sandbox/workspace/diff.h"

int layer_patch(struct session *s, const struct layer_at *l, struct buf *out, struct err *err)
{
	struct ws_store st = states_store(s);
	struct ws_view from = WS_VIEW_INIT, to = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	int rc = ws_view_load(&to, &st, l->body, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &from, &to, true, &st, err);
	size_t nr = 0;
	for (size_t i = 0; i < d.nr; i++)
		if (!ws_path_is_git(d.item[i].path, d.item[i].len))
			d.item[nr++] = d.item[i];
	d.nr = nr;
	if (rc == 0)
		rc = ws_diff_patch(&d, &st, out, err);
	ws_diff_release(&d);
	ws_view_release(&from);
	ws_view_release(&to);
	return rc;
}

/* The longest beginning of whole lines within @max bytes. */
static size_t layer_patch_head(const struct buf *text, size_t max)
{
	size_t len = text->len < max ? text->len : max;
	while (len < text->len && len && text->data[len - 1] != '\n')
		len--;
	return len;
}

int layer_patches(struct export *x, size_t max, layer_patch_fn *fn, void *self, struct err *err)
{
	struct layers_at l;
	if (layers_at(&l, x->s, 0, x->box, err) < 0)
		return -1;
	for (size_t i = 0; i < l.nr; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT, title = BUF_INIT;
		struct err why = ERR_INIT;
		const struct layer_at *at = &l.item[i];
		int rc = layer_patch(x->s, at, &text, &why);
		size_t len = layer_patch_head(&text, max);
		sanitize_line(at->box_name, strlen(at->box_name), 0, &title);
		if (*at->repo) {
			buf_puts(&title, ", ");
			sanitize_line(at->repo, strlen(at->repo), 0, &title);
		}
		if (text.len || rc < 0)
			fn(self, buf_cstr(&title), buf_cstr(&text), len, text.len - len,
			   rc < 0 ? why.text : NULL);
	}
	layers_at_release(&l);
	return 0;
}
