/* Reading git-config(1): the format, includes, and their conditions. git_shown.c selects the part
 * shown in a sandbox. */
#include "sandbox/view/git_config.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/ignore.h"

enum { CONFIG_MAX = 1 << 20, INCLUDES_MAX = 10, SETTINGS_MAX = 20000 };

struct reading {
	struct git_settings *to;
	const char *at, *end, *dir;
	const struct git_config_of *of;
	int depth;
	char *section, *sub;
};

static void git_config_read_text(struct git_settings *s, const char *text, size_t len,
				 const char *dir, const struct git_config_of *of, int depth);

bool git_read_file(const char *path, struct buf *out, size_t max)
{
	struct err ignored = ERR_INIT;
	struct stat st;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	buf_reset(out);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    fd_read_all(fd, out, max, &ignored) == 0)
		return true;
	buf_reset(out);
	return false;
}

/* --- includes --- */

static char *expand_path(const char *path, const char *dir)
{
	const char *home = getenv("HOME");
	if (path[0] == '~' && path[1] == '/')
		return home ? path_join(home, path + 2) : NULL;
	if (*path == '/')
		return mem_strdup(path);
	return *path && *path != '~' ? path_join(dir, path) : NULL;
}

static void include_file(struct reading *r, const char *value)
{
	CLEANUP(free_ptr) char *path = value && r->dir ? expand_path(value, r->dir) : NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!path || r->depth >= INCLUDES_MAX || !git_read_file(path, &text, CONFIG_MAX))
		return;
	char *slash = strrchr(path, '/');
	*slash = 0;
	r->to->included = true;
	git_config_read_text(r->to, buf_cstr(&text), text.len, path, r->of, r->depth + 1);
}

/* gitdir: a pattern without a slash at its front holds anywhere, one with a slash at its end for
 * all below. */
static bool dir_matches(const char *pattern, const struct reading *r, bool any_case)
{
	if (!r->of || !r->of->git_dir)
		return false;
	CLEANUP(free_ptr)
	char *full = pattern[0] == '~' || (pattern[0] == '.' && pattern[1] == '/')
			     ? expand_path(pattern, r->dir)
			     : NULL;
	CLEANUP(buf_release) struct buf glob = BUF_INIT;
	const char *p = full ? full : pattern;
	buf_puts(&glob, *p == '/' ? p + 1 : "**/");
	if (*p != '/')
		buf_puts(&glob, p);
	if (glob.len && glob.data[glob.len - 1] == '/')
		buf_puts(&glob, "**");
	CLEANUP(free_ptr) char *dir = mem_strdup(r->of->git_dir + 1);
	for (char *c = dir; any_case && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (char *c = glob.data; any_case && c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return ignore_glob(buf_cstr(&glob), glob.len, dir, strlen(dir));
}

static bool remote_matches(const char *pattern, const struct reading *r)
{
	for (size_t i = 0; i < r->to->nr; i++) {
		const struct git_setting *s = &r->to->item[i];
		if (!strcmp(s->section, "remote") && !strcmp(s->key, "url") && s->value &&
		    ignore_glob(pattern, strlen(pattern), s->value, strlen(s->value)))
			return true;
	}
	return false;
}

static bool condition_holds(const char *c, const struct reading *r)
{
	static const char remote[] = "hasconfig:remote.*.url:";
	if (!strncmp(c, "gitdir:", 7))
		return dir_matches(c + 7, r, false);
	if (!strncmp(c, "gitdir/i:", 9))
		return dir_matches(c + 9, r, true);
	if (!strncmp(c, "onbranch:", 9) && r->of && r->of->branch) {
		CLEANUP(free_ptr)
		char *below = mem_printf("%s%s", c + 9, c[strlen(c) - 1] == '/' ? "**" : "");
		return ignore_glob(below, strlen(below), r->of->branch, strlen(r->of->branch));
	}
	return !strncmp(c, remote, sizeof(remote) - 1) && remote_matches(c + sizeof(remote) - 1, r);
}

static void add_setting(struct reading *r, const char *key, size_t key_len, const char *value)
{
	struct git_settings *to = r->to;
	if (to->nr >= SETTINGS_MAX)
		return;
	GROW(to->item, to->nr, to->cap);
	struct git_setting *s = &to->item[to->nr++];
	*s = (struct git_setting){ .section = mem_strdup(r->section),
				   .sub = r->sub ? mem_strdup(r->sub) : NULL,
				   .key = mem_strndup(key, key_len),
				   .value = value ? mem_strdup(value) : NULL };
	for (char *c = s->key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (strcmp(s->key, "path") != 0)
		return;
	if (!strcmp(r->section, "include") ||
	    (!strcmp(r->section, "includeif") && r->sub && condition_holds(r->sub, r)))
		include_file(r, value);
}

/* --- the format --- */

static void skip_line(struct reading *r)
{
	while (r->at < r->end && *r->at != '\n')
		r->at++;
}

/* [section], [section "sub"], [section.sub]; false: broken. */
static bool read_section(struct reading *r)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	CLEANUP(buf_release) struct buf sub = BUF_INIT;
	bool quoted = false;
	for (r->at++;
	     r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '-' || *r->at == '.');
	     r->at++)
		buf_putc(&name, (char)tolower((unsigned char)*r->at));
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
	if (r->at < r->end && *r->at == '"') {
		quoted = true;
		for (r->at++; r->at < r->end && *r->at != '"' && *r->at != '\n'; r->at++) {
			if (*r->at == '\\' && r->at + 1 < r->end)
				r->at++;
			buf_putc(&sub, *r->at);
		}
		if (r->at < r->end && *r->at == '"')
			r->at++;
	}
	if (r->at >= r->end || *r->at != ']' || !name.len)
		return false;
	r->at++;
	free_ptr(&r->section);
	free_ptr(&r->sub);
	char *dot = quoted ? NULL : strchr(name.data, '.');
	if (quoted)
		r->sub = mem_strdup(buf_cstr(&sub));
	else if (dot)
		r->sub = mem_strdup(dot + 1);
	if (dot)
		*dot = 0;
	r->section = mem_strdup(name.data);
	return true;
}

/* The character for a backslash and @c; 0: unknown to git. */
static char git_config_escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c == '"' || c == '\\' ? c : 0;
}

/* The value up to the end of its line; spaces at its end and comments are none of it. */
static bool git_config_read_value(struct reading *r, struct buf *out)
{
	bool quoted = false;
	size_t keep = 0;
	for (; r->at < r->end && *r->at != '\n'; r->at++) {
		char c = *r->at;
		if (c == '\r' && (r->at + 1 == r->end || r->at[1] == '\n'))
			continue;
		if (!quoted && (c == '#' || c == ';')) {
			skip_line(r);
			break;
		}
		if (!quoted && (c == ' ' || c == '\t')) {
			if (out->len)
				buf_putc(out, c);
			continue;
		}
		if (c == '"') {
			quoted = !quoted;
			keep = out->len;
			continue;
		}
		if (c == '\\') {
			if (++r->at == r->end)
				return false;
			if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')
				r->at++;
			if (*r->at == '\n')
				continue;
			c = git_config_escaped(*r->at);
			if (!c)
				return false;
		}
		buf_putc(out, c);
		keep = out->len;
	}
	if (keep < out->len) {
		out->len = keep;
		out->data[keep] = 0;
	}
	return !quoted;
}

static bool git_config_read_key(struct reading *r)
{
	CLEANUP(buf_release) struct buf value = BUF_INIT;
	const char *key = r->at;
	while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '-'))
		r->at++;
	size_t len = (size_t)(r->at - key);
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
	if (!len || !r->section)
		return false;
	if (r->at == r->end || *r->at == '\n' || *r->at == '\r' || *r->at == '#' || *r->at == ';') {
		add_setting(r, key, len, NULL);
		skip_line(r);
		return true;
	}
	if (*r->at++ != '=' || !git_config_read_value(r, &value))
		return false;
	add_setting(r, key, len, buf_cstr(&value));
	return true;
}

static void git_config_read_text(struct git_settings *s, const char *text, size_t len,
				 const char *dir, const struct git_config_of *of, int depth)
{
	struct reading r = {
		.to = s, .at = text, .end = text + len, .dir = dir, .of = of, .depth = depth
	};
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		r.at += 3;
	while (r.at < r.end) {
		char c = *r.at;
		bool good = true;
		if (isspace((unsigned char)c))
			r.at++;
		else if (c == '#' || c == ';')
			skip_line(&r);
		else
			good = c == '[' ? read_section(&r) : git_config_read_key(&r);
		if (!good) {
			s->broken = true;
			break;
		}
	}
	free(r.section);
	free(r.sub);
}

void git_settings_read(struct git_settings *s, const char *text, size_t len, const char *dir,
		       const struct git_config_of *of)
{
	git_config_read_text(s, text, len, dir, of, 0);
}

void git_settings_file(struct git_settings *s, const char *path, const struct git_config_of *of)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *dir = mem_strdup(path);
	char *slash = strrchr(dir, '/');
	if (!slash || !git_read_file(path, &text, CONFIG_MAX))
		return;
	*slash = 0;
	git_settings_read(s, buf_cstr(&text), text.len, *dir ? dir : "/", of);
}

void git_settings_release(struct git_settings *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->item[i].section);
		free(s->item[i].sub);
		free(s->item[i].key);
		free(s->item[i].value);
	}
	free(s->item);
	*s = (struct git_settings){ 0 };
}

const char *git_settings_get(const struct git_settings *s, const char *section, const char *sub,
			     const char *key)
{
	for (size_t i = s->nr; i-- > 0;) {
		const struct git_setting *one = &s->item[i];
		if (!strcmp(one->section, section) && !strcmp(one->key, key) &&
		    !strcmp(one->sub ? one->sub : "", sub ? sub : ""))
			return one->value;
	}
	return NULL;
}

/* --- yours --- */

static bool about_content(const struct git_setting *s)
{
	static const char *const core[] = {
		"autocrlf",	    "eol",	 "safecrlf",
		"whitespace",	    "quotepath", "precomposeunicode",
		"commentchar",	    "abbrev",	 "checkroundtripencoding",
		"bigfilethreshold", "notesref"
	};
	static const char *const whole[] = { "status", "apply",	 "i18n",       "color",
					     "column", "rerere", "versionsort" };
	static const char *const programs[] = { "external",	 "command",	  "textconv",
						"cachetextconv", "trustexitcode", "tool",
						"guitool",	 "driver",	  "difffilter",
						"renormalize" };
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		if (!strcmp(s->key, programs[i]) && strcmp(s->key, "renormalize") != 0)
			return false;
	if (!strcmp(s->section, "core")) {
		for (size_t i = 0; i < ARRAY_LEN(core); i++)
			if (!s->sub && !strcmp(s->key, core[i]))
				return true;
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (!strcmp(s->section, whole[i]))
			return true;
	if (!strcmp(s->section, "diff"))
		return true;
	if (!strcmp(s->section, "merge"))
		return !s->sub && strcmp(s->key, "verifysignatures") != 0;
	if (!strcmp(s->section, "log"))
		return !s->sub && strcmp(s->key, "showsignature") != 0;
	if (!strcmp(s->section, "filter"))
		return s->sub && !strcmp(s->sub, "lfs");
	return !strcmp(s->section, "init") && !strcmp(s->key, "defaultbranch");
}

static void read_patterns(const char *path, const char *usual, struct buf *out)
{
	CLEANUP(free_ptr) char *full = path ? expand_path(path, "/") : mem_strdup(usual);
	if (full)
		git_read_file(full, out, CONFIG_MAX);
}

static bool true_word(const char *s)
{
	return s && *s && strcmp(s, "0") != 0 && strcasecmp(s, "false") != 0 &&
	       strcasecmp(s, "no") != 0 && strcasecmp(s, "off") != 0;
}

/* The file of patterns that counts: a relative path of the repository's is one that the sandbox
 * has. */
static const char *pattern_file(const struct git_settings *all, const struct git_settings *theirs,
				const char *key)
{
	const char *path = git_settings_get(theirs, "core", NULL, key);
	if (path)
		return *path == '/' || *path == '~' ? path : "/nonexistent";
	return git_settings_get(all, "core", NULL, key);
}

void git_own_read(struct git_own *own, const struct git_config_of *of, const char *repo)
{
	struct git_settings all = { 0 }, theirs = { 0 };
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME"),
		   *global = getenv("GIT_CONFIG_GLOBAL"), *system = getenv("GIT_CONFIG_SYSTEM");
	CLEANUP(free_ptr)
	char *dir = xdg && *xdg ? path_join(xdg, "git")
		    : home	? path_join(home, ".config/git")
				: mem_strdup("/nonexistent");
	CLEANUP(free_ptr)
	char *config = path_join(dir, "config"),
	     *mine = path_join(home ? home : "/nonexistent", ".gitconfig");
	CLEANUP(free_ptr)
	char *ignore = path_join(dir, "ignore"), *attributes = path_join(dir, "attributes");
	if (!true_word(getenv("GIT_CONFIG_NOSYSTEM")))
		git_settings_file(&all, system ? system : "/etc/gitconfig", of);
	if (global) {
		git_settings_file(&all, global, of);
	} else {
		git_settings_file(&all, config, of);
		git_settings_file(&all, mine, of);
	}
	if (repo)
		git_settings_file(&theirs, repo, of);
	read_patterns(pattern_file(&all, &theirs, "excludesfile"), ignore, &own->excludes);
	read_patterns(pattern_file(&all, &theirs, "attributesfile"), attributes, &own->attributes);
	git_settings_release(&theirs);
	for (size_t i = 0; i < all.nr; i++) {
		struct git_setting *s = &all.item[i];
		if (!about_content(s))
			continue;
		GROW(own->settings.item, own->settings.nr, own->settings.cap);
		own->settings.item[own->settings.nr++] = *s;
		*s = (struct git_setting){ 0 };
	}
	git_settings_release(&all);
}

void git_own_release(struct git_own *own)
{
	git_settings_release(&own->settings);
	buf_release(&own->excludes);
	buf_release(&own->attributes);
}
