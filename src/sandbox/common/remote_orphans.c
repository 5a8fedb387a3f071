#include "sandbox/common/remote_orphans.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"

enum { NOTE_MAX = 16384 };
static const char remote_orphans_name[] = "elsewhere";

int remote_orphans_note(const char *state_dir, const char *driver, const char *where,
			struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(state_dir, remote_orphans_name);
	CLEANUP(json_release) json_t *o = json_object();
	json_put_str(o, "driver", driver);
	json_put(o, "where", json_bytes_z(where));
	CLEANUP(free_ptr) char *text = json_dump_str(o);
	return file_write_atomic(path, text, strlen(text), 0600, err);
}

void remote_orphans_gone(const char *state_dir)
{
	CLEANUP(free_ptr) char *path = path_join(state_dir, remote_orphans_name);
	unlink(path);
}

bool remote_orphans_left(const char *state_dir)
{
	CLEANUP(free_ptr) char *path = path_join(state_dir, remote_orphans_name);
	return access(path, F_OK) == 0;
}

struct visit {
	void (*fn)(void *self, const char *driver, const char *where, const char *box);
	void *self;
};

static void each_in(const char *dir, int depth, const struct visit *v)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		CLEANUP(free_ptr) char *sub = path_join(dir, e->d_name);
		if (depth) {
			each_in(sub, depth - 1, v);
			continue;
		}
		struct err err = ERR_INIT;
		CLEANUP(buf_release) struct buf text = BUF_INIT, where = BUF_INIT;
		CLEANUP(free_ptr) char *path = path_join(sub, remote_orphans_name);
		CLEANUP(json_release)
		json_t *o = file_read(path, &text, NOTE_MAX, &err) == 0
				    ? json_parse(buf_cstr(&text), text.len, path, &err)
				    : NULL;
		if (o && json_get_bytes(json_object_get(o, "where"), &where))
			v->fn(v->self, json_str(o, "driver", ""), buf_cstr(&where), sub);
	}
	if (d)
		closedir(d);
}

void remote_orphans_each(const char *boxes,
			 void (*fn)(void *self, const char *driver, const char *where,
				    const char *box),
			 void *self)
{
	const struct visit v = { .fn = fn, .self = self };
	each_in(boxes, 1, &v);
}
