#include "sandbox/common/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/past_names.h"

int layers_check(const struct box_opts *o, struct err *err)
{
	if (!o->state_dir || *o->state_dir != '/')
		return err_set(err, ERR_INVALID,
			       "the state directory of a sandbox: expected an absolute path");
	for (size_t i = 0; i < o->nr_repos; i++) {
		const char *name = o->repo[i].name ? o->repo[i].name : "";
		if ((*name == 0 && o->nr_repos > 1) || strchr(name, '/') || *name == '.' ||
		    *name == ':')
			return err_set(err, ERR_INVALID,
				       "invalid name of a repository in a sandbox: '%s'", name);
		for (size_t j = 0; j < i; j++)
			if (strcmp(name, o->repo[j].name) == 0)
				return err_set(err, ERR_INVALID,
					       "two repositories have the name '%s'", name);
	}
	return 0;
}

static void sandbox_layers_add(struct layers *l, const char *name, const char *host_dir)
{
	l->item[l->nr++] = (struct layer){ .name = mem_strdup(name),
					   .host_dir = host_dir ? mem_strdup(host_dir) : NULL };
}

static void sandbox_layers_copy_of(struct layers *l, const json_t *from)
{
	for (size_t i = 0; i < l->nr; i++) {
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		if (!json_get_bytes(json_object_get(from, l->item[i].name), &dir))
			continue;
		free(l->item[i].host_dir);
		l->item[i].host_dir = mem_strdup(buf_cstr(&dir));
		l->item[i].as_is = true;
	}
}

void layers_take(struct layers *l, const struct box_opts *o)
{
	*l = (struct layers){ .item = mem_calloc(o->nr_repos + 3, sizeof(*l->item)) };
	l->nr_repos = o->nr_repos ? o->nr_repos : 1;
	l->named = o->nr_repos && o->repo[0].name && *o->repo[0].name;
	if (l->named || o->nr_repos == 0)
		sandbox_layers_add(l, "", NULL);
	for (size_t i = 0; i < o->nr_repos; i++)
		sandbox_layers_add(l, l->named ? o->repo[i].name : "", o->repo[i].host_dir);
	sandbox_layers_add(l, ":home", NULL);
	l->refuse_history = o->mask_history;
	for (size_t i = 0; i < o->nr_expose; i++)
		strv_push(&l->expose, o->expose[i]);
	sandbox_layers_copy_of(l, json_object_get(o->driver, "copy_of"));
}

static void forget_scan(struct layer *w)
{
	masks_release(&w->masks);
	git_view_release(&w->git);
	free_ptr(&w->real);
	git_own_release(&w->own);
	w->shown = (struct git_shown){ 0 };
}

void layers_release(struct layers *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		free(l->item[i].name);
		free(l->item[i].host_dir);
		forget_scan(&l->item[i]);
	}
	free(l->item);
	strv_release(&l->expose);
	*l = (struct layers){ 0 };
}

static char *place_inside(const struct layer *w)
{
	return *w->name ? mem_printf("/workspace/%s", w->name) : mem_strdup("/workspace");
}

/* Your settings for the repository that a layer is, or is a part of. */
static void read_own(struct layer *w)
{
	struct git_place p;
	struct err ignored = ERR_INIT;
	if (git_place_above(w->real, &p, &ignored) <= 0)
		return; /* nothing to show them in */
	CLEANUP(free_ptr)
	char *branch = git_place_branch(&p), *config = path_join(p.common, "config");
	const struct git_config_of of = { .git_dir = p.dir, .branch = branch };
	git_own_read(&w->own, &of, config);
	git_place_release(&p);
}

/* mask = { history = true }: names that earlier commits have, or may have. */
static int refuse_past(const struct layers *l, const struct layer *w, struct err *err)
{
	json_t *facts;
	bool all;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (past_names(w->real, w->name, &l->expose, NULL, &facts, &all, err) < 0)
		return err_wrap(err, "mask.history: can't look through the history");
	bool found = json_get_bytes(json_object_get(json_array_get(facts, 0), "path"), &path);
	json_decref(facts);
	if (found)
		return err_set(
			err, ERR_INVALID,
			"mask.history: '%s' is in earlier commits, so its content can be read from git's "
			"objects; expose the file, or remove it from the history",
			buf_cstr(&path));
	return all ? 0
		   : err_set(err, ERR_INVALID,
			     "mask.history: '%s' has more commits than sandglass searches (%d)",
			     w->real, PAST_COMMITS);
}

static int scan_layer(struct layers *l, size_t i, struct err *err)
{
	struct layer *w = &l->item[i];
	CLEANUP(free_ptr) char *inside = place_inside(w);
	const struct git_view_how how = {
		.workspace = inside, .layer = i, .copy = l->copy, .expose = &l->expose
	};
	forget_scan(w);
	w->real = realpath(w->host_dir, NULL);
	if (!w->real)
		return err_sys(err, "can't open the repository '%s'", w->host_dir);
	read_own(w);
	git_view_shown(w->real, &how, &w->own, &w->shown);
	if (masks_scan_as(w->real, &l->expose, &w->shown, &w->masks, err) < 0)
		return -1;
	for (size_t m = 0; l->refuse_history && m < w->masks.nr; m++)
		if (w->masks.item[m].tracked)
			return err_set(
				err, ERR_INVALID,
				"mask.history: git tracks the hidden file '%s', so its content can be read from "
				"git's objects; expose the file, or remove it from the history",
				w->masks.item[m].path);
	if (l->refuse_history && refuse_past(l, w, err) < 0)
		return -1;
	return git_view_look(w->real, &how, &w->shown, &w->masks, &w->git, err);
}

int layers_scan(struct layers *l, struct err *err)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->item[i].host_dir && !l->item[i].as_is && scan_layer(l, i, err) < 0)
			return -1;
	return 0;
}

int layers_git(const struct layers *l, size_t i, const char *root, const struct git_owner *owner,
	       struct err *err)
{
	const struct layer *w = &l->item[i];
	CLEANUP(free_ptr) char *inside = place_inside(w);
	const struct git_view_how how = {
		.workspace = inside, .layer = i, .copy = l->copy, .expose = &l->expose
	};
	return w->real ? git_view_write(&w->git, w->real, root, &how, &w->shown, &w->masks, owner,
					err)
		       : 0;
}

int layers_index(const struct layers *l, size_t i)
{
	if (i < l->nr_repos)
		return (int)(l->named ? i + 1 : i);
	if (i == l->nr_repos)
		return (int)l->nr - 1;
	return i == l->nr_repos + 1 && l->named ? 0 : -1;
}

const char *layers_name(const struct layers *l, size_t i, size_t *layer_out, struct err *err)
{
	int at = layers_index(l, i);
	if (at < 0) {
		err_set(err, ERR_INVALID, "the sandbox has no repository %zu", i);
		return NULL;
	}
	*layer_out = (size_t)at;
	return l->item[at].name;
}

/* --- describing --- */

static void put_masked(const struct layer *w, json_t *list)
{
	for (size_t m = 0; m < w->masks.nr; m++) {
		const struct mask *mask = &w->masks.item[m];
		if (mask->quiet)
			continue;
		json_t *one = json_object();
		json_put_str(one, "repo", w->name);
		json_put_bytes(one, "path", mask->path, mask->len);
		json_put_str(one, "why", mask->why);
		json_put_flag(one, "shown_cleaned", mask->clean);
		if (mask->deep)
			json_put_flag(one, "deep", true);
		json_array_append_new(list, one);
	}
}

/* Hidden in the work tree, and readable from git's objects. */
static void put_history(const struct layer *w, json_t *list)
{
	for (size_t m = 0; m < w->masks.nr; m++) {
		const struct mask *mask = &w->masks.item[m];
		if (!mask->tracked || mask->quiet)
			continue;
		json_t *one = json_object();
		json_put_str(one, "repo", w->name);
		json_put_bytes(one, "path", mask->path, mask->len);
		json_array_append_new(list, one);
	}
}

static void put_unreadable(const struct layer *w, json_t *list)
{
	for (size_t i = 0; i < w->masks.unreadable.nr; i++) {
		json_t *one = json_object();
		json_put_str(one, "repo", w->name);
		json_put_bytes(one, "path", w->masks.unreadable.item[i],
			       w->masks.unreadable.len[i]);
		json_put_str(one, "why", "its mode keeps the sandbox's user out");
		json_array_append_new(list, one);
	}
}

static void put_strings(const struct strv *v, json_t *list)
{
	for (size_t i = 0; i < v->nr; i++)
		json_array_append_new(list, json_bytes(v->item[i], v->len[i]));
}

void layers_describe(const struct layers *l, json_t *to)
{
	json_t *masked = json_array(), *foreign = json_array(), *exposed = json_array(),
	       *repos = json_array();
	json_t *notes = json_array(), *mounts = json_array();
	int64_t nr_foreign = 0, files = 0, looked = 0, unread = 0;
	for (size_t i = 0; i < l->nr; i++) {
		const struct layer *w = &l->item[i];
		nr_foreign += w->masks.foreign;
		files += w->masks.files;
		looked += w->masks.looked;
		unread += w->masks.unread;
		put_masked(w, masked);
		put_strings(&w->masks.foreign_path, foreign);
		put_strings(&w->masks.exposed, exposed);
		if (!w->host_dir)
			continue;
		json_t *one = json_object();
		json_put_str(one, "name", w->name);
		json_put_bytes(one, "dir", w->host_dir, strlen(w->host_dir));
		json_array_append_new(repos, one);
	}
	for (size_t i = 0; i < l->nr; i++)
		put_strings(&l->item[i].git.notes, notes);
	for (size_t i = 0; i < l->nr; i++)
		put_strings(&l->item[i].git.no_mount, mounts);
	if (json_array_size(notes))
		json_put(to, "git_limits", json_incref(notes));
	if (json_array_size(mounts))
		json_put(to, "mounts", json_incref(mounts));
	json_decref(notes);
	json_decref(mounts);
	json_put(to, "repos", repos);
	json_t *unreadable = json_array(), *history = json_array();
	for (size_t i = 0; i < l->nr; i++)
		put_history(&l->item[i], history);
	if (json_array_size(history))
		json_put(to, "history", json_incref(history));
	json_decref(history);
	for (size_t i = 0; i < l->nr; i++)
		put_unreadable(&l->item[i], unreadable);
	if (json_array_size(unreadable))
		json_put(to, "unreadable", json_incref(unreadable));
	json_decref(unreadable);
	json_put(to, "masked", masked);
	json_put(to, "exposed", exposed);
	json_put_int(to, "files", files);
	json_put_int(to, "looked_into", looked);
	json_put_int(to, "not_looked_into", unread);
	json_put_int(to, "foreign", nr_foreign);
	json_put(to, "foreign_paths", foreign);
}
