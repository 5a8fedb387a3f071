#include "cli/front/front_terminal.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front_line.h"
#include "luahost/library.h"
#include "sessions/unmerged.h"
#include "terminal/prefix_keys.h"
#include "terminal/terminal_view.h"
#include "ui/term/foreground.h"

enum { COME_POLL_MS = 200, END_MS = 20000, PERHAPS_MS = 6000, END_POLL_MS = 20 };

struct coming {
	struct cmd_ctx *ctx;
	const struct front_terminal_opts *o;
	struct session *session;
	uint64_t action, agent,
		told; /* told: the approval, already reported, that the terminal waits for */
	char name[64];
};

static bool terminal_is(const json_t *t, const char *name)
{
	char number[24];
	snprintf(number, sizeof(number), "%" PRId64, json_int(t, "agent", 0));
	return !strcmp(json_str(t, "name", ""), name) || !strcmp(number, name);
}

static const json_t *terminal_row(const json_t *state, const char *name)
{
	const json_t *all = json_object_get(state, "terminals"), *best = NULL;
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *t = json_array_get(all, i);
		if (name ? terminal_is(t, name) : json_int(t, "agent", 0) > 0)
			if (!best || json_int(t, "action", 0) > json_int(best, "action", 0))
				best = t;
	}
	return best;
}

static void terminal_coming(void *self, const json_t *state)
{
	struct coming *w = self;
	const json_t *row = terminal_row(state, w->o->name),
		     *held = json_array_get(json_object_get(state, "held"), 0);
	uint64_t waits = row ? 0 : (uint64_t)json_int(held, "action", 0);
	if (row) {
		w->action = (uint64_t)json_int(row, "action", 0);
		w->agent = (uint64_t)json_int(row, "agent", 0);
		snprintf(w->name, sizeof(w->name), "%s", json_str(row, "name", "the program"));
	} else if (waits && waits != w->told) {
		w->told = waits;
		fprintf(w->ctx->err,
			"sandglass: #%" PRIu64 " is pending approval: 'sandglass approve %" PRIu64
			"' in another terminal\n",
			waits, waits);
	}
}

static const struct control_client_ops coming_ops = { .state = terminal_coming };

static int wait_terminal(struct coming *w, struct control_client *c, struct session *s,
			 struct err *err)
{
	terminal_coming(w, json_object_get(control_client_welcome(c), "state"));
	while (!w->action && w->o->wait) {
		struct pollfd p = { .fd = control_client_fd(c), .events = POLLIN };
		poll(&p, 1, COME_POLL_MS);
		if (!control_client_pump(c) || !session_live(s))
			return 1;
	}
	if (!w->action)
		return err_set(err, ERR_NOENT, "session %s: terminal not found", session_id(s));
	return 0;
}

/* The same program once more, on this terminal. */
static void open_console(void *self)
{
	const struct coming *w = self;
	CLEANUP(free_ptr)
	char *from = mem_printf("%s %" PRIu64, session_id(w->session), w->agent);
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setenv(FRONT_TERMINAL_FROM, from, 1);
		execl("/proc/self/exe", "sandglass", "attach", "--console", session_id(w->session),
		      (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		foreground_wait(pid);
}

static int front_terminal_prefix_of(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err none = ERR_INIT;
	if (config_open(&c, ctx, &none) < 0)
		return '\\' - '@';
	CLEANUP(free_ptr) char *text = config_value(c, "terminal.prefix");
	config_close(&c);
	int prefix = text ? prefix_keys_parse(text) : 0;
	if (text && !prefix)
		fprintf(ctx->err,
			"sandglass: terminal.prefix: expected a control key like 'C-b', got '%s'; Ctrl-\\ is used\n",
			text);
	return prefix ? prefix : '\\' - '@';
}

static void await_end(struct session *s, int most_ms)
{
	for (int ms = 0; session_live(s) && ms < most_ms; ms += END_POLL_MS)
		poll(NULL, 0, END_POLL_MS);
}

/* The session of one program ends with it, after its files have been looked at. */
static int session_status(struct cmd_ctx *ctx, struct session *s, int status)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	await_end(s, END_MS);
	int own = session_live(s) ? status : front_status(s, &why);
	if (own && why.len) {
		fprintf(ctx->err, "sandglass: ");
		cmd_print_safe(ctx->err, why.data, why.len, false);
		fputc('\n', ctx->err);
	}
	return own;
}

static int use_terminal(struct cmd_ctx *ctx, struct control_client *c, struct session *s,
			struct coming *w)
{
	struct err err = ERR_INIT;
	int status = 1;
	const struct terminal_use u = { .client = c,
					.session = s,
					.action = w->action,
					.take = w->o->take,
					.prefix = front_terminal_prefix_of(ctx),
					.fleet = open_console,
					.self = w };
	int end = terminal_use(&u, &status, &err);
	if (end < 0)
		return cmd_fail(ctx, &err);
	switch ((enum terminal_end)end) {
	case TERMINAL_ENDED:
		if (w->o->own) /* who started it reports its unmerged files */
			return session_status(ctx, s, status);
		await_end(s, PERHAPS_MS); /* other agents may keep it running */
		unmerged_tell(ctx, session_path(s));
		return status;
	case TERMINAL_DETACHED:
		fprintf(ctx->err,
			"sandglass: %s continues; 'sandglass attach %s' returns, 'sandglass stop -S %s' ends it\n",
			w->name, session_id(s), session_id(s));
		return EXIT_DONE;
	case TERMINAL_TAKEN:
		fprintf(ctx->err,
			"sandglass: another terminal took over %s; 'sandglass attach --take %s' takes it back\n",
			w->name, session_id(s));
		return EXIT_DONE;
	case TERMINAL_LOST:
		return cmd_fail_with(
			ctx, EXIT_UNSUCCESSFUL,
			"%s: connection to session %s lost\n'sandglass ls' shows its state.",
			w->name, session_id(s));
	}
	return EXIT_UNSUCCESSFUL;
}

int front_terminal(struct cmd_ctx *ctx, const char *path, const char *socket,
		   const struct front_terminal_opts *o)
{
	struct session *s;
	struct control_client *c;
	struct err err = ERR_INIT;
	struct coming w = { .ctx = ctx, .o = o };
	const struct control_client_opts opts = { .stays = true };
	if (session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	int status;
	w.session = s;
	if (control_client_open(&c, socket, &opts, &coming_ops, &w, &err) < 0) {
		status = o->wait && !session_live(s) ? session_status(ctx, s, EXIT_UNSUCCESSFUL)
						     : cmd_fail(ctx, &err);
		session_close(&s);
		return status;
	}
	int rc = wait_terminal(&w, c, s, &err);
	if (rc < 0)
		status = cmd_fail(ctx, &err);
	else if (rc > 0)
		status = session_status(ctx, s, EXIT_UNSUCCESSFUL);
	else
		status = use_terminal(ctx, c, s, &w);
	control_client_free(&c);
	session_close(&s);
	return status;
}

bool front_has_terminal(const char *socket, const char *name)
{
	struct control_client *c;
	struct err none = ERR_INIT;
	const struct control_client_opts opts = { .watch = true };
	if (control_client_open(&c, socket, &opts, NULL, NULL, &none) < 0)
		return false;
	bool has = terminal_row(json_object_get(control_client_welcome(c), "state"), name) != NULL;
	control_client_free(&c);
	return has;
}

bool front_terminal_comes(const char *path)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct session *s;
	struct err none = ERR_INIT;
	struct event ev;
	size_t len;
	const char *own = library_file("agents/interactive.lua", &len);
	if (!own || session_open(&s, path, &none) < 0)
		return false;
	json_t *body = session_event(s, 1, &ev, &a, &none) == 0 && ev.body
			       ? json_parse(ev.body, ev.len, "session.start", &none)
			       : NULL;
	bool comes = json_get_bytes(json_object_get(body, "script_text"), &text) &&
		     text.len == len && !memcmp(text.data, own, len);
	json_decref(body);
	session_close(&s);
	return comes;
}

static void push_number(struct strv *args, const char *flag, int number)
{
	CLEANUP(free_ptr) char *text = mem_printf("%d", number);
	strv_push(args, flag);
	strv_push(args, text);
}

void front_terminal_words(struct strv *args)
{
	static const char *const names[] = {
		"TERM",
		"COLORTERM",
		"TERM_PROGRAM",
		"TERM_PROGRAM_VERSION",
		"LC_TERMINAL",
		"LC_TERMINAL_VERSION",
		"KITTY_WINDOW_ID",
		"KITTY_PID",
		"WT_SESSION",
		"WT_PROFILE_ID",
		"VTE_VERSION",
		"KONSOLE_VERSION",
		"COLORFGBG",
		"NO_COLOR",
		"FORCE_COLOR",
	};
	CLEANUP(buf_release) struct buf env = BUF_INIT;
	struct winsize size;
	if (ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
		push_number(args, "--cols", size.ws_col);
		push_number(args, "--rows", size.ws_row);
		push_number(args, "--xpixel", size.ws_xpixel);
		push_number(args, "--ypixel", size.ws_ypixel);
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);
		if (value && *value && !strpbrk(value, "\n\r"))
			buf_printf(&env, "%s=%s\n", names[i], value);
	}
	if (env.len) {
		strv_push(args, "--env");
		strv_push(args, buf_cstr(&env));
	}
}
