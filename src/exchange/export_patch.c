/* All changes of the sandboxes as a patch that git applies; several sandboxes one after the
 * other. */
#include <string.h>

#include "exchange/export.h"
#include "exchange/layer_patch.h"
#include "base/text/sanitize.h"

static int export_patch_one_layer(struct export *x, const struct layer_at *l, bool title,
				  struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	int rc = layer_patch(x->s, l, &text, err);
	if (rc == 0 && title && text.len) {
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		sanitize_line(l->box_name, strlen(l->box_name), 0, &name);
		fprintf(x->out, "# sandbox %s%s%s\n", buf_cstr(&name), *l->repo ? ", " : "",
			l->repo);
	}
	fwrite(buf_cstr(&text), 1, text.len, x->out);
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
