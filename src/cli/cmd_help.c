/* sandglass help, version, and the text printed without a command. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "action/gate.h"
#include "sessions/ask_all.h"
#include "cli/front/front.h"
#include "cli/lib/cmd_priv.h"
#include "cli/help.h"
#include "sessions/sessions.h"
#include "sessions/live.h"
#include "base/mem.h"
#include "control/socket.h"
#include "wire/control.h"

static int cmd_help_no_such(struct cmd_ctx *ctx, const char *word)
{
	const char *near = command_nearest(word);
	return near ? cmd_usage(ctx, "unknown command '%s'; did you mean '%s'?", word, near)
		    : cmd_usage(ctx, "unknown command or topic '%s'\nTry 'sandglass help'.", word);
}

static void help_json(struct cmd_ctx *ctx, const struct command *c)
{
	static const char *const where[] = { [COMMAND_OFFLINE] = "offline",
					     [COMMAND_SUPERVISOR] = "supervisor",
					     [COMMAND_LOCAL] = "local" };
	json_t *o = json_object(), *opts = json_array();
	const char *text = c->options;
	struct option_row r;
	json_put_str(o, "command", c->name);
	json_put_str(o, "where", where[c->where]);
	json_put_str(o, "usage", c->usage);
	json_put_str(o, "summary", c->summary);
	while (option_next(&text, &r)) {
		json_t *row = json_object();
		char letter[2] = { r.letter, 0 };
		if (r.letter)
			json_put_str(row, "letter", letter);
		if (r.name[0])
			json_put_str(row, "name", r.name);
		if (r.value[0])
			json_put_str(row, "value", r.value);
		if (r.repeats)
			json_put_flag(row, "repeats", true);
		json_put(row, "text", json_stringn(r.text, r.text_len));
		json_array_append_new(opts, row);
	}
	json_put(o, "options", opts);
	cmd_json(ctx, o);
}

static int print_page(struct cmd_ctx *ctx, const char *name)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (ctx->json || cmd_word(ctx, 0))
		return cmd_usage(ctx, "--man takes no other arguments");
	if (!help_man(name, &b)) {
		buf_printf(&b, "no page '%s'; there are", name);
		for (size_t i = 0; help_man_name(i); i++)
			buf_printf(&b, "%s %s", i ? "," : "", help_man_name(i));
		return cmd_usage(ctx, "%s", buf_cstr(&b));
	}
	fwrite(b.data, 1, b.len, ctx->out);
	return EXIT_DONE;
}

int cmd_help(struct cmd_ctx *ctx)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *word = cmd_word(ctx, 0);
	const struct command *c = word ? command_find(word) : NULL;
	if (cmd_opt(ctx, "man"))
		return print_page(ctx, cmd_opt(ctx, "man"));
	if (word && !strcmp(word, "lua"))
		return help_lua(ctx, cmd_word(ctx, 1));
	if (cmd_word(ctx, 1))
		return cmd_usage(ctx, "expected one command or topic, or lua NAME");
	if (ctx->json && word && !c && help_topic(word, &b)) {
		json_t *o = json_object();
		json_put_str(o, "topic", word);
		json_put_str(o, "text", buf_cstr(&b));
		cmd_json(ctx, o);
		return EXIT_DONE;
	}
	if (ctx->json) {
		for (size_t i = 0; (word ? i == 0 : command_at(i) != NULL); i++) {
			const struct command *one = word ? c : command_at(i);
			if (!one)
				return cmd_help_no_such(ctx, word);
			if (!(one->flags & COMMAND_HIDDEN) || word)
				help_json(ctx, one);
		}
		return EXIT_DONE;
	}
	if (c) {
		command_help_long(c, &b);
	} else if (!word) {
		command_help_list(&b);
	} else {
		if (!help_topic(word, &b))
			return cmd_help_no_such(ctx, word);
	}
	fputs(buf_cstr(&b), ctx->out);
	return EXIT_DONE;
}

int cmd_version(struct cmd_ctx *ctx)
{
	struct utsname u;
	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "version", SANDGLASS_VERSION);
		json_put_int(o, "control", CONTROL_VERSION);
		json_put_int(o, "control_min", CONTROL_MIN);
		json_put_str(o, "kernel", u.release);
		json_put_str(o, "machine", u.machine);
		cmd_json(ctx, o);
		return EXIT_DONE;
	}
	fprintf(ctx->out, "sandglass %s\n", SANDGLASS_VERSION);
	if (ctx->verbose || (ctx->command && !ctx->quiet && ctx->line->command &&
			     !strcmp(ctx->command->name, "version")))
		fprintf(ctx->out, "control protocol %d (talks to %d and later)\nkernel %s %s\n",
			CONTROL_VERSION, CONTROL_MIN, u.release, u.machine);
	return EXIT_DONE;
}

/* --- without a word ---------------------------------------------------------------------------
 */

static void list_live(struct cmd_ctx *ctx, const struct strv *ids)
{
	struct session_file *file = mem_calloc(ids->nr, sizeof(*file));
	struct asked *all = mem_calloc(ids->nr, sizeof(*all));
	for (size_t i = 0; i < ids->nr; i++) {
		/* ours: its socket goes by its id */
		file[i] = (struct session_file){ .id = ids->item[i], .path = ids->item[i] };
		all[i].file = &file[i];
	}
	ask_all(all, ids->nr);
	for (size_t i = 0; i < ids->nr; i++) {
		json_t *w = all[i].welcome;
		const json_t *state = json_object_get(w, "state");
		size_t held = gate_state_waits(state),
		       asks = json_array_size(json_object_get(state, "asks"));
		fprintf(ctx->out, "%s %s", ids->item[i],
			w ? held + asks ? "waiting" : "running" : "does not answer");
		if (w) {
			fputs("  ", ctx->out);
			cmd_print_safe(ctx->out, json_str(w, "name", ""),
				       strlen(json_str(w, "name", "")), false);
		}
		if (held)
			fprintf(ctx->out, "  (%zu held)", held);
		if (asks)
			fprintf(ctx->out, "  (%zu %s)", asks, asks == 1 ? "question" : "questions");
		fputc('\n', ctx->out);
		json_decref(w);
	}
	free(all);
	free(file);
}

/* Nothing of ours does, but it may be that something runs which others share with us. */
static void list_shared(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	session_files_shared(&files);
	for (size_t i = 0; i < files.nr; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		buf_printf(&b, "sandglass attach %s   '%s', which %s shares with you",
			   files.item[i].id, files.item[i].name, files.item[i].shared_by);
		cmd_print_safe(ctx->out, buf_cstr(&b), b.len, false);
		fputc('\n', ctx->out);
	}
	session_files_release(&files);
}

static bool has_sessions(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct err none = ERR_INIT;
	bool any = session_files_list(&files, ctx->sessions, &none) == 0 && files.nr > 0;
	session_files_release(&files);
	return any;
}

/* The session browser; without a terminal the sessions that run; without sessions how to start
 * one. */
int cmd_start(struct cmd_ctx *ctx)
{
	struct strv ids = STRV_INIT;
	struct err err = ERR_INIT;
	int status = EXIT_DONE;
	if (ctx->json) {
		ctx->command = command_find("ls");
		return cmd_ls(ctx);
	}
	if (control_list(&ids, &err) < 0)
		return cmd_fail(ctx, &err);
	const struct front_opts fo = { 0 };
	if (front_is_console(ctx, &fo) && (ids.nr || has_sessions(ctx))) {
		status = front_sessions(ctx);
	} else if (!ids.nr) {
		list_shared(ctx);
		fputs("sandglass demo      three scripted agents for 60 s: no key, no setup\n"
		      "sandglass new my    write your own agent script, then 'sandglass run my.lua'\n"
		      "sandglass help      all commands ('sandglass ls': your sessions)\n",
		      ctx->out);
	} else {
		list_live(ctx, &ids);
		fputs("'sandglass attach ID' opens one\n", ctx->out);
	}
	strv_release(&ids);
	return status;
}
