/* Other pending actions that a pattern or a rule decides besides the one on the screen. They are
 * named here before anything is saved, and only the named ones are sent. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/approval_priv.h"
#include "ui/rows/row.h"
#include "ui/term/fmt.h"

struct others {
	const json_t *go[OTHERS_MAX];
	const json_t *stays; /* the first that is answered and stays held all the same; NULL none */
	size_t nr, more;     /* more: would go, but are not named */
};

static bool of_same_agent(const struct approval *v, const struct ui *ui, const json_t *o)
{
	const struct model_action *other =
		model_action(&ui_source(ui, v->source)->model, (uint64_t)json_int(o, "action", 0));
	return other && v->info.act && other->agent == v->info.act->agent;
}

static void approval_others_find(const struct approval *v, const struct ui *ui, struct others *out)
{
	const struct widen *w = &v->widen;
	const json_t *list = w->at < w->nr ? json_object_get(w->row[w->at].tried, "others") : NULL;
	bool mine = w->what == WIDEN_SESSION && !w->all; /* such a pattern is for one agent */
	*out = (struct others){ 0 };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		if (mine && !of_same_agent(v, ui, o))
			continue;
		if (json_object_get(o, "stays"))
			out->stays = out->stays ? out->stays : o;
		else if (out->nr < OTHERS_MAX)
			out->go[out->nr++] = o;
		else
			out->more++;
	}
}

char *others_opt(const struct approval *v, const struct ui *ui)
{
	struct others all;
	struct buf b = BUF_INIT;
	approval_others_find(v, ui, &all);
	for (size_t i = 0; i < all.nr; i++)
		buf_printf(&b, "%s%" PRId64, i ? "," : "", json_int(all.go[i], "action", 0));
	if (!all.nr)
		buf_puts(&b, "none");
	return buf_take(&b);
}

static void approval_others_paint_one(const struct approval *v, const struct ui *ui, struct area a,
				      int row, const json_t *o)
{
	uint64_t id = (uint64_t)json_int(o, "action", 0);
	struct source *s = ui_source(ui, v->source);
	const struct model_action *act = model_action(&s->model, id);
	const struct model_agent *agent = act ? model_agent(&s->model, act->agent) : NULL;
	CLEANUP(json_release) json_t *req = source_body(s, id);
	const char *what = req ? action_what(req, v->arena) : "";
	int col = grid_put(a, row, 5, ROLE_HELD, arena_printf(v->arena, "#%" PRIu64, id)) + 1;
	if (agent && agent != v->info.agent)
		col = put_bytes(a, row, col, 16, ROLE_TEXT, agent->name, strlen(agent->name), 0) +
		      1;
	put_bytes(a, row, col < 12 ? 12 : col, a.cols - 14, ROLE_CMD, what, strlen(what),
		  SANITIZE_EXACT);
}

int others_paint(const struct approval *v, const struct ui *ui, struct area a, int row)
{
	struct others all;
	CLEANUP(buf_release) struct buf ids = BUF_INIT;
	bool deny = v->widen.deny && v->widen.what == WIDEN_RULE;
	approval_others_find(v, ui, &all);
	if (!all.nr && !all.stays)
		return row;
	int room = a.rows - row - (all.stays ? 1 : 0);
	bool listed = (int)all.nr + 1 <= room;
	if (row > a.rows - 1)
		row = a.rows - 1; /* rather over something else than not said */
	for (size_t i = 0; i < all.nr && !listed; i++)
		buf_printf(&ids, " #%" PRId64, json_int(all.go[i], "action", 0));
	if (all.nr)
		grid_put(a, row++, 3, ROLE_HELD,
			 arena_printf(v->arena, "%s %s that %s%s:%s",
				      deny ? "and denies" : "and lets run at once",
				      fmt_plural(v->arena, (int64_t)all.nr, "other", "others"),
				      all.nr == 1 ? "is pending" : "are pending",
				      all.more ? arena_printf(v->arena, " (%zu more stay pending)",
							      all.more)
					       : "",
				      buf_cstr(&ids)));
	for (size_t i = 0; i < all.nr && listed; i++)
		approval_others_paint_one(v, ui, a, row++, all.go[i]);
	if (all.stays && row < a.rows)
		grid_put(a, row++, 3, ROLE_DIM,
			 arena_printf(v->arena, "#%" PRId64 " stays pending: %s",
				      json_int(all.stays, "action", 0),
				      json_str(all.stays, "stays", "")));
	return row;
}
