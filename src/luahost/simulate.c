#include "luahost/simulate.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "luahost/luahost_call.h"
#include "luahost/luahost_record.h"
#include "luahost/luahost_start.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "record/read/list.h"
#include "wire/frame.h"
#include "wire/host.h"

enum { TURN_MS = 10000, SHOWN = 300 };

struct asked {
	uint64_t seq, id;
	json_t *body;
};

struct simulation {
	struct session *s;
	uint64_t host;	 /* seq of host.start */
	uint64_t *frame; /* seqs of its frames, in order */
	size_t nr_frames, cap_frames;
	struct asked *call;
	size_t nr_calls, cap_calls;
	struct host_process process;
	uint64_t now;	/* the frame that is being answered */
	bool last;	/* there is none after it */
	bool stopped;	/* a user ended it: later frames are not answers */
	bool ended;	/* its host had */
	uint64_t until; /* the last event that counts */
	struct simulation_result *out;
};

void simulation_result_release(struct simulation_result *r)
{
	free(r->at);
	free(r->pointer);
	free(r->recorded);
	free(r->now);
	free(r->ended);
	*r = (struct simulation_result){ 0 };
}

/* --- the record ------------------------------------------------------------------------------- */

static int simulate_see(struct simulation *r, const struct event *ev, struct err *err)
{
	if (ev->kind == EV_HOST_END && ev->cause == r->host)
		r->ended = true;
	if (!r->stopped && !r->ended)
		r->until = ev->seq;
	if (ev->kind != EV_HOST_START && ev->kind != EV_HOST_FRAME && ev->kind != EV_HOST_CALL)
		return 0;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", err) : NULL;
	if (!body)
		return ev->body ? -1
				: err_set(err, ERR_INVALID, "event #%llu was redacted",
					  (unsigned long long)ev->seq);
	if (ev->kind == EV_HOST_START) {
		if (!strcmp(json_str(body, "mode", ""), "script")) {
			r->host = ev->seq;
			r->ended = false;
			r->nr_frames = r->nr_calls = 0;
		}
		r->stopped = false;
	} else if (ev->cause == r->host && ev->kind == EV_HOST_FRAME &&
		   !strcmp(json_str(body, "type", ""), "stop")) {
		r->stopped = true;
	} else if (r->stopped) {
		return 0;
	} else if (ev->cause == r->host && ev->kind == EV_HOST_FRAME) {
		GROW(r->frame, r->nr_frames, r->cap_frames);
		r->frame[r->nr_frames++] = ev->seq;
	} else if (ev->cause == r->host) {
		GROW(r->call, r->nr_calls, r->cap_calls);
		r->call[r->nr_calls++] = (struct asked){ ev->seq, (uint64_t)json_int(body, "id", 0),
							 json_incref(body) };
	}
	return 0;
}

static int read_record(struct simulation *r, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *f;
	struct event ev;
	int rc = feed_new(&f, r->s, FEED_ALL, 0, err);
	if (rc < 0)
		return -1;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		rc = simulate_see(r, &ev, err);
		arena_reset(&a);
		if (rc < 0)
			break;
	}
	feed_free(&f);
	if (rc == 0 && !r->nr_frames)
		return err_set(err, ERR_INVALID, "session %s has no script", session_id(r->s));
	return rc;
}

static const struct asked *recorded_call(const struct simulation *r, uint64_t id)
{
	for (size_t i = 0; i < r->nr_calls; i++)
		if (r->call[i].id == id)
			return &r->call[i];
	return NULL;
}

/* --- comparing -------------------------------------------------------------------------------- */

static char *simulate_show_answer(const json_t *v)
{
	if (!v)
		return mem_strdup("(nothing)");
	char *text = json_is_string(v) ? mem_strdup(json_string_value(v)) : json_dump_str(v);
	if (strlen(text) > SHOWN)
		memcpy(text + SHOWN - 3, "...", 4);
	return text;
}

static const json_t *at_pointer(const json_t *j, const char *pointer)
{
	CLEANUP(free_ptr) char *copy = mem_strdup(pointer + 1);
	char *save = NULL;
	for (char *p = strtok_r(copy, "/", &save); p && j; p = strtok_r(NULL, "/", &save))
		j = json_is_array(j) ? json_array_get(j, strtoul(p, NULL, 10))
				     : json_object_get(j, p);
	return j;
}

/* The two texts are long and similar: the excerpt starts a little before the first difference. */
static void show_texts(struct simulation_result *out, const char *a, const char *b)
{
	size_t same = 0;
	while (a[same] && a[same] == b[same])
		same++;
	size_t from = same > 40 ? same - 40 : 0;
	while (from && ((unsigned char)a[from] & 0xc0) == 0x80)
		from--;
	free(out->recorded);
	free(out->now);
	out->recorded = mem_printf("%s%.120s%s", from ? "..." : "", a + from,
				   strlen(a) - from > 120 ? "..." : "");
	out->now = mem_printf("%s%.120s%s", from ? "..." : "", b + from,
			      strlen(b) - from > 120 ? "..." : "");
}

/* Messages are compared by their hashes; the record has the old one whole, the frame the new
 * one. */
static void look_into_message(struct simulation *r, const json_t *live, unsigned long index)
{
	struct simulation_result *out = r->out;
	const json_t *now =
		json_array_get(json_object_get(json_object_get(live, "args"), "messages"), index);
	struct hash h;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (!now || !hex_parse(out->recorded, strlen(out->recorded), h.b, HASH_LEN) ||
	    session_message(r->s, &h, &text, &none) < 0)
		return;
	CLEANUP(json_release) json_t *before = json_parse(text.data, text.len, "message", &none);
	const char *key;
	json_t *v;
	json_object_foreach(before, key, v)
	{
		const json_t *w = json_object_get(now, key);
		if (json_equal(v, w))
			continue;
		char *pointer = mem_printf("%s/%s", out->pointer, key);
		free(out->pointer);
		out->pointer = pointer;
		CLEANUP(free_ptr)
		char *a = json_is_string(v) ? mem_strdup(json_string_value(v)) : json_dump_str(v);
		CLEANUP(free_ptr)
		char *b = json_is_string(w) ? mem_strdup(json_string_value(w))
			  : w		    ? json_dump_str(w)
					    : mem_strdup("");
		show_texts(out, a, b);
		return;
	}
}

static void simulate_diverged(struct simulation *r, uint64_t event, uint64_t id, const json_t *live)
{
	r->out->diverged = true;
	r->out->event = event;
	r->out->call = id;
	r->out->at = live ? mem_strdup(json_str(live, "at", "")) : NULL;
}

/* The request with its complete list of messages. */
static json_t *simulate_body_of(struct simulation *r, const struct asked *was, struct err *err)
{
	const json_t *messages = json_object_get(json_object_get(was->body, "args"), "messages");
	if (strcmp(json_str(was->body, "op", ""), "model.call") != 0 || !json_is_string(messages))
		return json_incref(was->body);
	json_t *list = session_list(r->s, messages, err);
	if (!list) {
		err_wrap(err, "can't compare event #%llu", (unsigned long long)was->seq);
		return NULL;
	}
	json_t *body = json_copy(was->body), *args = json_copy(json_object_get(was->body, "args"));
	json_put(args, "messages", list);
	json_put(body, "args", args);
	return body;
}

static int simulate_compare(struct simulation *r, uint64_t id, const json_t *live, struct err *err)
{
	if (!strcmp(json_str(live, "op", ""), "module"))
		/* a require asks for nothing of the world, and is not recorded as a call */
		return 0;
	const struct asked *was = recorded_call(r, id);
	CLEANUP(json_release) json_t *now = luahost_call_small(live);
	if (!was) {
		if (r->last)
			return 0; /* the record ends before this */
		simulate_diverged(r, r->now, id, live);
		r->out->pointer = mem_strdup("");
		r->out->recorded = mem_strdup("(nothing)");
		r->out->now = simulate_show_answer(now);
		return 0;
	}
	CLEANUP(json_release) json_t *before = simulate_body_of(r, was, err);
	if (!before)
		return -1;
	r->out->calls++;
	char *pointer = luahost_call_differ(before, now);
	if (!pointer)
		return 0;
	simulate_diverged(r, was->seq, id, live);
	r->out->pointer = pointer;
	r->out->recorded = simulate_show_answer(at_pointer(before, pointer));
	r->out->now = simulate_show_answer(at_pointer(now, pointer));
	if (!strncmp(pointer, "/args/messages/", 15)) {
		look_into_message(r, live, strtoul(pointer + 15, NULL, 10));
	} else if (r->out->recorded && r->out->now) {
		CLEANUP(free_ptr) char *a = mem_strdup(r->out->recorded);
		CLEANUP(free_ptr) char *b = mem_strdup(r->out->now);
		show_texts(r->out, a, b);
	}
	return 0;
}

/* --- the host --------------------------------------------------------------------------------- */

static int simulate_send_recorded(struct simulation *r, uint64_t seq, const struct buf *script,
				  struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	struct event ev;
	uint16_t type;
	uint64_t id;
	if (session_event(r->s, seq, &ev, &a, err) < 0 ||
	    luahost_rebuild_frame(r->s, &ev, &type, &id, &body, err) < 0)
		return -1;
	if (type == HOST_START && script) {
		CLEANUP(json_release) json_t *j = json_parse(body.data, body.len, "start", err);
		if (!j)
			return -1;
		json_put_bytes(j, "text", script->data, script->len);
		buf_reset(&body);
		json_dump_buf(j, &body);
	}
	return frame_send(r->process.sock, type, id, buf_cstr(&body), body.len, NULL, 0, err);
}

/* Everything that the host says in one turn. 1: the turn is over; 0: the script is. */
static int simulate_take_turn(struct simulation *r, struct err *err)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	for (;;) {
		struct frame f;
		struct pollfd p = { .fd = r->process.sock, .events = POLLIN };
		if (poll(&p, 1, TURN_MS) <= 0)
			return err_set(err, ERR_TIMEOUT, "the script ran for %d s without waiting",
				       TURN_MS / 1000);
		if (frame_recv(r->process.sock, HOST_BODY_MAX, &f, &body, NULL, NULL, err) < 0)
			return err_wrap(err, "the Lua host ended");
		CLEANUP(json_release)
		json_t *j = json_parse(f.len ? f.body : "{}", f.len ? f.len : 2,
				       "a frame of the Lua host", err);
		if (!j)
			return -1;
		if (f.type == HOST_CALL && !r->out->diverged &&
		    simulate_compare(r, f.id, j, err) < 0)
			return -1;
		if (f.type == HOST_IDLE || r->out->diverged)
			return r->out->diverged ? 0 : 1;
		if (f.type == HOST_END) {
			r->out->ended = mem_strdup(json_str(
				j, "why", json_flag(j, "ok", false) ? "well" : "in failure"));
			r->out->failed =
				!strcmp(json_str(json_object_get(j, "err"), "code", ""), "script");
			return 0;
		}
	}
}

static int simulate_run(struct simulation *r, const struct buf *script, struct err *err)
{
	for (size_t i = 0; i < r->nr_frames; i++) {
		r->now = r->frame[i];
		r->last = i + 1 == r->nr_frames;
		if (simulate_send_recorded(r, r->now, script, err) < 0)
			return -1;
		r->out->frames++;
		int rc = simulate_take_turn(r, err);
		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (!r->out->diverged && !r->last) { /* it ended, though then it went on */
			simulate_diverged(r, r->frame[i + 1], 0, NULL);
			r->out->pointer = mem_strdup("");
			r->out->recorded = mem_strdup("the script went on");
			r->out->now = mem_printf("it ends: %s", r->out->ended);
		}
		return 0;
	}
	return 0;
}

int simulate_session(struct session *s, const struct buf *script, struct simulation_result *out,
		     struct err *err)
{
	struct simulation r = { .s = s, .process = HOST_PROCESS_NONE, .out = out };
	*out = (struct simulation_result){ 0 };
	int rc = read_record(&r, err);
	out->event = r.until;
	if (rc == 0)
		rc = luahost_process_start(&r.process, err);
	if (rc == 0)
		rc = simulate_run(&r, script, err);
	luahost_process_end(&r.process);
	for (size_t i = 0; i < r.nr_calls; i++)
		json_decref(r.call[i].body);
	free(r.call);
	free(r.frame);
	return rc;
}
