#include "supervisor/box/file_mtimes.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"

static char *file_mtimes_key_of(const char *path, size_t len)
{
	struct buf hex = BUF_INIT;
	hex_append(&hex, path, len); /* any bytes: a path need not be text */
	return buf_take(&hex);
}

/* Later snapshots have been noted already. */
static void file_mtimes_note(struct changed *c, const json_t *body, int64_t ts_us)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	size_t i;
	json_t *one;
	if (json_int(body, "more", 0))
		c->many_us = ts_us;
	json_array_foreach(json_object_get(body, "changes"), i, one)
	{
		buf_reset(&path);
		if (strcmp(json_str(one, "op", ""), "m") == 0 ||
		    !json_get_bytes(json_object_get(one, "path"), &path))
			continue;
		CLEANUP(free_ptr) char *key = file_mtimes_key_of(path.data, path.len);
		if (!json_object_get(c->us, key))
			json_put_int(c->us, key, ts_us);
	}
}

int file_mtimes_read(struct changed *c, struct session *s, uint64_t seq, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	*c = (struct changed){ .us = json_object() };
	while (seq) {
		if (session_event(s, seq, &ev, &a, err) < 0)
			return -1;
		CLEANUP(json_release)
		json_t *body = ev.body ? json_parse(ev.body, ev.len, "snapshot", err) : NULL;
		if (!body)
			return ev.body ? -1 : 0;
		file_mtimes_note(c, body, ev.ts_us);
		uint64_t before = (uint64_t)json_int(body, "prev", 0);
		seq = before < seq ? before : 0;
		arena_reset(&a);
	}
	return 0;
}

int64_t file_mtimes_when(void *self, const char *path, size_t len)
{
	const struct changed *c = self;
	CLEANUP(free_ptr) char *key = file_mtimes_key_of(path, len);
	return json_int(c->us, key, c->many_us);
}

void file_mtimes_release(struct changed *c)
{
	json_release(&c->us);
}
