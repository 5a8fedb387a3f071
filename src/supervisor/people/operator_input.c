#include "supervisor/people/operator_input.h"
#include "record/record_event.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	INPUT_KEPT = 256 << 10,
	AHEAD_MAX = 1 << 20,
	LOOK_MS = 5,
	LOOK_MAX_MS = 500,
	TAKE_MAX_MS = 20,
	COME_MS = 30000
};

struct input {
	struct input *next;
	struct super *super;
	/* cause: the command that brought the piece; ticket 0: nobody is to be answered */
	uint64_t action, box, cause, ticket;
	struct buf piece;
	struct buf held;  /* passed on, not recorded yet: it could be the beginning of a secret */
	uint64_t taken;	  /* bytes so far */
	bool busy, given; /* there is a piece; it was passed on */
	bool eof, left;	  /* this piece is the last; nobody is there who could send another */
	struct loop_timer *timer;
	uint64_t wait_ms; /* until the next look */
};

static struct input *operator_input_inputs;

static struct input *input_of(struct super *s, uint64_t action)
{
	struct input *in = operator_input_inputs;
	while (in && (in->super != s || in->action != action))
		in = in->next;
	return in;
}

static void operator_input_drop(struct input *in)
{
	struct input **p = &operator_input_inputs;
	while (*p != in)
		p = &(*p)->next;
	*p = in->next;
	record_barrier_forget(in->super->record, in);
	loop_timer_free(&in->timer);
	buf_release(&in->piece);
	buf_release(&in->held);
	free(in);
}

static void operator_input_look(void *self);

static void operator_input_begin(struct input *in, uint64_t ticket, uint64_t cause, bool eof)
{
	in->ticket = ticket;
	in->cause = cause;
	in->busy = true;
	in->given = false;
	in->eof = eof;
	in->wait_ms = LOOK_MS;
	loop_timer_set(in->timer, 0, 0);
}

/* The piece is through, or (@err) never will be. */
static void operator_input_finish(struct input *in, const struct err *err)
{
	struct super *s = in->super;
	if (in->ticket && err)
		control_refuse(s->server, in->ticket, err);
	else if (in->ticket)
		control_answer(s->server, in->ticket, NULL);
	in->busy = false;
	in->ticket = 0;
	if (err || in->eof)
		operator_input_drop(in);
	else if (in->left)
		operator_input_begin(in, 0, in->action, true);
}

static void operator_input_pass_on(void *self)
{
	struct input *in = self;
	struct err err = ERR_INIT;
	if (boxes_stdin(in->super->boxes, in->action, buf_cstr(&in->piece), in->piece.len, in->eof,
			&err) < 0) {
		operator_input_finish(in, &err);
		return;
	}
	in->given = true;
	buf_release(&in->piece);
	operator_input_look(in);
}

static uint64_t stdin_record(const struct input *in, const struct ev_proc_stdin *body)
{
	return record_ev_proc_stdin(
		in->super->record,
		&(struct event){ .cause = in->cause, .box = in->box, .action = in->action }, body);
}

static void operator_input_keep_held(struct input *in);

static void operator_input_keep(struct input *in, const struct action *act)
{
	struct record *r = in->super->record;
	if (in->piece.len && boxes_stdin_hidden(in->super->boxes, in->action)) {
		operator_input_keep_held(in);
		in->box = action_spec(act)->box;
		/* input without echo is invisible, so the recording has only its size */
		uint64_t seq = stdin_record(
			in, &(struct ev_proc_stdin){ EV_SET(data_bytes, (int64_t)in->piece.len),
						     .hidden = true, .has_eof = in->eof,
						     .eof = in->eof });
		record_barrier(r, seq, operator_input_pass_on, in);
		return;
	}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	struct ev_proc_stdin body = { .has_eof = in->eof, .eof = in->eof };
	in->box = action_spec(act)->box;
	size_t room = in->taken < INPUT_KEPT ? INPUT_KEPT - in->taken : 0;
	record_clean_input(r, &in->held, in->piece.data, in->piece.len, in->eof, &clean);
	if (room || !in->piece.len)
		body.data =
			(struct ev_text){ buf_cstr(&clean), room < clean.len ? room : clean.len };
	if (in->piece.len > room) {
		struct hash h;
		hash_of(in->piece.data, in->piece.len, &h);
		body.has_data_bytes = true;
		body.data_bytes = (int64_t)in->piece.len;
		body.data_hash = ev_hex_of(&mem, h.b, HASH_LEN);
	}
	body.held_bytes = (int64_t)in->held.len;
	in->taken += in->piece.len;
	record_barrier(r, stdin_record(in, &body), operator_input_pass_on, in);
}

/* No more can come that would make a secret of it. It was passed on with the piece before, which
 * told its length. */
static void operator_input_keep_held(struct input *in)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (!in->held.len)
		return;
	record_clean_input(in->super->record, &in->held, "", 0, true, &clean);
	stdin_record(in, &(struct ev_proc_stdin){ .data = { buf_cstr(&clean), clean.len } });
}

void operator_input_ended(struct super *s, uint64_t id)
{
	struct input *in = input_of(s, id);
	if (!in)
		return;
	operator_input_keep_held(in);
	if (!in->busy)
		operator_input_drop(in);
}

static void operator_input_nobody(struct input *in)
{
	in->left = true;
	if (!in->busy)
		operator_input_begin(in, 0, in->action, true);
}

/* A held action may wait for hours. */
static void operator_input_look_later(struct input *in, uint64_t max_ms)
{
	loop_timer_set(in->timer, in->wait_ms, 0);
	in->wait_ms = in->wait_ms * 2 < max_ms ? in->wait_ms * 2 : max_ms;
}

static void operator_input_look(void *self)
{
	struct input *in = self;
	const struct action *act = gate_action(in->super->gate, in->action);
	struct err err = ERR_INIT;
	if (act && !in->busy) { /* half a minute is over and not one piece has come */
		operator_input_nobody(in);
	} else if (!act || action_state(act) == ACTION_ENDED) {
		err_set(&err, ERR_NOENT, "the command of #%" PRIu64 " has ended", in->action);
		operator_input_finish(in, &err);
	} else if (action_state(act) != ACTION_RUNNING) {
		operator_input_look_later(in, LOOK_MAX_MS);
	} else if (!in->given && !in->piece.len && !in->eof) {
		operator_input_finish(in, NULL); /* no input yet: the client will send some */
	} else if (!in->given) {
		operator_input_keep(in, act);
	} else if (boxes_stdin_queued(in->super->boxes, in->action) > AHEAD_MAX) {
		operator_input_look_later(in, TAKE_MAX_MS);
	} else {
		operator_input_finish(in, NULL);
	}
}

static struct input *input_new(struct super *s, uint64_t id)
{
	struct input *in = NEW(struct input);
	*in = (struct input){ .next = operator_input_inputs, .super = s, .action = id };
	in->timer = loop_timer_new(s->loop, operator_input_look, in);
	operator_input_inputs = in;
	return in;
}

void operator_input_expect(struct super *s, uint64_t id)
{
	loop_timer_set(input_new(s, id)->timer, COME_MS, 0);
}

int operator_input(const struct ask_for *a, uint64_t id, struct buf *bytes, bool eof,
		   struct err *err)
{
	struct super *s = a->s;
	const struct action *act = gate_action(s->gate, id);
	struct input *in = input_of(s, id);
	int rc = 0;
	if (in && in->busy)
		rc = err_set(err, ERR_BUSY, "the previous input is still pending");
	else if (in && in->left)
		rc = err_set(err, ERR_CLOSED, "the input of #%" PRIu64 " has ended", id);
	else if (!act || action_spec(act)->kind != ACT_EXEC ||
		 !json_flag(action_spec(act)->args, "stdin", false) ||
		 json_flag(action_spec(act)->args, "spawn", false))
		rc = err_set(err, ERR_NOENT, "#%" PRIu64 " is not a running command with input",
			     id);
	if (rc < 0) {
		buf_release(bytes);
		return rc;
	}
	if (!in)
		in = input_new(s, id);
	buf_release(&in->piece);
	in->piece = *bytes;
	*bytes = BUF_INIT;
	operator_input_begin(in, a->rq->ticket, a->rq->cause, eof);
	return 0;
}

void operator_inputs_left(struct super *s)
{
	for (struct input *in = operator_input_inputs; in; in = in->next)
		if (in->super == s && !in->left)
			operator_input_nobody(in);
}

void operator_inputs_free(struct super *s)
{
	for (struct input *in = operator_input_inputs, *next; in; in = next) {
		next = in->next;
		if (in->super == s)
			operator_input_drop(in);
	}
}
