/* Logins of vendors' own programs (subscriptions), named so that sandboxes may use them. The
 * vendor's program made the login and keeps it; sandglass reads its token for each request and
 * never runs a login of its own.
 *
 *  1. A login is a file of ours below the data directory (0600): which file of the vendor's it is,
 *     whose, which plan, and when its owner agreed to the use.
 *  2. The vendor's program on the host refreshes a token that expires soon or was refused: one
 *     process at a time (flock), for all sandboxes. Others wait and find the new token. A refresh
 *     that failed is not repeated for AGAIN_S, so that not each request asks the vendor's server.
 *  3. The vendor's file is only read.
 *  4. A process of its own reads a token for a supervisor, behind a system call filter: it can
 *     start nothing, reach no network, and write no file (login_lockdown.h). Its helper, which has
 *     no filter, runs the vendor's program and parses nothing. */
#ifndef LOGIN_LOGIN_H
#define LOGIN_LOGIN_H

#include "base/buf.h"
#include "base/json.h"

struct login_kind {
	const char *name;
	const char *file; /* of the vendor's, below HOME */
	/* program and arguments that refresh it without a model call; NULL: the user runs `again`
	 * when the token has expired */
	const char *const *refresh;
	const char *again; /* what a user types when it is gone */
	/* variable with the address of a gateway that stands for the vendor's host; NULL none */
	const char *url_variable;
	const char *terms; /* what the vendor says about its use */
	/* The token in the vendor's file: borrows from @own, "" none; @expires_us 0: unknown. */
	const char *(*token)(const json_t *own, int64_t *expires_us);
	/* Adds "plan", "account", and what else a placeholder needs. */
	void (*describe)(const json_t *own, json_t *login);
};
const struct login_kind *login_kind_find(const char *name); /* NULL: none */
const struct login_kind *login_kind_at(size_t i);	    /* NULL past the end */

/* login_kinds.c */
extern const struct login_kind login_kinds[];
extern const size_t login_kinds_nr;

struct login_token {
	char *token;
	int64_t expires_us; /* 0: unknown */
};
void login_token_wipe(struct login_token *t);

/* A login that was added: {"name","file","secret"?,"account","plan","tier","agreed"}. Returns
 * owned; NULL: there is none. */
json_t *login_added(const char *name);
NODISCARD int login_add(const struct login_kind *k, const char *file, const char *secret,
			json_t **out, struct err *err);
NODISCARD int login_keep(const char *name, const json_t *login, struct err *err);
NODISCARD int login_remove(const char *name, struct err *err);
/* Reads the vendor's file. */
NODISCARD int login_read(const json_t *login, struct login_token *out, struct err *err);
/* A file of ours about a login: its path, with @end. Owned. */
char *login_path(const char *name, const char *end);

/* login_broker.c: writes one line to @out, a token that is good for some minutes
 * {"token","expires_us"}, or {"error"}, and ends the process; returns only with an error before
 * that. @refused: hex of H of a token that was not taken, NULL none. Blocks. */
NODISCARD int login_broker(const char *name, const char *refused, int out, struct err *err);

#endif
