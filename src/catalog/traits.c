#include "catalog/traits.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/sql.h"
#include "sessions/labels.h"
#include "wire/event.h"
#include "wire/event_body.h"

static const char traits_names[] =
	"SELECT 'agents',json_extract(body,'$.name') FROM event WHERE kind=400"
	" UNION ALL SELECT 'models',json_extract(body,'$.model') FROM event WHERE kind IN (400,430,431)";
/* bodies may be longer than a cell: they are read one by one */
static const char traits_boxes[] = "SELECT seq FROM event WHERE kind=200 ORDER BY seq";

static void traits_add(json_t *traits, const char *key, const char *name)
{
	size_t i;
	json_t *one, *list = json_object_get(traits, key);
	if (!name || !*name)
		return;
	json_array_foreach(list, i, one)
	{
		const char *known = json_string_value(one);
		if (known && !strcmp(known, name))
			return;
	}
	json_array_append_new(list, json_bytes_z(name));
}

static int traits_repositories(struct session *s, uint64_t seq, json_t *traits, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct ev_box_open open = { 0 };
	int rc = session_event(s, seq, &ev, &arena, err);
	if (rc == 0)
		event_decode(&desc_ev_box_open, &ev, &arena, &open);
	for (size_t i = 0; i < open.repos.nr; i++) {
		traits_add(traits, "repos", ev_text_dup(&arena, open.repos.item[i].name));
		traits_add(traits, "repos", ev_text_dup(&arena, open.repos.item[i].dir));
	}
	arena_release(&arena);
	return rc;
}

static int traits_fill(struct session *s, json_t *traits, struct err *err)
{
	struct sql_table t;
	if (sql_own(s, traits_names, SIZE_MAX, &t, err) < 0)
		return -1;
	for (size_t i = 0; i + 1 < t.rows * t.cols; i += t.cols)
		if (t.cell[i])
			traits_add(traits, t.cell[i], t.cell[i + 1]);
	sql_table_release(&t);
	json_t *labels = session_labels(s, err);
	if (!labels)
		return -1;
	json_put(traits, "labels", labels);
	int rc = sql_own(s, traits_boxes, SIZE_MAX, &t, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < t.rows; i++)
		rc = traits_repositories(s, strtoull(t.cell[i], NULL, 10), traits, err);
	sql_table_release(&t);
	return rc;
}

json_t *session_traits(struct session *s, struct err *err)
{
	json_t *traits = json_object();
	json_put(traits, "agents", json_array());
	json_put(traits, "models", json_array());
	json_put(traits, "repos", json_array());
	if (traits_fill(s, traits, err) < 0) {
		json_decref(traits);
		return NULL;
	}
	return traits;
}
