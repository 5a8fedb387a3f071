/* Checks over a record: a user's own Lua file, or one of ours by name
 * (lua/sandglass/checks.lua). */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "base/json.h"
#include "record/read/session.h"

/* Runs a file over what @s holds by now: fills *results_out (owned) with [{name, result (ok,
 * failed, warn, skipped, error), text, at, evidence: [seq]}]. Blocking, at most a minute; may run
 * in a thread (with a session of its own). ERR_SCRIPT: the file itself is wrong ("file:line:
 * ..."). */
NODISCARD int check_file(struct session *s, const char *path, json_t **results_out,
			 struct err *err);

/* The same for one of ours: "NAME" or "NAME=ARG,ARG". ERR_USAGE: no such check (the nearest name is
 * told). */
NODISCARD int check_named(struct session *s, const char *spec, json_t **results_out,
			  struct err *err);

/* "NAME=ARG,ARG": is it what the check takes? ERR_USAGE says what it wants. */
NODISCARD int check_sound(const char *spec, struct err *err);

/* [{name, about, args}] of ours. */
NODISCARD int check_list(json_t **out, struct err *err);

/* Agents' final claims, compared with the recorded commands (lua/sandglass/claims.lua): [{agent,
 * agent_id, event, kind, text, verdict (supported, stale, contradicted, unsupported), why?,
 * evidence: [seq]}], owned. */
NODISCARD int check_claims(struct session *s, json_t **out, struct err *err);

#endif
