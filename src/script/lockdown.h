/* Takes the hands off this process: after it, memory, the socket and exit are all that is left.
 * Whatever else a library tries kills the process, so a hole in Lua is not a hole in the
 * machine. */
#ifndef SCRIPT_LOCKDOWN_H
#define SCRIPT_LOCKDOWN_H

#include "base/err.h"

/* Closes every descriptor but HOST_FD (and 2, for a last word while starting), sets the limits,
 * loads the filter. @mem_bytes bounds the address space on top of the present mappings; 0 = no
 * bound. */
NODISCARD int lockdown_enter(size_t mem_bytes, struct err *err);

/* Arms (or, with 0, disarms) the CPU clock of a turn: past it the kernel kills the process,
 * without any supervisor. */
void lockdown_turn(unsigned seconds);

#endif
