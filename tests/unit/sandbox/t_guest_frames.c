/* One of each frame between the supervisor and the guest (wire/guest.h), from the real client and the real guest, with
 * framed streams: bodies as tests/corpus/frames/guest.txt has them. Numbers of the kernel are zeroed. */
#include "guest_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/hash.h"
#include "frames_tap.h"

static uint16_t listening; /* a port of this test */

static void zero(char *body, size_t len, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < len; i++)
		body[i] = 0;
}

static void zero_port(char *body, size_t len)
{
	if (len >= 2 && get_u16le(body) == listening)
		zero(body, len, 0, 2);
}

static void render(const struct frame *f, bool back, struct buf *out)
{
	static const struct {
		uint16_t type;
		size_t from, to;
	} own[] = {
		{ GF_READY, 5, 10 },	/* landlock, uid */
		{ GF_PREPARED, 0, 4 },	/* pid */
		{ GF_ENDED, 12, 32 },	/* processor time, memory, kills */
	};
	char *body = mem_dup(f->body, f->len ? f->len : 1);
	size_t len = f->len;
	for (size_t i = 0; back && i < ARRAY_LEN(own); i++)
		if (own[i].type == f->type)
			zero(body, len, own[i].from, own[i].to);
	if (f->type == GF_DIAL)
		zero_port(body, len);
	if (f->type == GF_ANSWER && len > 5) /* to ATTACH, FREEZE, LISTEN, KILL, PS: the first bytes */
		len = 5;
	if (f->type == GF_CREDIT || (f->type == GF_DATA && len > 100)) /* how much at a time is open */
		len = 1;
	buf_printf(out, "%zu ", len);
	hex_append(out, body, len);
	free(body);
}

static bool frozen(bool is)
{
	struct answer a = { 0 };
	guest_freeze(guest, is, on_answer, &a);
	until(&a.done);
	json_release(&a.result);
	return a.err.code == ERR_NONE;
}

/* Commands that end by themselves, and one that has a terminal. */
static void run_some(void)
{
	static char sh[] = "/bin/sh", c[] = "-c", text[] = "read a; echo $a; echo e >&2; exit 3", env_a[] = "A=b", root[] = "/";
	char *argv[] = { sh, c, text, NULL }, *env[] = { env_a, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3, .cwd = root, .env = env, .stdin_open = true };
	struct job j = { 0 };
	j.run = guest_prepare(guest, &o, &run_ops, &j);
	guest_go(j.run);
	guest_stdin(j.run, "one\n", 4, true);
	until(&j.done);
	ok(j.code == 3 && !strcmp(buf_cstr(&j.out), "one\n"), "a command read, wrote, and ended");
	job_release(&j);

	static char tty_text[] = "stty -echo; echo up; kill -STOP $$; read a; exit 4";
	char *tty_argv[] = { sh, c, tty_text, NULL };
	struct run_opts t = { .argv = tty_argv, .nr_argv = 3, .cwd = root, .pty = true, .job = true, .cols = 80, .rows = 24 };
	struct job k = { 0 };
	k.run = guest_prepare(guest, &t, &run_ops, &k);
	guest_go(k.run);
	for (int i = 0; i < 1000 && !guest_silent(k.run); i++)
		turns(5);
	ok(guest_silent(k.run), "a terminal without echo");
	guest_resize(k.run, &(struct winsize){ .ws_col = 100, .ws_row = 30 });
	guest_signal(k.run, SIGKILL);
	until(&k.done);
	job_release(&k);

	static char big_text[] = "head -c 300000; head -c 300000 /dev/zero";
	char *big_argv[] = { sh, c, big_text, NULL };
	struct run_opts b = { .argv = big_argv, .nr_argv = 3, .cwd = root, .stdin_open = true };
	struct job m = { .count_only = true };
	CLEANUP(free_ptr) char *bytes = mem_calloc(1, 300000);
	m.run = guest_prepare(guest, &b, &run_ops, &m);
	guest_go(m.run);
	guest_stdin(m.run, bytes, 300000, true);
	until(&m.done);
	is_int(m.bytes, 600000, "more than the credit, both ways");
	job_release(&m);

	static char long_text[] = "sleep 100";
	char *long_argv[] = { sh, c, long_text, NULL };
	struct run_opts s = { .argv = long_argv, .nr_argv = 3, .cwd = root };
	struct job l = { 0 };
	l.run = guest_prepare(guest, &s, &run_ops, &l);
	guest_go(l.run);
	ok(frozen(true) && frozen(false), "frozen and thawed");
	guest_run_free(l.run); /* DROP */
}

static void ask_some(void)
{
	struct answer a = { 0 };
	guest_ps(guest, on_answer, &a);
	ok(answer_int(&a, "pids") >= 0, "processes");
	json_release(&a.result);
	struct answer b = { 0 };
	guest_ping(guest, on_answer, &b);
	until(&b.done);
	json_release(&b.result);
	struct answer c = { 0 };
	guest_kill_all(guest, on_answer, &c);
	ok(answer_int(&c, "left") == 0, "all killed");
	json_release(&c.result);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		fd_close(&fd);
	return fd;
}

static void open_sockets(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 4) == 0 &&
		    getsockname(fd, (struct sockaddr *)&at, &len) == 0;
	ok(good, "a port to dial");
	listening = ntohs(at.sin_port);
	struct answer a = { 0 };
	guest_dial(guest, listening, on_answer, &a);
	int out = (int)answer_int(&a, "fd");
	ok(out >= 0, "dialled");
	json_release(&a.result);

	struct answer b = { 0 };
	guest_listen(guest, 0, on_answer, &b);
	int port = (int)answer_int(&b, "port"), door = b.result ? (int)json_int(b.result, "fd", -1) : -1;
	ok(port > 0, "listens");
	json_release(&b.result);
	int client = connect_to((uint16_t)port), came = -1;
	for (int i = 0; i < 1000 && came < 0; i++) {
		turns(5);
		came = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	}
	ok(client >= 0 && came >= 0, "a connection came out");
	fd_close(&client);
	fd_close(&came);
	fd_close(&door);
	fd_close(&out);
	fd_close(&fd);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct frames_tap tap = { .render = render };
	struct guest_opts o = { .framed = true };
	int pair[2];
	const uint16_t ports[] = { 443 };
	const struct guest_rule rules[] = { { "/", GUEST_READ | GUEST_EXEC | GUEST_WRITE | GUEST_DEVICE } };
	const struct guest_attach at = { .rules = rules, .nr_rules = 1, .ports = ports, .nr_ports = 1, .unconfined_ok = true,
					 .limits = { .disk_bytes = 1 << 20 } };
	int sock = guest_box_start(false, &guest_pid); /* first: it is a copy of this process */
	if (sock < 0 || loop_new(&loop, &err) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	frames_tap_begin(&tap, pair[1], sock);
	guest = guest_new(loop, pair[0], &o, &guest_ops, NULL);
	ok(until(&is_ready), "the guest is ready");
	struct answer a = { 0 };
	guest_attach(guest, &at, on_answer, &a);
	ok(answer_int(&a, "landlock") >= 0, "the rules are opened");
	json_release(&a.result);
	run_some();
	open_sockets();
	ask_some();
	guest_free(&guest);
	frames_tap_end(&tap, "guest");
	kill(guest_pid, SIGKILL);
	waitpid(guest_pid, NULL, 0);
	turns(10);
	loop_free(loop);
	return done_testing();
}
