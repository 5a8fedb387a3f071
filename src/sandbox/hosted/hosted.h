/* Hosted sandboxes: a driver whose verbs are requests to a provider (struct remote_port, which the
 * app fills with a plugin in a Lua host and HTTP). The provider opens a sandbox and runs text in
 * its shell; sandbox/shell_protocol.h makes the rest: separate and exact streams, signals, input,
 * files, terminals, and continuing after a broken connection. One request per command; one for each
 * command typed into a lasting shell, whose own request lasts as long as the shell. A shell counts
 * as work while a command runs in it. Around an idle shell its sandbox may fall asleep: afterwards
 * the shell continues where the provider keeps memory, else it reports its end.
 *
 * A hosted sandbox costs money until it is returned. So its tag is on disk before the request, its
 * id before its use (hosted_book.h). It is opened with a time to live that we extend while we live.
 * The sandboxes of a dead supervisor are searched for when the next sandbox of that provider is
 * opened.
 *
 * Options (box_opts.driver): image, build, snapshot, region, size, template, ttl (seconds), idle
 * ("pause" or "close": asleep after idle_after seconds without work, woken by the next call),
 * secrets {ENV: name in the provider's vault}; what a plugin alone understands. A plain credential
 * in the environment is refused unless "env:NAME" is among box_opts.expose. */
#ifndef SANDBOX_HOSTED_HOSTED_H
#define SANDBOX_HOSTED_HOSTED_H

#include "sandbox/driver.h"

struct remote_op;

/* An op's messages. out: bytes of the sandbox; keep: the data to find the sandbox again
 * (borrowed). */
struct remote_heard {
	void (*out)(void *self, const void *bytes, size_t len);
	void (*keep)(void *self, const json_t *box);
	void (*say)(void *self, const char *line);
	/* Once, never from inside begin; then the op is gone. @err: ERR_CLOSED the sandbox is gone,
	 * ERR_IO the connection broke, ERR_BUSY nothing was sent, ERR_CANCELLED unknown whether it
	 * was done, ERR_FULL quota, ERR_DENIED the key, else the rest. @value borrowed. */
	void (*done)(void *self, const json_t *value, const struct err *err);
};

struct remote_port {
	const char *name;
	/* Asks function @fn of the plugin; @args is an array, taken; @options may be NULL. The box
	 * of the action is @box. */
	struct remote_op *(*begin)(void *self, const char *fn, json_t *args, const json_t *options,
				   uint64_t box, const struct remote_heard *heard, void *to);
	void (*pause)(struct remote_op *op, bool paused); /* take no more of its output */
	/* no further callbacks; NULL inside is fine */
	void (*cancel)(struct remote_op **op);
	/* known once an op was done; fn or field of the plugin */
	bool (*has)(void *self, const char *fn);
	/* not 0: exec tells what it puts out at its end only, and should last no longer */
	int (*poll_s)(void *self);
	/* The result of "address" -> a connection to it that speaks HTTP, one request; -1 and
	 * @err. */
	int (*reach)(void *self, const json_t *address, uint64_t box, struct err *err);
	void *self;
};

/* A driver of that name, and of that file of the user's own (else NULL); @port is copied. Lives
 * until the program ends. */
const struct driver *hosted_driver_new(const char *name, const char *file, const char *about,
				       const struct remote_port *port);

#endif
