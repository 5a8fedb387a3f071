/* Between luahost.c (a running Lua host) and luahost_feed.c (bringing one to where it was). */
#ifndef LUAHOST_LUAHOST_PRIV_H
#define LUAHOST_LUAHOST_PRIV_H

#include "luahost/luahost_record.h"
#include "luahost/luahost.h"
#include "loop/stream.h"

struct frame_worker;
struct host_feed;

struct host {
	struct super *super;
	struct stream *stream;
	struct host_ops ops;
	void *self;
	char *mode, *name, *dir;
	int pid, pidfd;
	uint64_t start_seq; /* of host.start */
	uint64_t ordinal;   /* of the last frame sent */
	uint64_t turns;	    /* frames answered by IDLE */
	struct loop_timer *turn;
	bool warned, ended, late;
	json_t *observed;	     /* names of events that the script observes */
	bool off_loop;		     /* as of host_start */
	struct frame_worker *worker; /* from its first long frame; or NULL */
	struct host_feed *feed;	     /* while it is brought to where it was; else NULL */
};

/* What is converted has come. @body: borrowed; NULL: @why is what is wrong with its text. */
void luahost_take_frame(struct host *h, uint16_t type, uint64_t id, const json_t *body,
			const struct err *why);
void luahost_on_close(void *self, const struct err *err);
/* A frame is on its way: the turn's time runs. */
void luahost_turn_begins(struct host *h);

/* These take a frame that the worker converts, or that stays behind one (luahost_long.c). False:
 * the caller handles it. If true, the first takes @body. */
bool luahost_send_by_worker(struct host *h, uint16_t type, uint64_t id, json_t *body);
bool luahost_take_by_worker(struct host *h, uint16_t type, uint64_t id, const char *text,
			    size_t len);
bool luahost_close_by_worker(struct host *h);

/* Sends every recorded frame of the host that began with r->start_seq. */
NODISCARD int feed_begin(struct host *h, const struct host_resume *r, struct err *err);
/* A frame of the host during the feed: its requests are noted, its notes are recorded already.
 * True: handled. */
bool feed_frame(struct host *h, uint16_t type, uint64_t id, const json_t *body);
/* The host has answered the last recorded frame: its open requests are repeated live. */
void feed_caught_up(struct host *h);
void feed_free_calls(struct host *h);

#endif
