#include "wire/jsonrpc.h"

#include <stdarg.h>
#include <string.h>

void rpc_msg_release(struct rpc_msg *m)
{
	json_decref(m->root);
	*m = (struct rpc_msg){ 0 };
}

static bool usable_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

static int read_answer(struct rpc_msg *m, const json_t *error, struct err *err)
{
	if (error) {
		if (m->result || !json_is_object(error) ||
		    !json_is_integer(json_object_get(error, "code")))
			return err_set(err, ERR_INVALID,
				       "message: expected an error with a code and no result");
		if (m->id && !usable_id(m->id) && !json_is_null(m->id))
			return err_set(err, ERR_INVALID,
				       "message: id: expected a string or an integer");
		m->kind = RPC_ERROR;
		m->code = json_int(error, "code", 0);
		m->message = json_str(error, "message", "");
		m->data = json_object_get(error, "data");
		return 0;
	}
	if (!usable_id(m->id))
		return err_set(err, ERR_INVALID, "message: id: expected a string or an integer");
	m->kind = RPC_RESULT;
	return 0;
}

int rpc_parse(struct rpc_msg *out, const char *text, size_t len, struct err *err)
{
	struct rpc_msg m = { .root = json_parse(text, len, "message", err) };
	*out = (struct rpc_msg){ 0 };
	if (!m.root)
		return -1;
	m.id = json_object_get(m.root, "id");
	*out = m;
	if (!json_is_object(m.root))
		return err_set(err, ERR_INVALID, "message: expected one JSON object");
	out->id = usable_id(m.id) ? m.id : NULL; /* what an answer to a bad message can name */
	if (strcmp(json_str(m.root, "jsonrpc", ""), "2.0") != 0)
		return err_set(err, ERR_INVALID, "message: missing \"jsonrpc\":\"2.0\"");
	const json_t *method = json_object_get(m.root, "method"),
		     *error = json_object_get(m.root, "error");
	m.result = json_object_get(m.root, "result");
	m.params = json_object_get(m.root, "params");
	if (method && (m.result || error))
		return err_set(err, ERR_INVALID,
			       "message: expected either a request or an answer, got both");
	if (m.result || error) {
		if (read_answer(&m, error, err) < 0)
			return -1;
		*out = m;
		return 0;
	}
	if (!json_is_string(method))
		return err_set(err, ERR_INVALID, "message: missing method, result, or error");
	if (m.params && !json_is_object(m.params))
		return err_set(err, ERR_INVALID, "message: params: expected an object");
	if (m.id && !usable_id(m.id))
		return err_set(err, ERR_INVALID, "message: id: expected a string or an integer");
	m.kind = m.id ? RPC_REQUEST : RPC_NOTE;
	m.method = json_string_value(method);
	*out = m;
	return 0;
}

static json_t *jsonrpc_message(json_t *id)
{
	json_t *o = json_object();
	json_put_str(o, "jsonrpc", "2.0");
	if (id)
		json_put(o, "id", json_incref(id));
	return o;
}

json_t *rpc_request(json_t *id, const char *method, json_t *params)
{
	json_t *o = jsonrpc_message(id);
	json_put_str(o, "method", method);
	json_put(o, "params", params);
	return o;
}

json_t *rpc_note(const char *method, json_t *params)
{
	return rpc_request(NULL, method, params);
}

json_t *rpc_result(json_t *id, json_t *result)
{
	json_t *o = jsonrpc_message(id);
	json_put(o, "result", result ? result : json_object());
	return o;
}

json_t *rpc_error(json_t *id, enum rpc_code code, json_t *data, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_t *o = jsonrpc_message(id), *e = json_object();
	if (!id)
		json_put(o, "id", json_null());
	json_put_int(e, "code", code);
	json_t *said = json_string(text);
	for (char *p = text; !said && *p; p++) /* cut within a character, or not text at all */
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	json_put(e, "message", said ? said : json_string(text));
	json_put(e, "data", data);
	json_put(o, "error", e);
	return o;
}

void rpc_line(struct buf *out, json_t *msg)
{
	json_dump_buf(msg, out);
	buf_putc(out, '\n');
	json_decref(msg);
}
