/* The certificates of a session: an authority whose key never leaves this process's memory, and
 * one certificate for each host that it is asked for. ECDSA with P-256. */
#ifndef TLS_AUTHORITY_H
#define TLS_AUTHORITY_H

#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/err.h"

struct authority;

NODISCARD int authority_new(struct authority **out, struct err *err);
void authority_free(struct authority **a);
NODISCARD int authority_pem(const struct authority *a, struct buf *out, struct err *err);
/* Gives @ssl the certificate of @host and its key. */
NODISCARD int authority_sign(struct authority *a, SSL *ssl, const char *host, struct err *err);

#endif
