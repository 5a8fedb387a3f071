#include "inside/login_flow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"

enum { SAID_MAX = 64 << 10 };

struct login_ask {
	struct super *s;
	char *name;
	login_fn *done;
	void *self;
	int out, pidfd;
	struct loop_fd *watch;
	struct loop_timer *later; /* it could not be started */
	struct buf said;
	struct err err;
};

static void login_over(struct login_ask *l)
{
	struct err err = l->err;
	CLEANUP(json_release)
	json_t *o = err.code == ERR_NONE
			    ? json_parse(buf_cstr(&l->said), l->said.len, "login helper", &err)
			    : NULL;
	CLEANUP(free_ptr)
	char *token =
		o && json_str(o, "token", NULL) ? mem_strdup(json_str(o, "token", NULL)) : NULL;
	CLEANUP(free_ptr)
	char *why = mem_strdup(token ? ""
			       : o   ? json_str(o, "error", "login helper: no answer")
				     : err.text);
	CLEANUP(free_ptr) char *name = mem_printf("login/%s", l->name);
	login_fn *done = l->done;
	void *self = l->self;
	struct super *s = l->s;
	if (token && record_secret(s->record, name, token, strlen(token), &err) < 0) {
		explicit_bzero(token, strlen(token));
		free(take(&token));
		free(why);
		why = mem_strdup(err.text);
	}
	login_ask_free(&l);
	done(self, token, token ? NULL : why);
	if (token)
		explicit_bzero(token, strlen(token));
}

static void login_flow_on_said(void *self, int fd, unsigned events)
{
	struct login_ask *l = self;
	char bytes[4096];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && l->said.len + (size_t)n <= SAID_MAX) {
		buf_append(&l->said, bytes, (size_t)n);
		explicit_bzero(bytes, (size_t)n);
		return;
	}
	login_over(l);
}

static void login_flow_on_failed(void *self)
{
	login_over(self);
}

static int start_helper(struct login_ask *l, const char *refused, struct err *err)
{
	extern char **environ;
	int p[2], pid;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct hash h;
	struct strv argv = STRV_INIT;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(err, "can't make a pipe");
	strv_push(&argv, "sandglass");
	strv_push(&argv, "login_token");
	if (refused) {
		hash_of(refused, strlen(refused), &h);
		hex_append(&hex, h.b, sizeof(h.b));
		strv_push(&argv, "--refused");
		strv_push(&argv, buf_cstr(&hex));
	}
	strv_push(&argv, l->name);
	int fds[3] = { -1, p[1], -1 };
	int rc = proc_spawn("/proc/self/exe", argv.item, environ, fds, 3, &pid, &l->pidfd, err);
	strv_release(&argv);
	close(p[1]);
	l->out = p[0];
	if (rc == 0 && fd_nonblock(l->out, err) < 0)
		rc = -1;
	if (rc == 0)
		l->watch = loop_fd_new(l->s->loop, l->out, LOOP_READ, login_flow_on_said, l);
	return rc;
}

struct login_ask *login_ask_new(struct super *s, const char *name, const char *refused,
				login_fn *done, void *self)
{
	struct login_ask *l = NEW(struct login_ask);
	*l = (struct login_ask){
		.s = s, .name = mem_strdup(name), .done = done, .self = self, .out = -1, .pidfd = -1
	};
	if (start_helper(l, refused, &l->err) < 0) {
		l->later = loop_timer_new(s->loop, login_flow_on_failed, l);
		loop_timer_set(l->later, 0, 0);
	}
	return l;
}

void login_ask_free(struct login_ask **lp)
{
	struct login_ask *l = *lp;
	struct err none = ERR_INIT;
	int status;
	*lp = NULL;
	if (!l)
		return;
	loop_fd_free(&l->watch);
	loop_timer_free(&l->later);
	fd_close(&l->out);
	if (l->pidfd >= 0) {
		/* it has said all, or nobody waits */
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		if (proc_reap(l->pidfd, &status, &none) < 0)
			none = ERR_INIT;
		fd_close(&l->pidfd);
	}
	if (l->said.len)
		explicit_bzero(l->said.data, l->said.len);
	buf_release(&l->said);
	free(l->name);
	free(l);
}
