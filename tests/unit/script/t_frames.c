/* One of each frame to and from a Lua host (wire/host.h), with the real program: as tests/corpus/frames/host.txt has
 * them. Frames to the host are those of a supervisor for tests. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "frames_golden.h"
#include "tap.h"

static struct buf text;

/* Calls for modules of the library, and their answers, are left out: how many there are is the library's matter. Ids
 * of the others count from 1. */
static struct {
	uint64_t id[64];
	size_t nr;
	bool idle;
} kept;

static uint64_t number_of(uint64_t id, const json_t *body)
{
	if (!strcmp(json_str(body, "op", ""), "module"))
		return UINT64_MAX;
	for (size_t i = 0; i < kept.nr; i++)
		if (kept.id[i] == id)
			return i + 1;
	if (!json_object_get(body, "op") || kept.nr == ARRAY_LEN(kept.id))
		return UINT64_MAX;
	kept.id[kept.nr++] = id;
	return kept.nr;
}

static void put_frame(const char *direction, const struct frame *f)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = json_parse(f->body, f->len, "frame", &err);
	bool of_call = f->type == HOST_CALL || f->type == HOST_ANSWER || f->type == HOST_CHUNK || f->type == HOST_CANCEL;
	uint64_t id = of_call ? number_of(f->id, body) : f->id;
	if (id == UINT64_MAX || (f->type == HOST_IDLE && kept.idle))
		return;
	kept.idle |= f->type == HOST_IDLE;
	if (json_object_get(body, "t"))
		json_put_int(body, "t", 0);
	CLEANUP(free_ptr) char *line = json_dump_str(body);
	buf_printf(&text, "%s %s %" PRIu64 " %s\n", direction, host_frame_name(f->type), id, line);
}

static void put_frames(const char *direction, const struct buf *frames)
{
	struct err err = ERR_INIT;
	struct frame f;
	for (size_t at = 0, used; at < frames->len; at += used) {
		if (frame_parse(frames->data + at, frames->len - at, HOST_BODY_MAX, &f, &used, &err) != 1)
			abort();
		put_frame(direction, &f);
	}
}

static void run(const struct fake_opts *o)
{
	struct fake_run r;
	fake_run(o, &r);
	buf_printf(&text, "%s\n", o->mode);
	kept.nr = 0;
	kept.idle = false;
	put_frames("<", &r.sent); /* first: the calls tell which answers are kept */
	put_frames(">", &r.given);
	fake_release(&r);
}

static json_t *script_op(void *self, const char *op, const json_t *call)
{
	(void)self;
	if (!strcmp(op, "box.exec")) {
		fake_inject(HOST_MESSAGE, 0, json_pack("{s:i,s:s,s:{s:s}}", "agent", 7, "text", "faster", "who", "name", "ann"));
		fake_inject(HOST_EVENT, 0, json_pack("{s:s,s:{s:i}}", "event", "held", "body", "action", 388));
	}
	if (!strcmp(op, "box.read")) {
		fake_inject(HOST_STOP, 0, json_pack("{s:s}", "why", "enough"));
		return json_pack("{s:b}", "never", 1);
	}
	if (!strcmp(op, "box.write"))
		return json_pack("{s:{s:s,s:s,s:s,s:s,s:i}}", "err", "code", "denied", "msg", "denied", "why", "no", "rule", "r", "event", 9);
	(void)call;
	return NULL;
}

int main(void)
{
	static const struct fake_frame judge[] = { { HOST_JUDGE, 7, "{\"when\":1,\"line\":2,\"act\":{\"kind\":\"exec\"}}" }, { 0, 0, NULL } };
	static const struct fake_frame ask[] = {
		{ HOST_ASK, 8, "{\"fn\":\"request\",\"call\":1,\"args\":{\"req\":{\"model\":\"m\"}}}" },
		{ HOST_ASK, 9, "{\"fn\":\"none\",\"call\":2,\"args\":{}}" },
		{ 0, 0, NULL },
	};
	run(&(struct fake_opts){ .mode = "script",
				 .text = "local sg = require 'sandglass'\n"
					 "sg.on('held', function(e) print('held', e.action) end)\n"
					 "local box <close> = sg.sandbox { name = 'b' }\n"
					 "box:exec('printf 12345678', { on_out = function(s) print(s) end })\n"
					 "print(select(2, pcall(box.write, box, 'f', 'text\\xff')))\n"
					 "sg.timeout(0.1, function() sg.sleep(9) end)\n"
					 "box:read 'f'",
				 .op = script_op,
				 .process = true });
	run(&(struct fake_opts){ .mode = "policy",
				 .name = "p.lua",
				 .text = "local p = require 'sandglass.policy'\n"
					 "return p.rules { p.ask 'a' { when = function(act) return act.kind == 'exec', 'why' end } }",
				 .after_result = judge,
				 .process = true });
	run(&(struct fake_opts){ .mode = "plugin",
				 .name = "m.lua",
				 .text = "return { name = 'm', kind = 'model', hosts = { 'h' },\n"
					 "request = function(req, st) return { path = '/' .. req.model, body = '{}' } end,\n"
					 "event = function() end, finish = function() return { text = '' } end }",
				 .after_result = ask,
				 .process = true });
	for (uint16_t type = HOST_START; type <= HOST_VALUE; type++) {
		const char *name = host_frame_name(type);
		CLEANUP(free_ptr) char *line = name ? mem_printf(" %s ", name) : NULL;
		if (name)
			ok(strstr(buf_cstr(&text), line) != NULL, "a frame of type %s", name);
	}
	frames_golden("host", &text);
	buf_release(&text);
	return done_testing();
}
