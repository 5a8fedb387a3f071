/* From an option table to an open box: the tag on disk, then the request, the id on disk, then its
 * use. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/container/image.h"
#include "sandbox/view/masks.h"
#include "sandbox/common/profile.h"
#include "sandbox/hosted/hosted_priv.h"

enum { TTL_S = 900, SKEW_S = 120, DOCKERFILE_MAX = 1 << 20 };

static void ask_open(struct remote *r);

/* --- it is there --- */

static void hosted_open_say(void *self, const char *line)
{
	struct remote *r = self;
	if (r->progress)
		r->progress(r->progress_self, line, strlen(line));
}

/* Warns about a wrong clock, which breaks signatures with a time (certificates, tokens of
 * commands). */
static void tell_skew(struct remote *r)
{
	CLEANUP(free_ptr)
	char *line = mem_printf(
		"the clock of sandbox '%s' is %lld s %s the host's; times of files, certificates, "
		"and tokens differ by as much",
		r->name, llabs(r->skew_s), r->skew_s < 0 ? "behind" : "ahead of");
	hosted_open_say(r, line);
}

static json_t *hosted_open_describe(struct remote *r)
{
	json_t *o = json_object();
	int uid = 0;
	sscanf(r->setup_done, "%d", &uid);
	json_put_str(o, "profile", r->b.profile);
	json_put_int(o, "uid", uid);
	json_put_str(o, "workspace", REMOTE_WORKSPACE);
	layers_describe(&r->layers, o);
	json_put_str(o, "provider", r->of->name);
	json_put_str(o, "id", json_str(r->box, "id", "?"));
	json_put_str(o, "tag", hosted_book_tag(r->book));
	json_put_int(o, "ttl_s", r->ttl_s);
	if (r->uusd_hour >= 0)
		json_put_int(o, "uusd_hour", r->uusd_hour);
	static const char *const more[] = { "region", "url", "lacks" };
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		json_put(o, more[i], json_incref(json_object_get(r->box, more[i])));
	if (r->skew_s > SKEW_S || r->skew_s < -SKEW_S) {
		json_put_int(o, "clock_skew_s", r->skew_s);
		tell_skew(r);
	}
	return o;
}

static void make_setup(void *self, struct buf *text)
{
	const struct remote *r = self;
	shell_protocol_setup(text, r->base, REMOTE_WORKSPACE);
}

static bool setup_line(void *self, char kind, const char *text, size_t len)
{
	struct remote *r = self;
	(void)len;
	if (kind == 'i' && !r->setup_done) {
		int uid;
		long long at;
		r->setup_done = mem_strdup(text);
		if (sscanf(text, "%d %lld", &uid, &at) == 2)
			r->skew_s = at - clock_wall_us() / 1000000;
	}
	if (kind == 't')
		r->b.lacks |= CAP_PTY;
	if (kind == 'z')
		r->has_gzip = true;
	if (kind == '!')
		err_set(&r->why, ERR_UNSUPPORTED, "sandbox '%s' of %s: %s", r->name, r->of->name,
			text);
	return kind == '.' || kind == '!';
}

static void hosted_open_files_there(void *self);

static void setup_end(void *self, const struct err *err)
{
	struct remote *r = self;
	int uid;
	long long at;
	int used = 0;
	r->setup = NULL;
	if (err)
		r->why = *err;
	else if (!r->why.code &&
		 (!r->setup_done || sscanf(r->setup_done, "%d %lld%n", &uid, &at, &used) < 2))
		err_set(&r->why, ERR_PARSE,
			"sandbox '%s' of %s: expected its system and user, got: %s", r->name,
			r->of->name, r->setup_done ? r->setup_done : "nothing");
	else if (!r->why.code && r->setup_done[used])
		err_set(&r->why, ERR_UNSUPPORTED,
			"sandbox '%s' of %s: missing programs:%s; choose another image", r->name,
			r->of->name, r->setup_done + used);
	if (r->why.code) {
		struct err why = r->why;
		r->dead = false;
		hosted_open_fail(r, &why);
		return;
	}
	hosted_tree_send(r, hosted_open_files_there);
}

static void hosted_open_files_there(void *self)
{
	struct remote *r = self;
	if (r->why.code) {
		struct err why = r->why;
		hosted_open_fail(r, &why);
		return;
	}
	CLEANUP(json_release) json_t *result = hosted_open_describe(r);
	r->open = true;
	hosted_alive_begin(r);
	box_done_fn *done = take(&r->opened);
	done(r->opened_self, result, NULL);
}

static const struct script_how setup_how = { .make = make_setup,
					     .line = setup_line,
					     .end = setup_end };

/* --- asked for --- */

static void on_keep(void *self, const json_t *box)
{
	struct remote *r = self;
	json_decref(r->box);
	r->box = json_deep_copy(box);
	if (hosted_book_put(r->book, box, &r->why) < 0)
		err_wrap(&r->why, "can't record the id of the sandbox");
}

static void hosted_open_stands(struct remote *r, const json_t *box)
{
	if (json_is_object(box))
		on_keep(r, box);
	if (r->why.code) {
		struct err why = r->why;
		hosted_open_fail(r, &why);
		return;
	}
	r->opened_us = loop_now_us(r->loop);
	r->uusd_hour = json_int(r->options, "uusd_hour", json_int(r->box, "uusd_hour", -1));
	r->tries = 0;
	r->setup = script_begin(r, &setup_how, r);
}

static void hosted_open_look_later(struct remote *r);

/* An answer was lost: has it made the box? Another is not asked for before that is known. */
static void hosted_open_on_listed(void *self, const json_t *list, const struct err *err)
{
	struct remote *r = self;
	r->op = NULL;
	const json_t *box = json_array_get(list, 0);
	if (!err && json_is_object(box)) {
		hosted_open_stands(r, box);
	} else if (err && ++r->tries <= HOSTED_TRIES) {
		hosted_open_look_later(r);
	} else if (r->tries >= HOSTED_TRIES) {
		r->doubtful &= err != NULL;
		struct err why = r->last;
		hosted_open_fail(r, &why);
	} else {
		ask_open(r);
	}
}

static void look_again(void *self)
{
	static const struct remote_heard heard = { .done = hosted_open_on_listed };
	struct remote *r = self;
	if (can_list(r))
		r->op = hosted_ask(r, "list", json_pack("[o]", tags_of(r)), &heard, r);
	else
		ask_open(r);
}

static void hosted_open_look_later(struct remote *r)
{
	if (!r->again)
		r->again = loop_timer_new(r->loop, look_again, r);
	loop_timer_set(r->again, (uint64_t)HOSTED_WAIT_MS << (r->tries - 1), 0);
}

static void hosted_open_on_opened(void *self, const json_t *box, const struct err *err)
{
	struct remote *r = self;
	r->op = NULL;
	if (!err && !json_str(box, "id", NULL)) {
		err_set(&r->why, ERR_PARSE, "%s opened a sandbox without an id", r->of->name);
		err = &r->why;
	}
	if (!err) {
		hosted_open_stands(r, box);
		return;
	}
	/* ERR_BUSY: nothing was sent */
	bool unknown = err->code == ERR_IO || err->code == ERR_CANCELLED;
	bool again = unknown || err->code == ERR_BUSY || err->code == ERR_FULL;
	r->doubtful |= unknown;
	if (!again || json_object_size(r->box) ||
	    (++r->tries >= HOSTED_TRIES && !(unknown && can_list(r)))) {
		struct err why = *err;
		hosted_open_fail(r, &why);
		return;
	}
	hosted_open_say(r, err->text);
	r->last = *err;
	hosted_open_look_later(r);
}

static void ask_open(struct remote *r)
{
	static const struct remote_heard heard = { .keep = on_keep,
						   .say = hosted_open_say,
						   .done = hosted_open_on_opened };
	r->op = hosted_ask(r, "open", json_pack("[O]", r->asked), &heard, r);
}

/* --- options --- */

/* A credential must not be stored on a provider's machine. */
static int check_env(const struct box_opts *o, const char *word, struct err *err)
{
	size_t len = strcspn(word, "=");
	CLEANUP(free_ptr) char *name = mem_strndup(word, len);
	CLEANUP(free_ptr) char *exposed = mem_printf("env:%s", name);
	static const char *const ends[] = { "KEY",	"TOKEN",  "SECRET",
					    "PASSWORD", "PASSWD", "CREDENTIALS" };
	const char *value = word[len] ? word + len + 1 : "";
	bool suspect = masks_token_form(value, strlen(value)) || !strncmp(value, "<secret:", 8);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		suspect |= len >= strlen(ends[i]) &&
			   !strcasecmp(name + len - strlen(ends[i]), ends[i]) && *value;
	for (size_t i = 0; i < o->nr_expose; i++)
		suspect &= strcmp(o->expose[i], exposed) != 0 || !strncmp(value, "<secret:", 8);
	if (!suspect)
		return 0;
	return err_set(
		err, ERR_DENIED,
		"'%s' looks like a credential, and this sandbox is on a provider's host; use the "
		"provider's vault (options = { secrets = { %s = \"NAME\" } }), or expose = { "
		"\"env:%s\" }",
		name, name, name);
}

static json_t *env_object(const struct strv *env)
{
	json_t *o = json_object();
	for (size_t i = 0; i < env->nr; i++) {
		size_t len = strcspn(env->item[i], "=");
		CLEANUP(free_ptr) char *name = mem_strndup(env->item[i], len);
		json_put(o, name, json_bytes_z(env->item[i][len] ? env->item[i] + len + 1 : ""));
	}
	return o;
}

static json_t *limits_object(const struct box_limits *l)
{
	json_t *o = json_object();
	json_put_int(o, "mem_bytes", l->mem_bytes);
	json_put_int(o, "disk_bytes", l->disk_bytes);
	json_put_int(o, "cpu_milli", l->cpu_milli);
	return o;
}

static json_t *hosted_open_question(const struct remote *r, const struct box_opts *o)
{
	json_t *q = json_object(), *hosts = json_array();
	static const char *const same[] = { "image", "snapshot", "region",
					    "size",  "template", "secrets" };
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		json_put(q, same[i], json_incref(json_object_get(o->driver, same[i])));
	for (size_t i = 0; i < o->nr_hosts; i++)
		json_array_append_new(hosts, json_string(o->host[i]));
	CLEANUP(free_ptr) char *name = mem_printf("sandglass-%s", hosted_book_tag(r->book));
	json_put_str(q, "name", name);
	json_put_str(q, "tag", hosted_book_tag(r->book));
	json_put(q, "tags", tags_of(r));
	json_put(q, "env", env_object(&r->env));
	json_put(q, "hosts", hosts);
	json_put(q, "limits", limits_object(&o->limits));
	json_put_int(q, "ttl", r->ttl_s);
	json_put(q, "options", json_incref(r->options));
	return q;
}

/* A provider builds from the text of a Dockerfile. */
static int ask_build(json_t *q, const struct box_opts *o, struct err *err)
{
	const json_t *build = json_object_get(o->driver, "build");
	struct image image;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!build)
		return 0;
	if (image_take(&image, o->driver, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *path = path_join(image.dir, image.file);
	int done = file_read(path, &text, DOCKERFILE_MAX, err);
	if (done == 0) {
		json_t *b = json_object();
		json_put_bytes(b, "text", text.data, text.len);
		json_put(b, "args", json_incref(json_object_get(build, "args")));
		json_put(q, "build", b);
	}
	image_release(&image);
	return done;
}

static int hosted_open_take_opts(struct remote *r, const struct box_opts *o, struct err *err)
{
	const char *idle = json_str(o->driver, "idle", NULL);
	if (idle && strcmp(idle, "pause") != 0 && strcmp(idle, "close") != 0)
		return err_set(err, ERR_SCRIPT, "idle: expected \"pause\" or \"close\", got '%s'",
			       idle);
	r->ttl_s = json_int(o->driver, "ttl", TTL_S);
	if (r->ttl_s < 30 || r->ttl_s > 86400)
		return err_set(err, ERR_SCRIPT, "ttl: expected 30 to 86400 seconds, got %lld",
			       (long long)r->ttl_s);
	for (size_t i = 0; o->env && o->env[i]; i++) {
		if (check_env(o, o->env[i], err) < 0)
			return -1;
		strv_push(&r->env, o->env[i]);
	}
	r->owner = hosted_book_owner(err);
	if (!r->owner || hosted_book_open(&r->book, r->of->name, err) < 0)
		return -1;
	r->base = mem_printf("/tmp/.sandglass-%s", hosted_book_tag(r->book));
	r->asked = hosted_open_question(r, o);
	if (ask_build(r->asked, o, err) < 0)
		return -1;
	return hosted_tree_take(r, o, err);
}

static void hosted_open_files_made(void *self)
{
	struct remote *r = self;
	if (r->why.code)
		hosted_open_fail_early(r);
	else
		ask_open(r);
}

struct box *hosted_open(struct remote_provider *of, struct loop *l, const struct box_opts *o,
			box_done_fn *done, void *self)
{
	struct remote *r = NEW(struct remote);
	*r = (struct remote){ .of = of,
			      .loop = l,
			      .opened = done,
			      .opened_self = self,
			      .uusd_hour = -1,
			      .name = mem_strdup(o->name ? o->name : "box"),
			      .progress = o->progress,
			      .progress_self = o->progress_self };
	r->b = (struct box){ .driver = &of->d, .name = r->name, .profile = "remote" };
	r->options = o->driver ? json_deep_copy(o->driver) : json_object();
	json_object_del(r->options, "copy_of"); /* ours, not the provider's */
	r->box = json_object();
	if (hosted_open_take_opts(r, o, &r->why) < 0) {
		loop_defer(l, hosted_open_fail_early, r);
		return &r->b;
	}
	hosted_tree_fill(r, hosted_open_files_made);
	hosted_open_sweep(of, r->owner);
	return &r->b;
}
