/* The boot contents of a virtual machine of ours, and its devices: agreed between the driver
 * (sandbox/vm/vm.c) and PID 1 inside (guest/machine.c).
 *
 * The initial RAM file system holds /init (our guest program), /modules/NAME.ko, and /skeleton: the
 * root of a machine that takes its programs from /usr of the host. The kernel's command line ends
 * with "-- --machine"; MACHINE_ROOT=usr or image comes before and becomes a variable.
 *
 *   disk    the first virtio block device, ext4: everything written by the machine
 *   9p      tag "usr" (read only: /usr of the host) or "image" (read only: a whole root)
 *   port    the first virtio serial port: the guest's channel (wire/guest.h) */
#ifndef WIRE_MACHINE_H
#define WIRE_MACHINE_H

#define MACHINE_OPTION	 "--machine"
#define MACHINE_ROOT	 "sandglass_root"
#define MACHINE_MODULES	 "modules"
#define MACHINE_SKELETON "skeleton"
#define MACHINE_TOOL	 "/run/sandglass/guest" /* our program in there, once it is up */

#endif
