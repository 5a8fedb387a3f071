#include "luahost/luahost_record.h"

#include <string.h>

#include "luahost/library_kept.h"
#include "record/record_event.h"
#include "supervisor/core/output_excerpt.h"
#include "wire/host.h"

enum { LEFT_OUT_FROM = 64 }; /* shorter texts cost less than their reference */

static void luahost_record_leave_out(json_t *res, const char *key, int64_t action, int stream)
{
	json_t *text = json_object_get(res, key);
	if (!json_is_string(text) || json_string_length(text) < LEFT_OUT_FROM)
		return; /* bytes that are no text stay as they are, too: {"b64"} */
	json_t *ref = json_object(), *where = json_array();
	json_array_append_new(where, json_integer(action));
	json_array_append_new(where, json_integer(stream));
	json_put(ref, "$out", where);
	json_put(res, key, ref);
}

/* A module of the library is the same in each session. */
static void luahost_record_name_module(struct record *r, json_t *kept, const json_t *res)
{
	const json_t *text = json_object_get(res, "text"), *path = json_object_get(res, "path");
	struct hash h;
	if (!json_is_string(text) || !json_is_string(path) ||
	    !library_keep(record_path(r), json_string_value(path), json_string_value(text),
			  json_string_length(text), &h))
		return;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	json_t *copy = json_copy((json_t *)(uintptr_t)res), *ref = json_object();
	hex_append(&hex, h.b, HASH_LEN);
	json_put_str(ref, "$library", buf_cstr(&hex));
	json_put(copy, "text", ref);
	json_put(kept, "value", copy);
}

void luahost_record_frame(struct record *r, uint64_t cause, uint64_t ordinal, uint16_t type,
			  uint64_t id, const json_t *body)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	CLEANUP(json_release) json_t *kept = json_copy((json_t *)(uintptr_t)body);
	json_t *res = json_object_get(kept, "value");
	if (type == HOST_ANSWER && json_is_object(res) &&
	    json_is_integer(json_object_get(res, "out_bytes"))) {
		int64_t action = json_int(res, "event", 0);
		int out = json_flag(res, "pty", false) ? STREAM_PTY : STREAM_OUT;
		json_t *copy = json_copy(res);
		luahost_record_leave_out(copy, "out", action, out);
		luahost_record_leave_out(copy, "err", action, STREAM_ERR);
		json_put(kept, "value", copy);
	} else if (type == HOST_ANSWER && json_is_object(res)) {
		luahost_record_name_module(r, kept, res);
	}
	record_ev_host_frame(r, &(struct event){ .cause = cause },
			     &(struct ev_host_frame){ EV_SET(n, (int64_t)ordinal),
						      .type = ev_text_of(host_frame_name(type)),
						      EV_SET(id, (int64_t)id),
						      .body = ev_json_of(&mem, kept) });
}

static int luahost_record_put_back(struct session *s, json_t *res, const char *key, struct err *err)
{
	const json_t *ref = json_object_get(json_object_get(res, key), "$out");
	if (!json_is_array(ref))
		return 0;
	uint64_t action = (uint64_t)json_integer_value(json_array_get(ref, 0));
	int stream = (int)json_integer_value(json_array_get(ref, 1));
	uint64_t total = session_output_size(s, action, stream);
	struct shown shown = { 0 };
	CLEANUP(buf_release) struct buf piece = BUF_INIT;
	uint64_t tail = total > HOST_OUTPUT_SHOWN ? HOST_OUTPUT_SHOWN : total;
	if (session_output(s, action, stream, 0, HOST_OUTPUT_SHOWN, &shown.head, err) < 0 ||
	    (total > shown.head.len &&
	     session_output(s, action, stream,
			    total - shown.head.len < tail ? shown.head.len : total - tail, tail,
			    &shown.tail, err) < 0)) {
		output_excerpt_release(&shown);
		return -1;
	}
	shown.total = total;
	output_excerpt_text(&shown, &piece);
	output_excerpt_release(&shown);
	json_put_bytes(res, key, buf_cstr(&piece), piece.len);
	return 0;
}

static int luahost_record_put_module(struct session *s, json_t *res, struct err *err)
{
	const char *hex = json_str(json_object_get(res, "text"), "$library", NULL);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct hash h;
	if (!hex)
		return 0;
	if (!hex_parse(hex, strlen(hex), h.b, HASH_LEN))
		return err_set(err, ERR_PARSE, "invalid checksum of a module's text: '%s'", hex);
	if (library_kept(session_path(s), json_str(res, "path", ""), &h, &text, err) < 0)
		return -1;
	json_put_bytes(res, "text", buf_cstr(&text), text.len);
	return 0;
}

int luahost_rebuild_frame(struct session *s, const struct event *ev, uint16_t *type_out,
			  uint64_t *id_out, struct buf *out, struct err *err)
{
	if (!ev->body)
		return err_set(err, ERR_INVALID,
			       "event #%llu was redacted: the script can't run again after it",
			       (unsigned long long)ev->seq);
	CLEANUP(json_release) json_t *j = json_parse(ev->body, ev->len, "host.frame", err);
	if (!j)
		return -1;
	const char *name = json_str(j, "type", "");
	uint16_t type = 0;
	for (uint16_t t = HOST_START; t <= HOST_JUDGE; t++)
		if (!strcmp(host_frame_name(t), name))
			type = t;
	if (!type)
		return err_set(err, ERR_PARSE, "host.frame #%llu has unknown type '%s'",
			       (unsigned long long)ev->seq, name);
	json_t *body = json_object_get(j, "body"), *res = json_object_get(body, "value");
	if (!json_is_object(body))
		return err_set(err, ERR_PARSE, "host.frame #%llu has no body",
			       (unsigned long long)ev->seq);
	if (json_is_object(res) && (luahost_record_put_back(s, res, "out", err) < 0 ||
				    luahost_record_put_back(s, res, "err", err) < 0 ||
				    luahost_record_put_module(s, res, err) < 0))
		return -1;
	json_dump_buf(body, out);
	*type_out = type;
	*id_out = (uint64_t)json_int(j, "id", 0);
	return 0;
}
