/* Part of dry_run.c: the end of a dry run, its report, and its answer. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/dry_run_priv.h"

static void dry_run_put_hash(json_t *o, const char *key, const struct hash *h)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, h->b, HASH_LEN);
	json_put_str(o, key, buf_cstr(&hex));
}

/* --- the end --- */

static json_t *dry_run_reasons(const struct dry_run *p)
{
	const struct {
		bool is;
		const char *name;
	} known[] = {
		{ p->refused || p->names || json_array_size(p->hosts), "network" },
		{ p->local > 0, "local" },
		{ p->tmp > 0, "tmp" },
		{ p->left > 0, "procs" },
		{ !strcmp(p->end, "timeout"), "time" },
		{ p->flooded, "output" },
		{ p->hash_only, "hash_only" },
		{ p->blind, "blind" },
		{ p->partial, "partial" },
	};
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].is)
			json_array_append_new(list, json_string(known[i].name));
	return list;
}

static json_t *ended_body(struct dry_run *p)
{
	json_t *b = json_object(), *trees = json_array(), *net = json_object();
	for (size_t i = 0; i < p->nr_layers; i++)
		if (p->layer[i].seq)
			json_array_append_new(trees, json_integer((json_int_t)p->layer[i].seq));
	json_put_int(b, "preview", (int64_t)p->seq);
	json_put_int(b, "of", (int64_t)p->action);
	json_put_str(b, "end", p->end);
	if (p->err.code != ERR_NONE)
		json_put_str(b, "why", p->err.text);
	if (p->signal)
		json_put_int(b, "signal", p->signal);
	else
		json_put_int(b, "code", p->code);
	json_put_int(b, "dur_us", p->took_us);
	json_put_int(b, "out_bytes", p->bytes[0]);
	json_put_int(b, "err_bytes", p->bytes[1]);
	json_put_int(b, "left", p->left);
	json_put(b, "trees", trees);
	json_put(b, "files", p->files ? json_incref(p->files) : json_array());
	if (p->more)
		json_put_int(b, "more", p->more);
	json_put_int(b, "added", p->added);
	json_put_int(b, "removed", p->removed);
	dry_run_put_hash(b, "before", &p->before);
	dry_run_put_hash(b, "intent", &p->intent);
	json_put_int(net, "refused", p->refused);
	json_put_int(net, "names", p->names);
	json_put_int(net, "local", p->local);
	json_put(net, "hosts", p->hosts ? json_incref(p->hosts) : json_array());
	json_put(b, "net", net);
	json_put_int(b, "tmp", p->tmp);
	json_put(b, "incomplete", dry_run_reasons(p));
	if (p->flooded)
		json_put_flag(b, "cut", true);
	return b;
}

static void record_trees(struct dry_run *p)
{
	for (size_t i = 0; i < p->nr_layers; i++) {
		struct dry_run_layer *ly = &p->layer[i];
		if (!ly->body)
			continue;
		json_put_int(ly->body, "preview", (int64_t)p->seq);
		json_put_str(ly->body, "repo", ly->name);
		CLEANUP(free_ptr) char *text = json_dump_str(ly->body);
		struct event ev = { .cause = p->seq,
				    .agent = p->agent,
				    .box = p->box,
				    .action = p->action,
				    .kind = EV_PREVIEW_TREE,
				    .body = text,
				    .len = strlen(text) };
		struct objects *o = p->objects ? p->objects : objects_new();
		p->objects = NULL;
		ly->seq = record_objects(p->s->record, o, &ev);
	}
	objects_free(&p->objects);
}

struct answer {
	struct super *s;
	uint64_t ticket;
	json_t *body;
};

static void answer_now(void *self)
{
	struct answer *a = self;
	if (a->s->server)
		control_answer(a->s->server, a->ticket, a->body);
	else
		json_decref(a->body);
	free(a);
}

/* Lets the sandbox continue, then answers the caller once the end is committed. */
static void dry_run_let_go(struct dry_run *p)
{
	struct super *s = p->s;
	boxes_pin(s->boxes, p->box, false);
	if (p->job) {
		p->job->data = NULL; /* it may outlive us */
		tree_job_release(take(&p->job));
	}
	if (p->locked) {
		p->locked = false;
		gate_box_lock(s->gate, p->box, false);
	}
	s->background--;
	super_maybe_finish(s);
}

void dry_run_closed(struct dry_run *p)
{
	struct super *s = p->s;
	if (p->cancelled)
		p->end = "cancelled";
	bool good = !strcmp(p->end, "ok") && !p->flooded;
	if (!strcmp(p->end, "ok") || !strcmp(p->end, "timeout"))
		record_trees(p);
	json_t *body = ended_body(p);
	uint64_t seq = record_append_json(s->record, EV_PREVIEW_ENDED, p->seq, p->agent, p->box,
					  p->action, json_incref(body));
	if (p->ticket) {
		struct answer *a = NEW(struct answer);
		*a = (struct answer){ .s = s, .ticket = p->ticket, .body = json_incref(body) };
		record_barrier(s->record, seq, answer_now, a);
	}
	json_decref(body);
	p->stage = DRY_RUN_OVER;
	dry_run_let_go(p);
	if (good && p->t && gate_action(s->gate, p->action))
		return;
	if (p->dir)
		remove_later(s, take(&p->dir));
	dry_run_free(p);
}

void dry_run_fail(struct dry_run *p, const struct err *err)
{
	p->err = *err;
	p->end = "failed";
	dry_run_closed(p);
}
