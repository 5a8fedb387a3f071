#include "catalog/choice.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "catalog/catalog_priv.h"
#include "catalog/traits.h"
#include "cli/lib/cmd_priv.h"

#define DAY_US (INT64_C(86400) * 1000000)

/* "2026-11-21" or "2026-11-21T10:30", of the local zone. */
static bool choice_date(const char *text, int64_t *us_out)
{
	static const char *const form[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	/* strptime takes "26" for a year of the Roman empire */
	for (size_t i = 0; i < ARRAY_LEN(form) && strspn(text, "0123456789") == 4; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, form[i], &tm);
		if (end && !*end) {
			*us_out = (int64_t)mktime(&tm) * 1000000;
			return true;
		}
	}
	return false;
}

static bool choice_span(const char *text, int64_t *us_out)
{
	int64_t us;
	if (!clock_parse_span(text, &us) || us <= 0)
		return false;
	*us_out = clock_wall_us() - us;
	return true;
}

static int choice_time(struct cmd_ctx *ctx, const char *option, int64_t *out, struct err *err)
{
	const char *text = cmd_opt(ctx, option);
	if (!text || choice_span(text, out) || choice_date(text, out))
		return 0;
	return err_set(err, ERR_USAGE,
		       "--%s: expected a span such as 30d, 12h or 90m, or a date, got '%s'", option,
		       text);
}

int session_choice_read(struct cmd_ctx *ctx, struct session_choice *out, struct err *err)
{
	*out = (struct session_choice){ .agent = cmd_opt(ctx, "agent"),
					.model = cmd_opt(ctx, "model"),
					.repo = cmd_opt(ctx, "repo") };
	return choice_time(ctx, "since", &out->since_us, err) < 0
		       ? -1
		       : choice_time(ctx, "until", &out->until_us, err);
}

/* What the name's date excludes for certain, wherever it was written. */
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

static bool choice_by_traits(const struct session_choice *w, const json_t *traits)
{
	return (!w->agent || choice_has(traits, "agents", w->agent, true)) &&
	       (!w->model || choice_has(traits, "models", w->model, false)) &&
	       (!w->repo || choice_has(traits, "repos", w->repo, false));
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
	bool takes = true;
	if (session_open(&s, path, &none) < 0)
		return true;
	if (session_event(s, 1, &ev, &arena, &none) == 0)
		takes = choice_by_time(w, ev.ts_us);
	if (takes && (w->agent || w->model || w->repo)) {
		CLEANUP(json_release) json_t *traits = session_traits(s, &none);
		takes = !traits || choice_by_traits(w, traits);
	}
	arena_release(&arena);
	session_close(&s);
	return takes;
}

bool session_choice_any(const struct session_choice *w)
{
	return w->since_us || w->until_us || w->agent || w->model || w->repo;
}

bool session_choice_takes(const struct session_choice *w, const struct catalog *c,
			  const struct session_file *f)
{
	const struct shard_session *known;
	bool by_traits = w->agent || w->model || w->repo;
	if (!by_traits && !w->since_us && !w->until_us)
		return true;
	if (choice_too_far(w, f))
		return false;
	if (!(known = catalog_find(c, f)))
		return choice_by_file(w, f->path);
	if (!choice_by_time(w, known->begun_us))
		return false;
	CLEANUP(json_release) json_t *details = by_traits ? catalog_details(c, f) : NULL;
	return !by_traits || (details ? choice_by_traits(w, json_object_get(details, "traits"))
				      : choice_by_file(w, f->path));
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

int past_choose(struct cmd_ctx *ctx, struct past *p, struct err *err)
{
	struct session_choice choice;
	if (session_choice_read(ctx, &choice, err) < 0)
		return -1;
	struct catalog *c = catalog_open(ctx->sessions);
	session_choice_past(&choice, c, p);
	const struct session_files files = { .item = p->file, .nr = p->nr_files };
	if (files.nr)
		catalog_finish_later(c, &files, ctx->sessions);
	catalog_close(&c);
	return 0;
}
