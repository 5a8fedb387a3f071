/* Policy: which actions are allowed, require approval, or are denied. Rules are plain data, matched
 * by C; the same code answers in the gate, in `policy check` and `policy explain`, and over
 * recorded sessions.
 *
 * A policy file is Lua. It runs once in a Lua host, which returns this JSON
 * (lua/sandglass/policy.lua makes it):
 *
 *   { "file": "./policy.lua",            required: named in every verdict
 *     "default": "ask",                  optional: allow | ask | deny | boxed | careful
 *     "rules": [ RULE, ... ] }
 *   RULE: { "name": "no-push", "verdict": "ask", "line": 22,            required (line > 0)
 *     "kind": LIST of kinds (exec read write edit connect model host mcp ask snapshot rollback
 *             merge put get shell fetch)
 *     "cmd":  LIST of word patterns      "path": LIST of path globs
 *     "host": LIST of host patterns      "tool": LIST of name globs
 *     "agent": LIST, "box": LIST of name globs
 *     "url":  LIST of globs over the whole address of a fetch (https://a.example/ and a star: end
 *             the host with /)
 *     "method": LIST (GET, POST, ...) of a fetch
 *     "where": "box" | "host"            "tainted": true
 *     "match": filter (query/filter.h)
 *     "when": true | N                   a function decides, if all of the above matched; N = the
 *                                        host's own number of the function, true = the rule's
 *                                        place in the list, from 1
 *     "why": text for the reviewer       "say": text for the model (a denial)
 *     "risk": "low" | "medium" | "high"  "confirm": "type"              "limit": {"time_us": n}
 *     "timeout_us": n                    "on_timeout": "deny" | "hold" | "allow"   (asks only)
 *     "lifts": LIST of names of asks     (allows of a file of added rules only: "added": true
 *                                        beside "file") }
 *   LIST: one string or an array of strings. Unknown keys are errors that name file:line and the
 *   nearest known key.
 *
 * Matching:
 *  1. All fields of a rule must match. In a list one item is enough; items that start with "!" mean
 *     "anything but": none of them may match. Kind, tool, agent, box: exact or `*`. Of an action
 *     that concerns several sandboxes an allow must match all, an ask or deny one; a path is that
 *     of each directory they are merged into.
 *  2. Word patterns go word by word over every simple command of a command line (action/shell.h):
 *     `*` stands for any bytes within a word; " *" at the end for any further words or none; "..."
 *     for any words between or none. In ask and deny a last word that ends in `*` ("git push*")
 *     also matches where further words follow.
 *  3. ask and deny match if *one* simple command matches; the command's own name then counts
 *     without its directory. allow covers only the commands it matches: a line is allowed when each
 *     of its parts is. A word whose value only the shell knows ($X, globs) may be anything: an ask
 *     or deny that may match asks, an allow must match for certain.
 *  4. Path globs: `*` and `?` within a name, `**` any directories. Without a leading "/", "~", or
 *     "**" they start at /workspace; "~" is /home/agent in the sandbox and the user's home for the
 *     host side of put and get. Paths are compared after "." and ".." are resolved. For exec they
 *     apply to redirection targets and words that are written like paths (ask and deny only).
 *  5. Host patterns: no case, no final dot; a leading "*." any labels before; `*` within a label;
 *     ":port" optional.
 *  6. A command line that can't be split is opaque: it asks if it could hide a command of an ask or
 *     deny with `cmd`, and no allow with `cmd` matches it.
 * Verdicts:
 *  7. The strictest verdict of all files wins, order does not matter; the answer lists every
 *     matching rule.
 *  8. Without a matching rule: the strictest `default` of the files that have one; if none has, the
 *     isolation decides. `boxed` allows actions that stay in the sandbox (also a connection into
 *     it) and asks for connect, host, fetch, put, get, merge, and everything that leaves the
 *     sandbox. `careful` asks for everything but reads; a sandbox without isolation asks for all.
 *     Defaults do not apply to model (budgets do), ask, snapshot, and your own shell.
 *  9. A `when` that fails, dies, or takes longer than 50 ms asks. It does not run after a plain
 *     deny has matched.
 * 10. A session approval (waiver) answers the ask of the parts that it matches for certain. It
 *     never lifts a deny, and never covers opaque parts.
 * 11. An allow with `lifts` (in the file of rules added from held actions) answers the asks of
 *     these names for the parts that it matches for certain. It never lifts a deny, an opaque part,
 *     or an ask of a "firm" file: the host's, and the built-in one.
 *
 * Adding a deny rule never allows more (tests/unit/action/t_policy_property.c). No I/O, no loop, no
 * clock: any thread. */
#ifndef ACTION_POLICY_H
#define ACTION_POLICY_H

#include "action/action.h"
#include "base/mem.h"

enum verdict { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY }; /* in order of strictness */
const char *verdict_name(enum verdict v);		   /* "allow" "ask" "deny" */

enum policy_default {
	DEFAULT_NONE,
	DEFAULT_ALLOW,
	DEFAULT_BOXED,
	DEFAULT_CAREFUL,
	DEFAULT_ASK,
	DEFAULT_DENY
};
enum policy_risk { RISK_NONE, RISK_LOW, RISK_MEDIUM, RISK_HIGH };
enum policy_timeout { ON_TIMEOUT_DENY, ON_TIMEOUT_HOLD, ON_TIMEOUT_ALLOW };

/* The isolation of the sandbox: decides rule 8. */
enum gate_wall { WALL_BOXED, WALL_CAREFUL, WALL_NONE };

struct filter;

/* One rule as it is matched. Strings and lists are owned by the policy. */
struct rule {
	const char *name, *why, *say, *confirm; /* all but name may be NULL */
	enum verdict verdict;
	int line;
	unsigned kinds; /* bit per action_kind; 0 = every kind */
	struct strv cmd, path, host, tool, agent, box, url, method, lifts;
	enum { RULE_ANYWHERE, RULE_IN_BOX, RULE_ON_HOST } where;
	uint64_t box_id; /* 0 = every sandbox; names can be used again, ids can't */
	bool tainted;
	struct filter *match; /* may be NULL */
	int when;	      /* 0 = none; else the host's number of the function */
	enum policy_risk risk;
	int64_t limit_us, timeout_us; /* 0 = not said */
	enum policy_timeout on_timeout;
};

struct policy {
	char *file;
	enum policy_default def;
	bool added, firm; /* rule 11 */
	struct rule *rule;
	size_t nr_rules;
	struct hash hash; /* H of the JSON as it was handed over */
	struct arena *arena;
};

/* Makes a policy from the JSON above. ERR_SCRIPT with "file:line: ..." when something in it is
 * wrong. */
NODISCARD int policy_parse(struct policy **out, const char *json, size_t len, struct err *err);
/* borrows @doc */
NODISCARD int policy_from_json(struct policy **out, const json_t *doc, struct err *err);
void policy_free(struct policy **p);

/* "Approve for session": lifts an ask for actions of @kind. The pattern is a word pattern for exec
 * and shell, a path glob for read, write, edit, put and get, a host pattern for connect and fetch,
 * a tool name for the rest. */
struct waiver {
	uint64_t seq; /* of its event */
	enum action_kind kind;
	uint64_t agent;	  /* 0 = every agent */
	char *pattern;	  /* owned by the holder of the waiver */
	int64_t until_us; /* wall, for users; 0 = as long as the session */
	/* the same on the boot clock, which never jumps: the holder drops it then */
	int64_t deadline_us;
	int64_t uses; /* how often it may still lift; 0 = any number: the holder counts */
};
/* The word of a rule that such a pattern stands behind: cmd, path, host or tool. Static. */
const char *waiver_key(enum action_kind kind);
/* ERR_PARSE if @pattern cannot be one ("*" alone is refused: it would lift everything). */
NODISCARD int waiver_check(enum action_kind kind, const char *pattern, struct err *err);

/* Does @pattern restrict little: " *" after fewer than three words, a directory, a zone, any
 * tool? */
bool waiver_wide(enum action_kind kind, const char *pattern);

/* The subject of a policy check. Everything borrowed. */
struct policy_subject {
	const struct action_spec *spec;
	enum gate_wall wall;
	const char *agent, *box, *profile; /* names; may be NULL */
};

#define POLICY_OPAQUE (UINT64_C(1) << 63)

/* How a rule came to be in the answer. */
enum match_state {
	MATCH_YES, /* matched; counts with its own verdict */
	/* an ask or deny that may match words known only to the shell: counts as ask */
	MATCH_MAYBE,
	/* the rest matched, its `when` has not answered: counts as ask until it has */
	MATCH_WHEN,
	MATCH_WHEN_YES,	    /* its `when` said yes */
	MATCH_WHEN_NO,	    /* its `when` said no: does not count */
	MATCH_WHEN_FAILED,  /* counts as ask */
	MATCH_WHEN_UNASKED, /* a plain deny had matched: does not count */
};

struct match {
	const struct policy *policy;
	const struct rule *rule;
	enum match_state state;
	/* bit i: matched part i; POLICY_OPAQUE: what could not be split; bit 0 when there are no
	 * parts */
	uint64_t parts;
	bool lifted; /* an ask that a rule answers in all of its parts (rule 11) */
	bool maybe;  /* only words known to the shell alone could make it match */
	/* what it matched ("git push origin main", "/workspace/.env"); may be NULL. Owned */
	char *text;
	char *note; /* what its `when` said or why it failed; may be NULL. Owned */
};

struct shell;

struct judgement {
	enum verdict verdict;
	bool opaque;
	const char *opaque_why;	 /* static; NULL unless opaque */
	bool by_default;	 /* some part was decided by rule 8 */
	enum policy_default def; /* the default that applied: never DEFAULT_NONE */
	const char *def_file;	 /* the file that said so; NULL = the wall */
	bool waived;		 /* a waiver lifted an ask */
	/* every matching rule, strictest first, then in the order of files and lines */
	struct match *match;
	size_t nr_matches;
	struct shell *shell;		/* the parts; NULL unless there is a command */
	uint64_t not_allowed;		/* parts that are not allowed (bits as in match.parts) */
	enum policy_risk risk;		/* highest of the rules that count */
	int64_t limit_us;		/* smallest of the rules that count; 0 = none */
	int64_t timeout_us;		/* of the asks that count, the shortest; 0 = none */
	enum policy_timeout on_timeout; /* the strictest of them */
	size_t pending;			/* matches in state MATCH_WHEN */
};

/* Judges without running anything: this is also `policy explain`. Fills @out (release it). */
void policy_judge(struct policy *const *policies, size_t nr, const struct waiver *waivers,
		  size_t nr_waivers, uint64_t agent, const struct policy_subject *subject,
		  struct judgement *out);
/* The answer of the `when` of @out->match[i]; @note is copied, may be NULL. Call judgement_close
 * after the last. */
void judgement_when(struct judgement *j, size_t i, enum match_state state, const char *note);
/* Works the verdict out again from the matches. */
void judgement_close(struct judgement *j, const struct policy_subject *subject,
		     const struct waiver *waivers, size_t nr_waivers, uint64_t agent);
void judgement_release(struct judgement *j);

/* The first match that gives the verdict its strength; NULL if the default does. Borrows. */
const struct match *judgement_winner(const struct judgement *j);
/* The body of action.judged without "intent": see action/events.def. Returns owned. */
json_t *judgement_json(const struct judgement *j);
/* For a `when`, read-only there: {"rule":{file,line,name,n},"kind","tool","cmd","argv",
 * "commands":[{"words":[..],"redirects":[..],"env":[..],"dynamic":bool}],"opaque","path",
 * "host_path","host","port","url","method","cwd","agent","box","boxes","where","tainted","data",
 * "args"}. "boxes" is there if the action concerns several sandboxes; "box" is one of them.
 * @m = NULL leaves "rule" out. Returns owned. */
json_t *judgement_act(const struct judgement *j, const struct policy_subject *subject,
		      const struct match *m);

/* Makes sandbox @i of the several of @s that of @act, and its first directory "host_path". */
void act_set_box(json_t *act, const struct action_spec *s, size_t i);
/* Does @filter match @act, which judgement_act made of @s? If @s concerns several sandboxes: with
 * each of them (@all), or with one. Changes @act as act_set_box then. */
bool match_boxes(const struct filter *filter, json_t *act, const struct action_spec *s, bool all,
		 int64_t now_us);

/* Patterns for "approve for session", narrowest first, made from the parts that were not allowed:
 * [{"pattern":"git push origin fix/parser","wide":false}, ...]. Empty when nothing can be waived.
 * Returns owned. */
json_t *policy_proposals(const struct judgement *j, const struct policy_subject *subject);
/* The winner of an action that waits, or any ask that counts in it, wants a word typed
 * ("confirm"). */
bool judgement_confirm(const struct judgement *j);
/* Would @pattern lift the ask of every not allowed part of an action like @subject? */
bool waiver_covers(const struct waiver *w, uint64_t agent, const struct policy_subject *subject);
/* The same when the parts @not_allowed alone are in question. */
bool waiver_lifts(const struct waiver *w, uint64_t agent, const struct policy_subject *subject,
		  uint64_t not_allowed);
/* Of at least one part? */
bool waiver_touches(const struct waiver *w, uint64_t agent, const struct policy_subject *subject);

/* Single patterns, for tests, screens and the proxy. */
bool pattern_name(const char *glob, const char *name);
bool pattern_path(const char *glob, const char *abs_path, const char *home);
bool pattern_host(const char *pattern, const char *host, uint16_t port);
/* Resolves "~", "." and ".." without looking at any disk: "/workspace/a". Appends to @out. */
void path_resolve(const char *cwd, const char *path, const char *home, struct buf *out);

#endif
