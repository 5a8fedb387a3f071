/* A provider that is reached as the user's own kubectl reaches it: with the servers, authorities,
 * certificates, tokens and exec plugins of a kubeconfig. kubectl itself asks (kubectl proxy), so
 * that what it can do and whom it runs is what the user has tried by hand, and no credential of it
 * comes here. It listens on a socket in a directory of the user's own: on a port everybody on this
 * machine could ask. It ends when we do, whatever ends us: then its input has an end. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hosted/hosted_plugin_priv.h"
#include "supervisor/core/core.h"
#include "base/fd.h"
#include "base/paths.h"

enum { START_MS = 60000, LINE_MAX_BYTES = 4096 };

struct login {
	struct login *next;
	struct lessor *lessor;
	char *asked; /* the context that was asked for, "" = the current one */
	char *url;   /* http://localhost:N, of which N is only there to tell it from others */
	char *socket;
	int pid, pidfd, said_fd, hold_fd; /* hold_fd: its input, which ends with us */
	struct loop_fd *watch, *reader;
	struct loop_timer *limit;
	struct buf line;
	char *last;   /* its last line that is not our news */
	json_t *told; /* server, namespace, context; NULL not known yet */
	bool up, over;
};

/* Server, namespace, and context are printed first. A server with a path needs its own option,
 * which old versions lack. */
static const char hosted_login_script[] =
	"socket=$1; shift; exec 3<&0 </dev/null\n"
	"{ cat <&3; kill -9 $$; rm -f \"$socket\"; } >/dev/null 2>&1 &\n"
	"exec 3<&- 2>&1\n"
	"command -v kubectl >/dev/null || { echo 'kubectl, which reads it, is not installed'; exit 1; }\n"
	"seen=$(kubectl \"$@\" config view --minify -o "
	"'jsonpath={.clusters[0].cluster.server}{\"\\t\"}{.contexts[0].context.namespace}{\"\\t\"}{.contexts[0].name}' 2>&1) ||\n"
	"	{ printf '%s\\n' \"$seen\"; exit 1; }\n"
	"path=\n"
	"case ${seen%%\t*} in *://*/?*) path=--append-server-path ;; esac\n"
	"printf 'seen:\\t%s\\n' \"$seen\"\n"
	"exec kubectl \"$@\" proxy --unix-socket=\"$socket\" '--reject-paths=^$' $path\n";

static void login_free(struct login *g)
{
	struct login **p = &g->lessor->logins;
	int status;
	struct err ignored = ERR_INIT;
	while (*p != g)
		p = &(*p)->next;
	*p = g->next;
	loop_fd_free(&g->watch);
	loop_fd_free(&g->reader);
	loop_timer_free(&g->limit);
	if (g->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
		(void)!proc_reap(g->pidfd, &status, &ignored);
	}
	fd_close(&g->pidfd);
	fd_close(&g->said_fd);
	fd_close(&g->hold_fd);
	if (g->socket)
		unlink(g->socket);
	buf_release(&g->line);
	json_decref(g->told);
	free(g->last);
	free(g->asked);
	free(g->url);
	free(g->socket);
	free(g);
}

void logins_end(struct lessor *l)
{
	while (l->logins)
		login_free(l->logins);
}

const char *login_socket(const struct lessor *l, const char *url)
{
	for (const struct login *g = l->logins; g; g = g->next) {
		size_t n = strlen(g->url);
		if (!strncmp(url, g->url, n) && (!url[n] || url[n] == '/'))
			return g->socket;
	}
	return NULL;
}

/* A box that was found through a context is that context's. */
static const char *context_of(const struct remote_op *op)
{
	const char *of_box = json_str(json_array_get(op->args, 0), "context", NULL);
	return of_box ? of_box : json_str(op->options, "context", "");
}

bool login_wanted(const struct remote_op *op, bool keyless)
{
	const struct lessor *l = op->lessor;
	const char *variable = json_str(json_object_get(l->face, "env"), "url", NULL),
		   *url = variable ? getenv(variable) : NULL;
	/* a third-party file must not be sent there */
	if (strcmp(json_str(l->face, "login", ""), "kubeconfig") != 0 || strpbrk(l->name, "./"))
		return false;
	return *context_of(op) ||
	       (keyless && !(url && *url) && !json_object_get(op->options, "url"));
}

/* --- what comes of it --- */

static bool hosted_login_answers(const struct login *g, const struct remote_op *op)
{
	const char *context = context_of(op);
	return !strcmp(context, g->asked) ||
	       (g->told && !strcmp(context, json_str(g->told, "context", "")));
}

static void hosted_login_tell(struct login *g, const struct err *why)
{
	struct remote_op *op = g->lessor->rent->ops;
	while (op) {
		if (op->lessor != g->lessor || !op->awaits_login || !hosted_login_answers(g, op)) {
			op = op->next;
			continue;
		}
		struct rent *r = g->lessor->rent;
		op->awaits_login = false;
		if (!why)
			op->login = mem_strdup(g->url);
		op_logged(op, why ? NULL : json_incref(g->told), why);
		op = r->ops; /* who hears that may begin and end others */
	}
}

static void hosted_login_fail(struct login *g, const char *what)
{
	struct err why = ERR_INIT;
	const char *key = json_str(json_object_get(g->lessor->face, "env"), "key", "?"),
		   *last = g->last ? g->last : what;
	if (*g->asked)
		err_set(&why, ERR_DENIED, "%s: can't use the context '%s' of the kubeconfig: %s",
			g->lessor->name, g->asked, last);
	else
		err_set(&why, ERR_DENIED,
			"%s: no credentials: %s is not set, and the kubeconfig can't be used: %s",
			g->lessor->name, key, last);
	g->over = true; /* first: who hears that may ask anew */
	hosted_login_tell(g, &why);
}

static void hosted_login_take_line(struct login *g, char *text)
{
	static const char seen[] = "seen:\t", stands[] = "Starting to serve on ";
	if (!strncmp(text, seen, sizeof(seen) - 1)) {
		char *rest = text + sizeof(seen) - 1, *server = strsep(&rest, "\t"),
		     *namespace = strsep(&rest, "\t");
		g->told = json_object();
		json_put_str(g->told, "url", g->url);
		json_put_str(g->told, "server", server);
		if (namespace && *namespace)
			json_put_str(g->told, "namespace", namespace);
		json_put_str(g->told, "context", rest ? rest : "");
	} else if (!strncmp(text, stands, sizeof(stands) - 1) && g->told) {
		g->up = true;
		loop_timer_free(&g->limit);
		hosted_login_tell(g, NULL);
	} else if (*text) {
		free(g->last);
		g->last = mem_strdup(text);
	}
}

static void hosted_login_on_said(void *self, int fd, unsigned events)
{
	struct login *g = self;
	char bytes[1024];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	if (n <= 0) {
		loop_fd_free(&g->reader);
		if (!g->up)
			hosted_login_fail(g, "kubectl has ended");
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (g->line.len < LINE_MAX_BYTES)
				buf_append(&g->line, bytes + i, 1);
			continue;
		}
		CLEANUP(free_ptr) char *text = mem_strdup(buf_cstr(&g->line));
		buf_reset(&g->line);
		hosted_login_take_line(g, text);
	}
}

static void hosted_login_on_ended(void *self, int pidfd, unsigned events)
{
	struct login *g = self;
	(void)pidfd;
	(void)events;
	loop_fd_free(&g->watch);
	g->over = true; /* the next caller starts another login; on_said reads its last line */
}

static void hosted_login_on_limit(void *self)
{
	struct login *g = self;
	hosted_login_fail(g, "kubectl does not stand after a minute");
}

/* --- the beginning --- */

static int hosted_login_start(struct login *g, struct err *err)
{
	CLEANUP(free_ptr)
	char *dir = paths_runtime(""), *context = mem_printf("--context=%s", g->asked);
	CLEANUP(free_ptr)
	char *name = mem_printf("kubectl-%d-%u", (int)getpid(), g->lessor->nr_logins);
	const char *argv[] = { "sh",	    "-c", hosted_login_script,
			       "sandglass", NULL, *g->asked ? context : NULL,
			       NULL };
	int in[2], out[2];
	g->socket = path_join(dir, name);
	argv[4] = g->socket;
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	if (pipe2(in, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	g->hold_fd = in[1];
	if (pipe2(out, O_CLOEXEC) < 0) {
		fd_close(&in[0]);
		return err_sys(err, "can't create a pipe");
	}
	g->said_fd = out[0];
	const int fds[] = { in[0], out[1], out[1] };
	int rc = proc_spawn("/bin/sh", (char *const *)(uintptr_t)argv, environ, fds, ARRAY_LEN(fds),
			    &g->pid, &g->pidfd, err);
	fd_close(&in[0]);
	fd_close(&out[1]);
	return rc;
}

void login_ask(struct remote_op *op)
{
	struct lessor *l = op->lessor;
	struct loop *loop = l->rent->super->loop;
	struct err err = ERR_INIT;
	struct login *g = l->logins, *next;
	op->awaits_login = true;
	for (; g; g = next) {
		next = g->next;
		if (g->over && !g->reader) /* and all that waited for it have heard */
			login_free(g);
		else if (!g->over && hosted_login_answers(g, op))
			break;
	}
	if (g) {
		if (g->up)
			hosted_login_tell(g, NULL);
		return;
	}
	g = NEW(struct login);
	*g = (struct login){ .next = l->logins,
			     .lessor = l,
			     .asked = mem_strdup(context_of(op)),
			     .pidfd = -1,
			     .said_fd = -1,
			     .hold_fd = -1,
			     .url = mem_printf("http://localhost:%u", ++l->nr_logins) };
	l->logins = g;
	if (hosted_login_start(g, &err) < 0) {
		hosted_login_fail(g, err.text);
		return;
	}
	g->reader = loop_fd_new(loop, g->said_fd, LOOP_READ, hosted_login_on_said, g);
	g->watch = loop_fd_new(loop, g->pidfd, LOOP_READ, hosted_login_on_ended, g);
	g->limit = loop_timer_new(loop, hosted_login_on_limit, g);
	loop_timer_set(g->limit, START_MS, 0);
}
