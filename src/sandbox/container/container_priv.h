/* Inside of the container driver (container.h): container_open.c opens sandboxes, container.c
 * serves open ones. */
#ifndef SANDBOX_CONTAINER_CONTAINER_PRIV_H
#define SANDBOX_CONTAINER_CONTAINER_PRIV_H

#include "sandbox/container/container.h"
#include "sandbox/container/engine.h"
#include "sandbox/common/folder.h"
#include "sandbox/guest/guest_client.h"
#include "sandbox/container/image.h"
#include "sandbox/common/layers.h"

struct container {
	struct box b; /* first */
	struct loop *loop;
	struct engine *engine;
	struct folder *folder;
	struct guest *guest; /* NULL once it has gone */
	struct layers layers;
	char *name, *state_dir, *run_dir, *id /* its name at the engine */;
	struct image image;
	struct strv env;
	struct box_limits limits;
	int64_t gpus; /* 0: none */
	unsigned uid, gid;
	bool created, open, dead, frozen, held, hears; /* held: frozen, as asked for */
	struct err failed;
	int pid; /* of the guest as the engine tells it */
	/* opening */
	box_done_fn *opened, *closed;
	void *opened_self, *closed_self;
	int listener, fd; /* what the guest connects to; its connection */
	struct loop_fd *watch;
	struct loop_timer *late, *wall;
	unsigned removals; /* how often the engine refused to remove it */
	int64_t taken_us;  /* since when another container is known to have our name; 0: none */
	bool busy;	   /* a worker has us */
	/* freeze and thaw, one after the other: an engine answers requests in no order */
	struct ask *asked;
	bool asking, closing /* it is removed when the engine has answered */,
		thaw /* the engine may hold it paused */;
};

struct box *container_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self);
void container_free(struct container *c);
/* One request about this container: "/containers/ID" and @tail. */
void container_call(struct container *c, const char *method, const char *tail, const json_t *body,
		    box_done_fn *done, void *self);

/* no more than engines may give away */
enum { MAX_FILES = 65536, MAX_PROCESSES = 32768 };
#define PLACE "/.sandglass"

/* --- container_config.c --- */
json_t *container_open_config(const struct container *c);

#endif
