/* A container engine (Docker, or Podman's service) through the Engine API on its unix socket: JSON
 * over HTTP, API 1.41 on. The version is agreed on first: what the engine has, at most
 * ENGINE_NEWEST, at least its own minimum. Source: the reference of the Engine API at
 * docs.docker.com.
 *
 * Loop thread only. Boxes of one socket share one engine. */
#ifndef SANDBOX_CONTAINER_ENGINE_H
#define SANDBOX_CONTAINER_ENGINE_H

#include "sandbox/driver.h"

#define ENGINE_OLDEST "1.41"
#define ENGINE_NEWEST "1.44"

struct engine;

/* The socket that is meant: @want (a path, unix:PATH, or NULL), DOCKER_HOST, CONTAINER_HOST, then
 * the usual places of Docker and Podman; the first of these that exists. Returns owned; NULL:
 * ERR_UNSUPPORTED, @err says where it was looked for. */
char *engine_socket(const char *want, struct err *err);
/* Owned by one more; engine_put gives it back. */
NODISCARD int engine_get(struct engine **out, struct loop *l, const char *socket, struct err *err);
void engine_put(struct engine **e);

struct engine_request {
	const char *method, *path; /* from behind the version: "/containers/json" */
	const json_t *body;	   /* NULL: none, or @tar */
	/* a tar archive instead; taken over as it is, so it must live until the answer */
	const void *tar;
	size_t tar_len;
	int64_t total_us; /* limit; 0 = 120 s */
	/* May be NULL: each object of an answer that is a stream of them, as it comes; such an
	 * answer is not kept. */
	void (*on_line)(void *self, const json_t *line);
};
/* @done with the answer's JSON (an empty object for none) or with what the engine said, also in the
 * middle of a stream: ERR_NOENT for 404, ERR_BUSY for 409, ERR_DENIED for a socket that may not be
 * opened, ERR_CLOSED where nobody listens. */
void engine_send(struct engine *e, const struct engine_request *r, box_done_fn *done, void *self);
void engine_call(struct engine *e, const char *method, const char *path, const json_t *body,
		 box_done_fn *done, void *self);
/* Removes the callbacks of @self. */
void engine_forget(struct engine *e, void *self);
const char *engine_path(const struct engine *e); /* of its socket; borrowed */
/* {"name","version","api"} once the version is known, else NULL; borrowed. */
const json_t *engine_about(const struct engine *e);

#endif
