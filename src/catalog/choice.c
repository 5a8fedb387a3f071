#include "catalog/choice.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "catalog/catalog_priv.h"
#include "catalog/traits.h"
#include "sessions/labels.h"

#define DAY_US (INT64_C(86400) * 1000000)

/* True if the date in the file's name excludes the session for certain, in any time zone. */
static bool choice_too_far(const struct session_choice *w, const struct session_file *f)
{
	CLEANUP(free_ptr) char *date = mem_strndup(catalog_name(f->path), 10);
	struct tm tm = { 0 };
	const char *end = strptime(date, "%Y-%m-%d", &tm);
	if (!end || *end)
		return false;
	int64_t day_us = (int64_t)timegm(&tm) * 1000000;
	/* a fork's name is younger than its first event: it excludes nothing of --until */
	return w->since_us && day_us + 2 * DAY_US < w->since_us;
}

static bool choice_has(const json_t *traits, const char *key, const char *text, bool whole)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(traits, key), i, one)
	{
		const char *name = json_string_value(one);
		if (name && (whole ? !strcmp(name, text) : strstr(name, text) != NULL))
			return true;
	}
	return false;
}

static bool choice_asks_traits(const struct session_choice *w)
{
	return w->agent || w->model || w->repo || w->labels;
}

static bool choice_by_traits(const struct session_choice *w, const json_t *traits)
{
	for (size_t i = 0; i < w->labels; i++)
		if (!labels_match(json_object_get(traits, "labels"), w->label[i]))
			return false;
	return (!w->agent || choice_has(traits, "agents", w->agent, true)) &&
	       (!w->model || choice_has(traits, "models", w->model, false)) &&
	       (!w->repo || choice_has(traits, "repos", w->repo, false));
}

static bool choice_by_changes(const struct session_choice *w, const json_t *details)
{
	const json_t *files = json_object_get(details, "files");
	size_t i;
	json_t *path;
	if (!w->looks_at || !json_is_array(files))
		return true;
	json_array_foreach(files, i,
			   path) if (w->looks_at(w->self, json_string_value(path))) return true;
	return false;
}

static bool choice_by_time(const struct session_choice *w, int64_t begun_us)
{
	return begun_us >= w->since_us && (!w->until_us || begun_us < w->until_us);
}

static bool choice_by_file(const struct session_choice *w, const char *path)
{
	struct session *s;
	struct event ev;
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	if (session_open(&s, path, &none) < 0)
		return !w->sure;
	bool takes = session_event(s, 1, &ev, &arena, &none) == 0 ? choice_by_time(w, ev.ts_us)
								  : !w->sure;
	if (takes && choice_asks_traits(w)) {
		CLEANUP(json_release) json_t *traits = session_traits(s, &none);
		takes = traits ? choice_by_traits(w, traits) : !w->sure;
	}
	arena_release(&arena);
	session_close(&s);
	return takes;
}

bool session_choice_any(const struct session_choice *w)
{
	return w->since_us || w->until_us || choice_asks_traits(w);
}

bool session_choice_takes(const struct session_choice *w, const struct catalog *c,
			  const struct session_file *f)
{
	const struct shard_session *known;
	if (!session_choice_any(w) && !w->looks_at)
		return true;
	if (choice_too_far(w, f))
		return false;
	if (!(known = catalog_find(c, f)))
		return !session_choice_any(w) || choice_by_file(w, f->path);
	if (!choice_by_time(w, known->begun_us))
		return false;
	if (!choice_asks_traits(w) && !w->looks_at)
		return true;
	CLEANUP(json_release) json_t *details = catalog_details(c, f);
	if (!details)
		return !choice_asks_traits(w) || choice_by_file(w, f->path);
	return choice_by_traits(w, json_object_get(details, "traits")) &&
	       choice_by_changes(w, details);
}

static void choice_drop_file(struct session_file *f)
{
	struct session_files one = { .item = mem_dup(f, sizeof(*f)), .nr = 1 };
	session_files_release(&one);
}

void session_choice_past(const struct session_choice *w, const struct catalog *c, struct past *p)
{
	struct strv paths = STRV_INIT;
	size_t kept = 0;
	for (size_t i = 0; i < p->paths.nr; i++) {
		struct session_file named = { .path = p->paths.item[i] };
		struct session_file *f = p->nr_files ? &p->file[i] : &named;
		progress_at(&p->working, "choosing", i, p->paths.nr, "sessions");
		bool takes = session_choice_takes(w, c, f);
		if (takes)
			strv_push(&paths, f->path);
		if (takes && p->nr_files)
			p->file[kept++] = *f;
		else if (p->nr_files)
			choice_drop_file(f);
	}
	progress_clear(&p->working);
	if (p->nr_files && !kept) /* none is left, and none was named */
		free(take(&p->file));
	p->nr_files = kept;
	strv_release(&p->paths);
	p->paths = paths;
}
