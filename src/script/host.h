/* A Lua host as a function: frames in, frames out (wire/host.h). No descriptors, no clock, no
 * files: main.c brings the socket, tests and benches bring what they like.
 *
 * One host per process is meant (the codec's scratch is shared); several in one thread work, one
 * after another. The state is never closed by a running program: a script's cleanup has run before
 * END, the rest is the kernel's. */
#ifndef SCRIPT_HOST_H
#define SCRIPT_HOST_H

#include "wire/frame.h"
#include "wire/host.h"

enum { HOST_MEM_DEFAULT = 256 << 20 };

struct host;

/* @exhausted is called when the script's memory cap is reached, with the frames to send (END); it
 * must not return. */
struct host *script_host_new(void (*exhausted)(void *self, const struct buf *out), void *self);
void script_host_free(struct host **h); /* for tests and benches */

/* Takes one frame and appends what the turn says to @out; the last frame is IDLE or END. Returns
 * false after END. A frame that breaks the protocol ends the host with code 70. */
bool host_feed(struct host *h, const struct frame *f, struct buf *out);

int host_code(const struct host *h);	  /* exit status after END */
size_t host_memory(const struct host *h); /* bytes that Lua holds now */

#endif
