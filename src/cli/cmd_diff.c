/* sandglass diff: the changes in the files of a session's sandboxes, from recorded snapshots
 * alone. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/states.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "record/read/settled.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/state.h"
#include "sandbox/meant.h"
#include "cli/cmd_diff_priv.h"

/* --- snapshots --------------------------------------------------------------------------------
 */

static void drop_layer(struct layer *l)
{
	free(l->repo);
	free(l->box_name);
	json_decref(l->from);
	json_decref(l->to);
}

static void cmd_diff_layers_release(struct layers *l)
{
	for (size_t i = 0; i < l->nr; i++)
		drop_layer(&l->item[i]);
	free(l->item);
}

static struct layer *cmd_diff_layer_of(struct layers *l, uint64_t first, const char *repo)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->item[i].first == first && !strcmp(l->item[i].repo, repo))
			return &l->item[i];
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr] = (struct layer){ .first = first,
					 .repo = mem_strdup(repo),
					 .box_name = mem_strdup("") };
	return &l->item[l->nr++];
}

static uint64_t cmd_diff_first_of(struct layers *l, struct session *s, uint64_t box)
{
	if (l->box != box)
		l->first = states_first_box(s, box);
	l->box = box;
	return l->first;
}

static void set_body(json_t **where, json_t *body)
{
	json_decref(*where);
	*where = json_incref(body);
}

static void cmd_diff_take_from(struct layer *l, const struct side *a, const struct event *ev,
			       json_t *body)
{
	if (a->seq && ev->seq <= a->limit)
		set_body(&l->from, body);
}

/* The state after B. */
static void take_to(struct layer *l, const struct side *b, const struct event *ev, json_t *body)
{
	if (l->box != ev->box)
		l->upto = b->seq ? session_settled(b->s, ev->box, b->seq) : UINT64_MAX;
	if (ev->seq <= l->upto)
		set_body(&l->to, body);
}

/* A repeat's sandbox is compared only if it is named, by --box or by one of its events. */
static void cmd_diff_drop_trials(struct layers *l, struct session *s, const struct side *a,
				 const struct side *b)
{
	CLEANUP(free_ptr) bool *trial = mem_calloc(l->nr + 1, sizeof(*trial));
	size_t nr = l->nr, trials = 0;
	for (size_t i = 0; i < nr; i++)
		trials += trial[i] = states_trial(s, l->item[i].first);
	if (trials == nr)
		return;
	l->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct layer one = l->item[i];
		if (trial[i] && !(a && a->box == one.first) && !(b && b->box == one.first))
			drop_layer(&one);
		else
			l->item[l->nr++] = one;
	}
}

static int each_snapshot(struct session *s, struct layers *l, const struct side *a,
			 const struct side *b, bool named, struct err *err)
{
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc;
	if (feed_new(&feed, s, FEED_ALL, 0, err) < 0)
		return -1;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		if (ev.kind == EV_SNAPSHOT_TAKEN && ev.body) {
			CLEANUP(json_release)
			json_t *body = json_parse(ev.body, ev.len, "snapshot", err);
			if (!body) {
				rc = -1;
				break;
			}
			struct layer *one = cmd_diff_layer_of(l, cmd_diff_first_of(l, s, ev.box),
							      json_str(body, "repo", ""));
			if (a)
				cmd_diff_take_from(one, a, &ev, body);
			if (b)
				take_to(one, b, &ev, body);
			one->box = ev.box;
		}
		arena_reset(&arena);
	}
	for (size_t i = 0; rc == 0 && i < l->nr; i++) {
		struct err none = ERR_INIT;
		json_t *body = NULL;
		if (l->item[i].box && session_event(s, l->item[i].box, &ev, &arena, &none) == 0 &&
		    ev.body)
			body = json_parse(ev.body, ev.len, "box", &none);
		free(l->item[i].box_name);
		l->item[i].box_name = mem_strdup(json_str(body, "name", ""));
		json_decref(body);
	}
	arena_release(&arena);
	feed_free(&feed);
	if (!named)
		cmd_diff_drop_trials(l, s, a, b);
	return rc < 0 ? -1 : 0;
}

/* --- what was asked ---------------------------------------------------------------------------
 */

/* Before an action: when it started, for it may have waited until another one in its box was
 * done. */
static int set_limit(struct side *x, struct err *err)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct event ev;
	struct feed *feed;
	x->limit = x->seq;
	if (!x->seq)
		return 0;
	if (session_event(x->s, x->seq, &ev, &arena, err) < 0)
		return -1;
	x->box = ev.box;
	if (ev.kind != EV_ACTION_REQUESTED)
		return 0;
	if (feed_new(&feed, x->s, FEED_ACTION, x->seq, err) < 0)
		return -1;
	int rc;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0 && ev.kind != EV_OUTPUT &&
	       ev.kind != EV_ACTION_ENDED)
		if (ev.kind == EV_ACTION_STARTED)
			x->limit = ev.seq;
	feed_free(&feed);
	return rc < 0 ? -1 : 0;
}

/* Git's own files are in the snapshots so that a rollback is complete. They are printed only if
 * named, and git would not apply them. */
static bool wanted_path(const struct cmd_ctx *ctx, const char *path)
{
	const char *pattern;
	bool git = ws_path_is_git(path, strlen(path));
	for (size_t i = 0; (pattern = command_opt_nth(ctx->line, "path", i)); i++) {
		size_t n = strlen(pattern);
		if (git && !ws_path_is_git(pattern, n))
			continue;
		while (n && pattern[n - 1] == '/')
			n--;
		if (fnmatch(pattern, path, 0) == 0 ||
		    (!strncmp(path, pattern, n) && (path[n] == '/' || !path[n])))
			return true;
	}
	return !cmd_has(ctx, "path") && !git;
}

static bool wanted_box(const struct cmd_ctx *ctx, const struct layer *l)
{
	const char *box = cmd_opt(ctx, "box");
	if (!box)
		return true;
	return meant_box(box, l->box, l->box_name);
}

void keep_wanted(const struct cmd_ctx *ctx, struct ws_diff *d)
{
	size_t nr = 0;
	for (size_t i = 0; i < d->nr; i++)
		if (wanted_path(ctx, d->item[i].path) ||
		    (d->item[i].from && wanted_path(ctx, d->item[i].from)))
			d->item[nr++] = d->item[i];
	d->nr = nr;
}

/* --- all of it --------------------------------------------------------------------------------
 */

struct two { /* bytes of both sessions: a session that lacks an object may find it in the other */
	struct session *a, *b;
};

static int cmd_diff_get(void *self, const struct object_id *id, enum object_type *type_out,
			struct buf *out, struct err *err)
{
	struct two *t = self;
	if (session_object(t->b, id, type_out, out, err) == 0)
		return 0;
	return t->a != t->b ? session_object(t->a, id, type_out, out, err) : -1;
}

static int no_such_box(const struct layers *l, const char *name, struct err *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = 0; i < l->nr; i++)
		if (!i || strcmp(l->item[i].box_name, l->item[i - 1].box_name) != 0)
			buf_printf(&all, "%s%s", i ? ", " : "", l->item[i].box_name);
	return err_set(err, ERR_NOENT, "sandbox '%s' not found; sandboxes: %s", name,
		       l->nr ? buf_cstr(&all) : "none with files");
}

static int cmd_diff_print_all(struct cmd_ctx *ctx, struct layers *l, const struct ws_store *st,
			      struct err *err)
{
	size_t nr = 0;
	for (size_t i = 0; i < l->nr; i++)
		nr += wanted_box(ctx, &l->item[i]);
	if (!nr && cmd_opt(ctx, "box"))
		return no_such_box(l, cmd_opt(ctx, "box"), err);
	FILE *pager = ctx->json ? NULL : open_pager(ctx);
	struct printer p = {
		.ctx = ctx,
		.to = pager ? pager : ctx->out,
		.eyes = isatty(fileno(ctx->out)) && !ctx->json,
		.titles = nr > 1,
	};
	p.color = p.eyes && git_colors(ctx);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->nr; i++)
		if (wanted_box(ctx, &l->item[i]))
			rc = print_layer(&p, &l->item[i], st, err);
	if (pager)
		pclose(pager);
	return rc;
}

static int cmd_diff_sides(struct cmd_ctx *ctx, struct side *a, struct side *b, struct err *err)
{
	struct layers l = { 0 };
	struct two both = { a->s, b->s };
	struct ws_store st = { .get = cmd_diff_get, .self = &both };
	bool named = cmd_opt(ctx, "box");
	int rc = set_limit(a, err);
	if (rc == 0)
		rc = set_limit(b, err);
	if (rc == 0 && a->s == b->s)
		rc = each_snapshot(a->s, &l, a, b, named, err);
	if (rc == 0 && a->s != b->s) {
		/* two sessions: boxes are matched by the repository's name, ends are compared */
		a->limit = a->seq ? a->limit : UINT64_MAX;
		a->seq = a->limit;
		rc = each_snapshot(a->s, &l, a, NULL, named, err);
		for (size_t i = 0; i < l.nr; i++)
			l.item[i].box = l.item[i].first = 0;
		struct layers other = { 0 };
		if (rc == 0)
			rc = each_snapshot(b->s, &other, NULL, b, named, err);
		for (size_t i = 0; i < other.nr; i++)
			set_body(&cmd_diff_layer_of(&l, 0, other.item[i].repo)->to,
				 other.item[i].to);
		cmd_diff_layers_release(&other);
	}
	if (rc == 0)
		rc = cmd_diff_print_all(ctx, &l, &st, err);
	cmd_diff_layers_release(&l);
	return rc;
}

int cmd_diff(struct cmd_ctx *ctx)
{
	struct side a = { 0 }, b = { 0 };
	struct err err = ERR_INIT;
	struct session *other = NULL;
	int rc = session_open_ref(ctx, cmd_word(ctx, 0), &a.s, &a.seq, &err);
	if (rc < 0 && err.code == ERR_NOENT && cmd_word(ctx, 0) && !strpbrk(cmd_word(ctx, 0), "#/"))
		snprintf(err.hint, sizeof(err.hint),
			 "'sandglass ls' lists the sessions; a sandbox is named with --box.");
	b.s = a.s;
	if (rc == 0 && cmd_word(ctx, 1)) {
		CLEANUP(free_ptr) char *path = NULL;
		const char *word = cmd_word(ctx, 1);
		/* a bare number is of the session that A names */
		CLEANUP(free_ptr)
		char *full = strspn(word, "#0123456789") == strlen(word)
				     ? mem_printf("%s#%s", session_path(a.s),
						  word[0] == '#' ? word + 1 : word)
				     : mem_strdup(word);
		rc = session_ref(ctx->sessions, full, &path, &b.seq, &err);
		if (rc == 0 && strcmp(path, session_path(a.s)) != 0) {
			rc = session_open(&other, path, &err);
			b.s = other;
		}
	}
	if (rc == 0)
		rc = cmd_diff_sides(ctx, &a, &b, &err);
	session_close(&a.s);
	session_close(&other);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
