#include "sessions/agent_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"

enum { LOG_MAX = 4 << 20, COMMITS_MAX = 100, LINE_MIN = 82, ID_AT = 41 };
enum { READ_WORK = 20000 }; /* in ns: to read an object */

/* Below the repository's own directory. */
static const char log_path[] = "logs/HEAD", message_path[] = "COMMIT_EDITMSG";

/* "OLD NEW Name <address> SECONDS ZONE<tab>commit: subject" */
static bool step_line(const char *line, size_t len, struct agent_steps *a, struct merge_step *out)
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
	out->author = agent_steps_text(a, line + 82, name);
	out->email = agent_steps_text(a, lt + 1, (size_t)(gt - lt) - 1);
	out->ts_us = loose_time_us(gt + 2);
	out->message = agent_steps_text(a, colon + 2, (size_t)(end - colon) - 2);
	return *out->author && *out->message;
}

/* A file of the repository as the snapshot @body has it: .git itself has trees of its own. */
static bool git_file_find(const struct agent_log *f, const json_t *body, bool under,
			  const char *name, struct object_id *id)
{
	struct object_id root;
	unsigned mode;
	struct err none = ERR_INIT;
	bool own = !strncmp(f->gitdir, ".git", 4) && (!f->gitdir[4] || f->gitdir[4] == '/');
	const char *hex = json_str(body,
				   own	   ? under ? "git_under" : "git"
				   : under ? "under"
					   : "tree",
				   NULL);
	CLEANUP(free_ptr) char *path = path_join(f->gitdir, name);
	return hex && object_parse(hex, &root) &&
	       tree_find(f->st, &root, path, strlen(path), &mode, id, &none) == 1;
}

static bool git_content(const struct agent_log *f, const json_t *body, const char *name,
			struct object_id *id, struct buf *out)
{
	const struct ws_store *st = f->st;
	enum object_type type;
	struct err none = ERR_INIT;
	return git_file_find(f, body, false, name, id) &&
	       (!out || (st->get(st->self, id, &type, out, &none) == 0 && out->len < LOG_MAX));
}

/* The full message of the last commit of @log: git keeps it in a file of its own. */
static void whole_message(struct agent_steps *a, const struct agent_log *f, const json_t *body,
			  struct merge_step *step)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	struct object_id id;
	size_t subject = strlen(step->message);
	if (!git_content(f, body, message_path, &id, &b) || b.len < subject ||
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
		step->message = agent_steps_text(a, text.data, text.len);
}

/* --- what HEAD leads to --- */

static bool ids_have(struct agent_log *l, const struct id_set *s, const struct object_id *id)
{
	l->work += s->nr;
	for (size_t i = s->nr; i-- > 0;)
		if (!memcmp(&s->item[i], id, sizeof(*id)))
			return true;
	return false;
}

static void ids_add(struct id_set *s, const struct object_id *id)
{
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr++] = *id;
}

static bool log_commit(struct agent_log *l, const json_t *body, const struct object_id *id,
		       struct loose_commit *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	struct object_id blob;
	enum loose_type type;
	char hex[41];
	object_hex(id, hex);
	CLEANUP(free_ptr) char *path = mem_printf("objects/%.2s/%s", hex, hex + 2);
	l->work += READ_WORK;
	if (l->work > AGENT_LOG_WORK || !git_content(l, body, path, &blob, &b))
		return false;
	bool good = loose_read(&b, LOG_MAX, &type, &text);
	l->work += good ? text.len : LOG_MAX;
	return good && type == LOOSE_COMMIT && loose_commit_read(out, &text);
}

/* Adds the sandbox's commits that @head leads to. */
static void log_reach(struct agent_log *l, const json_t *body, const struct object_id *head)
{
	struct id_set open = { 0 };
	ids_add(&open, head);
	while (open.nr && l->work < AGENT_LOG_WORK) {
		struct object_id id = open.item[--open.nr];
		struct loose_commit c;
		if (ids_have(l, &l->reach, &id) || !log_commit(l, body, &id, &c))
			continue;
		ids_add(&l->reach, &id);
		for (size_t i = 0; i < c.nr; i++)
			ids_add(&open, &c.parent[i]);
		loose_commit_release(&c);
	}
	free(open.item);
}

/* --- the log --- */

static bool line_id(const char *line, struct object_id *out)
{
	char hex[41];
	if (strlen(line) < LINE_MIN)
		return false;
	memcpy(hex, line + ID_AT, 40);
	hex[40] = 0;
	return object_parse(hex, out);
}

static void log_append(struct agent_log *l, const struct buf *log, struct object_id *head)
{
	for (const char *p = log->data + l->at, *end = log->data + log->len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
		CLEANUP(free_ptr) char *line = mem_strndup(p, len);
		if (line_id(line, head))
			strv_push(&l->pending, line);
		p += len + 1;
	}
	l->at = log->len;
}

/* The commit of a line of the log; false: it has none, or one that HEAD doesn't lead to. A commit
 * that is in no file of its own (in a pack) counts: what leads to it isn't known. */
static bool pending_commit(struct agent_log *l, struct agent_steps *a, const json_t *body,
			   const char *line, struct merge_step *out, bool *whole)
{
	struct object_id id;
	struct loose_commit c;
	struct merge_step of = { 0 };
	*whole = line_id(line, &id) && log_commit(l, body, &id, &c);
	bool named = step_line(line, strlen(line), a, &of);
	if (!*whole) {
		*out = of;
		return named;
	}
	bool good = ids_have(l, &l->reach, &id) && *c.message;
	if (good && c.author && *c.author) {
		of.author = agent_steps_text(a, c.author, strlen(c.author));
		of.email = agent_steps_text(a, c.email, strlen(c.email));
		of.ts_us = c.ts_us;
	}
	good &= of.author != NULL;
	if (good)
		of.message = agent_steps_text(a, c.message, strlen(c.message));
	loose_commit_release(&c);
	*out = of;
	return good;
}

/* The commits among the lines that wait, as one step: named after the last. The lines of others
 * wait on: a later merge may lead to them. */
static size_t log_take(struct agent_log *l, struct agent_steps *a, const json_t *body,
		       struct merge_step *out)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT;
	struct strv wait = STRV_INIT;
	size_t nr = 0;
	bool whole = false;
	for (size_t i = 0; i < l->pending.nr && l->work < AGENT_LOG_WORK; i++) {
		struct merge_step one;
		struct object_id id;
		bool complete;
		(void)line_id(l->pending.item[i], &id);
		if (ids_have(l, &l->taken, &id))
			continue;
		if (!pending_commit(l, a, body, l->pending.item[i], &one, &complete)) {
			if (complete)
				strv_push(&wait, l->pending.item[i]);
			continue;
		}
		if (nr && nr < COMMITS_MAX)
			buf_printf(&others, "\n* %.*s", (int)strcspn(out->message, "\n"),
				   out->message);
		l->cut |= nr >= COMMITS_MAX;
		ids_add(&l->taken, &id);
		*out = one;
		whole = complete;
		nr++;
	}
	strv_release(&l->pending);
	l->pending = wait;
	if (nr && !whole)
		whole_message(a, l, body, out);
	if (others.len) {
		CLEANUP(free_ptr)
		char *all = mem_printf("%s\n\nWith these commits before it:%s", out->message,
				       buf_cstr(&others));
		out->message = agent_steps_text(a, all, strlen(all));
	}
	return nr;
}

/* Where the log stood when the sandbox was opened. */
static size_t log_begin(const struct agent_log *f, const json_t *body, const struct buf *log)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT;
	struct object_id id;
	enum object_type type;
	struct err none = ERR_INIT;
	if (!git_file_find(f, body, true, log_path, &id) ||
	    f->st->get(f->st->self, &id, &type, &base, &none) < 0)
		return 0;
	return base.len <= log->len && !memcmp(buf_cstr(&base), buf_cstr(log), base.len) ? base.len
											 : log->len;
}

size_t agent_log_commits(struct agent_log *l, struct agent_steps *a, const json_t *body,
			 struct merge_step *out)
{
	CLEANUP(buf_release) struct buf log = BUF_INIT;
	struct object_id id, head = { 0 };
	if (l->work >= AGENT_LOG_WORK || !git_content(l, body, log_path, &id, NULL) ||
	    !memcmp(&id, &l->last, sizeof(id)))
		return 0;
	if (!git_content(l, body, log_path, &id, &log)) {
		l->cut = true;
		return 0;
	}
	if (object_is_null(&l->last))
		l->at = log_begin(l, body, &log);
	l->last = id;
	if (l->at > log.len) /* written anew */
		l->at = log.len;
	log_append(l, &log, &head);
	if (!object_is_null(&head))
		log_reach(l, body, &head);
	return log_take(l, a, body, out);
}

void agent_log_release(struct agent_log *l)
{
	free(l->reach.item);
	free(l->taken.item);
	strv_release(&l->pending);
}
