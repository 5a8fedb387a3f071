/* Bodies compared with their declarations: the first field that differs is named with its place. */
#include <string.h>

#include "tap.h"
#include "wire/event_check.h"

static const struct {
	uint16_t kind;
	const char *body;
	const char *why; /* NULL: as declared */
} cases[] = {
	{ EV_ACTION_ENDED, "{}", NULL },
	{ EV_ACTION_ENDED, "{\"end\":\"ok\",\"code\":0,\"times\":{\"gate_us\":1}}", NULL },
	{ EV_ACTION_ENDED, "{\"end\":\"ok\",\"colour\":1}", "action.ended: unknown field 'colour'" },
	{ EV_ACTION_ENDED, "{\"code\":\"0\"}", "action.ended: field 'code': expected an integer" },
	{ EV_ACTION_ENDED, "{\"code\":0.5}", "action.ended: field 'code': expected an integer" },
	{ EV_ACTION_ENDED, "{\"started\":1}", "action.ended: field 'started': expected true or false" },
	{ EV_ACTION_ENDED, "{\"times\":{\"tea_us\":1}}", "action.ended: unknown field 'times.tea_us'" },
	{ EV_ACTION_ENDED, "{\"refused\":[{\"host\":\"a\"},{\"port\":\"b\"}]}", "action.ended: field 'refused[].port': expected an integer" },
	{ EV_ACTION_ENDED, "{\"refused\":{}}", NULL }, /* Lua's empty table */
	{ EV_ACTION_ENDED, "{\"refused\":{\"host\":\"a\"}}", "action.ended: field 'refused': expected a list" },
	{ EV_ACTION_ENDED, "[]", "action.ended: expected a JSON object" },
	{ EV_ACTION_ENDED, "{\"end\":", "action.ended: expected a JSON object" },
	{ EV_ACTION_REQUESTED, "{\"argv\":[\"a\",{\"b64\":\"/w==\"}]}", NULL },
	{ EV_ACTION_REQUESTED, "{\"argv\":[\"a\",{\"b32\":\"/w==\"}]}", "action.requested: field 'argv[]': expected a text" },
	{ EV_ACTION_REQUESTED, "{\"args\":{\"any\":[1,null]}}", NULL },
	{ EV_CONTROL_COMMAND, "{\"opts\":{\"any\":[1]}}", NULL },
	{ EV_SESSION_LABELED, "{\"set\":{\"a\":\"b\"}}", NULL },
	{ EV_SESSION_LABELED, "{\"set\":{\"a\":1}}", "session.labeled: field 'set.a': expected a text" },
	{ EV_MERGE_DONE, "{\"taken\":[{\"path\":\"a\",\"ranges\":[[1,2,3,4]]}]}", NULL },
	{ EV_MERGE_DONE, "{\"taken\":[{\"ranges\":[[1,\"2\"]]}]}", "merge.done: field 'taken[].ranges[][]': expected an integer" },
	{ EV_MERGE_DONE, NULL, NULL },	/* redacted */
	{ 999, "{\"any\":1}", NULL },
};

int main(void)
{
	struct buf why = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *body = cases[i].body;
		bool same = event_check(cases[i].kind, body, body ? strlen(body) : 0, &why);
		ok(same == !cases[i].why, "%u %s is %s", cases[i].kind, body ? body : "NULL", cases[i].why ? "refused" : "accepted");
		is_str(buf_cstr(&why), cases[i].why ? cases[i].why : "", "with its reason");
	}
	for (size_t i = 0; i < event_kind_count(); i++)
		ok(event_desc_of(event_kind_at(i)) != NULL, "%s has a table", event_kind_name(event_kind_at(i)));
	ok(event_desc_of(0) == NULL && event_desc_of(212) == NULL && event_desc_of(UINT16_MAX) == NULL, "other numbers have none");
	buf_release(&why);
	return done_testing();
}
