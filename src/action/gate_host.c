/* "Also allow this host": a command approved for the session still asks once for each connection
 * that it makes. Its hosts are known from its arguments and from a dry run of it; this file finds
 * those that would require approval, and the past actions that a waiver for them covers. */
#include "action/gate_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HOSTS_MAX = 4 };

static uint16_t port_of_scheme(const char *text, const char *end)
{
	static const struct {
		const char *name;
		uint16_t port;
	} known[] = {
		{ "http", 80 }, { "https", 443 }, { "ssh", 22 }, { "git", 9418 }, { "ftp", 21 }
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t len = strlen(known[i].name);
		if ((size_t)(end - text) >= len && !memcmp(end - len, known[i].name, len) &&
		    ((size_t)(end - text) == len ||
		     !isalpha((unsigned char)end[-(ptrdiff_t)len - 1])))
			return known[i].port;
	}
	return 0;
}

/* Would a connection of this action's agent and box be asked about, as things stand? */
static bool would_ask(struct action *a, struct action_spec *spec)
{
	struct gate *g = a->gate;
	struct policy_subject subject;
	struct judgement j;
	action_subject(a, &subject);
	subject.spec = spec;
	policy_judge(g->policy, g->nr_policies, g->waiver, g->nr_waivers, a->spec.agent, &subject,
		     &j);
	judgement_close(&j, &subject, g->waiver, g->nr_waivers, a->spec.agent);
	bool ask = j.verdict == VERDICT_ASK;
	judgement_release(&j);
	return ask;
}

static void gate_host_add(json_t *list, struct action *a, const char *host, long long port)
{
	struct err ignored = ERR_INIT;
	CLEANUP(free_ptr)
	char *name = mem_strdup(host), *pattern = mem_printf("%s:%lld", host, port);
	struct action_spec spec = { .kind = ACT_CONNECT,
				    .agent = a->spec.agent,
				    .box = a->spec.box,
				    .host = name,
				    .port = (uint16_t)port };
	const struct waiver w = { .kind = ACT_CONNECT, .pattern = pattern };
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_str(json_array_get(list, i), "host", ""), pattern))
			return;
	if (json_array_size(list) >= HOSTS_MAX || port <= 0 || port > UINT16_MAX || !*host)
		return;
	if (waiver_check(ACT_CONNECT, pattern, &ignored) < 0 || !would_ask(a, &spec))
		return;
	json_t *o = json_object();
	json_put_str(o, "host", pattern);
	waiver_count_past(a->gate, &w, o);
	json_array_append_new(list, o);
}

/* SCHEME://[USER@]HOST[:PORT], wherever in @text; a name that the shell would still make is left
 * out. */
static void add_addresses(json_t *list, struct action *a, const char *text)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	for (const char *at = strstr(text, "://"); at; at = strstr(at, "://")) {
		long long port = port_of_scheme(text, at);
		at += 3;
		size_t len = strspn(at, name);
		if (at[len] == '@') {
			at += len + 1;
			len = strspn(at, name);
		}
		const char *end = at + len;
		if (*end == ':' && isdigit((unsigned char)end[1]))
			port = strtoll(end + 1, (char **)(uintptr_t)&end, 10);
		CLEANUP(free_ptr) char *host = mem_strndup(at, len);
		if (!*end || strchr("/?#\"' \t\n;|&)<>", *end))
			gate_host_add(list, a, host, port);
	}
}

json_t *gate_waiver_hosts(struct gate *g, uint64_t id, const json_t *seen)
{
	struct action *a = gate_action(g, id);
	json_t *list = json_array();
	if (!a || a->state != ACTION_HELD ||
	    (a->spec.kind != ACT_EXEC && a->spec.kind != ACT_SHELL))
		return list;
	for (size_t i = 0; i < json_array_size(seen); i++) {
		const json_t *o = json_array_get(seen, i);
		gate_host_add(list, a, json_str(o, "host", ""), json_int(o, "port", 0));
	}
	for (size_t i = 0; i < a->spec.argv.nr; i++)
		add_addresses(list, a, a->spec.argv.item[i]);
	return list;
}
