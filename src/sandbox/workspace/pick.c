#include "sandbox/workspace/pick.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "sandbox/workspace/diff.h"

enum { HUNK_MAX = 1000000 };

static bool workspace_pick_number(const char **p, unsigned *out)
{
	unsigned long v = 0;
	const char *s = *p;
	for (; *s >= '0' && *s <= '9' && v < UINT32_MAX / 16; s++)
		v = v * 10 + (unsigned long)(*s - '0');
	bool any = s != *p;
	*p = s;
	*out = (unsigned)v;
	return any && !(*s >= '0' && *s <= '9');
}

static int workspace_pick_by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return (x > y) - (x < y);
}

static bool parse_numbers(struct pick_file *f, const char *s)
{
	size_t kept = 0;
	for (;; s++) {
		unsigned from, to;
		if (!workspace_pick_number(&s, &from))
			return false;
		to = from;
		if (*s == '-' && (s++, !workspace_pick_number(&s, &to)))
			return false;
		if (from == 0 || to < from || to > HUNK_MAX)
			return false;
		for (unsigned i = from; i <= to; i++) {
			GROW(f->hunk, f->nr, f->cap);
			f->hunk[f->nr++] = i;
		}
		if (*s != ',')
			break;
	}
	if (f->nr)
		qsort(f->hunk, f->nr, sizeof(*f->hunk), workspace_pick_by_number);
	for (size_t i = 0; i < f->nr; i++)
		if (!kept || f->hunk[kept - 1] != f->hunk[i])
			f->hunk[kept++] = f->hunk[i];
	f->nr = kept;
	return !*s;
}

/* "=BASE64" at *@s: a text of a user's own. */
static bool parse_text(const char **s, struct merge_range *r)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *from = ++*s;
	*s += strcspn(*s, "@");
	if (!base64_parse(from, (size_t)(*s - from), &b))
		return false;
	r->text = mem_strndup(buf_cstr(&b), b.len);
	r->text_len = b.len;
	return true;
}

/* @s stands at the first '@'. */
static bool parse_ranges(struct pick_file *f, const char *s)
{
	while (*s == '@') {
		struct merge_range r = { 0 };
		s++;
		if (!workspace_pick_number(&s, &r.old_skip) || *s++ != ',' ||
		    !workspace_pick_number(&s, &r.old_lines) || *s++ != '+' ||
		    !workspace_pick_number(&s, &r.new_skip) || *s++ != ',' ||
		    !workspace_pick_number(&s, &r.new_lines))
			return false;
		const struct merge_range *last = f->nr_ranges ? &f->range[f->nr_ranges - 1] : NULL;
		if (last && (r.old_skip < last->old_skip + last->old_lines ||
			     r.new_skip < last->new_skip + last->new_lines))
			return false;
		if (*s == '=' && !parse_text(&s, &r))
			return false;
		GROW(f->range, f->nr_ranges, f->cap_ranges);
		f->range[f->nr_ranges++] = r;
	}
	return !*s;
}

static bool parse_word(struct pick_file *f, const char *list)
{
	const char *at = strchr(list, '@');
	if (!at && strlen(list) == 40 && object_parse(list, &f->seen)) {
		f->whole = true;
		return true;
	}
	if (!at)
		return parse_numbers(f, list);
	CLEANUP(free_ptr) char *hex = mem_strndup(list, (size_t)(at - list));
	return object_parse(hex, &f->seen) && parse_ranges(f, at);
}

static void file_release(struct pick_file *f)
{
	for (size_t i = 0; i < f->nr_ranges; i++)
		free((char *)(uintptr_t)f->range[i].text);
	free(f->range);
	free(f->hunk);
	free(f->path);
}

int pick_hunks(struct pick *p, const char *word, struct err *err)
{
	const char *colon = strrchr(word, ':');
	struct pick_file f = { 0 };
	if (!colon || colon == word || !parse_word(&f, colon + 1)) {
		file_release(&f);
		return err_set(err, ERR_USAGE,
			       "--hunks: expected FILE:1,3,5-7 (numbers as in 'diff'), got '%s'",
			       word);
	}
	f.path = mem_strndup(word, (size_t)(colon - word));
	GROW(p->file, p->nr, p->cap);
	p->file[p->nr++] = f;
	return 0;
}

static void workspace_pick_strings(const json_t *v, struct strv *out)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	if (json_is_array(v))
		json_get_argv(v, out);
	else if (json_get_bytes(v, &one))
		strv_push(out, buf_cstr(&one));
}

int pick_opts(struct pick *p, const json_t *opts, struct err *err)
{
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	workspace_pick_strings(json_object_get(opts, "path"), &p->paths);
	workspace_pick_strings(json_object_get(opts, "hunks"), &words);
	for (size_t i = 0; i < words.nr; i++)
		if (pick_hunks(p, words.item[i], err) < 0)
			return -1;
	return 0;
}

void pick_release(struct pick *p)
{
	for (size_t i = 0; i < p->nr; i++)
		file_release(&p->file[i]);
	free(p->file);
	strv_release(&p->paths);
	*p = PICK_INIT;
}

/* --- choices --- */

static bool workspace_pick_names(const char *want, const char *repo, const char *path)
{
	size_t n = strlen(repo);
	return !strcmp(want, path) ||
	       (n && !strncmp(want, repo, n) && want[n] == '/' && !strcmp(want + n + 1, path));
}

bool pick_path_matches(const char *pattern, const char *repo, const char *path)
{
	CLEANUP(free_ptr) char *full = *repo ? mem_printf("%s/%s", repo, path) : NULL;
	return fnmatch(pattern, path, 0) == 0 || (full && fnmatch(pattern, full, 0) == 0);
}

static bool can_go_back(const struct ws_path *p)
{
	return (p->now.kind == WS_FILE || p->base.kind == WS_FILE) &&
	       !ws_path_is_git(p->path, p->len) && !(p->now.flags & WS_HASH_ONLY) &&
	       !ws_state_eq(&p->base, &p->now);
}

static json_t *workspace_pick_numbers(const unsigned *n, size_t nr)
{
	json_t *a = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(a, json_integer(n[i]));
	return a;
}

static void workspace_pick_note(struct merge_choices *out, const struct ws_path *path,
				const struct pick_file *f, const struct merge_choice *c, size_t of)
{
	json_t *o = json_object();
	json_put_bytes(o, "path", path->path, path->len);
	if (f->nr) {
		json_put(o, "take", workspace_pick_numbers(f->hunk, f->nr));
		json_put(o, "left", workspace_pick_numbers(c->left, c->nr_left));
	}
	for (size_t i = 0; i < f->nr_ranges; i++) {
		const struct merge_range *r = &f->range[i];
		json_t *ranges = json_object_get(o, "ranges");
		if (!ranges)
			json_put(o, "ranges", ranges = json_array());
		json_array_append_new(
			ranges, workspace_pick_numbers((unsigned[]){ r->old_skip, r->old_lines,
								     r->new_skip, r->new_lines },
						       4));
		if (r->text)
			json_put_int(o, "edited", json_int(o, "edited", 0) + 1);
	}
	json_put_int(o, "of", (int64_t)of);
	if (!out->taken)
		out->taken = json_array();
	json_array_append_new(out->taken, o);
}

static int some_hunks(const struct pick_file *f, const struct ws_path *path,
		      const struct ws_store *st, struct merge_choices *out, struct err *err)
{
	const struct ws_change c = {
		.op = 'M', .path = path->path, .len = path->len, .was = path->base, .now = path->now
	};
	struct ws_patch p = WS_PATCH_INIT;
	struct merge_choice choice = { .path = path->path, .len = path->len };
	int rc = ws_patch_make(&p, st, &c, 3, err);
	if (rc == 0 && (p.what != PATCH_TEXT || c.was.kind == WS_LINK || c.now.kind == WS_LINK))
		rc = err_set(err, ERR_INVALID, "'%s' has no hunks; name the whole file with --path",
			     path->path);
	if (rc == 0 && f->nr && f->hunk[f->nr - 1] > p.nr)
		rc = err_set(err, ERR_NOENT, "'%s' has %zu hunk%s; hunk %u not found", path->path,
			     p.nr, p.nr == 1 ? "" : "s", f->hunk[f->nr - 1]);
	if (rc == 0 && f->nr_ranges && memcmp(f->seen.b, path->now.oid.b, sizeof(f->seen.b)) != 0)
		rc = err_set(err, ERR_INVALID,
			     "'%s' has changed since it was shown; review it again", path->path);
	if (rc == 0 && f->nr_ranges) {
		choice.range = mem_calloc(f->nr_ranges, sizeof(*choice.range));
		memcpy(choice.range, f->range, f->nr_ranges * sizeof(*f->range));
		choice.nr_ranges = f->nr_ranges;
	} else if (rc == 0) {
		unsigned *left = mem_calloc(p.nr + 1, sizeof(*left));
		for (unsigned i = 1, k = 0; i <= p.nr; i++) {
			if (k < f->nr && f->hunk[k] == i)
				k++;
			else
				left[choice.nr_left++] = i;
		}
		choice.left = left;
	}
	if (rc == 0) {
		workspace_pick_note(out, path, f, &choice, p.nr);
		out->partly += choice.nr_left > 0 || (f->nr_ranges && f->nr_ranges < p.nr);
		GROW(out->item, out->nr, out->cap);
		out->item[out->nr++] = choice;
	}
	ws_patch_release(&p);
	return rc;
}

int pick_choices(struct pick *p, const char *repo, const struct ws_view *v,
		 const struct ws_store *st, struct merge_choices *out, struct err *err)
{
	for (size_t i = 0; i < v->nr; i++) {
		const struct ws_path *path = &v->item[i];
		struct pick_file *f = NULL;
		bool wanted = pick_all(p);
		for (size_t k = 0; k < p->nr; k++)
			if (workspace_pick_names(p->file[k].path, repo, path->path))
				f = &p->file[k];
		for (size_t k = 0; !f && k < p->paths.nr; k++)
			wanted |= pick_path_matches(p->paths.item[k], repo, path->path);
		if (f && f->whole) {
			const struct ws_state *is =
				path->now.kind == WS_NONE ? &path->base : &path->now;
			f->used = true;
			if (memcmp(f->seen.b, is->oid.b, sizeof(f->seen.b)) != 0)
				return err_set(
					err, ERR_INVALID,
					"'%s' has changed since it was shown; review it again",
					path->path);
			strv_push(&out->whole, path->path);
		} else if (f) {
			f->used = true;
			if (some_hunks(f, path, st, out, err) < 0)
				return -1;
		} else if (!wanted) {
			GROW(out->item, out->nr, out->cap);
			out->item[out->nr++] = (struct merge_choice){ .path = path->path,
								      .len = path->len,
								      .leave = true };
			out->left += can_go_back(path);
			if (can_go_back(path))
				strv_push(&out->none, path->path);
		} else if (can_go_back(path)) {
			strv_push(&out->whole, path->path);
		}
	}
	return 0;
}

void merge_choices_release(struct merge_choices *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		free((unsigned *)(uintptr_t)c->item[i].left);
		free(c->item[i].range);
	}
	free(c->item);
	json_decref(c->taken);
	strv_release(&c->whole);
	strv_release(&c->none);
	*c = (struct merge_choices){ 0 };
}

int pick_check(const struct pick *p, struct err *err)
{
	for (size_t i = 0; i < p->nr; i++)
		if (!p->file[i].used)
			return err_set(err, ERR_NOENT, "--hunks: '%s' has not changed",
				       p->file[i].path);
	return 0;
}
