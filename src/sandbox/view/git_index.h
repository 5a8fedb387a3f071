/* Git's index as bytes (gitformat-index(5), versions 2 to 4), read without opening a repository.
 * Any thread. */
#ifndef SANDBOX_VIEW_GIT_INDEX_H
#define SANDBOX_VIEW_GIT_INDEX_H

#include "base/buf.h"
#include "sandbox/view/git_place.h"

struct git_entry {
	const char *head; /* 40 bytes of times and numbers, the object's name, flags; borrowed */
	size_t head_len;
	const char *path; /* not terminated */
	size_t len;
};

/* Calls @fn for each entry in the order of the file; an entry of a split index that replaces
 * another one has no path. False: not an index, or a damaged one. @shared: the name of the shared
 * index in hexadecimal digits, empty if there is none; may be NULL. */
bool git_index_each(const char *in, size_t len, enum git_format format,
		    void (*fn)(void *self, const struct git_entry *e), void *self,
		    struct buf *shared);

/* The index of a place; of a split one the shared part, too, and then not in order. */
bool git_index_of(const struct git_place *p, void (*fn)(void *self, const struct git_entry *e),
		  void *self);

bool git_index_split(const struct git_place *p);

#endif
