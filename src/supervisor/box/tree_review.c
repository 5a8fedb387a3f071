/* Reviews of single parts of a sandbox's changes, and a script's merge that waits for a review
 * (box:merge{ review = true }). Such a merge is pending approval, and the approval carries the
 * accepted parts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "luahost/luahost.h"
#include "record/record_event.h"
#include "supervisor/core/parts.h"
#include "supervisor/box/hostrun.h"
#include "supervisor/box/tree_op.h"
#include "sandbox/workspace/pick.h"

struct review {
	struct review_pick got;
	struct strv left; /* keys of the rejected parts */
	json_t *comments; /* since the last merge */
};

static struct review *review_of(struct trees *t)
{
	if (!t->review) {
		t->review = NEW(struct review);
		*t->review = (struct review){ .got = { .pick = PICK_INIT }, .left = STRV_INIT };
	}
	return t->review;
}

static void forget_pick(struct review *r)
{
	pick_release(&r->got.pick);
	json_decref(r->got.who);
	r->got = (struct review_pick){ .pick = PICK_INIT };
}

void trees_review_free(struct trees *t)
{
	if (!t->review)
		return;
	forget_pick(t->review);
	strv_release(&t->review->left);
	json_decref(t->review->comments);
	free(t->review);
	t->review = NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void set_left(struct review *r, const char *key, const char *choice)
{
	size_t keep = 0;
	if (!choice)
		return;
	for (size_t i = 0; i < r->left.nr; i++) {
		if (strcmp(r->left.item[i], key) != 0)
			r->left.item[keep++] = r->left.item[i];
		else
			free(r->left.item[i]);
	}
	r->left.nr = keep;
	if (keep < r->left.cap)
		r->left.item[keep] = NULL;
	if (strcmp(choice, "leave") == 0)
		strv_push(&r->left, key);
}

/* The review of one command, for each part that it names. */
struct saying {
	const struct tree_request *rq;
	struct trees *t;
	const char *choice, *comment; /* may be NULL */
	uint64_t last;
	struct buf where; /* of the first part, for the agent */
};

static void say_part(struct saying *y, const char *path, const struct pick_file *f,
		     const struct merge_range *r, unsigned hunk)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_review_choice body = { .path = ev_text_of(path),
					 .choice = ev_text_of(y->choice),
					 .comment = ev_text_of(y->comment),
					 .who = ev_who_from(&mem, y->rq->who) };
	char hex[41] = "";
	int64_t range[4];
	CLEANUP(free_ptr) char *key = NULL;
	if (f && (r || f->whole)) {
		object_hex(&f->seen, hex);
		body.of = ev_text_of(hex);
	}
	if (r) {
		range[0] = r->old_skip;
		range[1] = r->old_lines;
		range[2] = r->new_skip;
		range[3] = r->new_lines;
		body.range.item = range;
		body.range.nr = ARRAY_LEN(range);
		if (r->text)
			body.text = (struct ev_text){ r->text, r->text_len };
		key = mem_printf("%s:%u,%u", path, r->old_skip, r->new_skip);
	} else {
		body.has_hunk = true;
		body.hunk = hunk;
		key = mem_printf("%s:%u", path, hunk);
	}
	set_left(review_of(y->t), key, y->choice);
	y->last = record_ev_review_choice(
		y->rq->s->record, &(struct event){ .cause = y->rq->cause, .box = y->t->id }, &body);
	if (y->where.len == 0 && r)
		buf_printf(&y->where, "%s, line %u", path, r->new_skip + 1);
	else if (y->where.len == 0)
		buf_printf(&y->where, hunk ? "%s, hunk %u" : "%s", path, hunk);
}

/* The last agent of the sandbox is notified before its next turn. */
static bool tree_review_tell(struct saying *y)
{
	struct super *s = y->rq->s;
	const struct agent *ag = super_agent(s, y->t->agent);
	json_t *c = json_object();
	json_put(c, "where", json_bytes_z(buf_cstr(&y->where)));
	json_put_str(c, "text", y->comment);
	json_put_str(c, "by", json_str(y->rq->who, "name", "somebody"));
	struct review *r = review_of(y->t);
	if (!r->comments)
		r->comments = json_array();
	json_array_append_new(r->comments, c);
	if (!ag || ag->ended)
		return false;
	CLEANUP(free_ptr)
	char *text = mem_printf("review of %s: %s", buf_cstr(&y->where), y->comment);
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_agent_say(s->record, &(struct event){ .cause = y->last, .agent = ag->id },
			    &(struct ev_agent_say){ .text = ev_text_of(text),
						    .who = ev_who_from(&mem, y->rq->who) });
	if (s->host)
		luahost_message(s->host, ag->id, text, y->rq->who);
	return true;
}

/* What a review command names, and says of it. */
struct picking {
	struct tree_op op; /* first: freed with it */
	struct pick pick;
	const char *choice; /* literal or NULL */
	char *comment;	    /* may be NULL */
	json_t *who;
};

static json_t *say_parts(struct picking *k)
{
	struct pick *p = &k->pick;
	struct tree_request rq = k->op.rq;
	rq.who = k->who;
	struct saying y = { .rq = &rq, .t = k->op.t, .choice = k->choice, .comment = k->comment };
	for (size_t i = 0; i < p->paths.nr; i++)
		say_part(&y, p->paths.item[i], NULL, NULL, 0);
	for (size_t i = 0; i < p->nr; i++) {
		if (p->file[i].whole)
			say_part(&y, p->file[i].path, &p->file[i], NULL, 0);
		for (size_t n = 0; n < p->file[i].nr; n++)
			say_part(&y, p->file[i].path, &p->file[i], NULL, p->file[i].hunk[n]);
		for (size_t n = 0; n < p->file[i].nr_ranges; n++)
			say_part(&y, p->file[i].path, &p->file[i], &p->file[i].range[n], 0);
	}
	json_t *out = json_object();
	json_put_int(out, "event", (int64_t)y.last);
	if (y.comment)
		json_put_flag(out, "told", tree_review_tell(&y));
	buf_release(&y.where);
	return out;
}

static void picking_release(struct picking *k)
{
	pick_release(&k->pick);
	free(k->comment);
	json_decref(k->who);
}

/* Is @pattern a file that has changed? */
static bool picked_file(const char *pattern, const char *repo, const struct ws_view *v)
{
	for (size_t i = 0; i < v->nr; i++)
		if (!ws_state_eq(&v->item[i].base, &v->item[i].now) &&
		    pick_path_matches(pattern, repo, v->item[i].path))
			return true;
	return false;
}

/* Worker: every file and hunk that is named exists. */
static void picking_work(struct tree_op *op)
{
	struct picking *k = (struct picking *)op;
	struct trees *t = op->t;
	struct ws_store st;
	CLEANUP(free_ptr) bool *found = mem_calloc(k->pick.paths.nr + 1, sizeof(*found));
	int rc = 0;
	tree_store(t, &st);
	for (size_t i = 0; rc == 0 && i < t->nr_layers; i++) {
		struct ws_view v = WS_VIEW_INIT;
		struct merge_choices choices = { 0 };
		rc = tree_view(t, i, UINT64_MAX, &v, &op->err);
		if (rc == 0)
			rc = pick_choices(&k->pick, t->layer[i].name, &v, &st, &choices, &op->err);
		for (size_t n = 0; rc == 0 && n < k->pick.paths.nr; n++)
			found[n] |= picked_file(k->pick.paths.item[n], t->layer[i].name, &v);
		merge_choices_release(&choices);
		ws_view_release(&v);
	}
	if (rc == 0)
		rc = pick_check(&k->pick, &op->err);
	for (size_t n = 0; rc == 0 && n < k->pick.paths.nr; n++)
		if (!found[n])
			rc = err_set(&op->err, ERR_NOENT, "--path: '%s' has not changed",
				     k->pick.paths.item[n]);
}

static void picking_done(struct tree_op *op)
{
	struct picking *k = (struct picking *)op;
	tree_op_answer(op, op->err.code == ERR_NONE ? say_parts(k) : NULL);
	picking_release(k);
}

/* A screen names the content it shows; numbers and names come from a user. */
static bool pick_typed(const struct pick *p)
{
	bool typed = p->paths.nr > 0;
	for (size_t i = 0; i < p->nr; i++)
		typed |= p->file[i].nr > 0;
	return typed;
}

int trees_pick_command(const struct tree_request *rq, const json_t *opts, json_t *out,
		       struct err *err)
{
	static const char *const choices[] = { "take", "leave", "open" };
	struct picking *k = NEW(struct picking);
	const char *comment = json_str(opts, "message", NULL);
	size_t said = 0;
	*k = (struct picking){ .op = { .t = super_box_trees(rq->s, rq->box),
				       .rq = *rq,
				       .work = picking_work,
				       .done = picking_done,
				       .why = "background",
				       .cause = rq->cause },
			       .pick = PICK_INIT };
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (json_object_get(opts, choices[i])) {
			k->choice = choices[i];
			said++;
		}
	int rc = k->op.t ? pick_opts(&k->pick, opts, err)
			 : err_set(err, ERR_UNSUPPORTED,
				   "this sandbox's backend gives no access to files");
	if (rc == 0 && (said > 1 || (!said && !comment)))
		rc = err_set(err, ERR_USAGE, "missing option: -m TEXT");
	if (rc == 0 && pick_all(&k->pick))
		rc = err_set(err, ERR_USAGE, "missing option: --hunks FILE:LIST or --path FILE");
	k->comment = comment ? mem_strdup(comment) : NULL;
	k->who = json_incref(rq->who);
	if (rc == 0 && pick_typed(&k->pick)) {
		tree_op_start(&k->op);
		return 1;
	}
	if (rc == 0) {
		json_t *now = say_parts(k);
		json_object_update(out, now);
		json_decref(now);
	}
	picking_release(k);
	free(k);
	return rc;
}

/* Does the sandbox still change the file of a rejected part? A rollback may have restored it. */
static bool part_stays(const struct trees *t, const char *key)
{
	size_t len = (size_t)(strrchr(key, ':') - key);
	for (size_t i = 0; i < t->nr_layers; i++) {
		const char *name = t->layer[i].name;
		size_t skip = *name ? strlen(name) + 1 : 0;
		if (skip &&
		    (len <= skip || memcmp(key, name, skip - 1) != 0 || key[skip - 1] != '/'))
			continue;
		if (ws_touched(t->layer[i].ws, key + skip, len - skip))
			return true;
	}
	return false;
}

static size_t rejected_parts(const struct trees *t, const struct review *r)
{
	size_t nr = 0;
	for (size_t i = 0; i < r->left.nr; i++) /* a worker may be changing the state: all stay */
		nr += t->running || part_stays(t, r->left.item[i]);
	return nr;
}

struct closed_reviews {
	json_t *rejected; /* rejected parts of closed sandboxes, a number by id; NULL: none */
};

static void closed_reviews_release(void *object)
{
	struct closed_reviews *c = object;
	json_decref(c->rejected);
}

static struct closed_reviews *closed_reviews_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct closed_reviews),
						closed_reviews_release };
	return super_part(s, &part);
}

void trees_review_close(struct trees *t)
{
	size_t nr = t->review ? rejected_parts(t, t->review) : 0;
	CLEANUP(free_ptr) char *id = mem_printf("%" PRIu64, t->id);
	struct closed_reviews *c = closed_reviews_of(t->s);
	if (nr && !c->rejected)
		c->rejected = json_object();
	if (nr)
		json_put_int(c->rejected, id, (int64_t)nr);
}

static size_t rejected_before(const struct super *s, uint64_t box)
{
	CLEANUP(free_ptr) char *id = mem_printf("%" PRIu64, box);
	return (size_t)json_int(closed_reviews_of(s)->rejected, id, 0);
}

static size_t all_rejected_parts(struct super *s, const struct action_spec *spec, struct trees *t)
{
	size_t nr = spec->boxes ? 0 : rejected_parts(t, review_of(t));
	for (size_t i = 0; i < json_array_size(spec->boxes); i++) {
		const json_t *b = json_array_get(spec->boxes, i);
		uint64_t id = (uint64_t)json_int(b, "box", 0);
		struct trees *of = super_box_trees(s, id);
		nr += of ? rejected_parts(of, review_of(of)) : rejected_before(s, id);
	}
	return nr;
}

bool trees_review_rejected(struct super *s, uint64_t action)
{
	const struct action *a = gate_action(s->gate, action);
	const struct action_spec *spec = a ? action_spec(a) : NULL;
	struct trees *t = spec && spec->kind == ACT_MERGE ? super_box_trees(s, spec->box) : NULL;
	return spec && spec->kind == ACT_MERGE && (t || spec->boxes) &&
	       all_rejected_parts(s, spec, t) > 0;
}

/* --- a merge that waits for them -------------------------------------------------------------- */

int trees_review_approve(const struct tree_request *rq, uint64_t action, const json_t *opts,
			 struct err *err)
{
	const struct action *a = gate_action(rq->s->gate, action);
	const struct action_spec *spec = a ? action_spec(a) : NULL;
	bool named = json_object_get(opts, "path") || json_object_get(opts, "hunks");
	struct trees *t =
		spec && spec->kind == ACT_MERGE ? super_box_trees(rq->s, spec->box) : NULL;
	bool several = spec && spec->kind == ACT_MERGE && spec->boxes;
	if (named && several)
		return err_set(err, ERR_USAGE,
			       "--path and --hunks require a merge of one sandbox; #%" PRIu64
			       " merges several",
			       action);
	if (named && a && !t)
		return err_set(err, ERR_USAGE,
			       "--path and --hunks require a merge; #%" PRIu64 " is not one",
			       action);
	if (!t && !several)
		return 0; /* not of a merge: nothing to do here */
	size_t rejected = named ? 0 : all_rejected_parts(rq->s, spec, t);
	if (rejected)
		return err_set(
			err, ERR_INVALID, "%zu %s rejected in the review\n%s", rejected,
			rejected == 1 ? "part is" : "parts are",
			several ? "Deny the merge. A merge of one sandbox can take the accepted parts."
				: "Name the accepted parts with --path and --hunks, or deny the merge.");
	if (!t)
		return 0; /* all of its sandboxes are closed */
	struct review *r = review_of(t);
	forget_pick(r);
	if (pick_opts(&r->got.pick, opts, err) < 0) {
		forget_pick(r);
		return -1;
	}
	r->got.action = action;
	r->got.who = json_incref(rq->who);
	return 0;
}

void trees_review_forget(struct super *s, uint64_t action)
{
	for (size_t i = 0; boxes_at(s->boxes, i); i++) {
		struct trees *t = super_box_trees(s, boxes_at(s->boxes, i));
		if (t && t->review && t->review->got.action == action)
			forget_pick(t->review);
	}
}

bool trees_review_take(struct trees *t, uint64_t action, struct review_pick *out)
{
	if (!t->review || t->review->got.action != action)
		return false;
	*out = t->review->got;
	t->review->got = (struct review_pick){ .pick = PICK_INIT };
	return true;
}

json_t *trees_review_comments(struct trees *t)
{
	json_t *c = t->review ? t->review->comments : NULL;
	if (t->review) {
		t->review->comments = NULL;
		strv_release(&t->review->left);
		t->review->left = STRV_INIT;
	}
	return c ? c : json_array();
}
