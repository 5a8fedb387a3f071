#include "ui/views/merge_card.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "record/read/settled.h"
#include "ui/views/approve.h"
#include "ui/views/review_priv.h"
#include "ui/views/merge_card_priv.h"

void merge_card_files(struct text *t, struct source *s, const struct change *c, size_t nr)
{
	size_t shown = nr > CARD_FILES ? CARD_FILES - 1 : nr;
	for (size_t i = 0; i < shown; i++) {
		const char *flag = change_flag(s, &c[i]);
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "%c %s", c[i].op, c[i].path);
		if (c[i].counted)
			buf_printf(&line, "  %s", change_counts(&c[i], t->arena));
		if (flag)
			buf_printf(&line, "  (%s)", flag);
		text_add(t,
			 c[i].op == 'A'	  ? ROLE_ADD
			 : c[i].op == 'D' ? ROLE_DEL
					  : ROLE_HUNK,
			 NULL, line.data, line.len, SANITIZE_EXACT);
	}
	if (nr > shown)
		text_putf(t, ROLE_DIM, "and %zu more files", nr - shown);
}

void merge_card_drift(struct text *t, const struct review *v)
{
	const char *files = fmt_plural(t->arena, (int64_t)v->nr_drifted, "file", "files");
	if (v->nr_drifted == 0 && !v->drift_more)
		text_puts(t, ROLE_OK, "drift      none recorded since the sandbox opened");
	else if (v->drift_more)
		text_putf(
			t, ROLE_WARN,
			"drift      %s and up to %" PRId64
			" more changed in your repository; %zu of the first here too, of the others unknown",
			files, v->drift_more, v->nr_drifted_here);
	else
		text_putf(t, ROLE_WARN,
			  "drift      %s changed in your repository, %zu of them here too", files,
			  v->nr_drifted_here);
}

static void merge_card_conflict(struct text *t, const json_t *conflict)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	json_get_bytes(json_object_get(conflict, "path"), &line);
	buf_printf(&line, " (%s)", json_str(conflict, "why", "changed on both sides"));
	text_add(t, ROLE_FAILED, "!", line.data, line.len, 0);
}

bool merge_same_dir(const json_t *a, const json_t *b)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT, y = BUF_INIT;
	struct stat s, t;
	if (!json_get_bytes(a, &x) || !json_get_bytes(b, &y))
		return false;
	return strcmp(buf_cstr(&x), buf_cstr(&y)) == 0 ||
	       (stat(buf_cstr(&x), &s) == 0 && stat(buf_cstr(&y), &t) == 0 &&
		s.st_dev == t.st_dev && s.st_ino == t.st_ino);
}

/* Why the plan @o, recorded at @planned, says nothing of merge @act as it is now; NULL: it does. */
static const char *plan_differs(struct source *s, const struct model_box *b, const json_t *o,
				const struct model_action *act)
{
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	const json_t *args = json_object_get(req, "args"), *counts = json_object_get(o, "counts");
	if (strcmp(json_str(o, "mode", "branch"), json_str(args, "mode", "branch")) != 0)
		return "was of another mode";
	if (json_object_get(args, "into") &&
	    !merge_same_dir(
		    json_object_get(json_array_get(json_object_get(o, "targets"), 0), "dir"),
		    json_object_get(req, "host_path")))
		return "was for another directory";
	if (json_object_get(o, "left") || json_object_get(o, "taken") ||
	    json_int(counts, "left", 0) > 0)
		return "was of some of the files";
	if (json_flag(o, "with_ignored", false) != json_flag(args, "ignored", false))
		return "treated ignored files differently";
	if (b->planned < b->changed)
		return "came before the newest change";
	for (size_t i = 0; i < s->model.nr_drifts; i++)
		if (s->model.drift[i].box == b->id && s->model.drift[i].seq > b->planned)
			return "came before a change in your repository";
	return NULL;
}

size_t plan_conflicts(const json_t *o)
{
	const json_t *targets = json_object_get(o, "targets");
	size_t nr = json_array_size(json_object_get(o, "between"));
	for (size_t i = 0; i < json_array_size(targets); i++)
		nr += json_array_size(json_object_get(json_array_get(targets, i), "conflicts"));
	return nr;
}

/* Of @nr lines, the first CARD_FILES are shown. */
void plan_more_line(struct text *t, size_t nr, const char *what)
{
	if (nr > CARD_FILES)
		text_putf(t, ROLE_DIM, "and %zu more %s", nr - CARD_FILES, what);
}

void plan_conflict_lines(struct text *t, const json_t *o)
{
	const json_t *targets = json_object_get(o, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *list = json_object_get(json_array_get(targets, i), "conflicts");
		for (size_t k = 0; k < json_array_size(list) && k < CARD_FILES; k++)
			merge_card_conflict(t, json_array_get(list, k));
		plan_more_line(t, json_array_size(list), "conflicts");
	}
}

/* Branches and stashes that the sandbox made. */
void plan_branch_lines(struct text *t, const json_t *o)
{
	const json_t *targets = json_object_get(o, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *list = json_object_get(json_array_get(targets, i), "branches");
		for (size_t k = 0; k < json_array_size(list) && k < CARD_FILES; k++) {
			const json_t *b = json_array_get(list, k);
			const char *why = json_str(b, "why", NULL);
			text_putf(t, why ? ROLE_WARN : ROLE_TEXT, "branch     %s: %s%s",
				  one_line(json_str(b, "name", ""), t->arena),
				  why ? "not merged: " : "to ",
				  one_line(why ? why : json_str(b, "ref", ""), t->arena));
		}
		plan_more_line(t, json_array_size(list), "branches");
	}
}

static void merge_card_planned(struct text *t, struct source *s, const struct model_box *b,
			       const struct model_action *act, bool keys)
{
	CLEANUP(json_release) json_t *o = source_body(s, b->planned);
	const char *differs = plan_differs(s, b, o, act), *why = json_str(o, "why", NULL);
	size_t nr = plan_conflicts(o);
	if (!o)
		text_putf(t, ROLE_WARN, "conflicts  unknown: dry run #%" PRIu64 " was removed",
			  b->planned);
	else if (why)
		text_putf(t, ROLE_FAILED, "conflicts  unknown: dry run #%" PRIu64 " failed: %s",
			  b->planned, one_line(why, t->arena));
	else if (differs)
		text_putf(t, ROLE_WARN,
			  "conflicts  unknown: dry run #%" PRIu64 ", which found %zu, %s; %s again",
			  b->planned, nr, differs, keys ? "r plans" : "'sandglass merge -n' plans");
	else if (nr == 0)
		text_putf(t, ROLE_OK, "conflicts  none in dry run #%" PRIu64, b->planned);
	else
		text_putf(t, ROLE_FAILED, "conflicts  %zu in dry run #%" PRIu64, nr, b->planned);
	plan_conflict_lines(t, o);
	plan_branch_lines(t, o);
}

/* The merge that @act began, as its own event tells. */
static void merge_card_finished(struct text *t, struct source *s, const struct model_action *act)
{
	uint64_t seq = act->started;
	while ((seq = session_next_of(s->session, EV_MERGE_DONE, act->box, seq)) &&
	       (!act->ended || seq <= act->ended)) {
		CLEANUP(json_release) json_t *o = source_body(s, seq);
		size_t nr = plan_conflicts(o);
		if (nr == 0)
			text_puts(t, ROLE_OK, "conflicts  none");
		else
			text_putf(t, ROLE_FAILED, "conflicts  %zu", nr);
		plan_conflict_lines(t, o);
		return;
	}
	text_puts(t, ROLE_DIM,
		  act->ended ? "conflicts  nothing was merged: its end says why"
			     : "conflicts  unknown: the merge has not ended");
}

/* A merge that was done tells; else the newest dry run of these files. */
static void merge_card_conflicts(struct text *t, struct source *s, const struct model_box *b,
				 const struct model_action *act, bool keys)
{
	if (act->started)
		merge_card_finished(t, s, act);
	else if (!b || !b->planned)
		text_puts(t, ROLE_WARN,
			  keys ? "conflicts  not checked: r plans the merge (merge --dry-run)"
			       : "conflicts  not checked: 'sandglass merge -n' plans the merge");
	else
		merge_card_planned(t, s, b, act, keys);
}

void merge_card_tests(struct text *t, const struct review *v, size_t most)
{
	for (size_t i = 0; i < v->nr_checks && i < most; i++) {
		const struct review_check *c = &v->check[i];
		text_putf(t,
			  !c->ok   ? ROLE_FAILED
			  : c->old ? ROLE_WARN
				   : ROLE_OK,
			  "%-10s %s: %s (#%" PRIu64 "%s)", i ? "" : "last test", c->outcome,
			  one_line(c->cmd, t->arena), c->action,
			  c->old ? ", before the newest change" : "");
	}
	if (v->nr_checks == 0 && v->checks_all)
		text_puts(t, ROLE_WARN, "last test  no command of this sandbox looks like a test");
	else if (v->nr_checks == 0)
		text_putf(t, ROLE_WARN,
			  "last test  unknown: none of the newest %d commands looks like a test",
			  REVIEW_LOOK_BACK);
}

static bool merge_card_by_hunk(struct source *s, const struct model_action *act)
{
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	return json_flag(json_object_get(req, "args"), "review", false);
}

/* @keys: the console's keys work where it is shown; else a command is named instead. */
static void merge_card_lines(struct text *t, struct source *s, const struct model_action *act,
			     bool brief, bool keys)
{
	const struct model_box *b = model_box(&s->model, act->box);
	struct review v = { .box_id = act->box, .arena = t->arena };
	v.nr = changes_list(s, act->box, &v.change, t->arena);
	review_drift(&v, s);
	review_checks(&v, s);
	const char *sum = changes_sum(v.change, v.nr, t->arena);
	text_putf(t, ROLE_TEXT, "changes    %s since the sandbox opened%s", sum ? sum : "no file",
		  b && b->merged && !act->started
			  ? arena_printf(t->arena, "; merged before at #%" PRIu64, b->merged)
			  : "");
	if (!brief)
		merge_card_files(t, s, v.change, v.nr);
	merge_card_drift(t, &v);
	merge_card_conflicts(t, s, b, act, keys);
	if (!act->started && merge_card_by_hunk(s, act))
		text_puts(
			t, ROLE_TEXT,
			keys ? "review     y accepts all hunks; :review chooses"
			     : "review     'approve' merges all hunks; --path and --hunks choose");
	merge_card_tests(t, &v, brief ? 1 : CARD_CHECKS);
	text_putf(t, ROLE_DIM, "undo       sandglass undo -S %s", s->model.id ? s->model.id : "");
}

static void merge_any_lines(struct text *t, struct source *s, const struct model_action *act,
			    bool brief, bool keys)
{
	CLEANUP(json_release) json_t *req = source_body(s, act->id);
	if (json_array_size(json_object_get(req, "boxes")))
		merge_boxes_lines(t, s, act, req, brief, keys);
	else
		merge_card_lines(t, s, act, brief, keys);
}

void merge_card(struct text *t, struct source *s, const struct model_action *act, bool brief)
{
	merge_any_lines(t, s, act, brief, true);
}

static void choice_lines(struct text *t, json_t *args, const char *key)
{
	const json_t *list = json_object_get(args, key);
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(buf_release) struct buf line = BUF_INIT, what = BUF_INIT;
		json_get_bytes(json_array_get(list, i), &what);
		buf_printf(&line, "%s %s", key, buf_cstr(&what));
		text_add(t, ROLE_CMD, "", line.data, line.len, SANITIZE_EXACT);
	}
	json_object_del(args, key);
}

void merge_card_args(struct text *t, const json_t *req)
{
	static const char *const said[] = {
		"box", "boxes", "branch", "into", "mode", "review", NULL
	};
	CLEANUP(json_release) json_t *rest = json_copy(json_object_get(req, "args"));
	const char *message = json_str(rest, "message", NULL);
	for (size_t i = 0; said[i]; i++)
		json_object_del(rest, said[i]);
	if (message) {
		text_add(t, ROLE_CMD, "", message, strlen(message), SANITIZE_EXACT);
		json_object_del(rest, "message");
	}
	if (json_flag(rest, "ignored", false)) {
		text_puts(t, ROLE_CMD, "with files that the repository ignores");
		json_object_del(rest, "ignored");
	}
	choice_lines(t, rest, "take");
	choice_lines(t, rest, "leave");
	if (json_object_size(rest) == 0)
		return;
	CLEANUP(free_ptr) char *text = json_dump_str(rest);
	text_add(t, ROLE_CMD, NULL, text, strlen(text), SANITIZE_EXACT);
}

bool action_card(struct text *t, struct source *s, uint64_t action)
{
	const struct model_action *act = model_action(&s->model, action);
	CLEANUP(json_release) json_t *req = act ? source_body(s, action) : NULL;
	if (req && strcmp(act->kind, "merge") == 0) {
		merge_any_lines(t, s, act, false, false);
		return true;
	}
	return req && approval_difference(t, req);
}
