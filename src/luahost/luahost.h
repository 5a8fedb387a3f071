/* A Lua process as the supervisor sees it: started with a text, asked, told, stopped. Every frame
 * that it receives is a recorded event, so that a new one can be brought to where an old one
 * stood. */
#ifndef LUAHOST_LUAHOST_H
#define LUAHOST_LUAHOST_H

#include "supervisor/core/core.h"

/* A host's requests to the session: its calls. Set once as super.host_calls. */
struct luahost_ops {
	/* Body of a "call" frame; it is answered with luahost_answer. */
	void (*begin)(struct host *h, struct super *s, uint64_t id, const json_t *body);
	/* The call goes into the record (host.call), and nothing else. */
	void (*note)(struct host *h, struct super *s, uint64_t id, const json_t *body);
	void (*cancel)(struct super *s, uint64_t id);
	void (*drained)(struct super *s); /* the script takes chunks again */
	void (*tell)(struct super *s, const json_t *body);
};

struct host_ops {
	/* policy, config: RESULT; borrowed */
	void (*on_result)(void *self, json_t *data);
	/* plugin: VALUE; borrowed; may be NULL */
	void (*on_value)(void *self, uint64_t ticket, const json_t *body);
	void (*on_idle)(void *self); /* it has answered every frame that it was sent; may be NULL */
	/* END, or it died without one; once */
	void (*on_end)(void *self, const json_t *end, const struct err *died);
};
struct host_start {
	const char *mode; /* "script" "policy" "config" "plugin" */
	const char *name; /* of the chunk: "fix.lua" */
	const char *dir;  /* where its `require` looks; may be NULL */
	const char *text;
	size_t len;
	json_t *args; /* array of strings; borrowed, may be NULL */
	json_t *env;  /* borrowed, may be NULL */
	/* Long frames are converted off the loop; bodies of luahost_ask share nothing that may
	 * change. */
	bool off_loop;
};
NODISCARD int luahost_new(struct host **out, struct super *s, const struct host_start *st,
			  const struct host_ops *ops, void *self, struct err *err);
/* Brings a new host to where that of a session that broke off stood (luahost_feed.c). */
struct host_resume {
	const char *name, *dir;
	uint64_t start_seq; /* of its host.start */
	uint64_t until_seq; /* the last event that the old supervisor wrote */
	/* calls whose actions had reached outside and never ended; borrowed */
	const uint64_t *lost;
	size_t nr_lost;
	const char *text; /* other text of the script, or NULL; borrowed */
	size_t len;
	uint64_t told; /* what of the last turn is in the record */
	/* it stands there; calls that wait are asked again after this */
	void (*caught_up)(void *self);
	void *self;
};
NODISCARD int luahost_resume(struct host **out, struct super *s, const struct host_resume *r,
			     const struct host_ops *ops, void *self, struct err *err);
void luahost_free(struct host **h); /* kills it; no callback */
/* takes both; one is NULL */
void luahost_answer(struct host *h, uint64_t call, json_t *value, json_t *error);
void luahost_chunk(struct host *h, uint64_t call, const char *stream, const void *bytes, size_t len,
		   uint64_t off);
/* 0: the whole script unwinds */
void luahost_stop(struct host *h, uint64_t agent, const char *why);
void luahost_break_off(struct host *h, uint64_t agent, const char *why); /* its turn only */
void luahost_message(struct host *h, uint64_t agent, const char *text, json_t *who);
/* for sg.on, if observed; takes */
void luahost_event(struct host *h, const char *name, json_t *body);
/* from now on every chat of the script asks this one */
void luahost_model_moved(struct host *h, const char *model);
/* the script knows it as @box; it lies there now */
void luahost_box_moved(struct host *h, uint64_t box, const char *workspace);
void luahost_judge(struct host *h, uint64_t ticket, int line, json_t *act);
/* takes; the answer comes through on_value */
void luahost_ask(struct host *h, uint64_t ticket, json_t *body);
const char *luahost_dir(const struct host *h);
uint64_t luahost_start_seq(const struct host *h); /* of its host.start */
/* True: much of its input is not read yet; luahost_ops.drained follows. */
bool luahost_full(const struct host *h);

#endif
