/* Options that a backend has: another one is an error that lists them. */
#ifndef SANDBOX_COMMON_DRIVER_OPTIONS_H
#define SANDBOX_COMMON_DRIVER_OPTIONS_H

#include "sandbox/driver.h"

/* @known: those that the error lists; @more: those that it doesn't, which sandglass itself sets.
 * Both are names with ", " between them. */
NODISCARD int driver_options_check(const struct box_opts *o, const char *backend, const char *known,
				   const char *more, struct err *err);

#endif
