/* Text with the shape of a live token, and text that only looks like one. The values were made up for this test. */
#include "record/live_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tap.h"

/* Long enough for every shape, without the look of a placeholder. */
static const char base62[] = "aK3pR8vT2mQ9xZ5bN7cL4dJ6gH1sF0yWeU3iO8kP2rT9vX5zB7nM4qL6jD1hG0fSaY3uE8oI2wC9tR5pV7kN4xJ6bQ1mZ0lH";
static const char hex[] = "3f9a1c7e5b2d8046fa93c1e7b5d280643f9a1c7e5b2d8046fa93c1e7b5d28064";
static const char upper[] = "QZ7KM3NXR5TBW2HDYC4PJVF6LGSA7EUQZ7KM3NXR5TBW2HDYC4PJVF6LGSA7";

static const struct {
	const char *begin, *from;
	int len;
	const char *end, *shape; /* shape NULL: no token */
} cases[] = {
	{ "ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "github" },
	{ "gho_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "github" },
	{ "ghu_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "github" },
	{ "ghs_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "github" },
	{ "ghr_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "github" },
	{ "npm_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", "npm" },
	{ "ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18", 36, "", NULL },
	{ "ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 35, "", NULL },
	{ "xghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", 36, "", NULL },
	{ "npm_", base62, 36, "", NULL },
	{ "github_pat_", base62, 82, "", "github" },
	{ "xoxb-123456789012-123456789012-", base62, 24, "", "slack" },
	{ "xoxp-123456789012-123456789012-", base62, 32, "", "slack" },
	{ "xapp-1-A0123456789-1234567890123-", base62, 64, "", "slack" },
	{ "https://hooks.slack.com/services/T01234567/B0123456789/", base62, 24, "", "slack hook" },
	{ "sk_live_", base62, 24, "", "stripe" },
	{ "rk_live_", base62, 30, "", "stripe" },
	{ "sk_test_", base62, 24, "", NULL },
	{ "whsec_", base62, 32, "", "stripe hook" },
	{ "AKIA", upper, 16, "", "aws access key" },
	{ "ASIA", upper, 16, "", "aws access key" },
	{ "AKIAIOSFODNN7EXAMPLE", "", 0, "", NULL },
	{ "AKIA", upper, 17, "", NULL },
	{ "AIza", base62, 35, "", "google api key" },
	{ "ya29.", base62, 80, "", "google oauth" },
	{ "GOCSPX-", base62, 28, "", "google oauth secret" },
	{ "sk-proj-", base62, 40, "T3BlbkFJaK3pR8vT2mQ9xZ5bN7cL", "openai" },
	{ "sk-svcacct-", base62, 40, "T3BlbkFJaK3pR8vT2mQ9xZ5bN7cL", "openai" },
	{ "sk-", base62, 20, "T3BlbkFJaK3pR8vT2mQ9xZ5bN7cL", "openai" },
	{ "sk-proj-", base62, 60, "", NULL },
	{ "sk-ant-api03-", base62, 93, "AA", "anthropic" },
	{ "sk-ant-oat01-", base62, 93, "AA", "anthropic" },
	{ "sk-ant-api03-", base62, 90, "AA", NULL },
	{ "glpat-", base62, 20, "", "gitlab" },
	{ "glrt-", base62, 20, "", "gitlab" },
	{ "glptt-", hex, 40, "", "gitlab" },
	{ "glpat-xxxxxxxxxxxxxxxxxxxx", "", 0, "", NULL },
	{ "hf_", base62, 34, "", "hugging face" },
	{ "SG.aK3pR8vT2mQ9xZ5bN7cL4d.", base62, 43, "", "sendgrid" },
	{ "key-", hex, 32, "", "mailgun" },
	{ "dop_v1_", hex, 64, "", "digitalocean" },
	{ "shpat_", hex, 32, "", "shopify" },
	{ "pypi-AgEIcHlwaS5vcmc", base62, 90, "", "pypi" },
	{ "dckr_pat_", base62, 27, "", "docker hub" },
	{ "sq0atp-", base62, 22, "", "square" },
	{ "sq0csp-", base62, 43, "", "square" },
	{ "gsk_", base62, 52, "", "groq" },
	{ "xai-", base62, 80, "", "xai" },
	{ "r8_", base62, 37, "", "replicate" },
	{ "pplx-", base62, 48, "", "perplexity" },
	{ "dapi", hex, 32, "", "databricks" },
	{ "lin_api_", base62, 40, "", "linear" },
	{ "ntn_", base62, 46, "", "notion" },
	{ "NRAK-", upper, 27, "", "new relic" },
	{ "hvs.", base62, 24, "", "vault" },
	{ "dp.pt.", base62, 43, "", "doppler" },
	{ "AGE-SECRET-KEY-1", upper, 58, "", "age" },
	{ "rubygems_", hex, 48, "", "rubygems" },
	{ "sbp_", hex, 40, "", "supabase" },
	{ "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", base62, 43, "", "jwt" },
	{ "eyJ0eXAiOiJKV1QiLCJ4IjoxfQ.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", base62, 43, "", NULL }, /* names no algorithm */
	{ "-----BEGIN OPENSSH PRIVATE KEY-----", "", 0, "", "private key" },
	{ "-----BEGIN RSA PRIVATE KEY-----", "", 0, "", "private key" },
	{ "-----BEGIN CERTIFICATE-----", "", 0, "", NULL },
	{ "-----BEGIN PUBLIC KEY-----", "", 0, "", NULL },
};

static void test_shapes(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct live_token t = { 0 };
		CLEANUP(free_ptr) char *token = mem_printf("%s%.*s%s", cases[i].begin, cases[i].len, cases[i].from, cases[i].end);
		CLEANUP(free_ptr) char *line = mem_printf("TOKEN=\"%s\" and more", token);
		bool found = live_token_find(line, strlen(line), 0, &t);
		ok(cases[i].shape ? found && !strcmp(t.shape, cases[i].shape) : !found, "%s %s, %d more", cases[i].begin,
		   cases[i].shape ? "is a token" : "is not a token", cases[i].len);
	}
	ok(live_token_shapes() >= 40, "%zu shapes", live_token_shapes());
}

/* Wherever it begins, odd or even, first or last; only before the limit, and from the start on. */
static void test_places(void)
{
	size_t wrong = 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t before = 0; cases[i].shape && *cases[i].begin != 'h' && before < 4; before++) {
			struct live_token t = { 0 };
			CLEANUP(free_ptr)
			char *text = mem_printf("%.*s%s%.*s%s", (int)before, "===", cases[i].begin, cases[i].len, cases[i].from, cases[i].end);
			size_t len = strlen(text);
			for (size_t from = 0; from <= before; from++)
				wrong += !live_token_find(text, len, from, &t) || t.off != before ||
					 !live_token_find_before(text, len, from, before + 1, &t) ||
					 live_token_find_before(text, len, from, before, &t);
			wrong += before > 1 && live_token_find_before(text, len, before + 1, len, &t);
		}
	is_int((int64_t)wrong, 0, "tokens are found in every place");
}

/* Lines as builds, package managers and version control print them: hashes, digests, addresses, versions, names. */
static void test_build_logs(void)
{
	size_t lines = 0, flagged = 0;
	struct live_token t;
	unsigned seed = 7;
	for (int i = 0; i < 20000; i++) {
		char h[65], line[400];
		for (size_t k = 0; k < 64; k++) {
			seed = seed * 1103515245 + 12345;
			h[k] = "0123456789abcdef"[seed >> 16 & 15];
		}
		h[64] = 0;
		switch (i % 10) {
		case 0: snprintf(line, sizeof line, "sha256:%s", h); break;
		case 1: snprintf(line, sizeof line, "commit %.40s", h); break;
		case 2: snprintf(line, sizeof line, "  CC    build/src/%.8s/x_%.4s.o", h, h + 8); break;
		case 3: snprintf(line, sizeof line, "added %.2s packages in %.1ss, cache key-%.12s", h, h + 2, h + 3); break;
		case 4: snprintf(line, sizeof line, "Downloading https://files.example/%.2s/%.2s/%.60s/pkg-1.%.2s.whl", h, h + 2, h + 4, h); break;
		case 5: snprintf(line, sizeof line, "integrity sha512-%.43sAA==", h); break;
		case 6: snprintf(line, sizeof line, "task-%.8s-%.4s-%.4s-%.4s-%.12s done", h, h + 8, h + 12, h + 16, h + 20); break;
		case 7: snprintf(line, sizeof line, "npm_config_cache=/x npm_package_%.20s", h); break;
		case 8: snprintf(line, sizeof line, "ok   unit/t_%.6s (%.2s)", h, h + 6); break;
		default: snprintf(line, sizeof line, "layer %.64s: Pull complete", h); break;
		}
		lines++;
		flagged += live_token_find(line, strlen(line), 0, &t);
	}
	ok(flagged * 1000 <= lines, "%zu of %zu lines of builds are flagged", flagged, lines);
}

/* What waits for more text, and what belongs to a token. */
static void test_pieces(void)
{
	static const char token[] = "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";
	static const char key[] = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest";
	struct live_token t = { 0 };
	size_t wrong = 0;
	for (size_t n = 1; n <= strlen(token); n++) {
		CLEANUP(free_ptr) char *line = mem_printf("x=%.*s", (int)n, token);
		wrong += live_token_pending(line, n + 2, 1) != n;
	}
	is_int((int64_t)wrong, 0, "each beginning of a token waits");
	is_int((int64_t)live_token_pending("x=ghp_a b", 9, 1), 0, "a blank ends it");
	is_int((int64_t)live_token_pending("log", 3, 1), 0, "the end of a word does not begin a token");
	is_int((int64_t)live_token_pending("a g", 3, 3), 0, "too little of a beginning does not wait");
	ok(live_token_find(key, strlen(key), 0, &t), "a private key is found");
	is_int((int64_t)live_token_whole(key, strlen(key), &t), (int64_t)(strlen(key) - strlen("\nrest")), "it reaches to its last line");
	is_int((int64_t)live_token_whole(key, 40, &t), 0, "which may not have come");
	is_int((int64_t)live_token_pending(key, 40, 1), 40, "then it waits");
	is_int((int64_t)live_token_pending(key, strlen(key), 1), 0, "text after a complete key does not wait");
}

int main(void)
{
	test_shapes();
	test_places();
	test_pieces();
	test_build_logs();
	return done_testing();
}
