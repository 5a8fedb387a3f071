#include "wire/control.h"

#include <string.h>

json_t *control_hello(const char *program, const char *name, const char *tty, bool watch)
{
	json_t *o = json_object();
	json_put_int(o, "version", CONTROL_VERSION);
	json_put_int(o, "min", CONTROL_MIN);
	json_put_str(o, "program", program);
	json_put(o, "name", json_bytes_z(name));
	json_put(o, "tty", json_bytes_z(tty));
	json_put_flag(o, "watch", watch);
	return o;
}

int control_agree(const json_t *hello)
{
	int64_t newest = json_int(hello, "version", 0), oldest = json_int(hello, "min", newest);
	if (oldest > CONTROL_VERSION || newest < CONTROL_MIN || oldest > newest)
		return 0;
	return newest < CONTROL_VERSION ? (int)newest : CONTROL_VERSION;
}

json_t *control_bye(const char *why, const char *fix)
{
	json_t *o = json_object();
	json_put_str(o, "why", why);
	if (fix)
		json_put_str(o, "fix", fix);
	json_put_int(o, "version", CONTROL_VERSION);
	return o;
}

json_t *control_reply_ok(json_t *result)
{
	json_t *o = json_object();
	json_put_flag(o, "ok", true);
	json_put(o, "result", result ? result : json_null());
	return o;
}

json_t *control_reply_err(const struct err *err)
{
	json_t *o = json_object(), *e = json_object();
	json_put_str(e, "code", err_code_name(err->code));
	json_put_str(e, "text", err->text);
	if (*err->hint)
		json_put_str(e, "hint", err->hint);
	json_put_flag(o, "ok", false);
	json_put(o, "error", e);
	return o;
}

/* Back from err_code_name. */
static bool control_err_code(const char *name, enum err_code *out)
{
	for (int c = ERR_NONE; c <= ERR_SCRIPT; c++)
		if (!strcmp(err_code_name((enum err_code)c), name)) {
			*out = (enum err_code)c;
			return true;
		}
	return false;
}

int control_reply_read(const json_t *reply, json_t **result_out, struct err *err)
{
	if (json_flag(reply, "ok", false)) {
		*result_out = json_object_get(reply, "result");
		return 0;
	}
	const json_t *e = json_object_get(reply, "error");
	/* a code that a newer supervisor has and we do not */
	enum err_code code = ERR_INVALID;
	control_err_code(json_str(e, "code", ""), &code);
	if (code == ERR_NONE)
		code = ERR_INVALID;
	return err_set(err, code, "%s\n%s", json_str(e, "text", "refused without a reason"),
		       json_str(e, "hint", ""));
}
