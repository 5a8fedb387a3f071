/* The handshake with a far side that has a shell but not yet our guest program: it names the
 * directory made for the sandbox, takes the program if needed, and becomes the guest's channel.
 *
 *   there:  SANDGLASS MACHINE have|want FOLDER PROGRAM\n    MACHINE as of uname -m; bytes before
 *           that line are skipped
 *   here:   want: the program, whose size is in the script
 *   there:  the guest's greeting (wire/guest.h)
 *
 * The script is guest_handoff_script; the driver runs it (through ssh, or an exec of Kubernetes).
 * Loop thread only. */
#ifndef SANDBOX_STREAM_GUEST_HANDOFF_H
#define SANDBOX_STREAM_GUEST_HANDOFF_H

#include "loop/loop.h"
#include "base/buf.h"

struct handover;

struct handover_ops {
	/* The channel is the guest's from here on: the callee's. @folder ROOT of
	 * sandbox/stream/stream_backend.h, @tool: the program. */
	void (*done)(void *self, int fd, const char *folder, const char *tool);
	/* It did not come so far. @said: the last line that the other side printed, or "". */
	void (*failed)(void *self, const struct err *err, const char *said);
};

/* Takes @fd (a stream socket). */
struct handover *guest_handoff_new(struct loop *l, int fd, const struct handover_ops *ops,
				   void *self);
void guest_handoff_free(struct handover **h); /* no callbacks; NULL inside is fine */

/* A script for sh as one line: @name is the box's, plain; @dir where to keep things, NULL: the
 * cache directory there. Reads our guest program (for its size and hash). */
NODISCARD int guest_handoff_script(const char *name, const char *dir, struct buf *out,
				   struct err *err);

#endif
