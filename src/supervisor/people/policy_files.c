#include "supervisor/people/policy_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "action/policy_doubt.h"
#include "luahost/luahost.h"
#include "base/exit.h"
#include "luahost/library.h"
#include "supervisor/core/parts.h"
#include "supervisor/people/super_added.h"
#include "secrets/trust.h"
#include "record/read/session.h"
#include "base/fd.h"
#include "base/paths.h"

#define MACHINE_FILE "/etc/sandglass/policy.lua" /* users cannot weaken it */
#define PROJECT_FILE ".sandglass/policy.lua"

enum { POLICY_MAX = 1 << 20 };

struct policy_file {
	struct policy_file *next;
	struct super *super;
	char *path;
	struct host *host;
	bool read; /* its data has arrived */
};

struct policy_wait {
	struct policy_wait *next;
	void (*then)(void *self);
	void *self;
};

struct policy_files {
	struct policy_file *first; /* files that are being read, hosts that answer `when` */
	loop_fn *ready;		   /* NULL: called, or not asked for */
	struct policy_wait *waits; /* sandboxes that wait for the rules of their repository */
	struct strv untrusted;	   /* their warnings were given */
};

static struct policy_files *policy_files_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct policy_files), NULL };
	return super_part(s, &part);
}

/* Publishing goes through the user's own git with his keys: always a question, whatever else is
 * allowed. */
static const char super_policy_built_in[] =
	"{\"file\":\"(built in)\",\"firm\":true,\"rules\":[{\"name\":\"host-push\",\"verdict\":\"ask\",\"line\":1,\"kind\":\"host\","
	"\"tool\":\"sg.host.push\",\"why\":\"publishing reaches outside and cannot be taken back\",\"risk\":\"high\"}]}";

static void super_policy_when(void *self, uint64_t ticket, const char *file, int line, json_t *act)
{
	struct super *s = self;
	for (struct policy_file *p = policy_files_of(s)->first; p; p = p->next)
		if (p->host && !strcmp(p->path, file)) {
			luahost_judge(p->host, ticket, line, act);
			return;
		}
	struct err err = ERR_INIT;
	err_set(&err, ERR_CLOSED, "the Lua host of '%s' has died", file);
	gate_judged(s->gate, ticket, false, NULL, &err);
}

static void super_policy_maybe_ready(struct super *s)
{
	struct policy_files *files = policy_files_of(s);
	for (struct policy_file *p = files->first; p; p = p->next)
		if (!p->read)
			return;
	loop_fn *ready = take(&files->ready);
	if (ready && !s->ending)
		ready(s);
	while (files->waits && !s->ending) {
		struct policy_wait *w = files->waits;
		void (*then)(void *) = w->then;
		void *self = w->self;
		files->waits = w->next;
		free(w);
		then(self);
	}
}

static bool path_ends(const char *path, const char *tail)
{
	size_t n = strlen(path), t = strlen(tail);
	return n >= t && !strcmp(path + n - t, tail) && (n == t || path[n - t - 1] == '/');
}

static bool has_when(const json_t *data)
{
	size_t i;
	json_t *rule;
	json_array_foreach(json_object_get(data, "rules"), i, rule)
	{
		const json_t *w = json_object_get(rule, "when");
		if (w && !json_is_false(w))
			return true;
	}
	return false;
}

static void free_host(void *self)
{
	struct policy_file *p = self;
	luahost_free(&p->host);
}

/* An allow that may let more or less through than its author meant. The patterns of added rules
 * were chosen in a dialog that shows what they match. */
static void super_policy_warn_doubts(struct super *s, const struct policy *p)
{
	for (size_t i = 0; i < p->nr_rules; i++) {
		CLEANUP(buf_release) struct buf effect = BUF_INIT, fix = BUF_INIT;
		const struct rule *r = &p->rule[i];
		const struct policy_doubt d = policy_doubt_of(r);
		if (p->added || r->verdict != VERDICT_ALLOW || !d.kind)
			continue;
		policy_doubt_effect(&d, &effect);
		policy_doubt_fix(&d, &fix);
		super_warn(s, buf_cstr(&fix), "%s:%d: rule '%s': %s", p->file, r->line, r->name,
			   buf_cstr(&effect));
	}
}

static void super_policy_on_result(void *self, json_t *data)
{
	struct policy_file *p = self;
	struct super *s = p->super;
	struct policy *policy;
	struct err err = ERR_INIT;
	const json_t *doc =
		json_object_get(data, "policy") ? json_object_get(data, "policy") : data;
	if (p->read)
		return;
	json_t *copy = json_copy((json_t *)(uintptr_t)doc);
	json_object_del(copy, "t");
	json_put_str(copy, "file", p->path);
	json_put_flag(copy, "added", path_ends(p->path, ADDED_FILE));
	json_put_flag(copy, "firm", !strcmp(p->path, MACHINE_FILE));
	int rc = policy_from_json(&policy, copy, &err);
	bool keep = has_when(copy);
	json_decref(copy);
	if (rc < 0) {
		super_end(s, EXIT_SCRIPT, "%s", err.text);
		return;
	}
	super_policy_warn_doubts(s, policy);
	gate_add_policy(s->gate, policy);
	p->read = true;
	if (!keep)
		loop_defer(s->loop, free_host, p); /* not inside its own callback */
	super_policy_maybe_ready(s);
}

static void super_policy_on_end(void *self, const json_t *end, const struct err *died)
{
	struct policy_file *p = self;
	struct super *s = p->super;
	if (!p->read)
		super_end(s, EXIT_SCRIPT, "%s",
			  died ? died->text
			       : json_str(end, "why",
					  json_str(json_object_get(end, "err"), "msg", p->path)));
	else if (p->host)
		super_warn(s, NULL, "the host of '%s' has ended; its 'when' rules ask from now on",
			   p->path);
	if (p->host)
		loop_defer(s->loop, free_host, p);
}

static const struct host_ops super_policy_ops = { .on_result = super_policy_on_result,
						  .on_end = super_policy_on_end };

static int super_policy_add_text(struct super *s, const char *path, const struct buf *text,
				 struct err *err)
{
	CLEANUP(free_ptr) char *dir = mem_strdup(path);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	struct policy_file *p = NEW(struct policy_file);
	p->super = s;
	p->path = mem_strdup(path);
	p->next = policy_files_of(s)->first;
	policy_files_of(s)->first = p;
	struct host_start st = { .mode = "policy",
				 .name = p->path,
				 .dir = slash ? dir : ".",
				 .text = buf_cstr(text),
				 .len = text->len };
	return luahost_new(&p->host, s, &st, &super_policy_ops, p, err);
}

static int super_policy_add_file(struct super *s, const char *path, bool required, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	size_t len;
	const char *shipped = !strncmp(path, "lua:", 4) ? library_file(path + 4, &len) : NULL;
	if (shipped)
		buf_append(&text, shipped, len);
	else if (!required && access(path, F_OK) != 0)
		return 0;
	else if (file_read(path, &text, POLICY_MAX, err) < 0)
		return err_wrap(err, "policy");
	return super_policy_add_text(s, path, &text, err);
}

static bool is_loaded(const struct super *s, const char *path)
{
	CLEANUP(free_ptr) char *full = realpath(path, NULL);
	for (const struct policy_file *p = policy_files_of(s)->first; p && full; p = p->next) {
		CLEANUP(free_ptr) char *old = realpath(p->path, NULL);
		if (old && !strcmp(old, full))
			return true;
	}
	return false;
}

static int super_policy_add_project(struct super *s, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (s->opts->own_rules || access(path, F_OK) != 0 || is_loaded(s, path))
		return 0;
	CLEANUP(free_ptr) char *full = realpath(path, NULL);
	struct err failed = ERR_INIT;
	bool read = full && file_read(full, &text, POLICY_MAX, &failed) == 0;
	if (!read && trusted_file(path)) {
		*err = failed;
		return err_wrap(err, "policy");
	}
	/* the text that runs is the one that was compared: the file may change meanwhile */
	if (!read || trust_of_text(full, buf_cstr(&text), text.len) != TRUST_YES) {
		struct strv *untrusted = &policy_files_of(s)->untrusted;
		for (size_t i = 0; i < untrusted->nr; i++)
			if (full && !strcmp(untrusted->item[i], full))
				return 0;
		strv_push(untrusted, full ? full : path);
		super_warn(s, "read it, then: sandglass trust",
			   "'%s' is not trusted and was not loaded", path);
		return 0;
	}
	return super_policy_add_text(s, path, &text, err);
}

void policy_load_repo(struct super *s, const char *dir)
{
	struct err err = ERR_INIT;
	struct strv level = STRV_INIT;
	int rc = 0;
	path_project_levels(dir, &level);
	for (size_t i = 0; i < level.nr && rc == 0; i++) {
		CLEANUP(free_ptr) char *rules = path_join(level.item[i], PROJECT_FILE);
		CLEANUP(free_ptr) char *added = path_join(level.item[i], ADDED_FILE);
		rc = super_policy_add_project(s, rules, &err);
		if (rc == 0)
			rc = super_policy_add_project(s, added, &err);
	}
	strv_release(&level);
	if (rc < 0)
		super_end(s, EXIT_SCRIPT, "%s", err.text);
}

void policy_when_read(struct super *s, void (*then)(void *self), void *self)
{
	struct policy_wait **last = &policy_files_of(s)->waits;
	while (*last)
		last = &(*last)->next;
	*last = NEW(struct policy_wait);
	**last = (struct policy_wait){ .then = then, .self = self };
	super_policy_maybe_ready(s);
}

void policy_forget(struct super *s, const void *self)
{
	for (struct policy_wait **p = &policy_files_of(s)->waits; *p;) {
		struct policy_wait *w = *p;
		if (w->self == self) {
			*p = w->next;
			free(w);
		} else {
			p = &w->next;
		}
	}
}

/* A resumed script doesn't open its sandboxes again: the recording names their policy files. */
static int policy_load_resumed(struct super *s, struct err *err)
{
	struct session *old = NULL;
	struct feed *feed = NULL;
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc = session_open(&old, s->opts->resume, err);
	if (rc == 0)
		rc = feed_new(&feed, old, FEED_ALL, 0, err);
	while (rc == 0 && feed_next(feed, &ev, &arena, 0, err) == 1) {
		CLEANUP(json_release)
		json_t *body = ev.kind == EV_POLICY_LOADED && ev.body
				       ? json_parse(ev.body, ev.len, "event", err)
				       : NULL;
		const char *path = json_str(body, "file", "");
		if (*path == '/' && (path_ends(path, PROJECT_FILE) || path_ends(path, ADDED_FILE)))
			rc = super_policy_add_project(s, path, err);
		arena_reset(&arena);
	}
	arena_release(&arena);
	if (feed)
		feed_free(&feed);
	if (old)
		session_close(&old);
	return rc;
}

void policy_load(struct super *s, loop_fn *ready)
{
	struct err err = ERR_INIT;
	struct policy *p;
	const struct gate_judge judge = { .when = super_policy_when, .self = s };
	gate_set_judge(s->gate, &judge);
	if (policy_parse(&p, super_policy_built_in, strlen(super_policy_built_in), &err) < 0) {
		super_end(s, EXIT_SCRIPT, "%s", err.text);
		return;
	}
	gate_add_policy(s->gate, p);
	policy_files_of(s)->ready = ready;
	CLEANUP(free_ptr) char *user = paths_config("policy.lua");
	int rc = super_policy_add_file(s, MACHINE_FILE, false, &err);
	if (rc == 0)
		rc = super_policy_add_file(s, user, false, &err);
	if (rc == 0)
		rc = super_policy_add_project(s, PROJECT_FILE, &err);
	if (rc == 0)
		rc = super_policy_add_project(s, ADDED_FILE, &err);
	if (rc == 0 && s->opts->resume)
		rc = policy_load_resumed(s, &err);
	for (size_t i = 0; rc == 0 && s->opts->policy && s->opts->policy[i]; i++)
		rc = super_policy_add_file(s, s->opts->policy[i], true, &err);
	if (rc < 0)
		super_end(s, EXIT_SCRIPT, "%s", err.text);
	else
		super_policy_maybe_ready(s);
}

void policy_hosts_free(struct super *s)
{
	struct policy_files *all = policy_files_of(s);
	while (all->waits)
		policy_forget(s, all->waits->self);
	strv_release(&all->untrusted);
	added_drop(s);
	while (all->first) {
		struct policy_file *p = all->first;
		all->first = p->next;
		luahost_free(&p->host);
		free(p->path);
		free(p);
	}
}
