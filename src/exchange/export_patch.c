/* What the boxes have changed from beginning to end, as a patch that git applies; several boxes one
 * after the other. */
#include <string.h>

#include "exchange/export.h"
#include "exchange/states.h"
#include "base/text/sanitize.h"
#include "sandbox/workspace/diff.h"

static int export_patch_one_layer(struct export *x, const struct layer_at *l, bool title,
				  struct err *err)
{
	struct ws_store st = states_store(x->s);
	struct ws_view from = WS_VIEW_INIT, to = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	int rc = ws_view_load(&to, &st, l->body, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &from, &to, true, &st, err);
	size_t nr = 0;
	for (size_t i = 0; i < d.nr; i++) /* a box's own .git is no part of its work */
		if (!ws_path_is_git(d.item[i].path, d.item[i].len))
			d.item[nr++] = d.item[i];
	d.nr = nr;
	if (rc == 0)
		rc = ws_diff_patch(&d, &st, &text, err);
	if (rc == 0 && title && text.len) {
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		sanitize_line(l->box_name, strlen(l->box_name), 0, &name);
		fprintf(x->out, "# box %s%s%s\n", buf_cstr(&name), *l->repo ? ", " : "", l->repo);
	}
	fwrite(buf_cstr(&text), 1, text.len, x->out);
	ws_diff_release(&d);
	ws_view_release(&from);
	ws_view_release(&to);
	return rc;
}

int export_patch(struct export *x, struct err *err)
{
	struct layers_at l;
	if (layers_at(&l, x->s, 0, x->box, err) < 0)
		return -1;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l.nr; i++)
		rc = export_patch_one_layer(x, &l.item[i], l.nr > 1, err);
	layers_at_release(&l);
	return rc;
}
