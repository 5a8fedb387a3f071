#include "cli/deny_filter.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "phrase/describe.h"
#include "query/filter.h"
#include "ui/model/facts.h"
#include "ui/model/source.h"

/* To @out; a question needs the list even with --quiet and --json, and then it isn't a result. */
static void deny_filter_print(FILE *out, struct source *s, uint64_t action)
{
	CLEANUP(json_release) json_t *req = source_body(s, action);
	const struct model_action *act = model_action(&s->model, action);
	const struct model_agent *agent = act ? model_agent(&s->model, act->agent) : NULL;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	buf_printf(&line, "#%" PRIu64 " %s %s: ", action, agent ? agent->name : "",
		   act ? act->kind : "");
	describe_action(req, &line);
	cmd_print_safe(out, line.data, line.len, false);
	fputc('\n', out);
}

static json_t *deny_filter_find(struct cmd_ctx *ctx, struct source *s, const struct filter *f)
{
	json_t *words = json_pack("[s]", "deny");
	bool result = !ctx->json && !ctx->quiet;
	for (size_t i = 0; i < s->model.nr_held; i++) {
		uint64_t action = s->model.held[i];
		CLEANUP(json_release) json_t *facts = facts_row(s, action);
		if (!filter_match(f, facts, clock_wall_us()))
			continue;
		CLEANUP(free_ptr) char *id = mem_printf("%" PRIu64, action);
		json_array_append_new(words, json_string(id));
		if (result || !cmd_has(ctx, "yes"))
			deny_filter_print(result ? ctx->out : ctx->err, s, action);
	}
	return words;
}

static bool deny_filter_sure(struct cmd_ctx *ctx, size_t nr)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT;
	CLEANUP(free_ptr)
	char *question = mem_printf("Deny %zu action%s%s? (y/n) ", nr, nr == 1 ? "" : "s",
				    cmd_has(ctx, "kill")    ? " and end their agents"
				    : cmd_has(ctx, "pause") ? " and pause their agents"
							    : "");
	return cmd_has(ctx, "yes") || (isatty(0) && cmd_ask(ctx, question, &answer) &&
				       (*buf_cstr(&answer) == 'y' || *buf_cstr(&answer) == 'Y'));
}

json_t *deny_filtered(struct cmd_ctx *ctx, const struct control_client *c, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	const char *text = cmd_opt(ctx, "filter");
	struct filter *f = NULL;
	struct source *s = NULL;
	json_t *words = NULL;
	if (!text || cmd_word(ctx, 0)) {
		err_set(err, ERR_USAGE, "deny: expected IDs or --filter FILTER%s",
			text ? ", got both" : "");
		return NULL;
	}
	json_get_bytes(json_object_get(control_client_welcome(c), "path"), &path);
	if (cmd_has(ctx, "session") || cmd_has(ctx, "rule")) {
		err_set(err, ERR_USAGE, "deny: --session and --rule take one ID, not --filter");
		return NULL;
	}
	if (cmd_filter(ctx, &f, err) < 0 || filter_known_before(f, err) < 0 ||
	    source_open(&s, buf_cstr(&path), err) < 0) {
		if (err->code == ERR_INVALID) /* a filter that can't hold of a pending action */
			err->code = ERR_USAGE;
		filter_free(&f);
		return NULL;
	}
	if (source_sync(s, 0, 0) < 0)
		*err = s->why;
	else
		words = deny_filter_find(ctx, s, f);
	size_t nr = words ? json_array_size(words) - 1 : 0;
	if (words && !nr)
		err_set(err, ERR_NOENT, "deny: no pending action matches '%s'", text);
	else if (words && !deny_filter_sure(ctx, nr))
		err_set(err, ERR_INVALID,
			"deny: nothing denied\nDeny without a question with --yes.");
	if (err->code != ERR_NONE)
		json_release(&words);
	source_close(&s);
	filter_free(&f);
	return words;
}
