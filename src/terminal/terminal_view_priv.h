/* Between the files of an attached terminal. terminal_view.c: attaching, output, the recording, and
 * the end. view_overlay.c: the overlay. */
#ifndef TERMINAL_TERMINAL_VIEW_PRIV_H
#define TERMINAL_TERMINAL_VIEW_PRIV_H

#include <sys/ioctl.h>

#include "terminal/overlay.h"
#include "terminal/prefix_keys.h"
#include "terminal/screen_model.h"
#include "terminal/terminal_view.h"
#include "ui/term/modes.h"

struct attached_view {
	const struct terminal_use *u;
	struct control_client *c;
	struct feed *f;
	struct modes inner, opened; /* the program's; those when the overlay was opened */
	struct screen_model *screen;
	struct prefix_keys keys;
	struct winsize size;
	json_t *state;
	struct buf early; /* came before the screen was there */
	char name[64], note[256];
	uint64_t agent, box, sure;  /* sure: an action of high risk that 'y' was typed for once */
	uint64_t deciding, copying; /* replies that are awaited */
	char *put_path;
	struct buf typed; /* a path, or the reason for which @denying is denied (0: a path) */
	uint64_t denying;
	bool ready, over, overlay, closing, queue, help, typing, title, titled, lost;
	bool news;    /* the recording has more events */
	bool decided; /* here, since the overlay was opened */
	bool detached, ended, taken, stopped;
	int status, signals;
};

/* terminal_view.c */
void view_write(struct attached_view *v, const void *bytes, size_t len);
void view_write_buf(struct attached_view *v, const struct buf *b);
json_t *view_words(const char *verb, uint64_t id); /* [verb, "id"]; owned */
/* Makes the program paint all of its screen, which it does only when its size changes. */
void view_jiggle(struct attached_view *v);
void view_repaint(struct attached_view *v); /* from the screen's model */

/* view_overlay.c */
struct overlay_facts view_overlay_facts(const struct attached_view *v); /* borrowed from @v */
void view_overlay_show(struct attached_view *v);
void view_overlay_open(struct attached_view *v);
void view_overlay_close(struct attached_view *v); /* at the end of the program's current sequence */
void view_overlay_close_now(struct attached_view *v);
void view_overlay_typed(struct attached_view *v, const char *s, size_t n);
/* News has come: after your answer the program has the terminal again, unless more of it is
 * pending. */
void view_overlay_rest(struct attached_view *v);
/* Sets the text of the overlay's note row. */
void view_note(struct attached_view *v, const char *fmt, ...) PRINTF(2, 3);

#endif
