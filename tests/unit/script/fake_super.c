#include "fake_super.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#include "fake_ops.h"

static struct fake *running;

static void queue_frame(struct fake *f, enum host_frame type, uint64_t id, json_t *body)
{
	json_object_set_new(body, "t", json_integer(f->now));
	char *text = json_dump_str(body);
	frame_append(&f->queue, (uint16_t)type, id, text, strlen(text));
	free(text);
	json_decref(body);
}

void fake_inject(enum host_frame type, uint64_t id, json_t *body)
{
	queue_frame(running, type, id, body);
}

/* --- frames of the host --- */

static void sleep_until(struct fake *f, uint64_t id, int64_t due)
{
	struct sleeper *s = NEW(struct sleeper), **at = &f->sleepers;
	s->id = id;
	s->due = due;
	while (*at && (*at)->due <= due)
		at = &(*at)->next;
	s->next = *at;
	*at = s;
}

static bool wake_one(struct fake *f, uint64_t id)
{
	for (struct sleeper **at = &f->sleepers; *at; at = &(*at)->next) {
		if ((*at)->id != id)
			continue;
		struct sleeper *s = *at;
		*at = s->next;
		free(s);
		return true;
	}
	return false;
}

static void on_call(struct fake *f, uint64_t id, const json_t *call)
{
	const char *op = json_str(call, "op", "");
	const json_t *args = json_object_get(call, "args");
	json_t *answer = f->o->op ? f->o->op(f->o->self, op, call) : NULL;
	int64_t us = strcmp(op, "sleep") == 0 ? json_int(args, "us", 0) : 0;
	if (!us && strcmp(op, "box.exec") == 0)
		us = asked_sleep(args);
	if (!answer && us) {
		sleep_until(f, id, f->now + us);
		return;
	}
	if (answer && json_object_get(answer, "never")) { /* waits for a cancel */
		json_decref(answer);
		sleep_until(f, id, INT64_MAX);
		return;
	}
	json_t *later = answer ? json_object_get(answer, "later_us") : NULL;
	if (later) {
		sleep_until(f, id, f->now + json_integer_value(later));
		json_decref(answer);
		return;
	}
	if (!answer && json_flag(args, "stream", false)) {
		answer = usual(f, op, args);
		json_t *v = json_object_get(answer, "value");
		const char *out = json_str(v, "out", "");
		for (size_t i = 0, len = strlen(out); i < len; i += 5) /* small, so that characters are cut */
		{
			json_t *c = json_pack("{s:s}", "stream", "out");
			json_put_bytes(c, "data", out + i, len - i < 5 ? len - i : 5);
			queue_frame(f, HOST_CHUNK, id, c);
		}
	}
	queue_frame(f, HOST_ANSWER, id, answer ? answer : usual(f, op, args));
}

static void on_note(struct fake *f, const json_t *args)
{
	const char *level = json_str(args, "level", "");
	struct buf text = BUF_INIT;
	json_get_bytes(json_object_get(args, "text"), &text);
	if (strcmp(level, "print") != 0)
		buf_printf(&f->r->printed, "%s: ", level);
	buf_append(&f->r->printed, buf_cstr(&text), text.len);
	buf_release(&text);
	if (json_flag(args, "nl", true))
		buf_putc(&f->r->printed, '\n');
}

static void on_frame(struct fake *f, const struct frame *fr)
{
	struct err err = ERR_INIT;
	json_t *body = json_parse(fr->body, fr->len, "frame of the host", &err);
	if (!body) {
		fprintf(stderr, "fake: %s\n", err.text);
		abort();
	}
	switch (fr->type) {
	case HOST_CALL:
	case HOST_TELL:
		json_object_set_new(body, "frame", json_string(host_frame_name(fr->type)));
		json_array_append(f->r->calls, body);
		if (fr->type == HOST_CALL)
			on_call(f, fr->id, body);
		else if (strcmp(json_str(body, "op", ""), "note") == 0)
			on_note(f, json_object_get(body, "args"));
		break;
	case HOST_CANCEL:
		if (wake_one(f, fr->id))
			queue_frame(f, HOST_ANSWER, fr->id, failure("cancelled", "cancelled", ""));
		break;
	case HOST_RESULT:
		f->r->result = json_incref(body);
		for (const struct fake_frame *a = f->o->after_result; a && a->type; a++)
			queue_frame(f, a->type, a->id, json_parse(a->json, strlen(a->json), "test", &err));
		break;
	case HOST_VERDICT:
		json_array_append(f->r->verdicts, body);
		break;
	case HOST_END:
		f->r->end = json_incref(body);
		f->over = true;
		break;
	default:
		break;
	}
	json_decref(body);
}

/* --- transport --- */

static void start_process(struct fake *f)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	char *path = mem_printf("%s/sandglass-host", getenv("B") ? getenv("B") : "build");
	f->pid = fork();
	if (f->pid == 0) {
		dup2(pair[1], HOST_FD);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	f->sock = pair[0];
	free(path);
}

/* Sends one frame and takes the turn that follows. Returns false when the host has gone. */
static bool exchange_process(struct fake *f, const char *frame, size_t len)
{
	struct err err = ERR_INIT;
	struct buf body = BUF_INIT;
	bool alive = fd_write_all(f->sock, frame, len, &err) == 0;
	for (bool turn = true; alive && turn;) {
		struct frame fr;
		size_t none = 0;
		alive = frame_recv(f->sock, HOST_BODY_MAX, &fr, &body, NULL, &none, &err) == 0;
		if (!alive)
			break;
		frame_append(&f->r->sent, fr.type, fr.id, fr.body, fr.len);
		on_frame(f, &fr);
		turn = fr.type != HOST_IDLE && fr.type != HOST_END;
	}
	buf_release(&body);
	return alive && !f->over;
}

static void take_all(struct fake *f, const struct buf *out)
{
	size_t at = 0, used;
	struct frame fr;
	struct err err = ERR_INIT;
	buf_append(&f->r->sent, out->data, out->len);
	while (at < out->len && frame_parse(out->data + at, out->len - at, HOST_BODY_MAX, &fr, &used, &err) == 1) {
		on_frame(f, &fr);
		at += used;
	}
}

static bool exchange_inside(struct fake *f, const char *frame, size_t len)
{
	struct frame fr;
	size_t used;
	struct err err = ERR_INIT;
	struct buf out = BUF_INIT;
	if (frame_parse(frame, len, HOST_BODY_MAX, &fr, &used, &err) != 1)
		abort();
	bool more = host_feed(f->h, &fr, &out);
	take_all(f, &out);
	buf_release(&out);
	return more;
}

/* The next frame of the queue, else the next sleeper; false when there is nothing left to come. */
static bool turn(struct fake *f)
{
	if (!f->queue.len) {
		struct sleeper *s = f->sleepers;
		if (!s || s->due == INT64_MAX)
			return false;
		f->now = s->due;
		f->sleepers = s->next;
		queue_frame(f, HOST_ANSWER, s->id, value(json_pack("{s:i,s:s}", "code", 0, "out", "")));
		free(s);
	}
	size_t len = FRAME_HEADER + get_u32le(f->queue.data);
	char *frame = mem_dup(f->queue.data, len);
	buf_drop(&f->queue, len);
	f->now += 7;
	buf_append(&f->r->given, frame, len);
	f->r->turns++;
	bool more = f->o->process ? exchange_process(f, frame, len) : exchange_inside(f, frame, len);
	free(frame);
	return more;
}

static NORETURN void exhausted(void *self, const struct buf *out)
{
	(void)self, (void)out;
	fprintf(stderr, "fake: the script's memory is used up (use the process form)\n");
	abort();
}

static json_t *start_body(const struct fake_opts *o)
{
	json_t *args = json_array();
	for (size_t i = 0; o->args && o->args[i]; i++)
		json_array_append_new(args, json_string(o->args[i]));
	json_t *b =
		json_pack("{s:s,s:s,s:s,s:o,s:s,s:I}", "mode", o->mode ? o->mode : "script", "script",
			  o->name ? o->name : "test.lua", "text", o->text, "args", args, "seed",
			  o->seed ? o->seed : "0123456789abcdef0123456789abcd", "mem_bytes", (json_int_t)o->mem_bytes);
	if (o->env)
		json_object_set(b, "env", o->env);
	return b;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void fake_run(const struct fake_opts *o, struct fake_run *r)
{
	*r = (struct fake_run){ .calls = json_array(), .verdicts = json_array() };
	char root[] = "/tmp/sandglass-fake-XXXXXX";
	struct fake f = {
		.o = o, .r = r, .sock = -1, .now = 1700000000000000, .store = json_object(), .dirs = json_object()
	};
	if (!mkdtemp(root))
		abort();
	unsetenv("MAKELEVEL"); /* a make that a script runs is nobody's child: it would say in which directory it is */
	unsetenv("MAKEFLAGS");
	f.root = root;
	running = &f;
	if (o->process)
		start_process(&f);
	else
		f.h = script_host_new(exhausted, &f);
	queue_frame(&f, HOST_START, 0, start_body(o));
	while (turn(&f))
		;
	if (o->process) {
		int status = 0;
		fd_close(&f.sock);
		waitpid(f.pid, &status, 0);
		r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	} else {
		script_host_free(&f.h);
	}
	while (f.sleepers)
		wake_one(&f, f.sleepers->id);
	json_decref(f.store);
	json_decref(f.dirs);
	buf_release(&f.queue);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void fake_release(struct fake_run *r)
{
	buf_release(&r->sent);
	buf_release(&r->given);
	buf_release(&r->printed);
	json_decref(r->calls);
	json_decref(r->verdicts);
	json_decref(r->end);
	json_decref(r->result);
}

void fake_replay(const struct buf *given, struct buf *sent_out)
{
	struct host *h = script_host_new(exhausted, NULL);
	struct err err = ERR_INIT;
	for (size_t at = 0, used = 0; at < given->len; at += used) {
		struct frame fr;
		if (frame_parse(given->data + at, given->len - at, HOST_BODY_MAX, &fr, &used, &err) != 1)
			abort();
		if (!host_feed(h, &fr, sent_out))
			break;
	}
	script_host_free(&h);
}

const char *fake_why(const struct fake_run *r)
{
	return r->end ? json_str(r->end, "why", "") : "(no end)";
}
