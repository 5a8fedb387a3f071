/* One of each frame of the control socket (wire/control.h), between the real server and the real client: bodies as
 * tests/corpus/frames/control.txt has them. */
#include "control/server.h"

#include <fcntl.h>

#include "base/hash.h"
#include "base/json.h"
#include "control/client.h"
#include "control/socket.h"
#include "frames_tap.h"
#include "wire/control.h"

enum { ACTION = 388 };

struct fake {
	struct loop *loop;
	struct control_server *server;
	struct loop_wake *wake;
	pthread_t thread;
	uint64_t seq;
};

static void on_command(void *self, const struct control_request *rq)
{
	struct fake *f = self;
	struct err err = ERR_INIT;
	if (!strcmp(rq->line->command->name, "approve")) {
		err_set(&err, ERR_NOENT, "#388 was decided by ann\n'sandglass state' shows the others.");
		control_refuse(f->server, rq->ticket, &err);
		return;
	}
	control_server_head(f->server, 41);
	control_server_changed(f->server);
	control_server_tty(f->server, rq->client, ACTION, "\033[1mhi\n", 7);
	control_answer(f->server, rq->ticket, json_pack("{s:i,s:s}", "action", ACTION, "text", "done"));
}

static void on_typed(void *self, uint64_t client, uint64_t action, const void *bytes, size_t len)
{
	struct fake *f = self;
	if (client && action == ACTION && len == 3 && !memcmp(bytes, "ls\r", 3))
		control_server_head(f->server, 42);
}

static json_t *on_state(void *self)
{
	(void)self;
	return json_pack("{s:[{s:i,s:s}],s:b}", "held", "action", ACTION, "kind", "exec", "paused", 0);
}

static uint64_t on_record(void *self, enum event_kind kind, json_t *body)
{
	struct fake *f = self;
	(void)kind;
	json_decref(body);
	return ++f->seq;
}

static void on_wake(void *self)
{
	struct fake *f = self;
	loop_stop(f->loop);
}

static void *serve(void *self)
{
	struct fake *f = self;
	loop_run(f->loop);
	control_server_free(&f->server, "session ended");
	return NULL;
}

/* What differs between runs and users: numbers of processes and users, names of the machine, times. */
static void mask(json_t *j)
{
	static const char *const own[] = { "pid", "uid", "us", "since_us" };
	const char *key;
	json_t *v;
	size_t i;
	json_array_foreach(j, i, v) mask(v);
	json_object_foreach(j, key, v)
	{
		if (!strcmp(key, "commands") && json_is_array(v) && json_array_size(v)) {
			json_array_clear(v);
			json_array_append_new(v, json_string("approve"));
		}
		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			if (!strcmp(key, own[k]) && json_is_integer(v))
				json_integer_set(v, 0);
		mask(v);
	}
}

static void render(const struct frame *f, bool back, struct buf *out)
{
	struct err err = ERR_INIT;
	(void)back;
	if (f->type == CONTROL_TTY_IN || f->type == CONTROL_TTY_OUT) {
		hex_append(out, f->body, f->len);
		return;
	}
	json_t *j = json_parse(f->body, f->len, "frame", &err);
	mask(j);
	CLEANUP(free_ptr) char *text = j ? json_dump_str(j) : mem_strdup(err.text);
	buf_puts(out, text);
	json_decref(j);
}

static struct {
	bool state, head, tty, typed, closed;
	char why[80];
} seen;

static void seen_head(void *self, uint64_t seq)
{
	(void)self;
	seen.head |= seq == 41;
	seen.typed |= seq == 42;
}
static void seen_state(void *self, const json_t *state)
{
	(void)self;
	seen.state |= json_is_array(json_object_get(state, "clients"));
}
static void seen_tty(void *self, uint64_t action, const void *bytes, size_t len)
{
	(void)self;
	seen.tty |= action == ACTION && len == 7 && !memcmp(bytes, "\033[1mhi\n", 7);
}
static void seen_closed(void *self, const struct err *err)
{
	(void)self;
	seen.closed = true;
	snprintf(seen.why, sizeof(seen.why), "%s", err->text);
}
static const struct control_client_ops seen_ops = {
	.head = seen_head, .state = seen_state, .tty = seen_tty, .closed = seen_closed
};

static void pump_till(struct control_client *c, const bool *flag)
{
	for (int i = 0; i < 1000 && !*flag; i++) {
		struct pollfd p = { .fd = control_client_fd(c), .events = POLLIN };
		poll(&p, 1, 1000);
		if (!control_client_pump(c))
			break;
	}
}

static void *let_in(void *self)
{
	struct frames_tap *t = self;
	struct err err = ERR_INIT;
	int listening = t->end[0], server = -1;
	CLEANUP(free_ptr) char *path = control_path("s-frame1");
	poll(&(struct pollfd){ .fd = listening, .events = POLLIN }, 1, 10000);
	int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	close(listening);
	if (control_connect(path, 3000, &server, &err) < 0)
		return NULL;
	fcntl(server, F_SETFL, 0); /* the relay may wait */
	t->end[0] = client;
	t->end[1] = server;
	return frames_tap_relay(t);
}

int main(void)
{
	char dir[] = "/tmp/sg-t-frames-XXXXXX";
	struct err err = ERR_INIT;
	struct fake f = { 0 };
	struct frames_tap tap = { .render = render };
	struct control_client *c = NULL;
	const struct control_client_opts o = { .program = "sandglass 9", .name = "ann", .tty = "/dev/pts/7", .stays = true };
	const struct control_ops ops = { .command = on_command, .state = on_state, .record = on_record, .typed = on_typed };
	const struct control_info info = { .program = "sandglass 9", .session = "s-frame1", .name = "fix", .path = "/x/y.glass" };
	CLEANUP(free_ptr) char *path = NULL;
	hash_init();
	if (!mkdtemp(dir))
		return 1;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	if (loop_new(&f.loop, &err) < 0 || control_server_new(&f.server, f.loop, &info, &ops, &f, &err) < 0 ||
	    control_listen("s-frame2", &path, &tap.end[0], &err) < 0)
		return 1;
	f.wake = loop_wake_new(f.loop, on_wake, &f);
	pthread_create(&f.thread, NULL, serve, &f);
	pthread_create(&tap.thread, NULL, let_in, &tap);
	if (!ok(control_client_open(&c, path, &o, &seen_ops, NULL, &err) == 0, "attached"))
		return 1;
	json_t *result = NULL;
	ok(frame_send(tap.end[0], CONTROL_PING, 1, "{}", 2, NULL, 0, &err) == 0 &&
		   frame_send(tap.end[1], CONTROL_PING, 2, "{}", 2, NULL, 0, &err) == 0,
	   "both are pinged");
	ok(control_client_call(c, json_pack("[s,s]", "approve", "388"), NULL, 10000, &result, &err) < 0, "refused");
	is_str(err.text, "#388 was decided by ann", "with its text");
	ok(control_client_call(c, json_pack("[s,s,s]", "say", "fix", "hello"), NULL, 10000, &result, &err) == 0, "answered");
	json_decref(result);
	pump_till(c, &seen.head);
	pump_till(c, &seen.state);
	pump_till(c, &seen.tty);
	ok(seen.head && seen.state && seen.tty, "head, state, and output of a terminal came");
	control_client_type(c, ACTION, "ls\r", 3);
	pump_till(c, &seen.typed);
	ok(seen.typed, "typed bytes reach the server");
	loop_wake_send(f.wake);
	pthread_join(f.thread, NULL);
	pump_till(c, &seen.closed);
	is_str(seen.why, "session ended", "and the end");
	control_client_free(&c);
	frames_tap_end(&tap, "control");
	loop_wake_free(&f.wake);
	loop_free(f.loop);
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
