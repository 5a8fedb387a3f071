/* The part of a repository's configuration that a sandbox sees. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/view/git_config.h"

/* --- credentials --- */

static bool ends_like(const char *s, const char *tail)
{
	size_t n = strlen(s), t = strlen(tail);
	return n >= t && !strcmp(s + n - t, tail);
}

static bool is_credential(const struct git_setting *s)
{
	static const char *const tails[] = { "token",  "password", "passwd",
					     "secret", "apikey",   "smtppass" };
	static const char *const keys[] = { "extraheader",
					    "cookiefile",
					    "proxyauthmethod",
					    "sslkey",
					    "sslcertpasswordprotected",
					    "pass",
					    "pat" };
	for (size_t i = 0; i < ARRAY_LEN(tails); i++)
		if (ends_like(s->key, tails[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(s->key, keys[i]))
			return true;
	return false;
}

/* scheme://user:password@host and scheme://token@host lose what stands before the '@'; a bare ssh
 * user stays. */
bool git_clean_urls(const char *line, size_t len, struct buf *out)
{
	bool changed = false;
	size_t from = 0;
	for (;;) {
		const char *at = memmem(line + from, len - from, "://", 3);
		if (!at) {
			buf_append(out, line + from, len - from);
			return changed;
		}
		size_t host = (size_t)(at - line) + 3, end = host;
		const char *user_end = NULL;
		while (end < len && !strchr("/ \t\"'>", line[end])) {
			if (line[end] == '@')
				user_end = line + end;
			end++;
		}
		bool ssh = at - line >= 3 && strncmp(at - 3, "ssh", 3) == 0;
		buf_append(out, line + from, host - from);
		from = host;
		if (user_end &&
		    !(ssh && !memchr(line + host, ':', (size_t)(user_end - line) - host))) {
			from = (size_t)(user_end - line) + 1;
			changed = true;
		}
	}
}

/* --- what works on the host only --- */

struct name {
	const char *section, *key; /* key NULL: the whole section */
};

static const struct name of_host[] = {
	{ "credential", NULL },
	{ "gpg", NULL },
	{ "pager", NULL },
	{ "include", NULL },
	{ "includeif", NULL },
	{ "core", "fsmonitor" },
	{ "core", "sshcommand" },
	{ "core", "pager" },
	{ "core", "editor" },
	{ "core", "askpass" },
	{ "core", "gitproxy" },
	{ "core", "alternaterefscommand" },
	{ "commit", "gpgsign" },
	{ "tag", "gpgsign" },
	{ "tag", "forcesignannotated" },
	{ "push", "gpgsign" },
	{ "merge", "verifysignatures" },
	{ "log", "showsignature" },
	{ "user", "signingkey" },
	{ "sequence", "editor" },
	{ "interactive", "difffilter" },
	{ "web", "browser" },
};

static bool below_usr(const char *program)
{
	static const char *const tops[] = { "/usr/", "/bin/", "/sbin/", "/lib" };
	for (size_t i = 0; i < ARRAY_LEN(tops); i++)
		if (!strncmp(program, tops[i], strlen(tops[i])))
			return true;
	return false;
}

static bool lfs_there(void)
{
	return access("/usr/bin/git-lfs", X_OK) == 0 || access("/usr/local/bin/git-lfs", X_OK) == 0;
}

/* A program that the sandbox may not have, which git would fail without. */
static bool program_missing(const struct git_setting *s, const struct git_shown *how)
{
	static const char *const programs[] = { "command", "textconv", "external", "clean",
						"smudge",  "process",  "driver",   "required" };
	bool one = false;
	if (!strcmp(s->section, "filter") && s->sub && !strcmp(s->sub, "lfs"))
		return !how->programs || !lfs_there();
	if (!strcmp(s->section, "core") && !strcmp(s->key, "hookspath"))
		return s->value && (*s->value == '/' || *s->value == '~');
	if (strcmp(s->section, "diff") != 0 && strcmp(s->section, "filter") != 0 &&
	    strcmp(s->section, "merge") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(programs) && !one; i++)
		one = !strcmp(s->key, programs[i]);
	return one && s->value && (*s->value == '/' || *s->value == '~') &&
	       !(how->programs && below_usr(s->value));
}

static bool git_shown_left_out(const struct git_setting *s, const struct git_shown *how)
{
	for (size_t i = 0; i < ARRAY_LEN(of_host); i++)
		if (!strcmp(s->section, of_host[i].section) &&
		    (!of_host[i].key || !strcmp(s->key, of_host[i].key)))
			return true;
	return program_missing(s, how);
}

/* --- writing --- */

static void git_shown_put_quoted(struct buf *out, const char *s, size_t len)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"' || s[i] == '\\')
			buf_putc(out, '\\');
		if (s[i] == '\n')
			buf_puts(out, "\\n");
		else if (s[i] == '\t')
			buf_puts(out, "\\t");
		else
			buf_putc(out, s[i]);
	}
	buf_putc(out, '"');
}

static void put_sub(struct buf *out, const char *s, size_t len)
{
	buf_puts(out, " \"");
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"' || s[i] == '\\')
			buf_putc(out, '\\');
		buf_putc(out, s[i]);
	}
	buf_putc(out, '"');
}

/* True: a credential was taken out on the way. */
static bool put_setting(struct buf *out, const struct git_setting *s)
{
	CLEANUP(buf_release) struct buf sub = BUF_INIT;
	CLEANUP(buf_release) struct buf value = BUF_INIT;
	bool changed = s->sub && git_clean_urls(s->sub, strlen(s->sub), &sub);
	if (s->value)
		changed |= git_clean_urls(s->value, strlen(s->value), &value);
	buf_printf(out, "[%s", s->section);
	if (s->sub)
		put_sub(out, buf_cstr(&sub), sub.len);
	buf_printf(out, "]\n\t%s", s->key);
	if (s->value) {
		buf_puts(out, " = ");
		git_shown_put_quoted(out, buf_cstr(&value), value.len);
	}
	buf_putc(out, '\n');
	return changed;
}

/* The way from directory @from to @to, both absolute and without links. */
static char *relative_path(const char *from, const char *to)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	size_t same = 0, i = 0;
	for (; from[i] && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i + 1;
	if ((!from[i] && to[i] == '/') || (!from[i] && !to[i]) || (!to[i] && from[i] == '/'))
		same = i + 1;
	for (const char *p = same <= strlen(from) ? from + same : ""; *p;) {
		buf_puts(&out, "../");
		p += strcspn(p, "/");
		p += *p == '/';
	}
	buf_puts(&out, same <= strlen(to) ? to + same : "");
	return out.len ? buf_take(&out) : mem_strdup(".");
}

/* core.worktree by an absolute path leads nowhere in the sandbox. 1: left out, 0: as it is. */
static int work_tree(struct buf *out, const struct git_setting *s, const struct git_shown *how)
{
	if (strcmp(s->section, "core") != 0 || s->sub || strcmp(s->key, "worktree") != 0 ||
	    !s->value)
		return 0;
	CLEANUP(free_ptr)
	char *real = how->moved || *s->value != '/' ? NULL : realpath(s->value, NULL);
	size_t n = how->workspace ? strlen(how->workspace) : 0;
	if (real && n && !strncmp(real, how->workspace, n) && (!real[n] || real[n] == '/')) {
		CLEANUP(free_ptr) char *way = relative_path(how->git_dir, real);
		const struct git_setting moved = { .section = s->section,
						   .key = s->key,
						   .value = way };
		put_setting(out, &moved);
		return 1;
	}
	return how->moved || real ? 1 : 0;
}

/* Your own settings come first: what the repository says itself holds. */
static bool put_own(struct buf *out, const struct git_shown *how)
{
	bool any = false;
	for (size_t i = 0; how->own && i < how->own->settings.nr; i++) {
		const struct git_setting *s = &how->own->settings.item[i];
		if (program_missing(s, how) || is_credential(s))
			continue;
		put_setting(out, s);
		any = true;
	}
	if (!how->attributes)
		return any;
	CLEANUP(free_ptr) char *path = mem_strdup(how->attributes);
	char section[] = "core", key[] = "attributesfile";
	const struct git_setting s = { .section = section, .key = key, .value = path };
	put_setting(out, &s);
	return true;
}

/* Files of patterns that the sandbox has not: their contents are brought in by git_view.c. */
static bool patterns_elsewhere(const struct git_setting *s)
{
	return !strcmp(s->section, "core") && !s->sub &&
	       (!strcmp(s->key, "excludesfile") || !strcmp(s->key, "attributesfile")) && s->value &&
	       (*s->value == '/' || *s->value == '~');
}

enum git_change git_config_shown(const char *text, size_t len, const struct git_shown *how,
				 const struct git_config_of *of, struct buf *out)
{
	struct git_settings all = { 0 };
	CLEANUP(buf_release) struct buf made = BUF_INIT;
	git_settings_read(&all, text, len, how->git_dir, of);
	bool cleaned = false, changed = put_own(&made, how) || all.included || all.broken;
	for (size_t i = 0; i < all.nr; i++) {
		struct git_setting *s = &all.item[i];
		bool bare = how->moved && !strcmp(s->section, "core") && !s->sub &&
			    !strcmp(s->key, "bare");
		bool secret = is_credential(s) || !strcmp(s->section, "credential");
		cleaned |= secret;
		bool sparse =
			how->part && (!strncmp(s->key, "sparse", 6) ||
				      (!strcmp(s->section, "index") && !strcmp(s->key, "sparse")));
		if (secret || git_shown_left_out(s, how) || bare || sparse ||
		    patterns_elsewhere(s) || work_tree(&made, s, how) > 0)
			changed = true;
		else
			cleaned |= put_setting(&made, s);
	}
	git_settings_release(&all);
	if (changed || cleaned)
		buf_append(out, buf_cstr(&made), made.len);
	return cleaned ? GIT_CLEANED : changed ? GIT_ADAPTED : GIT_AS_IS;
}
