#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/process/process_priv.h"
#include "wire/keeper.h"
#include "wire/launch.h"

static void process_stage_failed(struct stage *s, enum stage_step how, const struct err *err)
{
	s->step = how;
	log_debug("directories ahead: %s", err ? err->text : "an odd answer");
}

static void process_stage_on_attached(void *self, json_t *body, int *fds, size_t nr,
				      const struct err *err)
{
	struct stage *s = self;
	(void)fds;
	(void)nr;
	if (body)
		s->step = STAGE_READY;
	else
		process_stage_failed(s, STAGE_SPOILT, err);
}

static json_t *process_stage_layer(const struct stage *s, const char *name, const char *folder,
				   int fd)
{
	CLEANUP(free_ptr) char *path = path_join(s->dir, folder);
	json_t *l = json_object(), *state = json_object();
	json_put(state, "path", json_bytes_z(path));
	if (s->nr_fds)
		json_put_int(state, "fd", fd);
	json_put_str(l, "name", name);
	json_put(l, "state", state);
	return l;
}

static void process_stage_attach(struct stage *s)
{
	CLEANUP(json_release) json_t *request = json_object();
	json_t *layers = json_array();
	json_array_append_new(layers, process_stage_layer(s, ":home", STATE_HOME, 0));
	json_array_append_new(layers, process_stage_layer(s, "", STATE_WORKSPACE, 1));
	json_put(request, "layers", layers);
	json_put_flag(request, "ahead", true);
	s->step = STAGE_ATTACH;
	rpc_call(s->cell->keeper, KEEPER_ATTACH, request, s->fds, s->nr_fds,
		 process_stage_on_attached, s);
	s->nr_fds = 0;
}

void stage_go_on(struct stage *s)
{
	if (s && s->step == STAGE_TREES && s->trees && s->cell->sent && s->cell->keeper)
		process_stage_attach(s);
}

static void process_stage_on_trees(void *self, json_t *body, int *fds, size_t nr,
				   const struct err *err)
{
	struct stage *s = self;
	if (!body || (nr != 0 && nr != ARRAY_LEN(s->fds))) {
		process_stage_failed(s, STAGE_FAILED, err);
		return;
	}
	s->trees = json_incref(json_object_get(body, "trees"));
	for (; s->nr_fds < nr; s->nr_fds++) {
		s->fds[s->nr_fds] = fds[s->nr_fds];
		fds[s->nr_fds] = -1;
	}
	stage_go_on(s);
}

static json_t *process_stage_own(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	return tree_want(path, "own");
}

struct stage *stage_new(struct cell *c, const char *parent)
{
	struct err err = ERR_INIT;
	struct stage *s = NEW(struct stage);
	CLEANUP(json_release) json_t *body = json_object();
	json_t *trees = json_array();
	s->cell = c;
	s->dir = mem_printf("%s/" PROCESS_AHEAD "%llu", parent, (unsigned long long)c->box);
	if (dir_make(s->dir, 0700, &err) < 0) {
		json_decref(trees);
		process_stage_failed(s, STAGE_FAILED, &err);
		return s;
	}
	json_array_append_new(trees, process_stage_own(s->dir, STATE_HOME));
	json_array_append_new(trees, process_stage_own(s->dir, STATE_WORKSPACE));
	json_put_int(body, "uid", launcher_info(c->launcher)->uid);
	json_put_int(body, "gid", launcher_info(c->launcher)->gid);
	json_put(body, "trees", trees);
	launcher_call(c->launcher, LAUNCH_TREES, body, NULL, 0, process_stage_on_trees, s);
	return s;
}

bool stage_settled(const struct stage *s)
{
	return !s || s->step >= STAGE_READY;
}

int stage_move(struct stage *s, const char *state_dir)
{
	if (rename(s->dir, state_dir) < 0)
		return -1;
	free_ptr(&s->dir);
	return 0;
}

void stage_free(struct stage **at)
{
	struct stage *s = take(at);
	struct err err = ERR_INIT;
	if (!s)
		return;
	launcher_forget(s->cell->launcher, s);
	if (s->cell->keeper)
		rpc_forget(s->cell->keeper, s);
	for (size_t i = 0; i < s->nr_fds; i++)
		fd_close(&s->fds[i]);
	json_release(&s->trees);
	if (s->dir && dir_remove(s->dir, &err) < 0)
		log_debug("directories ahead: %s", err.text);
	free(s->dir);
	free(s);
}
