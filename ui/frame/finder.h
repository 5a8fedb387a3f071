/* Finding things and commanding, above the views: filter line, search, marks, jumps after a prefix,
 * history, palette.
 *
 * One struct finder per console, owned by ui_init and ui_release. What a view must know of it is
 * two functions: ui_rows, which gives its rows as filtered, and its own hook `look` (view.h), by
 * which search, marks and jumps move it. */
#ifndef UI_FRAME_FINDER_H
#define UI_FRAME_FINDER_H

#include "query/saved.h"
#include "ui/frame/ui.h"

struct finder *finder_new(void);
void finder_free(struct finder *f);
/* Keys that a prefix waits for, n, N and the like. True if taken. */
bool finder_key(struct ui *ui, uint32_t key);
/* Verbs of this part. True if it was one. */
bool finder_verb(struct ui *ui, enum verb v, const struct subject *on);
/* Paints after the view: the filter on the second line, the search text, and the choices after a
 * prefix. */
void finder_paint(struct ui *ui, struct area body);
int64_t finder_next(const struct ui *ui); /* as ui_next */
bool finder_waits(const struct ui *ui);	  /* a prefix has begun: the next key is its own */

/* --- filters (filterline.c) --- */

/* @of as the filter of the view on top lets it through; @of itself when there is none. */
const struct rows *ui_rows(struct ui *ui, size_t source, const struct rows *of);
/* Does the filter of the view on top let an agent, an action or question through? */
bool ui_lets_agent(struct ui *ui, size_t source, const struct model_agent *a);
bool ui_lets_row(struct ui *ui, size_t source, uint64_t seq);
/* The same for the filter of @view, if that is open below the view on top; else true. */
bool ui_below_lets_row(struct ui *ui, const char *view, size_t source, uint64_t seq);
const char *ui_filter(const struct ui *ui); /* of the view on top; "" none */
bool ui_filtering(const struct ui *ui);	    /* it has not been asked of every event yet */
/* before a recalc: what the filter lets through */
void filter_count_anew(struct ui *ui);
void filter_set(struct ui *ui, const char *text); /* NULL or "" none */
/* of fleet, agent and log; it is known to be one */
void filter_begin(struct ui *ui, const char *text);
void filter_ask(struct ui *ui, const char *text);
void filter_ask_saved(struct ui *ui);
/* Filters that the user has saved, used as "@name". */
struct filter_saved filter_names(struct ui *ui); /* for filter_parse */
void filter_command(struct ui *ui, const char *const *words, size_t nr, const char *rest);
size_t filter_saved_count(const struct ui *ui);
void filter_saved_at(const struct ui *ui, size_t i, const char **name, const char **text);

/* --- search (search.c) --- */
void search_ask(struct ui *ui, const char *text);
void search_next(struct ui *ui, int by);

/* --- marks and jumps (marks.c, prefix.c) --- */
void mark_ask(struct ui *ui, uint32_t key); /* after "m": @key is its letter */
void mark_go(struct ui *ui, uint32_t key);  /* after "'" */
/* A mark of the reader's own at what is selected, in replay at the cursor; @key 0 none. */
void ui_mark(struct ui *ui, char key, const char *text);
/* Own marks are kept below @folder: those of the sessions that are there, and (marks_load) of one
 * that has come. */
void marks_folder(struct ui *ui, const char *folder);
void marks_load(struct ui *ui, size_t source);
/* e d a h m s t: error, diff, approval, hold, mark, snapshot, turn */
void jump_kind(struct ui *ui, char kind, int by);
/* "a", "#188", "188": an own or a recorded mark, or an event; 0 there is none. */
uint64_t place_named(const struct ui *ui, size_t source, const char *word);
/* Is @seq an event of @s? If not, the message line names the last one. */
bool has_event(struct ui *ui, const struct source *s, uint64_t seq);
/* in this view, or in the log if it is none of rows */
void jump_to(struct ui *ui, size_t source, uint64_t seq);

/* --- history (history.c) --- */

/* @path: the file that is shared between runs, 0600; NULL (the default): kept in memory only. */
void history_file(struct ui *ui, const char *path);
void history_add(struct ui *ui, char kind, const char *text);
const char *history_get(struct ui *ui, char kind, size_t back); /* 1 = the newest; NULL */

/* --- command line (cmdline.c), breakpoints (filterline.c) --- */
void cmdline_ask(struct ui *ui, const char *text);
/* "hold FILTER" with its matches up to now. */
void hold_ask(struct ui *ui);
/* The same with what @on->action is like, after what is held already: to be looked at, edited,
 * sent. */
void hold_like(struct ui *ui, const struct subject *on);
void hold_toggle(struct ui *ui);

#endif
