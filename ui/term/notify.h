/* Notifies a user who is away: bell, desktop notification, window title.
 *
 * 1. One bell per pending action and at most one every 10 s; actions in between ring once after
 *    that. Coming back to the window arms it again.
 * 2. The notification is OSC 99 (kitty), 777 (foot, ghostty, wezterm, urxvt, VTE) or 9 (iTerm2), by
 *    the terminal's name in the environment; in tmux wrapped in its passthrough if that is on. Else
 *    the bell alone.
 * 3. Text is ours, or made ASCII without control characters; never a byte of a command. Pure
 *    except for its own state: writes nothing itself. */
#ifndef UI_NOTIFY_H
#define UI_NOTIFY_H

#include "base/buf.h"

enum notify_form { NOTIFY_BELL, NOTIFY_OSC9, NOTIFY_OSC99, NOTIFY_OSC777 };

struct notify {
	enum notify_form form;
	bool tmux, titles, quiet; /* quiet: no bell */
	bool focused, owed;
	int64_t rung_us; /* 0 = never, or armed again */
	size_t titled;	 /* the number in the title, +1; 0 = none set */
};

void notify_init(struct notify *n); /* from the environment */
void notify_focus(struct notify *n, bool in);
/* the terminal was given back meanwhile, and its title with it */
void notify_away(struct notify *n);
/* Something new is held. */
void notify_held(struct notify *n);
/* When notify_due has something to say (mono); INT64_MAX = not now. */
int64_t notify_next(const struct notify *n);
/* Appends what the terminal is to be sent. @waits: how many; @where: agent and session, may be
 * NULL. */
void notify_due(struct notify *n, size_t waits, const char *where, int64_t now_us, struct buf *out);
void notify_title(struct notify *n, size_t waits, struct buf *out);

#endif
