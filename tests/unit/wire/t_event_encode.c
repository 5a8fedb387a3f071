/* Structs of events as text. */
#include <string.h>

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

static void values(void)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	static const char text[] = "{\"uid\":0,\"name\":{\"b64\":\"/w==\"},\"pid\":0,\"tty\":\"t\"}";
	json_t *who = json_parse(text, strlen(text), "who", &err), *list = json_pack("[s, i]", "a", 1);
	is_text(&desc_ev_who, &(struct ev_who[]){ ev_who_from(&a, who) }, text, "a user is written as it was");
	is_text(&desc_ev_budget_extended, &(struct ev_budget_extended){ .who = ev_who_from(&a, NULL) }, "{}", "no user, no object");
	struct ev_action_held held = { .intent = ev_hex_of(&a, "\1\377", 2) };
	held.reasons.item = ev_texts_from(&a, list, &held.reasons.nr);
	is_text(&desc_ev_action_held, &held, "{\"reasons\":[\"a\",\"\"],\"intent\":\"01ff\"}", "texts of a list; digits of a hash");
	ok(!ev_texts_from(&a, who, &held.reasons.nr) && !ev_json_of(&a, NULL).s, "a missing value is absent");
	ok(ev_text_is(ev_json_of(&a, list), "[\"a\",1]"), "JSON as text");
	json_decref(who);
	json_decref(list);
	arena_release(&a);
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
	is_text(&desc_ev_action_held,
		&(struct ev_action_held){ .reasons = { 0, (struct ev_text[1]){ { 0 } } }, .why = ev_text_of("") },
		"{\"reasons\":[],\"why\":\"\"}", "a list and a text that are there and empty");
	values();
	return done_testing();
}
