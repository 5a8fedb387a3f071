/* The state at one event of a session, folded from its events: agents, sandboxes, actions, pending
 * approvals.
 *
 * Rules:
 * 1. model_apply takes the events in order, once each, and can't fail: an invalid body changes only
 *    the counts. No input or output, no clock: live and replay fold the same events to the same
 *    state.
 * 2. Texts of actions stay in the recording; the model keeps their seqs (row.h reads them). So its
 *    size is some 200 bytes an action and 16 a row; the lists of these are longlist.h's, so that
 *    memory stays flat.
 * 3. Ids are seqs and arrays are in ascending order of them, so that a look-up is a binary
 *    search. Pointers to elements hold until the next model_apply. */
#ifndef UI_MODEL_H
#define UI_MODEL_H

#include "base/mem.h"
#include "wire/event.h"

struct journal;

enum agent_state {
	AGENT_IDLE,
	AGENT_THINK,
	AGENT_RUN,
	AGENT_ASK,
	AGENT_HELD,
	AGENT_PAUSED,
	AGENT_DONE,
	AGENT_STOPPED,
	AGENT_LOST,
	AGENT_FAILED
};
enum act_state { ACT_JUDGED_, ACT_WAITS, ACT_RUNS, ACT_OVER };

struct row {
	/* the event that the row is about: action.requested for the whole life of an action */
	uint64_t seq;
	uint16_t kind;
};
struct rows {
	struct row *row;
	size_t nr, cap;
};

struct limits {
	int64_t uusd, tokens, time_us, steps, actions; /* 0 = none */
};

enum { SPARK_SLOTS = 20, SPARK_SLOT_US = 15000000 };
struct spark {
	int64_t slot[SPARK_SLOTS]; /* which 15 s of the wall clock this cell holds */
	uint16_t events[SPARK_SLOTS];
	bool held[SPARK_SLOTS], error[SPARK_SLOTS];
};

struct model_agent {
	uint64_t id, parent, box, seq_end, said; /* said: seq of the last model.reply with a text */
	/* not an agent: what the script itself does, under the id of session.start */
	bool script;
	char *name, *task, *model;
	char *word;	   /* what agent.state said last; NULL */
	char *stop, *text; /* at the end */
	bool paused, ended, good;
	bool interactive; /* in its own terminal interface */
	uint32_t turn, actions, held, errors;
	uint64_t current; /* newest action that has not ended; 0 none */
	uint64_t last;	  /* newest action at all */
	uint64_t ask;	  /* question of the script that waits for an answer; 0 none */
	int64_t start_us, end_us, since_us; /* since_us: when its state changed last */
	int64_t tokens, uusd;
	bool cost_unknown; /* some of its model calls have no known price: uusd is the least */
	struct limits limits;
	/* of its budget: "uusd", "steps", ..; interned; NULL nothing, or it was extended */
	const char *used_up;
	int64_t done, total; /* sg.progress; total 0 = none */
	struct spark spark;
	struct rows rows;
	uint32_t kept; /* journal.c's, as in boxes and actions */
};

struct box_snapshot {
	char *repo;	  /* name of the layer, "" = /workspace itself */
	uint64_t seq;	  /* its newest snapshot.taken; 0 none yet */
	uint64_t base;	  /* its base.hashed; 0 not known yet */
	uint32_t touched; /* files of it that differ from the base */
};

struct model_box {
	uint64_t id;
	struct box_snapshot *snapshot;
	size_t nr_snapshots, cap_snapshots;
	char *name, *driver, *profile;
	bool ready, closed, frozen;
	bool target;	  /* a directory of the user's can be merged into */
	bool again;	  /* another sandbox continues its files */
	int64_t asked_us; /* when it was wanted */
	uint32_t touched; /* files that differ from the base, of all layers */
	/* the newest snapshot that changed; the newest merge back of all of it that stands; 0
	 * none */
	uint64_t changed, merged;
	char merge[33];	  /* its id */
	uint64_t planned; /* the newest dry run of a merge back; 0 none */
	uint32_t kept;
};

struct model_action {
	uint64_t id, agent, box;
	/* newest event of each; 0 none */
	uint64_t judged, held, decided, started, ended, snapshot, reply;
	uint64_t later; /* a reviewer deferred it: the newest such event; 0 none */
	/* the newest dry run: its preview.started and, once over, its preview.ended */
	uint64_t preview, previewed;
	int64_t asked_us, held_us, until_us, start_us, end_us, preview_us;
	uint64_t out_bytes, err_bytes; /* out: also what a model says, as it comes */
	uint64_t wire_bytes;	       /* of an answer over the network, as it came */
	uint64_t pty_bytes;	       /* of out_bytes: what came from a terminal */
	const char *kind;	       /* "exec"; interned, "" unknown */
	enum act_state state;
	int code; /* exit status; -1 not known */
	/* it stands before its start only because of a pause: there is nothing to decide */
	bool latched;
	bool ok, high_risk, person; /* person: a user decided */
	bool promotable;	    /* the newest dry run may be promoted */
	/* a repeat of a recorded command, started by a user: its agent's state is unchanged */
	bool again;
	/* its first program was recorded: the command itself, which gets no row */
	bool traced;
	uint32_t kept;
};

/* A terminal in a sandbox got another size after @at bytes of its output, or has a keyframe there:
 * event @key, 0 for a size. */
struct model_size {
	uint64_t action, at, key;
	int cols, rows;
};

struct model_ask {
	uint64_t seq, agent;
};

/* A recorded command that runs again. Each step (begun, its action, its end) is an entry of its own
 * that repeats what was known, so that the list only grows: the newest entry of a seq counts. */
struct model_repeat {
	uint64_t seq, of; /* redo.started; the action it repeats, */
	bool here;	  /* of this session */
	uint64_t again;	  /* the second run; 0 not yet */
	uint64_t ended;	  /* redo.ended; 0 not yet */
	int64_t begin_us;
};

/* a user reviewed a part of a sandbox's changes (review.choice); its base changed (base.drift) */
struct model_choice {
	uint64_t seq, box;
};

struct model_mark {	  /* a note of level "mark", by a script or a user */
	uint64_t seq, on; /* on: the event that is marked */
	char *text, *key; /* key: the letter that goes there, "" none */
};

struct model {
	char *id, *name, *script;
	uint64_t head, events;
	int64_t start_us, last_us;
	const char *how; /* ended_word of its end; static */
	/* paused_all: by a user or a freeze */
	bool ended, good, stalled, no_room, paused_all, broken_order;
	bool paused_by_person, paused_by_freeze;
	/* run --watch: from the save of the script to its first new action; 0 not such a session */
	int64_t saved_us;
	struct model_agent *agent;
	size_t nr_agents, cap_agents;
	struct model_box *box;
	size_t nr_boxes, cap_boxes;
	struct model_action *action;
	size_t nr_actions, cap_actions;
	uint64_t *held; /* ids of actions that wait for a user, oldest first */
	size_t nr_held, cap_held;
	struct model_ask *ask;
	size_t nr_asks, cap_asks;
	struct model_size *size; /* oldest first */
	size_t nr_sizes, cap_sizes;
	struct rows rows;	 /* of everything */
	struct model_mark *mark; /* oldest first */
	size_t nr_marks, cap_marks;
	struct model_repeat *repeat;
	size_t nr_repeats, cap_repeats;
	struct model_choice *choice; /* oldest first */
	size_t nr_choices, cap_choices;
	struct model_choice *drift; /* oldest first */
	size_t nr_drifts, cap_drifts;
	char *hold;    /* the hold filter; "" none */
	char *warning; /* last super.warn or box.warn */
	char *notice;  /* for users in one line: the last thing worth it */
	uint32_t waivers, policies, attached;
	int64_t tokens, uusd; /* with what rented boxes have cost */
	bool cost_unknown;    /* uusd is the least: some calls or boxes have no known price */
	struct limits limits; /* the session's own budget */
	const char *used_up;  /* of it; as in agents */
	uint64_t owner;	      /* of the event under way, when its body says whose it is; 0 */
	uint64_t session_budget, start; /* start: seq of session.start */
	char **word;			/* interned */
	size_t nr_words, cap_words;
	struct journal *journal; /* borrowed; keeps the way back (journal.h); NULL: there is none */
};

void model_init(struct model *m);
void model_release(struct model *m);
void model_apply(struct model *m, const struct event *ev);

const struct model_agent *model_agent(const struct model *m, uint64_t id); /* NULL */
const struct model_box *model_box(const struct model *m, uint64_t id);
/* Has it files that are to be merged back, as the handover counts them? */
bool model_box_unmerged(const struct model_box *b);
/* The next action of a paused agent, or the action in its frozen sandbox; NULL. */
const struct model_action *model_stands(const struct model *m, const struct model_agent *a);
const struct model_action *model_action(const struct model *m, uint64_t id);
bool model_ask(const struct model *m, uint64_t seq); /* a question that still waits */
/* The newest repeat of this session's action @of, or (0) the newest of all; NULL. */
const struct model_repeat *model_repeat(const struct model *m, uint64_t of);
/* The action of the agent that has waited longest for a user; NULL none does. It may have begun
 * others since. */
const struct model_action *model_held(const struct model *m, const struct model_agent *a);
/* never AGENT_LOST: source.h */
enum agent_state model_agent_state(const struct model *m, const struct model_agent *a);
const char *agent_state_word(enum agent_state s); /* "run", "HELD", ... */
char agent_state_sign(enum agent_state s);	  /* '>', '!', ... */
size_t model_count(const struct model *m, enum agent_state s);

/* True if events of this kind are rows of their own (the rest belongs to the row of an action, or
 * to nothing). */
bool model_is_row(uint16_t kind);
/* Index of the first row with seq >= @seq. */
size_t rows_find(const struct rows *r, uint64_t seq);

#endif
