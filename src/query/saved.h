/* Filters that a user has given a name ("@name"), in one small file of his: a name, a blank, the
 * filter, a line each. The console and the command line share it
 * ($XDG_STATE_HOME/sandglass/filters). */
#ifndef QUERY_SAVED_H
#define QUERY_SAVED_H

#include "query/filter.h"

struct saved_filters {
	struct saved_one {
		char *name, *text;
	} * one;
	size_t nr, cap;
};

void saved_load(struct saved_filters *f, const char *path); /* one that is not there holds none */
void saved_release(struct saved_filters *f);
void saved_put(struct saved_filters *f, const char *name, const char *text);
bool saved_remove(struct saved_filters *f, const char *name);
/* 0600; makes the directory */
NODISCARD int saved_store(const struct saved_filters *f, const char *path, struct err *err);
/* For filter_parse; borrows @f. */
struct filter_saved saved_lookup(struct saved_filters *f);

#endif
