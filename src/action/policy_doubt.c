#include "action/policy_doubt.h"

#include <string.h>

#include "action/shell_parse.h"
#include "base/mem.h"

/* Bytes of the first word of a pattern. */
static size_t program_len(const char *pattern)
{
	return strcspn(pattern, " ");
}

static bool takes_more_words(const char *pattern)
{
	size_t len = strlen(pattern);
	return !strcmp(pattern, "*") || (len >= 2 && !strcmp(pattern + len - 2, " *")) ||
	       strstr(pattern, "...");
}

static bool ends_in_star(const char *pattern)
{
	size_t len = strlen(pattern);
	return len >= 2 && pattern[len - 1] == '*' && pattern[len - 2] != ' ';
}

static bool runs_scripts(const char *pattern)
{
	char name[64];
	size_t len = program_len(pattern);
	const char *slash = memrchr(pattern, '/', len);
	const char *from = slash ? slash + 1 : pattern;
	len -= (size_t)(from - pattern);
	if (len == 0 || len >= sizeof(name))
		return false;
	memcpy(name, from, len);
	name[len] = 0;
	/* "sh *", not "sh build.sh *" */
	return strcmp(pattern + program_len(pattern), " *") == 0 &&
	       (shell_is_shell(name) || shell_is_interpreter(name));
}

static enum doubt_kind doubt_of_command(enum verdict verdict, const char *pattern)
{
	const char *star = memchr(pattern, '*', program_len(pattern));
	if (verdict != VERDICT_ALLOW)
		return takes_more_words(pattern) || ends_in_star(pattern) ? DOUBT_NONE : DOUBT_BARE;
	if (star && star > pattern && star[-1] != '/')
		return DOUBT_PROGRAMS;
	if (runs_scripts(pattern))
		return DOUBT_SCRIPTS;
	return ends_in_star(pattern) && strchr(pattern, ' ') ? DOUBT_NARROW : DOUBT_NONE;
}

/* A star that is not a whole label, and matches names that others can register. */
static enum doubt_kind doubt_of_host(const char *pattern)
{
	const char *dot = strrchr(pattern, '.'), *star = strchr(pattern, '*');
	if (!star || !strcmp(pattern, "*"))
		return DOUBT_NONE;
	bool label = star == pattern && star[1] == '.';
	return !label || strchr(star + 1, '*') > dot ? DOUBT_HOSTS : DOUBT_NONE;
}

static enum doubt_kind doubt_of_url(const char *pattern)
{
	const char *host = strstr(pattern, "://");
	if (!host)
		return DOUBT_NONE;
	host += 3;
	size_t len = strcspn(host, "/");
	const char *star = memrchr(host, '*', len);
	bool open = star && star == host + len - 1 && len > 1;
	return open || (star && star[1] != '.' && len > 1) ? DOUBT_URLS : DOUBT_NONE;
}

struct policy_doubt policy_doubt_of(const struct rule *r)
{
	struct policy_doubt d = { DOUBT_NONE, NULL };
	for (size_t i = 0; !d.kind && i < r->cmd.nr; i++)
		if (*(d.pattern = r->cmd.item[i]) != '!')
			d.kind = doubt_of_command(r->verdict, d.pattern);
	bool allow = r->verdict == VERDICT_ALLOW;
	for (size_t i = 0; allow && !d.kind && i < r->host.nr; i++)
		if (*(d.pattern = r->host.item[i]) != '!')
			d.kind = doubt_of_host(d.pattern);
	for (size_t i = 0; allow && !d.kind && i < r->url.nr; i++)
		if (*(d.pattern = r->url.item[i]) != '!')
			d.kind = doubt_of_url(d.pattern);
	if (!d.kind)
		d.pattern = NULL;
	return d;
}

const char *policy_doubt_name(enum doubt_kind kind)
{
	static const char *const names[] = { "",	"bare",	 "narrow", "programs",
					     "scripts", "hosts", "urls" };
	return names[kind];
}

static int stem_len(const char *pattern)
{
	size_t len = strlen(pattern);
	while (len > 0 && pattern[len - 1] == '*')
		len--;
	return (int)len;
}

void policy_doubt_effect(const struct policy_doubt *d, struct buf *out)
{
	switch (d->kind) {
	case DOUBT_NONE:
		return;
	case DOUBT_BARE:
		buf_printf(out, "'%s' matches only without arguments", d->pattern);
		return;
	case DOUBT_NARROW:
		buf_printf(out, "'%s' allows no further arguments", d->pattern);
		return;
	case DOUBT_PROGRAMS:
		buf_printf(out, "'%s' allows every program with such a name", d->pattern);
		return;
	case DOUBT_SCRIPTS:
		buf_printf(out, "'%s' allows every script that the agent can write", d->pattern);
		return;
	case DOUBT_HOSTS:
	case DOUBT_URLS:
		buf_printf(out, "'%s' allows hosts that anyone can register", d->pattern);
		return;
	}
}

void policy_doubt_fix(const struct policy_doubt *d, struct buf *out)
{
	const char *p = d->pattern;
	switch (d->kind) {
	case DOUBT_NONE:
		return;
	case DOUBT_BARE:
	case DOUBT_NARROW:
		buf_printf(out, "write '%.*s *' to match any arguments", stem_len(p), p);
		return;
	case DOUBT_PROGRAMS:
		buf_printf(out, "write '%.*s *' to allow one program", (int)strcspn(p, "*"), p);
		return;
	case DOUBT_SCRIPTS:
		buf_printf(out, "name the scripts, as in '%.*s build.sh *'", (int)program_len(p),
			   p);
		return;
	case DOUBT_HOSTS:
		buf_puts(out, "put a star only before a dot, as in '*.example.com'");
		return;
	case DOUBT_URLS:
		buf_puts(out, "end the host with '/', as in 'https://example.com/*'");
		return;
	}
}
