/* The rule about ends of actions: a body that can't be read says nothing about how the action ended. */
#include "base/hash.h"
#include "query/action_end.h"
#include "tap.h"

static const struct {
	const char *body;
	enum action_outcome how;
} cases[] = {
	{ "{\"end\":\"ok\"}", OUTCOME_OK },
	{ "{\"end\":\"ok\",\"code\":0}", OUTCOME_OK },
	{ "{\"end\":\"ok\",\"code\":2}", OUTCOME_FAILED },
	{ "{\"end\":\"ok\",\"signal\":9}", OUTCOME_FAILED },
	{ "{\"end\":\"timeout\"}", OUTCOME_FAILED },
	{ "{\"end\":\"denied\",\"rule\":\"no\"}", OUTCOME_DENIED },
	{ "{}", OUTCOME_FAILED },
	{ NULL, OUTCOME_UNKNOWN }, /* redacted */
	{ "{\"end\":\"ok\"", OUTCOME_UNKNOWN },
	{ "{\"end\":\"ok\",\"end\":\"denied\"}", OUTCOME_UNKNOWN },
};

int main(void)
{
	struct arena a = ARENA_INIT;
	hash_init();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *body = cases[i].body;
		struct event ev = { .kind = EV_ACTION_ENDED, .body = body, .len = body ? strlen(body) : 0 };
		struct ev_action_ended end;
		event_decode(&desc_ev_action_ended, &ev, &a, &end);
		is_int(action_outcome_of(&end), cases[i].how, body ? body : "redacted");
	}
	arena_release(&a);
	return done_testing();
}
