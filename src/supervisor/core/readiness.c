#include "supervisor/core/readiness.h"

#include <string.h>
#include <unistd.h>

#include "supervisor/core/call.h"
#include "base/exit.h"
#include "supervisor/core/core.h"
#include "base/fd.h"
#include "base/log.h"

/* A sandbox can take long to open (while an image is fetched): the session then reports ready. */
enum { STAND_MS = 5000 };

static void readiness_tell(const struct super_opts *o, json_t *line)
{
	if (o->ready_fd >= 0) {
		CLEANUP(free_ptr) char *text = json_dump_str(line);
		CLEANUP(free_ptr) char *whole = mem_printf("%s\n", text);
		struct err err = ERR_INIT;
		if (fd_write_all(o->ready_fd, whole, strlen(whole), &err) < 0)
			log_warn("%s", err.text);
		int fd = o->ready_fd;
		fd_close(&fd);
	}
	json_decref(line);
}

void super_tell_failed(const struct super_opts *o, const struct err *err, int status)
{
	json_t *j = json_object();
	json_put_str(j, "error", err->text);
	if (*err->hint)
		json_put_str(j, "hint", err->hint);
	json_put_int(j, "status", status);
	readiness_tell(o, j);
}

static void readiness_stands(void *self)
{
	struct super *s = self;
	if (s->ready)
		readiness_tell(s->opts, s->ready);
	s->ready = NULL;
	loop_timer_free(&s->stand_timer);
}

void super_listens(struct super *s)
{
	s->ready = json_object();
	json_put_str(s->ready, "id", record_id(s->record));
	json_put_str(s->ready, "path", record_path(s->record));
	json_put_str(s->ready, "socket", control_server_path(s->server));
	json_put_int(s->ready, "pid", getpid());
	if (!s->opts->stand) {
		readiness_stands(s);
		return;
	}
	s->stand_timer = loop_timer_new(s->loop, readiness_stands, s);
	loop_timer_set(s->stand_timer, STAND_MS, 0);
}

void super_idle(void *self)
{
	struct super *s = self;
	for (const struct call *c = s->ready ? s->calls : NULL; c; c = c->next)
		if (c->host == s->host && strcmp(c->op, "box.open") != 0) {
			readiness_stands(s);
			return;
		}
}

void super_stood(struct super *s)
{
	struct err err = ERR_INIT;
	loop_timer_free(&s->stand_timer);
	if (!s->ready)
		return;
	if (s->status == EXIT_DONE) {
		readiness_stands(s);
		return;
	}
	err_set(&err, ERR_SCRIPT, "%s",
		s->why && *s->why ? s->why : "the script ended before it did anything");
	super_tell_failed(s->opts, &err, s->status);
	json_decref(s->ready);
	s->ready = NULL;
}
