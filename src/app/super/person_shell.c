#include "app/super/person_shell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
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

/* Prints what has been recorded since; 1 when the action has ended, its status in *status. */
static int show(struct session *s, struct feed *f, uint64_t id, uint64_t *off, int *status, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc, ended = 0;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		if (ev.kind != EV_ACTION_ENDED)
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body ? ev.body : "{}", ev.body ? ev.len : 2, "event", err);
		*status = (int)json_int(body, "code", 1);
		ended = 1;
	}
	if (rc < 0 || session_output(s, id, STREAM_PTY, *off, 1 << 20, &out, err) < 0)
		return -1;
	*off += out.len;
	if (out.len && fd_write_all(1, out.data, out.len, err) < 0)
		return -1;
	return ended;
}

int person_shell(struct control_client *c, struct session *s, uint64_t id, struct err *err)
{
	struct termios was, raw;
	struct feed *f;
	uint64_t off = 0;
	int status = 1, rc = 0;
	bool tty = tcgetattr(0, &was) == 0;
	if (feed_new(&f, s, FEED_ACTION, id, err) < 0)
		return -1;
	if (tty) {
		raw = was;
		cfmakeraw(&raw);
		tcsetattr(0, TCSADRAIN, &raw);
		signal(SIGWINCH, on_winch);
		send_size(c, id);
	}
	while (rc == 0) {
		struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = control_client_fd(c), .events = POLLIN } };
		if (control_client_wants_write(c))
			p[1].events |= POLLOUT;
		poll(p, 2, LOOK_MS);
		if (resized) {
			resized = 0;
			send_size(c, id);
		}
		char bytes[4096];
		ssize_t n = p[0].revents & (POLLIN | POLLHUP) ? read(0, bytes, sizeof(bytes)) : -1;
		if (n > 0)
			send_bytes(c, id, bytes, (size_t)n);
		else if (n == 0)
			send_bytes(c, id, "\004", 1);
		if (!control_client_pump(c)) {
			rc = err_set(err, ERR_CLOSED, "the session has ended");
			break;
		}
		rc = show(s, f, id, &off, &status, err);
	}
	if (tty)
		tcsetattr(0, TCSADRAIN, &was);
	feed_free(&f);
	return rc < 0 ? -1 : status;
}
