#include "record/live_token.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* Alphabets of the part after the prefix. */
enum alphabet {
	BASE62,
	WORD /* and _ - */,
	HEX,
	UPPER /* A-Z 2-7 0-9 */,
	DOTTED /* WORD and . */,
	SLASHED /* base64 and / + = */
};

typedef bool check_fn(const char *token, size_t len);

struct shape {
	const char *name, *begin;
	enum alphabet alphabet;
	unsigned min, max; /* bytes after the beginning */
	check_fn *check;   /* may be NULL */
};

static bool in_alphabet(enum alphabet a, unsigned char c)
{
	switch (a) {
	case BASE62:
		return isalnum(c);
	case WORD:
		return isalnum(c) || c == '_' || c == '-';
	case HEX:
		return isdigit(c) || (c >= 'a' && c <= 'f');
	case UPPER:
		return isdigit(c) || isupper(c);
	case DOTTED:
		return isalnum(c) || c == '_' || c == '-' || c == '.';
	case SLASHED:
		return isalnum(c) || c == '/' || c == '+' || c == '=';
	}
	return false;
}

/* --- checks --- */

static uint32_t crc_of(const char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;
	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

/* GitHub and npm: the last six of 36 are the CRC-32 of the thirty before them, in base 62. */
static bool crc_holds(const char *token, size_t len)
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const char *p = (const char *)memchr(token, '_', len) + 1;
	char want[7];
	if (len - (size_t)(p - token) != 36)
		return false;
	uint32_t crc = crc_of(p, 30);
	for (int i = 5; i >= 0; i--, crc /= 62)
		want[i] = digits[crc % 62];
	return !memcmp(p + 30, want, 6);
}

static bool has_openai(const char *token, size_t len)
{
	return memmem(token, len, "T3BlbkFJ", 8) != NULL;
}

static bool ends_in_aa(const char *token, size_t len)
{
	return len > 2 && token[len - 2] == 'A' && token[len - 1] == 'A';
}

static bool mixed_case(const char *token, size_t len)
{
	bool upper = false, lower = false, digit = false;
	for (size_t i = 0; i < len; i++) {
		upper |= isupper((unsigned char)token[i]) != 0;
		lower |= islower((unsigned char)token[i]) != 0;
		digit |= isdigit((unsigned char)token[i]) != 0;
	}
	return upper && lower && digit;
}

static int live_token_digit64(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *p = c ? strchr(digits, c) : NULL;
	return p ? (int)(p - digits) : -1;
}

/* JSON Web Token: three parts, the first is a JSON object that names its algorithm. */
static bool jwt_holds(const char *token, size_t len)
{
	char head[512];
	size_t n = 0, bits = 0, dots = 0, last = 0;
	uint32_t acc = 0;
	for (size_t i = 0; i < len; i++)
		if (token[i] == '.') {
			dots++;
			last = i;
		}
	for (size_t i = 0; i < len && token[i] != '.' && n < sizeof head - 1; i++) {
		int d = live_token_digit64(token[i]);
		if (d < 0)
			return false;
		acc = acc << 6 | (uint32_t)d;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			head[n++] = (char)(acc >> bits & 0xff);
		}
	}
	return dots == 2 && len - last > 20 && n > 8 && memmem(head, n, "\"alg\"", 5);
}

static bool two_dots(const char *token, size_t len)
{
	const char *a = memchr(token, '.', len),
		   *b = a ? memchr(a + 1, '.', len - (size_t)(a + 1 - token)) : NULL;
	return b && b - a == 23 && token + len - b == 44;
}

static bool slack_parts(const char *token, size_t len)
{
	size_t dashes = 0, digits = 0;
	for (size_t i = 0; i < len; i++) {
		dashes += token[i] == '-';
		digits += isdigit((unsigned char)token[i]) != 0;
	}
	return dashes >= 2 && digits >= 10;
}

static bool hook_parts(const char *token, size_t len)
{
	return memmem(token, len, "/B", 2) && len > 60;
}

static const struct shape live_token_table[] = {
	{ "github", "ghp_", BASE62, 36, 36, crc_holds },
	{ "github", "gho_", BASE62, 36, 36, crc_holds },
	{ "github", "ghu_", BASE62, 36, 36, crc_holds },
	{ "github", "ghs_", BASE62, 36, 36, crc_holds },
	{ "github", "ghr_", BASE62, 36, 36, crc_holds },
	{ "github", "github_pat_", WORD, 82, 82, mixed_case },
	{ "npm", "npm_", BASE62, 36, 36, crc_holds },
	{ "slack", "xoxb-", WORD, 40, 90, slack_parts },
	{ "slack", "xoxp-", WORD, 40, 120, slack_parts },
	{ "slack", "xoxa-", WORD, 40, 120, slack_parts },
	{ "slack", "xoxr-", WORD, 40, 120, slack_parts },
	{ "slack", "xapp-", WORD, 60, 140, slack_parts },
	{ "slack hook", "hooks.slack.com/services/T", SLASHED, 36, 60, hook_parts },
	{ "stripe", "sk_live_", BASE62, 24, 120, mixed_case },
	{ "stripe", "rk_live_", BASE62, 24, 120, mixed_case },
	{ "stripe hook", "whsec_", BASE62, 32, 64, mixed_case },
	{ "aws access key", "AKIA", UPPER, 16, 16, NULL },
	{ "aws access key", "ASIA", UPPER, 16, 16, NULL },
	{ "google api key", "AIza", WORD, 35, 35, mixed_case },
	{ "google oauth", "ya29.", WORD, 60, 500, mixed_case },
	{ "google oauth secret", "GOCSPX-", WORD, 28, 28, mixed_case },
	{ "openai", "sk-proj-", WORD, 60, 200, has_openai },
	{ "openai", "sk-svcacct-", WORD, 60, 200, has_openai },
	{ "openai", "sk-admin-", WORD, 60, 200, has_openai },
	{ "anthropic", "sk-ant-api03-", WORD, 95, 95, ends_in_aa },
	{ "anthropic", "sk-ant-admin01-", WORD, 95, 95, ends_in_aa },
	{ "anthropic", "sk-ant-oat01-", WORD, 95, 95, ends_in_aa },
	{ "anthropic", "sk-ant-ort01-", WORD, 95, 95, ends_in_aa },
	{ "openai", "sk-", BASE62, 48, 48, has_openai },
	{ "gitlab", "glpat-", WORD, 20, 20, mixed_case },
	{ "gitlab", "gldt-", WORD, 20, 20, mixed_case },
	{ "gitlab", "glrt-", WORD, 20, 20, mixed_case },
	{ "gitlab", "glptt-", HEX, 40, 40, NULL },
	{ "hugging face", "hf_", BASE62, 34, 34, mixed_case },
	{ "sendgrid", "SG.", DOTTED, 66, 66, two_dots },
	{ "mailgun", "key-", HEX, 32, 32, NULL },
	{ "digitalocean", "dop_v1_", HEX, 64, 64, NULL },
	{ "digitalocean", "doo_v1_", HEX, 64, 64, NULL },
	{ "shopify", "shpat_", HEX, 32, 32, NULL },
	{ "shopify", "shpss_", HEX, 32, 32, NULL },
	{ "pypi", "pypi-AgEIcHlwaS5vcmc", WORD, 60, 300, NULL },
	{ "docker hub", "dckr_pat_", WORD, 27, 27, mixed_case },
	{ "square", "sq0atp-", WORD, 22, 22, mixed_case },
	{ "square", "sq0csp-", WORD, 43, 43, mixed_case },
	{ "groq", "gsk_", BASE62, 52, 52, mixed_case },
	{ "xai", "xai-", BASE62, 80, 80, mixed_case },
	{ "replicate", "r8_", BASE62, 37, 37, mixed_case },
	{ "perplexity", "pplx-", BASE62, 48, 56, mixed_case },
	{ "databricks", "dapi", HEX, 32, 32, NULL },
	{ "linear", "lin_api_", BASE62, 40, 40, mixed_case },
	{ "notion", "ntn_", BASE62, 46, 46, mixed_case },
	{ "new relic", "NRAK-", UPPER, 27, 27, NULL },
	{ "vault", "hvs.", WORD, 24, 200, mixed_case },
	{ "doppler", "dp.pt.", BASE62, 40, 44, mixed_case },
	{ "age", "AGE-SECRET-KEY-1", UPPER, 58, 58, NULL },
	{ "rubygems", "rubygems_", HEX, 48, 48, NULL },
	{ "supabase", "sbp_", HEX, 40, 40, NULL },
	{ "jwt", "eyJ", DOTTED, 60, LIVE_TOKEN_MAX - 3, jwt_holds },
	{ "private key", "-----BEGIN PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN RSA PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN EC PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN DSA PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN OPENSSH PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----", BASE62, 0, 0, NULL },
	{ "private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----", BASE62, 0, 0, NULL },
};

size_t live_token_shapes(void)
{
	return ARRAY_LEN(live_token_table);
}

/* A made-up value: few different bytes, or a word like "example". */
static bool live_token_placeholder(const char *p, size_t len)
{
	bool seen[256] = { false };
	size_t different = 0;
	for (size_t i = 0; i < len; i++) {
		different += !seen[(unsigned char)p[i]];
		seen[(unsigned char)p[i]] = true;
	}
	return different < 8 || memmem(p, len, "EXAMPLE", 7) || memmem(p, len, "example", 7) ||
	       memmem(p, len, "XXXX", 4) || memmem(p, len, "xxxx", 4);
}

/* Length of the token of shape @s at @p; 0: it is none. */
static size_t token_at(const struct shape *s, const char *p, size_t left)
{
	size_t begin = strlen(s->begin), n = 0;
	if (left < begin || memcmp(p, s->begin, begin) != 0)
		return 0;
	if (!s->max)
		return begin;
	while (begin + n < left && n <= s->max &&
	       in_alphabet(s->alphabet, (unsigned char)p[begin + n]))
		n++;
	while (n > s->min && s->alphabet == DOTTED && p[begin + n - 1] == '.')
		n--; /* the end of a sentence */
	if (n < s->min || n > s->max || live_token_placeholder(p + begin, n) ||
	    (s->check && !s->check(p, begin + n)))
		return 0;
	return begin + n;
}

/* For each byte the shapes that begin with it, ended by NO_SHAPE; for each pair of bytes whether one
 * begins with it, and whether it is among the first three bytes of one, so that every second pair of
 * a text is enough. Most places of a text end at that pair. */
enum { NO_SHAPE = 255, SAME_BYTE = 16 };

static struct {
	uint8_t pair[1 << 13], near[1 << 13];
	uint8_t shape[256][SAME_BYTE];
} live_token_index;
static pthread_once_t live_token_once = PTHREAD_ONCE_INIT;

static size_t pair_of(const char *p)
{
	return (size_t)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static void live_token_set(uint8_t *set, const char *p)
{
	set[pair_of(p) / 8] |= (uint8_t)(1 << pair_of(p) % 8);
}

static bool live_token_has(const uint8_t *set, const char *p)
{
	return set[pair_of(p) / 8] & 1 << pair_of(p) % 8;
}

static void live_token_build(void)
{
	memset(live_token_index.shape, NO_SHAPE, sizeof live_token_index.shape);
	for (size_t i = 0; i < ARRAY_LEN(live_token_table); i++) {
		const char *begin = live_token_table[i].begin;
		uint8_t *list = live_token_index.shape[(unsigned char)begin[0]];
		size_t nr = 0;
		while (list[nr] != NO_SHAPE)
			nr++;
		assert(nr + 1 < SAME_BYTE);
		list[nr] = (uint8_t)i;
		live_token_set(live_token_index.pair, begin);
		live_token_set(live_token_index.near, begin);
		live_token_set(live_token_index.near, begin + 1);
	}
}

static bool live_token_at(const char *text, size_t len, size_t i, struct live_token *out)
{
	if (!live_token_has(live_token_index.pair, text + i) ||
	    (i && (isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_')))
		return false;
	const uint8_t *list = live_token_index.shape[(unsigned char)text[i]];
	for (; *list != NO_SHAPE; list++) {
		const struct shape *s = &live_token_table[*list];
		size_t n = token_at(s, text + i, len - i);
		if (n) {
			*out = (struct live_token){ s->name, i, n };
			return true;
		}
	}
	return false;
}

bool live_token_find_before(const char *text, size_t len, size_t from, size_t until,
			    struct live_token *out)
{
	pthread_once(&live_token_once, live_token_build);
	for (size_t i = from; i < until + 1 && i + 1 < len; i += 2) {
		if (!live_token_has(live_token_index.near, text + i))
			continue;
		if ((i > from && live_token_at(text, len, i - 1, out)) ||
		    (i < until && live_token_at(text, len, i, out)))
			return true;
	}
	return false;
}

bool live_token_find(const char *text, size_t len, size_t from, struct live_token *out)
{
	return live_token_find_before(text, len, from, len, out);
}

static bool is_private_key(const struct live_token *t)
{
	return !strcmp(t->shape, "private key");
}

size_t live_token_whole(const char *text, size_t len, const struct live_token *t)
{
	if (!is_private_key(t))
		return t->len;
	size_t from = t->off + t->len;
	const char *end = memmem(text + from, len - from, "-----END ", 9);
	const char *dashes =
		end ? memmem(end + 9, len - (size_t)(end + 9 - text), "-----", 5) : NULL;
	return dashes ? (size_t)(dashes + 5 - text) - t->off : 0;
}

/* Could @text, to its end, be the beginning of a token of shape @s? */
static bool begins_token(const struct shape *s, const char *text, size_t len, size_t least)
{
	size_t begin = strlen(s->begin);
	if (len < begin)
		return len >= least && !memcmp(text, s->begin, len);
	if (memcmp(text, s->begin, begin) != 0)
		return false;
	if (!s->max) { /* a private key: until its end has come */
		const struct live_token key = { s->name, 0, begin };
		return !live_token_whole(text, len, &key);
	}
	if (len - begin > s->max)
		return false;
	for (size_t i = begin; i < len; i++)
		if (!in_alphabet(s->alphabet, (unsigned char)text[i]))
			return false;
	return true;
}

size_t live_token_pending(const char *text, size_t len, size_t least)
{
	for (size_t i = 0; i < len; i++) {
		if (i && (isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_'))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(live_token_table); k++)
			if (live_token_table[k].begin[0] == text[i] &&
			    begins_token(&live_token_table[k], text + i, len - i, least))
				return len - i;
	}
	return 0;
}
