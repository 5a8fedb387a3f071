#include "sessions/agent_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/tree.h"

enum { LOG_MAX = 4 << 20, COMMITS_MAX = 100 };

static const char log_path[] = ".git/logs/HEAD", message_path[] = ".git/COMMIT_EDITMSG";

static const char *step_text(struct agent_steps *a, const char *s, size_t len)
{
	GROW(a->text, a->nr_text, a->cap_text);
	char *copy = mem_strndup(s, len);
	a->text[a->nr_text++] = copy;
	return copy;
}

/* "OLD NEW Name <address> SECONDS ZONE<tab>commit: subject" */
bool agent_log_line(const char *line, size_t len, struct agent_steps *a, struct merge_step *out)
{
	const char *tab = memchr(line, '\t', len), *lt = memchr(line, '<', len), *end = line + len;
	const char *gt = lt ? memchr(lt, '>', (size_t)(end - lt)) : NULL;
	if (len < 82 || !tab || !gt || gt > tab || tab - gt < 3 || (size_t)(end - tab) < 9 ||
	    strncmp(tab + 1, "commit", 6) != 0)
		return false;
	const char *colon = memchr(tab, ':', (size_t)(end - tab));
	if (!colon || end - colon < 2)
		return false;
	size_t name = lt > line + 83 ? (size_t)(lt - line) - 83 : 0;
	out->author = step_text(a, line + 82, name);
	out->email = step_text(a, lt + 1, (size_t)(gt - lt) - 1);
	out->ts_us = strtoll(gt + 2, NULL, 10) * 1000000;
	out->message = step_text(a, colon + 2, (size_t)(end - colon) - 2);
	return *out->author && *out->message;
}

static bool git_content(const struct ws_store *st, const json_t *body, const char *path,
			struct object_id *id, struct buf *out)
{
	struct object_id root;
	unsigned mode;
	enum object_type type;
	struct err none = ERR_INIT;
	const char *hex = json_str(body, "git", NULL);
	return hex && object_parse(hex, &root) &&
	       tree_find(st, &root, path, strlen(path), &mode, id, &none) == 1 &&
	       (!out || (st->get(st->self, id, &type, out, &none) == 0 && out->len < LOG_MAX));
}

/* The full message of the last commit of @log: git keeps it in a file of its own. */
static void whole_message(struct agent_steps *a, const struct ws_store *st, const json_t *body,
			  struct merge_step *step)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	struct object_id id;
	size_t subject = strlen(step->message);
	if (!git_content(st, body, message_path, &id, &b) || b.len < subject ||
	    strncmp(buf_cstr(&b), step->message, subject) != 0)
		return;
	for (const char *p = buf_cstr(&b), *end = p + b.len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);
		if (*p != '#')
			buf_append(&text, p, len);
		p += len;
	}
	while (text.len && text.data[text.len - 1] == '\n')
		text.len--;
	if (text.len)
		step->message = step_text(a, text.data, text.len);
}

/* The commits of @log behind its first @from bytes, as one step: named after the last. Returns how
 * many. */
static size_t log_commits(struct agent_steps *a, const struct ws_store *st, const json_t *body,
			  const struct buf *log, size_t from, struct merge_step *out)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT;
	size_t nr = 0;
	for (const char *p = log->data + from, *end = log->data + log->len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
		struct merge_step one = { 0 };
		if (agent_log_line(p, len, a, &one)) {
			if (nr && nr < COMMITS_MAX)
				buf_printf(&others, "\n* %s", out->message);
			*out = one;
			nr++;
		}
		p += len + 1;
	}
	if (nr)
		whole_message(a, st, body, out);
	if (others.len) {
		CLEANUP(free_ptr)
		char *all = mem_printf("%s\n\nWith these commits before it:%s", out->message,
				       buf_cstr(&others));
		out->message = step_text(a, all, strlen(all));
	}
	return nr;
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

/* Where the log stood when the sandbox was opened. */
static size_t log_begin(const struct ws_store *st, const json_t *body, const struct buf *log)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT;
	struct object_id root, id;
	unsigned mode;
	enum object_type type;
	struct err none = ERR_INIT;
	const char *hex = json_str(body, "git_under", NULL);
	if (!hex || !object_parse(hex, &root) ||
	    tree_find(st, &root, log_path, strlen(log_path), &mode, &id, &none) != 1 ||
	    st->get(st->self, &id, &type, &base, &none) < 0)
		return 0;
	return base.len <= log->len && !memcmp(buf_cstr(&base), buf_cstr(log), base.len) ? base.len
											 : log->len;
}

int agent_steps_read(struct agent_steps *out, struct session *s, const struct ws_store *st,
		     const uint64_t *seq, size_t nr, const char *rest, struct err *err)
{
	struct object_id last = { 0 }, id;
	CLEANUP(buf_release) struct buf log = BUF_INIT;
	size_t at = 0;
	int rc = 0;
	*out = AGENT_STEPS_INIT;
	out->view = mem_calloc(nr + 1, sizeof(*out->view));
	out->step = mem_calloc(nr + 1, sizeof(*out->step));
	for (size_t i = 0; rc == 0 && i < nr; i++) {
		CLEANUP(json_release) json_t *body = snapshot_body(s, seq[i]);
		struct merge_step step = { 0 };
		bool there = git_content(st, body, log_path, &id, NULL),
		     changed = there && memcmp(&id, &last, sizeof(id)) != 0;
		size_t commits = 0;
		if (changed && git_content(st, body, log_path, &id, &log)) {
			if (object_is_null(&last))
				at = log_begin(st, body, &log);
			commits = at <= log.len ? log_commits(out, st, body, &log, at, &step) : 0;
			at = log.len;
			last = id;
		}
		bool remains = i + 1 == nr && out->nr && !commits;
		if (remains)
			step.message = step_text(out, rest, strlen(rest));
		if (commits || remains)
			rc = agent_steps_add_step(out, st, body, &step, err);
	}
	if (rc < 0)
		agent_steps_release(out);
	return rc;
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
