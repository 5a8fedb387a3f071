/* A recorder in memory for tests: barriers run when a test calls for it. It has the functions of src/record/record.h
 * that the policy check uses. Include it in a test. */
#include <assert.h>

#include "base/mem.h"
#include "record/record.h"

struct fake_event {
	struct event ev;
	json_t *body;
};

struct fake_barrier {
	uint64_t seq;
	record_done_fn *done;
	void *self;
};

struct record {
	struct fake_event *event;
	size_t nr, cap;
	struct fake_barrier *barrier;
	size_t nr_barriers, cap_barriers;
	size_t barriers_asked;
	enum record_state state;
	uint64_t committed;
	bool held; /* barriers wait for fake_commit */
	struct loop *loop;
	bool deferred;
	size_t output_bytes;
	size_t backlog; /* what record_backlog says */
	record_clean_fn *tap;
	void *tap_self;
};

static void fake_run(struct record *r)
{
	r->committed = r->nr;
	size_t nr = r->nr_barriers;
	for (size_t i = 0; i < nr && r->nr_barriers; i++) {
		struct fake_barrier b = r->barrier[0];
		memmove(r->barrier, r->barrier + 1, --r->nr_barriers * sizeof(b));
		assert(b.seq <= r->committed);
		b.done(b.self);
	}
}

static void fake_turn(void *self)
{
	struct record *r = self;
	r->deferred = false;
	if (!r->held && r->state == RECORD_OK)
		fake_run(r);
}

static struct record *fake_record(struct loop *l)
{
	struct record *r = NEW(struct record);
	r->loop = l;
	return r;
}

static void fake_free(struct record *r)
{
	for (size_t i = 0; i < r->nr; i++)
		json_decref(r->event[i].body);
	free(r->event);
	free(r->barrier);
	free(r);
}

uint64_t record_append_json(struct record *r, enum event_kind kind, uint64_t cause, uint64_t agent, uint64_t box,
			    uint64_t action, json_t *body)
{
	assert(json_is_object(body) && cause <= r->nr);
	GROW(r->event, r->nr, r->cap);
	r->event[r->nr] = (struct fake_event){
		.ev = { .seq = r->nr + 1, .kind = kind, .cause = cause, .agent = agent, .box = box, .action = action }, .body = body
	};
	return ++r->nr;
}

uint64_t record_append(struct record *r, const struct event *ev)
{
	struct err err = ERR_INIT;
	return record_append_json(r, ev->kind, ev->cause, ev->agent, ev->box, ev->action,
				  json_parse(ev->body, ev->len, "event", &err));
}

void record_barrier(struct record *r, uint64_t seq, record_done_fn *done, void *self)
{
	assert(seq == r->nr); /* the gate asks for it right behind the last event */
	GROW(r->barrier, r->nr_barriers, r->cap_barriers);
	r->barrier[r->nr_barriers++] = (struct fake_barrier){ seq, done, self };
	r->barriers_asked++;
	if (!r->deferred) {
		r->deferred = true;
		loop_defer(r->loop, fake_turn, r);
	}
}

void record_barrier_forget(struct record *r, const void *self)
{
	for (size_t i = 0; i < r->nr_barriers;)
		if (r->barrier[i].self == self)
			memmove(&r->barrier[i], &r->barrier[i + 1], (--r->nr_barriers - i) * sizeof(r->barrier[i]));
		else
			i++;
}

enum record_state record_state(const struct record *r)
{
	return r->state;
}

const char *record_id(const struct record *r)
{
	(void)r;
	return "s-test01";
}

void record_output(struct record *r, uint64_t action, enum record_stream s, const void *bytes, size_t len)
{
	r->output_bytes += len;
	if (r->tap)
		r->tap(r->tap_self, action, s, bytes, len);
}

void record_on_output(struct record *r, record_clean_fn *fn, void *self)
{
	r->tap = fn;
	r->tap_self = self;
}

uint64_t record_output_mark(struct record *r, uint64_t action, enum record_stream s)
{
	(void)action;
	(void)s;
	return r->output_bytes;
}

void record_output_end(struct record *r, uint64_t action)
{
	(void)r;
	(void)action;
}

size_t record_backlog(const struct record *r)
{
	return r->backlog;
}

struct secrets *record_hidden(const struct record *r)
{
	(void)r;
	return NULL;
}

/* The kinds of all events of @action in order: "action.requested action.judged ...". */
UNUSED static const char *fake_life(const struct record *r, uint64_t action)
{
	static char text[1000];
	text[0] = 0;
	for (size_t i = 0; i < r->nr; i++)
		if (r->event[i].ev.seq == action || r->event[i].ev.action == action) {
			const char *name = event_kind_name(r->event[i].ev.kind);
			const char *dot = strchr(name, '.');
			size_t len = strlen(text);
			snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "", dot ? dot + 1 : name);
		}
	return text;
}

/* The last event of @kind of @action, or NULL. */
static json_t *fake_body(const struct record *r, uint64_t action, uint16_t kind)
{
	for (size_t i = r->nr; i-- > 0;)
		if (r->event[i].ev.kind == kind && (!action || r->event[i].ev.seq == action || r->event[i].ev.action == action))
			return r->event[i].body;
	return NULL;
}
