/* The console without a terminal: sessions, the stack of views, prompts, verbs, one draw. The
 * console program feeds it keys and time (console.c), tests and dumps do the same without a
 * terminal, so what they show is what users see.
 *
 * One thread. ui_sync takes in events, ui_key takes a key, ui_draw makes the grid; nothing is drawn
 * in between. */
#ifndef UI_FRAME_UI_H
#define UI_FRAME_UI_H

#include "base/hash.h"
#include "ui/frame/act.h"
#include "ui/model/source.h"
#include "ui/frame/view.h"

enum { UI_VIEWS = 8, UI_MIN_COLS = 60, UI_MIN_ROWS = 16 };

struct prompt {
	bool active, choice;   /* choice: one key out of keys ends it */
	bool by_hand;	       /* what is pasted does not count */
	bool away;	       /* its text is in the editor: not active until it is back */
	int64_t dead_until_us; /* mono: no key but Esc before then */
	char *label, *keys;
	struct buf text;
	/* @text NULL: given up. For a choice it is the key. */
	void (*done)(struct ui *ui, const char *text);
	struct subject on;
	size_t at;		      /* where the next character goes */
	const struct prompt_ops *ops; /* prompt.h; NULL: a plain line */
	size_t recalled; /* how far back in the history the text is from; 0 it is not */
	char *draft;
};
struct finder;
struct verifying;
struct coach;
struct browse;
struct claimed;

/* A number that would move with every line of output, and cost as many bytes as a short line: it is
 * shown anew at once when it is of something else, a second after it has come to rest, else every
 * few seconds. */
struct calm {
	uint64_t of, shown, value;
	int64_t at_us, came_us; /* mono: shown, moved last; at_us 0: it does not stay back */
};

/* Lines that are chosen (select.h): from one to another, as looked.at. */
struct select {
	bool on;
	unsigned shown; /* nr_shown of the view that they are in */
	uint64_t from, at;
	struct hash print; /* of the lines of a text between them, when they were chosen */
};

/* What the program is asked to do with the terminal; the text is in wish_text. */
enum ui_wish {
	WISH_NONE,
	WISH_EDIT,
	WISH_LOOK,
	WISH_PAGE,
	WISH_PLAIN,
	WISH_COPY,
	WISH_SHELL,
	WISH_TERMINAL,
	WISH_HOST,
	WISH_SESSION, /* "ID" or "ID EVENT": show it on this terminal */
	WISH_COMPARE
};

struct ui {
	struct source **src; /* borrowed */
	size_t nr_src;
	const struct act *act; /* one per source; its command NULL = read-only */
	bool trust;	       /* commands of the host may be run from here */
	bool replay;	       /* a record: keys move the cursor, nothing is sent */
	uint64_t limit;	       /* replay: seq of the cursor; 0 the end */
	bool playing;
	struct transport {
		int speed;		  /* index into transport.c's table */
		bool by_event;		  /* one event per 0.3 s, whatever the clock said */
		int64_t tick_us, next_us; /* mono: played up to; continues at */
		int64_t left_us;	  /* of the playing clock, not used up yet */
		char digits[8];		  /* "50" of "50%" */
		/* what the timeline's first lane counts: index into ruler.c's table */
		int lane;
	} transport;
	struct grid grid;
	struct view stack[UI_VIEWS];
	size_t depth;
	unsigned nr_shown; /* grows with every change of the top screen */
	struct prompt prompt;
	struct finder *find;	     /* filters, search, marks, history: finder.h */
	struct claimed *claimed;     /* owned; NULL: claims can't be checked here */
	const struct browse *browse; /* borrowed; NULL: other sessions can't be listed here */
	struct coach *coach;	     /* owned; NULL: no hints (coach.h) */
	int64_t now_us;		     /* wall: what ages are counted to */
	int64_t mono_us;	     /* of the last key or tick */
	enum role message_role;
	uint64_t nr_keys, message_key; /* keys so far; when the message was said */
	char *message;
	uint64_t nr_messages; /* so far: tells a message from the next one */
	/* what waits newest, in the place of a message that is empty; NULL nothing */
	char *waits;
	/* what the top view has found is of a filter that has gone: it looks again before a key */
	bool stale;
	bool quit, redraw, bell; /* wishes of the program; it clears redraw and bell */
	bool flush;		 /* throw typed-ahead keys away */
	/* a text to hand to $EDITOR; edited comes back through ui_edited */
	char *edit;
	void (*edited)(struct ui *ui, const char *text);
	int64_t dead_us;       /* how long a question that opens takes no keys */
	int64_t dead_until_us; /* mono: no key but Esc before then */
	int64_t wake_us;       /* a view wants to be drawn again then (mono); 0 no */
	size_t nr_held_seen;
	/* all that was there when it began has been read: what waits from here on is news */
	bool met;
	bool stopped;	/* every session took your stop: they are ending */
	bool no_next;	/* after a decision the next pending approval doesn't open */
	bool popup;	/* pending actions open their screen: only if the user configured this */
	unsigned count; /* a number typed before a key; 0 none */
	/* broadcast.c: the newest of those that wait for answers before the console goes; owned */
	struct leaving *leaving;
	struct select select;
	/* owned: what the screen "verify" shows, of verifying_source; NULL nothing was begun */
	struct verifying *verifying;
	size_t verifying_source;
	int64_t (*clock)(void); /* mono: the clock for work beside the console */
	struct calm counted;	/* the number of events as it is shown */
	int64_t slice_us;	/* how long one ui_sync may read; 0 until all is there */
	size_t first_src;	/* read first in the next */
	enum ui_wish wish;	/* the program clears it and takes wish_text */
	struct buf wish_text;
	/* ":set theme="; NULL without a terminal */
	int (*theme)(void *self, const char *name, struct err *err);
	void *theme_self;
	char theme_name[32];
	bool ascii_only;	/* the terminal shows nothing else */
	bool no_mouse, grabbed; /* grabbed: a view follows the mouse */
};

void ui_init(struct ui *ui, struct source **src, const struct act *act, size_t nr, int rows,
	     int cols, bool ascii);
void ui_release(struct ui *ui);
/* Reads the newly committed events. True if there were any. */
bool ui_sync(struct ui *ui);
/* The screen shows a first picture (source.h); ui_sync continues. */
bool ui_reading(const struct ui *ui);
bool ui_growing(const struct ui *ui); /* more has come since ui_sync before the last */
void ui_key(struct ui *ui, uint32_t key);
void ui_mouse(struct ui *ui, struct mouse m); /* mouse.c */
void ui_draw(struct ui *ui);
void small_paint(const struct ui *ui, struct area a); /* small.c: below UI_MIN_ROWS, UI_MIN_COLS */
void ui_resize(struct ui *ui, int rows, int cols);
/* The time of the next change without a key (mono_us), INT64_MAX = never. */
int64_t ui_next(const struct ui *ui);
void ui_edited(struct ui *ui, const char *text); /* NULL: the editor failed or nothing changed */

void ui_fresh(struct ui *ui); /* before anything reads what the top view has found */
void ui_open(struct ui *ui, const char *view, const struct subject *on);
void ui_back(struct ui *ui);
/* The sessions of the directory in the place of the fleet, as the first screen. */
void ui_begin_browse(struct ui *ui, const struct browse *browse);
struct view *ui_top(struct ui *ui);
void ui_do(struct ui *ui, enum verb v);
void ui_say(struct ui *ui, enum role r, const char *fmt, ...) PRINTF(3, 4);
void ui_say_error(struct ui *ui, const struct err *err); /* with its hint */
void ui_ask(struct ui *ui, const char *label, const struct subject *on,
	    void (*done)(struct ui *, const char *));
void ui_choose(struct ui *ui, const char *label, const char *keys, const struct subject *on,
	       void (*done)(struct ui *, const char *));

/* Sends a command. @words ends with NULL; takes @opts. False (and says why) if nothing can be
 * sent. */
bool ui_send(struct ui *ui, size_t source, const char *const *words, json_t *opts);
bool ui_may_act(const struct ui *ui, size_t source);
const char *ui_why_not(const struct ui *ui, size_t source); /* may not: the reason in words */

static inline struct source *ui_source(const struct ui *ui, size_t i)
{
	return i < ui->nr_src ? ui->src[i] : NULL;
}
/* The name of an agent on this screen. With several sessions, actions of a script itself carry
 * its session's name. "" for NULL. */
const char *ui_agent_name(const struct ui *ui, size_t source, const struct model_agent *a);
/* The name of an agent or a sandbox, shortened to leave room for the message or question about
 * it. */
const char *ui_short_name(const struct ui *ui, struct arena *ar, const char *name);
/* How many actions and questions of it a user could decide about now. */
size_t ui_waits(const struct ui *ui, size_t source);
/* That session @source is lost, and what to do; owned. */
char *ui_lost_text(const struct ui *ui, size_t source);
/* What is to be shown of @value, which is of @of. */
uint64_t ui_calm(const struct ui *ui, struct calm *c, uint64_t of, uint64_t value);
/* The moment that ages on the screen are counted to. */
int64_t ui_now(const struct ui *ui);
int64_t ui_now_of(const struct ui *ui, size_t source); /* of one that is lost: when it was */
unsigned ui_where(const struct ui *ui);

/* Numbers before keys (count.c). True if it was taken. */
bool count_key(struct ui *ui, uint32_t key);
/* To every session that runs and can be commanded (broadcast.c), and how many those are. */
size_t ui_reached(const struct ui *ui);
void ui_freeze_all(struct ui *ui);
void ui_pause_all(struct ui *ui);			/* or continues all, when all are paused */
void ui_leave(struct ui *ui, const struct subject *on); /* after one question; agents continue */
void ui_leave_how(struct ui *ui, const struct subject *on); /* asks what becomes of them */
void ui_leave_free(struct ui *ui);			    /* no answer may come after it */

/* Verbs that every view has (ui_verbs.c). True if it was one. */
bool ui_common_verb(struct ui *ui, enum verb v, const struct subject *on);
void ui_command_line(struct ui *ui, const char *text);
/* Copy, pager, plain screen, editor, save (copy.c). True if it was one of them. */
bool ui_copy_verb(struct ui *ui, enum verb v, const struct subject *on);
/* A shell of the user's own in @box, or why not (agent_actions.c). */
void ui_shell(struct ui *ui, size_t source, const struct model_box *box);
/* The terminal of an agent in its own interface. False: it has none that may be used from here. */
bool ui_terminal(struct ui *ui, size_t source, uint64_t agent);
/* Says how the user's own shell in @box of @session ended, which was asked for behind event
 * @since. */
void ui_shell_ended(struct ui *ui, const char *session, const char *box, uint64_t since,
		    int status);
/* Asks how much more of a budget, for the agent or the session. */
void ui_more_budget(struct ui *ui, const struct subject *on);
/* ":set name=value" (set.c). */
void ui_set(struct ui *ui, const char *typed);
bool ui_is_setting(const char *word); /* the name of one, with or without its value */
const char *ui_setting(size_t i);     /* what can be set, as it is typed; NULL past the last */
/* Key line, message line, prompt (ui_frame.c). Returns how many rows at the bottom it took. */
int ui_frame_rows(const struct ui *ui);
void ui_frame_paint(const struct ui *ui, struct area a);
/* whose hint of the key line is there */
enum verb ui_frame_verb_at(const struct ui *ui, int row, int col);

/* The newest action that waits and is not on the screen, one line; owned, NULL: none. */
char *ui_waits_text(const struct ui *ui);

#endif
