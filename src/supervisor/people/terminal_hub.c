#include "supervisor/people/terminal_hub.h"
#include "record/record_event.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "supervisor/people/screen_keys.h"

enum {
	RELEASE_MS = 10, /* rule 2 */
	/* below CONTROL_SLOW: a terminal that stands still is not a slow client */
	UNREAD_MAX = 96 << 10,
	UNREAD_LOW = 24 << 10,
	LOOK_MS = 3,
	/* a large paste that the program takes its time for */
	AHEAD_MAX = 16 << 20,
	COUNT_MS = 1000,
};

struct terminal {
	struct terminal *next;
	struct super *s;
	uint64_t action, agent, box;
	char *name, *record_input;
	struct winsize size;
	uint64_t client; /* 0: detached */
	struct buf held; /* could be the beginning of a secret */
	struct loop_timer *release, *look, *count;
	bool used;	  /* a client has had it before */
	bool holding;	  /* the client is behind: the program's output is not read */
	uint64_t typed;	  /* bytes since the last terminal.input */
	uint64_t writing; /* recorded input that is on its way */
	bool stopped;	  /* by the program itself */
};

static struct terminal *terminal_hub_terminals;

static struct terminal *terminal_of(const struct super *s, uint64_t action)
{
	for (struct terminal *t = terminal_hub_terminals; t; t = t->next)
		if (t->s == s && t->action == action)
			return t;
	return NULL;
}

static struct event terminal_place(const struct terminal *t)
{
	return (struct event){
		.cause = t->action, .agent = t->agent, .box = t->box, .action = t->action
	};
}

static void terminal_release(void *self)
{
	struct terminal *t = self;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	record_clean_piece(t->s->record, &t->held, "", 0, true, &clean);
	if (clean.len && t->client)
		control_server_tty(t->s->server, t->client, t->action, clean.data, clean.len);
}

static void terminal_hold(struct terminal *t, bool hold)
{
	if (t->holding == hold)
		return;
	t->holding = hold;
	boxes_hold_output(t->s->boxes, t->action, hold);
}

static void terminal_look(void *self)
{
	struct terminal *t = self;
	if (t->client && control_server_unread(t->s->server, t->client) > UNREAD_LOW)
		loop_timer_set(t->look, LOOK_MS, 0);
	else
		terminal_hold(t, false);
}

static void terminal_count(void *self)
{
	struct terminal *t = self;
	if (!t->typed)
		return;
	struct event at = terminal_place(t);
	record_ev_terminal_input(t->s->record, &at,
				 &(struct ev_terminal_input){ .bytes = (int64_t)t->typed });
	t->typed = 0;
}

void terminal_expect(struct super *s, uint64_t id, const char *name)
{
	const struct action *act = gate_action(s->gate, id);
	if (!act || terminal_of(s, id))
		return;
	const struct action_spec *spec = action_spec(act);
	struct terminal *t = NEW(struct terminal);
	*t = (struct terminal){ .next = terminal_hub_terminals,
				.s = s,
				.action = id,
				.agent = spec->agent,
				.box = spec->box };
	t->name = mem_strdup(name ? name : "");
	t->record_input = mem_strdup(json_str(spec->args, "record_input", "off"));
	t->size.ws_col = (unsigned short)json_int(spec->args, "cols", 80);
	t->size.ws_row = (unsigned short)json_int(spec->args, "rows", 24);
	t->release = loop_timer_new(s->loop, terminal_release, t);
	t->look = loop_timer_new(s->loop, terminal_look, t);
	t->count = loop_timer_new(s->loop, terminal_count, t);
	terminal_hub_terminals = t;
	super_changed(s);
}

static void terminal_free(struct terminal *t)
{
	struct terminal **p = &terminal_hub_terminals;
	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	loop_timer_free(&t->release);
	loop_timer_free(&t->look);
	loop_timer_free(&t->count);
	buf_release(&t->held);
	free(t->name);
	free(t->record_input);
	free(t);
}

void terminal_ended(struct super *s, uint64_t id)
{
	struct terminal *t = terminal_of(s, id);
	if (!t)
		return;
	terminal_release(t);
	terminal_count(t);
	if (t->client && s->server)
		control_server_tty(s->server, t->client, t->action, "", 0); /* no more comes */
	terminal_free(t);
	super_changed(s);
}

void terminals_free(struct super *s)
{
	for (struct terminal *t = terminal_hub_terminals, *next; t; t = next) {
		next = t->next;
		if (t->s == s)
			terminal_free(t);
	}
}

static void terminal_detach(struct terminal *t, const char *why)
{
	struct event at = terminal_place(t);
	struct ev_terminal_detached body = { EV_SET(client, (int64_t)t->client),
					     .why = ev_text_of(why) };
	terminal_count(t);
	t->client = 0;
	buf_reset(&t->held);
	terminal_hold(t, false);
	record_ev_terminal_detached(t->s->record, &at, &body);
	super_changed(t->s);
}

void terminal_stopped(void *super, uint64_t action, int signo)
{
	struct super *s = super;
	struct terminal *t = terminal_of(s, action);
	if (!t || t->stopped == (signo != 0))
		return;
	t->stopped = signo != 0;
	struct event at = terminal_place(t);
	record_ev_terminal_stopped(
		s->record, &at,
		&(struct ev_terminal_stopped){ EV_SET(stopped, t->stopped), .signal = signo });
	super_changed(s);
}

void terminals_left(struct super *s, uint64_t client)
{
	for (struct terminal *t = terminal_hub_terminals; t; t = t->next)
		if (t->s == s && t->client == client)
			terminal_detach(t, "left");
}

void terminal_output(void *super, uint64_t action, enum record_stream stream, const void *bytes,
		     size_t len)
{
	struct super *s = super;
	struct terminal *t = stream == STREAM_PTY ? terminal_of(s, action) : NULL;
	if (stream == STREAM_PTY)
		screen_keys_output(s, action, len);
	if (!t || !t->client || !s->server)
		return;
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	record_clean_piece(s->record, &t->held, bytes, len, false, &clean);
	if (clean.len)
		control_server_tty(s->server, t->client, action, clean.data, clean.len);
	if (t->held.len)
		loop_timer_set(t->release, RELEASE_MS, 0);
	if (control_server_unread(s->server, t->client) > UNREAD_MAX) {
		terminal_hold(t, true);
		loop_timer_set(t->look, LOOK_MS, 0);
	}
}

/* --- input --- */

struct keys_in { /* recorded, not committed yet */
	struct super *s;
	uint64_t action;
	struct buf bytes;
};

static void keys_now(void *self)
{
	struct keys_in *k = self;
	struct err none = ERR_INIT; /* it has ended meanwhile */
	struct terminal *t = terminal_of(k->s, k->action);
	if (t)
		t->writing -= k->bytes.len;
	if (boxes_stdin(k->s->boxes, k->action, buf_cstr(&k->bytes), k->bytes.len, false, &none) <
	    0)
		none = ERR_INIT;
	buf_release(&k->bytes);
	free(k);
}

static void type_recorded(struct terminal *t, const void *bytes, size_t len)
{
	struct keys_in *k = NEW(struct keys_in);
	*k = (struct keys_in){ .s = t->s, .action = t->action };
	buf_append(&k->bytes, bytes, len);
	t->writing += len;
	struct event at = terminal_place(t);
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	int64_t held = record_typed_input(t->s->record, t->action, bytes, len, &clean);
	uint64_t seq = record_ev_proc_stdin(
		t->s->record, &at,
		&(struct ev_proc_stdin){ .data = { buf_cstr(&clean), clean.len },
					 .held_bytes = held });
	record_barrier(t->s->record, seq, keys_now, k);
}

static bool is_recorded(const struct terminal *t)
{
	return strcmp(t->record_input, "full") == 0 && boxes_echoes(t->s->boxes, t->action);
}

void terminal_typed(void *super, uint64_t client, uint64_t action, const void *bytes, size_t len)
{
	struct super *s = super;
	struct terminal *t = terminal_of(s, action);
	const struct action *act = t && t->client == client ? gate_action(s->gate, action) : NULL;
	struct err none = ERR_INIT;
	if (!act || action_state(act) != ACTION_RUNNING ||
	    boxes_stdin_queued(s->boxes, action) + t->writing + len > AHEAD_MAX)
		return;
	if (strcmp(t->record_input, "off") != 0 && !is_recorded(t)) {
		if (!t->typed)
			loop_timer_set(t->count, COUNT_MS, 0);
		t->typed += len;
	}
	if (t->writing || is_recorded(t)) /* in the order in which it was typed */
		type_recorded(t, bytes, len);
	else if (boxes_stdin(s->boxes, action, bytes, len, false, &none) < 0)
		none = ERR_INIT; /* it has ended meanwhile */
}

/* --- commands --- */

struct tied { /* a command whose event is not committed yet */
	struct super *s;
	uint64_t action, ticket;
	struct winsize size;
	int signal; /* 0: none */
	json_t *answer;
};

static void tied_now(void *self)
{
	struct tied *t = self;
	struct err err = ERR_INIT;
	const struct action *act = gate_action(t->s->gate, t->action);
	if (t->size.ws_col && act && action_state(act) != ACTION_ENDED &&
	    boxes_resize(t->s->boxes, t->action, &t->size, &err) < 0)
		control_refuse(t->s->server, t->ticket, &err);
	else if (t->signal && boxes_signal(t->s->boxes, t->action, t->signal, &err) < 0)
		control_refuse(t->s->server, t->ticket, &err);
	else
		control_answer(t->s->server, t->ticket, json_incref(t->answer));
	json_decref(t->answer);
	free(t);
}

static int asked_size(const struct ask_for *a, struct winsize *size, struct err *err)
{
	int64_t cols = 80, rows = 24, xpixel = 0, ypixel = 0;
	if (command_opt_int(a->line, "cols", 1, 1000, &cols, err) < 0 ||
	    command_opt_int(a->line, "rows", 1, 1000, &rows, err) < 0 ||
	    command_opt_int(a->line, "xpixel", 0, 65535, &xpixel, err) < 0 ||
	    command_opt_int(a->line, "ypixel", 0, 65535, &ypixel, err) < 0)
		return -1;
	*size = (struct winsize){ .ws_col = (unsigned short)cols,
				  .ws_row = (unsigned short)rows,
				  .ws_xpixel = (unsigned short)xpixel,
				  .ws_ypixel = (unsigned short)ypixel };
	return 0;
}

static void put_size(json_t *body, const struct winsize *size)
{
	json_put_int(body, "cols", size->ws_col);
	json_put_int(body, "rows", size->ws_row);
	if (size->ws_xpixel)
		json_put_int(body, "xpixel", size->ws_xpixel);
	if (size->ws_ypixel)
		json_put_int(body, "ypixel", size->ws_ypixel);
}

static void terminal_hub_tie(const struct ask_for *a, uint64_t id, uint64_t seq,
			     const struct winsize *size, json_t *answer)
{
	struct tied *t = NEW(struct tied);
	*t = (struct tied){ .s = a->s, .action = id, .ticket = a->rq->ticket, .answer = answer };
	if (size)
		t->size = *size;
	record_barrier(a->s->record, seq, tied_now, t);
}

static struct action *action_with_terminal(const struct ask_for *a, uint64_t *id, struct err *err)
{
	if (command_args_id(command_args_word(a, 0), id, err) < 0)
		return NULL;
	struct action *act = gate_action(a->s->gate, *id);
	if (!act || action_state(act) == ACTION_ENDED) {
		err_set(err, ERR_NOENT, "action #%" PRIu64 " is not running", *id);
		return NULL;
	}
	if (action_spec(act)->kind != ACT_SHELL &&
	    !json_flag(action_spec(act)->args, "pty", false)) {
		err_set(err, ERR_INVALID, "action #%" PRIu64 " has no terminal", *id);
		return NULL;
	}
	return act;
}

/* Readers of the recording need the width of lines. */
int cmd_resize(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	struct winsize size;
	(void)out;
	struct action *act = action_with_terminal(a, &id, err);
	if (!act || asked_size(a, &size, err) < 0)
		return -1;
	struct terminal *t = terminal_of(a->s, id);
	if (t)
		t->size = size;
	screen_keys_resize(a->s, id, size.ws_row, size.ws_col);
	uint64_t seq = record_ev_proc_resize(
		a->s->record,
		&(struct event){ .cause = id,
				 .agent = action_spec(act)->agent,
				 .box = action_spec(act)->box,
				 .action = id },
		&(struct ev_proc_resize){ EV_SET(cols, size.ws_col), EV_SET(rows, size.ws_row),
					  .xpixel = size.ws_xpixel, .ypixel = size.ws_ypixel });
	terminal_hub_tie(a, id, seq, &size, NULL);
	return 1;
}

static int free_for(const struct terminal *t, const struct ask_for *a, struct err *err)
{
	if (!t->client || t->client == a->rq->client || command_has(a->line, "take"))
		return 0;
	return err_set(err, ERR_BUSY,
		       "terminal of #%" PRIu64 ": in use by client %" PRIu64
		       "\nTake it over with --take.",
		       t->action, t->client);
}

/* Stops the program, or lets it continue, as the terminal's shell would. */
static int terminal_hub_signal(const struct ask_for *a, struct terminal *t, struct err *err)
{
	const char *name = command_opt(a->line, "signal");
	int signo = !strcmp(name, "CONT") ? SIGCONT : !strcmp(name, "TSTP") ? SIGTSTP : 0;
	if (!signo)
		return err_set(err, ERR_USAGE, "--signal: expected CONT or TSTP, got '%s'", name);
	if (t->client != a->rq->client)
		return err_set(err, ERR_BUSY,
			       "terminal: only the attached client can send a signal");
	struct tied *tied = NEW(struct tied);
	*tied = (struct tied){
		.s = a->s, .action = t->action, .ticket = a->rq->ticket, .signal = signo
	};
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct event at = terminal_place(t);
	uint64_t seq = record_ev_proc_signal(
		a->s->record, &at,
		&(struct ev_proc_signal){ .signal = signo, .who = ev_who_from(&mem, a->rq->who) });
	record_barrier(a->s->record, seq, tied_now, tied);
	return 1;
}

int cmd_terminal(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	struct winsize size;
	(void)out;
	struct action *act = action_with_terminal(a, &id, err);
	struct terminal *t = act ? terminal_of(a->s, id) : NULL;
	if (act && !t)
		return err_set(err, ERR_UNSUPPORTED,
			       "the terminal of #%" PRIu64 " belongs to its script", id);
	if (!act || free_for(t, a, err) < 0)
		return -1;
	if (command_has(a->line, "leave")) {
		if (t->client == a->rq->client)
			terminal_detach(t, "detached");
		return 0;
	}
	if (command_has(a->line, "signal"))
		return terminal_hub_signal(a, t, err);
	if (asked_size(a, &size, err) < 0)
		return -1;
	uint64_t before = t->client;
	buf_reset(&t->held);
	if (before && before != a->rq->client) {
		control_server_tty(a->s->server, before, id, "", 0);
		terminal_detach(t, "taken over");
	}
	bool runs = action_state(act) == ACTION_RUNNING;
	t->client = a->rq->client;
	t->size = size;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	json_t *answer = json_object();
	json_put_int(answer, "action", (int64_t)id);
	json_put_int(answer, "offset", runs ? (int64_t)action_output_mark(act, STREAM_PTY) : 0);
	screen_keys_resize(a->s, id, size.ws_row, size.ws_col); /* and the client reads it there */
	json_put_flag(answer, "runs", runs);
	json_put_flag(answer, "first", !t->used);
	json_put_flag(answer, "stopped", t->stopped);
	t->used = true;
	json_put_int(answer, "agent", (int64_t)t->agent);
	json_put_int(answer, "box", (int64_t)t->box);
	json_put_str(answer, "name", t->name);
	struct event at = terminal_place(t);
	uint64_t seq = record_ev_terminal_attached(
		a->s->record, &at,
		&(struct ev_terminal_attached){
			EV_SET(client, (int64_t)t->client), EV_SET(cols, size.ws_col),
			EV_SET(rows, size.ws_row), .xpixel = size.ws_xpixel,
			.ypixel = size.ws_ypixel, .who = ev_who_from(&mem, a->rq->who) });
	terminal_hub_tie(a, id, seq, &size, answer);
	return 1;
}

json_t *terminals_json(struct super *s)
{
	json_t *all = json_array();
	for (const struct terminal *t = terminal_hub_terminals; t; t = t->next) {
		if (t->s != s)
			continue;
		json_t *o = json_object();
		json_put_int(o, "action", (int64_t)t->action);
		json_put_int(o, "agent", (int64_t)t->agent);
		json_put_int(o, "box", (int64_t)t->box);
		json_put_str(o, "name", t->name);
		json_put_int(o, "client", (int64_t)t->client);
		if (t->stopped)
			json_put_flag(o, "stopped", true);
		put_size(o, &t->size);
		json_array_append_new(all, o);
	}
	return all;
}
