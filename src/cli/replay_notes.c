#include "cli/replay_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "check/check.h"
#include "sessions/unmerged.h"

static void replay_notes_line(struct buf *out, const json_t *o)
{
	json_dump_buf(o, out);
	buf_putc(out, '\n');
}

static void replay_notes_fail(struct buf *out, const struct err *why)
{
	CLEANUP(json_release) json_t *o = json_object();
	json_put_str(o, "failed", why->text);
	replay_notes_line(out, o);
}

static void replay_notes_write(const char *path, int fd)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err none = ERR_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(json_release) json_t *list = NULL;
	const json_t *claim;
	size_t i;
	if (session_open(&s, path, &none) < 0) {
		replay_notes_fail(&out, &none);
		(void)!fd_write_all(fd, out.data, out.len, &none);
		return;
	}
	if (check_claims(s, &list, &none) == 0)
		json_array_foreach(list, i, claim) replay_notes_line(&out, claim);
	else
		replay_notes_fail(&out, &none);
	if (unmerged_read(&u, s, &none) == 0) {
		CLEANUP(json_release) json_t *o = json_object();
		json_put_int(o, "unmerged", (int64_t)unmerged_work(&u));
		replay_notes_line(&out, o);
	}
	unmerged_release(&u);
	session_close(&s);
	(void)!fd_write_all(fd, out.data, out.len, &none);
}

int replay_notes_open(const char *path)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		if (fork() != 0) /* a grandchild, which the reader need not wait for */
			_exit(0);
		signal(SIGPIPE, SIG_DFL);
		setpgid(0, 0);
		close(fds[0]);
		replay_notes_write(path, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	fcntl(fds[0], F_SETFD, 0); /* the program that we become has it */
	return fds[0];
}
