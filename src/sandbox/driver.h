/* The driver contract: what a sandbox must be able to do. A driver is one file and one row in
 * drivers.def; tests/drivers/conformance.c holds it to this file, `sandglass plugin test`
 * (lua/agents/conformance.lua) to what scripts are promised of every kind.
 *
 * Loop thread only. Everything that takes time answers through a callback, exactly once, never from
 * inside the call. Paths are in the box, absolute or relative to /workspace. What a box reports
 * (exit status, times, names) is a claim of the box: bounded here, believed nowhere. */
#ifndef SANDBOX_DRIVER_H
#define SANDBOX_DRIVER_H

#include <sys/ioctl.h>

#include "base/buf.h"
#include "base/json.h"
#include "loop/loop.h"

struct box; /* one open sandbox of one driver; each driver embeds this first */
struct run; /* one process started in a box */

enum { BOX_FILE_MAX = 100 << 20 }; /* so much of a file is read, edited or copied at once */

enum box_caps {
	CAP_STREAMS = 1 << 0, /* stdout and stderr apart */
	CAP_STDIN = 1 << 1,
	CAP_SIGNAL = 1 << 2,
	CAP_PTY = 1 << 3,
	CAP_FREEZE = 1 << 4,
	CAP_SNAPSHOT = 1 << 5, /* natively; else made from exec and files */
	CAP_FORK = 1 << 6,
	CAP_LISTEN = 1 << 7,
	CAP_DIAL = 1 << 8,
	CAP_PREPARE = 1 << 9,  /* run_prepare before run_go */
	CAP_WATCH = 1 << 10,   /* change hint */
	CAP_TRACE = 1 << 11,   /* run_opts.trace */
	CAP_OFFLINE = 1 << 12, /* run_opts.offline */
	/* it has sh and the usual commands; else Python alone: "python" and "pip"
	 * (sandbox/pyodide/pyodide.h) */
	CAP_SHELL = 1 << 13,
	/* dial leads to a server that speaks HTTP, one request per connection */
	CAP_DIAL_HTTP = 1 << 14,
};

/* 0 = default */
struct box_limits {
	/* disk_bytes, files: of all that it has written */
	int64_t mem_bytes, disk_bytes, files, cpu_milli;
	int pids;
	int64_t wall_us;
};
struct box_repo {
	const char *name;
	const char *host_dir;
}; /* name "" = at /workspace itself */
struct box_opts {
	const char *name;
	const char *state_dir; /* ours, 0700: upper, work; outlives a crash */
	const struct box_repo *repo;
	size_t nr_repos;
	const char *const *expose;
	size_t nr_expose; /* paths that masks would hide */
	/* extra read-only roots (tools outside /usr) */
	const char *const *roots;
	size_t nr_roots;
	/* they are ours, with no secret below: nothing is hidden in them; never a script's word */
	bool roots_as_are;
	struct box_limits limits;
	bool net; /* an egress proxy will be offered: open the listener */
	/* that it lets through; nobody's but the session's */
	const char *const *host;
	size_t nr_hosts;
	/* the box that it begins as a copy of, as that was at this event; 0 none */
	int64_t fork_box, fork_n;
	/* The box whose state it continues, by id: a copy of it in a fork, else the same
	 * directory; 0: its own. */
	int64_t state;
	/* it is not opened if git's objects hold what masks hide */
	bool mask_history;
	/* a later box of this session may continue its state, once it is closed */
	bool stays;
	/* the box that this one stands for since a session was resumed or forked; 0 none */
	int64_t was;
	int64_t call;		/* the host's number of the call that opened it; 0 none */
	bool keep;		/* what is on disk of it outlives the session */
	bool accept_reduced;	/* the reduced profile is acceptable */
	const char *const *env; /* "NAME=value", NULL-terminated, may be NULL */
	/* what it reaches by credentials of ours (inside/proxy.h); nobody's but the
	 * session's */
	json_t *proxies;
	/* which are planted in it (secrets/honeytoken.h); nobody's but the session's */
	json_t *honeytokens;
	/* {"exec":true,"hold":[word patterns]}; NULL: its programs are not watched */
	json_t *trace;
	json_t *driver; /* options of this driver only; borrowed */
	/* May be NULL: a line for users about what takes long before the box is open (an image
	 * that is fetched or built), and what a machine prints on its console, until it is closed.
	 * Bytes of the box: bounded and cleaned by the callee. */
	void (*progress)(void *self, const char *line, size_t len);
	void *progress_self;
};

/* one of the two is NULL; borrowed */
typedef void box_done_fn(void *self, json_t *result, const struct err *err);

/* Whether what a run executes is asked for: not; if that can be; or else it does not run. */
enum trace_want { TRACE_NONE, TRACE_IF, TRACE_MUST };

/* Events of a running process, in this order: on_output..., on_exit once. */
struct run_ops {
	/* 1 out, 2 err, 3 pty */
	void (*on_output)(void *self, int stream, const void *bytes, size_t len);
	/* The process has ended and its streams are drained (not: pipe EOF). signal 0 = exited with
	 * @code. @lost: the box died under it. @left: processes of it still alive. */
	void (*on_exit)(void *self, int code, int signal, bool lost, int left);
	/* With run_opts.trace, once, before it executes anything (may be NULL without): the
	 * listener of a seccomp filter (sandbox/trace.h; the callee's), or -1 and the errno of why
	 * there is none. */
	void (*on_trace)(void *self, int listener, int sys);
	/* May be NULL. Before on_exit, from drivers whose boxes lie elsewhere: how long it took
	 * until it ran there, and how long it ran. */
	void (*on_took)(void *self, int64_t out_us, int64_t box_us);
	/* May be NULL. Before on_exit, from drivers that know: why it is @lost; or why nothing was
	 * executed (code 126 or 127). */
	void (*on_lost)(void *self, const struct err *why);
	/* May be NULL. With run_opts.job: the signal that stopped the program; 0: it continues. */
	void (*on_stop)(void *self, int signo);
};
/* Does the terminal of a run show what is typed? */
enum run_echo { ECHO_UNKNOWN, ECHO_ON, ECHO_OFF };
struct run_opts {
	char *const *argv;
	size_t nr_argv;
	const char *cwd; /* NULL = /workspace */
	/* @cwd is the sandbox's own top: a link in its place is an error, not a way elsewhere */
	bool cwd_no_link;
	char *const *env; /* additions, NULL-terminated, may be NULL */
	bool pty;
	bool job; /* with pty, from drivers with a guest: it can stop itself, as below a shell */
	uint16_t cols, rows, xpixel, ypixel;
	bool stdin_open;       /* false: stdin is /dev/null */
	int64_t timeout_us;    /* TERM, 2 s, KILL; 0 = none */
	bool background;       /* spawn: may outlive the action */
	enum trace_want trace; /* what it executes is asked for */
	bool ours;	       /* a program of ours: it runs in a frozen box, too */
	bool offline;	       /* neither it nor its children can make a socket */
};

/* A command typed into a run that has a terminal (sandbox/shell.h): it is about to be; it has ended
 * at its mark; in another way; none has been yet, and the first may come. */
enum run_turn { TURN_BEGINS, TURN_AT_MARK, TURN_OTHERWISE, TURN_READY };

struct driver {
	const char *name;
	const char *about;
	/* of one that is a file of the user's own: where it lies, absolute; driver_find takes that,
	 * too. Else NULL */
	const char *file;
	unsigned caps;
	/* Can the host do it? Fills @out with
	 * {"ok":bool,"profile":"enforced","why":..,"fix":..,"checks":[..]}. Blocking, short.
	 * Returns owned. */
	json_t *(*probe)(void);
	/* Opens; @done with {"profile":..,"uid":..,"masked":[..],"foreign":n,...}. The box is valid
	 * once @done had no error. */
	struct box *(*open)(struct loop *l, const struct box_opts *o, box_done_fn *done,
			    void *self);
	/* The same for a driver with several instances, told apart by @d. Call
	 * driver_open. */
	struct box *(*open_as)(const struct driver *d, struct loop *l, const struct box_opts *o,
			       box_done_fn *done, void *self);
	/* kills what is in it; frees @b after @done */
	void (*close)(struct box *b, box_done_fn *done, void *self);

	/* Prepares (forks, sets up, waits) if CAP_PREPARE; run_go lets it exec. Without the cap
	 * start does nothing before go. */
	struct run *(*run_prepare)(struct box *b, const struct run_opts *o,
				   const struct run_ops *ops, void *self);
	void (*run_go)(struct run *r);
	void (*run_stdin)(struct run *r, const void *bytes, size_t len, bool eof);
	/* how much of it waits here until the command takes it */
	size_t (*run_stdin_queued)(const struct run *r);
	enum run_echo (*run_echo)(const struct run *r); /* NULL: ECHO_UNKNOWN */
	void (*run_signal)(struct run *r, int signo);	/* to its process group */
	void (*run_resize)(struct run *r, const struct winsize *size);
	/* its terminal echoes what is typed; NULL: can't be seen */
	bool (*run_echoes)(const struct run *r);
	/* back-pressure: stop reading its output */
	void (*run_pause)(struct run *r, bool paused);
	/* NULL: nobody has a use for it. @mark with TURN_BEGINS only: where these bytes come out of
	 * the terminal, the next that is the first of them is the end. TURN_AT_MARK says that it
	 * was, and that they had not come out before. */
	void (*run_turn)(struct run *r, enum run_turn turn, const char *mark);
	/* after on_exit; before: kills, no more callbacks */
	void (*run_free)(struct run *r);

	/* Files, through the keeper where there is one. read: the first @max bytes of a file, at
	 * most BOX_FILE_MAX, from every driver alike: result {"data":bytes,"mode":..,"size":..}; a
	 * size above the bytes means that the file is longer. For the rest run a command, which
	 * streams. */
	void (*read)(struct box *b, const char *path, size_t max, box_done_fn *done, void *self);
	/* @mode -1: keep what is there, 0644 for a new file. */
	void (*write)(struct box *b, const char *path, const void *data, size_t len, int mode,
		      box_done_fn *done, void *self);
	/* As write, but takes @data: no copy of a large file on the loop. May be NULL. */
	void (*write_taken)(struct box *b, const char *path, struct buf *data, int mode,
			    box_done_fn *done, void *self);
	/* {"entries":[{name,kind,size,mode}]} */
	void (*list)(struct box *b, const char *path, box_done_fn *done, void *self);
	void (*stat)(struct box *b, const char *path, box_done_fn *done, void *self);

	void (*kill)(struct box *b); /* all processes in it, at once; may be NULL */
	void (*freeze)(struct box *b, bool frozen, box_done_fn *done, void *self);
	/* NULL: it hears in any case. A frozen sandbox is stopped in such a way that a signal sent
	 * to its runs from now on (an end) reaches them; it stays frozen. */
	void (*hear)(struct box *b);
	/* NULL: nothing that runs in it can stop its guest. Else: lets the guest continue
	 * (SIGCONT). */
	void (*wake)(struct box *b);
	/* NULL: its guest can't stop answering. Else: it has stopped. Callers that wait for the
	 * sandbox hear that it is gone, also later ones; its runs are the caller's to end. */
	void (*give_up)(struct box *b);
	/* A socket that listens on the box's own loopback @port, in our hands: result {"fd":n}
	 * (owned by the callee). */
	void (*listen)(struct box *b, uint16_t port, box_done_fn *done, void *self);
	/* A connection to it, for a server in the sandbox: result {"fd":n} (owned by the callee).
	 * Ports of sandboxes and proxies into them use both; a driver with both (CAP_LISTEN,
	 * CAP_DIAL) passes "ports" of tests/drivers/conformance.c. */
	void (*dial)(struct box *b, uint16_t port, box_done_fn *done, void *self);
	/* of a hosted one up to now, as in box.closed; NULL: it costs nothing */
	json_t *(*cost)(struct box *b);
	/* {"cpu_us","mem_bytes","pids","procs":[..]} */
	void (*stats)(struct box *b, box_done_fn *done, void *self);
	/* NULL: cannot be known. {"oom"}: processes that the memory limit has killed so far;
	 * absent: not known, or not yet. @done may come from inside. */
	void (*oom)(struct box *b, box_done_fn *done, void *self);

	/* The trees below it, for src/sandbox/workspace; NULL where the core walks through list and
	 * read. */
	const struct box_tree_ops *tree;
};

/* Descriptors that the workspace needs from a driver with an overlay, passed by the keeper. All
 * blocking calls are made from a worker thread (the channel is the sandbox's own). */
struct box_tree_ops {
	/* O_PATH|O_DIRECTORY descriptor of the root of layer @which ("upper", "merged", "lower") of
	 * repo @i; owned by caller. i = number of repos (at least 1): /home/agent; one more:
	 * /workspace itself where the repos have names. lower: what the box started on, masked
	 * paths left out. */
	int (*root)(struct box *b, size_t i, const char *which, struct err *err);
	/* Opens a path beneath it: O_RDONLY|O_NONBLOCK|O_NOFOLLOW, beneath, no symlinks, no magic
	 * links. Regular files, dirs. */
	int (*open)(struct box *b, size_t i, const char *which, const char *path, struct err *err);
	/* Applies a plan (workspace/apply.h) to the merged view. */
	int (*apply)(struct box *b, size_t i, const char *plan, size_t len, const int *fds,
		     size_t nr_fds, struct err *err);
	bool (*overlay)(struct box *b); /* false: profile reduced, the workspace is a copy */
	/* A directory's entries that @open alone can't show (mode 0: no stat below it): array of
	 * {name, kind, mode, size, mtime_us, nlink, target of a symlink}, sorted by bytes.
	 * Returns owned or NULL. */
	json_t *(*list)(struct box *b, size_t i, const char *which, const char *path,
			struct err *err);
	/* Any thread: options with which another box of this driver begins on the files of this
	 * one as they are: "lowers" (process.h; while that box is open this one must be frozen
	 * or gone) or "copy_of" (layers.h; until it is open). Its newest directories are where
	 * this box's own changes lie. Returns owned; NULL: the driver cannot. */
	json_t *(*seed)(struct box *b);
	/* Before a walk of a mirror (mirror.h): brings the copy up to date; with @ended to its
	 * state when the action of this walk ended. NULL: the files are the sandbox's own. */
	int (*fresh)(struct box *b, bool ended, struct err *err);
};

struct box {
	const struct driver *driver;
	uint64_t id; /* seq of box.open */
	const char *name;
	const char *profile;   /* "enforced" "best effort" "reduced" "none" */
	const char *workspace; /* where commands find it; NULL: /workspace */
	const char *files;     /* host directory of its files, if not its state_dir; else NULL */
	/* capabilities of its driver that this one has not, in its profile */
	unsigned lacks;
};

static inline bool box_can(const struct box *b, enum box_caps cap)
{
	return (b->driver->caps & cap) && !(b->lacks & cap);
}

struct box *driver_open(const struct driver *d, struct loop *l, const struct box_opts *o,
			box_done_fn *done, void *self);
const struct driver *driver_find(const char *name); /* NULL if there is none */
const struct driver *driver_at(size_t i);	    /* NULL past the end */
/* Drivers that are no row of drivers.def: driver_find asks here last. NULL: nobody. */
typedef const struct driver *driver_finder(void *self, const char *name);
void driver_more(driver_finder *find, void *self);

#endif
