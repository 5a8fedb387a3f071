/* The way out of a box with an allow list: a proxy on this side, every connection an action. */
#ifndef APP_SUPER_NET_H
#define APP_SUPER_NET_H

#include "app/super/super_inner.h"

struct net;

/* Does the option `net` ask for any way out? ("none", null and {} do not.) */
bool net_wanted(const json_t *net);
/* What programs in the box must know of it: adds HTTP_PROXY and friends. */
void net_env(struct strv *env);
/* @allow: the hosts of the option. The proxy begins with net_attach, when the box is there. */
struct net *net_new(struct super *s, uint64_t box, const json_t *allow);
struct net *net_copy(struct super *s, uint64_t box, const struct net *like);
void net_attach(struct net *n, struct box *b);
void net_free(struct net **n);

#endif
