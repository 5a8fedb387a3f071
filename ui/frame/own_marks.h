/* A reader's own bookmarks: a letter, a text, or both at an event. Reading never writes to a
 * session file. So these bookmarks are in a small file of the reader, one per session
 * ($XDG_STATE_HOME/sandglass/marks/SESSION.jsonl: a line {"seq":188,"key":"d","text":"why this?"}
 * per bookmark). A copy of the session elsewhere shows the same ones. The command "mark" records a
 * bookmark in a running session for all users.
 *
 * Without a path they live as long as the program. */
#ifndef UI_FRAME_OWN_MARKS_H
#define UI_FRAME_OWN_MARKS_H

#include "base/err.h"
#include "base/mem.h"

enum { OWN_MARKS_MAX = 1000, OWN_MARK_TEXT = 400 };

struct own_mark {
	uint64_t seq;
	char key;   /* letter or digit; 0 none */
	char *text; /* "" none; as it was typed: to be sanitized where it is shown */
};
struct own_marks {
	char *path;	       /* NULL: they are not kept */
	struct own_mark *mark; /* ascending by seq */
	size_t nr, cap;
};

/* Returns owned: where the marks of session @id lie below @folder; NULL when @id is not a name that
 * can be a file's. */
char *own_marks_path(const char *folder, const char *id);
/* What is kept at @path (takes it; NULL none). What cannot be read there is left out. */
void own_marks_load(struct own_marks *m, char *path);
void own_marks_release(struct own_marks *m);
/* A letter stands at one event at a time; without one (@key 0) it is the event's mark, and takes
 * the place of the one before. ERR_FULL, or the file could not be written: then it holds until the
 * end of the program. */
NODISCARD int own_marks_set(struct own_marks *m, uint64_t seq, char key, const char *text,
			    struct err *err);
/* ERR_NOENT */
NODISCARD int own_marks_remove(struct own_marks *m, uint64_t seq, char key, struct err *err);
const struct own_mark *own_marks_find(const struct own_marks *m, char key); /* NULL */
/* The next one behind (@by 1) or before (-1) @seq; 0 none. */
uint64_t own_marks_next(const struct own_marks *m, uint64_t seq, int by);

#endif
