/* sandglass-keeper UID GID FILTERS DOORS: started by sandglass-launcher (descriptors:
 * wire/keeper.h). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "keeper/keeper_priv.h"
#include "wire/frame.h"
#include "wire/keeper.h"
#include "wire/launch.h"

static bool parse_args(struct keeper *k, int argc, char **argv)
{
	unsigned long n[4];
	if (argc != 5)
		return false;
	for (int i = 0; i < 4; i++) {
		char *end;
		n[i] = strtoul(argv[i + 1], &end, 10);
		if (*end || end == argv[i + 1])
			return false;
	}
	if (n[2] > ARRAY_LEN(k->filters) || n[3] > ARRAY_LEN(k->doors))
		return false;
	k->uid = (uid_t)n[0];
	k->gid = (gid_t)n[1];
	int fd = KEEPER_FD_FILTERS;
	for (k->nr_filters = 0; k->nr_filters < n[2]; k->nr_filters++)
		k->filters[k->nr_filters] = fd++;
	for (k->nr_doors = 0; k->nr_doors < n[3]; k->nr_doors++)
		k->doors[k->nr_doors] = fd++;
	return true;
}

static int keeper_main_dispatch(struct keeper *k, unsigned type, const json_t *body,
				struct reply *r, struct err *err)
{
	switch (type) {
	case KEEPER_START:
		return bwrap_start(k, body, r, err);
	case KEEPER_ATTACH:
		return layers_attach(k, body, r, err);
	case KEEPER_ROOT:
		return layers_root(k, body, &r->fd, err);
	case KEEPER_OPEN:
		return files_open(k, body, r, err);
	case KEEPER_APPLY:
		return apply_plan(k, body, r, err);
	case KEEPER_LOOK:
		return files_look(k, body, r, err);
	case KEEPER_WRITE:
		return files_write(k, body, r, err);
	default:
		return err_set(err, ERR_INVALID, "keeper: unknown request %u", type);
	}
}

static void drop_fds(struct fds *in)
{
	while (in->nr)
		fd_close(&in->fd[--in->nr]);
}

static int keeper_main_answer(int sock, uint64_t id, int rc, struct reply *r, struct err *failed)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	if (rc == 0) {
		if (!r->body)
			r->body = json_object();
		json_dump_buf(r->body, &out);
		rc = frame_send(sock, KEEPER_OK, id, out.data, out.len, &r->fd, r->fd >= 0, &err);
	} else {
		wire_err_body(failed, &out);
		rc = frame_send(sock, KEEPER_ERR, id, out.data, out.len, NULL, 0, &err);
	}
	json_release(&r->body);
	fd_close(&r->fd);
	return rc;
}

static bool keeper_main_take_frame(struct keeper *k, int sock)
{
	static struct fds of_channel[2];
	k->in = &of_channel[sock == KEEPER_FD_WORKER];
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct err err = ERR_INIT;
	struct frame f;
	size_t nr = 0;
	if (k->in->nr + FD_PASS_MAX > KEEPER_FDS_MAX)
		drop_fds(k->in);
	if (frame_recv(sock, KEEPER_MAX_BODY, &f, &in, k->in->fd + k->in->nr, &nr, &err) < 0)
		return false;
	k->in->nr += nr;
	if (f.type == KEEPER_FDS)
		return true;
	CLEANUP(json_release) json_t *body = json_parse(f.body, f.len, "keeper frame", &err);
	struct reply r = { .fd = -1 };
	int rc = body ? keeper_main_dispatch(k, f.type, body, &r, &err) : -1;
	rc = keeper_main_answer(sock, f.id, rc, &r, &err);
	drop_fds(k->in);
	return rc == 0;
}

/* bubblewrap is our child, the guest its; nobody else tells the supervisor how it went. */
static void bwrap_ended(struct keeper *k)
{
	int status = 0;
	if (waitpid(k->bwrap, &status, WNOHANG) != k->bwrap)
		return;
	CLEANUP(json_release) json_t *j = json_object();
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	json_put_int(j, "code", WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	json_put_int(j, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	json_dump_buf(j, &out);
	fd_close(&k->bwrap_pidfd);
	if (frame_send(KEEPER_FD_LOOP, KEEPER_GONE, 0, out.data, out.len, NULL, 0, &err) < 0)
		return; /* the poll sees the end of the channel */
}

static void keeper_main_serve(struct keeper *k)
{
	struct pollfd p[3] = { { .fd = KEEPER_FD_LOOP, .events = POLLIN },
			       { .fd = KEEPER_FD_WORKER, .events = POLLIN },
			       { .fd = -1, .events = POLLIN } };
	for (;;) {
		p[2].fd = k->bwrap_pidfd;
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return;
		if (p[2].fd >= 0 && p[2].revents)
			bwrap_ended(k);
		if (p[0].revents && !keeper_main_take_frame(k, KEEPER_FD_LOOP))
			return;
		if (p[1].revents && !keeper_main_take_frame(k, KEEPER_FD_WORKER))
			p[1].fd = -1; /* workers are done with the box; the loop is not */
	}
}

int main(int argc, char **argv)
{
	static struct keeper k = { .args = -1,
				   .info = -1,
				   .log = -1,
				   .bwrap_pidfd = -1,
				   .guest_pidfd = -1,
				   .guest_sock = KEEPER_FD_GUEST };
	struct err err = ERR_INIT;
	log_open("keeper");
	if (!parse_args(&k, argc, argv)) {
		fputs("usage: sandglass-keeper UID GID FILTERS DOORS\nstarted by sandglass-launcher\n",
		      stderr);
		return 2;
	}
	struct rlimit many = { 8192, 8192 }, none = { 0, 0 };
	if (setrlimit(RLIMIT_NOFILE, &many) < 0)
		log_debug("can't raise the number of descriptors");
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGPIPE, SIG_IGN);
	syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
	if (getuid() == 0 || getuid() != k.uid) {
		fputs("sandglass-keeper: refused to run as root or as an unexpected user\n",
		      stderr);
		return 1;
	}
	if (space_enter(&k, &err) < 0 || bwrap_wait(&k, &err) < 0) {
		struct reply r = { .fd = -1 };
		struct frame f;
		int fds[FD_PASS_MAX];
		size_t nr = 0;
		CLEANUP(buf_release) struct buf in = BUF_INIT;
		struct err why = err;
		if (frame_recv(KEEPER_FD_LOOP, KEEPER_MAX_BODY, &f, &in, fds, &nr, &err) == 0 &&
		    keeper_main_answer(KEEPER_FD_LOOP, f.id, -1, &r, &why) < 0)
			log_debug("no connection for the error: %s", why.text);
		return 1;
	}
	keeper_main_serve(&k);
	/* bubblewrap's child notices the end of its parent only after it was released */
	if (k.guest_pidfd >= 0)
		syscall(SYS_pidfd_send_signal, k.guest_pidfd, SIGKILL, NULL, 0);
	return 0;
}
