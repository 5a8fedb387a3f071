/* Part of hosted_open.c: a hosted sandbox is given back, also one that could not be opened; its
 * costs. */
#include <stdlib.h>

#include "sandbox/hosted/hosted_priv.h"
#include "base/mem.h"

enum { REFUSED_TRIES = 3 };

/* --- costs --- */

json_t *hosted_cost(const struct remote *r)
{
	json_t *o = json_object();
	int64_t now = loop_now_us(r->loop), asleep = r->asleep_us, busy = r->busy_us;
	if (r->state == ASLEEP)
		asleep += now - r->asleep_since_us;
	if (r->busy_since_us)
		busy += now - r->busy_since_us;
	int64_t open = r->opened_us ? now - r->opened_us : 0;
	json_put_int(o, "open_us", open);
	json_put_int(o, "asleep_us", asleep);
	json_put_int(o, "exec_us", busy);
	if (r->uusd_hour >= 0) {
		json_put_int(o, "uusd_hour", r->uusd_hour);
		json_put_int(o, "uusd", (open - asleep) / 1000 * r->uusd_hour / 3600000);
	}
	return o;
}

/* --- the end --- */

static void remote_free(struct remote *r)
{
	hosted_sleep_end(r);
	hosted_tree_free(r);
	script_cancel(&r->setup);
	while (r->runs)
		hosted_runs_drop(r);
	while (r->scripts) {
		struct script *s = r->scripts;
		script_cancel(&s);
	}
	r->of->port.cancel(&r->op);
	loop_timer_free(&r->again);
	hosted_book_close(&r->book, false);
	strv_release(&r->env);
	json_decref(r->options);
	json_decref(r->box);
	json_decref(r->asked);
	json_decref(r->rest);
	buf_release(&r->finished);
	free(r->setup_done);
	free(r->name);
	free(r->base);
	free(r->owner);
	free(r);
}

static void hosted_open_give_back(void *self);

json_t *tags_of(const struct remote *r)
{
	json_t *tags = json_object();
	json_put_str(tags, "sandglass", r->owner);
	json_put_str(tags, "sandglass-box", hosted_book_tag(r->book));
	return tags;
}

bool can_list(const struct remote *r)
{
	return r->of->port.has(r->of->port.self, "list");
}

static void on_rest_closed(void *self, const json_t *value, const struct err *err);

static void close_rest(struct remote *r)
{
	static const struct remote_heard heard = { .done = on_rest_closed };
	json_t *args = json_pack("[O]", json_array_get(r->rest, 0));
	r->op = hosted_ask(r, "close", args, &heard, r);
}

static void given_back(struct remote *r, bool gone, const struct err *err);

static void on_rest_closed(void *self, const json_t *value, const struct err *err)
{
	struct remote *r = self;
	(void)value;
	r->op = NULL;
	if (err && err->code != ERR_CLOSED) {
		given_back(r, false, err);
		return;
	}
	json_array_remove(r->rest, 0);
	if (json_array_size(r->rest))
		close_rest(r);
	else
		given_back(r, true, NULL);
}

static void on_rest_listed(void *self, const json_t *list, const struct err *err)
{
	struct remote *r = self;
	r->op = NULL;
	r->rest = json_deep_copy(list);
	if (!err && json_array_size(r->rest))
		close_rest(r);
	else
		given_back(r, !err, err);
}

static void on_given_back(void *self, const json_t *value, const struct err *err)
{
	static const struct remote_heard rest = { .done = on_rest_listed };
	struct remote *r = self;
	(void)value;
	r->op = NULL;
	bool gone = !err || err->code == ERR_CLOSED;
	/* one that is refused mostly stays so */
	unsigned most = err && err->code == ERR_DENIED ? REFUSED_TRIES : HOSTED_TRIES;
	if (!gone && ++r->tries <= most) {
		if (!r->again)
			r->again = loop_timer_new(r->loop, hosted_open_give_back, r);
		loop_timer_set(r->again, (uint64_t)HOSTED_WAIT_MS << (r->tries - 1), 0);
		return;
	}
	if (gone && r->doubtful && can_list(r))
		r->op = hosted_ask(r, "list", json_pack("[o]", tags_of(r)), &rest, r);
	else
		given_back(r, gone, err);
}

/* The end. @err: why it is not @gone. */
static void given_back(struct remote *r, bool gone, const struct err *err)
{
	struct err why = ERR_INIT;
	if (!gone)
		err_set(&why, err->code,
			"can't close the hosted sandbox '%s' (%s); it may still cost money: %s; the next "
			"session with --backend %s tries again; 'sandglass prune --boxes' lists what is left",
			r->name,
			json_str(r->rest ? json_array_get(r->rest, 0) : r->box, "id",
				 "another with its tag"),
			err->text, r->of->name);
	hosted_book_close(&r->book, gone);
	CLEANUP(json_release) json_t *result = json_object();
	json_put_flag(result, "empty", gone);
	json_put(result, "cost", hosted_cost(r));
	box_done_fn *done = r->closed ? take(&r->closed) : take(&r->opened);
	if (done)
		done(r->closed_self,
		     r->why.code && !r->open ? NULL
		     : gone		     ? result
					     : NULL,
		     r->why.code && !r->open ? &r->why
		     : gone		     ? NULL
					     : &why);
	remote_free(r);
}

static void hosted_open_give_back(void *self)
{
	static const struct remote_heard heard = { .done = on_given_back };
	struct remote *r = self;
	r->op = hosted_ask(r, "close", hosted_args(r), &heard, r);
}

void hosted_close(struct box *b, box_done_fn *done, void *self)
{
	struct remote *r = CONTAINER_OF(b, struct remote, b);
	r->closing = true;
	r->closed = done;
	r->closed_self = self;
	r->tries = 0;
	hosted_sleep_end(r);
	hosted_tree_over(r);
	hosted_open_give_back(r);
}

/* It could not be opened: returns its parts, then gives the opener the reason. */
void hosted_open_fail(struct remote *r, const struct err *err)
{
	r->why = *err;
	r->dead = true;
	r->closed_self = r->opened_self;
	r->tries = 0;
	if (json_object_size(r->box)) {
		hosted_open_give_back(r);
		return;
	}
	if (r->doubtful) {
		CLEANUP(free_ptr) char *said = mem_strdup(r->why.text);
		err_set(&r->why, r->why.code,
			"%s; a hosted sandbox may exist and cost money; the next session with this backend "
			"closes it",
			said);
	}
	hosted_book_close(&r->book, !r->doubtful);
	box_done_fn *done = take(&r->opened);
	done(r->opened_self, NULL, &r->why);
	remote_free(r);
}

void hosted_open_fail_early(void *self)
{
	struct remote *r = self;
	struct err why = r->why;
	hosted_open_fail(r, &why);
}
