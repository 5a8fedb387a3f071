/* The supervisor's end of one guest (wire/guest.h): starts runs in a box, feeds and signals them,
 * freezes the box, opens sockets inside it. The names map one to one to the run_*, freeze, listen,
 * dial and stats verbs of sandbox/driver.h.
 *
 * Loop thread only. Callbacks come from the loop, never from inside the call that asked. Everything
 * a guest says is a claim of the box: lengths and counts are bounded here, descriptors that were
 * not asked for are closed, a frame that breaks the rules ends the connection (on_gone), and
 * nothing outside the box depends on the rest.
 *
 * Two ways for the bytes of a run, same verbs: descriptors are passed and read here directly (the
 * default, unix sockets only), or every stream is framed with credit (struct guest_opts.framed;
 * containers and machines). */
#ifndef SANDBOX_GUEST_GUEST_CLIENT_H
#define SANDBOX_GUEST_GUEST_CLIENT_H

#include <sys/ioctl.h>

#include "sandbox/driver.h"
#include "wire/guest.h"

struct guest;
struct guest_run;

struct guest_info {
	unsigned version; /* of the protocol */
	/* PID 1 of a namespace of its own; else an ordinary child (profile reduced) */
	bool init;
	int landlock; /* ABI of the kernel as the box sees it; 0 = none */
	unsigned uid; /* inside */
};

struct guest_opts {
	bool framed; /* no descriptors over this socket */
};

struct guest_ops {
	void (*on_ready)(void *self, const struct guest_info *info); /* once, first */
	/* The connection ended; @err says how, never NULL. Before it every run had on_exit with
	 * lost = true and every open request its error. guest_free may be called inside. Not called
	 * after guest_free. */
	void (*on_gone)(void *self, const struct err *err);
};

/* Takes @sock (unix or any other stream socket). Requests may be sent at once; they wait until the
 * guest is ready. */
struct guest *guest_new(struct loop *l, int sock, const struct guest_opts *o,
			const struct guest_ops *ops, void *self);
/* Closes the connection: a guest that sees it kills everything in its sandbox and ends. No
 * callbacks follow, runs included; their handles stay valid until guest_run_free. */
void guest_free(struct guest **g);
const struct guest_info *guest_info(const struct guest *g); /* NULL before on_ready; borrows */

/* --- what the box may touch ---
 * One landlock rule per path, hierarchical. Every command enters the rules between fork and
 * exec. */
struct guest_rule {
	const char *path; /* in the box, absolute; one that does not exist is left out */
	unsigned access;  /* enum guest_access */
};
struct guest_attach {
	/* NULL: the default set (sandbox/guest/guest_rules.c) with @extra on top */
	const struct guest_rule *rules;
	size_t nr_rules;
	/* named roots, the private temporary directory of a reduced box, ... */
	const struct guest_rule *extra;
	size_t nr_extra;
	/* refuse TCP but for @ports: only where the network namespace is not empty */
	bool tcp;
	const uint16_t *ports; /* may be connected to */
	size_t nr_ports;
	bool scope;	/* no signals and abstract sockets out of a command (reduced) */
	bool keep_caps; /* commands keep the guest's capabilities (a container's root) */
	enum guest_attach_part {
		ATTACH_WHOLE,
		/* all but what is mounted later: before that, and only before the first attach */
		ATTACH_AHEAD,
		ATTACH_REST, /* what was left out then */
	} part;
	/* commands enter these system call filters; NULL: they have inherited theirs */
	const struct buf *filters; /* SECCOMP_PROGRAMS of them (seccomp.h) */
	/* continue where the kernel has no landlock or no filters; else runs fail at "landlock" */
	bool unconfined_ok;
	/* become rlimits: mem_bytes (address space), disk_bytes (largest file), pids */
	struct box_limits limits;
};
/* The workspace was attached: opens the rules afresh. Running commands keep the rules they entered;
 * prepared ones make it fail (ERR_BUSY). Result
 * {"landlock":abi,"filtered":bool,"missing":[paths]}. Before the first attach runs fail. */
void guest_attach(struct guest *g, const struct guest_attach *a, box_done_fn *done, void *self);

/* Rules for the shared part of a system: its programs and settings to read. Returns the number. */
size_t guest_rules_shared(const struct guest_rule **out);

/* --- runs ---
 * prepare forks, sets up, and waits; go lets it exec. @o and everything it points to are copied.
 * Never NULL: failures arrive as on_exit (guest_run_failure tells which step). A command that
 * cannot be found ends with 127, one that cannot be run with 126, like in a shell. */
struct guest_run *guest_prepare(struct guest *g, const struct run_opts *o,
				const struct run_ops *ops, void *self);
void guest_go(struct guest_run *r);
/* Goes when @before has ended; no way there and back lies between. */
void guest_go_after(struct guest_run *r, const struct guest_run *before);
/* The same, or when the bytes of @mark have come out of its terminal and after them the first of
 * them once more (framed streams only); at once if guest_go is called meanwhile. */
void guest_go_at(struct guest_run *r, const struct guest_run *before, const char *mark);
/* queued here without limit */
void guest_stdin(struct guest_run *r, const void *bytes, size_t len, bool eof);
size_t guest_stdin_queued(const struct guest_run *r); /* bytes not yet taken by the box */
/* it has a terminal, which does not echo what is typed */
bool guest_silent(const struct guest_run *r);
/* to its process group */
void guest_signal(struct guest_run *r, int signo);
bool guest_echoes(const struct guest_run *r); /* false also where it can't be seen */
void guest_resize(struct guest_run *r, const struct winsize *size); /* pty only */
/* stop reading: what writes blocks when its pipe is full */
void guest_pause(struct guest_run *r, bool paused);
/* After on_exit, or before: kills everything that came from it, no more callbacks. NULL is fine. */
void guest_run_free(struct guest_run *r);
/* In and after on_exit: true if the command never ran; @out says which step failed and why. */
bool guest_run_failure(const struct guest_run *r, struct err *out);
/* In and after on_exit: ended because of run_opts.timeout_us. */
bool guest_run_timed_out(const struct guest_run *r);
int guest_run_pid(const struct guest_run *r); /* in the box; 0 before it is known */

/* --- the box as a whole ---
 * Each answers once through @done, also when the guest goes away (ERR_CLOSED). */

/* Result {"how":"sigstop","frozen":bool,"procs":n,"running":n}. Runs that go while frozen start at
 * thaw. */
void guest_freeze(struct guest *g, bool frozen, box_done_fn *done, void *self);
/* A socket that listens on the box's 127.0.0.1:@port (0: any), non-blocking, accepting out here.
 * {"fd":n,"port":n}: the descriptor is the callee's. */
void guest_listen(struct guest *g, uint16_t port, box_done_fn *done, void *self);
/* A connected, non-blocking socket to 127.0.0.1:@port of the box. {"fd":n}. */
void guest_dial(struct guest *g, uint16_t port, box_done_fn *done, void *self);
/* {"cpu_us":n,"mem_bytes":n,"pids":n,"procs":[{"pid","ppid","run","name","state","mem_bytes",
 * "cpu_us"}]}; "run" is the pid of the run it came from, 0 if unknown. At most 512 processes. */
void guest_ps(struct guest *g, box_done_fn *done, void *self);
/* As in driver.h, at once: the count at the end of the last run. NULL is fine. */
void guest_oom(const struct guest *g, box_done_fn *done, void *self);
void guest_ping(struct guest *g, box_done_fn *done, void *self);
/* Kills every process of the box but the guest and waits until they are gone:
 * {"killed":n,"left":n}. */
void guest_kill_all(struct guest *g, box_done_fn *done, void *self);

#endif
