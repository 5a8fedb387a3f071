/* The shell that stays, over a real guest and a real bash. */
#include "sandbox/shell.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/guest/guest_client.h"
#include "tap.h"

#include "guest_box.h"

static struct loop *loop;
static struct guest *guest;
static char dir[] = "/tmp/t_shell-XXXXXX";

/* The verbs that a shell needs, straight from the guest client. */
struct run {
	struct guest_run *r;
};

static struct run *run_prepare(struct box *b, const struct run_opts *o, const struct run_ops *ops, void *self)
{
	struct run *r = NEW(struct run);
	(void)b;
	r->r = guest_prepare(guest, o, ops, self);
	return r;
}

static void run_go(struct run *r)
{
	guest_go(r->r);
}

static void run_stdin(struct run *r, const void *bytes, size_t len, bool eof)
{
	guest_stdin(r->r, bytes, len, eof);
}

static void run_signal(struct run *r, int signo)
{
	guest_signal(r->r, signo);
}

static void run_resize(struct run *r, const struct winsize *size)
{
	guest_resize(r->r, size);
}

static void run_pause(struct run *r, bool paused)
{
	guest_pause(r->r, paused);
}

/* The turns that the driver receives: "B" at a start, "M" at a mark, "O" for any other end. */
static struct buf turns_told;

static void run_turn(struct run *r, enum run_turn turn, const char *mark)
{
	(void)r;
	buf_putc(&turns_told, turn == TURN_BEGINS ? (mark && mark[0] == '\036' ? 'B' : '?') : turn == TURN_AT_MARK ? 'M' : 'O');
}

static void run_free(struct run *r)
{
	guest_run_free(r->r);
	free(r);
}

static const struct driver driver = { .name = "test",
				       .caps = CAP_PTY | CAP_SHELL,
				      .run_prepare = run_prepare,
				      .run_go = run_go,
				      .run_stdin = run_stdin,
				      .run_signal = run_signal,
				      .run_resize = run_resize,
				      .run_pause = run_pause,
				      .run_turn = run_turn,
				      .run_free = run_free };

/* A persistent interpreter (plugins/pyodide/engine.py), played by bash. It takes lines with its mark for commands
 * and nothing else, and prints status and turn after each. A ^C at its prompt is not reported. Bash gives up a write
 * that a trapped signal interrupts, so it writes while signals are blocked. */
static struct run *interpreter_prepare(struct box *b, const struct run_opts *o, const struct run_ops *ops, void *self)
{
	static char bash[] = "bash", dash_c[] = "-c";
	static char script[] =
		"stty -echo -onlcr; trap : INT; begin=${1#?}: status=0 turn=0\n"
		"line() { until read -r l; do (($? > 128)) || exit; done; }\n"
		"whole() { trap '' INT; \"$@\"; local r=$?; trap : INT; return $r; }\n"
		"echo() { whole builtin echo \"$@\"; }\n"
		"while whole printf '%s:%d:%s\\036' \"$1\" $status \"$turn\"; do\n"
		"  text=\n"
		"  until [[ $text = *. ]]; do\n"
		"    line\n"
		"    if [[ $l = \"$begin\"* ]]; then text=$l; elif [ \"$text\" ]; then text+=$l; fi\n"
		"  done\n"
		"  text=${text#\"$begin\"} turn=${text%%:*} text=${text#*:}\n"
		"  eval \"$(base64 -d <<<\"${text%.}\")\"; status=$?\n"
		"done";
	struct run_opts as = *o;
	char *argv[] = { bash, dash_c, script, o->argv[0], o->argv[1], NULL };
	as.argv = argv;
	as.nr_argv = 5;
	return run_prepare(b, &as, ops, self);
}

struct seen {
	struct buf out, between;
	bool done, ended;
	struct box_shell_result r;
};

static void on_output(void *self, bool running, const void *bytes, size_t len)
{
	struct seen *s = self;
	buf_append(running ? &s->out : &s->between, bytes, len);
}

static void on_done(void *self, const struct box_shell_result *r)
{
	struct seen *s = self;
	s->done = true;
	s->r = *r;
}

static void on_end(void *self, bool lost, int left)
{
	struct seen *s = self;
	(void)lost;
	(void)left;
	s->ended = true;
}

static const struct box_shell_ops ops = { .on_output = on_output, .on_done = on_done, .on_end = on_end };

static bool until(const bool *flag)
{
	int64_t end = clock_mono_us() + 20000000;
	while (!*flag && clock_mono_us() < end)
		loop_turn(loop, 200);
	return *flag;
}

static void until_out(struct seen *s, const char *text)
{
	int64_t end = clock_mono_us() + 20000000;
	while (!strstr(buf_cstr(&s->out), text) && clock_mono_us() < end)
		loop_turn(loop, 200);
}

static int run(struct box_shell *sh, struct seen *s, const char *cmd)
{
	struct err err = ERR_INIT;
	buf_reset(&s->out);
	s->done = false;
	if (box_shell_run(sh, cmd, 0, &err) < 0 || !until(&s->done))
		return -2;
	return s->r.status;
}

static void test_state(struct box_shell *sh, struct seen *s)
{
	is_int(run(sh, s, "echo hello"), 0, "a command runs");
	is_str(buf_cstr(&s->out), "hello\n", "and its output has no echo, no prompt, no carriage return");
	is_int(run(sh, s, "cd /usr; X='a b'; f() { echo \"f $1\"; return 7; }"), 0, "state is made");
	is_int(run(sh, s, "pwd; echo \"$X\"; f 'it'"), 7, "status of the last command");
	is_str(buf_cstr(&s->out), "/usr\na b\nf it\n", "directory, variable and function are kept");
	is_int(run(sh, s, "false\necho second\n(exit 42)"), 42, "several lines are one command");
	is_str(buf_cstr(&s->out), "second\n", "all lines run");
	ok(run(sh, s, "if then fi (") != 0, "a syntax error is an error");
	is_int(run(sh, s, "echo still here"), 0, "and not the end of the shell");
	is_str(buf_cstr(&s->out), "still here\n", "the shell continues");
	is_int(run(sh, s, "cat <<'E'\nit's \"here\" $HOME !x `no`\n\tE\nE"), 0, "a here document");
	is_str(buf_cstr(&s->out), "it's \"here\" $HOME !x `no`\n\tE\n", "arrives unchanged");
	is_int(run(sh, s, "env | grep -c PS1"), 1, "the marker is in no command's environment");
	is_int(run(sh, s, "printf 'a\\036sg0:0:\\036b'"), 0, "something like a marker");
	is_str(buf_cstr(&s->out), "a\036sg0:0:\036b", "is output");
	is_int(run(sh, s, "[ -t 0 ] && [ -t 1 ] && stty size"), 0, "there is a terminal");
	is_str(buf_cstr(&s->out), "40 120\n", "of a known size");
}

static void test_long(struct box_shell *sh, struct seen *s)
{
	struct buf cmd = BUF_INIT, want = BUF_INIT;
	buf_puts(&cmd, "printf %s '");
	for (int i = 0; i < 3000; i++) {
		buf_puts(&cmd, i % 7 ? "abcdé" : "x\x03\x04\x15\x7f");
		buf_puts(&want, i % 7 ? "abcdé" : "x\x03\x04\x15\x7f");
	}
	buf_puts(&cmd, "'");
	is_int(run(sh, s, cmd.data), 0, "a line longer than a terminal takes, with control characters");
	ok(s->out.len == want.len && memcmp(s->out.data, want.data, want.len) == 0, "arrives whole (%zu of %zu)",
	   s->out.len, want.len);
	buf_release(&cmd);
	buf_release(&want);
}

static void test_input(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	buf_reset(&s->out);
	s->done = false;
	ok(box_shell_run(sh, "printf 'sure? '; read a; echo \"got $a\"", 0, &err) == 0, "a command that asks");
	ok(box_shell_run(sh, "true", 0, &err) < 0 && err.code == ERR_BUSY, "one at a time");
	until_out(s, "sure? ");
	ok(!s->done, "waits");
	box_shell_send(sh, "y\n", 2);
	until(&s->done);
	is_str(buf_cstr(&s->out), "sure? got y\n", "for its answer");

	is_int(run(sh, s, "sleep 100 & echo $!"), 0, "a job");
	is_int(run(sh, s, "jobs | grep -c Running"), 0, "is kept");
	is_int(run(sh, s, "kill %1; wait"), 0, "and can be ended");
}

static void test_interrupt(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	s->done = false;
	buf_reset(&s->out);
	ok(box_shell_run(sh, "echo go; read -r never; echo not", 1000000, &err) == 0, "a command that takes too long");
	until(&s->done);
	ok(s->r.timed_out && !s->r.ended && s->r.status == 130, "is interrupted (status %d)", s->r.status);
	ok(strstr(buf_cstr(&s->out), "go") && !strstr(buf_cstr(&s->out), "not"), "and goes no further");
	is_int(run(sh, s, "echo on"), 0, "the shell is still there");
}

static void test_end(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	is_int(run(sh, s, "echo last; exit 5"), -1, "a shell that exits gives no status for the command");
	is_str(buf_cstr(&s->out), "last\nexit\n", "its output is kept");
	ok(s->r.ended && s->r.code == 5 && until(&s->ended), "and its end is reported with its status");
	ok(box_shell_run(sh, "true", 0, &err) < 0 && err.code == ERR_CLOSED, "then nothing runs");
}

/* A time limit that is over before the shell has come up. */
static void test_too_soon(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	ok(box_shell_run(sh, "echo late", 1, &err) == 0, "a command with hardly any time");
	for (int64_t end = clock_mono_us() + 20000; clock_mono_us() < end;)
		loop_turn(loop, 5);
	box_shell_go(sh);
	until(&s->done);
	ok(s->r.timed_out && !s->r.ended && s->r.status == 130, "is interrupted (status %d, timed out %d, ended %d)", s->r.status,
	   s->r.timed_out, s->r.ended);
	is_int(run(sh, s, "echo next"), 0, "the shell stays");
	is_str(buf_cstr(&s->out), "next\n", "and the rest of the command has not run");
}

static void test_stop(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	s->done = false;
	buf_reset(&s->out);
	/* the word is the program's own: a ^C between a shell's fork and the program's start may end the shell */
	ok(box_shell_run(sh, "sh -c 'echo go; sleep 100; :'", 0, &err) == 0, "a command that is to end");
	until_out(s, "go");
	box_shell_stop(sh, false);
	box_shell_stop(sh, false);
	until(&s->done);
	ok(s->done && s->r.status == 130 && !s->r.timed_out && !s->r.ended,
	   "is interrupted, and has not timed out (status %d, timed out %d, ended %d)", s->r.status, s->r.timed_out, s->r.ended);
	is_int(run(sh, s, "echo next"), 0, "the shell stays");
}

/* ^C in the moment of a command's end: the extra prompt does not end the next command. */
static void test_stop_at_end(struct box_shell *sh, struct seen *s)
{
	int bad = 0;
	for (int i = 0; i < 40; i++) {
		struct err err = ERR_INIT;
		s->done = false;
		buf_reset(&s->out);
		if (box_shell_run(sh, "echo go; echo on", 0, &err) < 0)
			break;
		until_out(s, i % 2 ? "go" : "on");
		for (int k = 0; k <= i % 4; k++) {
			box_shell_stop(sh, false);
			loop_turn(loop, 0);
		}
		bad += !until(&s->done) || s->r.ended || s->r.timed_out || (s->r.status != 0 && s->r.status != 130);
		bad += run(sh, s, "echo next; (exit 3)") != 3 || strcmp(buf_cstr(&s->out), "next\n") != 0;
	}
	is_int(bad, 0, "a command that is stopped as it ends is followed by one that is whole");
}

static void told(const char *want, const char *what)
{
	is_str(buf_cstr(&turns_told), want, what);
	buf_reset(&turns_told);
}

/* A turn reports whether its mark was the end of the output. */
static void test_turns(struct box_shell *sh, struct seen *s)
{
	struct err err = ERR_INIT;
	buf_reset(&turns_told);
	run(sh, s, "echo hello; (exit 3)");
	told("BM", "a command ends at its mark");
	run(sh, s, "M=${PS1%%:*} T=${PS1#*\\}:} T=${T%%:*}; printf \"$M\"; printf x");
	told("BO", "a printed mark alone is reported");
	run(sh, s, "printf \"$M\" | head -c 20; printf \"${M#?}:0:0\\036\"");
	told("BM", "a printed part of a mark changes nothing");
	run(sh, s, "printf \"$M:0:x\\036\"; printf \"$M:0:\"");
	told("BO", "an incomplete mark is not an end");
	is_int(run(sh, s, "printf \"$M:7:$T\\036\"; sleep 0.3"), 7, "a forged mark ends the command");
	told("BM", "at that mark");
	for (int64_t end = clock_mono_us() + 1500000; clock_mono_us() < end;) /* its own prompt comes, and ends nothing */
		loop_turn(loop, 20);
	s->done = false;
	ok(box_shell_run(sh, "sleep 100", 300000, &err) == 0 && until(&s->done) && s->r.timed_out, "one that is stopped");
	told("BO", "ends otherwise");
	run(sh, s, "true");
	told("BM", "and the next ends at its mark");
}

/* An interactive shell ignores ^C and ^\ while it runs a loop with both trapped. */
static void test_deaf(struct box_shell_opts *o, bool kill)
{
	struct err err = ERR_INIT;
	struct seen s = { 0 };
	struct box_shell *sh = box_shell_open(loop, &driver, NULL, o, &ops, &s);
	box_shell_go(sh);
	ok(box_shell_run(sh, "trap '' INT; echo go; while :; do :; done", 0, &err) == 0, "one that hears nothing");
	until_out(&s, "go");
	box_shell_stop(sh, kill);
	ok(until(&s.ended) && s.done && s.r.ended && s.r.status == -1 && !s.r.timed_out, "ends with its shell");
	box_shell_free(sh);
	buf_release(&s.out);
	buf_release(&s.between);
}

/* An interpreter instead of sh. Unread input, a line or a part of one, does not enter the next command. */
static void test_interpreter(const struct box_shell_opts *o)
{
	static const char *const sent[] = { "y", "3", "hello\n", "yes.\n", "a:b.\n", ".\n", "1:ZWNobyBubw==.\n" };
	struct driver interpreter = driver;
	struct seen s = { 0 };
	interpreter.caps = CAP_PTY;
	interpreter.run_prepare = interpreter_prepare;
	struct box_shell *sh = box_shell_open(loop, &interpreter, NULL, o, &ops, &s);
	box_shell_go(sh);
	is_int(run(sh, &s, "X=kept; (exit 7)"), 7, "an interpreter that stays");
	for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
		box_shell_send(sh, sent[i], strlen(sent[i]));
		is_int(run(sh, &s, "echo $X"), 0, "a command after unread input");
		is_str(buf_cstr(&s.out), "kept\n", "is intact");
	}
	test_stop(sh, &s);
	test_stop_at_end(sh, &s);
	box_shell_free(sh);
	buf_release(&s.out);
	buf_release(&s.between);
}

static void test_typing(void)
{
	struct buf b = BUF_INIT;
	box_shell_type("a'b\nc\x01", &b);
	ok(strstr(buf_cstr(&b), "eval 'a'\\''b\nc\x16\x01'; ") != NULL, "control characters are quoted for the terminal");
	buf_release(&b);
}

static void on_attached(void *self, json_t *result, const struct err *err)
{
	(void)result;
	*(bool *)self = !err;
}

static void on_gone(void *self, const struct err *err)
{
	(void)self;
	(void)err;
}

int main(void)
{
	static const struct guest_ops guest_ops = { .on_gone = on_gone };
	struct guest_rule extra = { dir, GUEST_READ | GUEST_WRITE | GUEST_EXEC };
	struct guest_attach at = { .extra = &extra, .nr_extra = 1, .unconfined_ok = true };
	struct err err = ERR_INIT;
	struct seen s = { 0 };
	pid_t pid;
	bool attached = false;
	hash_init();
	test_typing();
	if (!mkdtemp(dir))
		return 1;
	int sock = guest_box_start(false, &pid);
	if (sock < 0 || loop_new(&loop, &err) < 0)
		return 1;
	guest = guest_new(loop, sock, NULL, &guest_ops, NULL);
	guest_attach(guest, &at, on_attached, &attached);
	ok(until(&attached), "a box");
	struct box_shell_opts o = { .cwd = dir };
	struct box_shell *sh = box_shell_open(loop, &driver, NULL, &o, &ops, &s);
	box_shell_go(sh);
	test_state(sh, &s);
	test_long(sh, &s);
	test_input(sh, &s);
	test_interrupt(sh, &s);
	test_stop(sh, &s);
	test_stop_at_end(sh, &s);
	test_turns(sh, &s);
	test_end(sh, &s);
	told("B", "an exited shell sends no further turn");
	box_shell_free(sh);

	test_deaf(&o, false);
	test_deaf(&o, true);

	test_interpreter(&o);

	struct seen t = { 0 };
	sh = box_shell_open(loop, &driver, NULL, &o, &ops, &t);
	test_too_soon(sh, &t);
	ok(box_shell_run(sh, "trap '' INT; sleep 100 & sleep 100; while :; do :; done", 1000000, &err) == 0,
	   "a command that will not end");
	t.done = false;
	until(&t.ended);
	ok(t.done && t.r.timed_out && t.r.ended && t.r.status == -1, "is killed with its shell");
	box_shell_free(sh);
	guest_free(&guest);
	waitpid(pid, NULL, 0);
	buf_release(&turns_told);
	buf_release(&s.out);
	buf_release(&s.between);
	buf_release(&t.out);
	buf_release(&t.between);
	loop_turn(loop, 0);
	loop_free(loop);
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
