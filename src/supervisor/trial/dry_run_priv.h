/* Between dry_run.c (its life), dry_run_box.c (the second box) and dry_run_apply.c. */
#ifndef SUPERVISOR_TRIAL_DRY_RUN_PRIV_H
#define SUPERVISOR_TRIAL_DRY_RUN_PRIV_H

#include "supervisor/trial/dry_run.h"
#include "supervisor/box/tree_priv.h"
#include "proxy/egress.h"

enum {
	DRY_RUN_LIMIT_MS = 30000,
	DRY_RUN_OUTPUT_MAX = 64 << 20, /* bytes of both streams: past it the run is cut off */
	DRY_RUN_FILES_MAX = 500,
};

enum dry_run_stage {
	DRY_RUN_BARRIER, /* preview.started is on its way to the disk */
	DRY_RUN_QUIET,	 /* waits until no file action runs in the box */
	DRY_RUN_LOOKING, /* the sandbox is frozen, its files are read */
	DRY_RUN_OPENING, /* of a copy: its files at the start are read, too */
	DRY_RUN_RUNNING,
	DRY_RUN_ASKING, /* counters of the second box's network */
	DRY_RUN_WALKING,
	DRY_RUN_CLOSING,
	DRY_RUN_OVER, /* may be promoted */
};

/* The second sandbox's changes in one layer. */
struct dry_run_layer {
	char *name;  /* "", NAME, ":home" */
	char *upper; /* the directory that holds what the second box wrote there */
	struct ws *ws;
	json_t *body; /* of its preview.tree; NULL = nothing */
	uint64_t seq; /* of that event */
};

struct dry_run {
	struct dry_run *next;
	struct super *s;
	struct trees *t; /* NULL when its box has gone */
	uint64_t action, box, agent, seq, ticket;
	enum dry_run_stage stage;
	struct hash intent, before;
	json_t *who;
	char *dir; /* state of the second box; stays until promoted or dropped */
	/* what runs */
	enum action_kind kind;
	struct strv argv, env;
	char *cwd, *path;
	struct buf input, data;
	json_t *args; /* of an edit */
	bool pty;
	/* where it stands */
	struct tree_job *job; /* held: the box is frozen */
	struct taken taken;
	const struct driver *driver;
	struct box *over;
	struct run *run;
	struct loop_timer *timer, *flood;
	struct egress *egress;
	bool cancelled, locked, paused, promoting, net;
	bool copy;    /* the second box has a copy, not a layer above the live one */
	bool partial; /* of a remote sandbox: only its workspace */
	bool offline; /* its sandbox is on a network; the command gets none */
	int64_t began_us, took_us;
	uint64_t quiet_tries;
	/* the result */
	const char *end; /* "ok" "timeout" "cancelled" "failed" */
	struct err err;
	int code, signal, left;
	int64_t bytes[2], refused, names, local, tmp;
	bool flooded, hash_only, blind; /* blind: network use can't be observed */
	struct buf answer;		/* of the question after the run */
	json_t *hosts, *files;
	int64_t more, added, removed;
	struct dry_run_layer *layer;
	size_t nr_layers;
	struct objects *objects;
	struct effector effector; /* of a promote */
};

/* dry_run_box.c */
void dry_run_open(struct dry_run *p); /* the box is frozen */
void dry_run_cut(struct dry_run *p);  /* the run is to end now */
/* dry_run.c */
struct dry_run *dry_run_of_action(const struct super *s, uint64_t action); /* newest; or NULL */
void dry_run_closed(struct dry_run *p);		       /* the second box has gone, or never was */
void dry_run_drop(struct dry_run *p, const char *why); /* it can't be applied now; frees it */
/* dry_run_hash.c: H of the files of @t as they are, /home/agent included. Worker. */
NODISCARD int dry_run_hash(struct trees *t, struct hash *out, struct err *err);
/* The counters of /proc/net/snmp and snmp6, one "Name: columns" line and one of values; 0 when it
 * is not there. */
int64_t dry_run_counter(const char *text, const char *table, const char *column);

/* --- dry_run.c --- */
void remove_later(struct super *s, char *dir);
void dry_run_free(struct dry_run *p);

/* --- dry_run_end.c --- */
void dry_run_fail(struct dry_run *p, const struct err *err);

#endif
