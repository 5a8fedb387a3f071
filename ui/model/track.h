/* A session along its time, for rulers and curves: the class of each event, and the spending of
 * each agent over time.
 *
 * Filled during the fold, once per event (moving the cursor changes nothing); about 10 bytes per
 * event and 32 per spending. Time here is the playing clock: pauses longer than TRACK_IDLE_US
 * count as that long. */
#ifndef UI_TRACK_H
#define UI_TRACK_H

#include "ui/model/model.h"

enum { TRACK_IDLE_US = 2000000 };

enum track_flag {
	TRACK_TURN = 1 << 0,
	TRACK_ERROR = 1 << 1,
	TRACK_HELD = 1 << 2,
	TRACK_APPROVED = 1 << 3,
	TRACK_DENIED = 1 << 4,
	TRACK_DIFF = 1 << 5,
	TRACK_MARK = 1 << 6,
	TRACK_END = 1 << 7,
	TRACK_SNAPSHOT = 1 << 8,
	TRACK_EXEC = 1 << 9,
	TRACK_EDIT = 1 << 10,
	TRACK_MODEL = 1 << 11,
	TRACK_ROLLBACK = 1 << 12,
	TRACK_DRIFT = 1 << 13,
};

/* Counts by stretches, so that a ruler of a long session is drawn without reading each event. */
enum track_lane { LANE_EVENTS, LANE_EXEC, LANE_EDIT, LANE_MODEL, LANE_NR };
enum { TRACK_STRETCH = 256 };

enum track_what { TRACK_COST, TRACK_TOKENS, TRACK_OUTPUT, TRACK_ACTIONS, TRACK_WHAT_NR };

struct track_sum {
	uint32_t count[LANE_NR];
	unsigned flags;
	int64_t amount[TRACK_WHAT_NR];
};

struct track_step {
	int64_t ts_us;
	uint64_t seq, agent;
	uint32_t amount; /* micro-dollars, tokens, bytes, 1 */
	uint8_t what;	 /* enum track_what */
};

struct track {
	int64_t *at_us; /* of event seq - 1: on the playing clock */
	uint16_t *flags;
	size_t nr, cap, cap_flags;
	struct track_sum *stretch; /* of events 1 to 256, 257 to 512, ... */
	size_t nr_stretches, cap_stretches;
	int64_t last_ts;
	struct track_step *step;
	size_t nr_steps, cap_steps;
	struct model_sums { /* before the event under way */
		int64_t uusd, tokens;
		uint64_t out;
	} before;
};

/* Around model_apply. */
void track_before(struct track *t, const struct model *m, const struct event *ev);
void track_after(struct track *t, const struct model *m, const struct event *ev);
void track_release(struct track *t);

/* The event that stands at @at_us of the playing clock: the last one that is not later; 0 none. */
uint64_t track_seq(const struct track *t, int64_t at_us);
int64_t track_length(const struct track *t);
/* Totals of events @from + 1 to @to. */
struct track_sum track_between(const struct track *t, uint64_t from, uint64_t to);
/* The next event with one of @flags behind (@by 1) or before (-1) @seq; 0 none. */
uint64_t track_find(const struct track *t, uint64_t seq, unsigned flags, int by);

#endif
