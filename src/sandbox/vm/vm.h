/* A virtual machine: QEMU, with KVM where it brings a machine up, else emulated (TCG: slow, and
 * said). Its kernel is one of the host's or a given one; commands share no kernel with us. It
 * has no network device: the way out, as the way in, is our guest's channel over a virtio port.
 *
 * Options: image = { dir = FOLDER } a whole root file system, only read (else: /usr of this
 * machine); kernel (file), modules (directory), accel "kvm" or "tcg". Limits: mem is the machine's
 * memory, disk the size of its disk, cpus its processors.
 *
 * The machine's console output is reported line by line (box_opts.progress), also while it is
 * open. */
#ifndef SANDBOX_VM_VM_H
#define SANDBOX_VM_VM_H

#include "sandbox/driver.h"

extern const struct driver driver_vm;

#endif
