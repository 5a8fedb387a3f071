/* Prices of calls: usage as providers report it against the price pages of 2026-11-20, and every spelling of a
 * model. The amounts are computed by hand from the pages, not from prices.def. */
#include "models/price.h"

#include <string.h>

#include "base/mem.h"

#include "../tap.h"

static const struct {
	const char *model, *usage;
	int64_t uusd; /* -1: unknown */
} call[] = {
	{ "claude-haiku-4-5", "{\"in\":1000010,\"out\":20,\"written\":1000000,\"written_1h\":1000000}", 2000110 },
	{ "claude-haiku-4-5", "{\"in\":1000010,\"out\":20,\"written\":1000000}", 1250110 },
	{ "claude-haiku-4-5-20251001", "{\"in\":1000,\"out\":100}", 1500 },
	{ "claude-haiku-4-5@20251001", "{\"in\":1000,\"out\":100}", 1500 },
	{ "anthropic/claude-haiku-4.5", "{\"in\":1000,\"out\":100}", 1500 },
	{ "us.anthropic.claude-haiku-4-5-20251001-v1:0", "{\"in\":1000,\"out\":100}", 1500 },
	{ "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "{\"in\":1000,\"out\":100}", 4500 },
	{ "publishers/anthropic/models/claude-opus-4-1@20250805", "{\"in\":1000,\"out\":100}", 22500 },
	{ "claude-3-5-haiku-latest", "{\"in\":1000,\"out\":100}", 1200 },
	{ "claude-sonnet-4-5[1m]", "{\"in\":200000,\"out\":1000}", 615000 },
	{ "claude-sonnet-4-5[1m]", "{\"in\":200001,\"out\":1000}", 1222506 },
	{ "claude-sonnet-4-20250514", "{\"in\":300000,\"out\":1000,\"cached\":250000,\"written\":40000,\"written_1h\":10000}", 577500 },
	{ "claude-haiku-5-5", "{\"in\":100000,\"out\":1000,\"cached\":50000}", 6000 },
	{ "claude-haiku-5-5", "{\"in\":100001,\"out\":1000,\"cached\":50000}", 30001 },
	{ "claude-sonnet-5-5", "{\"in\":12345,\"out\":678,\"cached\":10000,\"written\":2000}", 13470 },
	{ "claude-opus-5-5", "{\"in\":50000,\"out\":4000,\"cached\":45000,\"written\":5000,\"written_1h\":5000}", 129000 },
	{ "claude-opus-4-5-20251101", "{\"in\":50000,\"out\":4000,\"cached\":45000}", 147500 },
	{ "claude-opus-4-6", "{\"in\":1000,\"out\":100,\"geo\":\"us\"}", 8250 },
	{ "claude-opus-4-5", "{\"in\":1000,\"out\":100,\"geo\":\"us\"}", 7500 },
	{ "claude-sonnet-5", "{\"in\":1000000,\"out\":100000,\"tier\":\"batch\"}", 1500000 },
	{ "claude-fable-5-1", "{\"in\":100000,\"out\":100,\"cached\":99000}", 39750 },
	{ "claude-3-haiku-20240307", "{\"in\":100000,\"out\":1000,\"cached\":10000,\"written\":10000}", 24550 },
	{ "claude-3-7-sonnet-latest", "{\"in\":1000,\"out\":1000}", 18000 },
	{ "gpt-5-2025-08-07", "{\"in\":10000,\"out\":1000,\"cached\":8000}", 13500 },
	{ "gpt-5-mini", "{\"in\":10000,\"out\":1000,\"cached\":8000,\"tier\":\"flex\"}", 1350 },
	{ "gpt-5-mini", "{\"in\":10000,\"out\":1000,\"tier\":\"priority\"}", 8100 },
	{ "openai/gpt-5.1", "{\"in\":10000,\"out\":1000}", 22500 },
	{ "gpt-5.5", "{\"in\":272000,\"out\":1000}", 1390000 },
	{ "gpt-5.5", "{\"in\":272001,\"out\":1000,\"cached\":272000}", 317010 },
	{ "gpt-5.4", "{\"in\":400000,\"out\":2000,\"tier\":\"batch\"}", 1022500 },
	{ "gpt-4.1-mini-2025-04-14", "{\"in\":1000000,\"out\":0,\"cached\":1000000}", 100000 },
	{ "gpt-4o", "{\"in\":1000,\"out\":1000}", 12500 },
	{ "gpt-4o-2024-05-13", "{\"in\":1000,\"out\":1000}", 20000 },
	{ "o4-mini-2025-04-16", "{\"in\":1000,\"out\":1000,\"cached\":500}", 5088 },
	{ "gpt-image-1", "{\"in\":1100,\"out\":4160,\"image_in\":1000,\"image_out\":4160}", 176900 },
	{ "gemini-2.5-pro", "{\"in\":200000,\"out\":1000,\"cached\":100000}", 147500 },
	{ "models/gemini-2.5-pro-preview-06-05", "{\"in\":200001,\"out\":1000,\"cached\":100000}", 290003 },
	{ "gemini-2.5-flash-preview-09-2025", "{\"in\":1000000,\"out\":1000}", 302500 },
	{ "gemini-2.5-flash-image", "{\"in\":1000,\"out\":1300,\"image_out\":1290}", 39025 },
	{ "google/gemini-3-pro-preview", "{\"in\":250000,\"out\":1000}", 1018000 },
	{ "gemini-2.5-flash-lite-001", "{\"in\":1000000,\"out\":1000000,\"tier\":\"batch\"}", 250000 },
	{ "claude-haiku-9", "{\"in\":1}", -1 },
	{ "gpt-5-turbo", "{\"in\":1}", -1 },
	{ "openrouter/qwen/qwen3-coder:free", "{\"in\":1}", -1 },
	{ "gpt-4.1-mini:free", "{\"in\":1}", -1 },
	{ "my-claude-haiku-4-5", "{\"in\":1}", -1 },
	{ "claude-haiku-4-5", "{\"in\":5,\"tier\":\"priority\"}", -1 },
	{ "gpt-5", "{\"unknown\":true}", -1 },
	{ "", "{}", -1 },
};

static bool look_up(void *self, const char *name)
{
	return price_listed(name, self);
}

static json_t *parsed(const char *text)
{
	struct err err = ERR_INIT;
	return json_parse(text, strlen(text), "test", &err);
}

static int64_t cost(const char *usd, const char *usage)
{
	struct price p;
	CLEANUP(json_release) json_t *row = parsed(usd), *u = parsed(usage);
	return price_from_json(row, &p) ? price_cost(&p, u) : -1;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(call); i++) {
		struct price p;
		CLEANUP(json_release) json_t *u = parsed(call[i].usage);
		int64_t got = price_names(call[i].model, look_up, &p) ? price_cost(&p, u) : -1;
		ok(got == call[i].uusd, "%s %s: %lld, want %lld", call[i].model, call[i].usage, (long long)got, (long long)call[i].uusd);
	}
	ok(cost("{\"input\":2,\"output\":10}", "{\"in\":10,\"out\":1,\"cached\":4,\"written\":2}") == 30, "without more, a cache costs as input");
	ok(cost("{\"input\":2,\"output\":10,\"write\":2.5}", "{\"in\":10,\"written\":10,\"written_1h\":10}") == 40, "an hour is 1.6 times the write");
	ok(cost("{\"input\":2,\"write\":2.5,\"write_1h\":7}", "{\"in\":10,\"written\":10,\"written_1h\":4}") == 43, "or what you say");
	ok(cost("{\"input\":1,\"long\":{\"above\":5,\"input\":3}}", "{\"in\":5}") == 5, "a request up to the limit");
	ok(cost("{\"input\":1,\"long\":{\"above\":5,\"input\":3}}", "{\"in\":6}") == 18, "and above it, the whole of it");
	ok(cost("{\"output\":1}", "{\"in\":6}") == -1, "without a price of input there is none");
	ok(cost("{\"input\":0,\"output\":0}", "{\"in\":6,\"out\":6}") == 0, "a price of 0 is one");
	return done_testing();
}
