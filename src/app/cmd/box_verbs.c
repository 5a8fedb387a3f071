#include "app/cmd/box_verbs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cmd/cmd_inner.h"
#include "app/config.h"
#include "app/front/unmerged.h"
#include "app/super/live.h"
#include "base/mem.h"
#include "base/paths.h"

enum { GONE_TICKS = 250, GONE_TICK_US = 20000, STATE_MS = 5000 };

/* --- which box --- */

/* "[SESSION:]BOX" or "[SESSION:]BOX:PATH". */
struct place {
	char *session, *box, *path; /* session, path: NULL = not said */
};

static void place_release(struct place *p)
{
	free(p->session);
	free(p->box);
	free(p->path);
}

/* Is it a path in a box? "./a:b" and "/a:b" are of this machine. With @session_said two colons are a path with one. */
static bool place_of_file(const char *text, bool session_said, struct place *out)
{
	const char *end = text + strcspn(text, "/"), *colon = memchr(text, ':', (size_t)(end - text));
	if (!colon)
		return false;
	const char *second = session_said ? NULL : memchr(colon + 1, ':', (size_t)(end - colon - 1));
	const char *box = second ? colon + 1 : text;
	if (second)
		out->session = xstrndup(text, (size_t)(colon - text));
	colon = second ? second : colon;
	out->box = xstrndup(box, (size_t)(colon - box));
	out->path = xstrdup(colon + 1);
	return true;
}

static void place_of_box(const char *text, struct place *out)
{
	const char *colon = strchr(text, ':');
	if (colon)
		out->session = xstrndup(text, (size_t)(colon - text));
	out->box = xstrdup(colon ? colon + 1 : text);
}

/* Opens the session that @p is in; it must know @command. */
static int reach(struct cmd_ctx *ctx, const struct place *p, const char *command, struct control_client **out, struct err *err)
{
	config_user(ctx);
	if (live_open(p->session ? p->session : cmd_opt(ctx, "in"), false, out, err) < 0)
		return -1;
	if (live_knows(*out, command, err) == 0)
		return 0;
	control_client_free(out);
	return -1;
}

/* Sends @nr words; closes @c. */
static int order(struct control_client **c, const char *const *word, size_t nr, json_t **reply, struct err *err)
{
	json_t *words = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(words, json_bytes_z(word[i]));
	int rc = control_client_call(*c, words, NULL, -1, reply, err);
	if (rc == 0)
		json_put_str(*reply, "session", json_str(control_client_welcome(*c), "session", ""));
	control_client_free(c);
	return rc;
}

static void say(struct cmd_ctx *ctx, const char *line)
{
	if (ctx->quiet)
		return;
	cmd_print_safe(ctx->out, line, strlen(line), false);
	fputc('\n', ctx->out);
}

/* A rule wants a word typed for it: *status says so. */
static bool waits(struct cmd_ctx *ctx, const json_t *reply, int *status)
{
	long long id = (long long)json_int(reply, "action", 0);
	if (!json_object_get(reply, "held"))
		return false;
	*status = cmd_fail_with(ctx, EXIT_PERSON, "it waits as %s#%lld: %s", json_str(reply, "session", ""), id,
				json_str(reply, "held", ""));
	return true;
}

/* --- cp --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Where @local is on this machine: absolute, and below a folder under the name that @path has in the box. Returns owned. */
static char *target_here(const char *local, const char *path, struct err *err)
{
	char cwd[PATH_MAX];
	struct stat st;
	if (!getcwd(cwd, sizeof(cwd))) {
		err_sys(err, "cannot tell the current folder");
		return NULL;
	}
	CLEANUP(free_ptr) char *full = *local == '/' ? xstrdup(local) : path_join(cwd, local);
	if (stat(full, &st) == 0 && S_ISDIR(st.st_mode))
		return path_join(full, last_part(path));
	if (!*local || local[strlen(local) - 1] == '/') {
		err_set(err, ERR_NOENT, "there is no folder '%s'", local);
		return NULL;
	}
	return xstrdup(full);
}

/* The file of this machine. Returns owned. */
static char *source_here(const char *local, struct err *err)
{
	char full[PATH_MAX];
	struct stat st;
	if (!realpath(local, full) || stat(full, &st) < 0) {
		err_sys(err, "'%s' cannot be read", local);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_INVALID, "'%s' is not a file: cp copies one file at a time", local);
		return NULL;
	}
	return xstrdup(full);
}

static int copied(struct cmd_ctx *ctx, json_t *reply, bool put, const struct place *p, const char *host)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	int status = EXIT_DONE;
	if (waits(ctx, reply, &status))
		return status;
	int64_t bytes = json_int(reply, "bytes", 0);
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", json_str(reply, "session", ""));
		json_put_int(o, "action", json_int(reply, "action", 0));
		json_put_str(o, "done", put ? "put" : "get");
		json_put_str(o, "box", p->box);
		json_put(o, "path", json_bytes_z(p->path));
		json_put(o, "host", json_bytes_z(host));
		json_put_int(o, "bytes", bytes);
		cmd_json(ctx, o);
		return EXIT_DONE;
	}
	cmd_size((uint64_t)bytes, &size);
	CLEANUP(free_ptr)
	char *line = put ? xasprintf("%s, %s, to %s:%s", host, buf_cstr(&size), p->box, p->path) :
			   xasprintf("%s:%s, %s, to %s", p->box, p->path, buf_cstr(&size), host);
	say(ctx, line);
	return EXIT_DONE;
}

/* @p is in the box, @local is not. */
static int copy(struct cmd_ctx *ctx, struct place *p, const char *local, bool put)
{
	struct err err = ERR_INIT;
	struct control_client *c = NULL;
	json_t *reply = NULL;
	if (!*p->box)
		return cmd_usage(ctx, "which box? BOX:PATH");
	if (!put && !*last_part(p->path))
		return cmd_usage(ctx, "which file of box '%s'? %s:PATH", p->box, p->box);
	CLEANUP(free_ptr) char *host = put ? source_here(local, &err) : target_here(local, p->path, &err);
	if (!host)
		return cmd_fail(ctx, &err);
	if (put && !*last_part(p->path)) { /* "box:" and "box:src/": under its own name */
		char *path = xasprintf("%s%s", p->path, last_part(local));
		free(p->path);
		p->path = path;
	}
	const char *const words[] = { "box_copy", put ? "put" : "get", p->box, p->path, host };
	if (reach(ctx, p, words[0], &c, &err) < 0 || order(&c, words, ARRAY_LEN(words), &reply, &err) < 0)
		return cmd_fail(ctx, &err);
	int status = copied(ctx, reply, put, p, host);
	json_decref(reply);
	return status;
}

int box_cp(struct cmd_ctx *ctx)
{
	struct place from = { 0 }, to = { 0 };
	const char *a = cmd_word(ctx, 1), *b = cmd_word(ctx, 2);
	bool said = cmd_opt(ctx, "in") != NULL, get = place_of_file(a, said, &from), put = place_of_file(b, said, &to);
	int status;
	if (get == put)
		status = cmd_usage(ctx, "one of the two must be [SESSION:]BOX:PATH and the other a path here (./a:b where it has a colon)");
	else
		status = get ? copy(ctx, &from, b, false) : copy(ctx, &to, a, true);
	place_release(&from);
	place_release(&to);
	return status;
}

/* --- snapshot --- */

static int shot(struct cmd_ctx *ctx, const struct place *p, const char *label)
{
	struct err err = ERR_INIT;
	struct control_client *c = NULL;
	json_t *reply = NULL;
	int status = EXIT_DONE;
	const char *const words[] = { "box_snapshot", p->box, label };
	if (reach(ctx, p, words[0], &c, &err) < 0 || order(&c, words, label ? 3 : 2, &reply, &err) < 0)
		return cmd_fail(ctx, &err);
	long long seq = (long long)json_int(reply, "snapshot", 0);
	if (waits(ctx, reply, &status)) {
		json_decref(reply);
		return status;
	}
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", json_str(reply, "session", ""));
		json_put_int(o, "action", json_int(reply, "action", 0));
		json_put_str(o, "box", p->box);
		json_put_int(o, "snapshot", seq);
		json_put_str(o, "label", label);
		cmd_json(ctx, o);
	} else {
		CLEANUP(free_ptr) char *line = xasprintf("%s as it is now is %s#%lld", p->box, json_str(reply, "session", ""), seq);
		say(ctx, line);
	}
	json_decref(reply);
	return EXIT_DONE;
}

int box_snapshot(struct cmd_ctx *ctx)
{
	struct place p = { 0 };
	place_of_box(cmd_word(ctx, 1), &p);
	int status = shot(ctx, &p, cmd_word(ctx, 2));
	place_release(&p);
	return status;
}

/* --- rm --- */

/* The row of the box in the state of the session; returns owned, NULL: it is not there. */
static json_t *row_of(struct control_client *c, const char *box, struct err *err)
{
	json_t *state, *b, *words = json_array(), *found = NULL;
	size_t i;
	json_array_append_new(words, json_string("state"));
	if (control_client_call(c, words, NULL, STATE_MS, &state, err) < 0)
		return NULL;
	json_array_foreach(json_object_get(state, "boxes"), i, b)
		if (!strcmp(json_str(b, "name", ""), box))
			found = json_incref(b);
	json_decref(state);
	if (!found)
		err_set(err, ERR_NOENT, "no box '%s' in this session", box);
	return found;
}

static size_t not_merged(const char *path, uint64_t box)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err none = ERR_INIT;
	size_t files = 0;
	if (session_open(&s, path, &none) < 0)
		return 0;
	if (unmerged_read(&u, s, &none) == 0)
		for (size_t i = 0; i < u.nr; i++)
			if (u.box[i].id == box)
				files = u.box[i].files;
	unmerged_release(&u);
	session_close(&s);
	return files;
}

static bool may_close(struct cmd_ctx *ctx, const char *what)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT, safe = BUF_INIT;
	if (cmd_has(ctx, "yes"))
		return true;
	if (!isatty(0))
		return false;
	cmd_safe(&safe, what, strlen(what), false);
	CLEANUP(free_ptr) char *q = xasprintf("close %s? [y/N] ", buf_cstr(&safe));
	return cmd_ask(ctx, q, &answer) && (!strcmp(buf_cstr(&answer), "y") || !strcmp(buf_cstr(&answer), "yes"));
}

/* The command is answered before the box has gone. */
static void wait_gone(struct control_client *c, const char *box)
{
	struct err none = ERR_INIT;
	json_t *row;
	for (int i = 0; i < GONE_TICKS && (row = row_of(c, box, &none)); i++) {
		json_decref(row);
		usleep(GONE_TICK_US);
	}
}

static int close_it(struct cmd_ctx *ctx, struct control_client *c, const char *box, const char *session, size_t files)
{
	struct err err = ERR_INIT;
	json_t *words = json_array(), *reply = NULL;
	json_array_append_new(words, json_string("close"));
	json_array_append_new(words, json_bytes_z(box));
	if (control_client_call(c, words, NULL, -1, &reply, &err) < 0)
		return cmd_fail(ctx, &err);
	json_decref(reply);
	wait_gone(c, box);
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session);
		json_put_str(o, "box", box);
		json_put_str(o, "done", "closed");
		json_put_int(o, "not_merged", (int64_t)files);
		cmd_json(ctx, o);
		return EXIT_DONE;
	}
	CLEANUP(free_ptr) char *line = xasprintf("closed %s", box);
	say(ctx, line);
	return EXIT_DONE;
}

static int remove_box(struct cmd_ctx *ctx, struct control_client *c, const char *box)
{
	struct err err = ERR_INIT;
	const json_t *hello = control_client_welcome(c);
	const char *session = json_str(hello, "session", "");
	CLEANUP(json_release) json_t *row = row_of(c, box, &err);
	if (!row)
		return cmd_fail(ctx, &err);
	size_t files = not_merged(json_str(hello, "path", ""), (uint64_t)json_int(row, "box", 0));
	long long alive = (long long)json_int(row, "alive", 0);
	CLEANUP(free_ptr) char *work = files ? xasprintf(", %zu file%s not merged (they stay in the record)", files, files == 1 ? "" : "s") : xstrdup("");
	CLEANUP(free_ptr) char *what = xasprintf("box %s of %s: %lld process%s%s", box, session, alive, alive == 1 ? "" : "es", work);
	if (!may_close(ctx, what))
		return cmd_fail_with(ctx, EXIT_PERSON, "nothing was closed, --yes does it: %s", what);
	return close_it(ctx, c, box, session, files);
}

int box_rm(struct cmd_ctx *ctx)
{
	struct place p = { 0 };
	struct err err = ERR_INIT;
	struct control_client *c = NULL;
	place_of_box(cmd_word(ctx, 1), &p);
	int status = reach(ctx, &p, "close", &c, &err) < 0 ? cmd_fail(ctx, &err) : remove_box(ctx, c, p.box);
	control_client_free(&c);
	place_release(&p);
	return status;
}
