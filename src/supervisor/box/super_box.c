#include "supervisor/box/past_secrets.h"
#include "supervisor/core/call.h"
#include "supervisor/core/parts.h"
#include "supervisor/box/super_box.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "inside/proxy.h"
#include "supervisor/box/box_state.h"
#include "supervisor/box/box_port.h"
#include "supervisor/box/notices.h"
#include "supervisor/box/disk_watch.h"
#include "secrets/honeytoken.h"
#include "secrets/project.h"
#include "supervisor/core/resumed.h"
#include "supervisor/net/super_net.h"
#include "supervisor/box/super_tree.h"
#include "record/record_event.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/notice.h"
#include "supervisor/box/super_box_priv.h"

enum { FOREIGN_NAMED = 5 };

struct super_boxes *super_boxes_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct super_boxes), NULL };
	return super_part(s, &part);
}

int super_box_init(struct super *s, struct err *err)
{
	return box_state_init(s, err);
}

static struct super_box *super_box_find(struct super *s, uint64_t id)
{
	for (struct super_box *b = super_boxes_of(s)->first; b; b = b->next)
		if (b->id == id)
			return b;
	return NULL;
}

static void super_box_drop(struct super *s, struct super_box *b)
{
	for (struct super_box **p = &super_boxes_of(s)->first; *p; p = &(*p)->next)
		if (*p == b) {
			*p = b->next;
			break;
		}
	if (b->closer)
		call_answer(b->closer, NULL);
	net_free(&b->net);
	proxies_free(&b->proxies);
	disk_watch_free(&b->disk);
	honeytoken_forget(&b->honey);
	super_trees_free(&b->trees);
	json_decref(b->notices);
	free(b->dir);
	free(b->name);
	free(b);
}

void super_box_release(struct super *s)
{
	struct super_boxes *all = super_boxes_of(s);
	while (all->first)
		super_box_drop(s, all->first);
	past_secrets_release(s);
	box_state_end(s);
}

json_t *super_box_proxy_usage(struct super *s, const char *key)
{
	json_t *sum = json_object();
	for (struct super_box *b = super_boxes_of(s)->first; b; b = b->next)
		proxies_usage(b->proxies, key, sum);
	return sum;
}

uint64_t super_box_caller(void *super, uint64_t box, const json_t *argv, const char **how_out)
{
	const struct super_box *b = super_box_find(super, box);
	return b ? proxies_caller(b->proxies, argv, how_out) : 0;
}

uint64_t super_box_allowed(struct super *s, uint64_t box, uint64_t agent, enum action_kind kind,
			   const char *id, const char *what)
{
	struct super_box *b = super_box_find(s, box);
	return b ? proxies_allowed(b->proxies, agent, kind, id, what) : 0;
}

bool super_box_busy(struct super *s)
{
	for (struct super_box *b = super_boxes_of(s)->first; b; b = b->next)
		if (b->trees && trees_busy(b->trees))
			return true;
	return false;
}

json_t *super_box_notices(struct super *s, uint64_t box)
{
	struct super_box *b = super_box_find(s, box);
	return b ? b->notices : NULL;
}

struct trees *super_box_trees(struct super *s, uint64_t box)
{
	struct super_box *b = super_box_find(s, box);
	return b ? b->trees : NULL;
}

static void tell_ready(struct super_box *sb, const struct err *err)
{
	super_box_ready_fn *ready = take(&sb->ready);
	if (ready)
		ready(sb->ready_self, sb->id, err);
}

static void super_box_adopted(struct super *s, uint64_t box, const struct err *err)
{
	resume_box_ready(s->resume, box, err);
}

static enum gate_wall super_box_wall_of(const struct box *b)
{
	return !strcmp(b->profile, "none")	? WALL_NONE
	       : !strcmp(b->profile, "reduced") ? WALL_CAREFUL
						: WALL_BOXED;
}

static json_t *caps_of(const struct box *b)
{
	static const struct {
		unsigned cap;
		const char *name;
	} known[] = { { CAP_STREAMS, "streams" }, { CAP_STDIN, "stdin" },
		      { CAP_SIGNAL, "signal" },	  { CAP_PTY, "pty" },
		      { CAP_FREEZE, "freeze" },	  { CAP_SNAPSHOT, "snapshot" },
		      { CAP_FORK, "fork" },	  { CAP_LISTEN, "listen" },
		      { CAP_DIAL, "dial" },	  { CAP_DIAL_HTTP, "dial_http" },
		      { CAP_SHELL, "shell" } };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		json_put_flag(o, known[i].name, box_can(b, known[i].cap));
	return o;
}

/* The sandbox and its first snapshot are there: the script continues. */
static void answer_opener(struct super *s, struct super_box *sb)
{
	struct call *c = sb->opener;
	sb->opener = NULL;
	if (c)
		super_box_answer(s, sb->id, c);
}

void super_box_answer(struct super *s, uint64_t box, struct call *c)
{
	struct super_box *sb = super_box_find(s, box);
	struct box *b = boxes_get(s->boxes, box);
	if (!sb || !b) {
		call_fail(c, "backend", NULL, NULL, box, "sandbox '%s' has ended",
			  sb ? sb->name : "");
		return;
	}
	if (c->cancelled) {
		super_box_close(s, box);
		call_fail(c, "cancelled", NULL, NULL, box, "cancelled");
		return;
	}
	json_t *v = json_object();
	json_put_int(v, "box", (int64_t)sb->id);
	json_put_str(v, "name", sb->name);
	if (sb->stays)
		json_put_int(v, "state", (int64_t)sb->owner);
	json_put_str(v, "backend", b->driver->name);
	json_put_str(v, "profile", b->profile);
	json_put_str(v, "workspace", b->workspace ? b->workspace : "/workspace");
	json_put(v, "caps", caps_of(b));
	json_put(v, "notices", notices_texts(s, box));
	const char *name, *dir;
	struct trees *t = super_box_trees(s, box);
	for (size_t i = 0; t && trees_repo(t, i, &name, &dir); i++)
		if (project_has_text(dir))
			json_put_flag(v, "project", true);
	call_answer(c, v);
}

void super_box_warn(struct super *s, uint64_t box, const char *fix, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char line[2000];
	vsnprintf(line, sizeof(line), fmt, ap);
	buf_puts(&text, line);
	va_end(ap);
	record_ev_box_warn(s->record, &(struct event){ .cause = box, .box = box },
			   &(struct ev_box_warn){ .text = ev_text_of(buf_cstr(&text)),
						  .fix = ev_text_of(fix) });
}

/* Files of third owners: the box has one uid, so it may read of them what others may, and never
 * write into them. */
static void warn_foreign(struct super *s, const struct super_box *sb, const json_t *result)
{
	const json_t *paths = json_object_get(result, "foreign_paths");
	int64_t nr = json_int(result, "foreign", 0);
	CLEANUP(buf_release) struct buf names = BUF_INIT, one = BUF_INIT;
	if (nr <= 0)
		return;
	for (size_t i = 0; i < json_array_size(paths) && i < FOREIGN_NAMED; i++)
		if (json_get_bytes(json_array_get(paths, i), &one))
			buf_printf(&names, "%s%s", i ? ", " : "", buf_cstr(&one));
	super_box_warn(s, sb->id, "chown them to the owner of the directory",
		       "%lld file%s of another owner can't be overwritten in sandbox '%s': %s%s",
		       (long long)nr, nr == 1 ? "" : "s", sb->name, buf_cstr(&names),
		       nr > FOREIGN_NAMED ? ", ..." : "");
}

static void look_at_files(struct super *s, struct super_box *sb, struct box *b);

static void super_box_planted(struct super *s, uint64_t box)
{
	struct super_box *sb = super_box_find(s, box);
	struct box *b = boxes_get(s->boxes, box);
	if (sb)
		sb->honey = NULL;
	if (sb && b)
		look_at_files(s, sb, b);
}

/* The box has gone. */
static void state_left(struct super *s, struct super_box *sb)
{
	if (sb->keep || sb->stays)
		return;
	bool behind = sb->trees && trees_behind(sb->trees);
	if (behind)
		super_warn(s, "check that host; 'sandglass prune --boxes' removes the sandbox",
			   "files of sandbox '%s' are in no snapshot; they remain in %s", sb->name,
			   sb->dir);
	if (behind || remote_orphans_left(sb->dir)) /* it names what 'prune --boxes' is to show */
		box_state_keep(s);
	else
		box_state_leave(s, take(&sb->dir));
}

void super_box_opened(struct super *s, uint64_t box, json_t *result, const struct err *err)
{
	struct super_box *sb = super_box_find(s, box);
	if (!sb)
		return;
	if (err && sb->reopened)
		resume_box_ready(s->resume, box, err);
	if (err)
		tell_ready(sb, err);
	if (err) {
		struct call *c = sb->opener;
		sb->opener = NULL;
		CLEANUP(free_ptr) char *name = mem_strdup(sb->name);
		if (!sb->reopened)
			state_left(s, sb);
		super_box_drop(s, sb);
		if (c)
			call_fail(c,
				  err->code == ERR_INVALID || err->code == ERR_NOENT ? "script"
										     : "backend",
				  NULL, NULL, box, "sandbox '%s': %s", name, err->text);
		super_maybe_finish(s);
		return;
	}
	struct box *b = boxes_get(s->boxes, box);
	if (!b)
		return;
	if (boxes_opts(s->boxes, box)->keep)
		box_state_keep(s);
	gate_box(s->gate, box, super_box_wall_of(b), b->profile, sb->name);
	warn_foreign(s, sb, result);
	notices_tell(s, box, box, notices_of_ready(result));
	past_secrets_begin(s, box, boxes_opts(s->boxes, box));
	sb->disk = disk_watch_new(s, b, boxes_opts(s->boxes, box));
	if (sb->net)
		net_attach(sb->net, b);
	if (sb->proxies)
		proxies_attach(sb->proxies, b, sb->net);
	if (sb->honey)
		honeytoken_plant(sb->honey, b, super_box_planted);
	else
		look_at_files(s, sb, b);
}

static void look_at_files(struct super *s, struct super_box *sb, struct box *b)
{
	uint64_t box = sb->id;
	box_state_sweep(s, box); /* it was opened behind its own barrier */
	if (b->driver->tree)
		sb->trees = super_trees_new(s, b, sb->name, boxes_opts(s->boxes, box));
	else if (sb->reopened)
		resume_box_ready(s->resume, box, NULL);
	else if (sb->ready)
		tell_ready(sb, NULL);
	else
		answer_opener(s, sb);
}

void super_box_ready(struct super *s, uint64_t box)
{
	struct super_box *sb = super_box_find(s, box);
	if (!sb)
		return;
	if (sb->ready)
		tell_ready(sb, NULL);
	else if (sb->reopened && sb->trees)
		trees_adopt(sb->trees, sb->adopt, sb->nr_adopt, sb->restore, super_box_adopted);
	else if (sb->fork_from && sb->opener && sb->trees)
		trees_fork_into(sb->trees, take(&sb->opener), sb->fork_from, sb->fork_n);
	else
		answer_opener(s, sb);
}

void super_box_gone(struct super *s, uint64_t box)
{
	struct super_box *sb = super_box_find(s, box);
	s->box_observer->leaves(s, box);
	box_ports_gone(s, box);
	if (!sb)
		return;
	answer_opener(s, sb);
	s->box_observer->gone(s, box);
	if (sb->ready) {
		struct err gone = ERR_INIT;
		err_set(&gone, ERR_CLOSED, "sandbox '%s' was closed", sb->name);
		tell_ready(sb, &gone);
	}
	state_left(s, sb);
	super_box_drop(s, sb);
}

static void forget_closer(void *box)
{
	struct super_box *b = box;
	b->closer = NULL;
}

static void cancel_closer(struct call *c)
{
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

bool super_box_await_end(struct call *c, uint64_t box)
{
	struct super_box *b = super_box_find(c->super, box);
	if (!b || b->closer)
		return false;
	b->closer = c;
	c->data = b;
	c->free_data = forget_closer;
	c->cancel = cancel_closer;
	return true;
}

static void looked_last(struct super *s, uint64_t box)
{
	boxes_close(s->boxes, box);
}

void super_box_over(struct super *s, uint64_t box)
{
	struct super_box *sb = super_box_find(s, box);
	if (sb)
		sb->stays = false;
}

void super_box_close(struct super *s, uint64_t box)
{
	struct super_box *sb = super_box_find(s, box);
	if (sb && sb->closing)
		return;		/* the look is under way */
	box_ports_gone(s, box); /* its addresses end now, not after the last snapshot */
	if (sb && sb->trees && boxes_get(s->boxes, box) && trees_last_look(sb->trees, looked_last))
		sb->closing = true;
	else
		boxes_close(s->boxes, box);
}

void super_box_snapshot(struct super *s, uint64_t box, uint64_t action)
{
	struct super_box *sb = super_box_find(s, box);
	if (sb && sb->trees)
		trees_after_action(sb->trees, action);
	else
		gate_settled(s->gate, action);
}
