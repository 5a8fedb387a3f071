/* "Approve for session": what a pattern lifts, and which patterns to propose. */
#include <stdlib.h>
#include <string.h>

#include "action/policy_priv.h"
#include "base/mem.h"

enum waiver_by { BY_WORDS, BY_PATH, BY_HOST, BY_TOOL };

static enum waiver_by waiver_by(enum action_kind k)
{
	switch (k) {
	case ACT_EXEC:
	case ACT_SHELL:
		return BY_WORDS;
	case ACT_READ:
	case ACT_WRITE:
	case ACT_EDIT:
	case ACT_PUT:
	case ACT_GET:
		return BY_PATH;
	case ACT_CONNECT:
	case ACT_FETCH:
	case ACT_PORT:
		return BY_HOST;
	case ACT_MODEL:
	case ACT_HOST:
	case ACT_MCP:
	case ACT_ASK:
	case ACT_SNAPSHOT:
	case ACT_ROLLBACK:
	case ACT_MERGE:
	case ACT_KIND_NR:
		break;
	}
	return BY_TOOL;
}

const char *waiver_key(enum action_kind kind)
{
	static const char *const key[] = {
		[BY_WORDS] = "cmd", [BY_PATH] = "path", [BY_HOST] = "host", [BY_TOOL] = "tool"
	};
	return key[waiver_by(kind)];
}

int waiver_check(enum action_kind kind, const char *pattern, struct err *err)
{
	size_t first = strcspn(pattern, " \t");
	if (!*pattern || strspn(pattern, " \t*./?") == strlen(pattern))
		return err_set(
			err, ERR_PARSE,
			"pattern \"%s\" would lift every question; name the command or the path",
			pattern);
	if (pattern[0] == '!')
		return err_set(err, ERR_PARSE, "a pattern for the session can't begin with \"!\"");
	if (strlen(pattern) > GLOB_MAX - 2)
		return err_set(err, ERR_PARSE, "a pattern may have %d bytes", GLOB_MAX - 2);
	if (waiver_by(kind) == BY_WORDS &&
	    (memchr(pattern, '*', first) || !strncmp(pattern, "...", 3)))
		return err_set(err, ERR_PARSE,
			       "pattern \"%s\" must begin with the name of a command", pattern);
	return 0;
}

static bool path_lifted(const char *glob, const struct facts *f)
{
	const struct action_spec *s = f->subject->spec;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (s->kind == ACT_PUT || s->kind == ACT_GET) {
		if (!s->host_path)
			return false;
		path_resolve("/", s->host_path, f->home, &b);
		return pattern_path(glob, buf_cstr(&b), f->home);
	}
	if (!s->path)
		return false;
	path_resolve(s->cwd, s->path, BOX_HOME, &b);
	return pattern_path(glob, buf_cstr(&b), BOX_HOME);
}

uint64_t waiver_parts(const struct waiver *w, uint64_t agent, const struct facts *f)
{
	const struct action_spec *s = f->subject->spec;
	uint64_t parts = 0;
	if (w->kind != s->kind || (w->agent && w->agent != agent))
		return 0;
	switch (waiver_by(s->kind)) {
	case BY_WORDS:
		for (size_t i = 0; f->shell && i < f->shell->nr; i++)
			if (!(f->reached >> i & 1) &&
			    words_match(w->pattern, &f->shell->part[i], true) == GLOB_YES)
				parts |= UINT64_C(1) << i;
		return parts;
	case BY_PATH:
		return path_lifted(w->pattern, f) ? f->all : 0;
	case BY_HOST:
		return s->host && pattern_host(w->pattern, s->host, s->port) ? f->all : 0;
	case BY_TOOL:
		return s->tool && pattern_name(w->pattern, s->tool) ? f->all : 0;
	}
	return 0;
}

static uint64_t waiver_covered(const struct waiver *w, uint64_t agent,
			       const struct policy_subject *subject, uint64_t *all)
{
	struct facts f;
	struct shell *shell = spec_split(subject->spec);
	facts_init(&f, subject, shell);
	uint64_t parts = waiver_parts(w, agent, &f) & f.all;
	*all = f.all;
	facts_release(&f);
	shell_free(&shell);
	return parts;
}

bool waiver_covers(const struct waiver *w, uint64_t agent, const struct policy_subject *subject)
{
	uint64_t all, parts = waiver_covered(w, agent, subject, &all);
	return parts == all;
}

bool waiver_lifts(const struct waiver *w, uint64_t agent, const struct policy_subject *subject,
		  uint64_t not_allowed)
{
	uint64_t all, parts = waiver_covered(w, agent, subject, &all);
	return (parts & not_allowed) == not_allowed;
}

bool waiver_touches(const struct waiver *w, uint64_t agent, const struct policy_subject *subject)
{
	uint64_t all;
	return waiver_covered(w, agent, subject, &all) != 0;
}

bool waiver_wide(enum action_kind kind, const char *pattern)
{
	size_t len = strlen(pattern), words = 1;
	switch (waiver_by(kind)) {
	case BY_WORDS:
		for (size_t i = 0; i < len; i++)
			words += pattern[i] == ' ' && pattern[i + 1] && pattern[i + 1] != ' ';
		return strstr(pattern, "...") ||
		       (words <= 3 && len > 2 && !strcmp(pattern + len - 2, " *"));
	case BY_PATH:
		return strstr(pattern, "**") != NULL;
	case BY_HOST:
		return strchr(pattern, '*') != NULL;
	case BY_TOOL:
		return true;
	}
	return true;
}

/* --- proposals -------------------------------------------------------------------------------- */

static void waiver_propose(json_t *list, enum action_kind kind, const char *pattern, bool wide)
{
	struct err ignored = ERR_INIT;
	if (waiver_check(kind, pattern, &ignored) < 0)
		return;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_str(json_array_get(list, i), "pattern", ""), pattern))
			return;
	json_t *o = json_object();
	json_put_str(o, "pattern", pattern);
	json_put_flag(o, "wide", wide);
	json_array_append_new(list, o);
}

/* A word as a pattern for itself; characters that a pattern can't express become `*`, a word that
 * may be several ends it with " *". */
static bool waiver_put_word(struct buf *b, const struct shell_word *w)
{
	bool odd = w->dynamic || !w->len || w->len > 100 || memchr(w->text, ' ', w->len) ||
		   memchr(w->text, '*', w->len) || memchr(w->text, '\t', w->len) ||
		   memchr(w->text, '\n', w->len) || !strcmp(w->text, "...");
	if (b->len)
		buf_putc(b, ' ');
	if (odd)
		buf_putc(b, '*');
	else
		buf_append(b, w->text, w->len);
	return !w->splits;
}

static void propose_words(json_t *list, enum action_kind kind, const struct shell_part *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t nr = p->nr_words;
	bool whole = true;
	if (!nr || p->word[0].dynamic || p->flags & (SHELL_REACHES | SHELL_GUESS))
		return;
	for (size_t i = 0; whole && i < nr; i++)
		whole = waiver_put_word(&b, &p->word[i]);
	waiver_propose(list, kind, buf_cstr(&b), !whole);
	const char *slash = strrchr(buf_cstr(&b), '/'), *blank = strrchr(buf_cstr(&b), ' ');
	if (whole && nr > 1 && slash && blank && slash > blank + 1) {
		CLEANUP(free_ptr) char *dir = mem_printf("%.*s/*", (int)(slash - b.data), b.data);
		waiver_propose(list, kind, dir, false);
	}
	if (nr > 2 && !p->word[1].dynamic && p->word[1].len) {
		CLEANUP(buf_release) struct buf two = BUF_INIT;
		waiver_put_word(&two, &p->word[0]);
		waiver_put_word(&two, &p->word[1]);
		buf_puts(&two, " *");
		waiver_propose(list, kind, buf_cstr(&two), true);
	} else if (nr == 2 && !(p->flags & SHELL_TARGET)) {
		CLEANUP(free_ptr)
		char *one = mem_printf("%.*s *", (int)p->word[0].len, p->word[0].text);
		waiver_propose(list, kind, one, true);
	}
}

static void propose_path(json_t *list, const struct facts *f)
{
	const struct action_spec *s = f->subject->spec;
	bool host = s->kind == ACT_PUT || s->kind == ACT_GET;
	const char *path = host ? s->host_path : s->path;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!path || strpbrk(path, "*?"))
		return;
	path_resolve(host ? "/" : s->cwd, path, host ? f->home : BOX_HOME, &b);
	const char *shown = buf_cstr(&b);
	if (!strncmp(shown, BOX_CWD "/", strlen(BOX_CWD) + 1))
		shown += strlen(BOX_CWD) + 1;
	waiver_propose(list, s->kind, shown, false);
	const char *slash = strrchr(shown, '/');
	if (slash && slash > shown) {
		CLEANUP(free_ptr) char *dir = mem_printf("%.*s/**", (int)(slash - shown), shown);
		waiver_propose(list, s->kind, dir, true);
	}
}

static void propose_host(json_t *list, const struct action_spec *s)
{
	if (!s->host || strchr(s->host, '*'))
		return;
	CLEANUP(free_ptr)
	char *one = s->port ? mem_printf("%s:%u", s->host, s->port) : mem_strdup(s->host);
	waiver_propose(list, s->kind, one, false);
	const char *dot = strchr(s->host, '.');
	if (dot && strchr(dot + 1, '.') && strspn(s->host, "0123456789.") != strlen(s->host)) {
		CLEANUP(free_ptr) char *zone = mem_printf("*%s", dot);
		waiver_propose(list, s->kind, zone, true);
	}
}

json_t *policy_proposals(const struct judgement *j, const struct policy_subject *subject)
{
	const struct action_spec *s = subject->spec;
	struct facts f;
	json_t *list = json_array();
	if (j->verdict != VERDICT_ASK || j->not_allowed & POLICY_OPAQUE)
		return list;
	facts_init(&f, subject, j->shell);
	switch (waiver_by(s->kind)) {
	case BY_WORDS:
		for (size_t i = 0; j->shell && i < j->shell->nr; i++)
			if (j->not_allowed >> i & 1)
				propose_words(list, s->kind, &j->shell->part[i]);
		break;
	case BY_PATH:
		propose_path(list, &f);
		break;
	case BY_HOST:
		propose_host(list, s);
		break;
	case BY_TOOL:
		if (s->tool)
			waiver_propose(list, s->kind, s->tool, true);
		break;
	}
	facts_release(&f);
	return list;
}
