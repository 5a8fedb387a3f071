/* An archive as the kernel unpacks it for its initial RAM file system: cpio, "new ASCII" form
 * (https://www.kernel.org/doc/html/latest/driver-api/early-userspace/buffer-format.html). All
 * belongs to root, times are 0. Names are relative, directories come before what is in them. Any
 * thread. */
#ifndef SANDBOX_VM_CPIO_H
#define SANDBOX_VM_CPIO_H

#include "base/buf.h"

/* @mode with its kind: S_IFREG, S_IFDIR (no bytes), S_IFLNK (@bytes is where it leads). */
void cpio_add(struct buf *out, const char *name, unsigned mode, const void *bytes, size_t len);
void cpio_end(struct buf *out);

#endif
