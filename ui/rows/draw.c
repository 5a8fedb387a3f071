#include "ui/rows/draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/term/fmt.h"

enum role draw_state_role(enum agent_state s)
{
	static const enum role roles[] = {
		[AGENT_IDLE] = ROLE_DIM,    [AGENT_THINK] = ROLE_THINK,
		[AGENT_RUN] = ROLE_RUN,	    [AGENT_ASK] = ROLE_HELD,
		[AGENT_HELD] = ROLE_HELD,   [AGENT_PAUSED] = ROLE_PAUSED,
		[AGENT_DONE] = ROLE_DONE,   [AGENT_STOPPED] = ROLE_WARN,
		[AGENT_LOST] = ROLE_FAILED, [AGENT_FAILED] = ROLE_FAILED,
	};
	return roles[s];
}

/* Eight heights for 1 to 64 events and more in 15 s: each height doubles. */
static enum sign draw_height(unsigned events)
{
	int h = 0;
	while (events > 1 && h < 7) {
		events /= 2;
		h++;
	}
	return (enum sign)(SIGN_SPARK1 + h);
}

int draw_spark(struct area a, int row, int col, int width, const struct spark *s, int64_t now_us)
{
	int64_t last = now_us / SPARK_SLOT_US;
	for (int i = 0; i < width; i++) {
		int64_t slot = last - width + 1 + i;
		size_t at = (size_t)(slot % SPARK_SLOTS);
		bool known = slot > 0 && last - slot < SPARK_SLOTS && s->slot[at] == slot;
		if (known && s->held[at])
			grid_put(a, row, col + i, ROLE_HELD, "!");
		else if (known && s->error[at])
			grid_put(a, row, col + i, ROLE_ERROR, "x");
		else if (known)
			put_sign(a, row, col + i, ROLE_SPARK, draw_height(s->events[at]));
		else
			put_sign(a, row, col + i, ROLE_RULE, SIGN_DOT);
	}
	return col + width;
}

int draw_pieces(struct area a, int row, int col, const struct piece *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!p[i].text || !*p[i].text)
			continue;
		if (col + text_cells(p[i].text, a.g->ascii) > a.cols)
			break;
		col = grid_put(a, row, col, p[i].role, p[i].text) + 2;
	}
	return col;
}

int draw_pieces_cells(const struct piece *p, size_t nr, bool ascii)
{
	int n = 0;
	for (size_t i = 0; i < nr; i++)
		if (p[i].text && *p[i].text)
			n += text_cells(p[i].text, ascii) + 2;
	return n;
}

static struct piece *draw_piece_of(struct piece *p, size_t nr, enum role role)
{
	for (size_t i = 0; i < nr; i++)
		if (p[i].role == role && p[i].text && *p[i].text)
			return &p[i];
	return NULL;
}

/* If space is short, secondary pieces go first, pending approvals last. */
static bool drop_piece(struct piece *p, size_t nr)
{
	static const enum role order[] = { ROLE_DIM,	ROLE_TEXT,   ROLE_NAME, ROLE_DONE,
					   ROLE_PAUSED, ROLE_FAILED, ROLE_RUN };
	struct piece *out = NULL;
	for (size_t k = 0; k < ARRAY_LEN(order) && !out; k++)
		out = draw_piece_of(p, nr, order[k]);
	if (out)
		out->text = "";
	return out;
}

enum { NAME_LEAST = 12 }; /* cells that it takes to know one by */

void draw_title(struct area a, int row, const char *title, const struct piece *right, size_t nr)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	struct piece p[12], *name;
	bool ascii = a.g->ascii;
	int col = grid_put(a, row, 1, ROLE_DIM, "sandglass") + (a.cols >= 100 ? 2 : 1), n;
	int room = a.cols - 1 - col - text_cells(title, ascii);
	nr = nr < ARRAY_LEN(p) ? nr : ARRAY_LEN(p);
	for (size_t i = 0; i < nr; i++)
		p[i] = right[i];
	while (draw_pieces_cells(p, nr, ascii) > room && draw_piece_of(p, nr, ROLE_DIM))
		drop_piece(p, nr);
	name = draw_piece_of(p, nr, ROLE_NAME);
	const char *whole = name ? name->text : "";
	if (name && draw_pieces_cells(p, nr, ascii) > room) /* rather cut than left out */
		name->text = text_short(&ar, whole, NAME_LEAST);
	while ((n = draw_pieces_cells(p, nr, ascii)) > room && drop_piece(p, nr))
		;
	if (name && *name->text) {
		name->text = text_short(&ar, whole,
					text_cells(name->text, ascii) + (room > n ? room - n : 0));
		n = draw_pieces_cells(p, nr, ascii);
	}
	put_bytes(a, row, col, a.cols - n - col, ROLE_TITLE, title, strlen(title), 0);
	draw_pieces(a, row, a.cols - n + 1, p, nr);
}

/* --- one event -------------------------------------------------------------------------------- */

static void draw_turn(struct area a, int row, int col, const struct row_info *r)
{
	col = grid_put(a, row, col, ROLE_DIM, r->what) + 1;
	for (; col < a.cols - 1; col++)
		put_sign(a, row, col, ROLE_RULE, SIGN_HLINE);
}

/* Draws the parts at the right, each in its own column; returns the start of the first. */
static int draw_right(struct area a, int row, const struct row_info *r,
		      const struct draw_row_opts *o, struct arena *ar)
{
	int col = a.cols - 1;
	if (o->cost) {
		col -= 18;
		if (r->tokens > 0)
			put_right(a, row, col, 9, ROLE_DIM,
				  arena_printf(ar, "%s tok", fmt_count(ar, r->tokens)));
		if (r->uusd != 0 || r->cost_unknown)
			put_right(a, row, col + 11, 7, ROLE_DIM,
				  fmt_cost(ar, r->uusd, r->cost_unknown));
		if (*r->outcome && r->tokens == 0)
			put_field(a, row, col, 18, r->role, r->outcome);
	} else {
		col -= 8;
		if (*r->outcome)
			put_field(a, row, col, 8, r->role, r->outcome);
	}
	col -= 7;
	if (r->dur_us >= 0)
		put_right(a, row, col, 6, ROLE_DIM, fmt_span(ar, r->dur_us));
	return col;
}

/* A pending or refused action shows who decided; its verdict replaces the outcome, which would
 * repeat it. */
static bool says_by_whom(const struct row_info *r)
{
	return *r->verdict && *r->by && strcmp(r->verdict, "allow") != 0 &&
	       (r->sign == '!' || r->dur_us < 0);
}

static int draw_verdict(struct area a, int row, int right, const struct row_info *r,
			struct arena *ar)
{
	bool plain = strcmp(r->verdict, "allow") == 0;
	enum role role = plain		  ? ROLE_DIM
			 : r->sign == '!' ? ROLE_HELD
			 : strcmp(r->verdict, "denied") == 0 || strcmp(r->verdict, "deny") == 0
				 ? ROLE_ERROR
				 : ROLE_OK;
	if (!*r->verdict || r->tokens > 0)
		return right;
	if (plain || !*r->by) {
		put_field(a, row, right - 8, 8, role, r->verdict);
		return right - 9;
	}
	int width = !says_by_whom(r) ? 17 : a.cols >= 100 ? 34 : 24;
	const char *by = r->by, *name = row_held_rule(r);
	if (name && text_cells(r->verdict, a.g->ascii) + 4 + text_cells(by, a.g->ascii) > width)
		by = name; /* the rule's name is more useful than its place */
	put_field(a, row, right - width, width, role, arena_printf(ar, "%s by %s", r->verdict, by));
	return right - width - 1;
}

int draw_id_cells(const struct row_info *r, size_t nr)
{
	uint64_t most = 0;
	int cells = 2;
	for (size_t i = 0; i < nr; i++)
		most = r[i].seq > most ? r[i].seq : most;
	while (most /= 10)
		cells++;
	return cells;
}

void draw_row(struct area a, int row, const struct row_info *r, const struct draw_row_opts *o,
	      struct arena *ar)
{
	char id[32];
	snprintf(id, sizeof(id), "#%" PRIu64, r->seq);
	int col = 1;
	if (r->sign != ' ')
		grid_put(a, row, col, r->role, arena_printf(ar, "%c", r->sign));
	col = grid_put(a, row, col + 2, ROLE_DIM, id) + 1;
	if (col < 4 + o->id)
		col = 4 + o->id;
	if (col < 8)
		col = 8;
	if (o->clock)
		col = grid_put(a, row, col, ROLE_DIM, fmt_hms(ar, r->ts_us)) + 2;
	if (o->agent)
		col = put_field(a, row, col, 12, ROLE_NAME, o->agent) + 1;
	if (r->turn) {
		draw_turn(a, row, col, r);
		return;
	}
	put_field(a, row, col, 8, ROLE_TEXT, r->word);
	col += 9;
	int right = o->verdict && says_by_whom(r) ? a.cols - 1 : draw_right(a, row, r, o, ar);
	if (o->verdict)
		right = draw_verdict(a, row, right, r, ar);
	const char *what = one_line(r->what, ar);
	put_bytes(a, row, col, right - col - 1, ROLE_TEXT, what, strlen(what), 0);
}
