#include "app/front_line.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "app/cmd_inner.h"
#include "app/describe.h"
#include "base/clock.h"
#include "base/fd.h"
#include "control/client.h"

enum { LOOK_MS = 50, AUTO_DELAY_MS = 300 };

struct line_mode {
	struct cmd_ctx *ctx;
	struct session *s;
	struct control_client *c;
	const struct front_opts *fo;
	struct agent_names names;
	struct buf typed;
	bool ended, input_gone;
};

static volatile sig_atomic_t interrupted;

static void on_int(int signo)
{
	(void)signo;
	interrupted++;
}

/* --- sending --- */

static void on_reply(void *self, uint64_t id, const json_t *result, const struct err *err)
{
	struct line_mode *m = self;
	(void)id;
	(void)result;
	if (err)
		fprintf(m->ctx->err, "sandglass: %s\n", err->text);
}

static void send_line(struct line_mode *m, const char *text)
{
	struct command_line l = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	if (command_parse_text(&l, text, &err) < 0)
		fprintf(m->ctx->err, "%s\n", err.text);
	else if (!l.command)
		;
	else if (l.command->where != COMMAND_SUPERVISOR)
		fprintf(m->ctx->err, "'%s' cannot be used here; in another shell: sandglass %s\n", l.command->name, text);
	else
		control_client_send(m->c, command_line_words(&l), command_line_opts(&l));
	command_line_release(&l);
}

/* --- printing --- */

static void print_prompt(struct line_mode *m, const struct event *ev)
{
	if (m->fo->automatic || m->fo->watch || !isatty(0))
		return;
	fprintf(m->ctx->out, "#%llu waits:  approve %llu   deny %llu -m TEXT   show %llu   (Enter alone: later)\n",
		(unsigned long long)ev->action, (unsigned long long)ev->action, (unsigned long long)ev->action,
		(unsigned long long)ev->action);
}

static bool is_quiet(uint16_t kind)
{
	/* what only machines need: frames, modules, checkpoints, judgements that allowed */
	return kind == EV_HOST_FRAME || kind == EV_HOST_MODULE || kind == EV_OUTPUT || kind == EV_AGENT_STATE ||
	       kind == EV_CONTROL_ATTACH || kind == EV_CONTROL_DETACH || kind == EV_MODEL_CALL || kind == EV_HOST_START ||
	       kind == EV_ACTION_JUDGED || kind == EV_ACTION_STARTED || kind == EV_CONTROL_COMMAND;
}

static void print_event(struct line_mode *m, const struct event *ev)
{
	if (m->ctx->json) {
		cmd_json(m->ctx, cmd_event_json(ev));
		return;
	}
	if (is_quiet(ev->kind) && !m->ctx->verbose)
		return;
	struct buf line = BUF_INIT, safe = BUF_INIT;
	clock_local_hms(ev->ts_us, false, &line);
	const char *who = agent_name(&m->names, m->s, ev->agent);
	buf_printf(&line, "  %-12s ", *who ? who : "-");
	describe_event(ev, &line);
	cmd_safe(&safe, line.data, line.len, false);
	fprintf(m->ctx->out, "%s\n", buf_cstr(&safe));
	buf_release(&line);
	buf_release(&safe);
}

/* Nobody is there, and the demo must go on: it shows what a person would do. */
static void answer_by_itself(struct line_mode *m, const struct event *ev)
{
	struct buf text = BUF_INIT;
	if (ev->kind == EV_ACTION_HELD)
		buf_printf(&text, "deny %llu -m 'not without a person: describe the change instead'", (unsigned long long)ev->action);
	else
		buf_printf(&text, "answer %llu yes", (unsigned long long)ev->seq);
	send_line(m, text.data);
	buf_release(&text);
}

static int print_new(struct line_mode *m, struct feed *f, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		print_event(m, &ev);
		if (ev.kind == EV_ACTION_HELD && !m->ctx->json)
			print_prompt(m, &ev);
		if (m->fo->automatic && m->c && (ev.kind == EV_ACTION_HELD || ev.kind == EV_ASK))
			answer_by_itself(m, &ev);
		m->ended |= ev.kind == EV_SESSION_END;
		arena_reset(&a);
	}
	fflush(m->ctx->out);
	return rc;
}

/* --- typing --- */

static void read_typed(struct line_mode *m)
{
	char bytes[1024];
	ssize_t n = read(0, bytes, sizeof(bytes));
	if (n <= 0) {
		m->input_gone = true;
		return;
	}
	buf_append(&m->typed, bytes, (size_t)n);
	char *eol;
	while ((eol = memchr(m->typed.data, '\n', m->typed.len))) {
		*eol = 0;
		if (*m->typed.data)
			send_line(m, m->typed.data);
		buf_drop(&m->typed, (size_t)(eol - m->typed.data) + 1);
	}
}

static void wait_for_more(struct line_mode *m)
{
	bool type = m->c && !m->input_gone && !m->fo->automatic && !m->fo->watch && isatty(0);
	struct pollfd p[2] = { { .fd = m->c ? control_client_fd(m->c) : -1, .events = POLLIN },
			       { .fd = type ? 0 : -1, .events = POLLIN } };
	if (m->c && control_client_wants_write(m->c))
		p[0].events |= POLLOUT;
	poll(p, 2, LOOK_MS);
	if (m->c)
		control_client_pump(m->c);
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
		if (session_event(s, seq, &ev, &a, &err) < 0 || ev.kind != EV_SESSION_END || !ev.body)
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "session.end", &err);
		if (why)
			buf_puts(why, json_str(body, "why", ""));
		return (int)json_int(body, "status", EXIT_UNSUCCESSFUL);
	}
	return EXIT_UNSUCCESSFUL;
}

int front_line(struct cmd_ctx *ctx, struct session *s, const char *socket, const struct front_opts *fo)
{
	struct line_mode m = { .ctx = ctx, .s = s, .fo = fo };
	const struct control_client_opts o = { .watch = fo->watch };
	const struct control_client_ops ops = { .reply = on_reply };
	struct err err = ERR_INIT;
	struct feed *f;
	int asked = 0, rc = 0;
	if (feed_new(&f, s, FEED_ALL, 0, &err) < 0)
		return cmd_fail(ctx, &err);
	if (socket && control_client_open(&m.c, socket, &o, &ops, &m, &err) < 0)
		m.c = NULL; /* it may have ended already: then the file says all */
	if (m.c && !fo->watch) {
		signal(SIGINT, on_int);
		signal(SIGTERM, on_int);
	}
	while (!m.ended && rc == 0) {
		rc = print_new(&m, f, &err) < 0 ? -1 : 0;
		if (m.ended || rc < 0)
			break;
		if (!session_live(s) && (rc = print_new(&m, f, &err) < 0 ? -1 : 0, !m.ended)) {
			fprintf(ctx->err, "sandglass: the supervisor of %s is gone; 'resume' goes on with it\n", session_id(s));
			break;
		}
		if (interrupted > asked) {
			asked = interrupted;
			if (m.c)
				send_line(&m, asked > 1 ? "stop --now" : "stop -m 'stopped at the terminal'");
		}
		wait_for_more(&m);
	}
	if (rc < 0)
		fprintf(ctx->err, "sandglass: %s\n", err.text);
	feed_free(&f);
	control_client_free(&m.c);
	agent_names_release(&m.names);
	buf_release(&m.typed);
	if (rc < 0 || !m.ended)
		return EXIT_UNSUCCESSFUL;
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	int status = front_status(s, &why);
	if (status && why.len && !ctx->json) {
		fprintf(ctx->err, "sandglass: ");
		cmd_print_safe(ctx->err, why.data, why.len, false);
		fputc('\n', ctx->err);
	}
	return asked && status == EXIT_TERM ? EXIT_INT : status;
}
