#include "ui/rows/who.h"

#include <inttypes.h>
#include <string.h>

#include "record/read/back.h"
#include "ui/rows/row.h"

const char *who_mark(struct source *s, uint64_t seq, struct arena *a)
{
	if (!seq)
		return "base";
	return arena_printf(a, "#%" PRIu64 "%s", seq, model_action(&s->model, seq) ? "" : "~");
}

/* ", allowed by tests", ", approved by ann" */
static const char *let_by(const struct row_info *r, struct arena *a)
{
	if (!*r->by)
		return *r->verdict ? arena_printf(a, "  %s", r->verdict) : "";
	return arena_printf(a, "  %s by %s", *r->verdict ? r->verdict : "allowed", r->by);
}

const char *who_text(struct source *s, uint64_t seq, struct arena *a)
{
	const struct model_action *act = model_action(&s->model, seq);
	const struct model_agent *agent = act ? model_agent(&s->model, act->agent) : NULL;
	struct row_info r;
	if (!seq)
		return "the base, or before the recording";
	if (!act) {
		CLEANUP(json_release) json_t *o = source_body(s, seq);
		CLEANUP(buf_release) struct buf what = BUF_INIT, who = BUF_INIT;
		if (session_put_back(s->session, seq, &what, &who))
			return arena_printf(a, "#%" PRIu64 " %s%s%s", seq, buf_cstr(&what),
					    who.len ? " by " : "", buf_cstr(&who));
		return json_array_size(json_object_get(o, "by"))
			       ? arena_printf(a, "#%" PRIu64 "~ several actions at the same time",
					      seq)
			       : arena_printf(a, "#%" PRIu64 " %s", seq,
					      json_str(o, "why", "changed outside actions"));
	}
	row_load(&r, s, &(struct row){ seq, EV_ACTION_REQUESTED }, a);
	return arena_printf(a, "#%" PRIu64 " %s%s%s %s%s", seq, agent ? agent->name : "",
			    agent ? "  " : "", r.word, one_line(r.what, a), let_by(&r, a));
}
