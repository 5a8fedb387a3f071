/* The price of a model call, to the millionth of a dollar. Prices are US dollars for a million
 * tokens.
 *
 * The table (prices.def) holds list prices; `prices` of the configuration and a plugin's own come
 * before it (provider.h). A price as JSON: {"input","output","read" (from a cache; default:
 * input),"write" (to a cache for 5 minutes; default: input), "write_1h" (for an hour; default: 1.6
 * x write),"long":{"above" (tokens of the whole request),"input","output","read","write",
 * "write_1h"},"batch" (factor; default 0.5),"priority" (factor; without it that tier has no known
 * price),"us" (factor for inference in the US),"image_in","image_out" (tokens of images; default:
 * input, output)}. Any thread. */
#ifndef MODELS_PRICE_H
#define MODELS_PRICE_H

#include "base/json.h"

struct price_rates {
	double input, output, read, write, write_1h;
};
struct price {
	const char *name;	       /* of the table; NULL: from JSON */
	struct price_rates base, over; /* over: for a request of more than @above tokens */
	int64_t above;		       /* 0: there is one price */
	double batch, priority, us;    /* factors; 0: not known */
	double image_in, image_out;
};

/* Calls @fn with each spelling that @model may have in a table, the most exact first, until it
 * returns true: without a vendor's prefix (OpenRouter, Bedrock, Vertex), a date, "-latest", "[1m]".
 * Two models never share a spelling. False: none was taken. */
typedef bool price_name_fn(void *self, const char *name);
bool price_names(const char *model, price_name_fn *fn, void *self);

/* The list price of exactly this name; false: the table has none. */
bool price_listed(const char *name, struct price *out);
/* False: @usd names no price of input. */
bool price_from_json(const json_t *usd, struct price *out);

/* Millionths of a dollar; -1: unknown. @usage: in (all that was read, with cached and written),
 * out, cached, written (with written_1h), written_1h, image_in, image_out (both within in and out),
 * tier ("standard", "batch", "flex", "priority"), geo; unknown: true when the provider did not
 * say. */
int64_t price_cost(const struct price *p, const json_t *usage);

#endif
