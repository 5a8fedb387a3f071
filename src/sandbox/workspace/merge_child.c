/* The process that opens a target, as its parent sees it: started, asked, served while it works,
 * ended. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "sandbox/workspace/merge_priv.h"
#include "wire/frame.h"

enum { SILENCE_US = 120000000, TICK_MS = 20 };

static int spawn_program(int sock, const int *hold, int *pidfd_out, struct err *err)
{
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-git");
	char name[] = "sandglass-git", home[] = "HOME=/nonexistent", lang[] = "LC_ALL=C";
	const char *point = getenv("FAILPOINT"); /* crash tests */
	CLEANUP(free_ptr) char *fail = point ? mem_printf("FAILPOINT=%s", point) : NULL;
	char *argv[] = { name, NULL }, *envp[] = { home, lang, fail, NULL };
	const int fds[] = { -1, -1, 2, sock, hold ? *hold : -1 };
	int pid;
	return proc_spawn(path, argv, envp, fds, ARRAY_LEN(fds), &pid, pidfd_out, err);
}

int merge_child_start(struct child *c, const struct merge_opts *o, const struct ws_store *store,
		      size_t k, struct err *err)
{
	int pair[2];
	*c = (struct child){ .o = o, .store = store, .sock = -1, .pidfd = -1, .k = k };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "merge: can't create a socket");
	int rc = o->spawn ? o->spawn(o->self, pair[1], &c->pidfd, err)
			  : spawn_program(pair[1], o->hold, &c->pidfd, err);
	close(pair[1]);
	c->sock = pair[0];
	return rc < 0 ? err_wrap(err, "merge: can't start the merge process") : 0;
}

void child_end(struct child *c)
{
	siginfo_t info;
	fd_close(&c->sock);
	if (c->pidfd >= 0) { /* its socket is closed: it ends, or is stuck and is ended */
		struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
		if (poll(&p, 1, 2000) <= 0)
			syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
		waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED);
		fd_close(&c->pidfd);
	}
	json_decref(c->prepared);
	c->prepared = NULL;
}

static void child_kill(struct child *c)
{
	if (c->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

char *merge_record_dir(const struct merge_opts *o, size_t k)
{
	return mem_printf("%s/%s-%zu", o->undo_dir, o->id, k);
}

static bool plain_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyz.", s[i]) || !s[i])
			return false;
	return len > 0 && len < 64 && s[0] != '.';
}

static int on_get(struct child *c, const struct frame *f, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct object_id id;
	enum object_type type;
	struct err why = ERR_INIT;
	if (f->len != sizeof(id.b))
		return err_set(err, ERR_PARSE, "merge: invalid object name");
	memcpy(id.b, f->body, sizeof(id.b));
	int rc = c->store->get(c->store->self, &id, &type, &b, &why);
	if (rc == 0) { /* what is not what its name says reaches no repository */
		struct object_id is;
		object_name(type, buf_cstr(&b), b.len, &is);
		if (memcmp(&is, &id, sizeof(id)) != 0)
			return err_set(
				err, ERR_DAMAGED,
				"the recording is damaged: a content doesn't match its checksum; try 'sandglass verify'");
	}
	return frame_send(c->sock, rc < 0 ? CHILD_NONE : CHILD_BLOB, 0, buf_cstr(&b), b.len, NULL,
			  0, err);
}

static int on_save(struct child *c, const struct frame *f, struct err *err)
{
	const char *nul = memchr(f->body, 0, f->len);
	struct err why = ERR_INIT;
	int rc = -1;
	if (nul && plain_name(f->body, (size_t)(nul - f->body)) && c->o->undo_dir) {
		CLEANUP(free_ptr) char *dir = merge_record_dir(c->o, c->k);
		CLEANUP(free_ptr) char *path = path_join(dir, f->body);
		rc = dir_make(dir, 0700, &why);
		if (rc == 0)
			rc = file_write_atomic(path, nul + 1, f->len - (size_t)(nul + 1 - f->body),
					       0600, &why);
	} else {
		err_set(&why, ERR_INVALID, "merge: no directory for its record");
	}
	return frame_send(c->sock, rc < 0 ? CHILD_ERR : CHILD_OK, 0, why.text,
			  rc < 0 ? strlen(why.text) : 0, NULL, 0, err);
}

static int on_load(struct child *c, const struct frame *f, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err why = ERR_INIT;
	int rc = -1;
	if (plain_name(f->body, f->len) && c->o->undo_dir) {
		CLEANUP(free_ptr) char *dir = merge_record_dir(c->o, c->k);
		CLEANUP(free_ptr) char *name = mem_strndup(f->body, f->len);
		CLEANUP(free_ptr) char *path = path_join(dir, name);
		rc = file_read(path, &b, MERGE_UNDO_MAX, &why);
	}
	return frame_send(c->sock, rc < 0 ? CHILD_NONE : CHILD_BLOB, 0, buf_cstr(&b), b.len, NULL,
			  0, err);
}

static int merge_child_wait_for(struct child *c, struct err *err)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	for (int64_t until = clock_mono_us() + SILENCE_US; clock_mono_us() < until;) {
		if (c->o->stop && c->o->stop(c->o->self)) {
			child_kill(c);
			return err_set(err, ERR_CANCELLED, "the merge was canceled");
		}
		int n = poll(&p, 1, TICK_MS);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(err, "merge: can't wait for the merge process");
	}
	child_kill(c);
	return err_set(err, ERR_TIMEOUT, "the merge process didn't answer within 2 minutes");
}

static int child_error(const struct frame *f, struct err *err)
{
	struct err why = ERR_INIT;
	json_t *o = json_parse(f->body, f->len, "merge", &why);
	int64_t code = json_int(o, "code", ERR_IO);
	err_set(err, code > ERR_NONE && code <= ERR_SCRIPT ? (enum err_code)code : ERR_IO, "%s",
		json_str(o, "text", "the merge failed"));
	json_decref(o);
	return -1;
}

/* Sends one request and serves the child until it has answered. */
int child_ask(struct child *c, unsigned type, const json_t *request, json_t **out, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct frame f;
	size_t none = 0;
	json_dump_buf(request, &b);
	if (frame_send(c->sock, (uint16_t)type, 1, buf_cstr(&b), b.len, NULL, 0, err) < 0)
		return -1;
	for (;;) {
		int rc = merge_child_wait_for(c, err);
		if (rc == 0 && frame_recv(c->sock, CHILD_MAX_BODY, &f, &b, NULL, &none, err) < 0)
			rc = err_wrap(err, "the merge process has ended");
		if (rc < 0)
			return -1;
		if (f.type == CHILD_GET)
			rc = on_get(c, &f, err);
		else if (f.type == CHILD_SAVE)
			rc = on_save(c, &f, err);
		else if (f.type == CHILD_LOAD)
			rc = on_load(c, &f, err);
		else if (f.type == CHILD_ERR)
			return child_error(&f, err);
		else {
			*out = json_parse(f.body, f.len, "merge", err);
			return *out ? 0 : -1;
		}
		if (rc < 0)
			return -1;
	}
}

json_t *merge_user(void)
{
	static const char *const name[][2] = { { "home", "HOME" },
					       { "xdg", "XDG_CONFIG_HOME" },
					       { "global", "GIT_CONFIG_GLOBAL" },
					       { "system", "GIT_CONFIG_SYSTEM" } };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		const char *v = getenv(name[i][1]);
		if (v && (*v || i == 2))
			json_put_str(o, name[i][0], v);
	}
	const char *none = getenv("GIT_CONFIG_NOSYSTEM");
	json_put_flag(o, "no_system", none && *none && strcmp(none, "0") != 0);
	return o;
}
