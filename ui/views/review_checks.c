/* Commands that checked the result: commands of the sandbox that look like checks, and their
 * repeats on the present files (repeat --now), each with whether a file has changed since. Taken
 * from the recording; no verdict is made here. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/review_priv.h"
#include "ui/rows/row.h"

static bool review_checks_one_of(const char *word, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && memcmp(*list, word, len) == 0)
			return true;
	return false;
}

/* A word of the command names a check, and the command does more than read files of such a name. */
static bool looks_like_check(const char *cmd)
{
	static const char *const checks[] = { "test",	  "tests",  "check",  "lint",	"tidy",
					      "vet",	  "build",  "make",   "pytest", "ctest",
					      "unittest", "jest",   "vitest", "mocha",	"rspec",
					      "tox",	  "clippy", "mypy",   "ruff",	"eslint",
					      "tsc",	  "prove",  NULL };
	static const char *const looks[] = { "cat",  "ls",   "rg",    "grep",  "find", "head",
					     "tail", "sed",  "less",  "git",   "cd",   "cp",
					     "mv",   "rm",   "mkdir", "touch", "echo", "printf",
					     "wc",   "stat", NULL };
	const char *p = cmd + strspn(cmd, " \t");
	if (review_checks_one_of(p, strcspn(p, " \t\n"), looks))
		return false;
	while (*p) {
		size_t n = 0;
		while (isalnum((unsigned char)p[n]))
			n++;
		if (n > 0 && review_checks_one_of(p, n, checks))
			return true;
		p += n ? n : 1;
	}
	return false;
}

static const struct review_check *review_checks_known(const struct review *v, const char *cmd)
{
	for (size_t i = 0; i < v->nr_checks; i++)
		if (strcmp(v->check[i].cmd, cmd) == 0)
			return &v->check[i];
	return NULL;
}

static void review_checks_say(struct review *v, struct review_check *c,
			      const struct model_action *act)
{
	c->action = act->id;
	c->runs = act->state != ACT_OVER;
	c->ok = act->state == ACT_OVER && act->code == 0;
	c->outcome = act->state == ACT_WAITS ? "pending"
		     : c->runs		     ? "runs"
		     : act->code >= 0	     ? arena_printf(v->arena, "exit %d", act->code)
					     : "no end";
}

/* Its newest run in a box of its own, on files that are still those of the box. */
static void ran_again(struct review *v, struct source *s, struct review_check *c, uint64_t changed)
{
	const struct model *m = &s->model;
	for (size_t i = m->nr_repeats; i > 0; i--) {
		const struct model_repeat *r = &m->repeat[i - 1];
		const struct model_action *act =
			r->of == c->of && r->here && r->again ? model_action(m, r->again) : NULL;
		if (!act || r->seq < c->action)
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, r->seq);
		if (!json_flag(o, "now", false))
			continue;
		review_checks_say(v, c, act);
		c->own = true;
		c->old = changed > r->seq;
		return;
	}
}

void review_checks(struct review *v, struct source *s)
{
	const struct model *m = &s->model;
	const struct model_box *b = model_box(m, v->box_id);
	size_t looked = 0;
	v->nr_checks = 0;
	v->checks_all = true;
	for (size_t i = m->nr_actions; b && i > 0 && v->nr_checks < REVIEW_CHECKS; i--) {
		const struct model_action *act = &m->action[i - 1];
		if (act->box != v->box_id || strcmp(act->kind, "exec") != 0 || !act->started)
			continue;
		v->checks_all = looked++ < REVIEW_LOOK_BACK;
		if (!v->checks_all)
			break;
		CLEANUP(json_release) json_t *o = source_body(s, act->id);
		const char *cmd = o ? action_what(o, v->arena) : "";
		if (!looks_like_check(cmd) || review_checks_known(v, cmd))
			continue;
		struct review_check *c = &v->check[v->nr_checks++];
		*c = (struct review_check){ .of = act->id, .cmd = cmd };
		review_checks_say(v, c, act);
		c->old = b->changed > act->ended && b->changed != act->snapshot;
		ran_again(v, s, c, b->changed);
	}
}

/* --- again ------------------------------------------------------------------------------------ */

static void review_checks_again(struct ui *ui, const struct review *v, const struct review_check *c)
{
	char id[32];
	json_t *opts = json_object();
	json_put_flag(opts, "now", true);
	snprintf(id, sizeof(id), "%" PRIu64, c->of);
	if (ui_send(ui, v->source, (const char *[]){ "redo_here", id, NULL }, opts))
		ui_say(ui, ROLE_DIM,
		       "#%s runs again on the current files, in a new sandbox; :repeat shows it",
		       id);
}

static void review_checks_chosen(struct ui *ui, const char *key)
{
	struct view *top = ui_top(ui);
	struct review *v = strcmp(top->ops->name, "review") == 0 ? top->self : NULL;
	size_t i = key ? (size_t)(*key - '1') : SIZE_MAX;
	if (v && i < v->nr_checks)
		review_checks_again(ui, v, &v->check[i]);
}

void review_check_again(struct review *v, struct ui *ui)
{
	static const char *const keys[] = { "", "1", "12", "123", "1234" };
	const struct subject on = { .source = v->source, .agent = v->agent, .action = v->action };
	CLEANUP(buf_release) struct buf label = BUF_INIT;
	if (v->nr_checks == 0) {
		ui_say(ui, ROLE_DIM,
		       "no command of this sandbox looks like a check (test, lint, build, ..)");
		return;
	}
	if (!ui_may_act(ui, v->source)) {
		ui_say(ui, ROLE_DIM, "%s", ui_why_not(ui, v->source));
		return;
	}
	if (v->nr_checks == 1) {
		review_checks_again(ui, v, &v->check[0]);
		return;
	}
	buf_puts(&label, "which check, in a sandbox of its own?");
	for (size_t i = 0; i < v->nr_checks; i++)
		buf_printf(&label, "  %zu %.24s", i + 1, one_line(v->check[i].cmd, v->arena));
	ui_choose(ui, buf_cstr(&label), keys[v->nr_checks], &on, review_checks_chosen);
}
