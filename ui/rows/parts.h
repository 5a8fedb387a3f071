/* The parts of a sandbox's changes that are accepted or rejected separately: files and hunks, each
 * with its reviews. A review counts only for its content: other content is undecided.
 *
 * Reads the recording up to the cursor, so that all attached users, and replay, see the same. */
#ifndef UI_ROWS_PARTS_H
#define UI_ROWS_PARTS_H

#include "ui/rows/changes.h"

enum part_choice { PART_OPEN, PART_TAKE, PART_LEAVE };
#define PART_WHOLE UINT32_MAX

struct part {
	size_t file;   /* index of the change */
	uint32_t hunk; /* PART_WHOLE: the row of the file */
	bool alone;    /* a file without hunks of its own */
	/* of the file's diff with 3 lines of context: its heading, and lines behind that */
	size_t line, nr;
	uint32_t range[4]; /* lines before, lines in it: of the old content, of the new */
	enum part_choice choice;
	uint64_t said;	 /* seq of the newest word about its choice; 0 nobody said anything */
	const char *who; /* who said it; "" */
	int64_t ts_us;
	const char *text; /* what a user made of its lines; NULL */
	size_t text_len;
	const char *comment, *comment_by; /* newest; NULL */
};

/* All parts of @change (of @box), in order; in @a. Returns how many. */
size_t parts_list(struct source *s, uint64_t box, const struct change *change, size_t nr,
		  struct arena *a, struct part **out);
/* Words that mean exactly this part for pick, merge and approve: "src/a.c:OID@4,1+4,2=BASE64";
 * owned by @out. */
void part_word(const struct part *p, const struct change *c, struct buf *out);
/* The reason for a second look: "executable", "link out of the tree", "ci", ...; NULL none. */
const char *change_flag(struct source *s, const struct change *c);

/* A hunk as lines for an editor (" ", "-", "+" in front), and back: the edited bytes that
 * replace its old lines. False with @why if some of the original lines are missing. */
void part_edit_text(const struct text_diff *d, const struct part *p, struct buf *out);
bool part_edited(const struct text_diff *d, const struct part *p, const char *text, struct buf *out,
		 const char **why);
/* The same hunk with a user's own lines; false: it has none. */
bool part_own_diff(const struct text_diff *d, const struct part *p, struct arena *a,
		   struct text_diff *out);

#endif
