#include "ui/model/pick.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/longlist.h"
#include "ui/model/facts.h"

enum { PIECE = 20000, PAGE = 4096, LISTS = 8 };

struct list { /* a filtered copy of a list of rows */
	const struct rows *of;
	size_t nr;
	uint64_t head;
	uint64_t version;
	struct rows rows;
};

struct pick {
	struct filter *filter;
	uint64_t *seq; /* ascending */
	size_t nr, cap;
	uint64_t done; /* asked up to here */
	/* events that are asked at once; more while that is quick: each asks the index anew */
	uint64_t piece;
	uint64_t *open; /* asked when they had not ended: once more when they have */
	size_t nr_open, cap_open;
	uint64_t version;
	size_t marks; /* of the model, looked at */
	struct list list[LISTS];
	size_t next;
	bool failed;
	struct err why;
};

int pick_new(struct pick **out, const char *text, const struct filter_saved *saved,
	     size_t *column_out, struct err *err)
{
	struct filter *f = NULL;
	if (filter_parse(&f, text, saved, column_out, err) < 0)
		return -1;
	*out = NEW(struct pick);
	(*out)->filter = f;
	(*out)->piece = PIECE;
	return 0;
}

void pick_free(struct pick **pp)
{
	struct pick *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	filter_free(&p->filter);
	for (size_t i = 0; i < LISTS; i++)
		long_free(p->list[i].rows.row);
	long_free(p->seq);
	free(p->open);
	free(p);
}

static bool pick_empty(const struct pick *p)
{
	return filter_empty(p->filter);
}

const struct filter *pick_filter(const struct pick *p)
{
	return p->filter;
}

bool pick_is_step(enum event_kind kind)
{
	return kind > EV_ACTION_REQUESTED && kind < EV_ACTION_REQUESTED + 10;
}

static size_t model_pick_find(const struct pick *p, uint64_t seq)
{
	size_t low = 0, high = p->nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (p->seq[mid] < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void model_pick_set(struct pick *p, uint64_t seq, bool in)
{
	size_t i = model_pick_find(p, seq);
	bool is = i < p->nr && p->seq[i] == seq;
	if (is == in)
		return;
	p->version++;
	if (in) {
		LONG_GROW(p->seq, p->nr, p->cap);
		memmove(&p->seq[i + 1], &p->seq[i], (p->nr - i) * sizeof(*p->seq));
		p->seq[i] = seq;
		p->nr++;
	} else {
		memmove(&p->seq[i], &p->seq[i + 1], (p->nr - i - 1) * sizeof(*p->seq));
		p->nr--;
	}
}

static bool ask_one(struct pick *p, struct source *s, uint64_t seq, int64_t now_us)
{
	CLEANUP(json_release) json_t *row = facts_row(s, seq);
	return filter_match(p->filter, row, now_us);
}

static bool ask_file(struct pick *p, struct source *s, int64_t now_us, uint64_t after, uint64_t to)
{
	uint64_t seqs[PAGE];
	size_t nr = PAGE;
	while (nr == PAGE) {
		if (filter_search_to(p->filter, s->session, now_us, after, to, PAGE, seqs, &nr,
				     &p->why) < 0) {
			p->failed = true;
			return false;
		}
		for (size_t i = 0; i < nr; i++)
			model_pick_set(p, seqs[i], true);
		after = nr ? seqs[nr - 1] : after;
	}
	return true;
}

static bool model_pick_ended(const struct source *s, uint64_t seq)
{
	const struct model_action *act = model_action(&s->model, seq);
	return !act || act->ended;
}

static void model_pick_ask_again(struct pick *p, struct source *s, uint64_t seq, int64_t now_us)
{
	model_pick_set(p, seq, false);
	if (session_handle(s->session))
		ask_file(p, s, now_us, seq - 1, seq);
	else
		model_pick_set(p, seq, ask_one(p, s, seq, now_us));
}

/* Updates rows with later facts: ends, bookmarks. */
static void model_pick_catch_up(struct pick *p, struct source *s, int64_t now_us)
{
	size_t left = 0;
	for (size_t i = 0; i < p->nr_open; i++) {
		if (model_pick_ended(s, p->open[i]))
			model_pick_ask_again(p, s, p->open[i], now_us);
		else
			p->open[left++] = p->open[i];
	}
	p->nr_open = left;
	for (p->marks = p->marks > s->model.nr_marks ? 0 : p->marks; p->marks < s->model.nr_marks;
	     p->marks++)
		if (s->model.mark[p->marks].on <= p->done)
			model_pick_ask_again(p, s, s->model.mark[p->marks].on, now_us);
}

static void model_pick_piece(struct pick *p, struct source *s, int64_t now_us, uint64_t to)
{
	const struct rows *r = &s->model.rows;
	for (size_t i = rows_find(r, p->done + 1); i < r->nr && r->row[i].seq <= to; i++)
		if (!model_pick_ended(s, r->row[i].seq)) {
			GROW(p->open, p->nr_open, p->cap_open);
			p->open[p->nr_open++] = r->row[i].seq;
		} else if (!session_handle(s->session) && !pick_is_step(r->row[i].kind)) {
			model_pick_set(p, r->row[i].seq, ask_one(p, s, r->row[i].seq, now_us));
		}
	if (!session_handle(s->session) || ask_file(p, s, now_us, p->done, to))
		p->done = to;
	p->version++;
}

bool pick_work(struct pick *p, struct source *s, int64_t now_us, int64_t budget_us)
{
	int64_t until = clock_mono_us() + budget_us;
	uint64_t head = s->model.head;
	if (p->failed || pick_empty(p))
		return false;
	model_pick_catch_up(p, s, now_us);
	while (p->done < head && !p->failed) {
		int64_t from = clock_mono_us();
		uint64_t to = head - p->done > p->piece && !filter_words(p->filter)
				      ? p->done + p->piece
				      : head;
		model_pick_piece(p, s, now_us, to);
		int64_t now = clock_mono_us();
		if (now - from < budget_us / 2)
			p->piece *= 2;
		else if (now - from > budget_us * 2 && p->piece > PIECE)
			p->piece /= 2;
		if (now >= until)
			break;
	}
	return p->done < head && !p->failed;
}

static bool model_pick_matches(struct pick *p, struct source *s, const struct row *r, size_t *at,
			       int64_t now_us)
{
	while (*at < p->nr && p->seq[*at] < r->seq)
		++*at;
	if (r->kind == EV_ACTION_REQUESTED && !model_pick_ended(s, r->seq) &&
	    !filter_words(p->filter))
		return r->seq <= p->done && ask_one(p, s, r->seq, now_us);
	return *at < p->nr && p->seq[*at] == r->seq;
}

static struct list *model_pick_list_of(struct pick *p, const struct rows *of)
{
	for (size_t i = 0; i < LISTS; i++)
		if (p->list[i].of == of)
			return &p->list[i];
	struct list *l = &p->list[p->next++ % LISTS];
	struct rows keep = l->rows;
	*l = (struct list){ .of = of, .rows = keep, .version = UINT64_MAX };
	return l;
}

const struct rows *pick_rows(struct pick *p, struct source *s, const struct rows *of,
			     int64_t now_us)
{
	if (pick_empty(p) || p->failed)
		return of;
	struct list *l = model_pick_list_of(p, of);
	if (l->nr == of->nr && l->head == s->model.head && l->version == p->version)
		return &l->rows;
	l->rows.nr = 0;
	for (size_t i = 0, at = 0; i < of->nr; i++)
		if (model_pick_matches(p, s, &of->row[i], &at, now_us)) {
			LONG_GROW(l->rows.row, l->rows.nr, l->rows.cap);
			l->rows.row[l->rows.nr++] = of->row[i];
		}
	l->nr = of->nr;
	l->head = s->model.head;
	l->version = p->version;
	return &l->rows;
}

int pick_percent(const struct pick *p, struct source *s)
{
	uint64_t head = s->model.head;
	return p->done >= head ? 100 : (int)(p->done * 100 / head);
}

const char *pick_failed(const struct pick *p)
{
	return p->failed ? p->why.text : NULL;
}
