#include "proxy/egress_resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/egress_parse.h"

struct egress_lookup {
	char host[EGRESS_HOST_MAX + 1];
	uint16_t port;
	struct egress_addr addr[EGRESS_ADDRS_MAX];
	size_t nr;
	int rc;
	egress_lookup_fn *done; /* NULL: cancelled */
	void *self;
};

static bool egress_resolve_is_open(const struct sockaddr *sa)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof in);
		return egress_public4(ntohl(in.sin_addr.s_addr));
	}
	memcpy(&in6, sa, sizeof in6);
	return sa->sa_family == AF_INET6 && egress_public6(in6.sin6_addr.s6_addr);
}

/* On a worker thread. One bad address among many must not get lost behind the limit: it takes the
 * first place. */
static void egress_resolve_work(void *self)
{
	struct egress_lookup *q = self;
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV },
			*all = NULL;
	char port[8];
	snprintf(port, sizeof port, "%u", q->port);
	q->rc = getaddrinfo(q->host, port, &hints, &all);
	for (struct addrinfo *a = q->rc == 0 ? all : NULL; a; a = a->ai_next) {
		bool open = egress_resolve_is_open(a->ai_addr);
		if (a->ai_addrlen > sizeof q->addr[0].sa || (q->nr == EGRESS_ADDRS_MAX && open))
			continue;
		struct egress_addr *to = &q->addr[q->nr < EGRESS_ADDRS_MAX ? q->nr++ : 0];
		memcpy(&to->sa, a->ai_addr, a->ai_addrlen);
		to->len = a->ai_addrlen;
		to->open = open;
	}
	if (all)
		freeaddrinfo(all);
}

static void egress_resolve_done(void *self)
{
	struct egress_lookup *q = self;
	if (q->done)
		q->done(q->self, q->addr, q->nr,
			q->rc	? gai_strerror(q->rc)
			: q->nr ? NULL
				: "the name has no address");
	free(q);
}

struct egress_lookup *egress_lookup_start(struct loop *l, const char *host, uint16_t port,
					  egress_lookup_fn *fn, void *self)
{
	struct egress_lookup *q = NEW(struct egress_lookup);
	snprintf(q->host, sizeof q->host, "%s", host);
	q->port = port;
	q->done = fn;
	q->self = self;
	loop_job_run(l, egress_resolve_work, egress_resolve_done, q);
	return q;
}

void egress_lookup_cancel(struct egress_lookup **q)
{
	if (*q)
		(*q)->done = NULL;
	*q = NULL;
}
