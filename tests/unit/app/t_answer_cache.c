/* Answers from the recording: only the script's own answers take one away. */
#include "tap.h"

#include <string.h>

#include "luahost/answer_cache.h"
#include "supervisor/core/call.h"

static void see(struct recorded *r, uint64_t seq, uint16_t kind, uint64_t cause, uint64_t action,
		const char *text)
{
	struct err err = ERR_INIT;
	struct event ev = { .seq = seq, .kind = kind, .cause = cause, .action = action };
	json_t *body = json_parse(text, strlen(text), "event", &err);
	answer_cache_see(r, &ev, body);
	json_decref(body);
}

int main(void)
{
	struct super super = { .host = (struct host *)&super };
	struct call call = { .super = &super, .host = super.host, .id = 7 };
	struct recorded *r = answer_cache_new();
	see(r, 1, EV_HOST_START, 0, 0, "{\"mode\":\"script\"}");
	see(r, 2, EV_HOST_CALL, 1, 0, "{\"id\":7}");
	see(r, 3, EV_ACTION_REQUESTED, 0, 0, "{\"call\":7,\"may_write\":true}");
	see(r, 4, EV_ACTION_ENDED, 0, 3, "{\"end\":\"ok\"}");
	ok(!answer_cache_knows(r, &call), "an action without a snapshot is done again");
	see(r, 5, EV_SNAPSHOT_TAKEN, 0, 3, "{}");
	ok(answer_cache_knows(r, &call), "one with a snapshot is answered");
	see(r, 6, EV_HOST_START, 0, 0, "{\"mode\":\"policy\"}");
	see(r, 7, EV_HOST_CALL, 6, 0, "{\"id\":9}");
	ok(!answer_cache_asked(r, 8), "the calls of a policy file are not the script's");
	see(r, 8, EV_HOST_FRAME, 6, 0, "{\"type\":\"answer\",\"id\":7}");
	ok(answer_cache_knows(r, &call), "nor are its answers");
	see(r, 9, EV_HOST_FRAME, 1, 0, "{\"type\":\"answer\",\"id\":7}");
	ok(!answer_cache_knows(r, &call), "the script's own answer is given once");
	answer_cache_free(&r);
	return done_testing();
}
