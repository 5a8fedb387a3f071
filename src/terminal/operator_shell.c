#include "terminal/operator_shell.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/exit.h"
#include "terminal/operator_tty.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text/sanitize.h"
#include "record/record.h"

/* Keys typed at another prompt do not decide: nothing counts until DEAD_US after the question. A
 * lost terminal hangs up again every HANG_UP_US, because a program that reads may swallow one. */
enum { LOOK_MS = 15, LINE_LOOKED_AT = 4, DEAD_US = 400000, HANG_UP_US = 1000000 };

static volatile sig_atomic_t operator_shell_resized;

static void on_winch(int signo)
{
	(void)signo;
	operator_shell_resized = 1;
}

static json_t *operator_shell_words(const char *verb, uint64_t id)
{
	json_t *w = json_array();
	json_array_append_new(w, json_string(verb));
	char number[24];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	json_array_append_new(w, json_string(number));
	return w;
}

static void operator_shell_send_size(struct control_client *c, uint64_t id)
{
	struct winsize ws;
	if (ioctl(0, TIOCGWINSZ, &ws) < 0)
		return;
	json_t *o = json_object();
	char cols[16], rows[16];
	snprintf(cols, sizeof(cols), "%u", ws.ws_col);
	snprintf(rows, sizeof(rows), "%u", ws.ws_row);
	json_put_str(o, "cols", cols);
	json_put_str(o, "rows", rows);
	control_client_send(c, operator_shell_words("resize", id), o);
}

static void send_bytes(struct control_client *c, uint64_t id, const char *bytes, size_t len)
{
	struct buf b64 = BUF_INIT;
	json_t *o = json_object();
	base64_append(&b64, bytes, len);
	json_put_str(o, "base64", buf_cstr(&b64));
	buf_release(&b64);
	control_client_send(c, operator_shell_words("input", id), o);
}

struct own {
	struct control_client *c;
	struct session *s;
	struct feed *f;
	uint64_t id, off;
	int status;
	bool gave_up, told; /* told: who denied it */
	bool held, tty;
	bool waits, lost; /* what was typed last: the box is frozen; it was too much */
	bool high, sure;  /* the risk is high; "yes" has been typed once */
	bool elsewhere;	  /* a rule requires typing a name: not possible here */
	char *intent;	  /* hex: an approval is bound to this intent */
	int64_t dead_until_us;
	int64_t over_us;  /* input has ended: when this was printed last; 0 */
	struct buf ended; /* its end, if the shell did not exit itself */
	size_t nr_typed;  /* while it is held: of one line */
	char typed[LINE_LOOKED_AT];
};

/* Input is sent unseen. A message appears once if it has to wait or is thrown away. */
static void operator_shell_on_reply(void *self, uint64_t id, const json_t *result,
				    const struct err *err)
{
	struct own *o = self;
	bool waits = json_flag(result, "frozen", false), lost = err && err->code == ERR_FULL;
	(void)id;
	if (lost && !o->lost)
		fprintf(stderr, "\r\n-- %s --\r\n", err->text);
	else if (waits && !o->waits)
		fprintf(stderr,
			"\r\n-- the sandbox is frozen: your input waits until it is thawed --\r\n");
	o->waits = waits || (lost && o->waits);
	o->lost = lost;
}

static void operator_shell_put_safe(const char *before, const char *text, const char *after)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &safe);
	fprintf(stderr, "%s%s%s", before, buf_cstr(&safe), after);
}

/* Input typed before the question was on the screen does not answer it. */
static void ask_anew(struct own *o)
{
	o->nr_typed = 0;
	o->sure = false;
	o->dead_until_us = clock_mono_us() + DEAD_US;
	if (o->tty)
		tcflush(0, TCIFLUSH);
}

/* A shell that waits shows nothing: without this it would look like one that hangs. */
static void tell_held(struct own *o, const json_t *body)
{
	const json_t *reasons = json_object_get(body, "reasons");
	bool ask = false;
	for (size_t i = 0; i < json_array_size(reasons); i++)
		ask |= strcmp(json_string_value(json_array_get(reasons, i)), "ask") == 0;
	const char *rule = ask ? json_str(body, "rule", "") : "",
		   *why = ask ? json_str(body, "why", "") : "";
	free(o->intent);
	o->intent = mem_strdup(json_str(body, "intent", ""));
	o->high = strcmp(json_str(body, "risk", ""), "high") == 0;
	o->elsewhere = *json_str(body, "type", "") != 0;
	fprintf(stderr, "this shell is pending approval: #%" PRIu64 "%s, ", o->id,
		o->high ? ", RISK high" : "");
	operator_shell_put_safe("", rule,
				*rule ? " asks"
				: ask ? "no rule lets it run"
				      : "its agent or everything is paused");
	operator_shell_put_safe(*why ? ": " : "", why, "\r\n");
	if (o->elsewhere)
		fprintf(stderr,
			"'sandglass approve %" PRIu64
			" --confirm ...' approves it in another terminal; Ctrl-C cancels it\r\n",
			o->id);
	else
		fprintf(stderr,
			"Type 'yes' and Enter%s to approve it; Ctrl-C cancels it. Other input is discarded.\r\n",
			o->high ? " twice" : "");
	o->held = true;
	ask_anew(o);
}

static void operator_shell_decide(struct own *o, const char *verb, const char *message)
{
	struct err err = ERR_INIT;
	json_t *opts = json_object(), *reply = NULL;
	if (message)
		json_put_str(opts, "message", message);
	if (*o->intent)
		json_put_str(opts, "intent", o->intent);
	if (control_client_call(o->c, operator_shell_words(verb, o->id), opts, 10000, &reply,
				&err) < 0)
		fprintf(stderr, "%s\r\n%s%s", err.text, err.hint, *err.hint ? "\r\n" : "");
	json_decref(reply);
}

/* At high risk twice, and nothing between (as in the approval's screen). */
static void typed_line(struct own *o)
{
	bool yes = o->nr_typed == 3 && memcmp(o->typed, "yes", 3) == 0, sure = o->sure || !o->high;
	if (o->nr_typed)
		fprintf(stderr, "\r\n");
	o->nr_typed = 0;
	o->sure = yes;
	if (yes && sure && !o->elsewhere)
		operator_shell_decide(o, "approve", NULL);
	else if (yes && !o->elsewhere)
		fprintf(stderr,
			"the risk is high: type yes and Enter again to approve #%" PRIu64 "\r\n",
			o->id);
}

static void operator_shell_give_up(struct own *o)
{
	o->gave_up = true;
	fprintf(stderr, "\r\n");
	operator_shell_decide(o, "deny", "the client closed this shell");
}

/* Nothing that is typed before the shell runs may reach it: it was typed at something else. */
static void typed_while_held(struct own *o, const char *bytes, size_t len)
{
	bool dead = clock_mono_us() < o->dead_until_us;
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];
		if (c == '\003' || c == '\004') {
			operator_shell_give_up(o);
			return;
		}
		if (dead)
			continue;
		if (c == '\r' || c == '\n') {
			typed_line(o);
			return;
		}
		if (o->nr_typed < sizeof(o->typed))
			o->typed[o->nr_typed++] = c;
		if (c >= ' ' && c < 127)
			fputc(c, stderr);
	}
}

/* Input has ended: a pending shell is given up, once; a running one gets end of file until it
 * exits. */
static void nothing_typed(struct own *o)
{
	int64_t now = clock_mono_us();
	if (o->held && !o->gave_up)
		operator_shell_give_up(o);
	else if (!o->held && (!o->over_us || now > o->over_us + HANG_UP_US))
		send_bytes(o->c, o->id, "\004", 1);
	else
		return;
	o->over_us = now;
}

static void operator_shell_typed(struct own *o)
{
	char bytes[4096];
	ssize_t n = read(0, bytes, sizeof(bytes));
	if (n == 0 || (n < 0 && errno == EIO)) /* EIO: the terminal has gone */
		nothing_typed(o);
	else if (n > 0 && o->held)
		typed_while_held(o, bytes, (size_t)n);
	else if (n > 0)
		send_bytes(o->c, o->id, bytes, (size_t)n);
}

/* "denied by ann: not now". */
static void tell_denied(struct own *o, const json_t *body)
{
	const char *who = json_str(json_object_get(body, "who"), "name", NULL),
		   *message = json_str(body, "message", "");
	if (strncmp(json_str(body, "decision", ""), "deny", 4) != 0)
		return;
	o->told = true;
	operator_shell_put_safe("\r\nthis shell was denied by ",
				who ? who : json_str(body, "by", "?"), "");
	operator_shell_put_safe(*message ? ": " : "", message, "\r\n");
}

/* Keeps an end other than the shell's own exit; it is printed once the terminal is restored. */
static void keep_end(struct own *o, const json_t *body)
{
	const char *end = json_str(body, "end", ""), *why = json_str(body, "why", ""),
		   *rule = json_str(body, "rule", "");
	if (o->told || strcmp(end, "ok") == 0 || (!*why && json_object_get(body, "code")))
		return;
	buf_printf(&o->ended, "this shell has ended: %s%s", end, *rule ? " by " : "");
	sanitize_line(rule, strlen(rule), 0, &o->ended);
	buf_puts(&o->ended, *why ? ": " : "");
	sanitize_line(why, strlen(why), 0, &o->ended);
}

static int operator_shell_see(struct own *o, const struct event *ev, struct err *err)
{
	CLEANUP(json_release)
	json_t *body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event", err);
	if (ev->kind == EV_ACTION_HELD)
		tell_held(o, body);
	if (ev->kind == EV_ACTION_DECIDED)
		tell_denied(o, body);
	if (ev->kind == EV_ACTION_STARTED || ev->kind == EV_ACTION_ENDED)
		o->held = false;
	if (ev->kind != EV_ACTION_ENDED)
		return 0;
	keep_end(o, body);
	o->status = strcmp(json_str(body, "end", ""), "denied") == 0
			    ? EXIT_DENIED
			    : (int)json_int(body, "code", 1);
	return 1;
}

/* Prints what has been recorded since; 1 when the action has ended, its status in @o. */
static int operator_shell_show(struct own *o, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc, ended = 0;
	while ((rc = feed_next(o->f, &ev, &a, 0, err)) == 1)
		ended |= operator_shell_see(o, &ev, err);
	if (rc < 0 || session_output(o->s, o->id, STREAM_PTY, o->off, 1 << 20, &out, err) < 0)
		return -1;
	o->off += out.len;
	if (out.len && fd_write_all(1, out.data, out.len, err) < 0)
		return -1;
	return ended;
}

static int until_end(struct own *o, struct err *err)
{
	int rc = 0;
	while (rc == 0) {
		struct pollfd p[2] = { { .fd = 0, .events = POLLIN },
				       { .fd = control_client_fd(o->c), .events = POLLIN } };
		if (control_client_wants_write(o->c))
			p[1].events |= POLLOUT;
		poll(p, 2, LOOK_MS);
		if (operator_shell_resized) {
			operator_shell_resized = 0;
			operator_shell_send_size(o->c, o->id);
		}
		if (p[0].revents & (POLLIN | POLLHUP))
			operator_shell_typed(o);
		if (o->over_us)
			poll(NULL, 0, LOOK_MS); /* a stdin at its end is always readable */
		if (!control_client_pump(o->c))
			return err_set(err, ERR_CLOSED, "the session has ended");
		rc = operator_shell_show(o, err);
	}
	return rc;
}

int operator_shell(struct control_client *c, struct session *s, uint64_t id, struct err *err)
{
	struct own o = { .c = c, .s = s, .id = id, .status = 1, .intent = NULL };
	if (feed_new(&o.f, s, FEED_ACTION, id, err) < 0)
		return -1;
	o.tty = operator_tty_take();
	if (o.tty) {
		signal(SIGWINCH, on_winch);
		operator_shell_send_size(c, id);
	}
	static const struct control_client_ops ops = { .reply = operator_shell_on_reply };
	control_client_hear(c, &ops, &o);
	int rc = until_end(&o, err);
	control_client_hear(c, NULL, NULL);
	if (o.tty)
		operator_tty_give_back(rc < 0 || o.ended.len);
	if (o.ended.len)
		fprintf(stderr, "\n%s\n", buf_cstr(&o.ended));
	buf_release(&o.ended);
	feed_free(&o.f);
	free(o.intent);
	return rc < 0 ? -1 : o.status;
}
