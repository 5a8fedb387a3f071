#include "sessions/agent_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "base/text/charset.h"
#include "base/text/utf8.h"
#include "sessions/agent_log.h"
#include "sessions/submodule.h"

const char *agent_steps_text(struct agent_steps *a, const char *s, size_t len)
{
	GROW(a->text, a->nr_text, a->cap_text);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!utf8_valid(s, len)) /* commits may have any encoding */
		text_to_utf8(s, len, "windows-1252", &text);
	char *copy = text.len ? mem_strndup(buf_cstr(&text), text.len) : mem_strndup(s, len);
	a->text[a->nr_text++] = copy;
	return copy;
}

static json_t *snapshot_body(struct session *s, uint64_t seq)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(s, seq, &ev, &arena, &none) < 0 || !ev.body)
		return NULL;
	return json_parse(ev.body, ev.len, "snapshot", &none);
}

static int agent_steps_add_step(struct agent_steps *a, const struct ws_store *st,
				const json_t *body, const struct merge_step *of, struct err *err)
{
	if (ws_view_load(&a->view[a->nr], st, body, err) < 0)
		return -1;
	a->step[a->nr] = *of;
	a->step[a->nr].view = &a->view[a->nr];
	a->nr++;
	return 0;
}

int agent_steps_read(struct agent_steps *out, const struct agent_steps_from *from,
		     const char *gitdir, struct err *err)
{
	struct agent_log log = { .st = from->st, .gitdir = gitdir };
	size_t nr = from->nr;
	int rc = 0;
	*out = AGENT_STEPS_INIT;
	out->view = mem_calloc(nr + 1, sizeof(*out->view));
	out->step = mem_calloc(nr + 1, sizeof(*out->step));
	for (size_t i = 0; rc == 0 && i < nr; i++) {
		CLEANUP(json_release) json_t *body = snapshot_body(from->s, from->seq[i]);
		struct merge_step step = { 0 };
		size_t commits = agent_log_commits(&log, out, body, &step);
		bool remains = i + 1 == nr && out->nr && !commits;
		if (remains)
			step.message = agent_steps_text(out, from->rest, strlen(from->rest));
		if (commits || remains)
			rc = agent_steps_add_step(out, from->st, body, &step, err);
	}
	out->cut = log.cut || log.work >= AGENT_LOG_WORK;
	agent_log_release(&log);
	if (rc < 0)
		agent_steps_release(out);
	return rc;
}

/* --- repositories within --- */

static size_t within_read(struct agent_steps_within *w, const char *gitdir,
			  const struct merge_step **out)
{
	struct agent_steps steps;
	struct err none = ERR_INIT;
	if (agent_steps_read(&steps, &w->from, gitdir, &none) < 0)
		return 0;
	GROW(w->item, w->nr, w->cap);
	w->item[w->nr++] = steps;
	*out = steps.step;
	return steps.nr;
}

size_t agent_steps_at(void *self, const char *prefix, const struct merge_step **out)
{
	struct agent_steps_within *w = self;
	CLEANUP(free_ptr) char *own = path_join(prefix, ".git");
	size_t nr = within_read(w, own, out);
	if (nr)
		return nr;
	CLEANUP(free_ptr) char *module = submodule_gitdir(w->dir, prefix);
	return module ? within_read(w, module, out) : 0;
}

void agent_steps_from_release(struct agent_steps_from *from)
{
	free(from->seq);
	free(from->rest);
	*from = (struct agent_steps_from){ 0 };
}

void agent_steps_within_release(struct agent_steps_within *w)
{
	for (size_t i = 0; i < w->nr; i++)
		agent_steps_release(&w->item[i]);
	free(w->item);
	agent_steps_from_release(&w->from);
	*w = (struct agent_steps_within){ 0 };
}

void agent_steps_release(struct agent_steps *a)
{
	for (size_t i = 0; i < a->nr; i++)
		ws_view_release(&a->view[i]);
	for (size_t i = 0; i < a->nr_text; i++)
		free(a->text[i]);
	free(a->view);
	free(a->step);
	free(a->text);
	*a = AGENT_STEPS_INIT;
}
