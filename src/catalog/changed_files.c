#include "catalog/changed_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exchange/changes.h"
#include "exchange/states.h"

enum { FILES_MOST = 300, FILES_BYTES_MOST = 16 << 10 };

struct changed_files {
	struct session *s;
	json_t *paths, *snapshots; /* objects: those seen so far */
	size_t bytes;
	bool unknown;
};

static void changed_files_add(struct changed_files *c, const json_t *change)
{
	const char *path = json_str(change, "path", NULL);
	if (!path) { /* its name is not text */
		c->unknown = true;
		return;
	}
	if (json_object_get(c->paths, path))
		return;
	c->bytes += strlen(path);
	c->unknown = json_object_size(c->paths) == FILES_MOST || c->bytes > FILES_BYTES_MOST;
	json_put_flag(c->paths, path, true);
}

static bool changed_files_on_snapshot(void *self, uint64_t seq, const struct event *ev,
				      const json_t *body)
{
	struct changed_files *c = self;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *changes = NULL;
	char key[24];
	size_t i;
	json_t *change;
	(void)ev;
	snprintf(key, sizeof(key), "%" PRIu64, seq);
	if (json_object_get(c->snapshots, key)) /* copied sandboxes share their history */
		return false;
	json_put_flag(c->snapshots, key, true);
	if (snapshot_changes(c->s, body, &changes, &none) < 0)
		c->unknown = true;
	json_array_foreach(changes, i, change)
	{
		if (c->unknown)
			break;
		changed_files_add(c, change);
	}
	return !c->unknown;
}

json_t *session_changed_files(struct session *s)
{
	CLEANUP(json_release) json_t *paths = json_object(), *snapshots = json_object();
	struct changed_files c = { .s = s, .paths = paths, .snapshots = snapshots };
	struct layers_at layers = LAYERS_AT_INIT;
	struct err none = ERR_INIT;
	const char *path;
	json_t *value, *out = json_array();
	c.unknown = layers_at(&layers, s, 0, NULL, &none) < 0;
	for (size_t i = 0; i < layers.nr && !c.unknown; i++)
		if (snapshots_back(s, layers.item[i].snapshot, changed_files_on_snapshot, &c,
				   &none) < 0)
			c.unknown = true;
	layers_at_release(&layers);
	json_object_foreach(paths, path, value) json_array_append_new(out, json_string(path));
	if (!c.unknown)
		return out;
	json_decref(out);
	return json_null();
}
