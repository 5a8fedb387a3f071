/* The effect of 'continue' on frozen sandboxes, and the message about those that stay frozen. */
#include "supervisor/box/super_box.h"
#include "supervisor/core/core.h"

struct standing {
	struct super *s;
	struct buf text;
};

static bool box_continue_over(void *self, uint64_t agent)
{
	const struct standing *st = self;
	const struct agent *ag = super_agent(st->s, agent);
	return !ag || ag->ended;
}

static void box_continue_stays(void *self, uint64_t box, uint64_t agent)
{
	struct standing *st = self;
	const struct agent *ag = super_agent(st->s, agent);
	const char *name = boxes_name(st->s->boxes, box);
	buf_printf(&st->text,
		   "%ssandbox '%s' stays frozen: %s uses it, too; 'thaw %s' continues it for all",
		   st->text.len ? "; " : "", name, ag ? ag->name : "the script", name);
}

void super_box_continue(struct super *s, uint64_t agent, uint64_t cause, json_t *out)
{
	struct standing st = { .s = s };
	const struct thaw_ops ops = { .over = box_continue_over,
				      .stays = box_continue_stays,
				      .self = &st };
	if (agent)
		boxes_thaw_for(s->boxes, agent, cause, &ops);
	else
		boxes_freeze(s->boxes, 0, false, cause);
	if (st.text.len)
		json_put_bytes(out, "text", st.text.data, st.text.len);
	buf_release(&st.text);
}
