/* One request, sent live or answered from a cassette; the caller sees no difference
 * (http/client.h: head, data, end). */
#ifndef MODELS_TAPE_H
#define MODELS_TAPE_H

#include "models/cassette.h"
#include "http/client.h"

struct loop;
struct record;

/* How requests are served. */
struct tape {
	struct loop *loop;
	struct http *http;
	struct record *record;	   /* cleans what a cassette keeps of secrets */
	struct cassette *cassette; /* NULL: always the network */
	unsigned speed;		   /* of playing: 0 at once, 1 as it was, 4 four times as fast */
};

struct tape_call;

/* @path: of the provider's API, without its host: what a cassette knows requests by. The rest as
 * http_send. */
struct tape_call *tape_send(struct tape *t, const char *path, const struct http_request *r,
			    const struct http_handler *on);
/* Would the cassette answer without the network? Then no key is needed. */
bool tape_plays(const struct tape *t);
void tape_cancel(struct tape_call **c); /* NULL inside is fine */
void tape_pause(struct tape_call *c, bool paused);

#endif
