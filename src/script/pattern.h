/* Lua patterns (reference manual 6.4.1) with a bound on the work: the matcher of the stock library
 * can run for years on forty characters, and nothing inside the process can stop it.
 *
 * A pattern is compiled to a list of items first; each single-character item is a set of 256
 * bits. */
#ifndef SCRIPT_PATTERN_H
#define SCRIPT_PATTERN_H

#include "base/compat.h"

enum { PATTERN_CAPTURES = 32, PATTERN_MAX = 1024 };
enum { CAPTURE_OPEN = -1, CAPTURE_PLACE = -2 };

enum item_kind {
	ITEM_END,
	ITEM_SET,
	ITEM_OPEN,
	ITEM_PLACE,
	ITEM_CLOSE,
	ITEM_TAIL,
	ITEM_BALANCE,
	ITEM_FRONTIER,
	ITEM_BACK
};

struct item {
	uint64_t set[4];
	enum item_kind kind;
	char repeat;		/* 0 ? * + - */
	unsigned char from, to; /* balance */
	int capture;		/* back reference */
};

struct match {
	const char *text, *text_end;
	int nr_captures;
	struct {
		const char *at;
		ptrdiff_t len; /* or CAPTURE_* */
	} capture[PATTERN_CAPTURES];
	uint64_t steps; /* left; 0 = too costly */
	const char *fault;
};

/* Fills @items (room for @len + 1). Returns NULL, or what is wrong. A leading ^ is the caller's. */
const char *pattern_compile(const char *pattern, size_t len, struct item *items);

/* Matches at @at exactly. Returns the end or NULL; m->fault is set when the pattern or the cost was
 * at fault. */
const char *pattern_match(struct match *m, const struct item *items, const char *at);

#endif
