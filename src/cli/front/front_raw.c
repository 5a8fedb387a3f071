/* Only the output of the commands, unchanged: `sandbox exec` behaves like the command itself. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "sessions/follow.h"
#include "cli/front/feed_input.h"
#include "cli/front/front_line.h"
#include "base/fd.h"
#include "control/client.h"
#include "record/record.h"

struct raw {
	struct cmd_ctx *ctx;
	struct session *s;
	uint64_t action, off[3];
	bool ended, started;
};

static const int front_raw_ends[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t front_raw_interrupted, front_raw_interrupted_by;

static void front_raw_on_signal(int signo)
{
	front_raw_interrupted_by = signo;
	front_raw_interrupted++;
}

/* As with a command run without us: Ctrl-C ends it. Again: at once. */
static void front_raw_stop(const char *socket, bool now)
{
	struct control_client *c;
	struct err err = ERR_INIT;
	json_t *words = json_array(), *o = json_object(), *reply = NULL;
	json_array_append_new(words, json_string("stop"));
	if (now)
		json_put_flag(o, "now", true);
	if (control_client_open(&c, socket, NULL, NULL, NULL, &err) < 0) {
		json_decref(words);
		json_decref(o);
		return; /* it has ended */
	}
	if (control_client_call(c, words, o, 10000, &reply, &err) == 0)
		json_decref(reply);
	control_client_free(&c);
}

static int copy_stream(struct raw *r, int stream, FILE *to, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	do {
		buf_reset(&out);
		if (session_output(r->s, r->action, stream, r->off[stream], 1 << 20, &out, err) < 0)
			return -1;
		fwrite(buf_cstr(&out), 1, out.len, to);
		r->off[stream] += out.len;
	} while (out.len == 1 << 20);
	fflush(to);
	return 0;
}

static int front_raw_look(struct raw *r, struct feed *f, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		if (ev.kind == EV_ACTION_REQUESTED && !r->action)
			r->action = ev.seq;
		if (ev.kind == EV_ACTION_HELD)
			fprintf(r->ctx->err,
				"sandglass: pending approval: run 'sandglass approve %" PRIu64
				" -S %s' or deny in another terminal\n",
				ev.action, session_id(r->s));
		r->started |= ev.kind == EV_ACTION_STARTED && ev.action == r->action;
		if ((ev.kind == EV_NOTE || ev.kind == EV_BOX_NOTICE) && ev.body) {
			CLEANUP(json_release)
			json_t *body = json_parse(ev.body, ev.len, "note", err);
			fprintf(r->ctx->err, "sandglass: ");
			cmd_print_safe(r->ctx->err, json_str(body, "text", ""),
				       strlen(json_str(body, "text", "")), false);
			fputc('\n', r->ctx->err);
		}
		r->ended |= ev.kind == EV_SESSION_END;
		arena_reset(&a);
	}
	if (rc == 0 && r->action)
		rc = copy_stream(r, STREAM_OUT, r->ctx->out, err) < 0 ||
				     copy_stream(r, STREAM_ERR, r->ctx->err, err) < 0
			     ? -1
			     : 0;
	return rc;
}

int front_raw(struct cmd_ctx *ctx, struct session *s, const char *socket, bool input)
{
	struct raw r = { .ctx = ctx, .s = s };
	struct err err = ERR_INIT;
	struct feed *f;
	int asked = 0;
	/* a signal comes while we wait, and to this thread: not between a look and a wait */
	sigset_t mine, before;
	sigemptyset(&mine);
	for (size_t i = 0; i < ARRAY_LEN(front_raw_ends); i++)
		sigaddset(&mine, front_raw_ends[i]);
	for (size_t i = 0; i < ARRAY_LEN(front_raw_ends); i++)
		if (signal(front_raw_ends[i], SIG_IGN) != SIG_IGN) /* nohup stays nohup */
			signal(front_raw_ends[i], front_raw_on_signal);
	if (feed_new(&f, s, FEED_ALL, 0, &err) < 0)
		return cmd_fail(ctx, &err);
	struct follow *w = follow_new(s);
	int rc;
	pthread_sigmask(SIG_BLOCK, &mine, &before);
	do {
		rc = front_raw_look(&r, f, &err);
		if (input && r.started) {
			feed_input(socket, r.action);
			input = false;
		}
		/* a command that never stops writing leaves no wait */
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_sigmask(SIG_BLOCK, &mine, NULL);
		if (front_raw_interrupted > asked && !r.ended)
			front_raw_stop(socket, asked++ > 0);
	} while (rc == 0 && !r.ended && follow_wait_mask(w, feed_seq(f), &before));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	follow_free(&w);
	feed_free(&f);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	int status = front_status(s, &why);
	if (status && why.len) {
		fprintf(ctx->err, "sandglass: ");
		cmd_print_safe(ctx->err, why.data, why.len, false);
		fputc('\n', ctx->err);
	}
	return asked && status == EXIT_TERM && front_raw_interrupted_by == SIGINT ? EXIT_INT
										  : status;
}
