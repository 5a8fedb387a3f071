/* An action from foreign data: the tool call of a third-party agent ('t': the tool's name up to a line's end, then
 * the arguments, JSON or text), the body of action.requested in a foreign session ('r'), and a server's hints about
 * retries ('a': headers, an empty line, a body). An action has the fields that its kind is checked by. Texts for
 * users are no longer than their sources. A wait is absent or a duration. */
#include <stdlib.h>
#include <string.h>

#include "inside/script_commands.h"
#include "inside/tool_spec.h"
#include "base/mem.h"
#include "http/retry.h"
#include "query/aim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 }; /* our own around theirs */

static void check(const struct action_spec *s)
{
	for (size_t i = 0; i < s->argv.nr; i++)
		if (!s->argv.item[i])
			abort();
	if (!action_kind_name(s->kind))
		abort();
}

static void fit_to_judge(const struct action_spec *s)
{
	bool file = s->kind == ACT_READ || s->kind == ACT_WRITE || s->kind == ACT_EDIT;
	if ((s->kind == ACT_EXEC && !s->argv.nr) || (file && (!s->path || !*s->path)) || (s->data && strlen(s->data) != s->data_len))
		abort();
}

static void tool(const char *text)
{
	const char *nl = strchr(text, '\n');
	struct err err = ERR_INIT;
	CLEANUP(strv_release) struct strv commands = STRV_INIT, dirs = STRV_INIT;
	if (!nl)
		return;
	if (script_commands(nl + 1, strlen(nl + 1), &commands, &dirs) != (commands.nr > 0))
		abort();
	CLEANUP(free_ptr) char *name = mem_strndup(text, (size_t)(nl - text));
	CLEANUP(json_release) json_t *args = json_parse(nl + 1, strlen(nl + 1), "arguments", &err);
	struct action_spec s = { 0 };
	tool_spec(&s, name, json_is_object(args) ? args : NULL, json_is_object(args) ? NULL : nl + 1);
	check(&s);
	fit_to_judge(&s);
	strv_release(&s.argv);
}

static void requested(const char *text)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = json_parse(text, strlen(text), "action.requested", &err);
	CLEANUP(buf_release) struct buf aim = BUF_INIT;
	struct action_spec s = { 0 };
	if (!body)
		return;
	if (action_aim(body, &aim) ? !aim.len || aim.len > strlen(text) + WORDS_MAX : aim.len)
		abort();
	if (action_spec_from_json(&s, body, &err) < 0) {
		if (err.code == ERR_NONE || !*err.text)
			abort();
		return;
	}
	check(&s);
	action_spec_release(&s);
}

static void again(char *text)
{
	struct http_header field[16];
	struct http_head head = { .status = 503, .header = field };
	char *body = strstr(text, "\n\n");
	if (body) {
		*body = 0;
		body += 2;
	}
	for (char *at = text, *l; head.nr < ARRAY_LEN(field) && (l = strsep(&at, "\n"));) {
		char *value = strchr(l, ':');
		if (value)
			*value++ = 0;
		field[head.nr++] = (struct http_header){ .name = l, .value = value ? value : "" };
	}
	struct retry_case c = { .how = HTTP_OK, .status = head.status, .hint = retry_hint(&head, 1000000000), .body = body, .tries = 1 };
	if (c.hint.after_us < -1 || retry_after_us(&c, 12345) < -1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 14)
		return 0;
	CLEANUP(free_ptr) char *text = mem_strndup((const char *)data + 1, size - 1);
	if (data[0] == 't')
		tool(text);
	else if (data[0] == 'r')
		requested(text);
	else if (data[0] == 'a')
		again(text);
	return 0;
}
