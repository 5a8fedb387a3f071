/* Long frames of a Lua host that holds pieces of files: its worker converts them (frame_worker.h),
 * and the frames behind them keep their places. */
#include <stdlib.h>

#include "luahost/frame_worker.h"
#include "luahost/luahost_priv.h"
#include "base/failpoint.h"
#include "wire/host.h"

enum {
	CONVERT_HERE = 64 << 10, /* bytes: the loop converts shorter frames */
	FRAME_CLOSED = 0	 /* no type of a frame: the host's stream has ended */
};

static void luahost_converted_out(struct host *h, const struct frame_job *job)
{
	failpoint_hit("host.frame-recorded");
	stream_send(h->stream, job->type, job->id, buf_cstr(&job->text), job->text.len);
	luahost_turn_begins(h);
}

static void luahost_converted(void *self, struct frame_job *job)
{
	struct host *h = self;
	if (h->ended)
		return;
	if (job->out)
		luahost_converted_out(h, job);
	else if (job->type == FRAME_CLOSED)
		luahost_on_close(h, NULL);
	else
		luahost_take_frame(h, job->type, job->id, job->json, &job->err);
}

/* NULL: this host has none, or no thread can be had, so that the loop converts. */
static struct frame_worker *luahost_worker(struct host *h)
{
	struct err err = ERR_INIT;
	if (h->off_loop && !h->worker &&
	    frame_worker_new(&h->worker, h->super->loop, luahost_converted, h, &err) < 0)
		h->off_loop = false;
	return h->worker;
}

bool luahost_send_by_worker(struct host *h, uint16_t type, uint64_t id, json_t *body)
{
	bool is_long = h->off_loop && type == HOST_ASK && frame_is_long(body, CONVERT_HERE);
	if (!is_long && !frame_worker_pending(h->worker, true))
		return false;
	struct frame_worker *w = luahost_worker(h);
	if (!w)
		return false;
	struct frame_job *job = NEW(struct frame_job);
	*job = (struct frame_job){ .out = true, .type = type, .id = id };
	if (is_long) {
		record_clean_value(h->super->record, body);
		job->json = body;
	} else {
		CLEANUP(buf_release) struct buf clean = BUF_INIT;
		json_dump_buf(body, &job->text);
		json_decref(body);
		if (record_clean_json(h->super->record, job->text.data, job->text.len, &clean)) {
			buf_release(&job->text);
			job->text = clean;
			clean = BUF_INIT;
		}
	}
	frame_worker_add(w, job);
	return true;
}

static struct frame_job *luahost_job_in(uint16_t type, uint64_t id, const char *text, size_t len)
{
	struct frame_job *job = NEW(struct frame_job);
	*job = (struct frame_job){ .type = type, .id = id };
	buf_append(&job->text, text, len);
	return job;
}

bool luahost_take_by_worker(struct host *h, uint16_t type, uint64_t id, const char *text,
			    size_t len)
{
	bool is_long = h->off_loop && len > CONVERT_HERE;
	if ((!is_long && !frame_worker_pending(h->worker, false)) || !luahost_worker(h))
		return false;
	frame_worker_add(h->worker, luahost_job_in(type, id, text, len));
	return true;
}

bool luahost_close_by_worker(struct host *h)
{
	if (!frame_worker_pending(h->worker, false))
		return false;
	frame_worker_add(h->worker, luahost_job_in(FRAME_CLOSED, 0, "{}", 2));
	return true;
}
