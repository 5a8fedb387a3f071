/* The boot files of a virtual machine: a kernel of the host with its modules, an initial RAM
 * file system of ours (wire/machine.h), and a disk for all its writes. The disk is the machine's
 * alone and new each time. */
#ifndef SANDBOX_VM_VM_BOOT_H
#define SANDBOX_VM_VM_BOOT_H

#include <stdint.h>

#include "base/err.h"

struct vm_boot {
	char *kernel, *modules; /* paths; NULL: vm_boot_find chooses */
	char *image;		/* directory with a whole root; NULL: /usr of the host */
	char *disk;		/* path of the file to be made */
	int64_t disk_bytes;
	unsigned uid, gid; /* whose the disk is */
	/* After vm_boot_make, owned; -1 before. They can be opened again by their numbers
	 * (/proc/self/fd), the disk by its owner. */
	int kernel_fd, initrd_fd, disk_fd;
};

void vm_boot_release(struct vm_boot *b);
/* Finds the kernel (the one that runs, else the newest in /boot) and its modules, checks the image.
 * Blocking, short. */
NODISCARD int vm_boot_find(struct vm_boot *b, struct err *err);
NODISCARD int vm_boot_make(struct vm_boot *b, struct err *err); /* worker */

#endif
