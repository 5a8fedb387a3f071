/* A hook's event from an agent on the host, in the dialect of each agent: an object with the fields that the session reads, and
 * a decision that is JSON whatever the reason and arguments. First line: agent, then the event's name or nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/hook_dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decide(const struct hook_dialect *d, const json_t *event)
{
	static const char *const decision[] = { "allow", "deny", "ask" };
	for (size_t i = 0; i < ARRAY_LEN(decision); i++) {
		struct err err = ERR_INIT;
		CLEANUP(free_ptr) char *text = hook_dialect_decision(d, decision[i], json_str(event, "prompt", "why"),
								     json_object_get(event, "tool_input"));
		CLEANUP(json_release) json_t *again = json_parse(text, strlen(text), "decision", &err);
		if (!json_is_object(again))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	const uint8_t *nl = memchr(data, '\n', size);
	if (!nl || size > 1 << 16)
		return 0;
	size_t rest = size - (size_t)(nl + 1 - data);
	CLEANUP(free_ptr) char *agent = mem_strndup((const char *)data, (size_t)(nl - data));
	char *named = strchr(agent, ' ');
	if (named)
		*named++ = 0;
	const struct hook_dialect *d = hook_dialect_find(agent);
	CLEANUP(json_release) json_t *said = json_parse((const char *)nl + 1, rest, "event", &err),
				     *event = hook_dialect_event(d, said, named);
	if (!json_is_object(event))
		abort();
	decide(d, event);
	CLEANUP(free_ptr) char *settings = d ? hook_dialect_settings(d, "sandglass hook") : NULL;
	if (d && !*settings)
		abort();
	return 0;
}
