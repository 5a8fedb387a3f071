/* sandglass simulation SESSION: would the script do the same again? */
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd.h"
#include "base/exit.h"
#include "sessions/sessions.h"
#include "luahost/simulate.h"
#include "base/fd.h"

enum { SCRIPT_MAX = 8 << 20 };

static void cmd_simulate_print_json(struct cmd_ctx *ctx, struct session *s,
				    const struct simulation_result *r)
{
	json_t *o = json_object();
	json_put_str(o, "session", session_id(s));
	json_put_flag(o, "same", !r->diverged);
	json_put_int(o, "frames", (int64_t)r->frames);
	json_put_int(o, "calls", (int64_t)r->calls);
	if (r->diverged) {
		json_put_int(o, "event", (int64_t)r->event);
		json_put_int(o, "call", (int64_t)r->call);
		json_put_str(o, "at", r->at);
		json_put_str(o, "pointer", r->pointer);
		json_put_str(o, "recorded", r->recorded);
		json_put_str(o, "now", r->now);
	}
	cmd_json(ctx, o);
}

static void print_line(struct cmd_ctx *ctx, const char *label, const char *text)
{
	fprintf(ctx->out, "  %-9s ", label);
	cmd_print_safe(ctx->out, text ? text : "", text ? strlen(text) : 0, false);
	fputc('\n', ctx->out);
}

static void cmd_simulate_print(struct cmd_ctx *ctx, struct session *s,
			       const struct simulation_result *r)
{
	if (!r->diverged) {
		fprintf(ctx->out, "%s: the same: %llu of %llu calls equal, nothing was done\n",
			session_id(s), (unsigned long long)r->calls, (unsigned long long)r->calls);
		return;
	}
	fprintf(ctx->out, "%s: diverged at #%llu (call %llu%s%s)%s%s\n", session_id(s),
		(unsigned long long)r->event, (unsigned long long)r->call,
		r->at && *r->at ? ", " : "", r->at ? r->at : "",
		r->pointer && *r->pointer ? " in " : "", r->pointer ? r->pointer : "");
	print_line(ctx, "recorded", r->recorded);
	print_line(ctx, "now", r->now);
}

int cmd_simulate(struct cmd_ctx *ctx)
{
	CLEANUP(buf_release) struct buf script = BUF_INIT;
	const char *file = cmd_opt(ctx, "script");
	struct simulation_result r;
	struct session *s;
	struct err err = ERR_INIT;
	uint64_t seq;
	if (file && file_read(file, &script, SCRIPT_MAX, &err) < 0)
		return cmd_fail(ctx, &err);
	if (session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	if (simulate_session(s, file ? &script : NULL, &r, &err) < 0) {
		session_close(&s);
		return cmd_fail(ctx, &err);
	}
	if (ctx->json)
		cmd_simulate_print_json(ctx, s, &r);
	else
		cmd_simulate_print(ctx, s, &r);
	int status = r.diverged ? EXIT_DIVERGED : EXIT_DONE;
	simulation_result_release(&r);
	session_close(&s);
	return status;
}
