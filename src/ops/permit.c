/* inner.permit: what an agent in a box asks to be allowed. It is judged as what it would do; what
 * the proxy has had judged already, when the model asked for it, is not asked about twice. */
#include <string.h>

#include "supervisor/core/call.h"
#include "inside/proxy.h"
#include "inside/tool_spec.h"
#include "supervisor/core/resumed.h"
#include "supervisor/box/super_box.h"

static const struct effector permit_effector = { .name = "permit",
						 .start = permission_start,
						 .cancel = permission_cancel };

static void permit_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	if (res->edited) {
		const json_t *ran = json_object_get(res->body, "ran");
		json_put_flag(v, "edited", true);
		json_put(v, "ran", json_incref((json_t *)(uintptr_t)ran));
	}
	call_answer(c, v);
}

/* The facts for the reviewer besides the command: the agent's own description, and the meaning
 * of its "always". */
static json_t *shown_args(const struct call *c)
{
	json_t *args = json_object();
	json_object_update(args, json_object_get(c->args, "args"));
	static const char *const also[] = { "title", "options" };
	for (size_t i = 0; i < ARRAY_LEN(also); i++)
		if (!json_object_get(args, also[i]))
			json_put(args, also[i], json_incref(json_object_get(c->args, also[i])));
	return args;
}

void op_inner_permit(struct call *c)
{
	struct action_spec spec;
	uint64_t box = resume_box(c->super->resume, (uint64_t)json_int(c->args, "box", 0));
	CLEANUP(json_release) json_t *args = shown_args(c);
	tool_spec(&spec, json_str(c->args, "tool", "permission"), args,
		  json_str(c->args, "text", NULL));
	uint64_t before =
		super_box_allowed(c->super, box, c->agent, spec.kind, json_str(c->args, "call", ""),
				  spec.cmdline ? spec.cmdline : spec.path);
	if (before) {
		json_t *v = json_object();
		json_put_int(v, "event", (int64_t)before);
		json_put_flag(v, "before", true);
		call_answer(c, v);
	} else {
		spec.box = box;
		/* an agent without a box, told by its hooks */
		spec.leaves_box = !box && spec.kind != ACT_READ;
		spec.parallel = true;
		call_action(c, &spec, &permit_effector, permit_done);
	}
	strv_release(&spec.argv);
}
