/* Input of line mode: an answer to the current prompt (line_ask.c), or a command. */
#include "ui/line_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ui/frame/cmdtable.h"
#include "ui/views/approve.h"

enum { EARLY_US = 400000, NR_CHOICES = 12, EDITED };

/* The answer to the typed line. A program gets one more object without seq, with errors as in
 * every command. */
static void line_typed_answer(struct line *l, const char *text, const struct err *err)
{
	if (!l->json) {
		fputs(err ? "failed: " : "", l->out);
		line_print_safe(l->out, err ? err->text : text);
		fputc('\n', l->out);
		if (err && *err->hint)
			fprintf(l->out, "%s\n", err->hint);
		return;
	}
	CLEANUP(json_release) json_t *o = json_object();
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_put_int(o, "schema", LINE_SCHEMA);
	if (err) {
		json_t *e = json_object();
		json_put_str(e, "code", err_code_name(err->code));
		json_put_bytes(e, "text", err->text, strlen(err->text));
		if (*err->hint)
			json_put_str(e, "hint", err->hint);
		json_put(o, "error", e);
	} else {
		json_put_bytes(o, "text", text, strlen(text));
	}
	json_dump_buf(o, &b);
	fprintf(l->out, "%s\n", buf_cstr(&b));
}

/* A program also gets a result for a command without text. */
static void line_typed_done(struct line *l, const json_t *result)
{
	CLEANUP(json_release) json_t *o = json_object();
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_put_int(o, "schema", LINE_SCHEMA);
	json_put(o, "result", json_deep_copy(result));
	json_dump_buf(o, &b);
	fprintf(l->out, "%s\n", buf_cstr(&b));
}

static void line_typed_sent(void *self, const json_t *result, const struct err *err)
{
	struct line *l = self;
	l->sent_us = 0;
	if (l->at_prompt && (err || json_str(result, "text", NULL)))
		fputc('\n', l->out), l->at_prompt = false;
	const char *text = json_str(result, "text", NULL);
	if (err || text)
		line_typed_answer(l, text, err);
	else if (l->json && result)
		line_typed_done(l, result);
	if ((err || text) && l->asked)
		line_show_prompt(l);
	fflush(l->out);
}

/* Refused, it waits as before: it is asked again, and if that cannot be now, said. */
static void line_typed_decided(void *self, const json_t *result, const struct err *err)
{
	struct line_decision *d = self, **at = &d->line->decisions;
	struct line *l = d->line;
	uint64_t about = d->about;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	free(d);
	line_typed_sent(l, result, err);
	if (!err || l->json || !line_waits(l, about))
		return;
	if (!l->asked)
		line_prompt_about(l, about);
	else if (l->asked != about)
		fprintf(l->out, "\n#%" PRIu64 " is still pending; %s with its number at any time\n",
			about,
			model_action(&l->s->model, about) ? "\"approve\" and \"deny\" work"
							  : "\"answer\" works");
	l->at_prompt &= l->asked == about;
	if (l->asked)
		line_show_prompt(l);
	fflush(l->out);
}

static void send_to(struct line *l, const char *const *words, size_t nr, json_t *opts,
		    act_done_fn *done_fn, void *self)
{
	const struct cmd_row *c = cmd_find(words[0]);
	l->sent_us = c && c->supervisor ? clock_mono_us() : 0;
	if (l->act && l->act->command)
		l->act->command(l->act->self, words, nr, opts, done_fn, self);
	else
		line_typed_answer(l, "read only: the session has ended", NULL);
	json_decref(opts);
}

static void line_typed_send_words(struct line *l, const char *const *words, size_t nr, json_t *opts)
{
	send_to(l, words, nr, opts, line_typed_sent, l);
}

/* @words answer the current prompt, which is then not repeated. Takes @opts, which may be NULL. */
static void send_decision(struct line *l, const char *const *words, size_t nr, json_t *opts)
{
	struct line_decision *d = NEW(struct line_decision);
	*d = (struct line_decision){ .next = l->decisions, .line = l, .about = l->asked };
	l->decisions = d;
	line_later(l);
	send_to(l, words, nr, opts, line_typed_decided, d);
}

static void line_typed_decide(struct line *l, const char *word, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { word, id };
	if (l->intent && *l->intent)
		json_put_str(opts, "intent", l->intent);
	if (l->note && *l->note)
		json_put_str(opts, "note", l->note);
	send_decision(l, words, 2, opts);
}

/* Sends the approval; if a rule requires a typed name, only after that. */
void line_typed_pass(struct line *l, const char *word, json_t *opts)
{
	if (!l->type) {
		line_typed_decide(l, word, opts);
		return;
	}
	json_decref(l->pending);
	l->pending = opts;
	l->pending_word = word;
	l->awaiting = AWAIT_NAME;
	fputs("to approve, type the name, ", l->out);
	line_print_safe(l->out, l->type);
	fputs(" (empty: cancel)> ", l->out);
	l->at_prompt = true;
}

static void line_typed_named(struct line *l, const char *text)
{
	json_t *opts = take(&l->pending);
	l->awaiting = AWAIT_CHOICE;
	if (strcmp(text, l->type) == 0) {
		json_put_str(opts, "confirm", text);
		line_typed_decide(l, l->pending_word, opts);
		return;
	}
	json_decref(opts);
	fputs("the name doesn't match; the action stays pending\n", l->out);
	line_show_prompt(l);
}

static void decide_with(struct line *l, const char *word, const char *opt, const char *text)
{
	json_t *opts = json_object();
	if (text)
		json_put_str(opts, opt, text);
	else
		json_put_flag(opts, opt, true);
	line_typed_decide(l, word, opts);
}

static void ask_text(struct line *l, enum awaiting what, const char *label)
{
	l->awaiting = what;
	fputs(label, l->out);
	l->at_prompt = true;
}

/* --- the numbers of a prompt ------------------------------------------------------------------ */

static void tell_more(struct line *l)
{
	struct arena a = ARENA_INIT;
	struct approval_info info;
	struct text t;
	size_t end;
	text_init(&t, &a, 100, 5, false);
	approval_load(&info, l->s, l->asked, &a);
	approval_text(&t, l->s, &info, 0, &end);
	fprintf(l->out, "(%s)\n", info.counts ? info.counts : "");
	for (size_t i = 0; i < t.nr; i++) {
		CLEANUP(buf_release) struct buf row = BUF_INIT;
		text_row_plain(&t.row[i], &row);
		fprintf(l->out, "%-5s%s\n", t.row[i].gutter ? t.row[i].gutter : "", buf_cstr(&row));
	}
	fputs(line_choices, l->out);
	line_show_prompt(l);
	arena_release(&a);
}

static void try_it(struct line *l)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { "dry-run", id };
	fputs("dry run started (30 s at most)\n", l->out);
	line_typed_send_words(l, words, 2, NULL);
	line_show_prompt(l);
}

static void line_typed_leave(struct line *l)
{
	if (l->note && *l->note) {
		line_typed_decide(l, "defer", json_object());
		return;
	}
	line_later(l);
	fputs("the action stays pending; \"approve\" and \"deny\" work with its number at any time\n",
	      l->out);
	line_prompt(l);
}

/* As in the dialog: twice, and nothing between. */
static bool once_more(struct line *l, unsigned long n)
{
	const char *what = n == 1	 ? "type 1 again to approve"
			   : n == 11	 ? "type 11 again to apply the dry run"
			   : n == EDITED ? "type yes again to approve"
					 : NULL;
	l->armed = what && l->high && l->armed != n ? n : 0;
	if (!l->armed)
		return false;
	fprintf(l->out, "high risk: %s\n", what);
	line_show_prompt(l);
	return true;
}

/* Why choice @n decides nothing here; NULL: it does. */
static const char *choice_off(const struct line *l, unsigned long n)
{
	if (l->budget && (n == 2 || n == 3 || (!l->words && (n == 4 || n == 10 || n == 11))))
		return "only a used-up budget holds this action: \"budget\" extends it, 1 approves once";
	if (n == 4 && !l->words)
		return "edit: only for command lines";
	if (n == 11 && !l->tries)
		return "apply: only for commands, writes, and edits";
	return NULL;
}

static void line_typed_chosen(struct line *l, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	n = *end || end == text || n > NR_CHOICES ? 0 : n;
	const char *off = choice_off(l, n);
	if (off) {
		fprintf(l->out, "%s\n", off);
		line_show_prompt(l);
		return;
	}
	if (once_more(l, n))
		return;
	switch (n) {
	case 1:
		line_typed_pass(l, "approve", json_object());
		break;
	case 2:
		ask_text(l, AWAIT_PATTERN, "pattern (like 'git fetch *'; empty: cancel)> ");
		break;
	case 3:
		ask_text(l, AWAIT_RULE,
			 "pattern of the rule (like 'git fetch *'; empty: cancel)> ");
		break;
	case 4:
		ask_text(l, AWAIT_EDIT, "run this instead (empty: cancel)> ");
		break;
	case 5:
		ask_text(l, AWAIT_MESSAGE, "message to the agent (may be empty)> ");
		break;
	case 6:
		decide_with(l, "deny", "pause", NULL);
		break;
	case 7:
		decide_with(l, "deny", "kill", NULL);
		break;
	case 8:
		line_typed_leave(l);
		break;
	case 9:
		tell_more(l);
		break;
	case 10:
		try_it(l);
		break;
	case 11:
		line_typed_pass(l, "apply", json_object());
		break;
	case 12:
		ask_text(l, AWAIT_NOTE, "note, recorded with your decision> ");
		break;
	default:
		if (*text)
			fprintf(l->out, "expected a number from 1 to %d\n", NR_CHOICES);
		line_show_prompt(l);
		break;
	}
}

/* --- texts that were asked for ---------------------------------------------------------------- */

/* Shown as it will run, with what hides in it, before anybody says yes to it. */
static void line_typed_edit(struct line *l, const char *text)
{
	l->awaiting = *text ? AWAIT_EDITED : AWAIT_CHOICE;
	if (*text) {
		free(l->edited);
		l->edited = mem_strdup(text);
		fputs("runs instead: ", l->out);
		line_print_safe(l->out, text);
		fputc('\n', l->out);
	}
	line_show_prompt(l);
}

static void edit_sure(struct line *l, const char *text)
{
	if (strcmp(text, "yes") != 0) {
		l->awaiting = AWAIT_CHOICE;
		fputs("nothing changed; the action stays pending\n", l->out);
		line_show_prompt(l);
		return;
	}
	if (once_more(l, EDITED))
		return;
	json_t *opts = json_object();
	json_put_str(opts, "cmd", l->edited);
	line_typed_pass(l, "approve", opts);
}

static void put_note(struct line *l, const char *text)
{
	free(l->note);
	l->note = *text ? mem_strdup(text) : NULL;
	l->awaiting = AWAIT_CHOICE;
	line_show_prompt(l);
}

static void line_typed_answered(struct line *l, const char *text)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, l->asked);
	const char *words[] = { "answer", id, text };
	if (*text)
		send_decision(l, words, 3, NULL);
	else
		line_later(l);
}

/* --- the line --------------------------------------------------------------------------------- */

/* A filter has double quotes of its own: with those it goes as it was typed. One that is quoted as
 * for a shell, or has options beside it, is taken apart as there. False: it is none of that
 * kind. */
static bool filter_typed(struct line *l, const char *text)
{
	size_t n = strcspn(text, " ");
	const char *rest = text + n + strspn(text + n, " ");
	bool filters = (n == 4 && strncmp(text, "hold", 4) == 0) ||
		       (n == 6 && strncmp(text, "search", 6) == 0);
	if (!filters || !strchr(rest, '"') || strcmp(rest, "\"\"") == 0 || strchr(rest, '\'') ||
	    *rest == '-' || strstr(rest, " -"))
		return false;
	CLEANUP(free_ptr) char *word = mem_strndup(text, n);
	const char *words[] = { word, rest };
	line_typed_send_words(l, words, 2, json_object());
	return true;
}

/* Taken apart as on the command line: quotes, options. */
static void line_typed_command(struct line *l, const char *text)
{
	while (*text == ':' || *text == ' ')
		text++;
	if (filter_typed(l, text))
		return;
	if (*text == '!') {
		const char *words[] = { "!", text + 1 + strspn(text + 1, " ") };
		line_typed_send_words(l, words, *words[1] ? 2 : 1, NULL);
		return;
	}
	struct cmd_line c;
	struct err err = ERR_INIT;
	if (cmd_parse(&c, text, &err) < 0) {
		line_typed_answer(l, NULL, &err);
	} else if (c.words.nr > 0) {
		const char **words = mem_calloc(c.words.nr, sizeof(*words));
		for (size_t i = 0; i < c.words.nr; i++)
			words[i] = c.words.item[i];
		line_typed_send_words(l, words, c.words.nr, json_incref(c.opts));
		free(words);
	}
	cmd_line_release(&c);
}

/* Another user's decision has just replaced the question under the prompt. */
static bool line_typed_early(const struct line *l)
{
	return l->swapped_us && l->awaiting != AWAIT_COMMAND &&
	       clock_mono_us() - l->swapped_us < EARLY_US;
}

/* Begins with a word of the table. */
static bool is_command(const char *text)
{
	CLEANUP(free_ptr) char *first = mem_strndup(text, strcspn(text, " "));
	return cmd_find(first) || !strcmp(first, "detach") || !strcmp(first, "quit");
}

/* At a question for a text, what begins with a command's name is taken for neither; ":" makes it a
 * command, "=" an answer. A line that begins with a letter is a command even while a number is
 * asked for; a text that was asked for is not. */
void line_typed(struct line *l, const char *text)
{
	l->at_prompt = false;
	bool word = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
	bool yes = l->awaiting == AWAIT_EDITED && strcmp(text, "yes") == 0;
	if ((l->awaiting != AWAIT_CHOICE || word || *text == ':' || *text == '!') && !yes)
		l->armed = 0;
	if (l->asked && !line_waits(l, l->asked)) {
		fputs("already decided\n", l->out);
		l->asked = 0;
		l->awaiting = AWAIT_COMMAND;
	} else if (*text == ':' || *text == '!') {
		line_typed_command(l, text);
		if (l->asked)
			line_show_prompt(l);
	} else if (line_typed_early(l) && !(l->awaiting == AWAIT_CHOICE && word)) {
		fputs("ignored: you typed this before the question appeared\n", l->out);
		line_show_prompt(l);
	} else if (l->awaiting == AWAIT_CHOICE && !word) {
		line_typed_chosen(l, text);
	} else if (l->awaiting == AWAIT_MESSAGE) {
		decide_with(l, "deny", "message", text);
	} else if (l->awaiting == AWAIT_PATTERN || l->awaiting == AWAIT_RULE) {
		line_typed_look_at(l, text, l->awaiting == AWAIT_RULE);
	} else if (l->awaiting == AWAIT_LOOK) {
		fputs("ignored: the matches of the pattern are not known yet; answer again when they are\n",
		      l->out);
	} else if (l->awaiting == AWAIT_SURE) {
		line_typed_sure(l, text);
	} else if (l->awaiting == AWAIT_NAME) {
		line_typed_named(l, text);
	} else if (l->awaiting == AWAIT_NOTE) {
		put_note(l, text);
	} else if (l->awaiting == AWAIT_EDIT) {
		line_typed_edit(l, text);
	} else if (l->awaiting == AWAIT_EDITED) {
		edit_sure(l, text);
	} else if (l->awaiting == AWAIT_ANSWER && *text != '=' && is_command(text)) {
		fputs("ambiguous: start with \": \" for a command, with \"= \" for the answer\n",
		      l->out);
		line_show_prompt(l);
	} else if (l->awaiting == AWAIT_ANSWER) {
		line_typed_answered(l, *text == '=' ? text + 1 + strspn(text + 1, " ") : text);
	} else {
		line_typed_command(l, text);
	}
	fflush(l->out);
}
