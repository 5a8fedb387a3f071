#include "cli/merge_aim.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sessions/sessions.h"
#include "sessions/unmerged.h"

enum { AIM_LOOK_MAX = 50 }; /* newest sessions that are looked at */

struct aim_found {
	char *id;
	struct strv dirs; /* of its work */
	bool live;
};

static bool aim_has_dir(const struct strv *dirs, const char *dir)
{
	for (size_t i = 0; i < dirs->nr; i++)
		if (!strcmp(dirs->item[i], dir))
			return true;
	return false;
}

static bool aim_merges(const struct unmerged *u, size_t box)
{
	for (size_t i = 0; i < u->nr_merges; i++)
		if (u->merges[i].box == box && !u->merges[i].undone)
			return true;
	return false;
}

/* Does a command run in the sandbox? The recording may not have its files yet. */
static bool aim_runs(struct session *s, uint64_t box)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *f;
	struct event ev;
	struct err none = ERR_INIT;
	size_t started = 0, ended = 0;
	if (feed_new(&f, s, FEED_BOX, box, &none) < 0)
		return true;
	while (feed_next(f, &ev, &a, 0, &none) == 1) {
		CLEANUP(json_release)
		json_t *body = ev.kind == EV_ACTION_ENDED && ev.body
				       ? json_parse(ev.body, ev.len, "event", &none)
				       : NULL;
		started += ev.kind == EV_ACTION_STARTED;
		ended += json_flag(body, "started", false);
		arena_reset(&a);
	}
	feed_free(&f);
	return started > ended;
}

/* Has the session work, and for which directories? */
static bool aim_read(struct aim_found *f, struct session *s, bool undo)
{
	struct unmerged u = UNMERGED_INIT;
	struct err none = ERR_INIT;
	bool any = false;
	*f = (struct aim_found){ .dirs = STRV_INIT, .live = session_live(s) };
	if (unmerged_read(&u, s, &none) < 0)
		return false;
	for (size_t i = 0; i < u.nr; i++) {
		const struct unmerged_box *b = &u.box[i];
		bool work = undo ? aim_merges(&u, i) : b->files + b->branches > 0;
		if (!work && !undo && f->live && !b->closed)
			work = aim_runs(s, b->id);
		if (!work)
			continue;
		any = true;
		for (size_t k = 0; k < b->nr; k++)
			if (b->layer[k].dir)
				strv_push(&f->dirs, b->layer[k].dir);
	}
	unmerged_release(&u);
	if (any)
		f->id = mem_strdup(session_id(s));
	else
		strv_release(&f->dirs);
	return any;
}

static size_t aim_collect(struct aim_found *found, const char *dir, bool undo, struct err *err)
{
	struct session_files all = SESSION_FILES_INIT;
	size_t nr = 0;
	if (session_files_list(&all, dir, err) < 0)
		return 0;
	for (size_t i = 0; i < all.nr && i < AIM_LOOK_MAX; i++) {
		struct session *s;
		struct err none = ERR_INIT;
		if (all.item[i].archived || session_open(&s, all.item[i].path, &none) < 0)
			continue;
		nr += aim_read(&found[nr], s, undo);
		session_close(&s);
	}
	session_files_release(&all);
	return nr;
}

/* Two running sessions with work for one directory: only you know which of them is meant. */
static int aim_ambiguous(const struct aim_found *a, const struct aim_found *found, size_t nr,
			 struct err *err)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; &found[i] != a && found[i].live && k < a->dirs.nr; k++)
			if (aim_has_dir(&found[i].dirs, a->dirs.item[k]))
				return err_set(
					err, ERR_USAGE,
					"sessions %s and %s have work for '%.300s'\nName one: SESSION, or --in SESSION.",
					a->id, found[i].id, a->dirs.item[k]);
	return 0;
}

int merge_aim_choose(const char *dir, bool undo, char **id_out, size_t *others_out, struct err *err)
{
	struct aim_found *found = mem_calloc(AIM_LOOK_MAX, sizeof(*found)), *chosen = NULL;
	size_t nr = aim_collect(found, dir, undo, err);
	int rc = err->code == ERR_NONE ? 0 : -1;
	for (size_t i = 0; i < nr; i++)
		if (!chosen || (found[i].live && !chosen->live))
			chosen = &found[i];
	if (rc == 0 && chosen && chosen->live)
		rc = aim_ambiguous(chosen, found, nr, err);
	if (rc == 0 && chosen) {
		*id_out = mem_strdup(chosen->id);
		*others_out = nr - 1;
		rc = 1;
	}
	for (size_t i = 0; i < nr; i++) {
		free(found[i].id);
		strv_release(&found[i].dirs);
	}
	free(found);
	return rc;
}
