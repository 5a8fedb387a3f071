/* Keyframes of one terminal: its output comes in pieces, and after each SCREEN_KEY_EVERY bytes of
 * it a keyframe is made at the next place between two sequences. */
#ifndef SCREEN_KEYFRAMES_H
#define SCREEN_KEYFRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct keyframes;
/* @key makes the terminal's state in a new one of @rows and @cols. */
typedef void keyframe_fn(void *self, uint64_t offset, int rows, int cols, const struct buf *key);

struct keyframes *keyframes_new(int rows, int cols, bool bare_lf);
void keyframes_free(struct keyframes **k);
void keyframes_resize(struct keyframes *k, int rows, int cols);
/* Returns false if no keyframe can be made any longer: the state has had none for long. */
bool keyframes_feed(struct keyframes *k, const void *bytes, size_t len, keyframe_fn *fn,
		    void *self);

#endif
