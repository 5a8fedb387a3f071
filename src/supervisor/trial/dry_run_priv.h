/* Between preview.c (its life), preview_run.c (the second box) and preview_promote.c. */
#ifndef SUPERVISOR_TRIAL_PREVIEW_PRIV_H
#define SUPERVISOR_TRIAL_PREVIEW_PRIV_H

#include "supervisor/trial/dry_run.h"
#include "supervisor/box/tree_priv.h"
#include "proxy/egress.h"

enum {
	PREVIEW_LIMIT_MS = 30000,
	PREVIEW_OUTPUT_MAX = 64 << 20, /* bytes of both streams: past it the run is cut off */
	PREVIEW_FILES_MAX = 500,
};

enum preview_stage {
	PREVIEW_BARRIER, /* preview.started is on its way to the disk */
	PREVIEW_QUIET,	 /* waits until no file action runs in the box */
	PREVIEW_LOOKING, /* the sandbox is frozen, its files are read */
	PREVIEW_OPENING, /* of a copy: its files at the start are read, too */
	PREVIEW_RUNNING,
	PREVIEW_ASKING, /* counters of the second box's network */
	PREVIEW_WALKING,
	PREVIEW_CLOSING,
	PREVIEW_OVER, /* may be promoted */
};

/* The second sandbox's changes in one layer. */
struct preview_layer {
	char *name;  /* "", NAME, ":home" */
	char *upper; /* the directory that holds what the second box wrote there */
	struct ws *ws;
	json_t *body; /* of its preview.tree; NULL = nothing */
	uint64_t seq; /* of that event */
};

struct preview {
	struct preview *next;
	struct super *s;
	struct trees *t; /* NULL when its box has gone */
	uint64_t action, box, agent, seq, ticket;
	enum preview_stage stage;
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
	struct preview_layer *layer;
	size_t nr_layers;
	struct objects *objects;
	struct effector effector; /* of a promote */
};

/* preview_run.c */
void preview_open(struct preview *p); /* the box is frozen */
void preview_cut(struct preview *p);  /* the run is to end now */
/* preview.c */
void preview_closed(struct preview *p);		       /* the second box has gone, or never was */
void preview_drop(struct preview *p, const char *why); /* it can't be applied now; frees it */
/* preview_hash.c: H of the files of @t as they are, /home/agent included. Worker. */
NODISCARD int preview_hash(struct trees *t, struct hash *out, struct err *err);
/* The counters of /proc/net/snmp and snmp6, one "Name: columns" line and one of values; 0 when it
 * is not there. */
int64_t preview_counter(const char *text, const char *table, const char *column);

#endif
