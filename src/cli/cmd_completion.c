/* Completion: three small scripts that ask `sandglass complete -- WORDS` what the last word could
 * become. One candidate a line, a tab, and a word about it. The answer must come fast and never
 * fail loudly. */
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "cli/complete.h"
#include "sessions/live.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "control/socket.h"

static const char bash_script[] =
	"# sandglass completion for bash\n"
	"_sandglass() {\n"
	"\tlocal IFS=$'\\n' line\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tCOMPREPLY=()\n"
	"\twhile read -r line; do\n"
	"\t\tCOMPREPLY+=(\"${line%%$'\\t'*}\")\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"\t[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
	"\treturn 0\n"
	"}\n"
	"complete -o default -F _sandglass sandglass\n";

static const char zsh_script[] =
	"#compdef sandglass\n"
	"# sandglass completion for zsh\n"
	"_sandglass() {\n"
	"\tlocal -a found shown\n"
	"\tlocal line\n"
	"\tfor line in \"${(@f)$(\"${words[1]}\" complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
	"\t\t[[ -n $line ]] || continue\n"
	"\t\tfound+=(\"${line%%$'\\t'*}\")\n"
	"\t\tshown+=(\"${line/$'\\t'/  }\")\n"
	"\tdone\n"
	"\tif (( ${#found} )); then\n"
	"\t\tcompadd -l -d shown -- \"${found[@]}\"\n"
	"\telse\n"
	"\t\t_files\n"
	"\tfi\n"
	"}\n"
	"if [[ $funcstack[1] == _sandglass ]]; then\n"
	"\t_sandglass \"$@\"\n"
	"else\n"
	"\tcompdef _sandglass sandglass\n"
	"fi\n";

static const char fish_script[] = "# sandglass completion for fish\n"
				  "function __sandglass_complete\n"
				  "\tset -l words (commandline -opc) (commandline -ct)\n"
				  "\tcommand $words[1] complete -- $words[2..-1] 2>/dev/null\n"
				  "end\n"
				  "complete -c sandglass -a '(__sandglass_complete)'\n";

int cmd_completion(struct cmd_ctx *ctx)
{
	const char *shell = cmd_word(ctx, 0);
	if (!strcmp(shell, "bash"))
		fputs(bash_script, ctx->out);
	else if (!strcmp(shell, "zsh"))
		fputs(zsh_script, ctx->out);
	else if (!strcmp(shell, "fish"))
		fputs(fish_script, ctx->out);
	else
		return cmd_usage(ctx, "expected bash, zsh, or fish, got '%s'", shell);
	return EXIT_DONE;
}

/* --- candidates -------------------------------------------------------------------------------
 */

struct completer {
	struct cmd_ctx *ctx;
	const char *cur; /* what has been typed of the last word */
};

static void cmd_completion_offer(struct completer *c, const char *word, const char *about,
				 size_t about_len)
{
	size_t n = strlen(c->cur);
	if (strncmp(word, c->cur, n) != 0)
		return;
	cmd_print_safe(c->ctx->out, word, strlen(word), false);
	fputc('\t', c->ctx->out);
	cmd_print_safe(c->ctx->out, about, about_len, false);
	fputc('\n', c->ctx->out);
}

static void offer_z(struct completer *c, const char *word, const char *about)
{
	cmd_completion_offer(c, word, about, strlen(about));
}

static void offer_one(void *c, const char *word, const char *about)
{
	offer_z(c, word, about);
}

static void offer_commands(struct completer *c)
{
	for (size_t i = 0; command_at(i); i++)
		if (!(command_at(i)->flags & COMMAND_HIDDEN))
			offer_z(c, command_at(i)->name, command_at(i)->summary);
}

static void offer_options(struct completer *c, const char *table)
{
	struct option_row r;
	while (option_next(&table, &r)) {
		CLEANUP(free_ptr)
		char *word = r.name[0] ? mem_printf("--%s%s", r.name, r.value[0] ? "=" : "")
				       : mem_printf("-%c", r.letter);
		cmd_completion_offer(c, word, r.text, r.text_len);
	}
}

static void offer_sessions(struct completer *c, bool live_only)
{
	struct session_files files = SESSION_FILES_INIT;
	struct strv live = STRV_INIT;
	struct err err = ERR_INIT;
	size_t shown = 0;
	/* what cannot be listed is not offered */
	int live_rc = control_list(&live, &err),
	    files_rc = session_files_list(&files, c->ctx->sessions, &err);
	if (live_rc < 0 && files_rc < 0)
		return;
	for (size_t i = 0; i < live.nr; i++) {
		const char *name = "";
		for (size_t j = 0; j < files.nr; j++)
			if (!strcmp(files.item[j].id, live.item[i]))
				name = files.item[j].name;
		CLEANUP(free_ptr) char *about = mem_printf("running %s", name);
		offer_z(c, live.item[i], about);
	}
	for (size_t i = 0; !live_only && i < files.nr && shown < 50; i++) {
		bool runs = false;
		for (size_t j = 0; j < live.nr; j++)
			runs = runs || !strcmp(files.item[i].id, live.item[j]);
		if (!runs && ++shown)
			offer_z(c, files.item[i].id, files.item[i].name);
	}
	session_files_release(&files);
	strv_release(&live);
}

/* Completions from running sessions: pending actions, names of agents and sandboxes. */
static void offer_state(struct completer *c, const char *list, const char *name_key,
			const char *about_key, bool number)
{
	struct strv live = STRV_INIT;
	struct err err = ERR_INIT;
	if (control_list(&live, &err) < 0)
		return;
	for (size_t i = 0; i < live.nr; i++) {
		struct control_client *cc;
		struct control_client_opts o = { .watch = true, .timeout_ms = 300 };
		CLEANUP(free_ptr) char *path = control_path(live.item[i]);
		if (control_client_open(&cc, path, &o, NULL, NULL, &err) < 0)
			continue;
		const json_t *rows =
			json_object_get(json_object_get(control_client_welcome(cc), "state"), list);
		for (size_t r = 0; r < json_array_size(rows); r++) {
			const json_t *row = json_array_get(rows, r);
			if (number) {
				CLEANUP(free_ptr)
				char *word = mem_printf("%s%s%lld", live.nr > 1 ? live.item[i] : "",
							live.nr > 1 ? "#" : "",
							(long long)json_int(row, name_key, 0));
				offer_z(c, word, json_str(row, about_key, ""));
			} else if (*json_str(row, name_key, "")) {
				offer_z(c, json_str(row, name_key, ""),
					json_str(row, about_key, ""));
			}
		}
		control_client_free(&cc);
	}
	strv_release(&live);
}

static void offer_operand(struct completer *c, const struct command *cmd, const char *token)
{
	bool live = cmd->where == COMMAND_SUPERVISOR;
	if (!strcmp(token, "COMMAND"))
		offer_commands(c);
	else if (live && !strcmp(token, "ID"))
		offer_state(c, "held", "action", "cmd", true);
	else if (live && !strcmp(token, "AGENT"))
		offer_state(c, "agents", "name", "task", false);
	else if (!strcmp(token, "SANDBOX"))
		offer_state(c, "boxes", "name", "driver", false);
	else if (!strcmp(token, "ID") || !strcmp(token, "SESSION") || !strcmp(token, "A") ||
		 !strcmp(token, "B") || !strcmp(token, "PATTERN"))
		offer_sessions(c, !strcmp(cmd->name, "attach") || !strcmp(cmd->name, "watch"));
	else if (!strcmp(token, "KIND") && !strcmp(cmd->name, "plugin"))
		complete_kinds(offer_one, c);
	else if (token[0] >= 'a' && token[0] <= 'z')
		offer_z(c, token, "");
}

/* The words of each form of the usage that stand at place @at, and of those that repeat. */
static void offer_usage(struct completer *c, const struct command *cmd, size_t at)
{
	size_t place = 0;
	for (const char *s = cmd->usage; *s; s++) {
		if (*s == '|') {
			place = 0;
		} else if (*s != ' ' && *s != '[' && *s != ']') {
			size_t n = strcspn(s, " []");
			bool repeats = n > 3 && !memcmp(s + n - 3, "...", 3);
			CLEANUP(free_ptr) char *token = mem_strndup(s, n - (repeats ? 3 : 0));
			if (!strcmp(token, "--"))
				return;
			if (place == at || (repeats && place <= at))
				offer_operand(c, cmd, token);
			place++;
			s += n - 1;
		}
	}
}

static bool takes_value(const struct command *cmd, const char *word, struct option_row *out)
{
	const char *tables[] = { cmd ? cmd->options : "", common_options };
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		const char *text = tables[t];
		while (option_next(&text, out)) {
			bool same = word[1] == '-' ? out->name[0] && !strcmp(out->name, word + 2)
						   : word[1] == out->letter && !word[2];
			if (same)
				return out->value[0] != 0;
		}
	}
	return false;
}

int cmd_complete(struct cmd_ctx *ctx)
{
	const struct strv *w = ctx->line->rest.nr ? &ctx->line->rest : ctx->words;
	struct completer c = { .ctx = ctx, .cur = w->nr ? w->item[w->nr - 1] : "" };
	const struct command *cmd = NULL;
	struct option_row r;
	size_t operands = 0;
	bool value = false; /* the last word is the value of an option */
	for (size_t i = 0; i + 1 < w->nr; i++) {
		if (value) {
			value = false;
		} else if (w->item[i][0] == '-' && w->item[i][1]) {
			value = takes_value(cmd, w->item[i], &r);
		} else if (!cmd) {
			cmd = command_find(w->item[i]);
			if (!cmd)
				return EXIT_DONE;
		} else {
			operands++;
		}
	}
	if (value && cmd && !strcmp(r.value, "SESSION"))
		offer_sessions(&c, cmd->where == COMMAND_SUPERVISOR);
	else if (value && cmd && complete_value(cmd, r.name, offer_one, &c))
		;
	else if (value && cmd)
		/* other values are mostly files: the shell completes them */
		complete_traits(ctx->sessions, cmd, r.name, offer_one, &c);
	else if (value)
		;
	else if (c.cur[0] == '-') {
		if (cmd)
			offer_options(&c, cmd->options);
		offer_options(&c, common_options);
	} else if (!cmd) {
		offer_commands(&c);
	} else {
		offer_usage(&c, cmd, operands);
	}
	return EXIT_DONE;
}
