/* The way of a box to models, repositories and registries: a web server of ours on the box's own
 * loopback (the guest opens its socket). A box has no key: each route puts its credential on the
 * wire out here, by name.
 *
 * A proxy is plain data, so that it stands in box.open and the same box can be opened again:
 *   {"name","port","key": placeholder,"gate": bool,"prompt_hash"?: of a text that the supervisor
 *   keeps,"limits"?:{uusd,tokens,calls},"agent": id,
 *    "routes":[{"name","kind":"model"|"git"|"plain","dialect"?,"provider"? |
 *    "url","allow"?:["METHOD path, * any text"],
 *               "headers"?:{NAME:["Bearer ",{"key":"NAME"}]},"basic"?:{"user","key"},"rewrite"?:
 *               bool}]}
 *
 * One for this machine, whose every user can reach it, may have "key_hash" (hexadecimal) instead of
 * "key": only who opened it knows the key.
 *
 * Rules
 *  1. http://127.0.0.1:PORT/NAME/rest goes to the route NAME; what names none goes to the only
 *  model route.
 *  2. Model routes want the placeholder where the key would stand, and nothing but it. What lacks
 *  it, what bears another
 *     one, and paths beyond those of speak_path are refused (403) and recorded as proxy.refused.
 *  3. A credential of the box is never passed on; ours goes to the route's own host and nowhere
 *  else (no redirects).
 *  4. A question to a model is an action of kind model: latches, holds and budgets hold it before
 *  anything is sent. The same
 *     body asked again while the first still waits (agents give up after 300 s) goes on with that
 *     action.
 *  5. With "gate", each call of a tool in an answer is an action of its own, judged before the
 *  agent sees it; the result
 *     that stands in the agent's next request (its claim) is its tool.end. If one is refused the
 *     agent sees none of that answer's
 *     calls: the model is told why and asked again; the third time in a row ends the turn with a
 *     text.
 *  6. git: fetching is an action of kind connect; a push (git-receive-pack) is one of kind host,
 *  shown as the command
 *     "git push URL old..new:ref", decided before a byte of it leaves.
 * Loop thread only. */
#ifndef INSIDE_PROXY_H
#define INSIDE_PROXY_H

#include "supervisor/core/core.h"

struct proxies;

/* @specs: array of the above; borrowed. They begin with proxies_attach, when the box is there. */
struct proxies *proxies_new(struct super *s, uint64_t box, const json_t *specs);
void proxies_attach(struct proxies *p, struct box *b);
/* One for programs of this machine, on its own loopback: models only, for the rest of the session.
 * Sets the "port" of @spec. */
NODISCARD int proxies_here(struct super *s, json_t *spec, struct err *err);
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
/* inner.permit: permit.c */
void op_inner_permit(struct call *c);
/* The action that allowed a call which an agent of @agent carries out now: by the model's id for
 * it, or because it is the same command or path (@what, may be NULL). 0: none. */
uint64_t proxies_allowed(const struct proxies *p, uint64_t agent, enum action_kind kind,
			 const char *id, const char *what);

#endif
