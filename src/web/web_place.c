#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "web/web_priv.h"
#include "proxy/egress_parse.h"

bool place_is_open(const struct sockaddr *addr)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	if (addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		return egress_public4(ntohl(in.sin_addr.s_addr));
	}
	if (addr->sa_family != AF_INET6)
		return false;
	memcpy(&in6, addr, sizeof(in6));
	return egress_public6(in6.sin6_addr.s6_addr);
}

static bool web_place_ends_with(const char *host, const char *tail)
{
	size_t n = strlen(host), k = strlen(tail);
	return n >= k && !strcasecmp(host + n - k, tail) && (n == k || host[n - k - 1] == '.');
}

bool place_is_private(const char *host)
{
	static const char *const local[] = { "localhost", "local", "internal", "home.arpa",
					     "localdomain" };
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, host, &four) == 1)
		return !egress_public4(ntohl(four.s_addr));
	if (inet_pton(AF_INET6, host, &six) == 1)
		return !egress_public6(six.s6_addr);
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (web_place_ends_with(host, local[i]))
			return true;
	return false;
}

static bool web_place_listed(const char *list, const char *host)
{
	while (list && *list) {
		size_t n = strcspn(list, ", ");
		const char *from = list + (*list == '.');
		size_t len = n - (*list == '.');
		CLEANUP(free_ptr) char *name = mem_strndup(from, len);
		if (!strcmp(name, "*") || (len && web_place_ends_with(host, name)))
			return true;
		list += n;
		list += strspn(list, ", ");
	}
	return false;
}

static const char *web_place_variable(const char *lower, const char *upper)
{
	const char *v = getenv(lower);
	if ((!v || !*v) && upper)
		v = getenv(upper);
	return v && *v ? v : NULL;
}

const char *place_proxy(const struct url *u)
{
	const char *proxy = u->tls ? web_place_variable("https_proxy", "HTTPS_PROXY")
				   : web_place_variable("http_proxy", NULL);
	proxy = proxy ? proxy : web_place_variable("all_proxy", "ALL_PROXY");
	return proxy && !web_place_listed(web_place_variable("no_proxy", "NO_PROXY"), u->host)
		       ? proxy
		       : "";
}

static bool names_host(const struct rule *r, const struct action_spec *s)
{
	for (size_t i = 0; i < r->host.nr; i++)
		if (r->host.item[i][0] != '!' && strcmp(r->host.item[i], "*") != 0 &&
		    pattern_host(r->host.item[i], s->host, s->port))
			return true;
	return false;
}

bool place_allowed(const struct action *a, const char *host)
{
	const struct judgement *j = action_judgement(a);
	if (action_by_person(a) && place_is_private(host))
		return true; /* the question showed this very address */
	for (size_t i = 0; j && i < j->nr_matches; i++) {
		const struct match *m = &j->match[i];
		if (m->rule->verdict == VERDICT_ALLOW &&
		    (m->state == MATCH_YES || m->state == MATCH_WHEN_YES) &&
		    names_host(m->rule, action_spec(a)))
			return true;
	}
	return false;
}
