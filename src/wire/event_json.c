#include "wire/event_json.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"

static void event_json_put_kind(json_t *o, uint16_t kind)
{
	char number[24];
	const char *name = event_kind_name(kind);
	snprintf(number, sizeof(number), "kind-%u", kind);
	json_put_str(o, "kind", name ? name : number);
}

static void put_id(json_t *o, const char *key, uint64_t id)
{
	if (id)
		json_put_int(o, key, (int64_t)id);
}

json_t *event_json(const struct event *ev)
{
	CLEANUP(buf_release) struct buf time = BUF_INIT;
	struct err none = ERR_INIT;
	json_t *o = json_object(),
	       *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
	clock_rfc3339(ev->ts_us, &time);
	json_put_int(o, "seq", (int64_t)ev->seq);
	json_put_str(o, "time", buf_cstr(&time));
	json_put_int(o, "mono_us", ev->mono_us);
	event_json_put_kind(o, ev->kind);
	put_id(o, "cause", ev->cause);
	put_id(o, "agent", ev->agent);
	put_id(o, "box", ev->box);
	put_id(o, "action", ev->action);
	json_put(o, "body", body ? body : json_null());
	if (!ev->body)
		json_put_flag(o, "redacted", true);
	return o;
}
