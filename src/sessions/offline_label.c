/* Labels of a session that has ended. */
#include "sessions/labels.h"
#include "sessions/offline_priv.h"

int offline_edit_label(struct cmd_ctx *ctx, const char *path, const char *const *words, size_t nr)
{
	struct again g;
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = labels_change(words, nr, true, &err);
	if (!body)
		return cmd_fail(ctx, &err);
	int rc = again_open(&g, ctx, path, &err);
	if (rc == 0)
		rc = again_write(&g, &err);
	if (rc == 0) {
		json_put(body, "who", json_incref(g.who));
		record_append_json(g.record, EV_SESSION_LABELED, g.cause, 0, 0, 0,
				   json_incref(body));
		rc = again_settle(&g, &err);
	}
	return again_finish(&g, rc, &err);
}
