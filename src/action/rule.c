/* One rule against one action. */
#include <stdlib.h>
#include <string.h>

#include "action/policy_priv.h"
#include "base/mem.h"
#include "query/filter.h"

static bool spec_has_command(const struct action_spec *s)
{
	return (s->kind == ACT_EXEC || s->kind == ACT_SHELL || s->kind == ACT_HOST) &&
	       (s->argv.nr || s->cmdline);
}

/* The text itself if a plain shell reads exactly this text: then `sh -c` is not a command of its
 * own. */
static const char *plain_text(const struct action_spec *s)
{
	static const char *const shells[] = { "sh", "/bin/sh", "bash", "/bin/bash" };
	if (!s->argv.nr)
		return s->cmdline;
	if (s->argv.nr != 3 || strcmp(s->argv.item[1], "-c") != 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (!strcmp(s->argv.item[0], shells[i]))
			return s->argv.item[2];
	return NULL;
}

struct shell *spec_split(const struct action_spec *s)
{
	if (!spec_has_command(s))
		return NULL;
	const char *text = plain_text(s);
	return text ? shell_split(text, strlen(text)) : shell_split_argv(&s->argv);
}

void facts_init(struct facts *f, const struct policy_subject *subject, const struct shell *shell)
{
	const char *home = getenv("HOME");
	*f = (struct facts){ .subject = subject, .shell = shell, .home = home ? home : "/" };
	for (size_t i = 0; shell && i < shell->nr; i++) {
		uint64_t bit = UINT64_C(1) << i;
		f->all |= bit;
		f->looked |= shell->part[i].flags & SHELL_LOOKED ? bit : 0;
		f->targets |= shell->part[i].flags & SHELL_TARGET ? bit : 0;
		f->reached |= shell->part[i].flags & SHELL_REACHES ? bit : 0;
	}
	const struct strv *env = &subject->spec->env;
	for (size_t i = 0; shell && i < env->nr; i++)
		if (shell_reaches(env->item[i], env->len[i]))
			f->reached = f->all & ~f->targets;
	if (!shell)
		f->all = 1;
	else if (shell->opaque || !shell->nr)
		f->all |= POLICY_OPAQUE;
}

void facts_release(struct facts *f)
{
	json_decref(f->act);
	f->act = NULL;
}

/* A list of patterns: one that matches is enough; of those with "!" none may. @answer asks about
 * one pattern. */
typedef enum glob_answer ask_fn(const char *pattern, const void *self);

static enum glob_answer list_answer(const struct strv *list, ask_fn *ask, const void *self)
{
	enum glob_answer any = GLOB_NO, none = GLOB_YES;
	bool positive = false;
	for (size_t i = 0; i < list->nr; i++) {
		const char *p = list->item[i];
		if (p[0] != '!') {
			enum glob_answer a = ask(p, self);
			any = a > any ? a : any;
			positive = true;
			continue;
		}
		enum glob_answer a = ask(p + 1, self), not = a == GLOB_YES  ? GLOB_NO
							     : a == GLOB_NO ? GLOB_YES
									    : GLOB_MAYBE;
		none = not < none ? not : none;
	}
	return positive && any < none ? any : none;
}

static enum glob_answer ask_name(const char *pattern, const void *self)
{
	const char *name = self;
	return name && pattern_name(pattern, name) ? GLOB_YES : GLOB_NO;
}

static enum glob_answer ask_host(const char *pattern, const void *self)
{
	const struct action_spec *s = self;
	return pattern_host(pattern, s->host, s->port) ? GLOB_YES : GLOB_NO;
}

struct place {
	const char *path, *home;
};

static enum glob_answer ask_path(const char *pattern, const void *self)
{
	const struct place *p = self;
	return pattern_path(pattern, p->path, p->home) ? GLOB_YES : GLOB_NO;
}

struct words {
	const struct shell_part *part;
	bool certain;
};

static enum glob_answer ask_words(const char *pattern, const void *self)
{
	const struct words *w = self;
	return words_match(pattern, w->part, w->certain);
}

struct loose_words {
	const struct shell_part *part;
	const struct strv *assigned;
};

/* Does one of the patterns appear in what the part may run? Exclusions ("!") can't be checked
 * there. */
static bool loose_match(const struct strv *list, const struct loose_words *w)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->item[i][0] != '!' && words_in_order(list->item[i], w->part, w->assigned))
			return true;
	return false;
}

/* A program may run what a variable of the action says: GIT_SSH_COMMAND='git push'. */
static bool env_match(const struct strv *list, const struct strv *env)
{
	for (size_t k = 0; k < env->nr; k++) {
		const char *eq = memchr(env->item[k], '=', env->len[k]);
		size_t at = eq ? (size_t)(eq + 1 - env->item[k]) : env->len[k];
		if (shell_reaches_stdin(env->item[k], env->len[k]))
			return true;
		for (size_t i = 0; i < list->nr; i++)
			if (list->item[i][0] != '!' &&
			    words_in_text(list->item[i], env->item[k] + at, env->len[k] - at))
				return true;
	}
	return false;
}

static bool rule_name_ok(const struct strv *list, const char *name)
{
	return !list->nr || list_answer(list, ask_name, name) == GLOB_YES;
}

static bool where_ok(const struct rule *r, const struct action_spec *s)
{
	bool host = action_on_host(s);
	switch (r->where) {
	case RULE_ANYWHERE:
		return true;
	case RULE_IN_BOX:
		return !host && !s->leaves_box;
	case RULE_ON_HOST:
		return host;
	}
	return false;
}

/* --- paths ------------------------------------------------------------------------------------ */

static bool path_ok(const struct rule *r, const char *cwd, const char *path, const char *home,
		    char **text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	path_resolve(cwd, path, home, &b);
	struct place p = { buf_cstr(&b), home };
	if (list_answer(&r->path, ask_path, &p) != GLOB_YES)
		return false;
	if (!*text)
		*text = mem_strdup(p.path);
	return true;
}

/* A rule that allows must be about all directories of several sandboxes, any other about one. */
static bool dirs_ok(const struct rule *r, const struct facts *f, char **text)
{
	bool all = r->verdict == VERDICT_ALLOW, any = false;
	const json_t *boxes = f->subject->spec->boxes;
	for (size_t i = 0; i < json_array_size(boxes); i++) {
		const json_t *dirs = json_object_get(json_array_get(boxes, i), "dirs");
		for (size_t k = 0; k < json_array_size(dirs); k++) {
			CLEANUP(buf_release) struct buf dir = BUF_INIT;
			json_get_bytes(json_array_get(dirs, k), &dir);
			bool ok = path_ok(r, "/", buf_cstr(&dir), f->home, text);
			if (ok != all)
				return ok;
			any = true;
		}
	}
	return all && any;
}

static bool spec_path_ok(const struct rule *r, const struct facts *f, char **text)
{
	const struct action_spec *s = f->subject->spec;
	if (s->boxes)
		return dirs_ok(r, f, text);
	bool found = s->path && path_ok(r, s->cwd, s->path, BOX_HOME, text);
	return found || (s->host_path && path_ok(r, "/", s->host_path, f->home, text));
}

/* `cd` may have come before: a relative path is looked at from each place. */
static bool word_path_ok(const struct rule *r, const struct facts *f, const char *word, char **text)
{
	const char *cwd = f->subject->spec->cwd;
	bool found = path_ok(r, cwd, word, BOX_HOME, text);
	for (size_t i = 0; !found && word[0] != '/' && word[0] != '~' && i < f->shell->dirs.nr;
	     i++) {
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		path_resolve(cwd, f->shell->dirs.item[i], BOX_HOME, &dir);
		found = path_ok(r, buf_cstr(&dir), word, BOX_HOME, text);
	}
	return found;
}

/* Written like a path: "a/b", ".env", "~/x". */
static const char *path_word(const struct shell_word *w)
{
	const char *s = w->text;
	if (w->dynamic)
		return NULL;
	if (s[0] == '-') {
		s = strchr(s, '=');
		if (!s)
			return NULL;
		s++;
	}
	return strchr(s, '/') || s[0] == '.' || s[0] == '~' ? s : NULL;
}

/* Parts of a command line that touch a path of the rule. */
static uint64_t path_parts(const struct rule *r, const struct facts *f, char **text)
{
	uint64_t found = 0;
	for (size_t i = 0; i < f->shell->nr; i++) {
		const struct shell_part *p = &f->shell->part[i];
		bool hit = false;
		if (p->flags & SHELL_TARGET) {
			hit = !p->word[1].dynamic && word_path_ok(r, f, p->word[1].text, text);
		} else if (r->verdict != VERDICT_ALLOW) {
			for (size_t k = 1; !hit && k < p->nr_words; k++) {
				const char *path = path_word(&p->word[k]);
				hit = path && word_path_ok(r, f, path, text);
			}
			for (size_t k = 0; !hit && k < p->nr_redirects; k++)
				hit = p->redirect[k].kind == SHELL_IN &&
				      !p->redirect[k].target.dynamic &&
				      word_path_ok(r, f, p->redirect[k].target.text, text);
		}
		found |= hit ? UINT64_C(1) << i : 0;
	}
	return found;
}

/* --- commands --------------------------------------------------------------------------------- */

static void cmd_parts(const struct rule *r, const struct facts *f, uint64_t *yes, uint64_t *maybe)
{
	bool certain = r->verdict == VERDICT_ALLOW;
	uint64_t y = 0, m = 0;
	for (size_t i = 0; i < f->shell->nr; i++) {
		struct words w = { &f->shell->part[i], certain };
		uint64_t bit = UINT64_C(1) << i;
		if (!((*yes | *maybe) & bit) || !(w.part->nr_words || w.part->flags & SHELL_SETS))
			continue;
		enum glob_answer a = list_answer(&r->cmd, ask_words, &w);
		struct loose_words loose = { &f->shell->part[i], &f->shell->assigned };
		if (a == GLOB_NO && !certain && loose_match(&r->cmd, &loose))
			a = GLOB_MAYBE;
		if (a == GLOB_YES && !(certain && f->reached & bit))
			y |= bit;
		else if (a != GLOB_NO)
			m |= bit;
	}
	if (!certain && env_match(&r->cmd, &f->subject->spec->env))
		m |= f->all & ~f->targets & ~y;
	if (r->verdict != VERDICT_ALLOW && f->all & POLICY_OPAQUE && f->shell->opaque)
		m |= POLICY_OPAQUE;
	*maybe = (*maybe & (y | m)) | (*yes & m);
	*yes &= y;
}

/* The matching parts as text, one after another. */
static char *parts_text(const struct facts *f, uint64_t parts)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < f->shell->nr && b.len < 300; i++) {
		if (!(parts >> i & 1) || !f->shell->part[i].nr_words)
			continue;
		buf_puts(&b, b.len ? "; " : "");
		shell_part_text(&f->shell->part[i], &b);
	}
	if (!b.len && parts & POLICY_OPAQUE && f->shell->opaque)
		buf_printf(&b, "[%s]", f->shell->why);
	return b.len ? buf_take(&b) : NULL;
}

/* Parts whose kind the rule names: a redirection is also a write. */
static uint64_t kind_parts(const struct rule *r, const struct facts *f)
{
	if (!r->kinds || r->kinds >> f->subject->spec->kind & 1)
		return f->all;
	return r->kinds >> ACT_WRITE & 1 ? f->targets : 0;
}

void act_set_box(json_t *act, const struct action_spec *s, size_t i)
{
	const json_t *b = json_array_get(s->boxes, i);
	json_put_str(act, "box", json_str(b, "name", ""));
	json_put_int(act, "box_id", json_int(b, "box", 0));
	json_t *dir = json_array_get(json_object_get(b, "dirs"), 0);
	if (dir)
		json_put(act, "host_path", json_incref(dir));
}

bool match_boxes(const struct filter *filter, json_t *act, const struct action_spec *s, bool all,
		 int64_t now_us)
{
	bool ok = all;
	if (!s->boxes)
		return filter_match(filter, act, now_us);
	for (size_t i = 0; ok == all && i < json_array_size(s->boxes); i++) {
		act_set_box(act, s, i);
		ok = filter_match(filter, act, now_us);
	}
	return ok;
}

static bool filter_ok(const struct rule *r, struct facts *f, const struct judgement *j)
{
	if (!r->match)
		return true;
	if (!f->act)
		f->act = judgement_act(j, f->subject, NULL);
	return match_boxes(r->match, f->act, f->subject->spec, r->verdict == VERDICT_ALLOW, 0);
}

/* A rule that allows must be about all sandboxes of an action, any other about one of them. */
static bool rule_boxes_ok(const struct rule *r, const struct facts *f)
{
	const struct action_spec *s = f->subject->spec;
	bool all = r->verdict == VERDICT_ALLOW;
	if (!s->boxes)
		return rule_name_ok(&r->box, f->subject->box) &&
		       (!r->box_id || r->box_id == s->box);
	for (size_t i = 0; i < json_array_size(s->boxes); i++) {
		const json_t *b = json_array_get(s->boxes, i);
		bool ok = rule_name_ok(&r->box, json_str(b, "name", "")) &&
			  (!r->box_id || r->box_id == (uint64_t)json_int(b, "box", 0));
		if (ok != all)
			return ok;
	}
	return all;
}

bool rule_matches(const struct rule *r, struct facts *f, const struct judgement *j, struct match *m)
{
	const struct action_spec *s = f->subject->spec;
	uint64_t yes = kind_parts(r, f), maybe = 0;
	char *text = NULL;
	if (!yes || !where_ok(r, s) || (r->tainted && !s->tainted) ||
	    !rule_name_ok(&r->tool, s->tool) || !rule_name_ok(&r->agent, f->subject->agent) ||
	    !rule_boxes_ok(r, f))
		return false;
	if (r->host.nr && (!s->host || list_answer(&r->host, ask_host, s) != GLOB_YES))
		return false;
	if ((r->url.nr && !(action_url(s) && rule_name_ok(&r->url, action_url(s)))) ||
	    (r->method.nr && !(action_method(s) && rule_name_ok(&r->method, action_method(s)))))
		return false;
	if (r->path.nr && f->shell)
		yes &= path_parts(r, f, &text);
	else if (r->path.nr && !spec_path_ok(r, f, &text))
		yes = 0;
	if (r->cmd.nr && !f->shell)
		yes = 0;
	else if (r->cmd.nr)
		cmd_parts(r, f, &yes, &maybe);
	if (r->verdict == VERDICT_ALLOW) {
		yes &= ~f->looked;
		maybe = 0;
	}
	if ((!yes && !maybe) || !filter_ok(r, f, j)) {
		free(text);
		return false;
	}
	if (!text && action_url(s))
		text = mem_strdup(action_url(s));
	else if (!text && r->host.nr)
		text = s->port ? mem_printf("%s:%u", s->host, s->port) : mem_strdup(s->host);
	else if (!text && f->shell)
		text = parts_text(f, yes ? yes : maybe);
	else if (!text && s->tool && r->tool.nr)
		text = mem_strdup(s->tool);
	*m = (struct match){ .rule = r,
			     .parts = yes | maybe,
			     .maybe = !yes,
			     .text = text,
			     .state = r->when ? MATCH_WHEN
				      : yes   ? MATCH_YES
					      : MATCH_MAYBE };
	return true;
}
