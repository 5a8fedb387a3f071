#include "sandbox/stream/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/common/driver_options.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/stream/stream_backend.h"
#include "sandbox/guest/guest_drive.h"
#include "sandbox/stream/guest_handoff.h"

enum { SAID_MAX = 8192, LEAVE_MS = 10000 };

struct ssh {
	struct far f; /* first */
	char *host, *user, *port, *key, *config, *dir;
	int pid, pidfd, said_fd;
	struct loop_fd *watch_pid, *watch_said;
	struct loop_timer *patience;
	struct handover *handover;
	struct buf said; /* what ssh printed on its stderr */
	bool left;
};

static struct ssh *ssh_of(struct far *f)
{
	return CONTAINER_OF(f, struct ssh, f);
}

/* --- options --- */

static bool ssh_plain(const char *s)
{
	return *s && *s != '-' && !strpbrk(s, " \t\r\n");
}

static char *ssh_text_of(const json_t *o, const char *name)
{
	const char *s = json_str(o, name, NULL);
	return s ? mem_strdup(s) : NULL;
}

static int ssh_take_host(struct ssh *s, const json_t *o, struct err *err)
{
	const char *host = json_str(o, "host", "");
	if (strncmp(host, "ssh://", 6) == 0)
		host += 6;
	const char *at = strrchr(host, '@'), *colon;
	if (at) {
		free(s->user);
		s->user = mem_strndup(host, (size_t)(at - host));
		host = at + 1;
	}
	/* two: an address of version 6 */
	colon = strchr(host, ':') == strrchr(host, ':') ? strchr(host, ':') : NULL;
	if (colon) {
		free(s->port);
		s->port = mem_strdup(colon + 1);
	}
	s->host = colon ? mem_strndup(host, (size_t)(colon - host)) : mem_strdup(host);
	if (!*s->host)
		return err_set(err, ERR_INVALID,
			       "backend ssh: missing option: host = \"user@name\"");
	if (!ssh_plain(s->host) || (s->user && !ssh_plain(s->user)) ||
	    (s->port && (strspn(s->port, "0123456789") != strlen(s->port) || !*s->port)))
		return err_set(err, ERR_INVALID, "backend ssh: invalid host name '%.200s'",
			       json_str(o, "host", ""));
	return 0;
}

static int ssh_take_opts(struct far *f, const struct box_opts *o, struct err *err)
{
	struct ssh *s = ssh_of(f);
	s->pidfd = s->said_fd = -1;
	if (driver_options_check(o, "ssh", "host, user, port, key, config, dir",
				 "image, build, copy_of", err) < 0)
		return -1;
	const json_t *port = json_object_get(o->driver, "port");
	s->user = ssh_text_of(o->driver, "user");
	s->port = json_is_integer(port) ? mem_printf("%lld", (long long)json_integer_value(port))
					: ssh_text_of(o->driver, "port");
	s->key = ssh_text_of(o->driver, "key");
	s->config = ssh_text_of(o->driver, "config");
	s->dir = ssh_text_of(o->driver, "dir");
	if (s->dir && (*s->dir != '/' || strpbrk(s->dir, " \t\r\n")))
		return err_set(
			err, ERR_INVALID,
			"backend ssh: dir: expected an absolute path without blanks, got '%.200s'",
			s->dir);
	if (s->key && access(s->key, R_OK) < 0)
		return err_sys(err, "backend ssh: can't read the key '%s'", s->key);
	if (s->config && access(s->config, R_OK) < 0)
		return err_sys(err, "backend ssh: can't read the configuration '%s'", s->config);
	return ssh_take_host(s, o->driver, err);
}

/* --- what ssh says --- */

/* The last line that tells something, without what ssh wraps around it. */
static void ssh_last_line(const struct buf *said, char *out, size_t cap)
{
	const char *best = "";
	size_t len = 0;
	for (const char *p = buf_cstr(said), *end; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\r\n");
		size_t n = (size_t)(end - p);
		if (n && *p != '@' && strncmp(p, "Warning: Permanently", 20) != 0) {
			best = p;
			len = n - (p[n - 1] == '.');
		}
		while (*end == '\r')
			end++;
	}
	snprintf(out, cap, "%.*s", (int)(len < 300 ? len : 300), best);
}

static const char *ssh_advice(const char *said)
{
	static const struct {
		const char *has, *then;
	} known[] = {
		{ "Permission denied",
		  "; it takes none of your keys: name one with key=, or ssh-add it" },
		{ "Host key verification failed",
		  "; connect once by hand, so that you can check its key" },
		{ "Could not resolve", "; is the name right?" },
		{ "Name or service not known", "; is the name right?" },
		{ "Connection refused", "; does sshd run there, and on this port?" },
		{ "IDENTIFICATION HAS CHANGED", "; see ssh-keygen -R" },
		{ "No space left", "; make room there, or name another directory with dir=" },
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strstr(said, known[i].has))
			return known[i].then;
	return "";
}

static void fail_said(struct ssh *s, const struct err *why)
{
	char line[320];
	struct err err = ERR_INIT;
	ssh_last_line(&s->said, line, sizeof(line));
	if (*line)
		err_set(&err, ERR_CLOSED, "can't open a sandbox on '%s': %s%s", s->host, line,
			ssh_advice(buf_cstr(&s->said)));
	else
		err_set(&err, why->code, "can't open a sandbox on '%s': %.300s", s->host,
			why->text);
	stream_backend_fail(&s->f, &err);
}

static void ssh_on_said(void *self, int fd, unsigned events)
{
	struct ssh *s = self;
	char bytes[2048];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	if (n > 0 && s->said.len + (size_t)n > SAID_MAX)
		buf_drop(&s->said, s->said.len / 2);
	if (n > 0)
		buf_append(&s->said, bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_fd_free(&s->watch_said);
}

/* --- connecting --- */

static void ssh_on_failed(void *self, const struct err *err, const char *said)
{
	struct ssh *s = self;
	struct err why = *err;
	if (*said && !s->said.len)
		buf_puts(&s->said, said);
	guest_handoff_free(&s->handover);
	if (why.code == ERR_CLOSED && s->watch_pid)
		return; /* its end comes, and with it what it has to say */
	buf_reset(&s->said);
	fail_said(s, &why);
}

static void on_handed_over(void *self, int fd, const char *folder, const char *tool)
{
	struct ssh *s = self;
	s->f.root = mem_strdup(folder);
	s->f.tool = mem_strdup(tool);
	guest_handoff_free(&s->handover);
	stream_backend_connected(&s->f, fd);
}

static void ssh_on_ended(void *self, int pidfd, unsigned events)
{
	struct ssh *s = self;
	struct err err = ERR_INIT, ignored = ERR_INIT;
	int status = 255; /* as ssh says that the connection broke */
	(void)events;
	if (s->watch_said)
		ssh_on_said(s, s->said_fd, LOOP_READ);
	(void)!proc_reap(pidfd, &status, &ignored);
	loop_fd_free(&s->watch_pid);
	loop_timer_free(&s->patience);
	/* it ended with the script, which removes the directory; or never came so far */
	if (status < 255 || !s->f.root)
		remote_orphans_gone(s->f.state_dir);
	if (s->left) {
		stream_backend_gone(&s->f);
		return;
	}
	if (s->f.open)
		return; /* the channel has ended, too: the guest client tells */
	guest_handoff_free(&s->handover);
	err_set(&err, ERR_CLOSED, "ssh has ended");
	fail_said(s, &err);
}

static int ssh_spawn(struct ssh *s, const char *script, int sock, int said, struct err *err)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	static const char *const fixed[] = { "env",
					     "ssh",
					     "-T",
					     "-oBatchMode=yes",
					     "-oConnectTimeout=20",
					     "-oServerAliveInterval=15",
					     "-oServerAliveCountMax=4",
					     "-oForwardAgent=no",
					     "-oForwardX11=no",
					     "-oControlMaster=no",
					     "-oControlPath=none",
					     "-oClearAllForwardings=yes",
					     "-oPermitLocalCommand=no" };
	const struct {
		const char *option, *value;
	} more[] = { { "-F", s->config }, { "-l", s->user }, { "-p", s->port }, { "-i", s->key } };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		strv_push(&argv, fixed[i]);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (more[i].value) {
			strv_push(&argv, more[i].option);
			strv_push(&argv, more[i].value);
		}
	strv_push(&argv, "--");
	strv_push(&argv, s->host);
	strv_push(&argv, script);
	const int fds[] = { sock, sock, said };
	return proc_spawn("/usr/bin/env", argv.item, environ, fds, ARRAY_LEN(fds), &s->pid,
			  &s->pidfd, err);
}

/* A name for the directory over there: who looks into it shall see whose it is. */
static char *ssh_box_name(const struct far *f)
{
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hash_of(f->state_dir, strlen(f->state_dir), &h);
	hex_append(&hex, h.b, 5);
	char *name = mem_printf("%.60s-%s", f->name, buf_cstr(&hex));
	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
			*p = '_';
	return name;
}

static int ssh_begin(struct ssh *s, struct err *err)
{
	static const struct handover_ops ops = { .done = on_handed_over, .failed = ssh_on_failed };
	CLEANUP(buf_release) struct buf script = BUF_INIT;
	CLEANUP(free_ptr) char *name = ssh_box_name(&s->f);
	int pair[2], said[2];
	CLEANUP(free_ptr)
	char *where = mem_printf("%s%s%s:%s/boxes/%s.*", s->user ? s->user : "", s->user ? "@" : "",
				 s->host, s->dir ? s->dir : "~/.cache/sandglass", name);
	if (guest_handoff_script(name, s->dir, &script, err) < 0 ||
	    remote_orphans_note(s->f.state_dir, "ssh", where, err) < 0)
		return -1;
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "can't create a pipe for ssh");
	s->said_fd = said[0];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		fd_close(&said[1]);
		return err_sys(err, "can't create a socket for ssh");
	}
	int rc = ssh_spawn(s, buf_cstr(&script), pair[1], said[1], err);
	fd_close(&pair[1]);
	fd_close(&said[1]);
	if (rc < 0 || fd_nonblock(pair[0], err) < 0) {
		fd_close(&pair[0]);
		return -1;
	}
	s->watch_pid = loop_fd_new(s->f.loop, s->pidfd, LOOP_READ, ssh_on_ended, s);
	s->watch_said = loop_fd_new(s->f.loop, s->said_fd, LOOP_READ, ssh_on_said, s);
	s->handover = guest_handoff_new(s->f.loop, pair[0], &ops, s);
	return 0;
}

static void connect_ssh(struct far *f)
{
	struct err err = ERR_INIT;
	stream_backend_progress(f, "connecting to %s", ssh_of(f)->host);
	if (ssh_begin(ssh_of(f), &err) < 0)
		stream_backend_fail(f, &err);
}

/* --- the end --- */

static void out_of_patience(void *self)
{
	struct ssh *s = self;
	syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

static void ssh_gone(void *self)
{
	stream_backend_gone(self);
}

/* The channel is closed: the guest ends, the script removes the directory, ssh ends with it. */
static void leave_ssh(struct far *f)
{
	struct ssh *s = ssh_of(f);
	s->left = true;
	guest_handoff_free(&s->handover);
	if (!s->watch_pid) {
		loop_defer(f->loop, ssh_gone, f);
		return;
	}
	s->patience = loop_timer_new(f->loop, out_of_patience, s);
	loop_timer_set(s->patience, LEAVE_MS, 0);
}

static void release_ssh(struct far *f)
{
	struct ssh *s = ssh_of(f);
	loop_fd_free(&s->watch_pid);
	loop_fd_free(&s->watch_said);
	loop_timer_free(&s->patience);
	guest_handoff_free(&s->handover);
	fd_close(&s->pidfd);
	fd_close(&s->said_fd);
	buf_release(&s->said);
	free(s->host);
	free(s->user);
	free(s->port);
	free(s->key);
	free(s->config);
	free(s->dir);
}

static bool explain_ssh(struct far *f)
{
	return ssh_of(f)->watch_pid != NULL; /* its end comes, and with it what it has to say */
}

static void describe_ssh(struct far *f, json_t *to)
{
	json_put_str(to, "host", ssh_of(f)->host);
}

static const struct far_kind ssh_kind = {
	.driver = &driver_ssh,
	.folder = "ssh",
	.wall = FAR_SHARED,
	.profile = "reduced",
	.options = ssh_take_opts,
	.connect = connect_ssh,
	.leave = leave_ssh,
	.explain = explain_ssh,
	.describe = describe_ssh,
	.release = release_ssh,
};

static struct box *ssh_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self)
{
	return stream_backend_open(&ssh_kind, sizeof(struct ssh), l, o, done, self);
}

static json_t *ssh_probe(void)
{
	json_t *r = json_object();
	bool there = false;
	CLEANUP(free_ptr)
	char *path = mem_strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	for (char *at = path, *dir; (dir = strsep(&at, ":")) && !there;) {
		CLEANUP(free_ptr) char *p = path_join(*dir ? dir : ".", "ssh");
		there = access(p, X_OK) == 0;
	}
	json_put_flag(r, "ok", there);
	json_put_str(r, "profile", "reduced");
	if (!there) {
		json_put_str(r, "why", "no program ssh");
		json_put_str(r, "fix", "install openssh-client");
	}
	return r;
}

const struct driver driver_ssh = {
	.name = "ssh",
	.about = "a directory on another host, through your own ssh",
	.caps = FAR_CAPS | CAP_OFFLINE,
	.probe = ssh_probe,
	.open = ssh_open,
	FAR_VERBS,
};
