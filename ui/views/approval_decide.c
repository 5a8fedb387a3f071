#include "ui/views/approval_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "ui/frame/prompt.h"
#include "ui/views/merge_card.h"

void approval_send(struct approval *v, struct ui *ui, const char *word, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { word, id, NULL };
	if (*v->info.intent)
		json_put_str(opts, "intent", v->info.intent);
	if (*v->note)
		json_put_str(opts, "note", v->note);
	v->sent = ui_send(ui, v->source, words, opts);
}

struct approval *approval_on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	return strcmp(top->ops->name, "approval") == 0 && v->action == ui->prompt.on.action ? v
											    : NULL;
}

/* --- typing a name to confirm ----------------------------------------------------------------- */

static void approval_decide_typed(struct ui *ui, const char *text)
{
	struct approval *v = approval_on_top(ui);
	if (!v || !v->pending)
		return;
	json_t *opts = take(&v->pending);
	if (!text || !v->info.type || strcmp(text, v->info.type) != 0) {
		json_decref(opts);
		ui_say(ui, ROLE_WARN, "that is not the name; #%" PRIu64 " is still pending",
		       v->action);
		return;
	}
	json_put_str(opts, "confirm", text);
	widen_close(&v->widen);
	approval_send(v, ui, v->pending_word, opts);
}

void approval_pass(struct approval *v, struct ui *ui, const char *word, json_t *opts)
{
	const struct subject on = { .source = v->source, .action = v->action };
	if (!v->info.type) {
		widen_close(&v->widen);
		approval_send(v, ui, word, opts);
		return;
	}
	CLEANUP(free_ptr)
	char *label = mem_printf("a rule requires the name: type %s, then Enter:", v->info.type);
	json_release(&v->pending);
	v->pending = opts;
	v->pending_word = word;
	ui_ask(ui, label, &on, approval_decide_typed);
	ui->prompt.by_hand = true;
}

/* --- a note ----------------------------------------------------------------------------------- */

static void approval_decide_noted(struct ui *ui, const char *text)
{
	struct approval *v = approval_on_top(ui);
	if (!v || !text)
		return;
	snprintf(v->note, sizeof(v->note), "%s", text);
	size_t len = strlen(v->note);
	while (len > 0 && !utf8_valid(v->note, len)) /* cut in the middle of a character */
		v->note[--len] = 0;
	ui_say(ui, ROLE_DIM,
	       *text ? "note kept with your decision on #%" PRIu64 : "no note for #%" PRIu64,
	       v->action);
}

/* "Later" leaves it held; with a note that is worth an event. */
static void approval_decide_leave(struct approval *v, struct ui *ui)
{
	if (*v->note && ui_may_act(ui, v->source) && v->info.act && !v->info.decided)
		approval_send(v, ui, "defer", json_object());
	if (ui->depth > 1)
		ui_back(ui);
}

static void approval_decide_denied(struct ui *ui, const char *text)
{
	struct approval *v = approval_on_top(ui);
	json_t *opts;
	if (!v || !text)
		return;
	opts = json_object();
	if (*text)
		json_put_str(opts, "message", text);
	approval_send(v, ui, "deny", opts);
}

static void approval_decide_kill_chosen(struct ui *ui, const char *key)
{
	struct approval *v = approval_on_top(ui);
	json_t *opts;
	if (!v || !key || *key != 'y')
		return;
	opts = json_object();
	json_put_flag(opts, "kill", true);
	approval_send(v, ui, "deny", opts);
}

static void approval_decide_edited(struct ui *ui, const char *text)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	if (strcmp(top->ops->name, "approval") != 0 || !v->info.command)
		return;
	CLEANUP(free_ptr) char *was = take(&v->edited);
	approval_arm(v, ui);
	/* emptied: given up, as with the message of a commit */
	const char *now = text && *text ? text : was;
	if (!now || strcmp(now, v->info.command) == 0) {
		ui_say(ui, ROLE_DIM, "nothing was changed; it is still pending");
		return;
	}
	v->edited = mem_strdup(now);
	ui_say(ui, ROLE_HELD, "not approved yet: look at it, then y; e edits it again");
}

static void approval_decide_yes(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->armed) {
		v->armed = true;
		ui_say(ui, ROLE_HELD, "the risk is high: y again approves #%" PRIu64, v->action);
		return;
	}
	v->armed = false;
	json_t *opts = json_object();
	if (v->edited)
		json_put_str(opts, "cmd", v->edited);
	approval_pass(v, ui, "approve", opts);
}

/* Does the merge @req go to the directory that its sandbox was opened on? */
static bool goes_back(struct source *s, const struct model_action *act, const json_t *req)
{
	CLEANUP(json_release) json_t *open = source_body(s, act->box);
	const json_t *repos = json_object_get(open, "repos");
	return !json_object_get(json_object_get(req, "args"), "into") ||
	       merge_same_dir(json_object_get(json_array_get(repos, 0), "dir"),
			      json_object_get(req, "host_path"));
}

/* "merge #12 #15": of the sandboxes @boxes, or of @b alone. */
static void plan_words(struct strv *out, const struct model_box *b, const json_t *boxes)
{
	size_t nr = json_array_size(boxes);
	strv_push(out, "merge");
	for (size_t i = 0; i < nr || i == 0; i++) {
		int64_t of = nr ? json_int(json_array_get(boxes, i), "box", 0) : (int64_t)b->id;
		CLEANUP(free_ptr) char *id = mem_printf("#%" PRId64, of);
		strv_push(out, id);
	}
}

void approval_plan(struct ui *ui, size_t source, const struct model_action *act)
{
	struct source *s = ui->src[source];
	const struct model_box *b = model_box(&s->model, act->box);
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	const json_t *args = json_object_get(req, "args");
	static const char *const choices[] = { "leave", "take" };
	const char *mode = json_str(args, "mode", "branch"),
		   *branch = json_str(args, "branch", NULL);
	if (!b || strcmp(mode, "patch") == 0 || !goes_back(s, act, req)) {
		ui_say(ui, ROLE_DIM, "no dry run: this merge has another target");
		return;
	}
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	json_t *opts = json_object();
	plan_words(&words, b, json_object_get(req, "boxes"));
	json_put_flag(opts, "dry-run", true);
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (json_array_size(json_object_get(args, choices[i])))
			json_put(opts, choices[i], json_incref(json_object_get(args, choices[i])));
	if (json_flag(args, "ignored", false))
		json_put_flag(opts, "ignored", true);
	if (strcmp(mode, "branch") != 0)
		json_put_flag(opts, mode, true);
	else if (branch)
		json_put_str(opts, "to", branch);
	ui_send(ui, source, (const char *const *)words.item, opts);
}

void approval_try(struct approval *v, struct ui *ui)
{
	if (v->info.act && strcmp(v->info.act->kind, "merge") == 0 && !v->info.decided) {
		approval_plan(ui, v->source, v->info.act);
		return;
	}
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { "dry-run", id, NULL };
	if (v->info.trying)
		ui_say(ui, ROLE_DIM, "the dry run is already running");
	else if (v->info.act && !v->info.decided)
		ui_send(ui, v->source, words, NULL);
}

static void approval_decide_promote(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->sure) {
		v->sure = true;
		ui_say(ui, ROLE_HELD, "the risk is high: m again applies the dry run of #%" PRIu64,
		       v->action);
		return;
	}
	v->sure = false;
	approval_pass(v, ui, "apply", json_object());
}

bool approval_decide(struct approval *v, struct ui *ui, enum verb verb)
{
	const struct subject on = { .source = v->source, .action = v->action };
	if (verb != VERB_YES)
		v->armed = false;
	if (verb != VERB_PROMOTE)
		v->sure = false;
	switch ((int)verb) {
	case VERB_PROMOTE:
		approval_decide_promote(v, ui);
		return true;
	case VERB_YES:
		approval_decide_yes(v, ui);
		return true;
	case VERB_YES_SESSION:
	case VERB_YES_RULE:
		widen_open(v, ui, verb == VERB_YES_RULE);
		return true;
	case VERB_NOTE:
		prompt_ask(ui, "note for the recording:", v->note, NULL, &on,
			   approval_decide_noted);
		return true;
	case VERB_LATER:
		approval_decide_leave(v, ui);
		return true;
	case VERB_EDIT:
		free(ui->edit);
		ui->edit = mem_strdup(v->edited ? v->edited : v->info.command);
		ui->edited = approval_decide_edited;
		return true;
	case VERB_NO:
		ui_ask(ui, "deny, and tell the agent (may be empty):", &on, approval_decide_denied);
		return true;
	case VERB_NO_PAUSE: {
		json_t *opts = json_object();
		json_put_flag(opts, "pause", true);
		approval_send(v, ui, "deny", opts);
		return true;
	}
	case VERB_NO_KILL:
		ui_choose(ui, "deny and end this agent?  (y/n)", "yn", &on,
			  approval_decide_kill_chosen);
		return true;
	default:
		return false;
	}
}

/* Enter opens the lines that ask for a text. Lines that run or end something have their own
 * keys. */
void approval_enter(struct approval *v, struct ui *ui)
{
	enum verb chosen = v->chosen ? approval_verb(v->chosen - 1) : VERB_NONE;
	if (chosen == VERB_NO || chosen == VERB_NOTE)
		ui_do(ui, chosen);
	else if (chosen == VERB_NONE)
		ui_say(ui, ROLE_DIM,
		       "Enter decides nothing: j and k choose a line, its own key does it");
	else
		ui_say(ui, ROLE_DIM, "Enter decides nothing: %s does it",
		       approval_key(v->chosen - 1));
}
