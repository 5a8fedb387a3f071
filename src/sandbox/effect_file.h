/* Reading, writing and editing files of a box as actions (through the driver, which goes through
 * the keeper). */
#ifndef SANDBOX_EFFECT_FILE_H
#define SANDBOX_EFFECT_FILE_H

#include "sandbox/effect_priv.h"

/* Starts an action of kind read (also tool "glob" with args {"glob":pattern}), write, or edit (args
 * {"old","new"}). The bytes read go out as output stream 1. */
void file_start(struct slot *s, struct action *a);
void file_cancel(struct slot *s, struct action *a);

/* The place of @old in @text: 1 and its offset if exactly once, 0 if never, 2 if more than once. */
int edit_find(const char *text, size_t text_len, const char *old, size_t old_len, size_t *at_out);
/* All bytes of the file that a driver's read of BOX_FILE_MAX has answered with. ERR_FULL: it has
 * more. */
NODISCARD int file_whole(const json_t *result, const char *path, struct buf *out, struct err *err);
/* The result of an edit (args {"old","new"}) of the bytes of @path. ERR_INVALID: the old text
 * does not occur exactly once. */
struct edit_made {
	struct buf text; /* the whole content; owned */
	int line, removed, added;
};
NODISCARD int edit_make(const char *path, const struct buf *was, const json_t *args,
			struct edit_made *out, struct err *err);
/* The line of @text that is most like the first line of @old, for an error that helps: appends
 * it. */
void edit_near(const char *text, size_t text_len, const char *old, size_t old_len, struct buf *out);

#endif
