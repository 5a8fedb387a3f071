/* The hidden files below the extra read-only roots of a process sandbox (tools outside /usr):
 * sandglass's own directories, directories and files that hold secrets, shell histories, session
 * files, and sockets of the host's programs. Certificates stay visible: a .pem or .key file is
 * hidden only if it holds a private key or a live token. Worker: it reads. */
#ifndef SANDBOX_VIEW_ROOT_MASKS_H
#define SANDBOX_VIEW_ROOT_MASKS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum { ROOT_MASKS_MAX = 1000 }; /* each is a mount of its own */

/* @hide_out (owned): for each root an array of paths below it. @own_out: one of our own directories
 * is below a root. ERR_DENIED: a root is one of our own directories or inside one. */
NODISCARD int root_masks_scan(const struct strv *roots, json_t **hide_out, bool *own_out,
			      struct err *err);

#endif
