#include "sessions/merge_choose.h"

#include <inttypes.h>
#include <string.h>

#include "sandbox/meant.h"

static bool has_changes(const struct unmerged_box *b)
{
	for (size_t i = 0; i < b->nr; i++)
		if (json_int(b->layer[i].snap, "touched", 0) > 0)
			return true;
	return false;
}

static bool choose_has_repository(const struct unmerged *u)
{
	for (size_t i = 0; i < u->nr; i++)
		for (size_t k = 0; k < u->box[i].nr; k++)
			if (u->box[i].layer[k].dir)
				return true;
	return false;
}

/* Of several with one name, the one that is open. */
static int choose_named(const struct unmerged *u, const char *session, const char *name,
			const struct unmerged_box **out, struct err *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	const struct unmerged_box *found = NULL, *open = NULL;
	size_t nr = 0, nr_open = 0;
	for (size_t i = 0; i < u->nr; i++) {
		const struct unmerged_box *b = &u->box[i];
		if (!meant_box(name, b->id, b->name))
			continue;
		buf_printf(&names, "%s%s (#%" PRIu64 ")", nr++ ? ", " : "", b->name, b->id);
		found = b;
		if (!b->closed)
			open = b;
		nr_open += !b->closed;
	}
	if (nr > 1 && nr_open == 1 && !u->end)
		found = open;
	else if (nr > 1)
		return err_set(err, ERR_USAGE,
			       "several sandboxes have this name; name one by its id (%s/#ID): %s",
			       session, buf_cstr(&names));
	for (size_t i = 0; !found && i < u->nr; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", u->box[i].name);
	if (!found)
		return err_set(err, ERR_NOENT, "session %s: sandbox '%s' not found; %s%s", session,
			       name, u->nr ? "sandboxes: " : "it has none", buf_cstr(&names));
	*out = found;
	return 0;
}

static int choose_none(const struct unmerged *u, const char *session, struct err *err)
{
	if (!choose_has_repository(u))
		return err_set(
			err, ERR_INVALID,
			"session %s has no repository to merge into\n'sandglass export %s -F patch' prints its changes.",
			session, session);
	if (unmerged_cut_off(u, NULL, session))
		return err_set(
			err, ERR_NOENT,
			"session %s was interrupted: the recording may lack its last changes\n"
			"'sandglass resume %s' continues it.",
			session, session);
	return err_set(
		err, ERR_NOENT,
		"session %s has no unmerged work\nName a sandbox to merge it again: %s/NAME.",
		session, session);
}

static int choose_unnamed(const struct unmerged *u, const char *session, bool all, bool again,
			  const struct unmerged_box **out, size_t *nr_out, struct err *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	bool merged_too = again && unmerged_work(u) == 0;
	size_t nr = 0;
	for (size_t i = 0; i < u->nr; i++) {
		const struct unmerged_box *b = &u->box[i];
		if (!b->files && !b->branches && !(merged_too && has_changes(b)))
			continue;
		buf_printf(&names, "%s%s (#%" PRIu64 ")", nr ? ", " : "", b->name, b->id);
		out[nr++] = b;
	}
	if (!nr)
		return choose_none(u, session, err);
	if (nr > 1 && !all)
		return err_set(
			err, ERR_USAGE,
			"several sandboxes have work that is not merged; name one by its id (%s/#ID), or merge them in one step with --all: %s",
			session, buf_cstr(&names));
	*nr_out = nr;
	return 0;
}

int merge_choose(const struct unmerged *u, const char *session, const struct strv *names, bool all,
		 bool again, const struct unmerged_box **out, size_t *nr_out, struct err *err)
{
	size_t nr = 0;
	*nr_out = 0;
	if (all && names->nr)
		return err_set(err, ERR_USAGE, "--all merges every sandbox; '%s' names one",
			       names->item[0]);
	if (!names->nr)
		return choose_unnamed(u, session, all, again, out, nr_out, err);
	for (size_t i = 0; i < names->nr; i++) {
		const struct unmerged_box *b;
		bool twice = false;
		if (choose_named(u, session, names->item[i], &b, err) < 0)
			return -1;
		for (size_t k = 0; k < nr; k++)
			twice |= out[k] == b;
		if (!twice)
			out[nr++] = b;
	}
	*nr_out = nr;
	return 0;
}
