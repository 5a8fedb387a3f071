/* Which paths a repository ignores, by its .gitignore files and .git/info/exclude (gitignore(5)),
 * and which paths are hash only by configuration. One thread at a time. */
#ifndef SANDBOX_WORKSPACE_IGNORE_H
#define SANDBOX_WORKSPACE_IGNORE_H

#include "base/buf.h"

struct ignore;

/* @lower: root of the base (borrowed; -1 = no rules of a repository). @more: further patterns in
 * the same syntax, as if in a file at the root (copied). */
struct ignore *ignore_new(int lower, const char *const *more, size_t nr_more);
void ignore_free(struct ignore **ig);
/* True if @path (relative) is ignored. Only the path itself is judged: a caller that walks asks for
 * each directory on the way and takes an ignored directory for an answer for all below. */
bool ignore_match(struct ignore *ig, const char *path, size_t len, bool dir);
/* The same, with all the directories above it judged first. */
bool ignore_covers(struct ignore *ig, const char *path, size_t len, bool dir);
/* True if git tracks @path (the base's .git/index); ignored and tracked is not ignored. */
bool ignore_tracked(struct ignore *ig, const char *path, size_t len);

/* gitignore(5)'s pattern against a name or path: * ? [..] within a component, ** over components.
 * Pure. */
bool ignore_glob(const char *pattern, size_t pattern_len, const char *text, size_t len);

#endif
