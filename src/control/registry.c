#include "control/registry.h"

#include <string.h>

#include "base/mem.h"

static const struct command registry_table[] = {
#define COMMAND(token, name, where, flags, usage, options, summary, help)                          \
	{ name, COMMAND_##where, (flags), (usage), (options), (summary), (help) },
#include "commands.inc"
#undef COMMAND
};

const char *const common_options =
	"-h, --help               -h prints the usage, --help also examples\n"
	"    --json               print one JSON object per line\n"
	"-C DIR                   run as if started in DIR\n"
	"    --sessions DIR       the directory of session files (SANDGLASS_SESSIONS)\n"
	"    --config FILE        use this configuration instead of yours\n"
	"    --profile NAME       use this profile of the configuration\n"
	"    --color WHEN         auto, always, or never\n"
	"    --no-tui             print lines instead of the full screen\n"
	"-q, --quiet              print only results\n"
	"-v, --verbose            print more; twice: much more\n"
	"    --version            print the version\n";

size_t command_count(void)
{
	return ARRAY_LEN(registry_table);
}

const struct command *command_at(size_t i)
{
	return i < ARRAY_LEN(registry_table) ? &registry_table[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(registry_table); i++)
		if (!strcmp(registry_table[i].name, name))
			return &registry_table[i];
	return NULL;
}

enum { WORD_MAX = 40 };

/* Edit distance in which two letters changed round are one mistake. Words past WORD_MAX are never
 * near. */
static unsigned registry_distance(const char *a, const char *b)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);
	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

const char *word_nearest(const char *word, const char *const *candidate, size_t nr)
{
	const char *best = NULL;
	size_t len = strlen(word);
	unsigned limit = len <= 3 ? 1 : len <= 6 ? 2 : 3, least = limit + 1;
	for (size_t i = 0; i < nr; i++) {
		unsigned d = registry_distance(word, candidate[i]);
		/* a word that was begun but not finished is near, too */
		if (d > limit && len >= 3 && !strncmp(word, candidate[i], len))
			d = limit;
		if (d < least) {
			least = d;
			best = candidate[i];
		}
	}
	return best;
}

static const struct {
	const char *old, *hint;
} former_names[] = {
#define FORMER(name, hint) { name, hint },
#include "wire/former.def"
};

const char *command_renamed(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(former_names); i++)
		if (!strcmp(former_names[i].old, name))
			return former_names[i].hint;
	return NULL;
}

const char *command_nearest(const char *name)
{
	const char *word[ARRAY_LEN(registry_table)];
	size_t nr = 0;
	for (size_t i = 0; i < ARRAY_LEN(registry_table); i++)
		if (!(registry_table[i].flags & COMMAND_HIDDEN))
			word[nr++] = registry_table[i].name;
	return word_nearest(name, word, nr);
}

bool option_next(const char **text, struct option_row *out)
{
	const char *s = *text;
	if (!s || !*s)
		return false;
	const char *end = strchrnul(s, '\n');
	*text = *end ? end + 1 : end;
	*out = (struct option_row){ .text = end };
	while (*s == ' ')
		s++;
	if (s[0] == '-' && s[1] != '-') {
		out->letter = s[1];
		s += 2;
		if (s[0] == ',' && s[1] == ' ')
			s += 2;
	}
	if (s[0] == '-' && s[1] == '-') {
		size_t n = strcspn(s + 2, " \n");
		assert(n < sizeof(out->name));
		memcpy(out->name, s + 2, n);
		s += 2 + n;
	}
	if (s[0] == ' ' && s[1] != ' ' && s < end) {
		size_t n = strcspn(s + 1, " \n");
		s += 1 + n;
		if (n > 3 && !memcmp(s - 3, "...", 3)) {
			out->repeats = true;
			n -= 3;
		}
		assert(n < sizeof(out->value));
		memcpy(out->value, s - n - (out->repeats ? 3 : 0), n);
	}
	while (*s == ' ')
		s++;
	out->text = s;
	out->text_len = (size_t)(end - s);
	return true;
}
