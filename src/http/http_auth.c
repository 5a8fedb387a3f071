#include "http/http_auth.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

int http_auth_address(const char *s, char **host, uint16_t *port, struct err *err)
{
	const char *colon = strrchr(s, ':'), *close = strchr(s, ']');
	const char *digits = strspn(s, "0123456789") == strlen(s) ? s
			     : colon && (!close || colon > close) ? colon + 1
								  : NULL;
	size_t len = digits == s ? 0 : digits ? (size_t)(digits - 1 - s) : strlen(s);
	long n = *port;
	if (digits &&
	    (!*digits || strlen(digits) > 5 || strspn(digits, "0123456789") != strlen(digits) ||
	     (n = atol(digits)) > 65535))
		return err_set(err, ERR_USAGE,
			       "invalid address '%.80s': expected PORT, HOST, or HOST:PORT", s);
	*port = (uint16_t)n;
	*host = len ? s[0] == '[' && s[len - 1] == ']' ? mem_strndup(s + 1, len - 2)
						       : mem_strndup(s, len)
		    : mem_strdup("127.0.0.1");
	return 0;
}

char *http_auth_url(const char *host, uint16_t port)
{
	bool six = strchr(host, ':') != NULL;
	return mem_printf("http://%s%s%s:%u", six ? "[" : "", host, six ? "]" : "", port);
}

/* The host of "host", "host:port" or "[address]:port", without brackets. Returns owned. */
static char *host_part(const char *s)
{
	const char *end = *s == '[' ? strchr(s, ']') : s + strcspn(s, ":/");
	return *s == '[' ? mem_strndup(s + 1, end ? (size_t)(end - s - 1) : strlen(s + 1))
			 : mem_strndup(s, (size_t)(end - s));
}

static bool is_this_machine(const char *own, const char *host)
{
	return !strcasecmp(host, "localhost") || !strcmp(host, "127.0.0.1") ||
	       !strcmp(host, "::1") || !strcasecmp(host, own);
}

const char *http_auth_foreign(const struct http_server *s, const char *own,
			      const struct http_ask *a)
{
	const char *origin = http_ask_field(a, "origin"), *named = http_ask_field(a, "host");
	CLEANUP(free_ptr) char *host = host_part(named ? named : "");
	if (http_server_local(s) && !is_this_machine(own, host))
		return "this Host is not served here";
	if (!origin)
		return NULL;
	const char *rest = !strncmp(origin, "http://", 7)    ? origin + 7
			   : !strncmp(origin, "https://", 8) ? origin + 8
							     : NULL;
	CLEANUP(free_ptr) char *from = host_part(rest ? rest : "");
	if (!*from ||
	    !(http_server_local(s) ? is_this_machine(own, from) : !strcasecmp(from, host)))
		return "pages of this origin may not ask here";
	return NULL;
}

bool http_auth_same(const struct buf *token, const char *given)
{
	struct hash want, have;
	if (!given)
		return false;
	hash_of(token->data, token->len, &want);
	hash_of(given, strlen(given), &have);
	return hash_eq(&want, &have);
}

const char *http_auth_bearer(const struct http_ask *a)
{
	const char *given = http_ask_field(a, "authorization");
	if (!given || strncasecmp(given, "bearer ", 7) != 0)
		return NULL;
	return given + 7 + strspn(given + 7, " ");
}
