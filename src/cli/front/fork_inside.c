#include "cli/front/fork_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/read/session.h"

/* An agent by its events so far. */
struct inner {
	uint64_t id;
	char *name, *model;
	bool interactive, ended, waits;
	/* the last prompt, copy of its session, end of a turn; a call that ended after the copy */
	uint64_t prompt, copy, turn, more;
};
struct inners {
	struct inner *item;
	size_t nr, cap;
};

static void inners_release(struct inners *all)
{
	for (size_t i = 0; i < all->nr; i++) {
		free(all->item[i].name);
		free(all->item[i].model);
	}
	free(all->item);
}

static struct inner *inner_of(struct inners *all, uint64_t id)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->item[i].id == id)
			return &all->item[i];
	return NULL;
}

static void see_told(struct inner *in, uint64_t seq, const json_t *body)
{
	const char *what = json_str(body, "what", ""), *status = json_str(body, "status", "");
	if (!strcmp(what, "prompt"))
		in->prompt = seq;
	else if (!strcmp(what, "turn"))
		in->turn = seq;
	else if (!strcmp(what, "kept"))
		in->copy = seq, in->more = 0;
	else if (!strcmp(what, "call") &&
		 (!strcmp(status, "completed") || !strcmp(status, "failed")))
		in->more = seq;
}

static void see_inner(struct inners *all, const struct event *ev, const json_t *body)
{
	struct inner *in = inner_of(all, ev->kind == EV_AGENT_START ? ev->seq : ev->agent);
	if (ev->kind == EV_AGENT_START && !in) {
		GROW(all->item, all->nr, all->cap);
		all->item[all->nr++] =
			(struct inner){ .id = ev->seq,
					.name = mem_strdup(json_str(body, "name", "agent")),
					.model = mem_strdup(json_str(body, "model", "")),
					.interactive = json_flag(body, "interactive", false) };
	} else if (in && ev->kind == EV_AGENT_END) {
		in->ended = true;
	} else if (in && ev->kind == EV_AGENT_STATE) {
		in->waits = !strcmp(json_str(body, "state", ""), "wait");
	} else if (in && ev->kind == EV_AGENT_TOLD) {
		see_told(in, ev->seq, body);
	}
}

/* Its proxy's route leads to one provider. */
static int same_provider(const struct inner *in, const char *models, struct err *err)
{
	size_t n = strcspn(in->model, ":") + 1;
	CLEANUP(free_ptr) char *copy = mem_strdup(models);
	char *save = NULL;
	for (char *m = strtok_r(copy, ",", &save); m; m = strtok_r(NULL, ",", &save))
		if (strncmp(m, in->model, n) != 0)
			return err_set(err, ERR_INVALID,
				       "fork: %s speaks with %s: expected %.*sNAME, got '%s'",
				       in->name, in->model, (int)n, in->model, m);
	return 0;
}

static int can_continue(const struct inner *in, uint64_t seq, const char *models, struct err *err)
{
	if (in->interactive)
		return err_set(
			err, ERR_INVALID,
			"fork: %s works in its own terminal at event #%" PRIu64
			": only an agent that a protocol controls continues with another model",
			in->name, seq);
	if (!in->prompt)
		return 0; /* of the loop of a script, or about to start */
	if (in->turn > in->prompt && in->waits)
		return err_set(err, ERR_INVALID,
			       "fork: %s waits for a message at event #%" PRIu64
			       ": nothing to continue; fork at #%" PRIu64 ", before its last turn",
			       in->name, seq, in->prompt - 1);
	if (in->copy < in->prompt)
		return err_set(
			err, ERR_INVALID,
			"fork: the recording has no copy of %s's own session at event #%" PRIu64
			" (some protocols can't load one); fork at #%" PRIu64 ", before this turn",
			in->name, seq, in->prompt - 1);
	if (in->more && in->turn < in->prompt)
		return err_set(err, ERR_INVALID,
			       "fork: the copy of %s's own session is older than its work at event "
			       "#%" PRIu64 "; fork at #%" PRIu64 ", where it was taken",
			       in->name, seq, in->copy);
	return same_provider(in, models, err);
}

int fork_inside_check(const char *path, uint64_t seq, const char *models, struct err *err)
{
	CLEANUP(inners_release) struct inners all = { 0 };
	struct session *s;
	int rc = session_open(&s, path, err);
	if (rc < 0)
		return -1;
	for (uint64_t at = 1; rc == 0 && at <= seq; at++) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct event ev;
		struct err none = ERR_INIT;
		if (session_event(s, at, &ev, &a, &none) < 0 || !ev.body ||
		    (ev.kind != EV_AGENT_START && ev.kind != EV_AGENT_END &&
		     ev.kind != EV_AGENT_STATE && ev.kind != EV_AGENT_TOLD))
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		if (body)
			see_inner(&all, &ev, body);
	}
	session_close(&s);
	for (size_t i = 0; rc == 0 && i < all.nr; i++)
		if (!all.item[i].ended)
			rc = can_continue(&all.item[i], seq, models, err);
	return rc;
}
