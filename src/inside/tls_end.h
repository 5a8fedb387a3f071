/* The supervisor's side of sandglass-tls (wire/tls.h): TLS for the named hosts of a session ends on
 * this host, in a process of its own, so that agents which insist on https can be recorded and get
 * their credential outside. One process and one authority for each session, started at first use.
 * Loop thread only. */
#ifndef INSIDE_TLS_END_H
#define INSIDE_TLS_END_H

#include "supervisor/core/core.h"

struct tls_end;

/* The certificate that programs in a sandbox have to trust, PEM, borrowed. NULL with @err. The
 * first call starts the process and waits for it: some milliseconds. */
const char *tls_end_certificate(struct super *s, struct err *err);
/* Takes @fd, a client's connection on which it begins TLS for @host, also on an error. Fills
 * @plain_out with a socket (owned by the caller) that carries the decrypted bytes. A failed
 * handshake closes it and is a warning of the session. */
NODISCARD int tls_end_connect(struct super *s, int fd, const char *host, int *plain_out,
			      struct err *err);
void tls_end_free(struct super *s);

#endif
