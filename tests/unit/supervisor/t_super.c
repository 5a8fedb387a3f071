/* A whole session of the supervisor on a fake driver (driver_find is wrapped by the linker): a real Lua host runs the
 * script, and the session file has the events that follow from it. */
#include "supervisor/super.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/paths.h"
#include "record/read/session.h"
#include "sandbox/fake_driver.h"
#include "tap.h"
#include "wire/event.h"

static char dir[] = "/tmp/sg-t-super-XXXXXX";
static struct loop *fake_loop; /* the supervisor's */
static const char *refuses;    /* why no sandbox opens; NULL: each does */

/* --- the driver answers each request from the loop --- */

static void opened(void *self)
{
	(void)self;
	struct fake_call call = fake.open;
	struct err err = ERR_INIT;
	if (!refuses) {
		fake_answer(&fake.open, json_pack("{s:s,s:i}", "profile", "none", "uid", 1000), NULL);
		return;
	}
	fake.open = (struct fake_call){ 0 };
	err_set(&err, ERR_IO, "%s", refuses);
	call.done(call.self, NULL, &err);
}

static void closed(void *self)
{
	(void)self;
	fake_answer(&fake.close, NULL, NULL);
}

static void ran(void *self)
{
	struct run *r = self;
	fake_out(r, 1, "hello\n");
	fake_exit(r, 3, 0, false, 0);
}

static struct driver driver;

static struct box *open_soon(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self)
{
	fake_loop = l;
	loop_defer(l, opened, NULL);
	struct box *b = fake_open(l, o, done, self);
	b->driver = &driver;
	b->profile = "none";
	return b;
}

static void close_soon(struct box *b, box_done_fn *done, void *self)
{
	fake_close(b, done, self);
	loop_defer(fake_loop, closed, NULL);
}

static void go_soon(struct run *r)
{
	fake_run_go(r);
	loop_defer(fake_loop, ran, r);
}

const struct driver *__wrap_driver_find(const char *name);
const struct driver *__wrap_driver_find(const char *name)
{
	return strcmp(name, "fake") == 0 ? &driver : NULL;
}

/* The programs are in the build directory; this one is further below. */
char *__wrap_paths_libexec(const char *name);
char *__wrap_paths_libexec(const char *name)
{
	const char *build = getenv("B") ? getenv("B") : "build";
	return mem_printf("%s/%s", build, name);
}

/* --- a session --- */

struct result {
	int status;
	/* of all events but some of the hosts: "session.start host.start ..." */
	struct buf kinds;
	json_t *event[64];
	uint16_t kind[64];
	uint64_t seq[64], cause[64], box[64], action[64];
	struct buf out; /* of the action */
	size_t nr;
};

static void result_read(struct result *r, const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	if (!ok(session_open(&s, path, &err) == 0, "the session file opens: %s", err.text))
		return;
	for (uint64_t seq = 1; seq <= session_head(s); seq++) {
		struct event ev;
		if (session_event(s, seq, &ev, &arena, &err) < 0 || ev.kind == EV_HOST_FRAME || ev.kind == EV_HOST_MODULE ||
		    ev.kind == EV_HOST_END) /* the script may end before or after its sandbox */
			continue;
		buf_printf(&r->kinds, "%s%s", r->kinds.len ? " " : "", event_kind_name(ev.kind));
		if (r->nr == ARRAY_LEN(r->event))
			continue;
		r->kind[r->nr] = ev.kind;
		r->seq[r->nr] = ev.seq;
		r->cause[r->nr] = ev.cause;
		r->box[r->nr] = ev.box;
		r->action[r->nr] = ev.action;
		r->event[r->nr++] = ev.len ? json_parse(ev.body, ev.len, "event", &err) : NULL;
	}
	for (size_t i = 0; i < r->nr && !r->out.len; i++)
		if (r->kind[i] == EV_ACTION_ENDED && session_output(s, r->action[i], 1, 0, 100, &r->out, &err) < 0)
			printf("# %s\n", err.text);
	session_close(&s);
}

/* The path in the line that the supervisor writes when it listens; returns owned, NULL: none. */
static char *told_path(int fd)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (fd_read_all(fd, &line, 64 << 10, &err) < 0)
		return NULL;
	CLEANUP(json_release) json_t *j = json_parse(buf_cstr(&line), line.len, "the supervisor's line", &err);
	const char *path = json_str(j, "path", NULL);
	return path ? mem_strdup(path) : NULL;
}

static void run(const char *script, const char *policy, struct result *r)
{
	static int nr;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *sessions = mem_printf("%s/sessions-%d", dir, nr++);
	char *args[] = { NULL };
	int ready[2];
	if (!ok(dir_make(sessions, 0700, &err) == 0 && pipe2(ready, O_CLOEXEC) == 0, "a directory for the session"))
		return;
	CLEANUP(free_ptr) char *file = mem_printf("%s/policy.lua", dir);
	if (!ok(file_write_atomic(file, policy, strlen(policy), 0600, &err) == 0, "a policy"))
		return;
	const char *const policies[] = { file, NULL };
	const struct super_opts o = { .name = "unit",
				      .script = script,
				      .script_len = strlen(script),
				      .args = args,
				      .sessions_dir = sessions,
				      .backend = "fake",
				      .policy = policies,
				      .no_input = true,
				      .ready_fd = ready[1] };
	*r = (struct result){ 0 };
	fake = (struct fake_box){ 0 };
	r->status = super_run(&o);
	CLEANUP(free_ptr) char *path = told_path(ready[0]);
	close(ready[0]);
	if (ok(path != NULL, "a session file"))
		result_read(r, path);
}

static void result_release(struct result *r)
{
	for (size_t i = 0; i < r->nr; i++)
		json_decref(r->event[i]);
	buf_release(&r->kinds);
	buf_release(&r->out);
}

/* The index of the first event of @kind; the last one if there is none. */
static size_t event_of(const struct result *r, uint16_t kind)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->kind[i] == kind)
			return i;
	ok(false, "an event %s", event_kind_name(kind));
	return r->nr ? r->nr - 1 : 0;
}

static const char script[] = "local sg = require 'sandglass'\n"
			     "local box <close> = sg.sandbox { name = 'b' }\n"
			     "print(box:exec 'greet'.code)\n";
static const char allows[] = "local p = require 'sandglass.policy'\n"
			     "return p.rules { p.allow 'greeting' { cmd = 'greet' } }\n";
static const char asks[] = "local p = require 'sandglass.policy'\n"
			   "return p.rules { p.ask 'greeting' { cmd = 'greet' } }\n";

static void one_command(void)
{
	struct result r;
	run(script, allows, &r);
	is_int(r.status, EXIT_DONE, "the session succeeded");
	is_str(buf_cstr(&r.kinds),
	       "session.start policy.loaded host.start policy.loaded host.start host.call box.open box.ready host.call "
	       "action.requested action.judged action.started output action.ended note host.call box.closed session.end",
	       "its events");
	size_t open = event_of(&r, EV_BOX_OPEN), asked = event_of(&r, EV_ACTION_REQUESTED), judged = event_of(&r, EV_ACTION_JUDGED),
	       ended = event_of(&r, EV_ACTION_ENDED), closed = event_of(&r, EV_BOX_CLOSED), end = event_of(&r, EV_SESSION_END);
	is_str(json_str(r.event[open], "driver", ""), "fake", "a sandbox of the backend");
	is_str(json_str(r.event[asked], "kind", ""), "exec", "an action");
	ok(r.box[asked] == r.seq[open] && r.box[closed] == r.seq[open], "in the sandbox, which was closed");
	ok(r.action[judged] == r.seq[asked] && r.action[ended] == r.seq[asked], "was judged and ended");
	is_str(json_str(json_array_get(json_object_get(r.event[judged], "rules"), 0), "name", ""), "greeting", "by the rule");
	is_int(json_int(r.event[ended], "code", -1), 3, "its exit code");
	is_str(buf_cstr(&r.out), "hello\n", "its output");
	ok(json_flag(r.event[end], "ok", false), "and the end");
	ok(fake.opens == 1 && fake.closes == 1 && fake.nr_runs == 1 && !fake.live, "the driver opened, ran, and closed once");
	result_release(&r);
}

static void nobody_to_ask(void)
{
	struct result r;
	run(script, asks, &r);
	is_int(r.status, EXIT_PERSON, "without a user, an action that requires approval ends the session");
	is_int(fake.nr_runs, 0, "nothing ran");
	size_t ended = event_of(&r, EV_ACTION_ENDED), end = event_of(&r, EV_SESSION_END);
	is_str(json_str(r.event[ended], "end", ""), "denied", "the action was denied");
	is_int(json_int(r.event[end], "status", -1), EXIT_PERSON, "the recording has the status");
	ok(fake.opens == 1 && fake.closes == 1, "the sandbox was closed");
	result_release(&r);
}

static void no_sandbox(void)
{
	struct result r;
	refuses = "the disk is full";
	run(script, allows, &r);
	refuses = NULL;
	is_int(r.status, EXIT_SANDBOX, "a sandbox that does not open ends the session");
	size_t end = event_of(&r, EV_SESSION_END);
	ok(strstr(json_str(r.event[end], "why", ""), "the disk is full") != NULL, "with the reason");
	ok(!strstr(buf_cstr(&r.kinds), "action."), "and no action");
	result_release(&r);
}

int main(void)
{
	struct err err = ERR_INIT;
	driver = fake_driver;
	driver.open = open_soon;
	driver.close = close_soon;
	driver.run_go = go_soon;
	if (!mkdtemp(dir))
		return 1;
	static const char *const vars[] = { "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME" };
	for (size_t i = 0; i < ARRAY_LEN(vars); i++)
		setenv(vars[i], dir, 1);
	one_command();
	nobody_to_ask();
	no_sandbox();
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
