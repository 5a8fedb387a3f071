#include "sandbox/stream/guest_handoff.h"

#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/shell_protocol.h"

enum { LINE_MAX_ = 8192, PROGRAM_MAX = 64 << 20, LATE_MS = 60000 };

/* --- the script --- */

/* Remains of an ended process are removed first; the number of the shell is part of a
 * directory's name. The directory goes with the guest, however that ends. */
static const char guest_handoff_build[] =
	"umask 077; d=%s; g=$d/guest-%s; mkdir -p \"$d/boxes\" || exit 1; "
	"for o in \"$d\"/boxes/*; do [ -d \"$o\" ] && ! kill -0 \"${o##*.}\" 2>/dev/null && "
	"{ chmod -R u+rwx \"$o\" 2>/dev/null; rm -rf \"$o\"; }; done; "
	"b=$d/boxes/%s.$$; mkdir \"$b\" \"$b/workspace\" \"$b/home\" \"$b/tmp\" || exit 1; "
	"w=want; [ -x \"$g\" ] && w=have; "
	"echo \"SANDGLASS $(uname -m) $w $b $g\"; "
	"s=0; if [ $w = want ]; then head -c %zu >\"$g.$$\" && chmod 700 \"$g.$$\" && mv -f \"$g.$$\" \"$g\" || s=1; fi; "
	"[ $s = 1 ] || \"$g\" --stdio; s=$?; chmod -R u+rwx \"$b\" 2>/dev/null; rm -rf \"$b\" \"$g.$$\"; exit $s";

static int guest_handoff_program(struct buf *out, struct err *err)
{
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-guest");
	return file_read(path, out, PROGRAM_MAX, err) < 0 ? err_wrap(err, "our guest program") : 0;
}

int guest_handoff_script(const char *name, const char *dir, struct buf *out, struct err *err)
{
	CLEANUP(buf_release)
	struct buf bytes = BUF_INIT, where = BUF_INIT, hex = BUF_INIT, text = BUF_INIT;
	struct hash h;
	if (guest_handoff_program(&bytes, err) < 0)
		return -1;
	hash_of(bytes.data, bytes.len, &h);
	hex_append(&hex, h.b, 8);
	if (dir)
		shell_protocol_quote(&where, dir);
	else
		buf_puts(&where, "${XDG_CACHE_HOME:-$HOME/.cache}/sandglass");
	buf_printf(&text, guest_handoff_build, buf_cstr(&where), buf_cstr(&hex), name, bytes.len);
	buf_puts(out, "exec sh -c ");
	shell_protocol_quote(out, buf_cstr(&text));
	return 0;
}

/* --- the talk --- */

struct handover {
	struct loop *loop;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *late;
	const struct handover_ops *ops;
	void *self;
	struct buf in, program, said;
	size_t sent;
	char *folder, *tool;
};

void guest_handoff_free(struct handover **hp)
{
	struct handover *h = take(hp);
	if (!h)
		return;
	loop_fd_free(&h->watch);
	loop_timer_free(&h->late);
	fd_close(&h->fd);
	buf_release(&h->in);
	buf_release(&h->program);
	buf_release(&h->said);
	free(h->folder);
	free(h->tool);
	free(h);
}

static void guest_handoff_fail(struct handover *h, const struct err *err)
{
	h->ops->failed(h->self, err, buf_cstr(&h->said));
}

static void guest_handoff_finish(struct handover *h)
{
	int fd = h->fd;
	loop_fd_free(&h->watch);
	loop_timer_free(&h->late);
	h->fd = -1;
	h->ops->done(h->self, fd, h->folder, h->tool);
}

static void send_program(struct handover *h)
{
	struct err err = ERR_INIT;
	while (h->sent < h->program.len) {
		ssize_t n = send(h->fd, h->program.data + h->sent, h->program.len - h->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			err_sys(&err, "can't send the guest program");
			guest_handoff_fail(h, &err);
			return;
		}
		h->sent += (size_t)n;
	}
	guest_handoff_finish(h);
}

static void guest_handoff_on_line(struct handover *h, char *line)
{
	struct err err = ERR_INIT;
	struct utsname here;
	char machine[64], want[8], folder[2048], tool[2048];
	if (strncmp(line, "SANDGLASS ", 10) != 0) { /* a greeting of that machine's */
		buf_reset(&h->said);
		buf_puts(&h->said, line);
		return;
	}
	if (sscanf(line + 10, "%63s %7s %2047s %2047s", machine, want, folder, tool) != 4 ||
	    *folder != '/' || *tool != '/') {
		err_set(&err, ERR_UNSUPPORTED,
			"the directory for sandboxes there: expected an absolute path without blanks, got '%s'",
			line + 10);
		guest_handoff_fail(h, &err);
		return;
	}
	if (uname(&here) == 0 && strcmp(machine, here.machine) != 0) {
		err_set(&err, ERR_UNSUPPORTED, "the host is a %s, and the guest program is for %s",
			machine, here.machine);
		guest_handoff_fail(h, &err);
		return;
	}
	h->folder = mem_strdup(folder);
	h->tool = mem_strdup(tool);
	if (strcmp(want, "have") == 0) {
		guest_handoff_finish(h);
	} else if (guest_handoff_program(&h->program, &err) < 0) {
		guest_handoff_fail(h, &err);
	} else {
		loop_fd_events(h->watch, LOOP_WRITE);
		send_program(h);
	}
}

/* Not a byte past the line is taken: what follows is the guest's. */
static void guest_handoff_on_events(void *self, int fd, unsigned events)
{
	struct handover *h = self;
	struct err err = ERR_INIT;
	char bytes[LINE_MAX_];
	if (h->program.len) {
		if (events & LOOP_WRITE)
			send_program(h);
		return;
	}
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		err_set(&err, ERR_CLOSED, "the connection ended before the guest started");
		guest_handoff_fail(h, &err);
		return;
	}
	char *end = memchr(bytes, '\n', (size_t)n);
	size_t used = end ? (size_t)(end - bytes) + 1 : (size_t)n;
	if (recv(fd, bytes, used, MSG_DONTWAIT) != (ssize_t)used || h->in.len + used > LINE_MAX_) {
		err_set(&err, ERR_PARSE, "the other side sent an unexpected answer");
		guest_handoff_fail(h, &err);
		return;
	}
	buf_append(&h->in, bytes, end ? used - 1 : used);
	if (!end)
		return;
	CLEANUP(free_ptr) char *line = buf_take(&h->in);
	guest_handoff_on_line(h, line);
}

static void guest_handoff_too_late(void *self)
{
	struct handover *h = self;
	struct err err = ERR_INIT;
	if (!h->folder)
		err_set(&err, ERR_TIMEOUT,
			"the guest didn't start within %d s: no answer from the shell there",
			LATE_MS / 1000);
	else
		err_set(&err, ERR_TIMEOUT,
			"the guest didn't start within %d s: %zu of %zu bytes of its program were sent",
			LATE_MS / 1000, h->sent, h->program.len);
	guest_handoff_fail(h, &err);
}

struct handover *guest_handoff_new(struct loop *l, int fd, const struct handover_ops *ops,
				   void *self)
{
	struct handover *h = NEW(struct handover);
	*h = (struct handover){ .loop = l, .fd = fd, .ops = ops, .self = self };
	h->watch = loop_fd_new(l, fd, LOOP_READ, guest_handoff_on_events, h);
	h->late = loop_timer_new(l, guest_handoff_too_late, h);
	loop_timer_set(h->late, LATE_MS, 0);
	return h;
}
