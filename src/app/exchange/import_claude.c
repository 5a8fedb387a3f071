/* Claude Code's own files (its vendor calls the form internal, so: leniently). Each line is one object: type user, assistant,
 * or something that is kept as it is; "message" has the shape of the Messages API. One answer of the model may stand on several
 * lines with the same message.id, each with one block and the usage so far: it is one turn, and its last usage counts. */
#include <stdlib.h>
#include <string.h>

#include "app/exchange/import.h"
#include "base/mem.h"

struct claude {
	char *id; /* of the answer under way; NULL = none */
	char *model, *stop;
	struct buf text;
	json_t *calls;
	struct usage usage;
	json_t *seen; /* ids of answers that were given out */
};

static void give(struct claude *c, struct import *im)
{
	size_t i;
	json_t *call;
	if (!c->id)
		return;
	if (!json_object_get(c->seen, c->id))
		import_reply(im, c->model, buf_cstr(&c->text), c->calls, &c->usage, c->stop);
	json_put(c->seen, c->id, json_true());
	json_array_foreach(c->calls, i, call)
		import_call(im, json_str(call, "id", ""), json_str(call, "name", "?"), json_object_get(call, "args"));
	json_decref(c->calls);
	c->calls = NULL;
	free(c->id);
	free(c->model);
	free(c->stop);
	c->id = c->model = c->stop = NULL;
	buf_reset(&c->text);
	c->usage = USAGE_INIT;
}

static void on_assistant(struct claude *c, struct import *im, const json_t *m, size_t line)
{
	const char *id = json_str(m, "id", NULL), *model = json_str(m, "model", "unknown");
	const json_t *u = json_object_get(m, "usage"), *content = json_object_get(m, "content");
	CLEANUP(free_ptr) char *own = id ? NULL : xasprintf("line-%zu", line);
	size_t i;
	json_t *block;
	if (!id)
		id = own;
	if (c->id && strcmp(c->id, id) != 0)
		give(c, im);
	if (!c->id) {
		c->id = xstrdup(id);
		c->model = xstrdup(model);
		c->calls = json_array();
	}
	if (json_str(m, "stop_reason", NULL)) {
		free(c->stop);
		c->stop = xstrdup(json_str(m, "stop_reason", ""));
	}
	if (u) {
		int64_t read = import_tokens(u, "cache_read_input_tokens"), made = import_tokens(u, "cache_creation_input_tokens");
		c->usage = (struct usage){ .in = import_tokens(u, "input_tokens") + read + made, .out = import_tokens(u, "output_tokens"),
					   .cached = read, .written = made, .cost_uusd = -1 };
	}
	if (json_is_string(content))
		buf_puts(&c->text, json_string_value(content));
	json_array_foreach(content, i, block) {
		const char *type = json_str(block, "type", "");
		if (!strcmp(type, "text")) {
			buf_printf(&c->text, "%s%s", c->text.len ? "\n" : "", json_str(block, "text", ""));
		} else if (!strcmp(type, "tool_use")) {
			json_t *call = json_object();
			json_put(call, "id", json_string(json_str(block, "id", "")));
			json_put(call, "name", json_string(json_str(block, "name", "?")));
			json_put(call, "args", json_incref(json_object_get(block, "input")));
			json_array_append_new(c->calls, call);
		}
	}
}

/* A command that did not fail ended with 0; one that goes on in the background has not ended. */
static int code_of(const json_t *result)
{
	return json_object_get(result, "stdout") && !json_flag(result, "interrupted", false) &&
			       !json_object_get(result, "backgroundTaskId")
		       ? 0
		       : -1;
}

static void on_user(struct claude *c, struct import *im, const json_t *j, const json_t *m, bool meta)
{
	const json_t *content = json_object_get(m, "content");
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	size_t i;
	json_t *block;
	give(c, im);
	if (json_is_string(content)) {
		import_say(im, "user", json_string_value(content), !meta);
		return;
	}
	json_array_foreach(content, i, block) {
		if (!strcmp(json_str(block, "type", ""), "tool_result")) {
			CLEANUP(free_ptr) char *text = import_text(json_object_get(block, "content"));
			bool failed = json_flag(block, "is_error", false);
			int code = failed ? -1 : code_of(json_object_get(j, "toolUseResult")), head = 0;
			if (failed && sscanf(text, "Exit code %d%n", &code, &head) == 1)
				head += text[head] == '\n';
			import_result(im, json_str(block, "tool_use_id", ""), text + head, strlen(text + head), failed, code);
		} else {
			CLEANUP(free_ptr) char *text = import_text(block);
			buf_printf(&said, "%s%s", said.len ? "\n" : "", text);
		}
	}
	if (said.len)
		import_say(im, "user", buf_cstr(&said), !meta);
}

static void on_line(void *self, struct import *im, size_t line, const json_t *j, const char *text, size_t len)
{
	struct claude *c = self;
	const char *type = json_str(j, "type", "");
	const json_t *m = json_object_get(j, "message");
	bool answer = !strcmp(type, "assistant") && json_is_object(m), person = !strcmp(type, "user") && json_is_object(m);
	/* the answer before is over: it is written with its own time */
	if (c->id && (person || (answer && strcmp(json_str(m, "id", ""), c->id) != 0)))
		give(c, im);
	import_time(im, json_str(j, "timestamp", NULL));
	if (answer) {
		import_agent(im, json_flag(j, "isSidechain", false) ? "sidechain" : "claude", json_str(m, "model", NULL));
		on_assistant(c, im, m, line);
	} else if (person) {
		import_agent(im, json_flag(j, "isSidechain", false) ? "sidechain" : "claude", NULL);
		on_user(c, im, j, m, json_flag(j, "isMeta", false));
	} else {
		import_keep(im, line, *type ? type : "unknown", text, len);
	}
}

int sniff_claude(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && strstr(head, "\"sessionId\"") && strstr(head, "\"uuid\"") && strstr(head, "\"type\"") ? 90 : 0;
}

int import_claude(struct import *im, FILE *in, struct err *err)
{
	struct claude c = { .usage = USAGE_INIT, .seen = json_object() };
	int rc = import_lines(im, in, on_line, &c, err);
	give(&c, im);
	json_decref(c.seen);
	buf_release(&c.text);
	return rc;
}
