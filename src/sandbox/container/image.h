/* What a container begins with. Options of a box, one of:
 *
 *   "image": NAME               of the engine; fetched if it has none ("pull": false: never)
 *   "image": {"dir": FOLDER}    a root file system on the host, given to the engine once
 *   "build": FOLDER | FILE      a directory with a Dockerfile, or the Dockerfile in its directory
 *   "build": {"dir": FOLDER, "file": "Dockerfile", "args": {NAME: VALUE}, "net": "none" | "host" |
 *   ...}
 *
 * A directory becomes an image named by the hash of its content (and of file and args), so it is
 * packed each time and built once. What .dockerignore names is left out, as engines' own clients
 * do it. */
#ifndef SANDBOX_CONTAINER_IMAGE_H
#define SANDBOX_CONTAINER_IMAGE_H

#include "sandbox/container/engine.h"

struct image {
	char *name; /* at the engine; of a directory known after image_pack */
	bool pull;
	char *dir, *file; /* directory; Dockerfile in it, NULL: a root file system */
	json_t *args;
	char *net;
	struct buf tar;
	/* {"id","digest","layers":[..]}, and of a build
	 * {"built":{"from":[{"name","id"}],"steps":n,"cached":n,"us":n}} or, with an image of that
	 * content there already, {"built":{"cached":true}} */
	json_t *about;
	void (*progress)(void *self, const char *line, size_t len);
	void *progress_self;
	/* while it is asked for */
	struct engine *engine;
	void (*done)(void *self, const struct err *err);
	void *self;
	json_t *from;
	size_t asked;
	int steps, cached;
	int64_t began_us;
};

NODISCARD int image_take(struct image *i, const json_t *options, struct err *err); /* copies */
void image_release(struct image *i);
NODISCARD int image_pack(struct image *i, struct err *err); /* worker: nothing to do for a name */
/* @done once: NULL, then the engine has @i->name; or what is wrong. engine_forget(e, i) ends the
 * waiting. */
void image_get(struct image *i, struct engine *e, void (*done)(void *self, const struct err *err),
	       void *self);

#endif
