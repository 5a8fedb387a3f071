/* For tests of the merge: the child is forked instead of spawned, and one call does what a
 * session does. */
#ifndef WS_MERGE_H
#define WS_MERGE_H

#include <sys/syscall.h>

#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/merge.h"
#include "ws_box.h"

__attribute__((unused)) static int fork_child(void *self, int sock, int *pidfd_out, struct err *err)
{
	(void)self;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		for (int fd = 3; fd < 64; fd++)
			if (fd != sock)
				close(fd);
		_exit(git_child_main(sock, NULL));
	}
	*pidfd_out = (int)syscall(SYS_pidfd_open, pid, 0);
	return *pidfd_out < 0 ? err_sys(err, "pidfd_open") : 0;
}

struct merge_box {
	struct ws_box b;
	char *undo;
	struct ws_view view;
	struct merge_step step;
	struct merge_target target;
	struct merge_opts o;
};

/* @make runs in the scratch directory and must leave the target at @dir in it. */
__attribute__((unused)) static bool merge_init(struct merge_box *m, const char *make,
					       const char *dir, const char *edit)
{
	memset(m, 0, sizeof(*m));
	if (!box_init(&m->b, true))
		return false;
	free(m->b.lower);
	m->b.lower = mem_printf("%s/%s", m->b.dir, dir);
	if (sh_in(m->b.dir, "umask 022; rmdir lower; %s", make) || !box_open(&m->b, NULL))
		return false;
	struct err err = ERR_INIT;
	box_take(&m->b);
	if (sh_in(m->b.merged, "umask 022; %s", edit))
		return false;
	box_take(&m->b);
	if (ws_view_load(&m->view, &m->b.store, m->b.body, &err) < 0)
		return false;
	m->undo = mem_printf("%s/undo", m->b.dir);
	m->step = (struct merge_step){ .view = &m->view, .message = "What the agent did\n" };
	m->target = (struct merge_target){
		.repo = "", .dir = m->b.lower, .step = &m->step, .nr_steps = 1
	};
	m->o = (struct merge_opts){ .id = "00c0ffee",
				    .mode = MERGE_APPLY,
				    .author = "Ann",
				    .email = "ann@example.org",
				    .ts_us = 1700000000000000,
				    .undo_dir = m->undo,
				    .store = &m->b.store,
				    .target = &m->target,
				    .nr_targets = 1,
				    .spawn = fork_child };
	return true;
}

__attribute__((unused)) static void merge_end(struct merge_box *m)
{
	ws_view_release(&m->view);
	free(m->undo);
	box_end(&m->b);
}

/* "path: why; " of the conflicts (or what else has a path and a why) of target @i. */
__attribute__((unused)) static const char *whys(const json_t *body, size_t i, const char *key,
						struct buf *out)
{
	size_t k;
	json_t *c;
	buf_reset(out);
	json_array_foreach(
		json_object_get(json_array_get(json_object_get(body, "targets"), i), key), k, c)
		buf_printf(out, "%s: %s; ", json_str(c, "path", "?"),
			   json_str(c, "why", json_str(c, "what", "?")));
	return buf_cstr(out);
}

#endif
