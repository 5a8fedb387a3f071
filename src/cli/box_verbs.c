#include "cli/box_verbs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/box_verbs_priv.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "sessions/unmerged.h"
#include "sessions/live.h"
#include "base/mem.h"

enum { GONE_TICKS = 250, GONE_TICK_US = 20000, STATE_MS = 5000 };

/* --- which box --- */

void box_place_release(struct box_place *p)
{
	free(p->session);
	free(p->box);
	free(p->path);
}

static void place_of_box(const char *text, struct box_place *out)
{
	const char *colon = strchr(text, ':');
	if (colon)
		out->session = mem_strndup(text, (size_t)(colon - text));
	out->box = mem_strdup(colon ? colon + 1 : text);
}

int box_reach(struct cmd_ctx *ctx, const struct box_place *p, const char *command,
	      struct control_client **out, struct err *err)
{
	config_user(ctx);
	if (live_open(p->session ? p->session : cmd_opt(ctx, "in"), false, out, err) < 0)
		return -1;
	if (live_knows(*out, command, err) == 0)
		return 0;
	control_client_free(out);
	return -1;
}

int box_order(struct control_client *c, const char *const *word, size_t nr, json_t **reply,
	      struct err *err)
{
	json_t *words = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(words, json_bytes_z(word[i]));
	int rc = control_client_call(c, words, NULL, -1, reply, err);
	if (rc == 0)
		json_put_str(*reply, "session", json_str(control_client_welcome(c), "session", ""));
	return rc;
}

void box_say(struct cmd_ctx *ctx, const char *line)
{
	if (ctx->quiet)
		return;
	cmd_print_safe(ctx->out, line, strlen(line), false);
	fputc('\n', ctx->out);
}

bool box_waits(struct cmd_ctx *ctx, const json_t *reply, int *status)
{
	long long id = (long long)json_int(reply, "action", 0);
	if (!json_object_get(reply, "held"))
		return false;
	*status = cmd_fail_with(ctx, EXIT_PERSON, "pending approval as %s#%lld: %s",
				json_str(reply, "session", ""), id, json_str(reply, "held", ""));
	return true;
}

/* --- snapshot --- */

static int box_verbs_shot(struct cmd_ctx *ctx, const struct box_place *p, const char *label)
{
	struct err err = ERR_INIT;
	struct control_client *c = NULL;
	json_t *reply = NULL;
	int status = EXIT_DONE;
	const char *const words[] = { "box_snapshot", p->box, label };
	int rc = box_reach(ctx, p, words[0], &c, &err);
	rc = rc < 0 ? rc : box_order(c, words, label ? 3 : 2, &reply, &err);
	control_client_free(&c);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	long long seq = (long long)json_int(reply, "snapshot", 0);
	if (box_waits(ctx, reply, &status)) {
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
		CLEANUP(free_ptr)
		char *line = mem_printf("%s as it is now is %s#%lld", p->box,
					json_str(reply, "session", ""), seq);
		box_say(ctx, line);
	}
	json_decref(reply);
	return EXIT_DONE;
}

int box_snapshot(struct cmd_ctx *ctx)
{
	struct box_place p = { 0 };
	place_of_box(cmd_word(ctx, 1), &p);
	int status = box_verbs_shot(ctx, &p, cmd_word(ctx, 2));
	box_place_release(&p);
	return status;
}

/* --- rm --- */

/* The row of the box in the state of the session; returns owned, NULL: it is not there. */
static json_t *box_verbs_row_of(struct control_client *c, const char *box, struct err *err)
{
	json_t *state, *b, *words = json_array(), *found = NULL;
	size_t i;
	json_array_append_new(words, json_string("state"));
	if (control_client_call(c, words, NULL, STATE_MS, &state, err) < 0)
		return NULL;
	json_array_foreach(json_object_get(state, "boxes"), i,
			   b) if (!strcmp(json_str(b, "name", ""), box)) found = json_incref(b);
	json_decref(state);
	if (!found)
		err_set(err, ERR_NOENT, "sandbox '%s' not found in this session", box);
	return found;
}

static size_t box_verbs_not_merged(const char *path, uint64_t box)
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
				files = u.box[i].files + u.box[i].branches;
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
	CLEANUP(free_ptr) char *q = mem_printf("close %s? [y/N] ", buf_cstr(&safe));
	return cmd_ask(ctx, q, &answer) &&
	       (!strcmp(buf_cstr(&answer), "y") || !strcmp(buf_cstr(&answer), "yes"));
}

/* The command is answered before the box has gone. */
static void wait_gone(struct control_client *c, const char *box)
{
	struct err none = ERR_INIT;
	json_t *row;
	for (int i = 0; i < GONE_TICKS && (row = box_verbs_row_of(c, box, &none)); i++) {
		json_decref(row);
		usleep(GONE_TICK_US);
	}
}

static int box_verbs_close_it(struct cmd_ctx *ctx, struct control_client *c, const char *box,
			      const char *session, size_t files)
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
	CLEANUP(free_ptr) char *line = mem_printf("closed %s", box);
	box_say(ctx, line);
	return EXIT_DONE;
}

static int remove_box(struct cmd_ctx *ctx, struct control_client *c, const char *box)
{
	struct err err = ERR_INIT;
	const json_t *hello = control_client_welcome(c);
	const char *session = json_str(hello, "session", "");
	CLEANUP(json_release) json_t *row = box_verbs_row_of(c, box, &err);
	if (!row)
		return cmd_fail(ctx, &err);
	size_t files = box_verbs_not_merged(json_str(hello, "path", ""),
					    (uint64_t)json_int(row, "box", 0));
	long long alive = (long long)json_int(row, "alive", 0);
	CLEANUP(free_ptr)
	char *work = files ? mem_printf(", %zu file%s not merged (kept in the recording)", files,
					files == 1 ? "" : "s")
			   : mem_strdup("");
	CLEANUP(free_ptr)
	char *what = mem_printf("sandbox %s of %s: %lld process%s%s", box, session, alive,
				alive == 1 ? "" : "es", work);
	if (!may_close(ctx, what))
		return cmd_fail_with(ctx, EXIT_PERSON,
				     "nothing closed: %s\nClose it without a question with --yes.",
				     what);
	return box_verbs_close_it(ctx, c, box, session, files);
}

int box_rm(struct cmd_ctx *ctx)
{
	struct box_place p = { 0 };
	struct err err = ERR_INIT;
	struct control_client *c = NULL;
	place_of_box(cmd_word(ctx, 1), &p);
	int status = box_reach(ctx, &p, "close", &c, &err) < 0 ? cmd_fail(ctx, &err)
							       : remove_box(ctx, c, p.box);
	control_client_free(&c);
	box_place_release(&p);
	return status;
}
