/* The confinement of the process that reads logins: it reads files, waits for a lock, and writes to
 * descriptors that it has. No new process, no network, no file that it could write. */
#ifndef LOGIN_LOGIN_LOCKDOWN_H
#define LOGIN_LOGIN_LOCKDOWN_H

#include "base/err.h"

/* The descriptors that stay open, beside standard error. */
enum { LOGIN_OUT_FD = 3, LOGIN_HELPER_FD, LOGIN_LOCK_FD, LOGIN_LAST_FD = LOGIN_LOCK_FD };

NODISCARD int login_lockdown_enter(struct err *err);

#endif
