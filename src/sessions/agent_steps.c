#include "sessions/agent_steps.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"

enum { LOG_MAX = 4 << 20, COMMITS_MAX = 100, POINTER_MAX = 4096 };

/* Below the repository's own directory. */
static const char log_path[] = "logs/HEAD", message_path[] = "COMMIT_EDITMSG";

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

/* A file of the repository as the snapshot @body has it: .git itself has trees of its own. */
struct git_file {
	const struct ws_store *st;
	const char *gitdir;
};

static bool git_file_find(const struct git_file *f, const json_t *body, bool under,
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

static bool git_content(const struct git_file *f, const json_t *body, const char *name,
			struct object_id *id, struct buf *out)
{
	const struct ws_store *st = f->st;
	enum object_type type;
	struct err none = ERR_INIT;
	return git_file_find(f, body, false, name, id) &&
	       (!out || (st->get(st->self, id, &type, out, &none) == 0 && out->len < LOG_MAX));
}

/* The full message of the last commit of @log: git keeps it in a file of its own. */
static void whole_message(struct agent_steps *a, const struct git_file *f, const json_t *body,
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
		step->message = step_text(a, text.data, text.len);
}

/* The commit itself, if it is in a file of its own: its author may be another than who made it, and
 * its message is whole. */
static bool whole_commit(struct agent_steps *a, const struct git_file *f, const json_t *body,
			 const char *line, struct merge_step *step)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("objects/%.2s/%.38s", line + 41, line + 43);
	struct object_id id;
	struct loose_commit c;
	enum loose_type type;
	if (!git_content(f, body, path, &id, &b) || !loose_read(&b, LOG_MAX, &type, &text) ||
	    type != LOOSE_COMMIT || !loose_commit_read(&c, &text))
		return false;
	bool whole = c.author && *c.author && *c.message;
	if (whole) {
		step->author = step_text(a, c.author, strlen(c.author));
		step->email = step_text(a, c.email, strlen(c.email));
		step->message = step_text(a, c.message, strlen(c.message));
		step->ts_us = c.ts_us;
	}
	loose_commit_release(&c);
	return whole;
}

/* The commits of @log behind its first @from bytes, as one step: named after the last. Returns how
 * many. */
static size_t log_commits(struct agent_steps *a, const struct git_file *f, const json_t *body,
			  const struct buf *log, size_t from, struct merge_step *out)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT;
	size_t nr = 0;
	bool whole = false;
	for (const char *p = log->data + from, *end = log->data + log->len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
		struct merge_step one = { 0 };
		if (agent_log_line(p, len, a, &one)) {
			if (nr && nr < COMMITS_MAX)
				buf_printf(&others, "\n* %.*s", (int)strcspn(out->message, "\n"),
					   out->message);
			*out = one;
			whole = whole_commit(a, f, body, p, out);
			nr++;
		}
		p += len + 1;
	}
	if (nr && !whole)
		whole_message(a, f, body, out);
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
static size_t log_begin(const struct git_file *f, const json_t *body, const struct buf *log)
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

int agent_steps_read(struct agent_steps *out, const struct agent_steps_from *from,
		     const char *gitdir, struct err *err)
{
	const struct git_file f = { .st = from->st, .gitdir = gitdir };
	struct object_id last = { 0 }, id;
	CLEANUP(buf_release) struct buf log = BUF_INIT;
	size_t at = 0, nr = from->nr;
	int rc = 0;
	*out = AGENT_STEPS_INIT;
	out->view = mem_calloc(nr + 1, sizeof(*out->view));
	out->step = mem_calloc(nr + 1, sizeof(*out->step));
	for (size_t i = 0; rc == 0 && i < nr; i++) {
		CLEANUP(json_release) json_t *body = snapshot_body(from->s, from->seq[i]);
		struct merge_step step = { 0 };
		bool there = git_content(&f, body, log_path, &id, NULL),
		     changed = there && memcmp(&id, &last, sizeof(id)) != 0;
		size_t commits = 0;
		if (changed && git_content(&f, body, log_path, &id, &log)) {
			if (object_is_null(&last))
				at = log_begin(&f, body, &log);
			commits = at <= log.len ? log_commits(out, &f, body, &log, at, &step) : 0;
			at = log.len;
			last = id;
		}
		bool remains = i + 1 == nr && out->nr && !commits;
		if (remains)
			step.message = step_text(out, from->rest, strlen(from->rest));
		if (commits || remains)
			rc = agent_steps_add_step(out, from->st, body, &step, err);
	}
	if (rc < 0)
		agent_steps_release(out);
	return rc;
}

/* --- repositories within --- */

/* The directory of a submodule at @prefix as the sandbox names it: ".git/modules/one". NULL: it is
 * none. */
static char *submodule_gitdir(const char *dir, const char *prefix)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s/.git", dir, prefix);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char real[PATH_MAX], top[PATH_MAX];
	struct stat st;
	struct err none = ERR_INIT;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !realpath(dir, top) ||
	    file_read(path, &text, POINTER_MAX, &none) < 0 ||
	    strncmp(buf_cstr(&text), "gitdir: ", 8) != 0)
		return NULL;
	text.data[8 + strcspn(text.data + 8, "\r\n")] = 0;
	CLEANUP(free_ptr)
	char *to = text.data[8] == '/' ? mem_strdup(text.data + 8)
				       : mem_printf("%s/%s/%s", dir, prefix, text.data + 8);
	if (!realpath(to, real))
		return NULL;
	size_t len = strlen(top);
	const char *modules = strstr(real, "/modules/");
	if (!strncmp(real, top, len) && real[len] == '/')
		return mem_strdup(real + len + 1);
	return modules ? mem_printf(".git%s", modules) : NULL;
}

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
