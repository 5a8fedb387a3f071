/* Keyframes of terminals' screens, recorded as terminal.screen: a reader makes a screen of a long
 * recording from the keyframe before it, not from the start.
 *
 * A process of its own, sandglass-screen (wire/screen.h), makes them from the recorded output; it
 * starts with the first terminal whose output exceeds SCREEN_KEY_EVERY. Without it readers take
 * longer, and see the same. Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_SCREEN_KEYS_H
#define SUPERVISOR_PEOPLE_SCREEN_KEYS_H

#include "supervisor/core/core.h"

/* @len bytes of output of action @id's terminal are on their way to the recording. */
void screen_keys_output(struct super *s, uint64_t id, size_t len);
/* Called before the event of a new size of its terminal. Closes the output so far. */
void screen_keys_resize(struct super *s, uint64_t id, int rows, int cols);
void screen_keys_free(struct super *s);

#endif
