/* Blocking requests to the keeper from worker threads, over the channel that is theirs. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/process/process_reduced.h"
#include "wire/frame.h"
#include "wire/keeper.h"
#include "wire/launch.h"

static int layer_at(const struct process_box *p, size_t i)
{
	return layers_index(&p->layers, i);
}

static struct process_box *process_tree_of(struct box *b)
{
	return CONTAINER_OF(b, struct process_box, b);
}

static const char *layer_name(const struct process_box *p, size_t i)
{
	return p->layers.item[layer_at(p, i)].name;
}

/* One request, one answer; the answer's descriptor to @fd_out (NULL: none expected). Returns the
 * body, owned. */
static json_t *process_tree_talk(struct cell *c, uint16_t type, const json_t *body, const int *fds,
				 size_t nr_fds, int *fd_out, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct frame f = { 0 };
	int got[FD_PASS_MAX];
	size_t nr = 0, sent = 0;
	int rc = 0;
	json_dump_buf(body, &text);
	pthread_mutex_lock(&c->lock);
	for (; rc == 0 && nr_fds - sent > FD_PASS_MAX; sent += FD_PASS_MAX)
		rc = frame_send(c->worker, KEEPER_FDS, 0, "{}", 2, fds + sent, FD_PASS_MAX, err);
	if (rc == 0)
		rc = frame_send(c->worker, type, 1, text.data, text.len, nr_fds ? fds + sent : NULL,
				nr_fds - sent, err);
	if (rc == 0)
		rc = frame_recv(c->worker, KEEPER_MAX_BODY, &f, &in, got, &nr, err);
	pthread_mutex_unlock(&c->lock);
	if (rc < 0) {
		err_set(err, ERR_CLOSED, "the keeper of the sandbox has died");
		return NULL;
	}
	json_t *answer = NULL;
	if (f.type == KEEPER_ERR)
		wire_err_parse(f.body, f.len, err);
	else
		answer = json_parse(f.body, f.len, "keeper's answer", err);
	bool keep = answer && fd_out && nr == 1;
	if (answer && fd_out && !keep) {
		err_set(err, ERR_PARSE, "the keeper sent no descriptor");
		json_release(&answer);
	}
	if (keep)
		*fd_out = got[0];
	for (size_t i = keep ? 1 : 0; i < nr; i++)
		fd_close(&got[i]);
	return answer;
}

static json_t *ask_layer(struct box *b, size_t i, const char *which, struct err *err)
{
	struct process_box *p = process_tree_of(b);
	int layer = layer_at(p, i);
	if (layer < 0) {
		err_set(err, ERR_INVALID, "the sandbox has no repository %zu", i);
		return NULL;
	}
	json_t *body = json_object();
	json_put_int(body, "layer", layer);
	if (which)
		json_put_str(body, "which", which);
	return body;
}

static int process_tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	struct process_box *p = process_tree_of(b);
	CLEANUP(json_release) json_t *body = ask_layer(b, i, which, err);
	int fd = -1;
	if (!body)
		return -1;
	if (p->reduced)
		return folder_tree(reduced_folder(p->reduced), (size_t)layer_at(p, i),
				   layer_name(p, i), which, err);
	CLEANUP(json_release)
	json_t *answer = process_tree_talk(p->cell, KEEPER_ROOT, body, NULL, 0, &fd, err);
	return answer ? fd : -1;
}

static int process_tree_open(struct box *b, size_t i, const char *which, const char *path,
			     struct err *err)
{
	struct process_box *p = process_tree_of(b);
	CLEANUP(json_release) json_t *body = ask_layer(b, i, which, err);
	int fd = -1;
	if (!body)
		return -1;
	if (p->reduced)
		return folder_tree_open(reduced_folder(p->reduced), (size_t)layer_at(p, i),
					layer_name(p, i), which, path, err);
	json_put_bytes(body, "path", path, strlen(path));
	CLEANUP(json_release)
	json_t *answer = process_tree_talk(p->cell, KEEPER_OPEN, body, NULL, 0, &fd, err);
	return answer ? fd : -1;
}

static json_t *process_tree_list(struct box *b, size_t i, const char *which, const char *path,
				 struct err *err)
{
	struct process_box *p = process_tree_of(b);
	CLEANUP(json_release) json_t *body = ask_layer(b, i, which, err);
	if (!body)
		return NULL;
	if (p->reduced) {
		err_set(err, ERR_UNSUPPORTED,
			"isolation level reduced: root can't list this directory");
		return NULL;
	}
	json_put_bytes(body, "path", path, strlen(path));
	json_put_flag(body, "list", true);
	CLEANUP(json_release)
	json_t *answer = process_tree_talk(p->cell, KEEPER_OPEN, body, NULL, 0, NULL, err);
	return answer ? json_incref(json_object_get(answer, "entries")) : NULL;
}

static int process_tree_apply(struct box *b, size_t i, const char *plan, size_t len, const int *fds,
			      size_t nr_fds, struct err *err)
{
	struct process_box *p = process_tree_of(b);
	CLEANUP(json_release) json_t *body = ask_layer(b, i, NULL, err);
	if (!body)
		return -1;
	if (p->reduced)
		return folder_tree_apply(reduced_folder(p->reduced), (size_t)layer_at(p, i),
					 layer_name(p, i), plan, len, fds, nr_fds, err);
	CLEANUP(fd_close) int memfd = memfd_create("plan", MFD_CLOEXEC);
	if (memfd < 0)
		return err_sys(err, "can't create a memory file");
	if (fd_write_all(memfd, plan, len, err) < 0)
		return -1;
	int *all = mem_calloc(nr_fds + 1, sizeof(*all));
	all[0] = memfd;
	for (size_t n = 0; n < nr_fds; n++)
		all[n + 1] = fds[n];
	CLEANUP(json_release)
	json_t *answer = process_tree_talk(p->cell, KEEPER_APPLY, body, all, nr_fds + 1, NULL, err);
	free(all);
	return answer ? 0 : -1;
}

/* Its own upper, then what it was given itself. */
static json_t *process_tree_seed(struct box *b)
{
	const struct process_box *p = process_tree_of(b);
	if (p->reduced)
		return folder_tree_seed(reduced_folder(p->reduced), &p->layers);
	json_t *options = json_object(), *all = json_object();
	for (size_t i = 0; i < p->layers.nr; i++) {
		const struct layer_want *w = &p->want[i];
		json_t *list = json_array();
		CLEANUP(free_ptr) char *upper = path_join(w->state, "u0");
		json_array_append_new(list, json_bytes_z(upper));
		for (size_t l = 0; l < w->lowers.nr; l++)
			json_array_append_new(list, json_bytes_z(w->lowers.item[l]));
		if (w->git)
			json_array_append_new(list, json_bytes_z(w->git));
		json_put(all, p->layers.item[i].name, list);
	}
	json_put(options, "lowers", all);
	return options;
}

static bool process_tree_overlay(struct box *b)
{
	return process_tree_of(b)->reduced == NULL;
}

const struct box_tree_ops process_tree = {
	.root = process_tree_root,
	.open = process_tree_open,
	.apply = process_tree_apply,
	.overlay = process_tree_overlay,
	.list = process_tree_list,
	.seed = process_tree_seed,
};
