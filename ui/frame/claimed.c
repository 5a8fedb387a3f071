#include "ui/frame/claimed.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "ui/frame/ui.h"
#include "ui/rows/outcome.h"

enum { CLAIMED_SOURCES = 64 };

struct claimed_source {
	json_t *list, *coming; /* owned */
	int64_t unmerged;
	int fd; /* -1: nothing is on its way */
	struct buf text;
	bool asked, failed;
	size_t ended; /* agents that had ended when it was asked */
};
struct claimed {
	claimed_open_fn *open;
	void *self;
	bool at_once;
	struct claimed_source source[CLAIMED_SOURCES];
};

struct claimed *claimed_new(claimed_open_fn *fn, void *self, bool at_once)
{
	struct claimed *c = NEW(struct claimed);
	*c = (struct claimed){ .open = fn, .self = self, .at_once = at_once };
	for (size_t i = 0; i < CLAIMED_SOURCES; i++)
		c->source[i] = (struct claimed_source){ .fd = -1, .unmerged = -1 };
	return c;
}

void claimed_free(struct claimed **at)
{
	struct claimed *c = take(at);
	if (!c)
		return;
	for (size_t i = 0; i < CLAIMED_SOURCES; i++) {
		json_decref(c->source[i].list);
		json_decref(c->source[i].coming);
		buf_release(&c->source[i].text);
		fd_close(&c->source[i].fd);
	}
	free(c);
}

static size_t claimed_ended(const struct model *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->nr_agents; i++)
		n += m->agent[i].ended;
	return n;
}

static void claimed_ask(struct claimed *c, struct claimed_source *s, const struct source *of)
{
	size_t ended = claimed_ended(&of->model);
	if (s->fd >= 0 || (s->asked && (c->at_once || ended <= s->ended)) ||
	    (!c->at_once && ended == 0))
		return;
	s->asked = true;
	s->failed = false;
	s->ended = ended;
	s->fd = c->open(c->self, session_path(of->session));
	json_decref(s->coming);
	s->coming = s->fd >= 0 ? json_array() : NULL;
	buf_reset(&s->text);
}

static void claimed_line(struct claimed_source *s, const char *text, size_t len)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *o = json_parse(text, len, "claim", &none);
	if (json_object_get(o, "verdict"))
		json_array_append(s->coming, o);
	s->unmerged = json_int(o, "unmerged", s->unmerged);
	s->failed |= json_object_get(o, "failed") != NULL;
}

static void claimed_lines(struct claimed_source *s)
{
	size_t at = 0;
	for (const char *end;
	     s->text.len > at && (end = memchr(s->text.data + at, '\n', s->text.len - at));
	     at = (size_t)(end - s->text.data) + 1)
		claimed_line(s, s->text.data + at, (size_t)(end - s->text.data) - at);
	if (at)
		memmove(s->text.data, s->text.data + at, s->text.len - at);
	s->text.len -= at;
}

static bool claimed_read(struct claimed_source *s)
{
	char bytes[4096];
	ssize_t n = -1;
	while (s->fd >= 0 &&
	       ((n = read(s->fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			buf_append(&s->text, bytes, (size_t)n);
	if (s->fd < 0 || (n < 0 && errno == EAGAIN))
		return false;
	claimed_lines(s);
	json_decref(s->list);
	s->list = take(&s->coming);
	if (s->failed)
		json_decref(take(&s->list));
	fd_close(&s->fd);
	return true;
}

void claimed_wait(int fd, json_t **list_out, int64_t *unmerged_out)
{
	struct claimed_source s = { .fd = fd, .unmerged = -1 };
	s.coming = json_array();
	while (fd >= 0 && !claimed_read(&s)) {
		struct pollfd p = { .fd = s.fd, .events = POLLIN };
		poll(&p, 1, -1);
	}
	*list_out = take(&s.list);
	*unmerged_out = s.unmerged;
	json_decref(s.coming);
	buf_release(&s.text);
}

bool claimed_look(struct ui *ui)
{
	bool news = false;
	for (size_t i = 0; ui->claimed && i < ui->nr_src && i < CLAIMED_SOURCES; i++) {
		claimed_ask(ui->claimed, &ui->claimed->source[i], ui->src[i]);
		news = claimed_read(&ui->claimed->source[i]) || news;
	}
	return news;
}

bool claimed_comes(const struct ui *ui)
{
	for (size_t i = 0; ui->claimed && i < ui->nr_src && i < CLAIMED_SOURCES; i++)
		if (ui->claimed->source[i].fd >= 0)
			return true;
	return false;
}

bool claimed_can(const struct ui *ui, size_t source)
{
	return ui->claimed && source < CLAIMED_SOURCES && !ui->claimed->source[source].failed;
}

static const struct claimed_source *claimed_of(const struct ui *ui, size_t source)
{
	return ui->claimed && source < CLAIMED_SOURCES ? &ui->claimed->source[source] : NULL;
}

const json_t *claimed_list(const struct ui *ui, size_t source)
{
	const struct claimed_source *s = claimed_of(ui, source);
	return s ? s->list : NULL;
}

size_t claimed_failing(const struct ui *ui, size_t source, const struct model_agent *a)
{
	const json_t *list = claimed_list(ui, source), *claim;
	size_t i, n = 0;
	json_array_foreach(list, i, claim)
	{
		bool of = !a || (a->ended && (uint64_t)json_int(claim, "agent_id", 0) == a->id);
		n += of && !outcome_holds(claim);
	}
	return n;
}

int64_t claimed_unmerged(const struct ui *ui, size_t source)
{
	const struct claimed_source *s = claimed_of(ui, source);
	return s ? s->unmerged : -1;
}
