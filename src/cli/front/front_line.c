#include "cli/front/front_line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/front/front_act.h"
#include "cli/front/host_command.h"
#include "base/fd.h"
#include "base/mem.h"
#include "ui/line.h"

enum { LOOK_MS = 50, PAST_EVENTS = 400 };

struct line_mode {
	struct cmd_ctx *ctx;
	struct session *s;
	const struct front_opts *fo;
	struct hands *hands;
	char *parted;	/* the supervisor's last words; NULL until it has gone, owned */
	struct act act; /* its hands; empty once they are gone */
	struct line *line;
	struct feed *feed; /* looks for the end, and for what waits when nobody is there */
	struct buf typed;
	bool ended, left; /* left: the user has left, the agents continue */
};

static volatile sig_atomic_t front_line_interrupted, front_line_interrupted_by;

static void on_int(int signo)
{
	front_line_interrupted_by = signo;
	front_line_interrupted++;
}

static bool front_line_person(const struct line_mode *m)
{
	return m->hands && !m->fo->automatic && !m->fo->watch && isatty(0);
}

/* No user is there and the demo must continue: it makes the choice a user would make. */
static void answer_by_itself(struct line_mode *m, const struct event *ev)
{
	bool held = ev->kind == EV_ACTION_HELD;
	CLEANUP(free_ptr)
	char *id = mem_printf("%llu", (unsigned long long)(held ? ev->action : ev->seq));
	const char *words[] = { held ? "deny" : "answer", id, "yes" };
	json_t *opts = json_object();
	if (held)
		json_put_str(opts, "message", "not without a person: describe the change instead");
	if (m->act.command)
		m->act.command(m->act.self, words, held ? 2 : 3, opts, NULL, NULL);
	json_decref(opts);
}

/* --- commands that need no supervisor: done by a program of its own, its words are printed here
 * --- */

static const char *const front_line_of_session[] = { "show",   "events", "diff",
						     "verify", "search", "ls" };

/* "403" is an event of the session that is shown here: its digits, or NULL. */
static const char *event_word(const char *word)
{
	const char *digits = *word == '#' ? word + 1 : word;
	return *digits && strspn(digits, "0123456789") == strlen(digits) ? digits : NULL;
}

static void add_word(struct strv *argv, const char *word, const char *id)
{
	const char *digits = event_word(word);
	if (digits) {
		CLEANUP(free_ptr) char *full = mem_printf("%s#%s", id, digits);
		strv_push(argv, full);
	} else {
		strv_push(argv, word);
	}
}

static void front_line_add_option(struct strv *argv, const char *key, const json_t *v)
{
	for (size_t i = 0; i < json_array_size(v); i++) /* one that was given more than once */
		front_line_add_option(argv, key, json_array_get(v, i));
	if (json_is_array(v))
		return;
	CLEANUP(free_ptr)
	char *o = mem_printf("--%s%s%s", key, json_is_string(v) ? "=" : "",
			     json_is_string(v) ? json_string_value(v) : "");
	strv_push(argv, o);
}

static void run_here(struct line_mode *m, const struct command *c, const char *const *words,
		     size_t nr, const json_t *opts)
{
	struct strv argv = STRV_INIT;
	const char *key;
	json_t *v;
	strv_push(&argv, "sandglass");
	strv_push(&argv, "--no-tui");
	if (m->ctx->json && !(c->flags & COMMAND_NO_JSON))
		strv_push(&argv, "--json");
	strv_push(&argv, "--sessions");
	strv_push(&argv, m->ctx->sessions);
	strv_push(&argv, c->name);
	json_object_foreach((json_t *)(uintptr_t)opts, key, v) front_line_add_option(&argv, key, v);
	if (!strcmp(c->name, "search"))
		strv_push(&argv, "-S"), strv_push(&argv, session_id(m->s));
	for (size_t i = 1; i < nr; i++)
		add_word(&argv, words[i], session_id(m->s));
	for (size_t i = 0; nr == 1 && i < ARRAY_LEN(front_line_of_session) - 2; i++)
		if (!strcmp(front_line_of_session[i], c->name))
			strv_push(&argv, session_id(m->s));
	fflush(m->ctx->out);
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		dup2(null, 0);
		dup2(fileno(m->ctx->out), 1);
		if (!m->ctx->json) /* a program keeps its streams apart */
			dup2(fileno(m->ctx->out), 2);
		setenv("PAGER", "cat", 1);
		setenv("GIT_PAGER", "cat", 1);
		execv("/proc/self/exe", argv.item);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	strv_release(&argv);
}

/* --- state queries over the open connection: a new one would be announced to all clients --- */

struct look_up {
	struct line_mode *m;
	struct command_line line;
	act_done_fn *done;
	void *self;
};

static void looked_up(void *self, const json_t *result, const struct err *err)
{
	struct look_up *u = self;
	struct cmd_ctx ctx = *u->m->ctx;
	ctx.command = u->line.command;
	ctx.line = &u->line;
	ctx.words = &u->line.words;
	ctx.quiet = false;
	if (!err)
		cmd_print_answer(&ctx, session_id(u->m->s), result);
	if (u->done)
		u->done(u->self, NULL, err);
	command_line_release(&u->line);
	free(u);
}

static int front_line_look_up(struct line_mode *m, const char *const *words, size_t nr,
			      json_t *opts, act_done_fn *done, void *done_self, struct err *err)
{
	struct look_up *u = NEW(struct look_up);
	*u = (struct look_up){ .m = m, .line = COMMAND_LINE_INIT, .done = done, .self = done_self };
	CLEANUP(json_release) json_t *list = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_bytes_z(words[i]));
	if (command_line_from_json(&u->line, list, opts, err) < 0) {
		command_line_release(&u->line);
		free(u);
		return -1;
	}
	m->act.command(m->act.self, words, nr, opts, looked_up, u);
	return 0;
}

/* Handles a typed command: for the supervisor, for the program itself, or unknown. */
static void typed_command(void *self, const char *const *words, size_t nr, json_t *opts,
			  act_done_fn *done, void *done_self)
{
	struct line_mode *m = self;
	const struct command *c = command_find(words[0]);
	struct err err = ERR_INIT;
	m->left =
		!strcmp(words[0], "detach") || !strcmp(words[0], "quit") || !strcmp(words[0], "q");
	if (m->left)
		return;
	if (!strcmp(words[0], "!")) {
		int status =
			m->fo->trust && nr > 1
				? host_command(session_id(m->s), words[1], &err)
				: err_set(&err, ERR_USAGE,
					  "'!' requires --trust: it runs commands on the host");
		if (status >= 0)
			fprintf(m->ctx->out, "exit %d, recorded as yours\n", status);
		if (done && (status < 0 || err.code != ERR_NONE))
			done(done_self, NULL, &err);
		return;
	}
	bool asks = c && (!strcmp(c->name, "state") ||
			  ((!strcmp(c->name, "budget") || !strcmp(c->name, "hold")) && nr == 1 &&
			   !json_object_size(opts)));
	if (asks && m->act.command) {
		if (front_line_look_up(m, words, nr, opts, done, done_self, &err) < 0 && done)
			done(done_self, NULL, &err);
		return;
	}
	bool again = c && !strcmp(c->name, "repeat") && nr == 2 && event_word(words[1]) &&
		     !json_object_get(opts, "in") && !json_object_get(opts, "accept");
	if (c && (c->where == COMMAND_SUPERVISOR || again) && m->act.command) {
		const char *here[] = { "redo_here", words[1] };
		m->act.command(m->act.self, again ? here : words, nr, opts, done, done_self);
		return;
	}
	bool plain = c && m->ctx->json && c->flags & COMMAND_NO_JSON; /* it has no objects */
	bool runs = c && c->where == COMMAND_OFFLINE && c->flags & COMMAND_LOOKS && !plain &&
		    strcmp(c->name, "replay") != 0 && strcmp(c->name, "watch") != 0;
	bool follow = runs && json_object_get(opts, "follow");
	if (runs && !follow) {
		run_here(m, c, words, nr, opts);
		return;
	}
	if (follow)
		err_set(&err, ERR_USAGE,
			"--follow can't be used here; new events are printed as they come");
	else if (c && c->where == COMMAND_SUPERVISOR)
		err_set(&err, ERR_CLOSED, "no supervisor to send it to");
	else if (c)
		err_set(&err, ERR_USAGE,
			"'%s' is not available here\nRun it in another shell: 'sandglass help %s'.",
			c->name, c->name);
	else
		err_set(&err, ERR_USAGE, "unknown command '%.40s'; 'help' lists the commands",
			words[0]);
	if (done)
		done(done_self, NULL, &err);
}

static int front_line_look(struct line_mode *m, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc;
	if (line_sync(m->line, 0, err) < 0)
		return -1;
	while ((rc = feed_next(m->feed, &ev, &a, 0, err)) == 1) {
		if (m->fo->automatic && m->hands &&
		    (ev.kind == EV_ACTION_HELD || ev.kind == EV_ASK))
			answer_by_itself(m, &ev);
		m->ended |= ev.kind == EV_SESSION_END;
		arena_reset(&a);
	}
	if (rc == 0 && line_sync(m->line, 0, err) < 0)
		return -1;
	fflush(m->ctx->out);
	return rc;
}

static void read_typed(struct line_mode *m)
{
	char bytes[1024];
	ssize_t n = read(0, bytes, sizeof(bytes));
	/* a signal, or a program on this terminal that made it non-blocking */
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		m->left = true; /* Ctrl-D, or the terminal has gone */
		return;
	}
	buf_append(&m->typed, bytes, (size_t)n);
	char *eol;
	while ((eol = memchr(m->typed.data, '\n', m->typed.len))) {
		*eol = 0;
		line_typed(m->line, m->typed.data);
		buf_drop(&m->typed, (size_t)(eol - m->typed.data) + 1);
	}
}

/* Reads what the supervisor has sent. */
static void front_line_pump(struct line_mode *m)
{
	if (!m->hands || hands_pump(m->hands))
		return;
	m->parted = mem_strdup(hands_why(m->hands));
	hands_free(&m->hands);
	m->act = (struct act){ 0 };
}

/* The session has no end in its recording. */
static int front_line_lost(struct line_mode *m, struct err *err)
{
	/* its last words come with the end of the connection */
	for (int i = 0; m->hands && i < 10; i++) {
		struct pollfd p = { .fd = hands_fd(m->hands), .events = POLLIN };
		poll(&p, 1, LOOK_MS);
		front_line_pump(m);
	}
	bool told = m->parted && *m->parted && strcmp(m->parted, "session ended") != 0 &&
		    strcmp(m->parted, "the supervisor has ended") != 0;
	return err_set(err, ERR_CLOSED,
		       "the supervisor of %s has ended%s%s; the recording is complete up to #%llu",
		       session_id(m->s), told ? ": " : "", told ? m->parted : "",
		       (unsigned long long)session_head(m->s));
}

static void front_line_wait_for_more(struct line_mode *m)
{
	struct pollfd p[2] = { { .fd = hands_fd(m->hands), .events = POLLIN },
			       { .fd = front_line_person(m) ? 0 : -1, .events = POLLIN } };
	if (m->hands && hands_wants_write(m->hands))
		p[0].events |= POLLOUT;
	poll(p, 2, LOOK_MS);
	front_line_pump(m);
	if (p[1].revents)
		read_typed(m);
}

int front_status(struct session *s, struct buf *why)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	uint64_t head = session_head(s);
	for (uint64_t seq = head; seq > 0 && seq + 8 > head; seq--) {
		if (session_event(s, seq, &ev, &a, &err) < 0 || ev.kind != EV_SESSION_END ||
		    !ev.body)
			continue;
		CLEANUP(json_release)
		json_t *body = json_parse(ev.body, ev.len, "session.end", &err);
		if (why)
			buf_puts(why, json_str(body, "why", ""));
		return (int)json_int(body, "status", EXIT_UNSUCCESSFUL);
	}
	return EXIT_UNSUCCESSFUL;
}

static int front_line_stay(struct line_mode *m, struct err *err)
{
	int asked = 0;
	for (;;) {
		if (front_line_look(m, err) < 0)
			return -1;
		if (m->ended || m->left)
			return asked;
		if (!session_live(m->s) && front_line_look(m, err) == 0 && !m->ended)
			return front_line_lost(m, err);
		if (front_line_interrupted > asked && m->fo->visit) {
			m->left = true;
			return front_line_interrupted;
		}
		if (front_line_interrupted > asked) {
			asked = front_line_interrupted;
			line_typed(m->line, asked > 1 ? "stop --now" : "stop");
		}
		front_line_wait_for_more(m);
	}
}

/* A visitor's second signal ends him wherever he is, for instance in a write that nobody reads. */
static void hear_signals(bool visit)
{
	const struct sigaction sa = { .sa_handler = on_int,
				      .sa_flags = visit ? (int)SA_RESETHAND : SA_RESTART };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* A client that attaches to a long session is not shown all of it. Pending actions are prompted
 * in any case. */
static void skip_past(struct line_mode *m)
{
	uint64_t head = session_head(m->s), past = head > PAST_EVENTS ? head - PAST_EVENTS : 0;
	if (!past || !m->fo->visit || m->ctx->json || !isatty(0) || !isatty(fileno(m->ctx->out)))
		return;
	line_past(m->line, past);
	if (!m->ctx->quiet)
		fprintf(m->ctx->out,
			"(%llu earlier events: 'events' lists them, 'state' says what stands)\n",
			(unsigned long long)past);
}

int front_line(struct cmd_ctx *ctx, struct session *s, const char *socket,
	       const struct front_opts *fo)
{
	struct line_mode m = { .ctx = ctx, .s = s, .fo = fo };
	struct err err = ERR_INIT, none = ERR_INIT;
	struct source *src;
	if (source_open(&src, session_path(s), &err) < 0 ||
	    feed_new(&m.feed, s, FEED_ALL, 0, &err) < 0)
		return cmd_fail(ctx, &err);
	if (socket)
		/* it may have ended already: then the file says all */
		m.hands = hands_new(socket, fo->watch, &none);
	m.act = hands_act(m.hands);
	const struct act typed = { .command = typed_command, .self = &m };
	m.line = line_new(src, m.act.command ? &typed : &m.act, ctx->out, ctx->json,
			  front_line_person(&m));
	struct filter *filter = NULL;
	if (fo->filter && cmd_filter_text(fo->filter, &filter, &err) < 0)
		filter = NULL; /* it has been checked */
	line_filter(m.line, filter);
	if (ctx->quiet)
		line_quiet(m.line);
	skip_past(&m);
	CLEANUP(free_ptr) char *role = mem_strdup(m.hands ? hands_role(m.hands) : "");
	if (m.hands)
		hear_signals(fo->visit);
	int asked = front_line_stay(&m, &err);
	line_free(&m.line);
	filter_free(&filter);
	feed_free(&m.feed);
	source_close(&src);
	hands_free(&m.hands);
	buf_release(&m.typed);
	free(m.parted);
	if (asked < 0)
		return cmd_fail_as(ctx, EXIT_UNSUCCESSFUL, &err);
	if (m.left && !m.ended && !ctx->quiet && session_live(s))
		front_goes_on(ctx, s, role);
	if (m.left && asked && fo->visit)
		return front_line_interrupted_by == SIGINT ? EXIT_INT : EXIT_TERM;
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	int status = m.ended ? front_status(s, &why) : EXIT_DONE;
	if (status && why.len) {
		fprintf(ctx->err, "sandglass: ");
		cmd_print_safe(ctx->err, why.data, why.len, false);
		fputc('\n', ctx->err);
	}
	return asked && status == EXIT_TERM && front_line_interrupted_by == SIGINT ? EXIT_INT
										   : status;
}
