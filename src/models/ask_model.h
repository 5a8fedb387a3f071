/* One request to a model over HTTP. The plugin writes the request, the supervisor adds the key,
 * and the plugin reads the answer. A failure that permits it is retried. No recording and no
 * policy check: the caller is notified of each step. */
#ifndef MODELS_ASK_MODEL_H
#define MODELS_ASK_MODEL_H

#include "models/provider.h"
#include "models/tape.h"

struct loop;
struct vault;
struct ask_model;

struct ask_model_failure {
	const char *code; /* "net", "limit" (the prompt is too long), "model" */
	const char *text; /* one line */
	int status;	  /* HTTP; 0 none */
};

struct ask_model_ops {
	/* The request is about to go: @url without the key, @pieces (array of strings) are the body
	 * in parts that stay the same from call to call. */
	void (*sending)(void *self, const char *url, const json_t *pieces);
	void (*bytes)(void *self, const void *p, size_t len); /* of the answer, as they came */
	void (*text)(void *self, const char *p, size_t len);  /* of what the model says */
	/* It failed and is tried again in @wait_us. */
	void (*again)(void *self, const struct ask_model_failure *f, int64_t wait_us,
		      unsigned tries);
	/* The end, once: a reply (wire/host.h REP) or why not. @model is the full name, @cost in
	 * millionths of a dollar, -1 unknown. The ask is gone when it returns. */
	void (*done)(void *self, const json_t *reply, const char *model, int64_t cost_uusd,
		     int64_t window, const struct ask_model_failure *f);
};

struct ask_model_env {
	struct loop *loop;
	struct tape *tape;
	struct providers *providers;
	struct vault *vault;
};

/* @req: {model,messages,tools,options}; borrowed for the call, as is @env. @cause, @agent: what the
 * use of the key is recorded with. Nothing is called from inside. */
struct ask_model *ask_model(const struct ask_model_env *env, struct provider *p, const json_t *req,
			    uint64_t cause, uint64_t agent, const struct ask_model_ops *ops,
			    void *self);
void ask_model_cancel(struct ask_model **m); /* no callback runs afterwards; NULL inside is fine */

#endif
