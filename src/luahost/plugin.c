#include "luahost/plugin.h"
#include "luahost/luahost.h"
#include "luahost/plugin_own.h"

#include <stdlib.h>
#include <string.h>

#include "luahost/library.h"
#include "supervisor/core/core.h"
#include "base/fd.h"

enum { PLUGIN_FILE_MAX = 1 << 20 };

struct question {
	struct question *next;
	uint64_t ticket; /* 0: wants the face */
	json_t *body;	 /* NULL: the host has it */
	plugin_fn *done;
	void *self;
};

struct plugin {
	struct super *super;
	char *name, *dir;
	struct buf text;
	struct host *host; /* NULL: not started, or dead */
	struct host *old;  /* dead, to be freed outside its own callback */
	json_t *face;
	char *why;
	/* what may not happen inside a callback of the host or of a caller */
	struct loop_timer *later;
	bool files;  /* its frames hold pieces of files */
	bool failed; /* a host did not start */
	bool loaded; /* by the host; before, questions are kept */
	uint64_t ticket;
	struct question *open;
};

static void plugin_answer(struct plugin *p, struct question **at, const json_t *value,
			  const char *why)
{
	struct question *q = *at;
	(void)p;
	*at = q->next;
	if (q->done)
		q->done(q->self, value, why);
	json_decref(q->body);
	free(q);
}

static void plugin_on_value(void *self, uint64_t ticket, const json_t *body)
{
	struct plugin *p = self;
	if (!ticket) /* who wants the face is not answered with a value */
		return;
	for (struct question **at = &p->open; *at; at = &(*at)->next)
		if ((*at)->ticket == ticket) {
			const json_t *e = json_object_get(body, "err");
			plugin_answer(p, at, e ? NULL : json_object_get(body, "value"),
				      e ? json_str(e, "msg", "error") : NULL);
			return;
		}
}

/* A value comes in the turn of its question or never. */
static void plugin_on_idle(void *self)
{
	struct plugin *p = self;
	uint64_t until = p->ticket; /* an answer may ask again */
	CLEANUP(free_ptr) char *why = mem_printf("the plugin '%s' has not answered", p->name);
	for (struct question **at = &p->open; *at;)
		if ((*at)->ticket && (*at)->ticket <= until && !(*at)->body)
			plugin_answer(p, at, NULL, why);
		else
			at = &(*at)->next;
}

/* Questions that came before the host had loaded the plugin: its modules are requests to us, so it
 * would have to answer while it waits for them. */
static void plugin_send_kept(struct plugin *p)
{
	p->loaded = true;
	for (struct question *q = p->open; q; q = q->next)
		if (q->body)
			luahost_ask(p->host, q->ticket, take(&q->body));
}

static void plugin_on_result(void *self, json_t *face)
{
	struct plugin *p = self;
	if (!p->face) /* a host that starts again has the same text, and others hold the face */
		p->face = json_incref(face);
	plugin_send_kept(p);
	for (struct question **at = &p->open; *at;)
		if (!(*at)->ticket)
			plugin_answer(p, at, p->face, NULL);
		else
			at = &(*at)->next;
}

static void plugin_on_end(void *self, const json_t *end, const struct err *died)
{
	struct plugin *p = self;
	free(p->why);
	const char *why = died ? died->text
			       : json_str(end, "why",
					  json_str(json_object_get(end, "err"), "msg", "it ended"));
	p->why = mem_printf("the plugin '%s': %s", p->name, why);
	if (p->host && !p->old) {
		p->old = p->host;
		p->host = NULL;
		p->loaded = false;
		loop_timer_set(p->later, 0, 0);
	}
	struct question *open = p->open; /* an answer may ask again, of a new host */
	p->open = NULL;
	while (open)
		plugin_answer(p, &open, NULL, p->why);
}

static void plugin_on_later(void *self)
{
	struct plugin *p = self;
	luahost_free(&p->old);
	if (!p->failed)
		return;
	struct err err = ERR_INIT;
	err_set(&err, ERR_CLOSED, "%s", p->why);
	p->failed = false;
	plugin_on_end(p, NULL, &err);
}

static int plugin_start(struct plugin *p, struct err *err)
{
	static const struct host_ops ops = { .on_result = plugin_on_result,
					     .on_end = plugin_on_end,
					     .on_value = plugin_on_value,
					     .on_idle = plugin_on_idle };
	struct host_start st = { .mode = "plugin",
				 .name = p->name,
				 .dir = p->dir,
				 .text = buf_cstr(&p->text),
				 .len = p->text.len,
				 .off_loop = p->files };
	return luahost_new(&p->host, p->super, &st, &ops, p, err);
}

int plugin_open(struct plugin **out, struct super *s, const char *folder, const char *name,
		struct err *err)
{
	struct buf text = BUF_INIT;
	size_t len = strlen(name), file_len;
	CLEANUP(free_ptr) char *inside = mem_printf("plugins/%s/%s.lua", folder, name);
	bool is_path = len > 4 && !strcmp(name + len - 4, ".lua");
	const char *shipped = is_path ? NULL : library_file(inside, &file_len);
	CLEANUP(free_ptr) char *own = is_path ? mem_strdup(name) : plugin_own_path(folder, name);
	if (shipped)
		buf_append(&text, shipped, file_len);
	else if (!is_path && !plugin_own(folder, name))
		return err_set(
			err, ERR_NOENT,
			"plugin '%s' not found (for a file of yours, give its path, ending in .lua, or run "
			"'sandglass plugin add FILE')",
			name);
	else if (file_read(own, &text, PLUGIN_FILE_MAX, err) < 0)
		return err_wrap(err, "plugin");
	struct plugin *p = NEW(struct plugin);
	p->super = s;
	p->text = text;
	p->files = !strcmp(folder, "sandboxes");
	p->later = loop_timer_new(s->loop, plugin_on_later, p);
	p->name = mem_strdup(shipped ? inside : own);
	char *slash = strrchr(p->name, '/');
	p->dir = slash ? mem_strndup(p->name, (size_t)(slash - p->name)) : mem_strdup(".");
	*out = p;
	return 0;
}

void plugin_free(struct plugin **pp)
{
	struct plugin *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	luahost_free(&p->host);
	luahost_free(&p->old);
	while (p->open) {
		struct question *q = p->open;
		p->open = q->next;
		json_decref(q->body);
		free(q);
	}
	loop_timer_free(&p->later);
	json_decref(p->face);
	buf_release(&p->text);
	free(p->name);
	free(p->dir);
	free(p->why);
	free(p);
}

static struct question *plugin_question_new(struct plugin *p, uint64_t ticket, plugin_fn *done,
					    void *self)
{
	struct question *q = NEW(struct question), **at = &p->open;
	*q = (struct question){ .ticket = ticket, .done = done, .self = self };
	while (*at)
		at = &(*at)->next;
	*at = q;
	return q;
}

static bool plugin_running(struct plugin *p)
{
	struct err err = ERR_INIT;
	if (p->host || plugin_start(p, &err) == 0)
		return true;
	free(p->why);
	p->why = mem_strdup(err.text);
	p->failed = true;
	loop_timer_set(p->later, 0, 0);
	return false;
}

void plugin_ask(struct plugin *p, const char *fn, uint64_t call, json_t *args, plugin_fn *done,
		void *self)
{
	uint64_t ticket = ++p->ticket;
	struct question *q = plugin_question_new(p, ticket, done, self);
	q->body = json_object();
	json_put_str(q->body, "fn", fn);
	json_put_int(q->body, "call", (int64_t)call);
	json_put(q->body, "args", args ? args : json_object());
	if (plugin_running(p) && p->loaded)
		luahost_ask(p->host, ticket, take(&q->body));
}

void plugin_forget(struct plugin *p, void *self)
{
	for (struct question *q = p->open; q; q = q->next)
		if (q->self == self)
			q->done = NULL;
}

void plugin_face(struct plugin *p, plugin_fn *done, void *self)
{
	if (p->face) {
		done(self, p->face, NULL);
		return;
	}
	plugin_question_new(p, 0, done, self);
	plugin_running(p);
}
