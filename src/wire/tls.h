/* What the supervisor and sandglass-tls say to each other: frames (wire/frame.h) over the socket at
 * descriptor TLS_FD. sandglass-tls ends TLS for the named hosts of a session.
 *
 *   program to supervisor
 *     AUTHORITY   body: the certificate of the session's authority, PEM. The first frame.
 *     FAILED      id: of a connection that failed before a byte of it was plain; body: why, text
 *   supervisor to program
 *     CONNECTION  id; body: the host's name; two stream sockets, both non-blocking: the sandbox's
 *                 connection, and the plain side, which carries what the program decrypts
 *
 * The program ends when the supervisor closes its end. */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

enum { TLS_FD = 3, TLS_BODY_MAX = 64 << 10, TLS_CONNS_MAX = 256 };

enum tls_frame { TLS_AUTHORITY = 1, TLS_FAILED = 2, TLS_CONNECTION = 3 };

#endif
