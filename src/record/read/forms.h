/* The ways in which the search index may hold some characters in lower case: SQLite's own folding
 * knows fewer letters than ours, the rest stands there as it was written. */
#ifndef RECORD_READ_FORMS_H
#define RECORD_READ_FORMS_H

#include "base/buf.h"

enum { FORMS_MAX = 8 };

struct forms {
	struct buf form[FORMS_MAX];
	size_t nr;
};

/* Of at most three characters; for bytes without upper and lower case: one. */
struct forms forms_of(const char *bytes, size_t len);
void forms_release(struct forms *f);

#endif
