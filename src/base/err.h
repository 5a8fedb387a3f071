/* How is a failure reported? int 0 or -1, and one line of text on the caller's stack.
 *
 * Three kinds of failure are kept apart. Bugs: assert(), on in release. Expected outcomes (denied,
 * timed out, exit status 1): values, never errors. Failures (disk full, bad file, broken pipe):
 * struct err, always the last parameter, never NULL. A function that fails leaves its out
 * parameters untouched. Text: lower case, no full stop, the failure first, the subject in quotes.
 * Hint: one thing to do, a sentence. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/compat.h"

enum err_code {
	ERR_NONE = 0,
	ERR_IO,		 /* a system call failed; see err.sys */
	ERR_NOENT,	 /* the named thing does not exist */
	ERR_EXISTS,	 /* the named thing exists already */
	ERR_INVALID,	 /* input does not make sense */
	ERR_PARSE,	 /* a file or a message cannot be read as what it claims to be */
	ERR_DENIED,	 /* no permission, or refused by a rule */
	ERR_BUSY,	 /* another process holds it; trying again may help */
	ERR_FULL,	 /* no space, quota or limit reached */
	ERR_DAMAGED,	 /* stored data is not what it was */
	ERR_UNSUPPORTED, /* the host, kernel, driver or version cannot */
	ERR_TIMEOUT,
	ERR_CLOSED, /* the other side has gone */
	ERR_CANCELLED,
	ERR_USAGE,  /* the command line is wrong */
	ERR_SCRIPT, /* a Lua file is wrong */
};

struct err {
	enum err_code code;
	int sys; /* errno where it matters, else 0 */
	char text[480];
	char hint[200]; /* "" if there is nothing to suggest */
};

#define ERR_INIT ((struct err){ .code = ERR_NONE })

/* Sets @err and returns -1, so that "return err_set(...)" is the whole of a failure. The last line
 * of a @fmt that has a line break is the hint. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF(3, 4);

/* As err_set with the text of errno appended (": No such file or directory"); keeps errno in
 * err->sys and maps the common values (ENOENT, EEXIST, EACCES, ENOSPC, EDQUOT, EBUSY, ETIMEDOUT) to
 * their code, else ERR_IO. */
int err_sys(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* Puts "prefix: " before the text; keeps code and errno. Returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* The code as a word for --json: "io", "noent", ... Static storage. */
const char *err_code_name(enum err_code code);

#endif
