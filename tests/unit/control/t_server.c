/* Server and client over a real socket: handshake, commands, pushes, watchers, those who do not read. */
#include "control/server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/client.h"
#include "control/socket.h"
#include "tap.h"
#include "wire/control.h"
#include "wire/event.h"
#include "wire/frame.h"

static const char id[] = "s-test01";

struct fake {
	struct loop *loop;
	struct control_server *server;
	uint64_t seq, forgotten;
	int nr_events[4];
	size_t refused_bytes, refused_words; /* of the last one, as recorded */
	pthread_t thread;
	bool stop;
	struct loop_wake *wake;
};

static void on_command(void *self, const struct control_request *rq)
{
	struct fake *f = self;
	const char *name = rq->line->command->name;
	const char *first = rq->line->words.nr ? rq->line->words.item[0] : "";
	struct err err = ERR_INIT;
	if (!strcmp(name, "approve")) {
		err_set(&err, ERR_NOENT, "#%s was decided by ann 3 s ago", first);
		control_refuse(f->server, rq->ticket, &err);
	} else if (!strcmp(name, "pause")) {
		f->forgotten = rq->ticket; /* never answered, unless "continue" comes */
	} else if (!strcmp(name, "continue")) {
		control_answer(f->server, f->forgotten, json_string("late"));
		control_answer(f->server, rq->ticket, NULL);
	} else if (!strcmp(name, "say") && !strcmp(first, "heads")) {
		for (uint64_t i = 1; i <= 1000; i++)
			control_server_head(f->server, i);
		control_server_changed(f->server);
		control_answer(f->server, rq->ticket, json_integer((json_int_t)rq->cause));
	} else if (!strcmp(name, "say") && !strcmp(first, "much")) {
		char *text = mem_alloc(1 << 20);
		memset(text, 'x', 1 << 20);
		control_answer(f->server, rq->ticket, json_stringn(text, 1 << 20));
		free(text);
	} else if (!strcmp(name, "state")) {
		json_t *o = json_object();
		json_put(o, "who", json_incref(rq->who));
		json_put_int(o, "clients", (int64_t)control_server_clients(f->server));
		json_put_int(o, "detached", f->nr_events[1]);
		json_put_int(o, "commands", f->nr_events[2]);
		json_put_int(o, "refused_bytes", (int64_t)f->refused_bytes);
		json_put_int(o, "refused_words", (int64_t)f->refused_words);
		control_answer(f->server, rq->ticket, o);
	}
}

static json_t *on_state(void *self)
{
	(void)self;
	json_t *o = json_object();
	json_put(o, "held", json_array());
	return o;
}

static uint64_t on_record(void *self, enum event_kind kind, json_t *body)
{
	struct fake *f = self;
	f->nr_events[kind - EV_CONTROL_ATTACH]++;
	if (kind == EV_CONTROL_REFUSED) {
		f->refused_bytes = json_dumpb(body, NULL, 0, JSON_COMPACT);
		f->refused_words = json_array_size(json_object_get(body, "words"));
	}
	json_decref(body);
	return ++f->seq;
}

static void on_wake(void *self)
{
	struct fake *f = self;
	loop_stop(f->loop);
}

static const struct control_ops ops = { .command = on_command, .state = on_state, .record = on_record };

static void *serve(void *self)
{
	struct fake *f = self;
	loop_run(f->loop);
	return NULL;
}

static bool start(struct fake *f)
{
	struct err err = ERR_INIT;
	struct control_info info = { .program = "sandglass 9", .session = id, .name = "fix", .path = "/x/y.glass" };
	if (loop_new(&f->loop, &err) < 0 || control_server_new(&f->server, f->loop, &info, &ops, f, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	f->wake = loop_wake_new(f->loop, on_wake, f);
	return pthread_create(&f->thread, NULL, serve, f) == 0;
}

static void finish(struct fake *f)
{
	loop_wake_send(f->wake);
	pthread_join(f->thread, NULL);
	control_server_free(&f->server, NULL);
	loop_wake_free(&f->wake);
	loop_free(f->loop);
}

/* --- the client's side ----------------------------------------------------------------------------------------------
 */

struct seen {
	uint64_t head, nr_heads, nr_states, nr_replies;
	bool closed;
	char why[200];
};
static void seen_head(void *self, uint64_t seq)
{
	struct seen *s = self;
	s->head = seq;
	s->nr_heads++;
}
static void seen_state(void *self, const json_t *state)
{
	struct seen *s = self;
	s->nr_states += json_is_array(json_object_get(state, "clients"));
}
static void seen_reply(void *self, uint64_t reply, const json_t *result, const struct err *err)
{
	struct seen *s = self;
	(void)reply;
	s->nr_replies += result && !err;
}
static void seen_closed(void *self, const struct err *err)
{
	struct seen *s = self;
	s->closed = true;
	snprintf(s->why, sizeof(s->why), "%s", err->text);
}
static const struct control_client_ops seen_ops = {
	.reply = seen_reply, .head = seen_head, .state = seen_state, .closed = seen_closed
};

static json_t *words(const char *a, const char *b, const char *c)
{
	json_t *w = json_array();
	json_array_append_new(w, json_string(a));
	if (b)
		json_array_append_new(w, json_string(b));
	if (c)
		json_array_append_new(w, json_string(c));
	return w;
}

static struct control_client *attach(struct seen *seen, bool watch)
{
	struct control_client *c = NULL;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = control_path(id);
	struct control_client_opts o = { .name = "ann", .tty = "/dev/pts/7", .watch = watch };
	if (control_client_open(&c, path, &o, &seen_ops, seen, &err) < 0)
		printf("# %s\n", err.text);
	return c;
}

static json_t *call(struct control_client *c, json_t *w, struct err *err)
{
	json_t *result = NULL;
	return control_client_call(c, w, NULL, 10000, &result, err) < 0 ? NULL : result;
}

static void pump_till(struct control_client *c, const bool *flag)
{
	for (int i = 0; i < 10000 && !*flag; i++) {
		struct pollfd p = { .fd = control_client_fd(c), .events = POLLIN };
		poll(&p, 1, 1000);
		if (!control_client_pump(c))
			break;
	}
}

static void check_commands(void)
{
	struct seen seen = { 0 };
	struct err err = ERR_INIT;
	struct control_client *c = attach(&seen, false);
	ok(c != NULL, "attached");
	if (!c)
		return;
	const json_t *w = control_client_welcome(c);
	is_int(json_int(w, "version", 0), CONTROL_VERSION, "version agreed");
	is_str(json_str(w, "session", ""), id, "session named");
	is_str(json_str(w, "program", ""), "sandglass 9", "program named");
	ok(json_is_array(json_object_get(json_object_get(w, "state"), "held")), "state comes with the welcome");
	ok(control_client_knows(c, "approve") && !control_client_knows(c, "ls"), "knows what it understands");

	CLEANUP(json_release) json_t *state = call(c, words("state", NULL, NULL), &err);
	const json_t *who = json_object_get(state, "who");
	is_int(json_int(who, "uid", -1), geteuid(), "uid from the kernel");
	is_int(json_int(who, "pid", -1), getpid(), "pid from the kernel");
	is_str(json_str(who, "name", ""), "ann", "name as claimed");
	is_str(json_str(who, "tty", ""), "/dev/pts/7", "tty as claimed");
	is_int(json_int(state, "commands", -1), 0, "looking is not recorded");

	ok(!call(c, words("approve", "405", NULL), &err), "refused by its owner");
	is_int(err.code, ERR_NOENT, "code kept");
	is_str(err.text, "#405 was decided by ann 3 s ago", "text kept");
	ok(!call(c, words("aprove", "405", NULL), &err), "unknown command");
	is_str(err.text, "unknown command 'aprove'; did you mean 'approve'?", "nearest name");
	ok(!call(c, words("ls", NULL, NULL), &err) && err.code == ERR_USAGE, "offline commands are not for it");

	json_t *flood = json_array();
	for (int i = 0; i < 100; i++)
		json_array_append_new(flood, i % 2 ? json_sprintf("%05000d", i) : json_integer(i));
	ok(!call(c, flood, &err), "a malformed command is refused");
	CLEANUP(json_release) json_t *after = call(c, words("state", NULL, NULL), &err);
	is_int(json_int(after, "refused_words", -1), 17, "the recording keeps the start of the command");
	ok(json_int(after, "refused_bytes", -1) < 2000, "but not all of it (%d bytes)", (int)json_int(after, "refused_bytes", -1));

	CLEANUP(json_release) json_t *seq = call(c, words("say", "heads", "now"), &err);
	ok(json_integer_value(seq) > 0, "its command event is the cause");
	while (!(seen.head == 1000 && seen.nr_states) && control_client_pump(c))
		poll(&(struct pollfd){ .fd = control_client_fd(c), .events = POLLIN }, 1, 1000);
	is_int(seen.head, 1000, "the newest head arrives");
	ok(seen.nr_heads <= 2, "heads of one turn are one push (%d)", (int)seen.nr_heads);

	json_t *never = NULL;
	is_int(control_client_call(c, words("pause", NULL, NULL), NULL, 50, &never, &err), -1, "no answer");
	is_int(err.code, ERR_TIMEOUT, "times out");
	CLEANUP(json_release) json_t *done = call(c, words("continue", NULL, NULL), &err);
	ok(json_is_null(done), "null is a result");
	is_int(seen.nr_replies, 1, "the late reply is an ordinary one");
	control_client_free(&c);
}

static void check_watch(void)
{
	struct seen seen = { 0 };
	struct err err = ERR_INIT;
	struct control_client *c = attach(&seen, true);
	ok(c && !call(c, words("pause", NULL, NULL), &err), "a watcher may not");
	is_int(err.code, ERR_DENIED, "denied");
	CLEANUP(json_release) json_t *state = c ? call(c, words("state", NULL, NULL), &err) : NULL;
	ok(state != NULL, "a watcher may look");
	control_client_free(&c);
}

/* A connection by hand; sends one HELLO. */
static int raw(const char *hello)
{
	int sock = -1;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = control_path(id);
	if (control_connect(path, 1000, &sock, &err) < 0 ||
	    frame_send(sock, CONTROL_HELLO, 0, hello, strlen(hello), NULL, 0, &err) < 0)
		printf("# %s\n", err.text);
	return sock;
}

/* Type of the first frame that comes, 0 at the end. */
static int next_type(int sock, struct buf *body)
{
	struct frame f;
	struct err err = ERR_INIT;
	poll(&(struct pollfd){ .fd = sock, .events = POLLIN }, 1, 10000);
	return frame_recv(sock, CONTROL_MAX_BODY, &f, body, NULL, NULL, &err) < 0 ? 0 : f.type;
}

static void check_versions(void)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	int sock = raw("{\"version\":7,\"min\":1,\"news\":[1]}");
	is_int(next_type(sock, &body), CONTROL_WELCOME, "a newer console that can do with less is let in");
	ok(strstr(buf_cstr(&body), "\"version\":1,") != NULL, "with our version");
	close(sock);
	sock = raw("{\"version\":9,\"min\":8}");
	is_int(next_type(sock, &body), CONTROL_BYE, "a client without a common version is refused");
	ok(strstr(buf_cstr(&body), "no common version") != NULL, "why");
	is_int(next_type(sock, &body), 0, "and disconnected");
	close(sock);
	sock = raw("[]");
	is_int(next_type(sock, &body), CONTROL_BYE, "a hello that makes no sense");
	close(sock);
	sock = raw("{\"version\":1}");
	struct err err = ERR_INIT;
	is_int(next_type(sock, &body), CONTROL_WELCOME, "welcome");
	ok(frame_send(sock, 999, 5, "{}", 2, NULL, 0, &err) == 0 &&
		   frame_send(sock, CONTROL_PING, 6, "{}", 2, NULL, 0, &err) == 0,
	   "an unknown type, then a ping");
	int type;
	while ((type = next_type(sock, &body)) == CONTROL_STATE || type == CONTROL_HEAD)
		;
	is_int(type, CONTROL_PONG, "the unknown type is ignored");
	close(sock);
}

static void check_slow(void)
{
	struct err err = ERR_INIT;
	static const char ask[] = "{\"words\":[\"say\",\"much\",\"text\"]}";
	int sock = raw("{\"version\":1}");
	for (uint64_t i = 1; i <= 40; i++)
		if (frame_send(sock, CONTROL_COMMAND, i, ask, sizeof(ask) - 1, NULL, 0, &err) < 0)
			break;
	struct seen seen = { 0 };
	struct control_client *c = NULL;
	bool dropped = false;
	for (int64_t until = clock_mono_us() + 60000000; clock_mono_us() < until && !dropped;) {
		if (!c && !(c = attach(&seen, false))) /* a server that is busy with the other may be late for its hello */
			continue;
		CLEANUP(json_release) json_t *state = call(c, words("state", NULL, NULL), &err);
		dropped = state && json_int(state, "clients", 0) == 1;
		poll(NULL, 0, 2);
	}
	ok(dropped, "who does not read is dropped while others are served");
	close(sock);
	control_client_free(&c);
}

int main(void)
{
	char dir[] = "/tmp/sg-t-control-XXXXXX";
	struct err err = ERR_INIT;
	struct fake f = { 0 };
	hash_init();
	if (!mkdtemp(dir))
		return 1;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	struct strv ids = STRV_INIT;
	is_int(control_list(&ids, &err), 0, "no folder yet: no sessions");
	is_int(ids.nr, 0, "none");
	ok(start(&f), "listens");
	CLEANUP(free_ptr) char *path = control_path(id);
	struct stat st;
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "the socket is 0600");

	/* one that a killed supervisor has left */
	CLEANUP(free_ptr) char *stale = control_path("s-stale0"), *gone = NULL;
	int sock = -1;
	is_int(control_listen("s-stale0", &gone, &sock, &err), 0, "another");
	fd_close(&sock);
	is_int(control_list(&ids, &err), 0, "list");
	is_int(ids.nr, 1, "only the live one");
	is_str(ids.nr ? ids.item[0] : "", id, "by its id");
	ok(access(stale, F_OK) < 0, "the stale one was removed");
	strv_release(&ids);
	char *again = NULL;
	ok(control_listen(id, &again, &sock, &err) < 0 && err.code == ERR_BUSY, "nobody takes a live one's place");

	check_commands();
	check_watch();
	check_versions();
	check_slow();

	struct seen seen = { 0 };
	struct control_client *c = attach(&seen, false);
	finish(&f);
	pump_till(c, &seen.closed);
	is_str(seen.why, "session ended", "the client learns of the end");
	json_t *none = NULL;
	ok(control_client_call(c, words("state", NULL, NULL), NULL, 1000, &none, &err) < 0, "no calls after it");
	control_client_free(&c);
	ok(access(path, F_OK) < 0, "the socket has gone");
	is_int(f.nr_events[1], f.nr_events[0] - 1, "everybody who came has left, but the last");

	CLEANUP(free_ptr) char *run = paths_runtime("");
	chmod(run, 0755);
	ok(control_list(&ids, &err) < 0 && err.code == ERR_DENIED, "a folder open to others is refused");
	rmdir(run);
	rmdir(dir);
	return done_testing();
}
