#include "supervisor/people/screen_keys.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"
#include "loop/stream.h"
#include "record/record_event.h"
#include "supervisor/core/parts.h"
#include "wire/screen.h"

enum { LOOK_MS = 100 }; /* after output: when it can be read in the recording */

struct key_size {
	uint64_t at; /* bytes of output before it */
	int rows, cols;
};

struct key_screen { /* one terminal */
	struct key_screen *next;
	uint64_t action, agent, box;
	int rows, cols;
	bool bare_lf, begun, gone; /* gone: it gets no keyframe any longer */
	uint64_t fresh, sent;	   /* bytes: new since the last look; given to the process */
	uint64_t next_key;	   /* offset before which the process may send no keyframe */
	bool asked;		   /* the process has a piece of it */
	struct key_size *size;
	size_t nr_sizes, cap_sizes;
};

struct screen_keys {
	struct super *s;
	struct key_screen *all;
	struct session *read;
	pid_t pid;
	int pidfd;
	struct stream *stream; /* NULL: the process has not started, or has gone */
	bool gone;
	struct loop_timer *look;
	bool looks; /* soon */
};

static void key_screen_free(struct key_screen *t)
{
	free(t->size);
	free(t);
}

static void screen_keys_stop(struct screen_keys *k)
{
	struct err none = ERR_INIT;
	int status;
	stream_free(&k->stream);
	if (k->pidfd < 0)
		return;
	kill(k->pid, SIGKILL); /* it keeps nothing */
	(void)!proc_reap(k->pidfd, &status, &none);
	fd_close(&k->pidfd);
}

static struct screen_keys *screen_keys_part(const struct super *s)
{
	static const struct super_part part = { sizeof(struct screen_keys), NULL };
	return super_part(s, &part);
}

void screen_keys_free(struct super *s)
{
	struct screen_keys *k = screen_keys_part(s);
	if (!k->s)
		return;
	screen_keys_stop(k);
	for (struct key_screen *t = k->all, *next; t; t = next) {
		next = t->next;
		key_screen_free(t);
	}
	session_close(&k->read);
	loop_timer_free(&k->look);
	*k = (struct screen_keys){ 0 };
}

/* --- the process --- */

static struct key_screen *key_screen_of(const struct screen_keys *k, uint64_t id)
{
	struct key_screen *t = k->all;
	while (t && t->action != id)
		t = t->next;
	return t;
}

static void keyframe_came(struct screen_keys *k, struct key_screen *t, const struct frame *f)
{
	const char *data = memchr(f->body, '\n', f->len);
	uint64_t at;
	int rows, cols;
	char head[80];
	size_t len = data ? (size_t)(data - f->body) : sizeof(head);
	if (len >= sizeof(head))
		return;
	memcpy(head, f->body, len);
	head[len] = 0;
	if (sscanf(head, "%" SCNu64 " %d %d", &at, &rows, &cols) != 3 || at > t->sent ||
	    at < t->next_key)
		return;
	t->next_key = at + SCREEN_KEY_EVERY;
	json_t *body = json_object();
	json_put_int(body, "at", (int64_t)at);
	json_put_int(body, "rows", rows);
	json_put_int(body, "cols", cols);
	json_put_bytes(body, "data", data + 1, f->len - len - 1);
	record_append_json(k->s->record, EV_TERMINAL_SCREEN, t->action, t->agent, t->box, t->action,
			   body);
}

static void keys_look(void *self);

static void keys_on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	struct screen_keys *k = self;
	struct key_screen *t = key_screen_of(k, f->id);
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&fds[i]);
	if (!t)
		return;
	if (f->type == SCREEN_KEY) {
		keyframe_came(k, t, f);
	} else if (f->type == SCREEN_DONE) {
		t->asked = false;
		t->gone = f->len != 1 || f->body[0] != '1';
		keys_look(k);
	}
}

static void keys_on_close(void *self, const struct err *err)
{
	struct screen_keys *k = self;
	super_warn(k->s, NULL,
		   "sandglass-screen ended%s%s: later screens of terminals take longer to show",
		   err ? ": " : "", err ? err->text : "");
	screen_keys_stop(k);
	k->gone = true;
}

static const struct stream_ops keys_ops = { .on_frame = keys_on_frame, .on_close = keys_on_close };

static int screen_start(struct screen_keys *k, struct err *err)
{
	int sp[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		return err_sys(err, "can't make a socket pair");
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-screen");
	char *argv[] = { (char[]){ "sandglass-screen" }, NULL }, *env[] = { NULL };
	int fds[SCREEN_FD + 1] = { -1, -1, STDERR_FILENO, sp[1] };
	int rc = proc_spawn(path, argv, env, fds, ARRAY_LEN(fds), &k->pid, &k->pidfd, err);
	close(sp[1]);
	if (rc < 0 || fd_nonblock(sp[0], err) < 0) {
		close(sp[0]);
		return err_wrap(err, "can't start '%s'", path);
	}
	k->stream = stream_new(k->s->loop, sp[0], SCREEN_BODY_MAX, &keys_ops, k);
	return 0;
}

static bool keys_ready(struct screen_keys *k)
{
	struct err err = ERR_INIT;
	if (k->gone)
		return false;
	if ((!k->read && session_open(&k->read, record_path(k->s->record), &err) < 0) ||
	    (!k->stream && screen_start(k, &err) < 0)) {
		super_warn(k->s, NULL, "screens of terminals: %s", err.text);
		k->gone = true;
	}
	return !k->gone;
}

/* --- giving it the output --- */

static void key_send_size(struct screen_keys *k, const struct key_screen *t, enum screen_frame type,
			  int rows, int cols)
{
	char body[64];
	int n = snprintf(body, sizeof(body), "%d %d %d", rows, cols, t->bare_lf);
	stream_send(k->stream, type, t->action, body, (size_t)n);
}

/* The next piece; it ends where the size changes. */
static void key_send_piece(struct screen_keys *k, struct key_screen *t)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err none = ERR_INIT;
	if (!t->begun)
		key_send_size(k, t, SCREEN_BEGIN, t->rows, t->cols);
	t->begun = true;
	size_t done = 0;
	while (done < t->nr_sizes && t->size[done].at <= t->sent) {
		key_send_size(k, t, SCREEN_SIZE, t->size[done].rows, t->size[done].cols);
		done++;
	}
	t->nr_sizes -= done;
	memmove(t->size, t->size + done, t->nr_sizes * sizeof(*t->size));
	uint64_t room = t->nr_sizes ? t->size[0].at - t->sent : SCREEN_PIECE;
	size_t max = room < SCREEN_PIECE ? (size_t)room : SCREEN_PIECE;
	if (session_output(k->read, t->action, STREAM_PTY, t->sent, max, &b, &none) < 0)
		t->gone = true;
	if (t->gone || b.len < max)
		t->fresh = 0; /* the rest comes with more */
	if (t->gone || !b.len)
		return;
	stream_send(k->stream, SCREEN_OUTPUT, t->action, b.data, b.len);
	t->sent += b.len;
	t->asked = true;
}

static bool key_screen_due(const struct key_screen *t)
{
	return !t->gone && t->fresh >= (t->begun ? SCREEN_PIECE : SCREEN_KEY_EVERY);
}

/* Forgets terminals whose actions have ended and whose keyframes are made: the process holds
 * SCREEN_TERMINALS at most. */
static void key_screens_drop(struct screen_keys *k)
{
	for (struct key_screen **at = &k->all, *t; (t = *at);) {
		bool busy = !k->gone && (t->asked || key_screen_due(t));
		if (busy || gate_action(k->s->gate, t->action)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		if (t->begun && k->stream)
			stream_send(k->stream, SCREEN_END, t->action, "", 0);
		key_screen_free(t);
	}
}

static void keys_look(void *self)
{
	struct screen_keys *k = self;
	k->looks = false;
	for (struct key_screen *t = k->all; t; t = t->next)
		if (!t->asked && key_screen_due(t) && keys_ready(k))
			key_send_piece(k, t);
	key_screens_drop(k);
}

static struct key_screen *key_screen_new(struct screen_keys *k, uint64_t id)
{
	const struct action *act = gate_action(k->s->gate, id);
	if (!act)
		return NULL;
	key_screens_drop(k);
	const struct action_spec *spec = action_spec(act);
	struct key_screen *t = NEW(struct key_screen);
	bool shell = spec->tool && !strncmp(spec->tool, "shell", 5); /* as ui/rows/pty.c */
	*t = (struct key_screen){ .next = k->all,
				  .action = id,
				  .agent = spec->agent,
				  .box = spec->box,
				  .next_key = SCREEN_KEY_EVERY,
				  .bare_lf = shell };
	t->rows = (int)json_int(spec->args, "rows", shell ? 40 : 24);
	t->cols = (int)json_int(spec->args, "cols", shell ? 120 : 80);
	return k->all = t;
}

static struct key_screen *key_screen_made(struct super *s, uint64_t id)
{
	struct screen_keys *k = screen_keys_part(s);
	if (!k->s) {
		*k = (struct screen_keys){ .s = s, .pidfd = -1 };
		k->look = loop_timer_new(s->loop, keys_look, k);
	}
	struct key_screen *t = key_screen_of(k, id);
	return t ? t : key_screen_new(k, id);
}

void screen_keys_output(struct super *s, uint64_t id, size_t len)
{
	struct key_screen *t = key_screen_made(s, id);
	struct screen_keys *k = screen_keys_part(s);
	if (!t || t->gone || k->gone)
		return;
	t->fresh += len;
	if (t->fresh < SCREEN_PIECE || k->looks)
		return;
	k->looks = true;
	loop_timer_set(k->look, LOOK_MS, 0);
}

void screen_keys_resize(struct super *s, uint64_t id, int rows, int cols)
{
	struct action *act = gate_action(s->gate, id);
	bool runs = act && action_state(act) == ACTION_RUNNING;
	struct key_screen *t = key_screen_made(s, id);
	uint64_t at = runs ? action_output_mark(act, STREAM_PTY) : 0;
	if (runs)
		record_output_seal(s->record, id, STREAM_PTY);
	if (!t || t->gone)
		return;
	GROW(t->size, t->nr_sizes, t->cap_sizes);
	t->size[t->nr_sizes++] = (struct key_size){ at, rows, cols };
}
