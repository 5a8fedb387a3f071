/* What sandglass-screen gives up before it reads a program's output: it keeps two descriptors,
 * and can read, write, and take memory. */
#ifndef SCREEN_SCREEN_LOCKDOWN_H
#define SCREEN_SCREEN_LOCKDOWN_H

#include "base/err.h"

NODISCARD int screen_lockdown_enter(struct err *err);

#endif
