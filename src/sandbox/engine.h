/* A container engine (Docker, or Podman's service) through the Engine API on its unix socket: JSON over HTTP, API 1.41 on.
 * The version is agreed on first: what the engine has, at most ENGINE_NEWEST, at least its own minimum. Source: the
 * reference of the Engine API at docs.docker.com.
 *
 * Loop thread only. Boxes of one socket share one engine. */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

#include "sandbox/driver.h"

#define ENGINE_OLDEST "1.41"
#define ENGINE_NEWEST "1.44"

struct engine;

/* The socket that is meant: @want (a path, unix:PATH, or NULL), DOCKER_HOST, CONTAINER_HOST, then the usual places of
 * Docker and Podman; the first of these that exists. Returns owned; NULL: @err says where it was looked for. */
char *engine_socket(const char *want, struct err *err);
/* Owned by one more; engine_put gives it back. */
NODISCARD int engine_get(struct engine **out, struct loop *l, const char *socket, struct err *err);
void engine_put(struct engine **e);

/* One request; @path from behind the version ("/containers/json"). @body may be NULL; borrowed. @done with the answer's JSON
 * (an object with "lines" where the answer is a stream of objects; an empty object for none) or with what the engine
 * said: ERR_NOENT for 404, ERR_DENIED for a socket that may not be opened, ERR_CLOSED where nobody listens.
 * @total_us: limit; 0 = 120 s. */
void engine_call(struct engine *e, const char *method, const char *path, const json_t *body, int64_t total_us, box_done_fn *done,
		 void *self);
/* Whoever had asked as @self hears nothing any more. */
void engine_forget(struct engine *e, void *self);
/* {"name","version","api"} once the version is known, else NULL; borrowed. */
const json_t *engine_about(const struct engine *e);

#endif
