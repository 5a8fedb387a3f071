#include "cli/front/front_console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/front/front_act.h"
#include "cli/front/front_browse.h"
#include "cli/front/front_fleet.h"
#include "cli/front/front_line.h"
#include "cli/front/front_looks.h"
#include "cli/front/front_terminal.h"
#include "cli/front/host_command.h"
#include "base/fd.h"
#include "ui/console.h"
#include "ui/term/foreground.h"

enum { STOP_TICKS = 100, STOP_TICK_US = 50000 };

/* The same program once more: "sandglass shell BOX --in SESSION" on this terminal. */
static int own_shell(void *self, const char *session, const char *box, struct err *err)
{
	(void)self;
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, "can't start a shell");
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/proc/self/exe", "sandglass", "shell", box, "--in", session, (char *)NULL);
		_exit(127);
	}
	struct sigaction ign = { .sa_handler = SIG_IGN }, was;
	sigaction(SIGINT, &ign, &was);
	int status = foreground_wait(pid);
	sigaction(SIGINT, &was, NULL);
	if (status < 0)
		return err_sys(err, "can't wait for the shell");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* "sandglass attach --agent AGENT SESSION" on this terminal. A console that the terminal's own
 * overlay has opened (front_terminal.c) goes back to it instead. */
static int own_terminal(void *self, const char *session, const char *agent, struct err *err)
{
	const char *from = getenv(FRONT_TERMINAL_FROM);
	CLEANUP(free_ptr) char *here = mem_printf("%s %s", session, agent);
	(void)self;
	if (from && !strcmp(from, here))
		return CONSOLE_BACK;
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, "can't attach to the agent");
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		unsetenv(FRONT_TERMINAL_FROM);
		execl("/proc/self/exe", "sandglass", "attach", "--agent", agent, session,
		      (char *)NULL);
		_exit(127);
	}
	int status = foreground_wait(pid);
	if (status < 0)
		return err_sys(err, "can't wait for the terminal");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* "sandglass claims --json FILE", of which we read: a grandchild, so that nothing waits for it. */
static int own_claims(void *self, const char *path)
{
	int fds[2];
	(void)self;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	fcntl(fds[0], F_SETFL, O_NONBLOCK); /* only our end: the writer waits while it is full */
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		int null = open("/dev/null", O_RDWR);
		if (fork() != 0)
			_exit(0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setpgid(0, 0);
		dup2(null, 0);
		dup2(fds[1], 1);
		dup2(null, 2);
		execl("/proc/self/exe", "sandglass", "claims", "--json", "--", path, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	else
		fd_close(&fds[0]);
	return fds[0];
}

/* A command of the user's own on the host. Not before the record has it; its end follows. */
static int own_host(void *self, const char *session, const char *cmd, struct err *err)
{
	(void)self;
	return host_command(session, cmd, err);
}

/* The console stays open when its session ends, so that one can look at what happened; leaving it
 * then gives the session's own status. */
int front_console(struct cmd_ctx *ctx, const char *path, const char *socket,
		  const struct front_opts *fo)
{
	struct err err = ERR_INIT, unreachable = ERR_INIT;
	struct hands *h = socket ? hands_new(socket, fo->watch, &unreachable) : NULL;
	struct console_source src = { .path = path, .act = hands_act(h), .wake_fd = hands_fd(h) };
	if (h) {
		src.pump = hands_pump;
		src.again = hands_again;
		src.wants_write = hands_wants_write;
		src.self = h;
	}
	struct front_browse *browse = front_browse_new(ctx);
	CLEANUP(free_ptr) char *role = mem_strdup(h ? hands_role(h) : "");
	struct console_opts o = {
		.source = &src,
		.nr_sources = 1,
		.browse = front_browse_ops(browse),
		.claims = own_claims,
		.shell = fo->watch || *role ? NULL : own_shell,
		.terminal = fo->watch || *role ? NULL : own_terminal,
		.host = fo->trust && !*role ? own_host : NULL,
		.filter = fo->filter,
		.hints = fo->coach ? CONSOLE_HINTS_ALL : CONSOLE_HINTS_NEW,
		.greeting =
			fo->coach
				? "Watch: fix runs the failing test. Enter looks inside; a opens pending approvals; ? all keys"
			: fo->watch ? "watching: nothing can be changed from here"
			: !strcmp(role, "watch")
				? "this session is shared with you to watch: nothing can be changed from here"
			: !strcmp(role, "decide")
				? "this session is shared with you: what waits, you may decide"
				: fo->greeting,
		.notes_fd = fo->notes,
	};
	struct looks looks;
	looks_open(&looks, ctx, &o);
	int status = console_main(&o, &err);
	looks_release(&looks);
	front_browse_free(&browse);
	hands_free(&h);
	if (status < 0)
		return cmd_fail(ctx, &err);
	if (status == CONSOLE_TAKEN)
		return EXIT_DONE;
	bool stopped = status == CONSOLE_STOPPED;
	struct session *s;
	if (session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	status = EXIT_DONE;
	for (int i = 0; stopped && i < STOP_TICKS && session_live(s); i++)
		usleep(STOP_TICK_US);
	if (stopped && session_live(s)) {
		fprintf(ctx->err,
			"sandglass: stopping %s; 'sandglass ls' shows when it has ended\n",
			session_id(s));
	} else if (session_live(s)) {
		front_goes_on(ctx, s, role);
	} else {
		CLEANUP(buf_release) struct buf why = BUF_INIT;
		status = front_status(s, &why);
		if (status && why.len) {
			fprintf(ctx->err, "sandglass: ");
			cmd_print_safe(ctx->err, why.data, why.len, false);
			fputc('\n', ctx->err);
		}
	}
	session_close(&s);
	return status;
}

int front_console_sessions(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	struct front_browse *browse = front_browse_new(ctx);
	struct console_opts o = { .browse = front_browse_ops(browse), .host = NULL };
	struct looks looks;
	looks_open(&looks, ctx, &o);
	o.hints = CONSOLE_HINTS_NONE;
	int status = console_main(&o, &err);
	looks_release(&looks);
	front_browse_free(&browse);
	return status < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}

static const char *all_greeting(const struct front_opts *fo)
{
	return fo->watch
		       ? "watching all sessions: nothing can be changed from here"
		       : "all sessions that run; later ones join by themselves; :group groups them, S sorts";
}

int front_console_all(struct cmd_ctx *ctx, const struct front_opts *fo)
{
	struct err err = ERR_INIT;
	struct console_source src[CONSOLE_SOURCES];
	size_t nr = 0;
	struct fleet_watch *f = fleet_watch_new(fo->watch, &err);
	if (!f)
		return cmd_fail(ctx, &err);
	struct front_browse *browse = front_browse_new(ctx);
	while (nr < CONSOLE_SOURCES && fleet_watch_next(f, &src[nr]))
		nr++;
	struct console_opts o = {
		.source = src,
		.nr_sources = nr,
		.browse = front_browse_ops(browse),
		.claims = own_claims,
		.greeting = all_greeting(fo),
		.more_fd = fleet_watch_fd(f),
		.more = fleet_watch_next,
		.self = f,
		.shell = fo->watch ? NULL : own_shell,
		.terminal = fo->watch ? NULL : own_terminal,
		.host = fo->trust ? own_host : NULL,
		.filter = fo->filter,
	};
	struct looks looks;
	looks_open(&looks, ctx, &o);
	int status = console_main(&o, &err);
	looks_release(&looks);
	front_browse_free(&browse);
	fleet_watch_free(&f);
	if (status < 0)
		return cmd_fail(ctx, &err);
	fputs(status == CONSOLE_STOPPED
		      ? "sandglass: stopping the sessions; 'sandglass ls' shows when they have ended\n"
		      : "sandglass: the agents continue; run 'sandglass attach' to open the console again\n",
	      ctx->err);
	return EXIT_DONE;
}
