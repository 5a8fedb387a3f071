/* Between the files of the agent's screen. view_agent.c: its rows, keys, and mouse. agent_text.c:
 * the texts of its right pane. agent_paint.c paints. */
#ifndef UI_VIEWS_AGENT_PRIV_H
#define UI_VIEWS_AGENT_PRIV_H

#include "ui/rows/draw.h"
#include "ui/rows/pane.h"
#include "ui/frame/ui.h"

enum tab { TAB_OUTPUT, TAB_TALK, TAB_DIFF, TAB_DETAILS, TAB_NR };
enum { MAX_ROWS = 128, WIDE_COLS = 100 };

struct agent_view {
	size_t source;
	uint64_t agent, seq; /* seq: the selected row */
	bool follow, right, text_follow, render;
	bool zoom; /* the pane that keys move, alone */
	int split; /* columns of the timeline, its rule included; 0 = as we like it */
	int cols;
	enum tab tab;
	int64_t top;			     /* of the text, when it does not follow */
	struct pane_hold output_at, talk_at; /* while it does not follow */
	/* rows from there to the end, once it has stopped following; 0 = top counts */
	int64_t below;
	struct calm out; /* bytes of output as shown */
	/* made by recalc */
	const struct model_agent *a;
	const struct rows *rows; /* what the filter lets through */
	enum agent_state state;
	struct row_info row[MAX_ROWS];
	size_t nr, at; /* at: index of the selection among row[] */
	struct text text;
	size_t text_top;
	int text_rows, text_cols;
	const char *title, *head, *facts;
	struct piece piece[6];
	size_t nr_pieces;
	struct text strip; /* the difference below, wide screens only */
	const char *strip_title;
	bool ascii;
	struct arena *arena;
};

/* agent_paint.c */
bool agent_beside(const struct agent_view *v, int cols); /* timeline and text side by side */
int agent_left_cols(const struct agent_view *v);	 /* of the timeline, its rule included */
void agent_paint(const void *self, const struct ui *ui, struct area a);
/* The tab at @col of the pane's first row; TAB_NR: none. */
enum tab agent_tab_at(const struct agent_view *v, int col);

/* agent_text.c */
/* The action whose output is shown: the selected one, or the nearest before; 0 none. */
uint64_t agent_action_at(const struct agent_view *v, const struct model *m);
/* Fills v->text for @rows rows of @cols cells. */
void agent_gather_text(struct agent_view *v, struct source *s, int rows, int cols);
/* Appends all text of the pane, unwrapped. */
void agent_pane_text(const void *self, struct ui *ui, struct buf *out);

#endif
