/* The network of a sandbox with an allow list: a proxy on the host, every connection an action. */
#ifndef SUPERVISOR_NET_SUPER_NET_H
#define SUPERVISOR_NET_SUPER_NET_H

#include "supervisor/core/core.h"

struct net;

/* Environment variables for programs in the sandbox: adds HTTP_PROXY and friends. */
void net_env(struct strv *env);
/* Adds a rule that lets sandbox @box reach @hosts; @file says where its author listed them.
 * Returns what net_disallow takes when the sandbox is gone; NULL after an error. */
const struct policy *net_allow(struct super *s, const char *file, uint64_t box,
			       const json_t *hosts);
void net_disallow(struct super *s, const struct policy **rules); /* sets it to NULL */
/* @host: the allowed hosts. The proxy starts with net_attach, when the sandbox is open. */
struct net *net_new(struct super *s, uint64_t box, const char *const *host, size_t nr);
void net_attach(struct net *n, struct box *b);
/* Takes @fd, a client's connection that asked for CONNECT @target ("HOST:PORT"): as if it had asked
 * at the proxy. */
void net_connect(struct net *n, int fd, const char *target);
void net_free(struct net **n);

#endif
