/* Part of super_box.c: a sandbox is opened, forked, or opened again. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "supervisor/box/super_box_priv.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/box_ops.h"
#include "supervisor/box/box_request.h"
#include "inside/proxy.h"
#include "supervisor/box/box_state.h"
#include "secrets/honeytoken.h"
#include "luahost/answer_cache.h"
#include "supervisor/core/resumed.h"
#include "supervisor/net/super_net.h"
#include "supervisor/box/super_tree.h"

/* --- open --- */

static char *unique_name(struct super *s, const char *want)
{
	char *name = op_plain_name(want, "box");
	for (int n = 2; boxes_find(s->boxes, name); n++) {
		free(name);
		CLEANUP(free_ptr) char *base = op_plain_name(want, "box");
		name = mem_printf("%s-%d", base, n);
	}
	return name;
}

/* The state of an earlier box, for who is still the same in this one. */
static int super_box_continued(struct super *s, const json_t *args, json_t *open, struct err *err)
{
	uint64_t owner = (uint64_t)json_int(args, "state", 0);
	if (json_flag(args, "stays", false))
		json_put_flag(open, "stays", true);
	if (!owner)
		return 0;
	for (struct super_box *b = super_boxes_of(s)->first; b; b = b->next)
		if (b->owner == owner)
			return err_set(err, ERR_BUSY, "the state of sandbox #%llu is in use",
				       (unsigned long long)owner);
	if (!box_state_may_continue(s, owner))
		return err_set(err, ERR_NOENT, "sandbox #%llu has left no state to continue",
			       (unsigned long long)owner);
	json_put_int(open, "state", (int64_t)owner);
	return 0;
}

/* boxes_ops.state_dir: what an earlier supervisor left in the state of a box that this one stands
 * for is used. */
char *super_box_state(void *super, uint64_t box, const struct box_opts *o)
{
	bool same = o->state && (o->was || !o->fork_box);
	return box_state_dir(super, same ? (uint64_t)o->state : box, o->name);
}

/* Opens a box as @open says, whether a script or the record said it. */
static struct super_box *box_begin(struct super *s, const struct driver *d, const char *want_name,
				   const json_t *open, uint64_t cause, uint64_t agent)
{
	struct owned_opts o;
	CLEANUP(free_ptr) char *name = unique_name(s, want_name);
	box_opts_get(&o, open);
	o.o.name = name;
	struct super_box *b = NEW(struct super_box);
	b->name = mem_strdup(name);
	b->notices = json_array();
	b->id = boxes_open(s->boxes, d, &o.o, cause, agent);
	b->dir = mem_strdup(boxes_opts(s->boxes, b->id)->state_dir);
	b->keep = o.o.keep;
	b->stays = o.o.stays;
	b->owner = o.o.state && (o.o.was || !o.o.fork_box) ? (uint64_t)o.o.state : b->id;
	if (b->stays)
		box_state_stays(s, b->owner);
	struct super_boxes *all = super_boxes_of(s);
	b->next = all->first;
	all->first = b;
	if (o.o.net)
		b->net = net_new(s, b->id, o.o.host, o.o.nr_hosts);
	if (json_array_size(o.o.proxies))
		b->proxies = proxies_new(s, b->id, o.o.proxies);
	b->honey = honeytoken_new(s, b->id, o.o.honeytokens);
	box_opts_free(&o);
	return b;
}

/* Opened by this very call before the session broke off or was forked: it is there again. */
static bool open_already(struct call *c)
{
	uint64_t old;
	if (!call_done_before(c, EV_BOX_OPEN, &old))
		return false;
	uint64_t now = resume_box(c->super->resume, old);
	if (now == old || !boxes_get(c->super->boxes, now))
		return false; /* it had not come so far as to be opened again */
	super_box_answer(c->super, now, c);
	return true;
}

/* No caller waits for the sandbox now: it is closed once it is open. */
static void cancel_opener(struct call *c)
{
	struct super *s = c->super;
	for (struct super_box *b = super_boxes_of(s)->first; b; b = b->next)
		if (b->opener == c) {
			b->opener = NULL;
			super_box_close(s, b->id);
			call_fail(c, "cancelled", NULL, NULL, b->id, "cancelled");
			return;
		}
}

int super_box_open(struct call *c, struct err *err)
{
	struct super *s = c->super;
	CLEANUP(json_release) json_t *open = json_object();
	if (open_already(c))
		return 0;
	call_mark(c, open);
	const struct driver *d = box_request_driver(s, c->args, err);
	if (!d || box_request_options(json_object_get(c->args, "options"), err) < 0 ||
	    box_request_hosts(json_object_get(c->args, "net"), err) < 0 ||
	    box_request_open(s, c->args, open, err) < 0 ||
	    super_box_continued(s, c->args, open, err) < 0 ||
	    honeytoken_option(d, json_object_get(c->args, "honeytokens"), open, err) < 0)
		return -1;
	if (json_array_size(json_object_get(json_object_get(open, "trace"), "hold")) &&
	    !(d->caps & CAP_TRACE))
		return err_set(
			err, ERR_UNSUPPORTED,
			"hold_exec: backend '%s' doesn't report started programs; use \"process\"",
			d->name);
	struct super_box *b = box_begin(s, d, json_str(c->args, "name", "box"), open,
					c->agent ? c->agent : s->start_seq, c->agent);
	b->opener = c;
	c->cancel = cancel_opener;
	return 0;
}

int super_box_fork(struct call *c, uint64_t from, uint64_t n, struct err *err)
{
	struct super *s = c->super;
	const struct box_opts *like = boxes_opts(s->boxes, from);
	struct box *src = boxes_get(s->boxes, from);
	if (c->cancelled)
		return err_set(err, ERR_CANCELLED, "cancelled");
	if (!like || !src)
		return err_set(err, ERR_CLOSED, "the sandbox to copy has ended");
	CLEANUP(json_release) json_t *open = json_object();
	box_opts_put(open, like);
	json_put_int(open, "was", 0);
	json_object_del(open, "stays");
	json_put_int(open, "state", (int64_t)from);
	json_object_del(open, "call");
	json_t *fork = json_object();
	json_put_int(fork, "box", (int64_t)from);
	json_put_int(fork, "n", (int64_t)n);
	json_put(open, "fork", fork);
	struct super_box *b = box_begin(s, src->driver, json_str(c->args, "name", like->name), open,
					c->agent ? c->agent : from, c->agent);
	b->opener = c;
	c->cancel = cancel_opener;
	b->fork_from = from;
	b->fork_n = n;
	return 0;
}

/* The driver of a recorded box.open. */
static const struct driver *driver_again(const json_t *open, struct err *err)
{
	const char *name = json_str(open, "driver", ""), *file = json_str(open, "file", NULL);
	const struct driver *d = driver_find(file ? file : name);
	if (!d && file)
		err_set(err, ERR_UNSUPPORTED, "can't read the backend's file '%s'", file);
	else if (!d)
		err_set(err, ERR_UNSUPPORTED, "unknown backend '%s'", name);
	return d;
}

uint64_t super_box_reopen(struct super *s, uint64_t old, const json_t *open,
			  const struct old_snap *snap, size_t nr, bool restore, struct err *err)
{
	const struct driver *d = driver_again(open, err);
	if (!d)
		return 0;
	CLEANUP(json_release) json_t *again = json_copy((json_t *)(uintptr_t)open);
	json_put_int(again, "was", (int64_t)old);
	json_put_int(again, "state", (int64_t)box_state_owner(old, open));
	json_object_del(again, "call");
	struct super_box *b =
		box_request_again(open, err) == 0
			? box_begin(s, d, json_str(open, "name", "box"), again, old, 0)
			: NULL;
	if (!b)
		return 0;
	b->reopened = true;
	b->adopt = snap;
	b->nr_adopt = nr;
	b->restore = restore;
	return b->id;
}

uint64_t super_box_open_as(struct super *s, const json_t *open, const char *name, uint64_t cause,
			   super_box_ready_fn *ready, void *self, struct err *err)
{
	const struct driver *d = driver_again(open, err);
	if (!d)
		return 0;
	CLEANUP(json_release) json_t *like = json_copy((json_t *)(uintptr_t)open);
	json_put_int(like, "was", 0);
	json_object_del(like, "state");
	json_object_del(like, "stays");
	json_object_del(like, "call");
	json_object_del(like, "fork");
	json_object_del(like, "trace"); /* nothing is asked a second time */
	struct super_box *b =
		box_request_again(open, err) == 0 ? box_begin(s, d, name, like, cause, 0) : NULL;
	if (!b)
		return 0;
	b->ready = ready;
	b->ready_self = self;
	return b->id;
}
