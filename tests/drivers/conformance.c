/* The requirements of driver.h that no script can test: conformance DRIVER. Abilities that a driver does not claim
 * (caps) are skipped. A driver without a shell is tested in Python. lua/agents/conformance.lua tests the part that
 * scripts see. */
#include <poll.h>
#include <sys/socket.h>

#include "tests/unit/sandbox/box_fixture.h"

#include "tests/drivers/large.h"
#include "tests/drivers/stays.h"

static const struct driver *drv;

static struct box *open_box(const char *name, const char *repo, json_t **result)
{
	CLEANUP(free_ptr) char *tail = mem_printf("state-%s", name);
	CLEANUP(free_ptr) char *state = fx_path(tail);
	struct box_repo r = { .name = "", .host_dir = repo };
	struct box_opts o = {
		.name = name, .state_dir = state, .repo = &r, .nr_repos = repo ? 1 : 0, .accept_reduced = true
	};
	struct err odd = ERR_INIT;
	const char *text = getenv("DRIVER_OPTIONS");
	CLEANUP(json_release) json_t *options = text ? json_parse(text, strlen(text), "DRIVER_OPTIONS", &odd) : NULL;
	o.driver = options;
	struct answer a = { 0 };
	struct box *b = drv->open(fx_loop, &o, fx_done, &a);
	fx_wait(&a.here);
	if (!a.result) {
		printf("# %s\n", a.err.text);
		return NULL;
	}
	*result = a.result;
	return b;
}

/* Runs words as they are; @input NULL: no stdin. */
static struct ran run(struct box *b, const char *const *words, const char *input)
{
	struct ran r = { 0 };
	size_t nr = 0;
	while (words[nr])
		nr++;
	struct run_opts o = { .argv = (char *const *)(uintptr_t)words, .nr_argv = nr, .stdin_open = input != NULL };
	struct run *p = drv->run_prepare(b, &o, &fx_run_ops, &r);
	if (input)
		drv->run_stdin(p, input, strlen(input), true);
	drv->run_go(p);
	fx_wait(&r.here);
	drv->run_free(p);
	return r;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define BYTES "import sys, os; out = sys.stdout.buffer.write; "

static bool has_shell(void)
{
	return drv->caps & CAP_SHELL;
}

/* A text for sh, or what does the same in Python. */
static struct ran say(struct box *b, const char *sh, const char *py, const char *input)
{
	return run(b, has_shell() ? WORDS("sh", "-c", sh) : WORDS("python", "-c", py), input);
}

static void exits(struct box *b)
{
	static const struct {
		const char *command, *python;
		int code, signal;
	} cases[] = { { "exit 0", "raise SystemExit", 0, 0 },
		      { "exit 7", "import sys; sys.exit(7)", 7, 0 },
		      { "exit 255", "import os; os._exit(255)", 255, 0 },
		      { "kill -9 $$", NULL, 0, SIGKILL },
		      { "kill -TERM $$", NULL, 0, SIGTERM } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!has_shell() && !cases[i].python) {
			skip(1, "a program has no number to send a signal to");
			continue;
		}
		struct ran r = say(b, cases[i].command, cases[i].python, NULL);
		ok(!r.lost && r.code == cases[i].code && r.signal == cases[i].signal, "'%s' ends with %d, signal %d",
		   cases[i].command, r.code, r.signal);
		fx_ran_release(&r);
	}
	int good = 0;
	for (int code = 0; code < 256 && has_shell(); code++) {
		CLEANUP(free_ptr) char *text = mem_printf("exit %d", code);
		struct ran e = say(b, text, NULL, NULL);
		good += !e.lost && !e.signal && e.code == code;
		fx_ran_release(&e);
	}
	if (has_shell())
		is_int(good, 256, "every status from 0 to 255");
	struct ran r = run(b, WORDS("/nowhere/to/be/found"), NULL);
	is_int(r.code, 127, "a missing program ends with 127");
	fx_ran_release(&r);
	r = run(b, WORDS("/etc/passwd"), NULL);
	is_int(r.code, has_shell() ? 126 : 127, "what cannot be executed with 126 (127 where nothing can)");
	fx_ran_release(&r);
}

static void streams(struct box *b)
{
	static const char words[] = BYTES "out(b''.join(os.fsencode(a) + b'|' for a in sys.argv[1:]))";
	struct ran r = say(b, "printf out; printf err >&2; printf more", BYTES "out(b'out'); sys.stderr.write('err'); out(b'more')", NULL);
	is_str(buf_cstr(&r.out), "outmore", "stdout");
	is_str(buf_cstr(&r.err), "err", "stderr apart");
	fx_ran_release(&r);
	r = has_shell() ? run(b, WORDS("printf", "%s|", "a b", "", "$HOME", "*", "\xff\n"), NULL) :
			  run(b, WORDS("python", "-c", words, "a b", "", "$HOME", "*", "\xff\n"), NULL);
	is_str(buf_cstr(&r.out), "a b||$HOME|*|\xff\n|", "argv goes through byte for byte");
	fx_ran_release(&r);
	if (has_shell()) {
		r = run(b, WORDS("sh", "-c", "printf %s 'a'; sleep 30 & exit 3"), NULL);
		ok(r.code == 3 && r.out.len == 1, "the end is the end of the process, not of the pipe");
		fx_ran_release(&r);
	} else {
		skip(1, "a program starts no others");
	}
	if (!(drv->caps & CAP_STDIN)) {
		skip(2, "no stdin");
		return;
	}
	r = say(b, "cat; echo end", BYTES "out(sys.stdin.buffer.read() + b'end\\n')", "given\n");
	is_str(buf_cstr(&r.out), "given\nend\n", "stdin goes in and ends");
	fx_ran_release(&r);
	r = say(b, "cat", BYTES "out(sys.stdin.buffer.read())", NULL);
	ok(r.code == 0 && r.out.len == 0, "no stdin is an empty one");
	fx_ran_release(&r);
}

static void offline(struct box *b)
{
	if (!(drv->caps & CAP_OFFLINE)) {
		skip(1, "its boxes have a network of their own");
		return;
	}
	struct ran r = { 0 };
	struct run_opts o = { .argv = (char *const *)(uintptr_t)WORDS("bash", "-c", "(exec 3<>/dev/tcp/127.0.0.1/1) 2>&1; exit 5"),
			      .nr_argv = 3, .offline = true };
	struct run *p = drv->run_prepare(b, &o, &fx_run_ops, &r);
	drv->run_go(p);
	fx_wait(&r.here);
	drv->run_free(p);
	ok(r.code == 5 && strstr(buf_cstr(&r.out), "unreachable"), "offline: it runs, and can make no socket");
	fx_ran_release(&r);
}

static void signals(struct box *b)
{
	struct ran r = { 0 };
	const char *const *words = has_shell() ? WORDS("sleep", "100") : WORDS("python", "-c", "import time; time.sleep(100)");
	struct run_opts o = { .argv = (char *const *)(uintptr_t)words, .nr_argv = has_shell() ? 2 : 3, .timeout_us = 200000 };
	struct run *p = drv->run_prepare(b, &o, &fx_run_ops, &r);
	drv->run_go(p);
	fx_wait(&r.here);
	ok(r.signal == SIGTERM || r.signal == SIGKILL, "a time limit ends it");
	drv->run_free(p);
	fx_ran_release(&r);
	if (!(drv->caps & CAP_SIGNAL)) {
		skip(1, "no signals");
		return;
	}
	r = (struct ran){ 0 };
	o.timeout_us = 0;
	p = drv->run_prepare(b, &o, &fx_run_ops, &r);
	drv->run_go(p);
	drv->run_signal(p, SIGINT);
	fx_wait(&r.here);
	ok(r.signal == SIGINT || r.code == 130, "a signal arrives");
	drv->run_free(p);
	fx_ran_release(&r);
}

static json_t *verb(struct answer *a)
{
	fx_wait(&a->here);
	return a->result;
}

static void files(struct box *b)
{
	static const char bytes[] = "line\n\0\xff\xfe"
				    "end";
	struct answer a = { 0 };
	CLEANUP(buf_release) struct buf got = BUF_INIT;
	drv->write(b, "new/dir/file", bytes, sizeof(bytes) - 1, 0640, fx_done, &a);
	ok(verb(&a) != NULL, "write makes what is missing");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->read(b, "new/dir/file", 1 << 20, fx_done, &a);
	ok(json_get_bytes(json_object_get(verb(&a), "data"), &got) && got.len == sizeof(bytes) - 1 &&
		   memcmp(got.data, bytes, got.len) == 0,
	   "read gives the same bytes");
	is_int(json_int(a.result, "mode", -1), 0640, "and the mode");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->read(b, "new/dir/file", 4, fx_done, &a);
	is_str(json_str(verb(&a), "data", ""), "line", "no more than was asked for");
	is_int(json_int(a.result, "size", -1), (int64_t)sizeof(bytes) - 1, "with the whole size");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->list(b, "new", fx_done, &a);
	const json_t *entry = json_array_get(json_object_get(verb(&a), "entries"), 0);
	ok(strcmp(json_str(entry, "name", ""), "dir") == 0 && strcmp(json_str(entry, "kind", ""), "dir") == 0, "list");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->stat(b, "/workspace/new/dir/file", fx_done, &a);
	is_str(json_str(verb(&a), "kind", ""), "file", "stat of an absolute path");
	json_release(&a.result);
	static const char odd[] = "new/dir/odd \n\t'\"\\*$ \xff";
	a = (struct answer){ 0 };
	drv->write(b, odd, "x", 1, -1, fx_done, &a);
	bool wrote = verb(&a) != NULL;
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->list(b, "new/dir", fx_done, &a);
	bool named = false;
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(verb(&a), "entries"), i, e)
		named |= json_get_bytes(json_object_get(e, "name"), &got) && strcmp(buf_cstr(&got), odd + 8) == 0;
	ok(wrote && named, "a name of any bytes");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->read(b, "missing", 10, fx_done, &a);
	ok(verb(&a) == NULL && a.err.code == ERR_NOENT, "a missing file is an error");
	a = (struct answer){ 0 };
	drv->read(b, "new", 10, fx_done, &a);
	ok(verb(&a) == NULL, "a folder is not read");
	struct ran r = say(b, "wc -c <new/dir/file; ln -s /etc/passwd l; mkfifo fifo; echo over >>new/dir/file",
			   "import os; print(os.path.getsize('new/dir/file')); os.symlink('/etc/passwd', 'l'); "
			   "print('over', file=open('new/dir/file', 'a'))",
			   NULL);
	is_int(atoi(buf_cstr(&r.out)), (int64_t)sizeof(bytes) - 1,
	       "a command sees what was written and may write to it");
	fx_ran_release(&r);
	if (!has_shell()) {
		skip(1, "it makes no fifos");
		return;
	}
	a = (struct answer){ 0 };
	drv->read(b, "fifo", 10, fx_done, &a);
	ok(verb(&a) == NULL, "a fifo is not waited for");
}

static void freezing(struct box *b)
{
	if (!(drv->caps & CAP_FREEZE)) {
		skip(2, "cannot freeze");
		return;
	}
	struct answer a = { 0 };
	drv->freeze(b, true, fx_done, &a);
	ok(verb(&a) != NULL, "freeze");
	json_release(&a.result);
	a = (struct answer){ 0 };
	drv->freeze(b, false, fx_done, &a);
	ok(verb(&a) != NULL, "thaw");
	json_release(&a.result);
}

/* Waits for input on @fd while the loop runs. */
static bool comes(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	for (int i = 0; i < 1000; i++) {
		if (poll(&p, 1, 0) == 1)
			return true;
		loop_turn(fx_loop, 10);
	}
	return false;
}

static int fd_of(struct answer *a)
{
	int fd = (int)json_int(verb(a), "fd", -1);
	json_release(&a->result);
	return fd;
}

/* The way in and the way out: a listener on the box's own loopback is ours, and so is a connection to it. */
static void ports(struct box *b)
{
	enum { PORT = 47011, NOBODY = 47012 };
	if ((drv->caps & (CAP_LISTEN | CAP_DIAL)) != (CAP_LISTEN | CAP_DIAL)) {
		skip(4, "no ports");
		return;
	}
	struct answer a = { 0 };
	drv->listen(b, PORT, fx_done, &a);
	int door = fd_of(&a);
	ok(door >= 0, "a port of the box is listened on from outside");
	a = (struct answer){ 0 };
	drv->dial(b, PORT, fx_done, &a);
	int in = fd_of(&a), out = comes(door) ? accept(door, NULL, NULL) : -1;
	ok(in >= 0 && out >= 0, "and reached from outside");
	char got[5] = "";
	ok(write(in, "ping", 4) == 4 && comes(out) && read(out, got, 4) == 4 && !strcmp(got, "ping") && write(out, "pong", 4) == 4 &&
		   comes(in) && read(in, got, 4) == 4 && !strcmp(got, "pong"),
	   "bytes go both ways");
	close(in);
	close(out);
	close(door);
	a = (struct answer){ 0 };
	drv->dial(b, NOBODY, fx_done, &a);
	ok(verb(&a) == NULL, "where nobody listens nobody answers");
}

static void many(struct box *b)
{
	enum { NR = 20 };
	struct ran r[NR] = { 0 };
	struct run *p[NR];
	const char *const *words = has_shell() ? WORDS("sh", "-c", "echo $$") : WORDS("python", "-c", "print(11)");
	struct run_opts o = { .argv = (char *const *)(uintptr_t)words, .nr_argv = 3 };
	int good = 0, nr = has_shell() ? NR : 4; /* each is an interpreter of 200 MB */
	for (int i = 0; i < nr; i++)
		p[i] = drv->run_prepare(b, &o, &fx_run_ops, &r[i]);
	for (int i = nr; i-- > 0;)
		drv->run_go(p[i]);
	for (int i = 0; i < nr; i++) {
		fx_wait(&r[i].here);
		good += r[i].code == 0 && r[i].out.len > 1;
		drv->run_free(p[i]);
		fx_ran_release(&r[i]);
	}
	is_int(good, nr, "many at once, let go in another order");
}

int main(int argc, char **argv)
{
	drv = argc > 1 ? driver_find(argv[1]) : NULL;
	if (!drv)
		skip_all("no driver '%s'", argc > 1 ? argv[1] : "");
	json_t *probe = drv->probe(), *result = NULL;
	if (!json_flag(probe, "ok", false) && !getenv("DRIVER_OPTIONS")) /* options may name a program that the probe can't find */
		skip_all("%s: %s", drv->name, json_str(probe, "why", "not here"));
	json_release(&probe);
	fx_start();
	CLEANUP(free_ptr) char *repo = fx_path("repo");
	fx_file(repo, "there", "before\n", 0644);
	struct box *b = open_box("conformance", repo, &result);
	ok(b != NULL, "%s: a box opens", drv->name);
	if (b) {
		ok(b->profile && *b->profile && strcmp(b->profile, json_str(result, "profile", "")) == 0,
		   "it says its profile: %s", b->profile);
		exits(b);
		streams(b);
		offline(b);
		signals(b);
		files(b);
		much_output(b, has_shell());
		tiny_writes(b, has_shell());
		large_file(b, has_shell());
		freezing(b);
		ports(b);
		many(b);
		stays(b, has_shell());
		struct answer a = { 0 };
		drv->stats(b, fx_done, &a);
		ok(verb(&a) != NULL, "stats");
		json_release(&a.result);
		ok(fx_close(b), "close");
	}
	json_release(&result);
	return fx_end();
}
