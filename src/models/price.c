#include "models/price.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Two models must not share a row: known suffixes without a price are stripped from a name, and
 * the rest is compared as a whole. */
static const struct price price_table[] = {
#define PRICE(n, ...) { .name = n, __VA_ARGS__ },
#define CLAUDE(n, in, out, rd, geo)                                                                \
	PRICE(n, .base = { in, out, rd, (in)*1.25, (in)*2.0 }, .batch = 0.5, .us = geo)
#define CLAUDE_LONG(n, in, out, rd, from, lin, lout, lrd)                                          \
	PRICE(n, .base = { in, out, rd, (in)*1.25, (in)*2.0 }, .above = from,                      \
	      .over = { lin, lout, lrd, (lin)*1.25, (lin)*2.0 }, .batch = 0.5)
#define GPT(n, in, out, rd, prio)                                                                  \
	PRICE(n, .base = { in, out, rd, in, in }, .batch = 0.5, .priority = prio)
#define GPT_LONG(n, in, out, rd, prio)                                                             \
	PRICE(n, .base = { in, out, rd, in, in }, .above = 272000,                                 \
	      .over = { (in)*2.0, (out)*1.5, (rd)*2.0, (in)*2.0, (in)*2.0 }, .batch = 0.5,         \
	      .priority = prio)
#include "models/prices.def"
};

bool price_listed(const char *name, struct price *out)
{
	for (size_t i = 0; i < ARRAY_LEN(price_table); i++)
		if (!strcmp(price_table[i].name, name)) {
			*out = price_table[i];
			return true;
		}
	return false;
}

/* --- spellings -------------------------------------------------------------------------------- */

static size_t digits_at(const char *s)
{
	size_t n = 0;
	while (isdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* Does @s match @form whole? '#' is a digit, anything else itself. */
static bool has_form(const char *s, const char *form)
{
	for (; *s && *form; s++, form++)
		if (*form == '#' ? !isdigit((unsigned char)*s) : *form != *s)
			return false;
	return !*s && !*form;
}

static bool drop_tail(char *s, const char *form)
{
	size_t len = strlen(s), n = strlen(form);
	if (len <= n || !has_form(s + len - n, form))
		return false;
	s[len - n] = 0;
	return true;
}

/* "-v1:0" and "-v2" of Bedrock. */
static bool drop_version(char *s)
{
	char *at = strrchr(s, '-');
	if (!at || at[1] != 'v' || !digits_at(at + 2))
		return false;
	const char *rest = at + 2 + digits_at(at + 2);
	if (*rest == ':')
		rest += 1 + digits_at(rest + 1);
	if (*rest)
		return false;
	*at = 0;
	return true;
}

/* "anthropic:claude-x": the name of a provider; "x:free": a variant of a router, which has a price
 * of its own. */
static bool drop_provider(char *s)
{
	static const char *const known[] = { "anthropic", "openai",	"openai-chat", "gemini",
					     "google",	  "openrouter", "bedrock",     "vertex",
					     "vertex_ai", "azure" };
	char *colon = strchr(s, ':');
	for (size_t i = 0; colon && i < ARRAY_LEN(known); i++)
		if (strlen(known[i]) == (size_t)(colon - s) &&
		    !strncmp(s, known[i], strlen(known[i]))) {
			memmove(s, colon + 1, strlen(colon + 1) + 1);
			return true;
		}
	return false;
}

static bool drop_front(char *s)
{
	char *slash = strrchr(s, '/'), *at = strstr(s, "anthropic.");
	if (slash) {
		memmove(s, slash + 1, strlen(slash + 1) + 1);
		return true;
	}
	if (at) { /* "us.anthropic.claude-x": Bedrock */
		memmove(s, at + 10, strlen(at + 10) + 1);
		return true;
	}
	return false;
}

static bool drop_end(char *s)
{
	static const char *const forms[] = { "[1m]",	    ":beta",	      ":thinking",
					     ":nitro",	    ":floor",	      ":extended",
					     ":exacto",	    "@default",	      "@latest",
					     "-latest",	    "@########",      "-########",
					     "-####-##-##", "-preview-##-##", "-preview-##-####" };
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (drop_tail(s, forms[i]))
			return true;
	if (!strncmp(s, "gemini-", 7))
		return drop_tail(s, "-00#") || drop_tail(s, "-preview");
	return drop_version(s);
}

/* "claude-haiku-4.5" as routers write it. */
static bool dots_to_dashes(char *s)
{
	bool changed = false;
	if (strncmp(s, "claude-", 7) != 0)
		return false;
	for (; *s; s++)
		if (*s == '.') {
			*s = '-';
			changed = true;
		}
	return changed;
}

bool price_names(const char *model, price_name_fn *fn, void *self)
{
	CLEANUP(free_ptr) char *s = mem_strdup(model);
	if (fn(self, s))
		return true;
	for (char *p = s; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (strcmp(s, model) != 0 && fn(self, s))
		return true;
	while (drop_provider(s) || drop_front(s) || dots_to_dashes(s) || drop_end(s))
		if (fn(self, s))
			return true;
	return false;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static double rate_of(const json_t *usd, const char *field, double otherwise)
{
	const json_t *v = json_object_get(usd, field);
	return json_is_number(v) ? json_number_value(v) : otherwise;
}

static struct price_rates rates_of(const json_t *usd, const struct price_rates *otherwise)
{
	struct price_rates r = *otherwise;
	bool own = json_is_number(json_object_get(usd, "input"));
	r.input = rate_of(usd, "input", r.input);
	r.output = rate_of(usd, "output", own && r.output <= 0 ? r.input : r.output);
	r.read = rate_of(usd, "read", own ? r.input : r.read);
	r.write = rate_of(usd, "write", own ? r.input : r.write);
	r.write_1h = rate_of(usd, "write_1h",
			     json_object_get(usd, "write") ? r.write * 1.6
			     : own			   ? r.input
							   : r.write_1h);
	return r;
}

bool price_from_json(const json_t *usd, struct price *out)
{
	const json_t *over = json_object_get(usd, "long");
	const struct price_rates none = { 0 };
	if (!json_is_number(json_object_get(usd, "input")))
		return false;
	*out = (struct price){ .base = rates_of(usd, &none),
			       .above = json_int(over, "above", 0),
			       .batch = rate_of(usd, "batch", 0.5),
			       .priority = rate_of(usd, "priority", 0),
			       .us = rate_of(usd, "us", 0) };
	out->over = rates_of(over, &out->base);
	out->image_in = rate_of(usd, "image_in", 0);
	out->image_out = rate_of(usd, "image_out", 0);
	return true;
}

/* --- one call --------------------------------------------------------------------------------- */

static int64_t tokens_of(const json_t *usage, const char *key, int64_t most)
{
	int64_t n = json_int(usage, key, 0);
	return n < 0 ? 0 : n < most ? n : most;
}

/* 0: no price is known for it. */
static double factor_of(const struct price *p, const json_t *usage)
{
	const char *tier = json_str(usage, "tier", "standard");
	double f = !strcmp(tier, "batch") || !strcmp(tier, "flex") ? p->batch
		   : !strcmp(tier, "priority")			   ? p->priority
								   : 1;
	if (!strcmp(json_str(usage, "geo", ""), "us") && p->us > 0)
		f *= p->us;
	return f;
}

int64_t price_cost(const struct price *p, const json_t *usage)
{
	int64_t in = tokens_of(usage, "in", INT64_MAX), out = tokens_of(usage, "out", INT64_MAX);
	int64_t read = tokens_of(usage, "cached", in),
		written = tokens_of(usage, "written", in - read);
	int64_t hour = tokens_of(usage, "written_1h", written), plain = in - read - written;
	int64_t seen = tokens_of(usage, "image_in", plain),
		drawn = tokens_of(usage, "image_out", out);
	const struct price_rates *r = p->above && in > p->above ? &p->over : &p->base;
	double factor = factor_of(p, usage);
	if (json_flag(usage, "unknown", false) || factor <= 0)
		return -1;
	double sum = (double)(plain - seen) * r->input +
		     (double)seen * (p->image_in > 0 ? p->image_in : r->input) +
		     (double)read * r->read + (double)(written - hour) * r->write +
		     (double)hour * r->write_1h + (double)(out - drawn) * r->output +
		     (double)drawn * (p->image_out > 0 ? p->image_out : r->output);
	return (int64_t)(sum * factor + 0.5);
}
