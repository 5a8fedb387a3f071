#include "wire/launch.h"

#include <stdio.h>

void wire_err_body(const struct err *e, struct buf *out)
{
	CLEANUP(json_release) json_t *j = json_object();
	json_put_int(j, "code", (int64_t)e->code);
	json_put_int(j, "sys", e->sys);
	json_put_str(j, "text", e->text);
	json_dump_buf(j, out);
}

void wire_err_parse(const char *body, size_t len, struct err *out)
{
	struct err ignored = ERR_INIT;
	CLEANUP(json_release) json_t *j = json_parse(body, len, "error frame", &ignored);
	int64_t code = j ? json_int(j, "code", ERR_IO) : ERR_IO;
	if (code <= ERR_NONE || code > ERR_SCRIPT)
		code = ERR_IO;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!j || !json_get_bytes(json_object_get(j, "text"), &text) || text.len == 0) {
		err_set(out, (enum err_code)code, "failed, no reason given");
		return;
	}
	err_set(out, (enum err_code)code, "%.*s", (int)(text.len < 470 ? text.len : 470),
		text.data);
	out->sys = (int)json_int(j, "sys", 0);
}
