#include "cli/verify_repeat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/act.h"
#include "cli/front/front.h"
#include "sessions/spawn.h"
#include "luahost/library.h"
#include "control/client.h"

enum { PAGE = 256, NAME_BYTES = 72 };

struct again {
	struct cmd_ctx *ctx;
	struct session *s;
	struct report *to;
	verify_repeat_fn *tell;
	void *self;
	uint64_t *action; /* what is run again, ascending */
	size_t nr;
	struct control_client *client;
};

/* --- which ones --- */

/* True for a command in a sandbox that exited. A redacted command is unknown and is reported. */
static bool verify_repeat_worth(const struct act *a)
{
	return !a->wanted || (!strcmp(act_kind(a), "exec") && a->box && a->started_us &&
			      !strcmp(act_end(a), "ok") &&
			      /* a permission runs no command */
			      a->ended.has_out_bytes);
}

int verify_repeat_actions(struct session *s, uint64_t from, uint64_t to, uint64_t **out,
			  size_t *nr_out, struct err *err)
{
	struct event page[PAGE];
	uint64_t after = from ? from - 1 : 0, *action = NULL;
	size_t nr = 0, found = 0, cap = 0;
	do {
		if (session_headers(s, after, page, PAGE, &nr, err) < 0)
			goto failed;
		for (size_t i = 0; i < nr && (!to || page[i].seq <= to); i++) {
			struct act a;
			after = page[i].seq;
			if (page[i].kind != EV_ACTION_REQUESTED)
				continue;
			if (act_load(&a, s, after, err) < 0)
				goto failed;
			if (verify_repeat_worth(&a)) {
				GROW(action, found, cap);
				action[found++] = after;
			}
			act_release(&a);
		}
	} while (nr && (!to || page[nr - 1].seq <= to));
	*out = action;
	*nr_out = found;
	return 0;
failed:
	free(action);
	return -1;
}

int verify_repeat_which(const char *which, uint64_t *n_out, struct err *err)
{
	char *end;
	*n_out = 0;
	if (!strcmp(which, "all"))
		return 0;
	errno = 0;
	*n_out = strtoull(which, &end, 10);
	if (errno || *which < '0' || *which > '9' || *end || !*n_out)
		return err_set(err, ERR_USAGE,
			       "--repeat: expected all or a number of commands, got '%.40s'",
			       which);
	return 0;
}

static int verify_repeat_choose(struct again *g, const char *which, struct err *err)
{
	uint64_t n;
	if (verify_repeat_which(which, &n, err) < 0)
		return -1;
	if (session_live(g->s))
		return err_set(
			err, ERR_BUSY,
			"--repeat: session %s is still running\nRepeat one command with 'sandglass repeat'.",
			session_id(g->s));
	if (verify_repeat_actions(g->s, 0, 0, &g->action, &g->nr, err) < 0)
		return -1;
	if (n && n < g->nr) {
		memmove(g->action, g->action + (g->nr - n), (size_t)n * sizeof(*g->action));
		g->nr = (size_t)n;
	}
	return 0;
}

/* --- one --- */

static void verify_repeat_add(struct again *g, uint64_t action, enum report_result result,
			      const char *text)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT, name = BUF_INIT;
	struct act a;
	struct err none = ERR_INIT;
	if (act_load(&a, g->s, action, &none) == 0) {
		act_what(&a, &what);
		act_release(&a);
	}
	size_t n = what.len < NAME_BYTES ? what.len : NAME_BYTES;
	while (n && n < what.len && ((uint8_t)what.data[n] & 0xc0) == 0x80)
		n--;
	buf_printf(&name, "#%llu %.*s", (unsigned long long)action, (int)n, buf_cstr(&what));
	g->tell(g->self,
		report_add(g->to, "redo", result, buf_cstr(&name), text, NULL, &action, 1));
}

static bool verify_repeat_same(const json_t *o, const char *part)
{
	const json_t *p = json_object_get(o, part);
	return !p || json_flag(p, "same", false);
}

static void verify_repeat_judge(struct again *g, uint64_t action, const json_t *o)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	static const char *const stream[] = { "stdout", "stderr", "pty" };
	const char *why = json_str(o, "why", "");
	if (*why) {
		buf_printf(&text, "missing: %s", why);
		verify_repeat_add(g, action, REPORT_SKIPPED, buf_cstr(&text));
		return;
	}
	if (!verify_repeat_same(o, "status"))
		buf_puts(&text, "status differs");
	for (size_t i = 0; i < ARRAY_LEN(stream); i++)
		if (!verify_repeat_same(o, stream[i]))
			buf_printf(&text, "%soutput differs: %s from line %lld",
				   text.len ? ", " : "", stream[i],
				   (long long)json_int(json_object_get(o, stream[i]), "line", 0));
	const json_t *tree = json_object_get(o, "tree"),
		     *first = json_array_get(json_object_get(tree, "files"), 0);
	if (!verify_repeat_same(o, "tree") && json_flag(tree, "shared", false)) {
		if (!text.len) {
			verify_repeat_add(
				g, action, REPORT_WARN,
				"tree unknown: the record has its changes in one snapshot with those of others");
			return;
		}
	} else if (!verify_repeat_same(o, "tree")) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(json_object_get(first, "path"), &path);
		buf_printf(&text, "%stree differs: %s", text.len ? ", " : "", buf_cstr(&path));
		if (json_array_size(json_object_get(tree, "files")) > 1)
			buf_puts(&text, " and others");
	}
	verify_repeat_add(g, action, text.len ? REPORT_FAILED : REPORT_OK,
			  text.len ? buf_cstr(&text) : "same");
}

/* The session of the second runs ends with the last one. */
static void verify_repeat_run_again(struct again *g, uint64_t action, bool last)
{
	CLEANUP(free_ptr) char *id = mem_printf("%llu", (unsigned long long)action);
	CLEANUP(json_release) json_t *reply = NULL;
	struct err err = ERR_INIT;
	json_t *words = json_array(), *opts = json_object();
	json_array_append_new(words, json_string("redo_here"));
	json_array_append_new(words, json_string(id));
	json_put_str(opts, "from", session_path(g->s));
	if (last)
		json_put_flag(opts, "end", true);
	if (control_client_call(g->client, words, opts, -1, &reply, &err) == 0) {
		verify_repeat_judge(g, action, reply);
		return;
	}
	CLEANUP(free_ptr) char *text = mem_printf("missing: %s", err.text);
	verify_repeat_add(g, action, REPORT_SKIPPED, text);
	if (last) {
		CLEANUP(json_release) json_t *ignored = NULL;
		words = json_array();
		json_array_append_new(words, json_string("stop"));
		if (control_client_call(g->client, words, NULL, -1, &ignored, &err) < 0)
			return; /* it has ended already */
	}
}

/* --- all --- */

int verify_repeat_session(struct cmd_ctx *ctx, bool alone, struct spawned *sp, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_object();
	size_t len;
	const char *text = library_file("agents/redo.lua", &len), *accept = cmd_opt(ctx, "accept");
	if (!text)
		return err_set(err, ERR_NOENT, "'agents/redo.lua' not found in this build");
	if (accept && strcmp(accept, "reduced") != 0)
		return err_set(err, ERR_USAGE, "--accept: expected reduced, got '%s'", accept);
	json_put_str(o, "name", "redo");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_flag(o, "accept_reduced", accept != NULL);
	if (alone)
		json_put_flag(o, "no_input", true);
	if (run_unrecorded(ctx, o, err) < 0)
		return -1;
	return spawn_supervisor(o, sp, err) ? -1 : 0;
}

int verify_repeat(struct cmd_ctx *ctx, struct session *s, const char *which, struct report *to,
		  verify_repeat_fn *tell, void *self, struct err *err)
{
	struct again g = { .ctx = ctx, .s = s, .to = to, .tell = tell, .self = self };
	struct spawned sp = { 0 };
	int rc = verify_repeat_choose(&g, which, err);
	if (rc == 0 && g.nr) {
		rc = verify_repeat_session(g.ctx, true, &sp, err);
		if (rc == 0)
			rc = control_client_open(&g.client, sp.socket, NULL, NULL, NULL, err);
		for (size_t i = 0; rc == 0 && i < g.nr; i++)
			verify_repeat_run_again(&g, g.action[i], i + 1 == g.nr);
		if (rc == 0 && !ctx->quiet && !ctx->json)
			fprintf(ctx->err, "repetitions recorded as %s\n", sp.id);
	} else if (rc == 0) {
		tell(self,
		     report_add(to, "redo", REPORT_SKIPPED, "commands",
				"no command ran in a sandbox of this session", NULL, NULL, 0));
	}
	control_client_free(&g.client);
	spawned_release(&sp);
	free(g.action);
	return rc;
}
