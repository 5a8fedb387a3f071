/* Lines of an MCP server to a client, whatever the requests. The server becomes ready or unusable once. Each call
 * ends at most once. Its tools can be used as announced. A list that changes endlessly is not read endlessly. "%" in
 * a line stands for the id of the newest request. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/client.h"
#include "mcp/said.h"
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	uint64_t newest, sent, taken;
	unsigned ready, ended;
	bool usable;
} seen;

static void on_send(void *self, const struct mcp_send *m)
{
	(void)self;
	if (!m->msg || (m->id && !m->method))
		abort();
	seen.newest = m->id ? m->id : seen.newest;
	seen.sent++;
}

static bool on_again(void *self)
{
	(void)self;
	return true;
}

static void on_ready(void *self, const struct err *err)
{
	(void)self;
	if (seen.ready++ || (err && !*err->text))
		abort();
	seen.usable = !err;
}

static void on_done(void *self, const json_t *result, const struct err *err)
{
	(void)self;
	if (seen.ended++ || !result == !err || (err && !*err->text))
		abort();
	if (result && !json_is_string(json_object_get(result, "text")) && !json_is_object(json_object_get(result, "text")))
		abort();
}

static void on_progress(void *self, int64_t done, int64_t total, const char *text)
{
	(void)self;
	(void)done;
	(void)total;
	(void)text;
	if (seen.ended)
		abort();
}

static const struct mcp_client_ops client_ops = { .send = on_send, .again = on_again, .ready = on_ready };
static const struct mcp_call_ops call_ops = { .done = on_done, .progress = on_progress };

static void take_line(struct mcp_client *c, const char *line, size_t len)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; i < len; i++)
		if (line[i] == '%')
			buf_printf(&text, "%" PRIu64, seen.newest);
		else
			buf_putc(&text, line[i]);
	mcp_client_take(c, buf_cstr(&text), text.len);
	seen.taken++;
}

static void check_tools(const struct mcp_client *c)
{
	const json_t *tools = mcp_client_tools(c);
	if (!json_is_array(tools) || !mcp_client_version(c))
		abort();
	for (size_t i = 0; i < json_array_size(tools); i++)
		if (!mcp_good_tool(json_array_get(tools, i), mcp_client_modern(c)))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	struct err err = ERR_INIT;
	if (size > 1 << 14)
		return 0;
	if (!loop && loop_new(&loop, &err) < 0)
		abort();
	memset(&seen, 0, sizeof(seen));
	struct mcp_client *c = mcp_client_new(loop, &client_ops, NULL, 60000000);
	mcp_client_begin(c);
	bool called = false;
	for (const char *at = (const char *)data, *end = at + size; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		take_line(c, at, (size_t)((nl ? nl : end) - at));
		at = nl ? nl + 1 : end;
		if (mcp_client_is_ready(c) && !seen.usable)
			abort();
		if (mcp_client_is_ready(c) && !called) {
			check_tools(c);
			mcp_client_call(c, "run", NULL, 0, &call_ops, NULL);
			called = true;
		}
	}
	if (mcp_client_is_ready(c))
		check_tools(c);
	if (seen.sent > 4 * (seen.taken + 4))
		abort();
	err_set(&err, ERR_CLOSED, "it has gone");
	mcp_client_lost(c, &err);
	if (called && seen.ended != 1)
		abort();
	mcp_client_free(&c);
	return 0;
}
