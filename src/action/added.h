/* Rules that users add from a held action: which rule, its line of Lua, and its place in
 * .sandglass/added.lua.
 *
 *  1. A rule names the kind and one pattern (policy.h, struct waiver); an allow also names the asks
 *  that it answers
 *     ("lifts"), so that a stricter rule that is written later still asks.
 *  2. The file is a policy file like any other, made by us, open to be edited: a new rule goes
 *  before its last "}".
 *     Where that place is not certain, nothing is written.
 * No I/O. */
#ifndef ACTION_ADDED_H
#define ACTION_ADDED_H

#include "action/gate.h"

#define ADDED_FILE ".sandglass/added.lua"

/* The rule that would let actions like the held @action through (VERDICT_ALLOW) or refuse them
 * (VERDICT_DENY), and what the policy would then say about this very one:
 * {"rule":{"verdict","kind","cmd"|"path"|"host"|"tool","lifts":[..]}, "then":"allow","by":"name of
 * the rule that still decides","tried","matched","denied","actions":[..],"wide","others":[..]}.
 * ERR_PARSE for a pattern that cannot be one, ERR_NOENT when the action is not held. Returns owned
 * or NULL. */
json_t *gate_rule(struct gate *g, uint64_t action, enum verdict verdict, const char *pattern,
		  struct err *err);

/* A name for @rule that @file does not have: "added-git-push", "added-git-push-2". Returns
 * owned. */
char *added_name(const json_t *rule, const char *file);
/* The rule as Lua: "p.allow \"added-git-push\" { kind = \"exec\", cmd = \"git push *\", lifts =
 * \"no-push\" }". */
void added_text(const json_t *rule, const char *name, const char *why, struct buf *out);
/* The whole file @file (NULL or empty: a new one) with @rule in it, after the line of comment
 * @comment (one line, any bytes; what cannot be printed is left out). *line: where the rule stands.
 * ERR_INVALID when its end is not found. */
NODISCARD int added_insert(const char *file, const char *comment, const char *rule, struct buf *out,
			   int *line, struct err *err);

#endif
