/* git: the options before its verb, verbs that run what their words say, and aliases. */
#include "action/shell_parse.h"

#include <string.h>
#include <strings.h>

/* git with its verb at word @i, without what stands before it. */
static void add_git(struct shell *s, const struct shell_part *p, size_t i)
{
	struct shell_part plain = { .flags = (p->flags & SHELL_REACHES) | SHELL_LOOKED };
	struct shell_word git = shell_word_of("git");
	shell_part_push(&plain, &git);
	for (; i < p->nr_words; i++)
		shell_part_push(&plain, &p->word[i]);
	shell_add(s, &plain);
}

/* Verbs that git itself, or a common addition to it, defines. No alias can have these names. */
static bool git_defines(const char *verb)
{
	static const char *const names[] = { "add",
					     "am",
					     "annotate",
					     "apply",
					     "archive",
					     "bisect",
					     "blame",
					     "branch",
					     "bugreport",
					     "bundle",
					     "cat-file",
					     "check-attr",
					     "check-ignore",
					     "check-mailmap",
					     "checkout",
					     "checkout-index",
					     "cherry",
					     "cherry-pick",
					     "citool",
					     "clean",
					     "clone",
					     "column",
					     "commit",
					     "commit-graph",
					     "commit-tree",
					     "config",
					     "count-objects",
					     "credential",
					     "describe",
					     "diagnose",
					     "diff",
					     "diff-files",
					     "diff-index",
					     "diff-tree",
					     "difftool",
					     "fast-export",
					     "fast-import",
					     "fetch",
					     "fetch-pack",
					     "filter-branch",
					     "filter-repo",
					     "fmt-merge-msg",
					     "for-each-ref",
					     "for-each-repo",
					     "format-patch",
					     "fsck",
					     "gc",
					     "grep",
					     "gui",
					     "hash-object",
					     "help",
					     "hook",
					     "http-push",
					     "index-pack",
					     "init",
					     "instaweb",
					     "interpret-trailers",
					     "lfs",
					     "log",
					     "ls-files",
					     "ls-remote",
					     "ls-tree",
					     "mailinfo",
					     "mailsplit",
					     "maintenance",
					     "merge",
					     "merge-base",
					     "merge-file",
					     "merge-index",
					     "merge-tree",
					     "mergetool",
					     "mktag",
					     "mktree",
					     "mv",
					     "name-rev",
					     "notes",
					     "pack-objects",
					     "pack-refs",
					     "patch-id",
					     "prune",
					     "pull",
					     "push",
					     "range-diff",
					     "read-tree",
					     "rebase",
					     "reflog",
					     "refs",
					     "remote",
					     "repack",
					     "replace",
					     "replay",
					     "request-pull",
					     "rerere",
					     "reset",
					     "restore",
					     "rev-list",
					     "rev-parse",
					     "revert",
					     "rm",
					     "send-email",
					     "send-pack",
					     "shortlog",
					     "show",
					     "show-branch",
					     "show-index",
					     "show-ref",
					     "sparse-checkout",
					     "stage",
					     "stash",
					     "status",
					     "stripspace",
					     "submodule",
					     "subtree",
					     "switch",
					     "symbolic-ref",
					     "tag",
					     "unpack-objects",
					     "update-index",
					     "update-ref",
					     "var",
					     "verify-commit",
					     "verify-pack",
					     "verify-tag",
					     "version",
					     "whatchanged",
					     "web--browse",
					     "worktree",
					     "write-tree",
					     NULL };
	return shell_among(verb, names);
}

/* `git p` may be an alias for anything: the configuration isn't read here. */
static void add_git_alias(struct shell *s, const struct shell_part *p, size_t i)
{
	struct shell_part alias = { .flags = (p->flags & SHELL_REACHES) | SHELL_LOOKED |
					     SHELL_GUESS };
	struct shell_word git = shell_word_of("git"), unknown = shell_word_unknown("[alias]");
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	const struct shell_word *verb = &p->word[i];
	if (verb->dynamic || git_defines(verb->text) || strspn(verb->text, letters) != verb->len)
		return;
	shell_part_push(&alias, &git);
	shell_part_push(&alias, &unknown);
	for (i++; i < p->nr_words; i++)
		shell_part_push(&alias, &p->word[i]);
	shell_add(s, &alias);
}

/* The plumbing of `git push` is a push. */
static void add_git_push(struct shell *s, const struct shell_part *p, size_t i)
{
	static const char *const pushes[] = { "send-pack", "http-push", NULL };
	if (!p->word[i].dynamic && shell_among(p->word[i].text, pushes))
		shell_look_git_dash(s, p, "push");
}

/* Settings that no command can be in; the value of any other may be one. */
static bool git_setting_tame(const struct shell_word *w)
{
	static const char *const tame[] = {
		"user.", "color.", "advice.", "init.defaultbranch", "author.", "committer.", NULL
	};
	for (const char *const *t = tame; *t; t++)
		if (w->len >= strlen(*t) && !strncasecmp(w->text, *t, strlen(*t)))
			return true;
	return false;
}

/* git -c KEY=VALUE: a part of its own, so that the words behind it do not count. */
static void add_git_setting(struct shell *s, const struct shell_word *setting)
{
	struct shell_part p = { .flags = SHELL_LOOKED | SHELL_LOOSE | SHELL_GUESS };
	struct shell_word git = shell_word_of("git");
	if (git_setting_tame(setting))
		return;
	shell_part_push(&p, &git);
	shell_part_push(&p, setting);
	shell_add(s, &p);
}

/* @option as in -x, -ix, --exec, --exe */
static bool git_option_is(const struct shell_word *w, const char *option)
{
	size_t len = strcspn(w->text, "=");
	if (option[0] != '-')
		return shell_word_is(w, option);
	if (!shell_word_begins(w, "-"))
		return false;
	if (option[1] == '-')
		return len > 2 && shell_word_begins(w, "--") && len <= strlen(option) &&
		       !memcmp(w->text, option, len);
	return w->text[1] != '-' && memchr(w->text, option[1], w->len);
}

/* Verbs of git that run what their words say. */
static bool git_runs(const struct shell_part *p, size_t verb)
{
	static const char *const always[] = { "filter-branch", "for-each-repo", "subtree",
					      "difftool",      "mergetool",	NULL };
	static const struct {
		const char *verb, *word;
	} with[] = { { "bisect", "run" },
		     { "rebase", "-x" },
		     { "rebase", "--exec" },
		     { "submodule", "foreach" },
		     { "grep", "-O" },
		     { "grep", "--open-files-in-pager" },
		     { "clone", "-u" },
		     { "clone", "--upload-pack" },
		     { "clone", "-c" },
		     { "clone", "--config" },
		     { "fetch", "--upload-pack" },
		     { "pull", "--upload-pack" },
		     { "ls-remote", "--upload-pack" },
		     { "ls-remote", "--exec" },
		     { "archive", "--exec" },
		     { "send-email", "--smtp-server" } };
	const char *name = p->word[verb].dynamic ? "" : p->word[verb].text;
	bool runs = shell_among(name, always);
	if (!strcmp(name, "config")) {
		runs = true;
		for (size_t i = verb + 1; i < p->nr_words; i++)
			runs &= !git_setting_tame(&p->word[i]);
		return runs;
	}
	for (size_t i = verb + 1; i < p->nr_words; i++) {
		runs |= shell_word_begins(&p->word[i], "ext::"); /* an address that is a command */
		for (size_t k = 0; k < ARRAY_LEN(with); k++)
			runs |= !strcmp(name, with[k].verb) &&
				git_option_is(&p->word[i], with[k].word);
	}
	return runs;
}

/* Options of git that stand before its verb: seen without them as well, so that `git -C x push` is
 * a push. Of an option that is not known both is seen: it has a value, it has none. */
void shell_look_git(struct shell *s, struct shell_part *p)
{
	static const char *const with_value[] = {
		"-C",	       "-c",	       "--git-dir",	 "--work-tree",
		"--namespace", "--config-env", "--super-prefix", "--attr-source",
		NULL
	};
	static const char *const alone[] = { "-p",
					     "--paginate",
					     "-P",
					     "--no-pager",
					     "--bare",
					     "--no-replace-objects",
					     "--literal-pathspecs",
					     "--glob-pathspecs",
					     "--noglob-pathspecs",
					     "--icase-pathspecs",
					     "--no-optional-locks",
					     "--no-lazy-fetch",
					     "--no-advice",
					     "--exec-path",
					     "--html-path",
					     "--version",
					     "--help",
					     "-v",
					     "-h",
					     NULL };
	size_t i = 1;
	while (i < p->nr_words && shell_word_begins(&p->word[i], "-")) {
		const struct shell_word *o = &p->word[i];
		bool value = !o->dynamic && shell_among(o->text, with_value);
		if (!o->dynamic && !value && !shell_among(o->text, alone) &&
		    !memchr(o->text, '=', o->len) && i + 2 < p->nr_words)
			add_git(s, p, i + 2);
		if (value && o->text[1] == 'c' && i + 1 < p->nr_words)
			add_git_setting(s, &p->word[i + 1]);
		if (shell_word_begins(o, "--config-env"))
			p->flags |= SHELL_LOOSE;
		i += value ? 2 : 1;
	}
	if (i >= p->nr_words)
		return;
	if (git_runs(p, i))
		p->flags |= SHELL_LOOSE;
	add_git_alias(s, p, i);
	add_git_push(s, p, i);
	if (i > 1)
		add_git(s, p, i);
}

/* /usr/lib/git-core/git-push is git push. */
void shell_look_git_dash(struct shell *s, const struct shell_part *p, const char *verb)
{
	struct shell_part plain = { .flags = (p->flags & SHELL_REACHES) | SHELL_LOOKED };
	struct shell_word git = shell_word_of("git"), name = shell_word_of(verb);
	shell_part_push(&plain, &git);
	shell_part_push(&plain, &name);
	for (size_t i = 1; i < p->nr_words; i++)
		shell_part_push(&plain, &p->word[i]);
	shell_add(s, &plain);
}
