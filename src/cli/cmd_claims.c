/* sandglass claims: what agents say at their end, held against what ran. */
#include <string.h>

#include "check/check.h"
#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "query/sql.h"

/* The kernel's events for a claim. */
static void print_ran(struct cmd_ctx *ctx, const json_t *c)
{
	const json_t *e;
	size_t i;
	json_array_foreach(json_object_get(c, "ran"), i, e)
	{
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		const char *exec = json_str(e, "exec", json_str(e, "path", NULL)),
			   *to = json_str(e, "connect", "?");
		buf_puts(&line, exec ? "ran  " : "net  ");
		cmd_safe(&line, exec ? exec : to, strcspn(exec ? exec : to, "\n"), false);
		fprintf(ctx->out, "               %s  #%lld\n", buf_cstr(&line),
			(long long)json_int(e, "event", 0));
	}
	if (json_int(c, "more", 0) > 0)
		fprintf(ctx->out, "               and %lld more\n",
			(long long)json_int(c, "more", 0));
}

static void cmd_claims_print(struct cmd_ctx *ctx, const json_t *c)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, kind = BUF_INIT;
	const char *text = json_str(c, "text", ""), *agent = json_str(c, "agent", ""),
		   *why = json_str(c, "why", NULL);
	const json_t *evidence = json_object_get(c, "evidence");
	buf_printf(&line, "%-12s ", json_str(c, "verdict", ""));
	cmd_safe(&line, agent, strlen(agent), false);
	buf_puts(&line, ": ");
	cmd_safe(&line, text, strlen(text), false);
	if (why) {
		buf_puts(&line, "\n             ");
		cmd_safe(&line, why, strlen(why), false);
	}
	buf_printf(&kind, "%s: ", json_str(c, "kind", "claim"));
	size_t shown = json_object_get(c, "ran") ? 0 : json_array_size(evidence);
	/* a sentence may make two claims: which one this is stands before what shows it */
	for (size_t i = 0; i < shown && i < 5; i++)
		buf_printf(&line, "%s%s#%lld", i ? "" : "  (", i ? " " : buf_cstr(&kind),
			   (long long)json_integer_value(json_array_get(evidence, i)));
	if (shown > 5)
		buf_printf(&line, " and %zu more", shown - 5);
	fprintf(ctx->out, "%s%s\n", buf_cstr(&line), shown ? ")" : "");
	print_ran(ctx, c);
}

/* An agent without claims is not an error; an unknown @name is. */
static int is_agent(struct session *s, const char *name, struct err *err)
{
	struct sql_table t;
	bool there = false;
	if (sql_own(s, "SELECT json_extract(body,'$.name') FROM event WHERE kind=400", SIZE_MAX, &t,
		    err) < 0)
		return -1;
	for (size_t i = 0; i < t.rows && !there; i++)
		there = t.cell[i] && !strcmp(t.cell[i], name);
	sql_table_release(&t);
	return there ? 0
		     : err_set(err, ERR_NOENT, "agent '%s' not found in session '%s'", name,
			       session_id(s));
}

int cmd_claims(struct cmd_ctx *ctx)
{
	struct session *s;
	struct err err = ERR_INIT;
	uint64_t seq;
	CLEANUP(json_release) json_t *list = NULL;
	const char *agent = cmd_opt(ctx, "agent");
	size_t i, n = 0, borne = 0;
	json_t *c;
	if (session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	int rc = agent ? is_agent(s, agent, &err) : 0;
	if (rc == 0)
		rc = check_claims(s, &list, &err);
	session_close(&s);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	json_array_foreach(list, i, c)
	{
		if (agent && strcmp(agent, json_str(c, "agent", "")) != 0)
			continue;
		n += strcmp(json_str(c, "verdict", ""), "seen") != 0;
		borne += !strcmp(json_str(c, "verdict", ""), "supported");
		if (ctx->json)
			cmd_json(ctx, json_deep_copy(c));
		else
			cmd_claims_print(ctx, c);
	}
	if (!ctx->json && !ctx->quiet)
		fprintf(ctx->out, n ? "%zu claim%s, %zu supported\n" : "nothing is claimed\n", n,
			n == 1 ? "" : "s", borne);
	return borne == n ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
