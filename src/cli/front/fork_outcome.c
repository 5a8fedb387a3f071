#include "cli/front/fork_outcome.h"

#include <stdlib.h>
#include <string.h>

#include "check/summary.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { KEPT_MAX = 64 << 10 };

static json_t *outcome_json(const char *outcome, const char *why)
{
	json_t *o = json_object();
	json_put_str(o, "outcome", outcome);
	if (why && *why)
		json_put_str(o, "why", why);
	return o;
}

/* The end of the last agent that did not do what it was to do; NULL: all that ended did. */
static json_t *agents_failed(struct session *s, uint64_t after)
{
	json_t *failed = NULL;
	struct event ev;
	struct err none = ERR_INIT;
	for (uint64_t seq = after + 1; seq <= session_head(s); seq++) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		if (session_event(s, seq, &ev, &a, &none) < 0 || ev.kind != EV_AGENT_END ||
		    !ev.body)
			continue;
		CLEANUP(json_release)
		json_t *body = json_parse(ev.body, ev.len, "agent.end", &none);
		if (!body || json_flag(body, "ok", false))
			continue;
		json_decref(failed);
		failed = json_incref(body);
	}
	return failed;
}

json_t *fork_outcome(struct session *s, uint64_t after)
{
	struct summary m;
	struct err err = ERR_INIT;
	if (summary_of(s, &m, &err) < 0)
		return outcome_json("failed", err.text);
	CLEANUP(json_release) json_t *end = agents_failed(s, after);
	json_t *o;
	if (!strcmp(m.state, "running"))
		o = outcome_json("running", NULL);
	else if (end && !strcmp(json_str(end, "stop", ""), "budget"))
		o = outcome_json("budget", json_str(end, "text", NULL));
	else if (end)
		o = outcome_json("failed", json_str(end, "text", json_str(end, "stop", NULL)));
	else if (strcmp(m.state, "ok") != 0)
		o = outcome_json("failed", m.why ? m.why : m.state);
	else
		o = outcome_json("ok", NULL);
	summary_release(&m);
	return o;
}

static char *kept_path(const char *id)
{
	CLEANUP(free_ptr) char *tail = mem_printf("forks/%s.json", id);
	return paths_state(tail);
}

json_t *fork_kept_read(const char *id)
{
	CLEANUP(free_ptr) char *path = kept_path(id);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	return file_read(path, &text, KEPT_MAX, &none) < 0
		       ? NULL
		       : json_parse(text.data, text.len, "the outcome of a fork", &none);
}

int fork_kept_write(const char *id, const json_t *kept, struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_state("forks");
	CLEANUP(free_ptr) char *path = kept_path(id);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_dump_buf(kept, &text);
	return dir_make(dir, 0700, err) < 0
		       ? -1
		       : file_write_atomic(path, text.data, text.len, 0600, err);
}
