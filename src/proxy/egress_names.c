/* Part of egress_parse.c: names of hosts, ports, and lists of them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "proxy/egress_parse_priv.h"
#include "proxy/egress_parse.h"
#include "base/mem.h"

/* --- names --- */

bool egress_parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_ldh(char c)
{
	return egress_parse_is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
}

static char egress_parse_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* A last label that begins with a digit is how every spelling of an IPv4 address looks (127.1,
 * 0x7f.1, 2130706433). */
bool egress_name(const char *name, char *out)
{
	size_t len = strlen(name), label = 0, last = 0;
	char folded[EGRESS_HOST_MAX + 1];
	if (len && name[len - 1] == '.')
		len--;
	if (len == 0 || len > EGRESS_HOST_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = folded[i] = egress_parse_fold(name[i]);
		if (c == '.') {
			if (label == 0 || folded[i - 1] == '-')
				return false;
			label = 0;
			last = i + 1;
			continue;
		}
		if (!is_ldh(c) || (c == '-' && label == 0) || ++label > 63)
			return false;
	}
	if (label == 0 || folded[len - 1] == '-' || egress_parse_is_digit(folded[last]))
		return false;
	folded[len] = '\0';
	memcpy(out, folded, len + 1);
	return true;
}

static bool egress_parse_matches(const char *pattern, size_t len, const char *host)
{
	size_t host_len = strlen(host);
	if (len > 2 && pattern[0] == '*' && pattern[1] == '.') {
		pattern++;
		len--;
		return host_len > len && strncasecmp(host + host_len - len, pattern, len) == 0;
	}
	return host_len == len && strncasecmp(host, pattern, len) == 0;
}

/* 1 to 65535 in plain digits. */
bool parse_port(const char *s, size_t len, uint16_t *out)
{
	unsigned n = 0;
	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!egress_parse_is_digit(s[i]))
			return false;
		n = n * 10 + (unsigned)(s[i] - '0');
	}
	*out = (uint16_t)n;
	return n > 0 && n < 65536;
}

/* Rule 2 turns addresses away, and rule 5 names that lead to this host. */
static const char *entry_name_fault(const char *name)
{
	char host[EGRESS_HOST_MAX + 1];
	if (strspn(name, "0123456789.") == strlen(name) && *name)
		return "an address can't be reached from a sandbox; write the host's name";
	if (!egress_name(name, host))
		return "expected a host name, as in 'example.org:443' or '*.example.org'";
	const char *last = strrchr(host, '.');
	if (!strcmp(last ? last + 1 : host, "localhost"))
		return "the host's loopback can't be reached from a sandbox; start the server in the "
		       "sandbox";
	return NULL;
}

const char *egress_entry_fault(const char *entry)
{
	const char *start = !strncmp(entry, "*.", 2) ? entry + 2 : entry;
	const char *colon = strchr(start, ':');
	uint16_t port;
	if (*start == '[' || (colon && strchr(colon + 1, ':')))
		return "an address can't be reached from a sandbox; write the host's name";
	if (colon && !parse_port(colon + 1, strlen(colon + 1), &port))
		return "expected a port from 1 to 65535";
	CLEANUP(free_ptr)
	char *name = colon ? mem_strndup(start, (size_t)(colon - start)) : mem_strdup(start);
	return entry_name_fault(name);
}

bool egress_listed(const char *const *list, size_t nr, const char *host, uint16_t port)
{
	for (size_t i = 0; i < nr; i++) {
		const char *colon = strchr(list[i], ':');
		size_t len = colon ? (size_t)(colon - list[i]) : strlen(list[i]);
		if (len && list[i][len - 1] == '.')
			len--;
		if ((!colon || strtoul(colon + 1, NULL, 10) == port) &&
		    egress_parse_matches(list[i], len, host))
			return true;
	}
	return false;
}
