/* Structs of events as text. */
#include "base/hash.h"
#include "base/json.h"
#include "tap.h"
#include "wire/event_encode.h"

static void is_text(const struct event_desc *d, const void *body, const char *want, const char *name)
{
	struct buf out = BUF_INIT;
	event_encode(d, body, &out);
	is_str(buf_cstr(&out), want, name);
	buf_release(&out);
}

int main(void)
{
	hash_init();
	is_text(&desc_ev_action_ended, &(struct ev_action_ended){ 0 }, "{}", "empty fields are left out");
	is_text(&desc_ev_action_ended, &(struct ev_action_ended){ .end = { "ok", 2 }, .has_code = true, .dur_us = 5, .has_dur_us = true },
		"{\"end\":\"ok\",\"dur_us\":5,\"code\":0}", "declared order; a marked 0 is written");
	is_text(&desc_ev_action_ended, &(struct ev_action_ended){ .why = { "a\"b\n\377", 5 } }, "{\"why\":{\"b64\":\"YSJiCv8=\"}}",
		"bytes that are not UTF-8");
	is_text(&desc_ev_action_ended, &(struct ev_action_ended){ .why = { "a\"b\n", 4 } }, "{\"why\":\"a\\\"b\\n\"}", "text with escapes");
	struct ev_refused_host hosts[] = { { .there = true, .host = { "a", 1 }, .port = 80 }, { .there = true, .port = 1 } };
	is_text(&desc_ev_action_ended,
		&(struct ev_action_ended){ .times = { .there = true, .gate_us = 7 }, .refused = { 2, hosts }, .result = { "[1, 2]", 6 } },
		"{\"times\":{\"gate_us\":7},\"refused\":[{\"host\":\"a\",\"port\":80},{\"port\":1}],\"result\":[1, 2]}",
		"an object, a list, and JSON as it is");
	return done_testing();
}
