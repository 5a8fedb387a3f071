/* The layers of a workspace while a sandbox opens: staged trees, copies, what the keeper
 * attaches. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/view/copy.h"
#include "sandbox/common/layers.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/process/process_reduced.h"
#include "sandbox/common/profile.h"
#include "wire/keeper.h"
#include "wire/launch.h"

/* --- attaching: the launcher's trees become the keeper's request --- */

static json_t *tree_of(struct process_box *p, size_t layer, size_t n, const char *path, int64_t *fd)
{
	const json_t *answer = json_array_get(json_object_get(p->want[layer].trees, "trees"), n);
	json_t *tree = json_object();
	json_put_bytes(tree, "path", path, strlen(path));
	if (json_flag(answer, "fd", false))
		json_put_int(tree, "fd", (*fd)++);
	return tree;
}

static json_t *more_tree(const json_t *answer, const char *path, int64_t *fd)
{
	json_t *tree = json_object();
	json_put_bytes(tree, "path", path, strlen(path));
	if (json_flag(answer, "fd", false))
		json_put_int(tree, "fd", (*fd)++);
	return tree;
}

/* The .git that was put together, and objects of the host. */
static void process_open_put_more(struct process_box *p, size_t i, json_t *ly, int64_t *fd)
{
	const struct layer *l = &p->layers.item[i];
	const struct layer_want *w = &p->want[i];
	const json_t *trees = json_object_get(w->more, "trees");
	json_t *stores = json_array();
	size_t n = 0;
	if (w->git)
		json_put(ly, "git", more_tree(json_array_get(trees, n++), w->git, fd));
	for (size_t k = 0; w->more && k < l->git.stores.nr; k++) {
		CLEANUP(free_ptr) char *name = mem_printf("%zu.%zu", i, k);
		json_t *store = json_object();
		json_put_str(store, "name", name);
		json_put(store, "tree",
			 more_tree(json_array_get(trees, n++), l->git.stores.item[k], fd));
		json_array_append_new(stores, store);
	}
	json_put(ly, "stores", stores);
}

static json_t *layer_request(struct process_box *p, size_t i, int64_t *fd, int64_t *more_fd)
{
	const struct layer *l = &p->layers.item[i];
	const struct layer_want *w = &p->want[i];
	json_t *ly = json_object(), *masks = json_array(), *lowers = json_array();
	size_t n = 0;
	json_put_str(ly, "name", l->name);
	if (p->staged && i == 0)
		n++; /* the keeper has it */
	else
		json_put(ly, "state", tree_of(p, i, n++, w->state, fd));
	if (l->host_dir)
		json_put(ly, "repo", tree_of(p, i, n++, w->copy ? w->copy : l->host_dir, fd));
	for (size_t k = 0; k < w->lowers.nr; k++)
		json_array_append_new(lowers, tree_of(p, i, n++, w->lowers.item[k], fd));
	for (size_t m = 0; m < l->masks.nr; m++) {
		const struct mask *one = &l->masks.item[m];
		json_t *mask = json_object();
		json_put_bytes(mask, "path", one->path, one->len);
		if (one->clean)
			json_put_bytes(mask, "text", buf_cstr(&one->text), one->text.len);
		json_array_append_new(masks, mask);
	}
	json_put(ly, "lowers", lowers);
	json_put(ly, "masks", masks);
	process_open_put_more(p, i, ly, more_fd);
	return ly;
}

/* Layers @first to @end, which use the first @nr descriptors. */
static void attach_layers(struct process_box *p, size_t first, size_t end, size_t nr)
{
	CLEANUP(json_release) json_t *request = json_object();
	json_t *layers = json_array();
	int64_t fd = 0, more_fd = (int64_t)(nr - (p->attaching ? p->nr_more_fds : 0));
	for (size_t i = first; i < end; i++)
		json_array_append_new(layers, layer_request(p, i, &fd, &more_fd));
	json_put(request, "layers", layers);
	json_put_int(request, "first", (int64_t)first);
	if (p->afresh)
		json_put_flag(request, "afresh", true);
	p->afresh = false;
	json_put_int(request, "of", (int64_t)p->layers.nr);
	size_t sent = 0;
	for (; nr - sent > FD_PASS_MAX; sent += FD_PASS_MAX)
		rpc_push(p->cell->keeper, KEEPER_FDS, p->fds + sent, FD_PASS_MAX);
	rpc_call(p->cell->keeper, KEEPER_ATTACH, request, p->fds + sent, nr - sent,
		 process_open_on_attached, p);
	p->nr_fds -= nr;
	memmove(p->fds, p->fds + nr, p->nr_fds * sizeof(*p->fds));
}

/* --- a repository that the box could only look at: its file system shows no other owner --- */

static const json_t *repo_tree(const struct process_box *p, size_t i)
{
	return json_array_get(json_object_get(p->want[i].trees, "trees"), 1);
}

/* Or the kernel makes no overlay over it for an ordinary user, who may not leave out what root has
 * mounted below. */
static bool only_to_look_at(const struct process_box *p, size_t i)
{
	const struct launcher_info *info = launcher_info(launcher_current());
	const struct git_view *git = &p->layers.item[i].git;
	const json_t *repo = repo_tree(p, i);
	if (!info->root && (git->mounts.nr || git->no_mount.nr))
		return true;
	return p->layers.item[i].host_dir && info->root && !json_flag(repo, "idmap", false) &&
	       json_int(repo, "uid", -1) != info->uid;
}

/* The number of a repository's descriptor: descriptors have the order of the layers. */
static size_t repo_fd(const struct process_box *p, size_t layer)
{
	size_t at = 0;
	for (size_t i = 0; i <= layer; i++) {
		const json_t *trees = json_object_get(p->want[i].trees, "trees");
		for (size_t n = p->staged && i == 0; n < (i == layer ? 1 : json_array_size(trees));
		     n++)
			at += json_flag(json_array_get(trees, n), "fd", false);
	}
	return at;
}

static void make_copies(void *self)
{
	struct process_box *p = self;
	const struct launcher_info *info = launcher_info(launcher_current());
	const struct copy_owner owner = { .uid = (uid_t)info->uid, .gid = (gid_t)info->gid };
	for (size_t i = 0; i < p->layers.nr; i++) {
		const struct layer *l = &p->layers.item[i];
		if (!only_to_look_at(p, i))
			continue;
		CLEANUP(free_ptr)
		char *made = mem_printf("%s/copy-%zu", p->state_dir, i),
		     *half = mem_printf("%s.new", made);
		if (access(made, F_OK) < 0) { /* one that is there belongs to the layer above it */
			struct stat st;
			if (dir_remove(half, &p->failed) < 0 ||
			    copy_tree(l->host_dir, half, &l->masks, &owner, &p->failed) < 0)
				return;
			if (stat(l->host_dir, &st) < 0 || chmod(half, st.st_mode & 0777) < 0 ||
			    rename(half, made) < 0) {
				err_sys(&p->failed, "can't create '%s'", made);
				return;
			}
		}
		p->want[i].copy = take(&made);
	}
}

static void on_copy_tree(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct process_box *p = self;
	struct err odd = ERR_INIT;
	if (p->dead || p->reduced)
		return;
	if (!body || nr != (launcher_info(launcher_current())->root ? 1 : 0)) {
		err_set(&odd, ERR_PARSE, "the launcher sent no directory");
		open_failed(p, err ? err : &odd);
		return;
	}
	for (size_t i = 0, n = 0; i < p->layers.nr; i++)
		if (nr && p->want[i].copy && n++ == p->copies_here) {
			int *at = &p->fds[repo_fd(p, i)];
			fd_close(at);
			*at = fds[0];
			fds[0] = -1;
		}
	p->copies_here++;
	maybe_attach(p);
}

static void copies_made(void *self)
{
	struct process_box *p = self;
	struct err why = p->failed;
	const struct launcher_info *info = launcher_info(launcher_current());
	p->copying = false;
	if (p->dead || why.code != ERR_NONE) {
		p->dead = false;
		open_failed(p, &why);
		return;
	}
	for (size_t i = 0; i < p->layers.nr; i++) {
		CLEANUP(json_release) json_t *body = json_object();
		json_t *trees = json_array();
		if (!p->want[i].copy) {
			json_decref(trees);
			continue;
		}
		json_array_append_new(trees, tree_want(p->want[i].copy, "plain"));
		json_put_int(body, "uid", info->uid);
		json_put_int(body, "gid", info->gid);
		json_put(body, "trees", trees);
		p->copies_asked++;
		launcher_call(launcher_current(), LAUNCH_TREES, body, NULL, 0, on_copy_tree, p);
	}
	maybe_attach(p);
}

/* True: a worker is copying, or the copies are on their way. */
static bool must_copy(struct process_box *p)
{
	bool any = false;
	for (size_t i = 0; i < p->layers.nr && !p->copied; i++)
		any |= only_to_look_at(p, i);
	if (any) {
		p->copying = true;
		loop_job_run(p->loop, make_copies, copies_made, p);
	}
	p->copied = true;
	return p->copying || p->copies_here < p->copies_asked;
}

/* Attaches the home directory at once, and the workspace when its masks are known. */
void maybe_attach(struct process_box *p)
{
	if (p->dead || p->attaching || p->trees_here == 0 || !p->cell || !p->cell->sent ||
	    !p->cell->keeper)
		return;
	if (!p->home_sent)
		attach_layers(p, p->layers.nr - 1, p->layers.nr, p->nr_home_fds);
	p->home_sent = true;
	if (!p->scanned || p->trees_here < p->layers.nr || p->more_here < p->more_asked ||
	    must_copy(p))
		return;
	p->attaching = true;
	attach_layers(p, 0, p->layers.nr - 1, p->nr_fds);
}

static void process_open_on_trees(void *self, json_t *body, int *fds, size_t nr,
				  const struct err *err)
{
	struct process_box *p = self;
	if (p->dead || p->reduced)
		return;
	if (!body || p->nr_fds + nr > ARRAY_LEN(p->fds)) {
		struct err odd = ERR_INIT;
		err_set(&odd, ERR_FULL, "too many directories for one sandbox");
		open_failed(p, err ? err : &odd);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		p->fds[p->nr_fds++] = fds[i];
		fds[i] = -1;
	}
	if (p->trees_here == 0) /* asked for first */
		p->nr_home_fds = nr;
	struct layer_want *w = &p->want[p->trees_here ? p->trees_here - 1 : p->layers.nr - 1];
	if (w->trees) /* staged: its state stands there */
		json_array_extend(json_object_get(w->trees, "trees"),
				  json_object_get(body, "trees"));
	else
		w->trees = json_incref(body);
	p->trees_here++;
	maybe_attach(p);
}

static void on_more(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct process_box *p = self;
	struct err odd = ERR_INIT;
	if (p->dead || p->reduced)
		return;
	if (!body || p->nr_fds + nr > ARRAY_LEN(p->fds)) {
		err_set(&odd, ERR_FULL, "too many directories for one sandbox");
		open_failed(p, err ? err : &odd);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		p->fds[p->nr_fds++] = fds[i];
		fds[i] = -1;
	}
	p->nr_more_fds += nr;
	/* answers come in the order of the questions */
	for (size_t i = 0, n = 0; i < p->layers.nr; i++)
		if (p->want[i].more && n++ == p->more_here)
			json_array_extend(json_object_get(p->want[i].more, "trees"),
					  json_object_get(body, "trees"));
	p->more_here++;
	maybe_attach(p);
}

/* The directories that only the scan has found. */
void ask_for_more(struct process_box *p)
{
	struct launcher *la = launcher_current();
	for (size_t i = 0; i < p->layers.nr; i++) {
		struct layer_want *w = &p->want[i];
		const struct strv *stores = &p->layers.item[i].git.stores;
		if (!w->git && !stores->nr)
			continue;
		CLEANUP(json_release) json_t *body = json_object();
		json_t *trees = json_array();
		if (w->git)
			json_array_append_new(trees, tree_want(w->git, "plain"));
		for (size_t k = 0; k < stores->nr; k++)
			json_array_append_new(trees, tree_want(stores->item[k], "repo"));
		w->more = json_pack("{s:[]}", "trees");
		p->more_asked++;
		json_put_int(body, "uid", launcher_info(la)->uid);
		json_put_int(body, "gid", launcher_info(la)->gid);
		json_put(body, "trees", trees);
		launcher_call(la, LAUNCH_TREES, body, NULL, 0, on_more, p);
	}
}

/* Trees of a layer, as if the launcher had answered: its state's. */
static json_t *staged_trees(const struct stage *s, size_t i)
{
	json_t *body = json_object(), *trees = json_array();
	json_array_append(trees, json_array_get(s->trees, i));
	json_put(body, "trees", trees);
	return body;
}

/* Takes the cell's present answers, so that they need not be requested. */
void take_stage(struct process_box *p, struct stage *s)
{
	p->want[p->layers.nr - 1].trees = staged_trees(s, 0);
	p->want[0].trees = staged_trees(s, 1);
	p->trees_here = p->answers = 1;
	p->staged = p->home_sent = true;
}

void ask_for_layers(struct process_box *p)
{
	struct launcher *la = launcher_current();
	for (size_t i = p->staged; i < p->layers.nr; i++) {
		size_t at = i ? i - 1 : p->layers.nr - 1;
		const struct layer_want *w = &p->want[at];
		const char *host_dir = p->layers.item[at].host_dir;
		CLEANUP(json_release) json_t *body = json_object();
		json_t *trees = json_array();
		const char *paths[2 + FD_PASS_MAX] = { w->state },
				      *kinds[2 + FD_PASS_MAX] = { "own" };
		size_t first = p->staged && at == 0, nr = 1;
		if (host_dir)
			paths[nr] = host_dir, kinds[nr++] = "repo";
		for (size_t l = 0; l < w->lowers.nr && nr < FD_PASS_MAX; l++)
			paths[nr] = w->lowers.item[l], kinds[nr++] = "plain";
		for (size_t n = first; n < nr; n++)
			json_array_append_new(trees, tree_want(paths[n], kinds[n]));
		json_put_int(body, "uid", launcher_info(la)->uid);
		json_put_int(body, "gid", launcher_info(la)->gid);
		json_put(body, "trees", trees);
		launcher_call(la, LAUNCH_TREES, body, NULL, 0, process_open_on_trees, p);
	}
}
