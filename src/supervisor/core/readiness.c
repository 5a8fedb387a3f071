#include "supervisor/core/readiness.h"

#include <string.h>
#include <unistd.h>

#include "supervisor/core/call.h"
#include "base/exit.h"
#include "supervisor/core/core.h"
#include "supervisor/core/parts.h"
#include "base/fd.h"
#include "base/log.h"

/* A sandbox can take long to open (while an image is fetched): the session then reports ready. */
enum { STAND_MS = 5000 };

struct readiness {
	json_t *report; /* still to be sent; NULL: it was sent */
	struct loop_timer *timer;
};

static struct readiness *readiness_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct readiness), NULL };
	return super_part(s, &part);
}

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
	struct readiness *r = readiness_of(s);
	if (r->report)
		readiness_tell(s->opts, r->report);
	r->report = NULL;
	loop_timer_free(&r->timer);
}

void super_listens(struct super *s)
{
	struct readiness *r = readiness_of(s);
	r->report = json_object();
	json_put_str(r->report, "id", record_id(s->record));
	json_put_str(r->report, "path", record_path(s->record));
	json_put_str(r->report, "socket", control_server_path(s->server));
	json_put_int(r->report, "pid", getpid());
	if (!s->opts->stand) {
		readiness_stands(s);
		return;
	}
	r->timer = loop_timer_new(s->loop, readiness_stands, s);
	loop_timer_set(r->timer, STAND_MS, 0);
}

void super_idle(void *self)
{
	struct super *s = self;
	for (const struct call *c = readiness_of(s)->report ? s->calls : NULL; c; c = c->next)
		if (c->host == s->host && strcmp(c->op, "box.open") != 0) {
			readiness_stands(s);
			return;
		}
}

void super_stood(struct super *s)
{
	struct err err = ERR_INIT;
	struct readiness *r = readiness_of(s);
	loop_timer_free(&r->timer);
	if (!r->report)
		return;
	if (s->status == EXIT_DONE) {
		readiness_stands(s);
		return;
	}
	err_set(&err, ERR_SCRIPT, "%s",
		s->why && *s->why ? s->why : "the script ended before it did anything");
	super_tell_failed(s->opts, &err, s->status);
	json_decref(r->report);
	r->report = NULL;
}
