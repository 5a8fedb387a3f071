/* "Not in this sandbox" and "not in this recording": the one place that words files that are left
 * out, hidden, or cut.
 *
 * A notice is a JSON object, the body of a box.notice event: {"not_in": "sandbox" or "recording",
 * "what", "repo", "paths" [bytes], "count", "why", "text", "fix"}. @what is one of the words below;
 * paths are relative to the repository, at most NOTICE_PATHS of them, "count" is how many there
 * are. "text" is one line for users, without control characters.
 *
 * A driver reports facts in the result of open (layers_describe): masked[], git_limits[], mounts[],
 * unreadable[], history[]. A limit of a git layout is a line in git_limits[] (struct git_view,
 * notes), and needs nothing else. A snapshot has unlisted[], deep[], and unread[]. The code that
 * records one of these calls notices_of_ready or notices_of_snapshot. */
#ifndef SANDBOX_NOTICE_H
#define SANDBOX_NOTICE_H

#include "base/json.h"

enum notice_place { NOTICE_SANDBOX, NOTICE_RECORDING };
enum notice_kind {
	NOTICE_MASKED,	   /* hidden, because it looks like a secret or is not the repository's */
	NOTICE_CLEANED,	   /* shown without credentials */
	NOTICE_MOUNT,	   /* mounted below the repository: an empty or other directory inside */
	NOTICE_UNREADABLE, /* the sandbox's user, or ours, may not read it */
	NOTICE_DEEP,	   /* below more directories than are looked at */
	NOTICE_LAYOUT,	   /* a layout of git with limits: @why is the sentence */
	/* not left out: hidden in the work tree, and readable from git's history */
	NOTICE_HISTORY,
	NOTICE_SNAPSHOT, /* the last look at the files failed */
};
enum { NOTICE_PATHS = 20 };

/* Adds one to @list, an array of notices, or to the notice of the same place, kind, repository and
 * reason that is there. */
void notice_add(json_t *list, enum notice_place in, enum notice_kind kind, const char *repo,
		const json_t *path, const char *why);
/* Those that follow from what open answered (box.ready). Returns owned; each has its text. */
json_t *notices_of_ready(const json_t *ready);
/* Those that follow from the body of a snapshot.taken. Returns owned. */
json_t *notices_of_snapshot(const json_t *taken);
/* Fills in text and fix of those in @list. */
void notices_word(json_t *list);
/* Whether two say the same. */
bool notice_same(const json_t *a, const json_t *b);

#endif
