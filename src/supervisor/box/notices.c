#include "supervisor/box/notices.h"

#include "supervisor/box/box_ops.h"
#include "supervisor/box/super_box.h"
#include "sandbox/notice.h"

static bool told_already(const json_t *told, const json_t *n)
{
	for (size_t i = 0; i < json_array_size(told); i++)
		if (notice_same(json_array_get(told, i), n))
			return true;
	return false;
}

void notices_tell(struct super *s, uint64_t box, uint64_t cause, json_t *list)
{
	json_t *told = super_box_notices(s, box);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *n = json_array_get(list, i);
		if (told_already(told, n))
			continue;
		if (told) /* else it has gone, and this comes from its last look */
			json_array_append(told, n);
		record_append_json(s->record, EV_BOX_NOTICE, cause, 0, box, 0, json_incref(n));
	}
	json_decref(list);
}

json_t *notices_texts(struct super *s, uint64_t box)
{
	const json_t *told = super_box_notices(s, box);
	if (!json_array_size(told))
		return NULL;
	json_t *texts = json_array();
	for (size_t i = 0; i < json_array_size(told); i++)
		json_array_append_new(texts,
				      json_string(json_str(json_array_get(told, i), "text", "")));
	return texts;
}

void op_box_notices(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	json_t *v = json_object();
	json_put(v, "notices", json_deep_copy(super_box_notices(c->super, id)));
	call_answer(c, v);
}
