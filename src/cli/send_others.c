/* approve --session, approve --rule, and deny --rule also decide other pending actions. These
 * are named before anything is sent, and are included only after a user who has read their names
 * agrees. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "base/mem.h"
#include "control/client.h"

static void name_it(struct cmd_ctx *ctx, const json_t *held, const json_t *o, const char *first)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int64_t id = json_int(o, "action", 0);
	buf_printf(&b, "%s #%" PRId64 " ", first, id);
	for (size_t i = 0; i < json_array_size(held); i++) {
		const json_t *row = json_array_get(held, i);
		if (json_int(row, "action", 0) != id)
			continue;
		buf_printf(&b, "%s: ", json_str(row, "agent_name", ""));
		describe_action(row, &b);
	}
	if (json_object_get(o, "stays"))
		buf_printf(&b, " (stays pending: %s)", json_str(o, "stays", ""));
	cmd_print_safe(ctx->out, b.data, b.len, false);
	fputc('\n', ctx->out);
}

/* Asks the supervisor for the effect of the pattern. NULL: no answer, and then no other action
 * goes along. Returns owned. */
static json_t *ask_about(const struct cmd_ctx *ctx, struct control_client *c, const char *id,
			 const char *pattern, bool rule)
{
	struct err no = ERR_INIT;
	json_t *result = NULL;
	json_t *words = json_array(), *opts = json_object();
	json_array_append_new(words, json_string("waivers"));
	json_array_append_new(words, json_bytes_z(id));
	json_array_append_new(words, json_bytes_z(pattern));
	if (rule)
		json_put_str(opts, "rule", !strcmp(ctx->command->name, "deny") ? "deny" : "allow");
	if (!control_client_knows(c, "waivers") ||
	    control_client_call(c, words, opts, -1, &result, &no) < 0)
		return NULL;
	json_t *others = json_incref(json_object_get(json_object_get(result, "tried"), "others"));
	json_decref(result);
	return others;
}

/* Of other agents, and the pattern is for one alone. */
static bool not_meant(const struct cmd_ctx *ctx, const json_t *held, const char *id,
		      const json_t *o)
{
	const char *hash = strchr(id, '#');
	int64_t own = strtoll(hash ? hash + 1 : id, NULL, 10);
	if (cmd_opt(ctx, "rule") || cmd_has(ctx, "all-agents"))
		return false;
	for (size_t i = 0; i < json_array_size(held); i++)
		if (json_int(json_array_get(held, i), "action", 0) == own)
			return json_int(json_array_get(held, i), "agent", 0) !=
			       json_int(o, "agent", 0);
	return true;
}

static bool send_others_yes(struct cmd_ctx *ctx, const char *question)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT;
	return isatty(0) && cmd_ask(ctx, question, &answer) &&
	       (*buf_cstr(&answer) == 'y' || *buf_cstr(&answer) == 'Y');
}

void send_others(struct cmd_ctx *ctx, struct control_client *c, const char *id, json_t *opts)
{
	const char *pattern = cmd_opt(ctx, "rule") ? cmd_opt(ctx, "rule") : cmd_opt(ctx, "session");
	const json_t *held =
		json_object_get(json_object_get(control_client_welcome(c), "state"), "held");
	bool deny = !strcmp(ctx->command->name, "deny");
	CLEANUP(buf_release) struct buf ids = BUF_INIT;
	if (!pattern || !id || cmd_opt(ctx, "others") || ctx->json || ctx->quiet)
		return;
	CLEANUP(json_release)
	json_t *list = ask_about(ctx, c, id, pattern, cmd_opt(ctx, "rule") != NULL);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		if (not_meant(ctx, held, id, o))
			continue;
		name_it(ctx, held, o, deny ? "it also denies" : "it also answers");
		if (!json_object_get(o, "stays"))
			buf_printf(&ids, "%s%" PRId64, ids.len ? "," : "",
				   json_int(o, "action", 0));
	}
	if (!ids.len)
		return;
	if (send_others_yes(ctx,
			    deny ? "deny these as well? [y/N] " : "let these run as well? [y/N] "))
		json_put_str(opts, "others", buf_cstr(&ids));
	else
		fprintf(ctx->out, "%s held; to decide them as well: --others %s\n",
			strchr(buf_cstr(&ids), ',') ? "they stay" : "it stays", buf_cstr(&ids));
}
