/* The run verbs of driver.h for every driver whose boxes have our guest inside. A guest that has
 * gone makes a run that ends as lost, from the loop. Loop thread only. */
#ifndef SANDBOX_GUEST_GUEST_DRIVE_H
#define SANDBOX_GUEST_GUEST_DRIVE_H

#include "sandbox/guest/guest_client.h"

/* As run_prepare: @g NULL: the box is dead; @env stands before what @o adds; @cwd instead of that
 * of @o, NULL: that. */
struct run *guest_drive(struct loop *l, struct guest *g, const struct strv *env, const char *cwd,
			const struct run_opts *o, const struct run_ops *ops, void *self);
void guest_drive_go(struct run *r);
void guest_drive_go_after(struct run *r, struct guest_run *before);
void guest_drive_go_at(struct run *r, struct guest_run *before, const char *mark);
/* A driver's additions: @went when it was released, @ends before its end is reported, with the last
 * value returned by @went or @turn (0: it never went). @turn: as in driver.h; NULL: nothing.
 * Not for runs of a dead sandbox. */
struct guest_drive_more {
	unsigned (*went)(void *self, struct guest_run *g);
	void (*ends)(void *self, unsigned nr);
	unsigned (*turn)(void *self, struct guest_run *g, unsigned nr, enum run_turn turn,
			 const char *mark);
};
void guest_drive_more(struct run *r, const struct guest_drive_more *more, void *self);
void guest_drive_stdin(struct run *r, const void *bytes, size_t len, bool eof);
size_t guest_drive_stdin_queued(const struct run *r);
enum run_echo guest_drive_echo(const struct run *r);
void guest_drive_signal(struct run *r, int signo);
bool guest_drive_echoes(const struct run *r);
void guest_drive_resize(struct run *r, const struct winsize *size);
void guest_drive_pause(struct run *r, bool paused);
void guest_drive_turn(struct run *r, enum run_turn turn, const char *mark);
void guest_drive_free(struct run *r);

/* Rows of struct driver, for all of them. */
#define GUEST_DRIVE_VERBS                                                                          \
	.run_go = guest_drive_go, .run_stdin = guest_drive_stdin,                                  \
	.run_stdin_queued = guest_drive_stdin_queued, .run_echo = guest_drive_echo,                \
	.run_signal = guest_drive_signal, .run_resize = guest_drive_resize,                        \
	.run_pause = guest_drive_pause, .run_free = guest_drive_free

#endif
