/* Inside of the process driver (process.h). A *cell* is a box that has been started and holds
 * nothing yet: keeper, bubblewrap and guest run, /workspace is empty. Opening attaches a workspace
 * to one, cold or from the pool. */
#ifndef SANDBOX_PROCESS_PROCESS_PRIV_H
#define SANDBOX_PROCESS_PROCESS_PRIV_H

#include <pthread.h>

#include "sandbox/driver.h"
#include "sandbox/guest/guest_client.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/common/layers.h"
#include "sandbox/process/process.h"

/* --- process_stage.c: directories of every sandbox's state, made before it is requested --- */

#define STATE_HOME	"home"
#define STATE_WORKSPACE "workspace"
enum stage_step { STAGE_TREES, STAGE_ATTACH, STAGE_READY, STAGE_FAILED, STAGE_SPOILT };
struct stage {
	struct cell *cell; /* borrowed */
	char *dir;	   /* NULL: it is a box's state now */
	json_t *trees;	   /* the launcher's answer: home, workspace */
	/* theirs, until the keeper has them; none where the launcher is an ordinary user */
	int fds[2];
	size_t nr_fds;
	/* TREES: waits for the directories, and the cell; ATTACH: for the keeper. SPOILT: it has
	 * failed there */
	enum stage_step step;
};

/* Begins it for a new cell, in @parent. Never fails: a cell whose stage has failed is none the
 * worse. */
struct stage *stage_new(struct cell *c, const char *parent);
void stage_go_on(struct stage *s);	   /* the cell has been sent. @s may be NULL */
bool stage_settled(const struct stage *s); /* nothing of it is under way; NULL is settled */
/* Its directory becomes @state_dir, where there must be nothing. Only of a stage that is ready. */
NODISCARD int stage_move(struct stage *s, const char *state_dir);
void stage_free(struct stage **s); /* removes the directory if it was not moved */

/* --- process_cell.c --- */

/* All that a cell is made of; two cells with the same key serve the same boxes. */
struct cell_spec {
	struct box_limits limits; /* no zeros but cpu_milli and wall_us */
	const char *const *roots; /* existing directories outside /usr */
	size_t nr_roots;
	/* root_masks_scan's, one array for each root; NULL: nothing is hidden */
	const json_t *hide;
	bool net;
};
struct cell_ops {
	/* what is asked of the keeper now follows its start */
	void (*on_sent)(void *self);
	void (*on_ready)(void *self); /* once, unless on_gone came first */
	/* once: it could not be started, or it has died */
	void (*on_gone)(void *self, const struct err *err);
};
struct cell {
	struct loop *loop;
	struct launcher *launcher;  /* borrowed */
	const struct cell_ops *ops; /* NULL: nobody listens */
	void *self;
	char *key;
	struct strv roots; /* of the key */
	bool net;	   /* of the key */
	uint64_t box;	   /* the launcher's number */
	int keeper_pid;	   /* 0 before the launcher has answered; so are keeper and guest */
	int keeper_pidfd, guest_pidfd;
	struct rpc *keeper;			       /* NULL once it has gone */
	struct guest *guest;			       /* NULL once it has gone */
	int worker;				       /* the keeper's second channel, blocking */
	pthread_mutex_t lock;			       /* one request at a time on it */
	json_t *start;				       /* request under way */
	json_t *info;				       /* {"guest_pid":n} */
	bool sent, started, ready, gone, keeper_ended; /* sent: the keeper was asked to start */
	bool warm;	       /* the guest has done all that needs no workspace */
	struct stage *stage;   /* of one in the pool; may be NULL */
	struct err why;	       /* why it has gone */
	struct loop_fd *watch; /* guest_pidfd while closing */
	struct loop_timer *late;
	box_done_fn *closed;
	void *closed_self;
};

/* one of those that LAUNCH_TREES asks for; returns owned */
json_t *tree_want(const char *path, const char *kind);
char *cell_key(const struct cell_spec *s); /* returns owned */
struct cell *cell_new(struct loop *l, struct launcher *la, const struct cell_spec *s,
		      const struct cell_ops *ops, void *self);
void cell_ahead(struct launcher *la); /* has the launcher keep one keeper ready */
/* from the pool to a box */
void cell_hand_over(struct cell *c, const struct cell_ops *ops, void *self);
/* Kills everything in it, waits until its namespace and its cgroup are empty, frees it, calls @done
 * (may be NULL). */
void cell_close(struct cell *c, box_done_fn *done, void *self);

/* --- process_pool.c ---. a ready one or NULL */
struct cell *pool_take(struct loop *l, struct launcher *la, const struct cell_spec *s);
/* As process_pool_set says. @parent: where the states of the boxes to come will most likely lie. */
void pool_refill(struct loop *l, struct launcher *la, const struct cell_spec *s,
		 const char *parent);

/* --- a box --- */

/* Fields of a layer beyond those of layers.h. */
struct layer_want {
	char *state;	    /* below opts.state_dir */
	struct strv lowers; /* newest first */
	/* directory below the box's state with the .git that was put together; NULL: none */
	char *git;
	/* below the box's state: of a repository whose files could not be given to the box; NULL:
	 * none */
	char *copy;
	json_t *trees; /* answer of the launcher */
	/* and its answer for that directory and for objects elsewhere; NULL: not asked for */
	json_t *more;
};

struct process_box {
	struct box b; /* first */
	struct loop *loop;
	struct cell *cell;	 /* NULL in profile reduced */
	struct reduced *reduced; /* NULL in the others */
	char *name, *state_dir, profile[16];
	struct layers layers;
	struct layer_want *want; /* of each of them */
	struct strv roots, env;
	json_t *hide; /* below the roots */
	struct box_limits limits;
	/* one of sandglass's own directories is below a root: hidden, where something can be
	 * hidden */
	bool own_below;
	bool accept_reduced, net, warm;
	/* opening */
	box_done_fn *opened;
	void *opened_self;
	bool scanned, attaching, home_sent, attached, confining, open, dead, frozen, hears;
	/* from a stage: home is attached, and the keeper has the state of the workspace */
	bool staged;
	bool afresh;		    /* the keeper has such a stage, which is not for this box */
	size_t trees_here, answers; /* of launcher and keeper */
	/* a worker has us for that; it was looked at whether there is something to copy */
	bool copying, copied;
	size_t copies_asked, copies_here;
	/* what was known only after the scan; its descriptors are the last ones */
	size_t more_asked, more_here, nr_more_fds;
	/* trees: those of the home directory first, until it has been sent; then as the keeper's
	 * request counts */
	int fds[512];
	size_t nr_fds, nr_home_fds;
	struct err failed;
	struct loop_timer *wall, *refill;
};

/* process_open.c */
struct box *process_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self);
void process_box_free(struct process_box *p);
/* what open answers in every profile; returns owned */
json_t *process_describe(const struct process_box *p);
void process_opened(struct process_box *p, json_t *result); /* takes @result */
void process_refill(void *self); /* the box's own: fills the pool for the next one like it */
void process_spec(const struct process_box *p, struct cell_spec *out);
/* process_files.c */
void process_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self);
void process_write(struct box *b, const char *path, const void *data, size_t len, int mode,
		   box_done_fn *done, void *self);
void process_list(struct box *b, const char *path, box_done_fn *done, void *self);
void process_stat(struct box *b, const char *path, box_done_fn *done, void *self);
/* process_tree.c */
extern const struct box_tree_ops process_tree;
/* Answers later through @done: what a verb of a dead box says. Takes the reference of @result; one
 * of the two is NULL.
 */
void process_answer(struct loop *l, box_done_fn *done, void *self, json_t *result,
		    const struct err *err);

/* --- process_open.c (the steps in order) and process_attach.c (their layers) --- */
void open_failed(struct process_box *p, const struct err *err);
void process_open_on_attached(void *self, json_t *body, int *fds, size_t nr, const struct err *err);
void maybe_attach(struct process_box *p);
void ask_for_more(struct process_box *p);
void take_stage(struct process_box *p, struct stage *s);
void ask_for_layers(struct process_box *p);

#endif
