#include "phrase/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "phrase/describe_box.h"
#include "phrase/describe_gate.h"
#include "phrase/describe_session.h"
#include "phrase/describe_work.h"
#include "phrase/phrase.h"
#include "query/aim.h"

/* Appends a value that is bytes (text or {"b64"}), at most @max of them. */
static bool describe_put_bytes(const json_t *v, size_t max, struct buf *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!v || !json_get_bytes(v, &b))
		return false;
	buf_append(out, b.data, b.len < max ? b.len : max);
	if (b.len > max)
		buf_puts(out, "...");
	return true;
}

enum { TEXT_MAX = 300 };

static bool put_key(const json_t *body, const char *key, const char *before, struct buf *out)
{
	const json_t *v = json_object_get(body, key);
	if (!v || json_is_null(v) || (json_is_string(v) && !json_string_length(v)))
		return false;
	size_t len = out->len;
	buf_puts(out, before);
	if (json_is_integer(v)) {
		buf_printf(out, "%lld", (long long)json_integer_value(v));
		return true;
	}
	if (describe_put_bytes(v, TEXT_MAX, out))
		return true;
	out->len = len;
	return false;
}

void describe_argv(const json_t *argv, struct buf *out)
{
	CLEANUP(strv_release) struct strv v = STRV_INIT;
	if (!json_get_argv(argv, &v))
		return;
	for (size_t i = 0; i < v.nr; i++) {
		buf_puts(out, i ? " " : "");
		phrase_word(out, (struct ev_text){ v.item[i], v.len[i] });
	}
}

void describe_action(const json_t *body, struct buf *out)
{
	if (put_key(body, "cmd", "", out))
		return;
	const json_t *argv = json_object_get(body, "argv");
	if (json_array_size(argv)) {
		describe_argv(argv, out);
		return;
	}
	if (put_key(body, "path", "", out))
		return;
	if (!strcmp(json_str(body, "kind", ""), "fetch")) {
		const json_t *args = json_object_get(body, "args");
		if (put_key(args, "query", "search ", out))
			return;
		buf_printf(out, "%s ", json_str(args, "method", "GET"));
		put_key(args, "url", "", out);
		return;
	}
	if (put_key(body, "host", "", out)) {
		put_key(body, "port", ":", out);
		return;
	}
	if (!action_aim(body, out) && !put_key(body, "tool", "", out))
		put_key(body, "kind", "", out);
}

static void describe_who(const json_t *body, struct buf *out)
{
	const json_t *w = json_object_get(body, "who");
	if (json_is_object(w) && !put_key(w, "name", " by ", out))
		put_key(w, "uid", " by uid ", out);
	else if (!json_is_object(w))
		put_key(body, "by", " by ", out);
}

static void describe_requested(const json_t *body, struct buf *out)
{
	const char *kind = json_str(body, "kind", "action");
	CLEANUP(buf_release) struct buf what = BUF_INIT;
	describe_action(body, &what);
	buf_puts(out, kind);
	if (what.len && strcmp(buf_cstr(&what), kind) != 0) {
		buf_puts(out, ": ");
		buf_append(out, what.data, what.len);
	}
}

/* For a connection that has no single owner: the commands that ran in its sandbox. */
static void ran_then(const json_t *args, struct buf *out)
{
	size_t i;
	json_t *id;
	json_array_foreach(json_object_get(args, "by"), i, id)
		buf_printf(out, "%s #%lld", i ? "," : " during", (long long)json_integer_value(id));
	if (json_flag(args, "left", false))
		buf_puts(out, i ? " or by background processes" : " by background processes");
}

/* Any kind: its scalar fields. */
static void describe_generic(enum event_kind kind, const json_t *body, struct buf *out)
{
	const char *name = event_kind_name((uint16_t)kind), *key;
	json_t *v;
	if (name)
		buf_puts(out, name);
	else
		buf_printf(out, "kind-%u", kind);
	json_object_foreach((json_t *)(uintptr_t)body, key, v)
	{
		if (out->len > TEXT_MAX)
			break;
		if (json_is_object(v) && !json_object_get(v, "b64"))
			continue;
		if (json_is_array(v)) {
			if (json_array_size(v))
				buf_printf(out, " %s=[%zu]", key, json_array_size(v));
			continue;
		}
		if (json_is_boolean(v)) {
			if (json_is_true(v))
				buf_printf(out, " %s", key);
			continue;
		}
		buf_printf(out, " %s=", key);
		if (json_is_integer(v))
			buf_printf(out, "%lld", (long long)json_integer_value(v));
		else
			describe_put_bytes(v, 80, out);
	}
}

static void by_kind(uint16_t kind, const json_t *b, struct buf *out)
{
	switch (kind) {
	case EV_ACTION_REQUESTED:
		describe_requested(b, out);
		if (json_int(b, "within", 0))
			buf_printf(out, " within #%lld", (long long)json_int(b, "within", 0));
		else if (!strcmp(json_str(b, "kind", ""), "connect"))
			ran_then(json_object_get(b, "args"), out);
		/* requested by a user */
		if (json_is_object(json_object_get(json_object_get(b, "args"), "who")))
			describe_who(json_object_get(b, "args"), out);
		break;
	case EV_ACTION_STARTED:
		buf_puts(out, "started");
		if (json_flag(b, "edited", false)) {
			buf_puts(out, " as edited: ");
			describe_action(b, out);
		}
		break;
	case EV_TOOL_CALL:
		buf_puts(out, "tool ");
		tool_call_words(b, out);
		break;
	case EV_TOOL_END:
		buf_puts(out, "tool ");
		tool_end_words(b, TEXT_MAX, out);
		break;
	case EV_PREVIEW_ENDED:
		buf_puts(out, "dry run: ");
		describe_preview(b, out);
		break;
	case EV_REDO_STARTED:
		buf_puts(out, "repeat of ");
		put_key(json_object_get(b, "origin"), "session", "", out);
		put_key(json_object_get(b, "origin"), "action", "#", out);
		buf_puts(out, ": ");
		describe_action(b, out);
		describe_who(b, out);
		break;
	default:
		/* kinds of newer versions, and kinds whose fields say enough */
		describe_generic(kind, b, out);
		break;
	}
}

bool describe_typed(const struct event *ev, struct buf *out)
{
	size_t len = out->len;
	bool known = describe_gate(ev, out) || describe_session(ev, out) || describe_box(ev, out);
	return known && out->len > len;
}

void describe_event(const struct event *ev, struct buf *out)
{
	struct err err = ERR_INIT;
	const char *name = event_kind_name(ev->kind);
	if (ev->action)
		buf_printf(out, "#%llu ", (unsigned long long)ev->action);
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	if (!body) {
		buf_printf(out, "%s %s", name ? name : "event",
			   ev->body ? "<unreadable>" : "<redacted>");
		return;
	}
	size_t len = out->len;
	if (!describe_typed(ev, out) && !describe_work(ev, out))
		by_kind(ev->kind, body, out);
	if (out->len == len) /* its expected fields are missing */
		describe_generic(ev->kind, body, out);
}

const char *agent_name(struct agent_names *n, struct session *s, uint64_t id)
{
	if (!id)
		return "";
	for (size_t i = 0; i < n->nr; i++)
		if (n->item[i].id == id)
			return n->item[i].name;
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	if (session_event(s, id, &ev, &arena, &err) == 0 && ev.body)
		body = json_parse(ev.body, ev.len, "event", &err);
	const char *name = json_str(body, "name", NULL);
	GROW(n->item, n->nr, n->cap);
	n->item[n->nr].id = id;
	n->item[n->nr].name =
		name ? mem_strdup(name) : mem_printf("agent#%llu", (unsigned long long)id);
	json_decref(body);
	arena_release(&arena);
	return n->item[n->nr++].name;
}

void agent_names_release(struct agent_names *n)
{
	for (size_t i = 0; i < n->nr; i++)
		free(n->item[i].name);
	free(n->item);
	*n = (struct agent_names){ 0 };
}
