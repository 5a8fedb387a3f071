/* The shape of a live token in any text. Strict, because a file with a harmless name is hidden
 * for it: the token must be complete and look random. A mention of the format, a placeholder, or
 * a documented example does not count. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/view/masks.h"

/* letters of a token: as they come, both cases and a digit, capitals and digits */
enum { ANY = 0, MIXED = 1, UPPER = 2 };

static const struct form {
	const char *head;
	uint8_t least, most; /* characters after the head */
	uint8_t letters;
	const char *what;
} masks_token_forms[] = {
	{ "ghp_", 36, 255, ANY, "GitHub token" },
	{ "gho_", 36, 255, ANY, "GitHub token" },
	{ "ghs_", 36, 255, ANY, "GitHub token" },
	{ "ghu_", 36, 255, ANY, "GitHub token" },
	{ "ghr_", 36, 255, ANY, "GitHub token" },
	{ "github_pat_", 40, 255, ANY, "GitHub token" },
	{ "glpat-", 20, 255, ANY, "GitLab token" },
	{ "sk-ant-", 24, 255, ANY, "Anthropic key" },
	{ "sk-proj-", 24, 255, ANY, "OpenAI key" },
	{ "sk-", 32, 255, MIXED, "API key" },
	{ "AKIA", 16, 16, UPPER, "AWS key" },
	{ "ASIA", 16, 16, UPPER, "AWS key" },
	{ "AIza", 35, 35, MIXED, "Google key" },
	{ "xoxb-", 24, 255, ANY, "Slack token" },
	{ "xoxp-", 24, 255, ANY, "Slack token" },
	{ "xoxa-", 24, 255, ANY, "Slack token" },
	{ "xapp-", 24, 255, ANY, "Slack token" },
	{ "npm_", 36, 36, MIXED, "npm token" },
	{ "pypi-", 60, 255, MIXED, "PyPI token" },
	{ "sk_live_", 24, 255, ANY, "Stripe key" },
	{ "rk_live_", 24, 255, ANY, "Stripe key" },
	{ "hf_", 34, 40, MIXED, "Hugging Face token" },
	{ "dop_v1_", 64, 64, ANY, "DigitalOcean token" },
	{ "e2b_", 40, 64, ANY, "E2B key" },
	{ "-----BEGIN ", 0, 0, ANY, "private key" },
};

enum { PAIRS = 1 << 16, DISTINCT = 10, KEY_AHEAD = 4096, KEY_RUN = 40, SECRET_RUN = 40 };

static uint8_t masks_token_begins[PAIRS]; /* by the first two bytes: a head can begin here */
static pthread_once_t masks_token_once = PTHREAD_ONCE_INIT;

static void masks_token_build(void)
{
	for (size_t i = 0; i < ARRAY_LEN(masks_token_forms); i++)
		masks_token_begins[(unsigned char)masks_token_forms[i].head[0] << 8 |
				   (unsigned char)masks_token_forms[i].head[1]] = 1;
}

static bool token_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool looks_random(const char *p, size_t len, unsigned letters)
{
	bool seen[256] = { false }, lower = false, upper = false, digit = false;
	size_t distinct = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];
		distinct += !seen[c];
		seen[c] = true;
		lower |= islower(c) != 0;
		upper |= isupper(c) != 0;
		digit |= isdigit(c) != 0;
	}
	if (distinct < (len < 24 ? DISTINCT - 3 : DISTINCT) || !digit ||
	    (letters == MIXED && !(lower && upper)) || (letters == UPPER && lower))
		return false;
	return !memmem(p, len, "EXAMPLE", 7) && !memmem(p, len, "example", 7) &&
	       !memmem(p, len, "xxxx", 4) && !memmem(p, len, "XXXX", 4) &&
	       !memmem(p, len, "0000", 4);
}

/* An AWS key id alone opens nothing: its secret is 40 characters of base64 in both cases. */
static bool aws_secret(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = 0;
		while (i + n < len && (isalnum((unsigned char)text[i + n]) || text[i + n] == '/' ||
				       text[i + n] == '+'))
			n++;
		if (n == SECRET_RUN && looks_random(text + i, n, MIXED))
			return true;
		i += n + 1;
	}
	return false;
}

/* Behind the head of a private key there must be one. */
static bool key_follows(const char *p, size_t len)
{
	const char *nl = memmem(p, len < 80 ? len : 80, "PRIVATE KEY", 11);
	size_t ahead = len < KEY_AHEAD ? len : KEY_AHEAD, run = 0;
	const char *dashes = nl ? memmem(nl, len - (size_t)(nl - p), "-----", 5) : NULL;
	if (!dashes)
		return false;
	for (size_t i = (size_t)(dashes - p) + 5; i < ahead; i++) {
		/* its end, or the beginning of something else */
		if (i + 5 <= len && !memcmp(p + i, "-----", 5))
			return false;
		run = isalnum((unsigned char)p[i]) || p[i] == '/' || p[i] == '+' ? run + 1 : 0;
		if (run == KEY_RUN)
			return true;
	}
	return false;
}

static bool form_at(const struct form *f, const char *text, size_t len, size_t at)
{
	size_t n = strlen(f->head), more = 0;
	if (len - at < n || memcmp(text + at, f->head, n) != 0)
		return false;
	const char *p = text + at + n;
	size_t left = len - at - n;
	if (!f->least)
		return key_follows(p, left);
	while (more < left && more <= f->most && token_char(p[more]))
		more++;
	if (more < f->least || more > f->most || !looks_random(p, more, f->letters))
		return false;
	return f->letters != UPPER || aws_secret(text, len);
}

const char *masks_token_form(const char *text, size_t len)
{
	pthread_once(&masks_token_once, masks_token_build);
	for (size_t i = 0; i + 2 <= len; i++) {
		if (!masks_token_begins[(unsigned char)text[i] << 8 | (unsigned char)text[i + 1]] ||
		    (i && token_char(text[i - 1])))
			continue;
		for (size_t f = 0; f < ARRAY_LEN(masks_token_forms); f++)
			if (form_at(&masks_token_forms[f], text, len, i))
				return masks_token_forms[f].what;
	}
	return NULL;
}
