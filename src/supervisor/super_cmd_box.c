/* Users' commands about sandboxes and their files (a part of super_cmd.c): copies, merge, review,
 * undo, dry runs, repeats. Most take time and answer by their ticket. */
#include <inttypes.h>
#include <string.h>

#include "supervisor/super_priv.h"
#include "supervisor/people/operator_box.h"
#include "supervisor/trial/dry_run.h"
#include "supervisor/trial/repeat.h"
#include "supervisor/core/resumed.h"
#include "supervisor/box/super_box.h"
#include "supervisor/people/super_cmd.h"
#include "supervisor/box/super_tree.h"
#include "supervisor/box/tree_several.h"

/* --- what a user does in a box --- */

int cmd_box_copy(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	const char *which = command_args_word(a, 0), *host = command_args_word(a, 3);
	bool put = !strcmp(which, "put");
	(void)out;
	if (!put && strcmp(which, "get") != 0)
		return err_set(err, ERR_USAGE, "expected put or get, got '%s'", which);
	if (*host != '/')
		return err_set(err, ERR_USAGE, "expected an absolute path, got '%s'", host);
	if (command_args_box(a, command_args_word(a, 1), &id, err) < 0)
		return -1;
	operator_box_copy(a, id, put, command_args_word(a, 2), host);
	return 1;
}

int cmd_box_look(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (command_args_box(a, command_args_word(a, 0), &id, err) < 0)
		return -1;
	operator_box_look(a, id, command_args_word(a, 1));
	return 1;
}

int cmd_box_snapshot(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (command_args_box(a, command_args_word(a, 0), &id, err) < 0)
		return -1;
	return operator_box_snapshot(a, id, command_args_word(a, 1), err) < 0 ? -1 : 1;
}

/* --- the files of boxes: these take time and answer by their ticket --- */

/* One open sandbox is merged from its files, all others from the recording. */
static bool merge_from_recording(struct ask_for *a)
{
	const char *name = command_args_word(a, 0);
	struct err none = ERR_INIT;
	uint64_t id;
	if (command_args_word(a, 1) || command_has(a->line, "all") ||
	    command_has(a->line, "leave") || command_has(a->line, "take"))
		return true;
	return name ? command_args_box(a, name, &id, &none) < 0 : boxes_count(a->s->boxes) == 0;
}

int cmd_merge(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	CLEANUP(json_release) json_t *o = command_line_opts(a->line);
	bool recorded = merge_from_recording(a);
	if (!recorded && command_args_one_box(a, command_args_word(a, 0), &id, err) < 0)
		return -1;
	struct tree_request rq = { .s = a->s,
				   .box = recorded ? 0 : id,
				   .ticket = a->rq->ticket,
				   .cause = a->rq->cause,
				   .who = a->rq->who };
	if (recorded) {
		trees_merge_several(&rq, &a->line->words, o);
		return 1;
	}
	return trees_merge_command(&rq, o, err) < 0 ? -1 : 1;
}

int cmd_review(struct ask_for *a, json_t *out, struct err *err)
{
	static const char *const choices[][2] = { { "accept", "take" },
						  { "reject", "leave" },
						  { "undecided", "open" },
						  { "comment", NULL } };
	const char *word = command_args_word(a, 0);
	size_t c = 0;
	while (c < ARRAY_LEN(choices) && (!word || strcmp(word, choices[c][0]) != 0))
		c++;
	if (c == ARRAY_LEN(choices))
		return err_set(err, ERR_USAGE,
			       "expected accept, reject, undecided, or comment, got '%s'",
			       word ? word : "");
	uint64_t id;
	if (command_args_one_box(a, command_args_word(a, 1), &id, err) < 0)
		return -1;
	CLEANUP(json_release) json_t *o = command_line_opts(a->line);
	if (choices[c][1])
		json_put_flag(o, choices[c][1], true);
	struct tree_request rq = { .s = a->s,
				   .box = id,
				   .ticket = a->rq->ticket,
				   .cause = a->rq->cause,
				   .who = a->rq->who };
	return trees_pick_command(&rq, o, out, err);
}

int cmd_rollback(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id, to;
	(void)out;
	if (command_args_id(command_args_word(a, 0), &to, err) < 0 ||
	    command_args_one_box(a, command_opt(a->line, "box"), &id, err) < 0)
		return -1;
	struct tree_request rq = { .s = a->s,
				   .box = id,
				   .ticket = a->rq->ticket,
				   .cause = a->rq->cause,
				   .who = a->rq->who };
	return trees_rollback_command(&rq, to, command_has(a->line, "tell"), err) < 0 ? -1 : 1;
}

/* Is @seq an action in a box, whose files it may have changed? Then its box. */
static bool is_action(struct super *s, uint64_t seq, uint64_t *box_out)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct session *read;
	struct event ev;
	struct err err;
	if (!seq || session_open(&read, record_path(s->record), &err) < 0)
		return false;
	bool is = session_event(read, seq, &ev, &arena, &err) == 0 &&
		  ev.kind == EV_ACTION_REQUESTED && ev.box;
	CLEANUP(json_release)
	json_t *body = is && ev.body ? json_parse(ev.body, ev.len, "action", &err) : NULL;
	*box_out = ev.box;
	session_close(&read);
	const char *kind = json_str(body, "kind", "");
	return is && strcmp(kind, "merge") != 0;
}

int cmd_undo(struct ask_for *a, json_t *out, struct err *err)
{
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	uint64_t what = 0;
	if (command_args_word(a, 0) && command_args_id(command_args_word(a, 0), &what, err) < 0)
		return -1;
	struct tree_request rq = {
		.s = a->s, .ticket = a->rq->ticket, .cause = a->rq->cause, .who = a->rq->who
	};
	if (what > record_head(a->s->record))
		return err_set(err, ERR_NOENT, "event #%" PRIu64 " not found", what);
	uint64_t ran_in;
	if (is_action(a->s, what, &ran_in)) {
		rq.box = resume_box(a->s->resume, ran_in);
		if (command_has(a->line, "box") &&
		    command_args_one_box(a, command_opt(a->line, "box"), &rq.box, err) < 0)
			return -1;
		return trees_undo_action(&rq, what, ran_in, err) < 0 ? -1 : 1;
	}
	if (command_has(a->line, "box"))
		return err_set(err, ERR_USAGE,
			       "--box requires the ID of an action that ran in a sandbox");
	uint64_t set = what ? what : gate_newest_set(a->s->gate);
	if ((what || set > trees_undo_at(a->s)) &&
	    gate_take_back(a->s->gate, set, a->rq->who, &said)) {
		json_put_str(out, "text", buf_cstr(&said));
		return 0;
	}
	trees_undo_command(&rq, what, gate_newest_set(a->s->gate));
	return 1;
}

int cmd_dry_run(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return -1;
	struct tree_request rq = {
		.s = a->s, .ticket = a->rq->ticket, .cause = a->rq->cause, .who = a->rq->who
	};
	return dry_run_begin(&rq, id, err) < 0 ? -1 : 1;
}

int cmd_apply(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	struct hash hash = { { 0 } };
	const char *intent = command_opt(a->line, "intent");
	(void)out;
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return -1;
	if (intent && !hex_parse(intent, strlen(intent), hash.b, HASH_LEN))
		return err_set(err, ERR_USAGE, "--intent: expected 64 hexadecimal digits, got '%s'",
			       intent);
	struct tree_request rq = {
		.s = a->s, .ticket = a->rq->ticket, .cause = a->rq->cause, .who = a->rq->who
	};
	if (!gate_action(a->s->gate, id) && repeat_is_second_run(a->s, id))
		return repeat_apply(&rq, id, err) < 0 ? -1 : 1;
	return dry_run_apply(&rq, id, command_opt(a->line, "message"), &hash, err) < 0 ? -1 : 1;
}

int cmd_repeat_here(struct ask_for *a, json_t *out, struct err *err)
{
	struct repeat_want w = { .from = command_opt(a->line, "from"),
				 .keep = command_has(a->line, "keep"),
				 .end = command_has(a->line, "end"),
				 .now = command_has(a->line, "now"),
				 .backend = command_opt(a->line, "backend") };
	(void)out;
	if (w.backend && !driver_find(w.backend))
		return err_set(err, ERR_USAGE,
			       "unknown backend '%s'\n'sandglass doctor' lists the backends.",
			       w.backend);
	if (command_args_id(command_args_word(a, 0), &w.action, err) < 0)
		return -1;
	struct tree_request rq = {
		.s = a->s, .ticket = a->rq->ticket, .cause = a->rq->cause, .who = a->rq->who
	};
	return repeat_begin(&rq, &w, err) < 0 ? -1 : 1;
}
