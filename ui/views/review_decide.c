/* The keys of the review screen: reviews of a part, and the merge of all of them. */
#include "ui/views/review_priv.h"
#include "ui/frame/suspend_screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/paths.h"
#include "base/text/sanitize.h"

/* The review that is on top; NULL: it has gone meanwhile. */
static struct review *review_decide_on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	return strcmp(top->ops->name, "review") == 0 ? top->self : NULL;
}

static struct subject review_decide_about(const struct review *v)
{
	return (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

/* The parts that a row stands for: itself, or all hunks of its file. */
static void add_words(struct review *v, size_t i, json_t *list)
{
	const struct part *p = &v->part[i];
	size_t end = i + 1;
	while (p->hunk == PART_WHOLE && end < v->nr_parts && v->part[end].hunk != PART_WHOLE)
		end++;
	for (size_t k = i; k < end; k++) {
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		if (v->part[k].hunk == PART_WHOLE && !v->part[k].alone)
			continue;
		part_word(&v->part[k], &v->change[v->part[k].file], &word);
		json_array_append_new(list, json_bytes_z(buf_cstr(&word)));
	}
}

static bool review_decide_send_words(struct review *v, struct ui *ui, json_t *hunks,
				     const char *choice, const char *comment)
{
	const char *words[] = { "review", choice ? choice : "comment", v->box, NULL };
	json_t *opts = json_object();
	json_put(opts, "hunks", hunks);
	if (comment)
		json_put_str(opts, "message", comment);
	return ui_send(ui, v->source, words, opts);
}

static void review_decide(struct review *v, struct ui *ui, size_t i, enum part_choice c)
{
	static const char *const name[] = {
		[PART_OPEN] = "undecided", [PART_TAKE] = "accept", [PART_LEAVE] = "reject"
	};
	const struct source *s = ui_source(ui, v->source);
	json_t *list = json_array();
	add_words(v, i, list);
	if (!s || !v->box || !review_decide_send_words(v, ui, list, name[c], NULL))
		return;
	for (size_t k = i; k < v->nr_parts && (k == i || (v->part[i].hunk == PART_WHOLE &&
							  v->part[k].hunk != PART_WHOLE));
	     k++) {
		struct own_word *w = review_own(v, &v->part[k]);
		w->choice = c;
		w->at = s->model.head;
	}
}

static void review_decide_toggle(struct review *v, struct ui *ui)
{
	const char *mark = review_mark(v, v->at);
	review_decide(v, ui, v->at,
		      mark[1] == ' '   ? PART_TAKE
		      : mark[1] == '?' ? PART_LEAVE
		      : mark[1] == 'x' ? PART_OPEN
				       : PART_LEAVE);
}

static void review_decide_said(struct ui *ui, const char *text)
{
	struct review *v = review_decide_on_top(ui);
	if (!v || !text || !*text || !v->nr_parts)
		return;
	json_t *one = json_array();
	CLEANUP(buf_release) struct buf word = BUF_INIT;
	part_word(&v->part[v->at], &v->change[v->part[v->at].file], &word);
	json_array_append_new(one, json_bytes_z(buf_cstr(&word)));
	review_decide_send_words(v, ui, one, NULL, text);
}

/* --- other lines --- */

static void review_decide_edited(struct ui *ui, const char *text)
{
	struct review *v = review_decide_on_top(ui);
	struct source *s = v ? ui_source(ui, v->source) : NULL;
	if (!s || !text || !v->nr_parts || v->part[v->at].hunk == PART_WHOLE)
		return;
	CLEANUP(buf_release) struct buf mine = BUF_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct part p = v->part[v->at];
	struct text_diff d;
	const char *why;
	change_diff(s, &v->change[p.file], 3, &a, &d);
	if (!part_edited(&d, &p, text, &mine, &why)) {
		ui_say(ui, ROLE_WARN, "not taken over: %s", why);
		return;
	}
	json_t *one = json_array();
	CLEANUP(buf_release) struct buf word = BUF_INIT;
	p.text = buf_cstr(&mine);
	p.text_len = mine.len;
	part_word(&p, &v->change[p.file], &word);
	json_array_append_new(one, json_bytes_z(buf_cstr(&word)));
	review_decide_send_words(v, ui, one, "accept", NULL);
}

static void review_decide_edit(struct review *v, struct ui *ui)
{
	struct source *s = ui_source(ui, v->source);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct text_diff d;
	if (!s || v->part[v->at].hunk == PART_WHOLE) {
		ui_say(ui, ROLE_DIM, "choose a hunk: a whole file can't be edited here");
		return;
	}
	if (!ui_may_act(ui, v->source)) {
		ui_say(ui, ROLE_WARN, "this is a recording: nothing can be changed in it");
		return;
	}
	change_diff(s, &v->change[v->part[v->at].file], 3, v->arena, &d);
	part_edit_text(&d, &v->part[v->at], &text);
	free(ui->edit);
	ui->edit = mem_strdup(buf_cstr(&text));
	ui->edited = review_decide_edited;
}

/* --- all of it --- */

/* The accepted parts, as arguments of merge and approve; NULL: none. */
static json_t *taken_opts(struct review *v)
{
	json_t *opts = json_object(), *hunks = json_array();
	for (size_t i = 0; i < v->nr_parts; i++) {
		const struct part *p = &v->part[i];
		const struct change *c = &v->change[p->file];
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		if (p->hunk != PART_WHOLE)
			continue;
		if (p->alone && review_choice(v, p) != PART_LEAVE)
			part_word(p, c, &word);
		for (size_t k = i + 1; k < v->nr_parts && v->part[k].hunk != PART_WHOLE; k++) {
			CLEANUP(buf_release) struct buf one = BUF_INIT;
			if (review_choice(v, &v->part[k]) == PART_LEAVE)
				continue;
			part_word(&v->part[k], c, &one);
			/* ranges of one file are one word */
			buf_puts(&word, word.len ? strchr(buf_cstr(&one) + strlen(c->path), '@')
						 : buf_cstr(&one));
		}
		if (word.len)
			json_array_append_new(hunks, json_bytes_z(buf_cstr(&word)));
	}
	json_put(opts, "hunks", hunks);
	return opts;
}

/* --- another tool, nothing of it -------------------------------------------------------------- */

static void review_decide_discarded(struct ui *ui, const char *text)
{
	struct review *v = review_decide_on_top(ui);
	char id[32];
	if (!v || !text || !*text || !v->box)
		return;
	if (strcmp(text, v->box) != 0) {
		ui_say(ui, ROLE_WARN, "that is not its name: nothing was discarded");
		return;
	}
	json_t *opts = json_object();
	json_put_str(opts, "box", v->box);
	snprintf(id, sizeof(id), "%" PRIu64, v->box_id);
	if (ui_send(ui, v->source, (const char *[]){ "rollback", id, NULL }, opts))
		ui_say(ui, ROLE_WARN, "the files of %s go back to their start; z undoes that",
		       v->box);
}

static void review_decide_discard(struct review *v, struct ui *ui)
{
	const struct subject on = review_decide_about(v);
	if (!ui_may_act(ui, v->source))
		ui_say(ui, ROLE_WARN, "this is a recording: nothing can be changed in it");
	else
		ui_ask(ui,
		       arena_printf(
			       v->arena,
			       "discard all changes of %s, accepted or rejected; type its name: ",
			       v->box),
		       &on, review_decide_discarded);
}

static void patch_named(struct ui *ui, const char *typed)
{
	struct review *v = review_decide_on_top(ui);
	char here[4096];
	if (!v || !typed || !*typed || !v->box)
		return;
	CLEANUP(free_ptr) char *name = path_typed(typed);
	const char *words[] = { "merge", v->box, NULL };
	json_t *opts = taken_opts(v);
	/* the supervisor stands elsewhere */
	bool full = name[0] == '/' || !getcwd(here, sizeof(here));
	json_put_str(opts, "patch", full ? name : arena_printf(v->arena, "%s/%s", here, name));
	ui_send(ui, v->source, words, opts);
}

/* --- would it apply? --- */

static void put_first_conflict(const json_t *targets, struct buf *out)
{
	size_t i, nr = 0;
	json_t *t, *first = NULL;
	json_array_foreach((json_t *)(uintptr_t)targets, i, t)
	{
		const json_t *list = json_object_get(t, "conflicts");
		first = first ? first : json_array_get(list, 0);
		nr += json_array_size(list);
	}
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	json_get_bytes(json_object_get(first, "path"), &path);
	buf_printf(out, "would not apply, nothing was touched: %zu conflict%s, first ", nr,
		   nr == 1 ? "" : "s");
	sanitize_line(buf_cstr(&path), path.len, 0, out);
	buf_printf(out, " (%s)", json_str(first, "why", "changed on both sides"));
}

static void review_decide_planned(void *self, const json_t *result, const struct err *err)
{
	struct ui *ui = self;
	const json_t *targets = json_object_get(result, "targets"), *t = json_array_get(targets, 0);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	bool clean = !err && json_flag(result, "clean", false);
	if (err)
		buf_puts(&text, err->text);
	else if (!clean)
		put_first_conflict(targets, &text);
	else
		buf_printf(&text, "applies cleanly to the working files of %s; nothing was touched",
			   json_array_size(targets) > 1 ? "all repositories"
							: json_str(t, "branch", "its directory"));
	const json_t *skipped = json_object_get(t, "skipped");
	if (clean && json_array_size(skipped))
		buf_printf(&text, "; %zu left out: %s", json_array_size(skipped),
			   json_str(json_array_get(skipped, 0), "why", "?"));
	ui_say(ui, clean ? ROLE_OK : ROLE_WARN, "%s", buf_cstr(&text));
}

/* The supervisor plans the merge into the current working files and records the plan. */
static void review_decide_plan(struct review *v, struct ui *ui)
{
	const char *words[] = { "merge", v->box };
	if (!ui_may_act(ui, v->source)) {
		ui_say(ui, ROLE_DIM, "%s", ui_why_not(ui, v->source));
		return;
	}
	json_t *opts = taken_opts(v);
	json_put_flag(opts, "dry-run", true);
	json_put_flag(opts, "apply", true);
	ui_say(ui, ROLE_DIM, "would it apply? it is being planned");
	ui->act[v->source].command(ui->act[v->source].self, words, ARRAY_LEN(words), opts,
				   review_decide_planned, ui);
	json_decref(opts);
}

static void review_decide_accepted(struct ui *ui, const char *key)
{
	struct review *v = review_decide_on_top(ui);
	if (!v || !key || !strchr("12345", *key) || !v->box)
		return;
	if (*key == '5') {
		review_decide_plan(v, ui);
		return;
	}
	const char *words[] = { "merge", v->box, NULL };
	const struct subject on = review_decide_about(v);
	if (*key == '4') {
		ui_ask(ui, "patch file: ", &on, patch_named);
		return;
	}
	json_t *opts = taken_opts(v);
	if (*key != '3')
		json_put_flag(opts, *key == '1' ? "commits" : "apply", true);
	ui_send(ui, v->source, words, opts);
}

static void let_merge(struct ui *ui, const char *key)
{
	struct review *v = review_decide_on_top(ui);
	if (!v || !key || *key != 'y' || !v->waits)
		return;
	const char *words[] = { "approve", arena_printf(v->arena, "%" PRIu64, v->waits), NULL };
	json_t *opts = taken_opts(v);
	if (*v->intent)
		json_put_str(opts, "intent", v->intent);
	ui_send(ui, v->source, words, opts);
}

static void ask_how(struct ui *ui, const char *key)
{
	struct review *v = review_decide_on_top(ui);
	if (!v || !key || *key != 'y')
		return;
	const struct subject on = review_decide_about(v);
	if (v->waits)
		ui_choose(ui,
			  arena_printf(v->arena,
				       "let the script merge the accepted changes (%s)?  (y/n)",
				       v->wanted),
			  "yn", &on, let_merge);
	else
		ui_choose(
			ui,
			"accept as: 1 commits  2 working files  3 a branch  4 a patch  5 would it apply?",
			"12345", &on, review_decide_accepted);
}

static void review_decide_accept(struct review *v, struct ui *ui)
{
	const struct subject on = review_decide_about(v);
	const struct source *s = ui_source(ui, v->source);
	if (ui->replay || (!ui_may_act(ui, v->source) && (!s || !v->box)))
		ui_say(ui, ROLE_WARN, "%s", ui_why_not(ui, v->source));
	else if (!ui_may_act(ui, v->source) && v->waits &&
		 !s->model.ended) /* the script makes it */
		ui_say(ui, ROLE_WARN,
		       "read only: 'sandglass approve %s#%" PRIu64 "' lets the script merge it",
		       s->model.id, v->waits);
	else if (!ui_may_act(ui, v->source))
		ui_say(ui, ROLE_WARN, "read only: 'sandglass merge %s/%s' merges it", s->model.id,
		       v->box);
	else if (v->take == 0)
		ui_say(ui, ROLE_WARN,
		       v->waits ? "nothing is accepted: n denies the merge"
				: "nothing is accepted");
	else if (v->unseen)
		ui_choose(ui, "you have not seen all accepted changes to the end: continue?  (y/n)",
			  "yn", &on, ask_how);
	else
		ask_how(ui, "y");
}

static void review_decide_refused(struct ui *ui, const char *text)
{
	struct review *v = review_decide_on_top(ui);
	if (!v || !text || !v->waits)
		return;
	const char *words[] = { "deny", arena_printf(v->arena, "%" PRIu64, v->waits), NULL };
	json_t *opts = json_object();
	if (*text)
		json_put_str(opts, "message", text);
	ui_send(ui, v->source, words, opts);
}

static bool of_part(struct review *v, struct ui *ui, uint32_t key)
{
	const struct subject on = review_decide_about(v);
	if (key == ' ')
		review_decide_toggle(v, ui);
	else if (key == 't' || key == 'x')
		review_decide(v, ui, v->at, key == 't' ? PART_TAKE : PART_LEAVE);
	else if (key == 'M' || key == 'c')
		ui_ask(ui, "comment, for the agent and the recording: ", &on, review_decide_said);
	else if (key == 'e')
		review_decide_edit(v, ui);
	else if (key == 'D' && v->box)
		review_decide_discard(v, ui);
	else if (key == K_ENTER)
		review_open_whose(v, ui);
	else
		return false;
	return true;
}

bool review_key(void *self, struct ui *ui, uint32_t key)
{
	struct review *v = self;
	const struct subject on = review_decide_about(v);
	const char *undo[] = { "undo", NULL };
	if (v->nr_parts && of_part(v, ui, key))
		return true;
	if (key == 'J' || key == 'K')
		v->top += key == 'J' ? 1 : -1;
	else if (key == '=')
		v->side = !v->side;
	else if (key == 'W')
		v->no_blanks = !v->no_blanks;
	else if (key == 'z' && !ui_may_act(ui, v->source) && ui_source(ui, v->source) &&
		 !ui->replay)
		ui_say(ui, ROLE_WARN, "read only: 'sandglass undo -S %s' undoes the last merge",
		       ui_source(ui, v->source)->model.id);
	else if (key == 'z')
		ui_send(ui, v->source, undo, NULL);
	else if (key == 'r')
		review_check_again(v, ui);
	else if (key == 'n' && v->waits)
		ui_ask(ui, "deny the merge; why, for the agent: ", &on, review_decide_refused);
	else if (key == 'a')
		review_decide_accept(v, ui);
	else
		return false;
	return true;
}
