/* The console in parts: its loop (console.c), the sessions on its screen (console_sources.c), and
 * what takes the user off it for a while (console_suspend.c). */
#ifndef UI_CONSOLE_PRIV_H
#define UI_CONSOLE_PRIV_H

#include <poll.h>
#include <signal.h>

#include "ui/console.h"
#include "ui/term/notify.h"
#include "ui/term/tty.h"
#include "ui/frame/ui.h"

struct console {
	const struct console_opts *o;
	struct console_source from[CONSOLE_SOURCES];
	struct source *src[CONSOLE_SOURCES];
	struct act act[CONSOLE_SOURCES];
	size_t nr;
	/* the keyboard, sources, notes, more sessions, the terminal's output */
	struct pollfd poll[CONSOLE_SOURCES + 4];
	bool gone[CONSOLE_SOURCES];
	bool watched[CONSOLE_SOURCES]; /* its descriptor is of watch_file */
	/* mono: until then its file is looked at; 0 nobody has touched it since */
	int64_t leaves_us[CONSOLE_SOURCES];
	/* 1 that its supervisor has gone, 2 that it has ended, which may be read after that */
	char told[CONSOLE_SOURCES];
	struct ui ui;
	/* signals as they were: SIGWINCH and the like come only while we wait */
	sigset_t outside;
	int64_t frame_us;		   /* between two frames */
	int64_t drawn_us, read_us, key_us; /* when a frame was drawn, news read, a key came, last */
	struct notify notify;
	bool dirty, resized;
	struct buf note; /* of notes_fd: a line that has begun */
	bool taken;	 /* notes_fd has ended */
	bool told_saved;
	/* a user has pressed something and has seen no answer to it yet */
	bool pressed;
	bool slow; /* the terminal has not taken the last frame yet */
};

/* What is typed waits: who reads news stops for it. */
bool console_key_waits(void);

/* console_sources.c */
NODISCARD int console_open_sources(struct console *c, struct err *err);
void console_close_sources(struct console *c);
void console_more_sources(struct console *c); /* sessions that began while the console is open */
void console_pump(struct console *c, size_t i, bool readable);
/* another process has resumed a lost session */
void console_attach_again(struct console *c);
/* A session that has ended or was resumed elsewhere has its file in one part: merge, undo, and
 * resume wait for each reader that still has the file in two parts. */
void console_let_go(struct console *c);
void console_say_gone(struct console *c);

/* What a screen wanted done that takes the terminal. */
void console_suspend(struct console *c);

#endif
