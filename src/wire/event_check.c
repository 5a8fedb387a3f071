#include "wire/event_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where in the body: the names down to the value, as a list on the stack. */
struct place {
	const struct place *up;
	const char *name;
	bool item; /* of a list */
};

static void put_place(struct buf *out, const struct place *p)
{
	if (!p->up)
		return;
	put_place(out, p->up);
	if (p->item)
		buf_puts(out, "[]");
	else
		buf_printf(out, "%s%s", p->up->up ? "." : "", p->name);
}

/* @want NULL: the field is unknown. */
static bool check_failed(struct buf *why, const struct place *p, const char *want)
{
	buf_puts(why, want ? "field '" : "unknown field '");
	put_place(why, p);
	buf_printf(why, "'%s%s", want ? ": expected " : "", want ? want : "");
	return false;
}

static bool is_event_text(const json_t *v)
{
	return json_is_string(v) ||
	       (json_object_size(v) == 1 && json_is_string(json_object_get(v, "b64")));
}

static bool check_object(const struct event_desc *d, const json_t *o, const struct place *p,
			 struct buf *why);

static bool check_value(const struct event_field *f, const json_t *v, const struct place *p,
			struct buf *why)
{
	switch ((enum event_type)f->type) {
	case EVT_INT:
		return json_is_integer(v) || check_failed(why, p, "an integer");
	case EVT_FLAG:
		return json_is_boolean(v) || check_failed(why, p, "true or false");
	case EVT_STR:
	case EVT_BYTES:
		return is_event_text(v) || check_failed(why, p, "a text");
	case EVT_JSON:
		return true;
	case EVT_STRUCT:
		return json_is_object(v) ? check_object(f->sub, v, p, why)
					 : check_failed(why, p, "an object");
	}
	return false;
}

static bool check_list(const struct event_field *f, const json_t *v, int depth,
		       const struct place *p, struct buf *why)
{
	if (!depth)
		return check_value(f, v, p, why);
	if (json_is_object(v) && !json_object_size(v)) /* Lua's empty table */
		return true;
	if (!json_is_array(v))
		return check_failed(why, p, "a list");
	struct place at = { p, NULL, true };
	for (size_t i = 0; i < json_array_size(v); i++)
		if (!check_list(f, json_array_get(v, i), depth - 1, &at, why))
			return false;
	return true;
}

static bool check_map(const struct event_field *f, const json_t *v, const struct place *p,
		      struct buf *why)
{
	if (json_is_array(v) && !json_array_size(v)) /* Lua's empty table */
		return true;
	if (!json_is_object(v))
		return check_failed(why, p, "an object");
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)v, key, value)
	{
		struct place at = { p, key, false };
		if (!check_value(f, value, &at, why))
			return false;
	}
	return true;
}

static bool check_field(const struct event_field *f, const json_t *v, const struct place *p,
			struct buf *why)
{
	switch ((enum event_shape)f->shape) {
	case EVS_ONE:
		return check_value(f, v, p, why);
	case EVS_LIST:
		return check_list(f, v, 1, p, why);
	case EVS_LISTS:
		return check_list(f, v, 2, p, why);
	case EVS_MAP:
		return check_map(f, v, p, why);
	}
	return false;
}

static bool check_object(const struct event_desc *d, const json_t *o, const struct place *p,
			 struct buf *why)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)o, key, value)
	{
		struct place at = { p, key, false };
		const struct event_field *f = event_desc_field(d, key, strlen(key));
		if (!f)
			return check_failed(why, &at, NULL);
		if (!check_field(f, value, &at, why))
			return false;
	}
	return true;
}

bool event_check(uint16_t kind, const char *body, size_t len, struct buf *why)
{
	const struct event_desc *d = event_desc_of(kind);
	buf_reset(why);
	if (!d || !body)
		return true;
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *o = json_parse(body, len, "body", &err);
	buf_printf(why, "%s: ", d->name);
	if (!json_is_object(o)) {
		buf_puts(why, "expected a JSON object");
		return false;
	}
	struct place top = { NULL, NULL, false };
	bool ok = check_object(d, o, &top, why);
	if (ok)
		buf_reset(why);
	return ok;
}

void event_check_recorded(uint16_t kind, const char *body, size_t len)
{
	static const char *file;
	static bool read_it;
	if (!read_it) {
		read_it = true;
		file = getenv("EVENT_CHECK");
	}
	if (!file || !*file)
		return;
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	if (event_check(kind, body, len, &why))
		return;
	buf_putc(&why, '\n');
	bool die = !strcmp(file, "abort");
	int fd = die ? STDERR_FILENO : open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, why.data, why.len) < 0 || die)
		abort(); /* a check that can't report must not pass */
	close(fd);
}
