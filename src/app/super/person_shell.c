#include "app/super/person_shell.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "app/exit.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text/sanitize.h"
#include "record/record.h"

enum { LOOK_MS = 15 };

static volatile sig_atomic_t resized;

static void on_winch(int signo)
{
	(void)signo;
	resized = 1;
}

static json_t *words(const char *verb, uint64_t id)
{
	json_t *w = json_array();
	json_array_append_new(w, json_string(verb));
	char number[24];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	json_array_append_new(w, json_string(number));
	return w;
}

static void send_size(struct control_client *c, uint64_t id)
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
	control_client_send(c, words("resize", id), o);
}

static void send_bytes(struct control_client *c, uint64_t id, const char *bytes, size_t len)
{
	struct buf b64 = BUF_INIT;
	json_t *o = json_object();
	base64_append(&b64, bytes, len);
	json_put_str(o, "base64", buf_cstr(&b64));
	buf_release(&b64);
	control_client_send(c, words("input", id), o);
}

struct own {
	struct control_client *c;
	struct session *s;
	struct feed *f;
	uint64_t id, off;
	int status;
	bool held;
	size_t nr_typed; /* while it is held: of one line */
	char typed[4];
};

/* A shell that waits shows nothing: without this it would look like one that hangs. */
static void tell_held(struct own *o, const json_t *body)
{
	const json_t *reasons = json_object_get(body, "reasons");
	bool ask = false;
	for (size_t i = 0; i < json_array_size(reasons); i++)
		ask |= strcmp(json_string_value(json_array_get(reasons, i)), "ask") == 0;
	const char *rule = ask ? json_str(body, "rule", "") : "";
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	sanitize_line(rule, strlen(rule), 0, &safe);
	fprintf(stderr, "this shell waits for a person: #%" PRIu64 ", %s%s\r\n", o->id, buf_cstr(&safe),
		*rule ? " asks" : ask ? "no rule lets it run" : "its agent or everything is paused");
	const char *name = json_str(body, "type", ""); /* what a rule wants typed is not typed here */
	if (*name)
		fprintf(stderr, "'sandglass approve %" PRIu64 " --confirm ...' approves it elsewhere, Ctrl-C gives it up\r\n", o->id);
	else
		fprintf(stderr, "yes and Enter approves it, Ctrl-C gives it up; whatever else is typed is thrown away\r\n");
	o->held = true;
}

static void decide(struct own *o, const char *verb, const char *message)
{
	struct err err = ERR_INIT;
	json_t *opts = message ? json_object() : NULL, *reply = NULL;
	if (message)
		json_put_str(opts, "message", message);
	if (control_client_call(o->c, words(verb, o->id), opts, 10000, &reply, &err) < 0)
		fprintf(stderr, "%s\r\n", err.text);
	json_decref(reply);
}

static void typed_line(struct own *o)
{
	bool yes = o->nr_typed == 3 && memcmp(o->typed, "yes", 3) == 0;
	if (o->nr_typed)
		fprintf(stderr, "\r\n");
	o->nr_typed = 0;
	if (yes)
		decide(o, "approve", NULL);
}

/* Nothing that is typed before the shell runs may reach it: it was typed at something else. */
static void typed_while_held(struct own *o, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];
		if (c == '\003' || c == '\004') {
			fprintf(stderr, "\r\n");
			decide(o, "deny", "whoever asked for this shell gave it up");
			return;
		}
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

static void typed(struct own *o)
{
	char bytes[4096];
	ssize_t n = read(0, bytes, sizeof(bytes));
	if (n == 0)
		*bytes = '\004';
	if (n < 0)
		return;
	if (o->held)
		typed_while_held(o, bytes, n ? (size_t)n : 1);
	else
		send_bytes(o->c, o->id, bytes, n ? (size_t)n : 1);
}

/* One that ended in any other way than by itself would look as if it had. */
static void tell_end(const json_t *body)
{
	const char *why = json_str(body, "why", ""), *end = json_str(body, "end", "");
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	sanitize_line(why, strlen(why), 0, &safe);
	if (strcmp(end, "ok") != 0 && strcmp(end, "denied") != 0)
		fprintf(stderr, "\r\nthis shell was ended (%s)%s%s\r\n", end, *why ? ": " : "", buf_cstr(&safe));
}

static int see(struct own *o, const struct event *ev, struct err *err)
{
	CLEANUP(json_release) json_t *body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event", err);
	if (ev->kind == EV_ACTION_HELD)
		tell_held(o, body);
	if (ev->kind == EV_ACTION_STARTED || ev->kind == EV_ACTION_ENDED)
		o->held = false;
	if (ev->kind != EV_ACTION_ENDED)
		return 0;
	tell_end(body);
	o->status = strcmp(json_str(body, "end", ""), "denied") == 0 ? EXIT_DENIED : (int)json_int(body, "code", 1);
	return 1;
}

/* Prints what has been recorded since; 1 when the action has ended, its status in @o. */
static int show(struct own *o, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc, ended = 0;
	while ((rc = feed_next(o->f, &ev, &a, 0, err)) == 1)
		ended |= see(o, &ev, err);
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
		struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = control_client_fd(o->c), .events = POLLIN } };
		if (control_client_wants_write(o->c))
			p[1].events |= POLLOUT;
		poll(p, 2, LOOK_MS);
		if (resized) {
			resized = 0;
			send_size(o->c, o->id);
		}
		if (p[0].revents & (POLLIN | POLLHUP))
			typed(o);
		if (!control_client_pump(o->c))
			return err_set(err, ERR_CLOSED, "the session has ended");
		rc = show(o, err);
	}
	return rc;
}

int person_shell(struct control_client *c, struct session *s, uint64_t id, struct err *err)
{
	struct own o = { .c = c, .s = s, .id = id, .status = 1 };
	struct termios was, raw;
	bool tty = tcgetattr(0, &was) == 0;
	if (feed_new(&o.f, s, FEED_ACTION, id, err) < 0)
		return -1;
	if (tty) {
		raw = was;
		cfmakeraw(&raw);
		tcsetattr(0, TCSADRAIN, &raw);
		signal(SIGWINCH, on_winch);
		send_size(c, id);
	}
	int rc = until_end(&o, err);
	if (tty)
		tcsetattr(0, TCSADRAIN, &was);
	feed_free(&o.f);
	return rc < 0 ? -1 : o.status;
}
