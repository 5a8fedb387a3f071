/* What the supervisor and the guest of a box say to each other: frames of wire/frame.h with packed
 * bodies.
 *
 *  1. The channel is any stream of bytes (unix socket, virtio port). The guest speaks first: READY.
 *  2. Numbers are little-endian. str = u32 length, bytes, one zero byte that the length does not
 *     count. A body that is too short, too long or has a str without its zero breaks the protocol,
 *     and the receiver ends the connection.
 *  3. Frame id: of a run the number that the supervisor chose in PREPARE; of a question the number
 *     it chose for it; of a connection that the guest accepted a number of the guest's with bit 63
 *     set. Numbers are not used twice.
 *  4. A run: PREPARE -> PREPARED (the child exists and waits) -> GO -> output -> ENDED. PREPARE
 *     with GUEST_GO does not wait. ENDED is the last frame of a run and is always sent, whatever
 *     failed.
 *  5. Streams: 0 stdin, 1 stdout, 2 stderr, 3 the terminal (both ways), 4 a connection (both ways).
 *     DATA carries at most GUEST_CHUNK bytes. Each direction of each stream starts with
 *     GUEST_WINDOW bytes of credit; who has used DATA gives CREDIT back. EOF says that no DATA
 *     follows in this direction.
 *  6. Descriptors (GUEST_FDS): with PREPARE ride the child's ends, in the order stdin (with
 *     GUEST_STDIN), stdout, stderr; with PREPARED the terminal's master; with the ANSWER to LISTEN
 *     and DIAL the socket. 5 is not for these streams. With GUEST_TRACE a unix socket comes last:
 *     before it waits for GO the child says there u32 0 with the listener of a seccomp filter
 *     (execve, execveat and connect of it and of all that comes from it wait for an answer), or the
 *     errno of why there is none; with GUEST_TRACE_MUST it does not run then.
 *  7. ENDED means: the process has ended, and its output up to its end has been sent (5) or is in
 *     the pipe (6). It does not wait for the end of the pipes: a child left behind may hold them.
 *     Later output of such a child is read and dropped, so that it neither blocks nor dies.
 *  8. The end of the channel is the end of the box: the guest kills everything below itself and
 *     exits.
 *
 * Bodies, supervisor to guest:
 *   ATTACH   u8 flags; u64 mem, u64 file size, u32 processes (0 = leave); u16 n, n x (u8 access,
 *            str path);
 *            u16 n, n x u16 port;
 *            u8 n, n x (u16 instructions, 8 bytes each): system call filters that commands enter
 *   PREPARE  u16 flags; u16 cols, u16 rows, u16 width, u16 height in pixels; str cwd ("" =
 *            /workspace, or / where there has
 *            been none; relative: below /workspace);
 *            u32 n, n x str argv; u32 n, n x str "NAME=value"
 *   GO       -, or u64 run: it goes when that one has ended, after its ENDED; at once where there
 *            is none; or u64 run, str mark
 *            (1 to GUEST_MARK_MAX bytes): likewise, or as soon as from now on these bytes have come
 *            out of the terminal of that
 *            run (5) and, later, the first of them once more, after the DATA with it. Who waits
 *            goes at once when GO comes again
 *   DATA     u8 stream; bytes (both ways, like the next two)
 *   EOF      u8 stream
 *   CREDIT   u8 stream; u32 bytes
 *   SIGNAL   u8 signal; u8 to (0 process group, 1 everything that came from the run)
 *   RESIZE   u16 cols, u16 rows, u16 width, u16 height in pixels
 *   DROP     -      run: kill everything that came from it, then ENDED (of one that has ended: what
 *            it left); listener or connection: close
 *   FREEZE   u8 (1 freeze, 0 thaw)
 *   LISTEN   u16 port; u8 flags (GUEST_FDS)
 *   DIAL     u16 port; u8 flags (GUEST_FDS)
 *   PS, PING, KILL  -
 * Guest to supervisor:
 *   READY    u32 version; u8 PID 1 of its namespace; u8 landlock ABI; u32 uid
 *   PREPARED u32 pid
 *   ENDED    u16 exit code; u8 signal; u8 step, u32 errno (step 0: it ran); u32 left (processes of
 *            it still alive);
 *            u64 cpu us; u64 max resident bytes; u32 processes of the box that its memory limit has
 *            killed so far
 *            (GUEST_OOM_UNKNOWN: nothing counts them)
 *   ACCEPTED u64 id of the new connection    (the frame's id is the listener's)
 *   STOPPED  u8 signal   that stopped the program of a run with GUEST_JOB; 0: it continues
 *   ECHO     u8 (1 the run's terminal echoes what is typed, 0 it does not), when that has changed;
 *            a terminal starts with 1 (5 only)
 *   ANSWER   u8 step, u32 errno (0, 0: done); if done
 *            to ATTACH u8 ABI, u8 (1: commands enter the filters, 0: the kernel has none), u16 n,
 *                      n x u16 index of a rule whose path is missing
 *            to FREEZE u32 processes, u32 still running
 *            to LISTEN u16 port
 *            to KILL   u32 killed, u32 left
 *            to PS     u32 processes, u32 n, n x (u32 pid, u32 ppid, u32 pid of its run, u8 state,
 *                      u64 resident bytes,
 *                      u64 cpu us, str name) */
#ifndef WIRE_GUEST_H
#define WIRE_GUEST_H

#include "base/buf.h"
#include "wire/frame.h"

enum {
	GUEST_VERSION = 5,
	GUEST_WINDOW = 256 << 10,
	GUEST_CHUNK = 32 << 10,
	GUEST_MAX_IN = 4 << 20,	   /* body towards the guest: argv and environment */
	GUEST_MAX_OUT = 256 << 10, /* body from the guest */
	GUEST_MAX_STRINGS = 65536,
	GUEST_MAX_RULES = 1024,
	GUEST_MAX_PS = 512,
	GUEST_MARK_MAX = 128,
	GUEST_FILTERS = 4,
	GUEST_FILTER_MAX = 4096, /* instructions, as the kernel has it */
	GUEST_FILTER_STEP = 8,	 /* bytes of an instruction */
};
#define GUEST_OOM_UNKNOWN UINT32_MAX
#define GUEST_OWN_ID	  (1ULL << 63)

enum guest_frame {
	GF_ATTACH = 1,
	GF_PREPARE,
	GF_GO,
	GF_DATA,
	GF_EOF,
	GF_CREDIT,
	GF_SIGNAL,
	GF_RESIZE,
	GF_DROP,
	GF_FREEZE,
	GF_LISTEN,
	GF_DIAL,
	GF_PS,
	GF_PING,
	GF_KILL,
	GF_READY = 32,
	GF_PREPARED,
	GF_ENDED,
	GF_ACCEPTED,
	GF_ANSWER,
	GF_ECHO,
	GF_STOPPED,
};

enum guest_flag {
	GUEST_GO = 1,
	GUEST_PTY = 2,
	GUEST_STDIN = 4,
	GUEST_FDS = 8,
	GUEST_OURS = 16, /* a program of ours (wire/tool.h): it runs in a frozen box, too */
	GUEST_TRACE = 32,
	GUEST_TRACE_MUST = 64,
	GUEST_OFFLINE = 128, /* neither it nor its children can make a socket */
	/* with GUEST_PTY: below a session leader, as below a shell, so that it can stop itself */
	GUEST_JOB = 256,
	GUEST_CWD_NO_LINK = 512, /* cwd itself is a directory, not a link to one */
};
enum guest_attach_flag {
	GUEST_TCP = 1,
	GUEST_SCOPE = 2,
	GUEST_UNCONFINED_OK = 4,
	GUEST_KEEP_CAPS = 8,
	/* rules for existing mounts: they are opened and wait, nobody enters them */
	GUEST_AHEAD = 16,
	GUEST_ON = 32, /* continues with the rules that wait */
};
enum guest_access {
	GUEST_READ = 1,	  /* files and directories below may be read */
	GUEST_EXEC = 2,	  /* and executed */
	GUEST_WRITE = 4,  /* and changed, made, removed (no device nodes) */
	GUEST_DEVICE = 8, /* ioctl on devices below */
	GUEST_LIST = 16,  /* directories below may be listed, no more */
	/* the directory may be listed; the other rights are for each of its entries, except
	 * machine-id, which tells the machine from all others */
	GUEST_ENTRIES = 32,
};
enum guest_stream_nr { GUEST_IN = 0, GUEST_OUT = 1, GUEST_ERR = 2, GUEST_TTY = 3, GUEST_CONN = 4 };

/* What went wrong, where: the sentence is made outside. */
enum guest_step {
	GS_NONE = 0,
	GS_PROTOCOL, /* the frame makes no sense here */
	GS_NO_RULES, /* ATTACH has not been said yet */
	GS_FORK,
	GS_PIPE,
	GS_PTY,
	GS_SESSION,
	GS_STDIO,
	GS_LIMITS,
	GS_PRIVS,
	GS_LANDLOCK,
	GS_CWD,
	GS_EXEC,
	GS_SOCKET,
	GS_BIND,
	GS_CONNECT,
	GS_PROC,
	GS_TRACE,   /* no filter whose calls could be watched */
	GS_OFFLINE, /* no filter that keeps it from making sockets */
	GS_FILTER,  /* no system call filter */
	GS_BUSY,    /* prepared runs wait; try again when they have gone */
	GS_LAST_,
};
/* "cannot enter landlock rules": lower case, static; never NULL. */
const char *guest_step_text(unsigned step);

/* Reading a packed body. A read past the end gives 0 or "" and sets bad for good; check once, at
 * the end. */
struct unpack {
	const char *p;
	size_t left;
	bool bad;
};
uint8_t unpack_u8(struct unpack *u);
uint16_t unpack_u16(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
/* Borrows from the body; zero-terminated there. A zero inside is bad. */
const char *unpack_str(struct unpack *u);
bool unpack_done(const struct unpack *u); /* nothing bad and nothing left */

void pack_u8(struct buf *b, uint8_t v);
void pack_str(struct buf *b, const char *s); /* the other numbers: buf_u16le ... */

/* PREPARE, unpacked: the arrays are owned, their strings borrow from the body. */
struct guest_prepare_body {
	unsigned flags;
	uint16_t cols, rows, xpixel, ypixel;
	const char *cwd;
	const char **argv, **env; /* NULL-terminated */
	size_t nr_argv, nr_env;
};
/* -1 leaves @out zeroed. At least one argument is asked for. */
NODISCARD int guest_prepare_unpack(const char *body, size_t len, struct guest_prepare_body *out,
				   struct err *err);
void guest_prepare_release(struct guest_prepare_body *b);

/* ATTACH, unpacked likewise. */
struct guest_attach_body {
	unsigned flags;
	uint64_t mem_bytes, file_bytes;
	uint32_t pids;
	struct guest_attach_rule {
		uint8_t access;
		const char *path;
	} * rules;
	size_t nr_rules;
	uint16_t *ports;
	size_t nr_ports;
	struct guest_filter {
		const char *code; /* instructions of 8 bytes, not aligned */
		uint16_t steps;
	} filters[GUEST_FILTERS];
	size_t nr_filters;
};
NODISCARD int guest_attach_unpack(const char *body, size_t len, struct guest_attach_body *out,
				  struct err *err);
void guest_attach_release(struct guest_attach_body *b);

/* ENDED. */
struct guest_ended_body {
	uint16_t code;
	uint8_t signal, step;
	uint32_t sys, left;
	uint64_t cpu_us, max_bytes;
	uint32_t oom;
};
void guest_ended_pack(struct buf *out, const struct guest_ended_body *e);
NODISCARD int guest_ended_unpack(const char *body, size_t len, struct guest_ended_body *out,
				 struct err *err);

#endif
