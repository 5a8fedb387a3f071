#include "ui/views/approval_inner.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "ui/term/fmt.h"

/* Patterns from narrow to wide, made of the words of the part that was not allowed. */
static void gather_patterns(struct approval *v, struct source *s)
{
	CLEANUP(json_release) json_t *judged = source_body(s, v->info.act->judged);
	const json_t *parts = json_object_get(judged, "parts"), *words = NULL;
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	size_t i;
	json_t *part;
	v->nr_choices = 0;
	json_array_foreach((json_t *)(uintptr_t)parts, i, part)
		if (json_flag(part, "not_allowed", false) && !words)
			words = json_object_get(part, "words");
	if (words)
		json_get_argv(words, &w);
	if (v->info.command)
		v->choice[v->nr_choices++] = v->info.command;
	for (size_t keep = w.nr; keep-- > 1 && v->nr_choices < MAX_PATTERNS - 1;) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct strv head = { w.item, w.len, keep, keep };
		fmt_argv(&head, &b);
		v->choice[v->nr_choices++] = arena_printf(v->arena, "%s *", buf_cstr(&b));
	}
}

/* What each pattern would have let through so far. */
static void try_patterns(struct approval *v, struct source *s)
{
	const struct model *m = &s->model;
	v->tried = 0;
	memset(v->would, 0, sizeof(v->would));
	for (size_t i = m->nr_actions; i > 0 && v->tried < TRY_ACTIONS; i--) {
		const struct model_action *act = &m->action[i - 1];
		if (strcmp(act->kind, "exec") != 0 && strcmp(act->kind, "shell") != 0)
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, act->id);
		const char *what = action_what(o, v->arena);
		v->tried++;
		for (size_t k = 0; k < v->nr_choices; k++)
			v->would[k] += k == 0 ? strcmp(v->choice[0], what) == 0 : fnmatch(v->choice[k], what, 0) == 0;
	}
}

void widen_load(struct approval *v, struct source *s)
{
	gather_patterns(v, s);
	try_patterns(v, s);
}

void widen_paint(const struct approval *v, struct area a)
{
	struct arena *ar = v->arena;
	put_rule(a, 0, "approve for session: which commands?", ROLE_HELD, "Enter saves and approves, Esc back");
	for (size_t i = 0; i < v->nr_choices; i++) {
		int row = 2 + (int)i;
		bool wide = i + 1 == v->nr_choices && i > 0;
		put(a, row, 3, ROLE_KEY, i == v->pattern ? "(*)" : "( )");
		put_bytes(a, row, 7, a.cols / 2 - 8, ROLE_CMD, v->choice[i], strlen(v->choice[i]), SANITIZE_EXACT);
		put(a, row, a.cols / 2, wide ? ROLE_WARN : ROLE_DIM, i == 0 ? "exactly this" : wide ? "WIDE" : "");
		put(a, row, a.cols / 2 + 14, ROLE_DIM,
		    arena_printf(ar, "would have matched %zu of %zu", v->would[i], v->tried));
		if (i == v->pattern)
			put_cursor_row(a, row);
	}
	int row = 3 + (int)v->nr_choices;
	put(a, row, 3, ROLE_DIM,
	    "for the rest of this session; deny rules stay; a compound command needs every part to match");
}

void widen_key(struct approval *v, struct ui *ui, uint32_t key)
{
	if (key == K_ESC || key == 'q') {
		v->widening = false;
	} else if ((key == 'j' || key == K_DOWN) && v->pattern + 1 < v->nr_choices) {
		v->pattern++;
	} else if ((key == 'k' || key == K_UP) && v->pattern > 0) {
		v->pattern--;
	} else if (key == K_ENTER && v->pattern < v->nr_choices && ui_may_act(ui, v->source)) {
		json_t *opts = json_object();
		json_put_bytes(opts, "session", v->choice[v->pattern], strlen(v->choice[v->pattern]));
		v->widening = false;
		approval_send(v, ui, "approve", opts);
	}
}
