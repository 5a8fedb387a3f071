/* Between egress_parse.c (the head of a request), egress_names.c (hosts, ports, and lists of
 * them), and egress_chunks.c (bodies). */
#ifndef PROXY_EGRESS_PARSE_PRIV_H
#define PROXY_EGRESS_PARSE_PRIV_H

#include "proxy/egress_parse.h"

/* --- egress_parse.c --- */
bool egress_parse_is_digit(char c);

/* --- egress_names.c --- */
bool parse_port(const char *s, size_t len, uint16_t *out);

#endif
