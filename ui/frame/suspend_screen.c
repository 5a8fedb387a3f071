#include "ui/frame/suspend_screen.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ui/term/foreground.h"
#include "ui/term/term.h"

enum { EDIT_MAX = 16 << 20 };

static struct sigaction was_int, was_quit;

void suspend_begin(void)
{
	struct sigaction ign = { .sa_handler = SIG_IGN };
	sigaction(SIGINT, &ign, &was_int);
	sigaction(SIGQUIT, &ign, &was_quit);
	term_leave();
}

void suspend_end(void)
{
	term_return();
	sigaction(SIGINT, &was_int, NULL);
	sigaction(SIGQUIT, &was_quit, NULL);
}

/* --- one program in the foreground ------------------------------------------------------------ */

static void suspend_screen_child(const char *script, const char *arg, int in, bool silent)
{
	sigset_t none;
	int null = silent ? open("/dev/null", O_RDWR) : -1;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	execl("/bin/sh", "sh", "-c", script, "sh", arg, (char *)NULL);
	_exit(127);
}

/* Ctrl-C and Ctrl-Z go to the program. When it stops, we stop, and both continue together. */
static int suspend_screen_run(const char *script, const char *arg, int in, bool silent)
{
	struct sigaction ign = { .sa_handler = SIG_IGN }, old_int, old_quit;
	sigaction(SIGINT, &ign, &old_int);
	sigaction(SIGQUIT, &ign, &old_quit);
	pid_t pid = fork();
	if (pid == 0)
		suspend_screen_child(script, arg, in, silent);
	int status = pid > 0 ? foreground_wait(pid) : -1;
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *suspend_screen_variable(const char *first, const char *second,
					   const char *otherwise)
{
	const char *v = getenv(first);
	if (!v || !*v)
		v = second ? getenv(second) : NULL;
	return v && *v ? v : otherwise;
}

/* A program and its words, without a shell left between it and us: when it stops itself (micro,
 * kakoune), we are to see that. */
static char *command_line(const char *words, const char *arg)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:,@- ";
	return mem_printf("%s%s%s", strspn(words, plain) == strlen(words) ? "exec " : "", words,
			  arg);
}

/* --- editor ----------------------------------------------------------------------------------- */

bool suspend_edit(const char *before, struct buf *out)
{
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-edit-XXXXXX";
	CLEANUP(fd_close) int fd = mkostemp(path, O_CLOEXEC);
	CLEANUP(free_ptr)
	char *script = command_line(suspend_screen_variable("VISUAL", "EDITOR", "vi"), " \"$1\"");
	bool ok = fd >= 0 && fd_write_all(fd, before, strlen(before), &err) == 0;
	suspend_begin();
	ok = ok && suspend_screen_run(script, path, -1, false) == 0 &&
	     file_read(path, out, EDIT_MAX, &err) == 0;
	suspend_end();
	if (fd >= 0)
		unlink(path);
	/* editors end a file with a line end that nobody typed */
	if (out->len > 0 && out->data[out->len - 1] == '\n' &&
	    (!*before || before[strlen(before) - 1] != '\n'))
		out->data[--out->len] = 0;
	return ok && (out->len == 0 || memchr(out->data, 0, out->len) == NULL);
}

/* --- the tool for differences ----------------------------------------------------------------- */

/* "NAME\nBYTES OF THE OLD CONTENT\n" and both. The name is bytes of a box: what a shell or a tool
 * could take amiss goes. */
void compare_text(const char *name, const struct buf *old, const struct buf *new_, struct buf *out)
{
	for (; *name; name++)
		buf_putc(out, isalnum((unsigned char)*name) || *name == '.' || *name == '_' ? *name
											    : '_');
	buf_printf(out, "\n%zu\n", old->len);
	buf_append(out, buf_cstr(old), old->len);
	buf_append(out, buf_cstr(new_), new_->len);
}

static bool suspend_screen_put_file(const char *dir, const char *side, const char *name,
				    const char *bytes, size_t len)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s-%s", dir, side, name);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	return fd >= 0 && fd_write_all(fd, bytes, len, &err) == 0;
}

bool suspend_compare(const struct buf *text, const char **why)
{
	struct err err = ERR_INIT;
	char dir[] = "/tmp/sandglass-diff-XXXXXX", *end;
	const char *p = buf_cstr(text), *size = strchr(p, '\n');
	size_t old = size ? strtoul(size + 1, &end, 10) : 0;
	if (suspend_screen_run("git config diff.tool || git config merge.tool", NULL, -1, true) !=
	    0) {
		*why = "git has no diff.tool: git config --global diff.tool vimdiff";
		return false;
	}
	if (!size || !mkdtemp(dir)) {
		*why = "can't create a directory for the two files in /tmp";
		return false;
	}
	CLEANUP(free_ptr) char *name = mem_strndup(p, (size_t)(size - p));
	const char *bytes = end + 1;
	bool ok = suspend_screen_put_file(dir, "old", name, bytes, old) &&
		  suspend_screen_put_file(dir, "new", name, bytes + old,
					  text->len - (size_t)(bytes + old - p));
	CLEANUP(free_ptr)
	char *script =
		mem_printf("cd \"$1\" && git difftool --no-prompt --no-index -- 'old-%s' 'new-%s'",
			   name, name);
	suspend_begin();
	ok = ok && suspend_screen_run(script, dir, -1, false) >= 0;
	suspend_end();
	if (dir_remove(dir, &err) < 0 || !ok)
		*why = ok ? "can't remove the two files in /tmp/sandglass-diff-*"
			  : "can't run the tool";
	return ok && err.code == ERR_NONE;
}

/* --- pager ------------------------------------------------------------------------------------ */

static int text_file(const char *text, size_t len)
{
	struct err err = ERR_INIT;
	int fd = memfd_create("pane", MFD_CLOEXEC);
	if (fd >= 0 && (fd_write_all(fd, text, len, &err) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		fd_close(&fd);
	return fd;
}

bool suspend_page(const char *pager, const char *text, size_t len)
{
	CLEANUP(fd_close) int fd = text_file(text, len);
	if (!pager || !*pager)
		pager = suspend_screen_variable("PAGER", NULL, "less -R");
	if (fd < 0)
		return false;
	CLEANUP(free_ptr) char *script = command_line(pager, "");
	suspend_begin();
	int status = suspend_screen_run(script, NULL, fd, false);
	suspend_end();
	return status >= 0 && status != 126 && status != 127;
}

/* --- plain copy screen ------------------------------------------------------------------------ */

void suspend_plain(const char *text, size_t len)
{
	static const char end[] = "-- sandglass: plain text to copy; any key returns --";
	struct err err = ERR_INIT;
	struct termios was, one;
	char key[64];
	suspend_begin();
	bool tty = tcgetattr(STDIN_FILENO, &was) == 0;
	one = was;
	/* Ctrl-C is a key like any: it must not end the console */
	one.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	if (tty)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &one);
	bool ok = fd_write_all(STDOUT_FILENO, text, len, &err) == 0 &&
		  fd_write_all(STDOUT_FILENO, len && text[len - 1] == '\n' ? "" : "\n",
			       len && text[len - 1] == '\n' ? 0 : 1, &err) == 0 &&
		  fd_write_all(STDOUT_FILENO, end, sizeof(end) - 1, &err) == 0;
	while (ok && tty && read(STDIN_FILENO, key, sizeof(key)) < 0 && errno == EINTR)
		;
	ok = ok && fd_write_all(STDOUT_FILENO, "\n", 1, &err) == 0;
	if (tty)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
	suspend_end();
}

/* --- clipboard -------------------------------------------------------------------------------- */

void clip_sequence(const char *text, size_t len, struct buf *out)
{
	buf_puts(out, "\x1b]52;c;");
	base64_append(out, text, len);
	buf_puts(out, "\x1b\\");
}

const char *clip_program(const char *text, size_t len)
{
	static const struct {
		const char *name, *display, *script;
	} programs[] = {
		{ "wl-copy", "WAYLAND_DISPLAY", "command -v wl-copy && exec wl-copy" },
		{ "xclip", "DISPLAY", "command -v xclip && exec xclip -selection clipboard" },
	};
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const char *display = getenv(programs[i].display);
		if (!display || !*display)
			continue;
		CLEANUP(fd_close) int fd = text_file(text, len);
		if (fd >= 0 && suspend_screen_run(programs[i].script, NULL, fd, true) == 0)
			return programs[i].name;
	}
	return NULL;
}
