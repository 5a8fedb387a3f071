/* The verb tty of our tool: a command in a terminal, held by a program with pipes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "guest/guest_priv.h"
#include "guest/tool.h"
#include "tap.h"

static char dir[] = "/tmp/t_tty-XXXXXX";

struct held {
	pid_t pid;
	int in, out;
	struct buf said;
	int status;
};

static struct held begin(const char *command)
{
	int in[2], out[2];
	struct held h = { .status = -1 };
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		exit(1);
	fflush(stdout);
	h.pid = fork();
	if (h.pid == 0) {
		CLEANUP(free_ptr) char *file = mem_printf("%s/p", dir), *text = mem_strdup(command);
		char cols[] = "90", rows[] = "30", sh[] = "sh", c[] = "-c";
		char *argv[] = { file, cols, rows, sh, c, text, NULL };
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		signal(SIGINT, SIG_IGN); /* as what a shell starts in the background */
		signal(SIGHUP, SIG_IGN);
		_exit(tool_tty(argv));
	}
	close(in[0]);
	close(out[1]);
	h.in = in[1];
	h.out = out[0];
	return h;
}

/* Until @text has come (NULL: until the end). */
static bool comes(struct held *h, const char *text)
{
	int64_t until = clock_mono_us() + 10000000;
	while (clock_mono_us() < until && !(text && strstr(buf_cstr(&h->said), text))) {
		struct pollfd p = { .fd = h->out, .events = POLLIN };
		char bytes[4096];
		ssize_t n = poll(&p, 1, 100) == 1 ? read(h->out, bytes, sizeof bytes) : -1;
		if (n == 0)
			return text == NULL;
		if (n > 0)
			buf_append(&h->said, bytes, (size_t)n);
	}
	return text != NULL && strstr(buf_cstr(&h->said), text);
}

static void type(struct held *h, const char *text)
{
	struct err err = ERR_INIT;
	ok(fd_write_all(h->in, text, strlen(text), &err) == 0, "typed");
}

static int end(struct held *h)
{
	waitpid(h->pid, &h->status, 0);
	close(h->in);
	close(h->out);
	buf_release(&h->said);
	return h->status;
}

static pid_t number(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *file = mem_printf("%s/p", dir);
	struct err err = ERR_INIT;
	return file_read(file, &text, 32, &err) < 0 ? -1 : (pid_t)atoi(buf_cstr(&text));
}

/* Writes FILE.ask, which asks for the names in the directory "tree" at the mark. */
static void ask(const char *number)
{
	CLEANUP(free_ptr) char *made = mem_printf("%s/p.asks", dir), *path = mem_printf("%s/p.ask", dir), *tree = mem_printf("%s/tree", dir);
	const char *const words[] = { "^mark", number, "news", tree, "0000000000000000", "0", "100000" };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		buf_append(&b, words[i], strlen(words[i]) + 1);
	CLEANUP(fd_close) int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ok(fd >= 0 && fd_write_all(fd, b.data, b.len, &err) == 0 && rename(made, path) == 0, "asked");
}

/* Reads FILE.say.@number; empty means no answer. */
static bool said(const char *number, struct buf *out)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/p.say.%s", dir, number);
	struct err err = ERR_INIT;
	buf_reset(out);
	for (int i = 0; i < 50; i++) {
		if (access(path, F_OK) == 0 && file_read(path, out, 1 << 20, &err) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

static bool names(const struct buf *b, const char *name)
{
	return b->len && memmem(b->data, b->len, name, strlen(name));
}

static void test_ask(void)
{
	CLEANUP(free_ptr) char *text =
		mem_printf("stty -echo; cd %s; mkdir tree; printf '^mark:old^'; echo up; while read -r a; do eval \"$a\"; done", dir);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct held h = begin(text);
	comes(&h, "up");
	ask("1");
	type(&h, "echo 1 >tree/one; printf '^ma'; sleep 0.1; printf 'rk:0'; sleep 0.2; echo 2 >tree/two; printf '^'; sleep 0.2; "
		 "echo 3 >tree/three\n");
	ok(said("1", &b) && b.data[0] == 0 && names(&b, "one") && names(&b, "two") && !names(&b, "three"),
	   "a question is answered once the mark and the byte after it are out");
	type(&h, "printf '^mark:0^'; echo again\n");
	comes(&h, "again");
	ask("2");
	type(&h, "echo 4 >tree/four; echo later\n");
	comes(&h, "later");
	ok(!said("2", &b), "a mark from before is none");
	ask("3");
	type(&h, "printf '^mark:0^'; echo over\n");
	ok(said("3", &b) && names(&b, "four") && !said("2", &b), "the newest counts");
	ask("../4");
	type(&h, "printf '^mark:0^'; echo end\n");
	ok(comes(&h, "end") && !said("4", &b), "a number is one");
	close(h.in);
	h.in = -1;
	kill(-number(), SIGKILL);
	end(&h);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct held h;
	int master = -1, tty = -1;
	if (!mkdtemp(dir))
		return 1;
	if (!inner_tty_open(&(struct winsize){ .ws_col = 80, .ws_row = 24 }, &master, &tty))
		skip_all("no terminals here: %s", strerror(errno));
	fd_close(&master);
	fd_close(&tty);

	h = begin("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size; exit 7");
	ok(comes(&h, "30 90"), "a terminal of that size");
	ok(comes(&h, NULL), "its end is ours");
	ok(WEXITSTATUS(end(&h)) == 7, "with its status");

	h = begin("stty -echo; echo up; read a; echo got $a; exec sleep 100"); /* exec: dash, about to begin a child, passes no ^C on */
	comes(&h, "up");
	type(&h, "hello\n");
	ok(comes(&h, "got hello"), "typed text is read");
	type(&h, "\003");
	comes(&h, NULL);
	ok(WTERMSIG(end(&h)) == SIGINT, "and ^C raises a signal, though we ignore that signal");

	h = begin("sleep 0.2; head -c 100000 /dev/zero | tr '\\0' x; printf last");
	close(h.in);
	h.in = -1;
	comes(&h, NULL);
	ok(h.said.len == 100004, "all its output arrives (%zu); the end of the input does not end the command", h.said.len);
	ok(end(&h) == 0, "the command exits");

	h = begin("set -m; sleep 100 & echo job $! up; wait");
	comes(&h, "up");
	char *job = strstr(buf_cstr(&h.said), "job ");
	pid_t pid = job ? (pid_t)atoi(job + 4) : 0, leader = number();
	ok(leader > 0 && getpgid(leader) == leader && getsid(leader) == leader && pid > 0, "its number is written down");
	ok(kill(-leader, SIGKILL) == 0 && kill(pid, 0) == 0 && getpgid(pid) != leader, "it is killed; its job is in another group");
	ok(WTERMSIG(end(&h)) == SIGKILL, "we end as it did");
	for (int i = 0; i < 100 && kill(pid, 0) == 0; i++)
		usleep(20000);
	ok(kill(pid, 0) < 0, "and its job has ended, too");

	test_ask();

	h = begin("exec /nowhere/at/all");
	comes(&h, NULL);
	ok(WEXITSTATUS(end(&h)) == 127, "a missing program exits with 127");
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
