/* The start of PID 1 in a virtual machine, before it is a guest like any other (vm.c starts it
 * as /init of an initial RAM file system; wire/machine.h is the specification). */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

/* Loads modules, mounts what there is, enters the machine's root, opens the port. Returns its
 * descriptor, or -1: what failed stands on the console. */
int machine_up(void);
_Noreturn void machine_down(void); /* powers off */

#endif
