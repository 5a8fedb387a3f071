/* What is left to sandglass-tls, which parses bytes of hostile programs: memory, the clock, random
 * bytes, and descriptors that it has or is sent. */
#ifndef TLS_TLS_LOCKDOWN_H
#define TLS_TLS_LOCKDOWN_H

#include "base/err.h"

NODISCARD int tls_lockdown_enter(struct err *err);

#endif
