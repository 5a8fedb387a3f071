/* A sandbox's access to models, repositories, and registries: a web server of ours on the sandbox's
 * own loopback (the guest opens its socket). A sandbox has no key: each route adds its credential
 * outside, by name.
 *
 * A proxy is plain data, so that box.open holds it and the same sandbox can be opened again:
 *     {"name","port","key": placeholder,"gate": bool,"prompt_hash"?: of a text that the supervisor
 *     keeps,"limits"?:{uusd,tokens,calls},"agent": id,
 *      "routes":[{"name","kind":"model"|"git"|"plain","dialect"?,"provider"? |
 *      "url","allow"?:["METHOD path, * any text"],
 *      "headers"?:{NAME:["Bearer ",{"key":"NAME"}]},"basic"?:{"user","key"},"rewrite"?:bool,
 *      "tls"?:bool}]}
 *
 * A proxy for the host, which every user of the host can reach, may have "key_hash" (hexadecimal)
 * instead of "key": only its opener has the key.
 *
 * Rules
 * 1. http://127.0.0.1:PORT/NAME/rest goes to the route NAME; a path without a route's name goes to
 *    the only model route.
 * 2. Model routes require the placeholder in place of the key, and nothing else. A request without
 *    it or with another one, and paths beyond those of speak_path and of the route's "allow", are
 *    refused (403) and recorded as proxy.refused.
 * 3. A credential of the sandbox is never passed on; ours goes to the route's own host and nowhere
 *    else (no redirects).
 * 4. A request to a model is an action of kind model: latches, breakpoints, and budgets apply
 *    before anything is sent. The same body, sent again while the first is pending (agents give up
 *    after 300 s), continues that action.
 * 5. With "gate", each tool call in an answer is an action of its own, checked against policy
 *    before the agent sees it. The result in the agent's next request (its claim) is its tool.end.
 *    If one is refused, the agent sees none of that answer's calls: the model gets the reason and
 *    is called again. The third time in a row ends the turn with a text.
 * 6. POST /sandglass-hook/FORMAT, with the placeholder as a bearer, is an event of the agent's own
 *    hooks (claude, codex, gemini, plain). A question about a call that rule 5 has allowed is
 *    answered from that. Another becomes one action per call id; a result of the call, or a client
 *    that goes away, withdraws it. While one is open the next request to a model waits.
 * 7. git: fetching is an action of kind connect. A push (git-receive-pack) is one of kind host,
 *    shown as the command "git push URL old..new:ref", and decided before a byte of it leaves.
 * 8. CONNECT NAME:443 of a route with "tls": TLS ends here (tls_end.h), and the requests inside are
 *    like http://NAME/... A connection on which no TLS begins, or whose client reads nothing, is
 *    closed. CONNECT to other hosts uses the sandbox's own egress proxy, if it has one.
 * Loop thread only. */
#ifndef INSIDE_PROXY_H
#define INSIDE_PROXY_H

#include "supervisor/core/core.h"

struct proxies;
struct net; /* supervisor/net/super_net.h */

/* @specs: array of the above; borrowed. They begin with proxies_attach, when the box is there. */
struct proxies *proxies_new(struct super *s, uint64_t box, const json_t *specs);
/* @net: the way out of the box for hosts that no route names; borrowed, NULL: no way out. */
void proxies_attach(struct proxies *p, struct box *b, struct net *net);
/* One for programs of the host, on its own loopback: models only, for the rest of the session.
 * Sets the "port" of @spec. */
NODISCARD int proxies_here(struct super *s, json_t *spec, struct err *err);
void proxies_here_free(struct super *s);
void proxies_free(struct proxies **p);
/* Adds {"calls","in","out","uusd","refused"} of the proxy with placeholder @key to @sum. */
void proxies_usage(const struct proxies *p, const char *key, json_t *sum);

/* The text that is put before what agents of a proxy ask: never the script's, which has the proxy's
 * data. Borrowed; NULL: none. */
void proxies_prompt_set(struct super *s, const json_t *spec, const char *text);
const char *proxies_prompt(const struct super *s, const json_t *spec);

/* boxes_ops.caller for the box of @p (may be NULL). */
uint64_t proxies_caller(const struct proxies *p, const json_t *argv, const char **how_out);

/* ops proxy.open {name?,routes:{NAME:{...}},tool_gate?,budget?,prompt_host?} -> the data above;
 * proxy.usage {key} -> sums */
void op_proxy_open(struct call *c);
void op_proxy_usage(struct call *c);
/* proxy.certificate -> {pem}: of the session's authority, for routes with "tls" */
void op_proxy_certificate(struct call *c);
/* inner.permit: permit.c */
void op_inner_permit(struct call *c);
/* The action that allowed a call which an agent of @agent carries out now: by the model's id for
 * it, or because it is the same command or path (@what, may be NULL). 0: none. */
uint64_t proxies_allowed(const struct proxies *p, uint64_t agent, enum action_kind kind,
			 const char *id, const char *what);

#endif
