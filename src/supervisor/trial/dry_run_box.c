/* The second box of a dry run: opened on the frozen files, run in, asked, looked at, closed. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/dry_run_priv.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/fd.h"
#include "sandbox/effect_file.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/memstore.h"

enum { PROXY_PORT = 3128, ASK_MS = 2000, ASK_MAX = 64 << 10, FLOOD_POLL_MS = 5, SCOPE_ABI = 6 };

static void walk_over(struct dry_run *p);

/* --- closing --- */

static void dry_run_box_on_closed(void *self, json_t *result, const struct err *err)
{
	struct dry_run *p = self;
	(void)result;
	(void)err;
	p->over = NULL;
	dry_run_closed(p);
}

static void dry_run_box_close_over(struct dry_run *p)
{
	p->stage = DRY_RUN_CLOSING;
	loop_timer_free(&p->timer);
	loop_timer_free(&p->flood);
	if (p->egress)
		egress_free(&p->egress);
	if (p->run)
		p->driver->run_free(take(&p->run));
	p->driver->close(p->over, dry_run_box_on_closed, p);
}

/* --- what it changed --- */

struct over_open {
	struct dry_run *p;
	size_t i;
};

static int dry_run_box_open_foreign(void *self, const char *which, const char *path,
				    struct err *err)
{
	struct over_open *lo = self;
	return lo->p->driver->tree->open(lo->p->over, lo->i, which, path, err);
}

static int dry_run_box_open_layer(struct dry_run *p, size_t i, struct err *err)
{
	struct dry_run_layer *ly = &p->layer[i];
	const struct box_tree_ops *ops = p->driver->tree;
	struct ws_opts o = { .name = ly->name,
			     .no_hint = true,
			     .copy = p->copy,
			     .keep_max = p->s->opts->keep_file_bytes,
			     .hash_only = p->s->opts->hash_only,
			     .nr_hash_only = p->s->opts->nr_hash_only };
	int upper = ops->root(p->over, i, p->copy ? "merged" : "upper", err);
	int lower = upper < 0 ? -1 : ops->root(p->over, i, "lower", err);
	if (upper < 0)
		return -1;
	ly->ws = ws_new(&o, upper, lower);
	return 0;
}

static int take_layer(struct dry_run *p, size_t i, struct ws_store *st, json_t **body,
		      struct err *err)
{
	struct dry_run_layer *ly = &p->layer[i];
	struct over_open lo = { .p = p, .i = i };
	struct ws_how how = { .why = "preview", .full = true };
	if (!ly->ws && dry_run_box_open_layer(p, i, err) < 0)
		return -1;
	ws_set_open(ly->ws, dry_run_box_open_foreign, &lo);
	return ws_take(ly->ws, st, &how, body, err) < 0 ? -1 : 0;
}

/* Worker: takes a snapshot of a copy before anything runs in it. */
static void prime_work(void *self)
{
	struct dry_run *p = self;
	struct memstore *mem = memstore_new(NULL);
	struct ws_store st = memstore_store(mem);
	for (size_t i = 0; i < p->nr_layers; i++) {
		CLEANUP(json_release) json_t *body = NULL;
		if (take_layer(p, i, &st, &body, &p->err) < 0)
			break;
	}
	memstore_free(&mem);
}

/* Where what it writes lies: the newest directory of each layer. */
static void note_uppers(struct dry_run *p)
{
	CLEANUP(json_release) json_t *seed = p->driver->tree->seed(p->over);
	const json_t *all = json_object_get(seed, p->copy ? "copy_of" : "lowers");
	for (size_t i = 0; i < p->nr_layers; i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		const json_t *one = json_object_get(all, p->layer[i].name);
		if (!p->layer[i].upper &&
		    json_get_bytes(p->copy ? one : json_array_get(one, 0), &path))
			p->layer[i].upper = mem_strdup(buf_cstr(&path));
	}
}

/* One layer: the body of its preview.tree and its lines of the list of files. */
static int dry_run_box_look(struct dry_run *p, size_t i, struct memstore *mem, struct err *err)
{
	struct dry_run_layer *ly = &p->layer[i];
	struct ws_store st = memstore_store(mem);
	struct ws_view none = WS_VIEW_INIT, view = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	int rc = take_layer(p, i, &st, &ly->body, err);
	ws_free(&ly->ws);
	if (rc == 0 && ly->body)
		rc = ws_view_load(&view, &st, ly->body, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &none, &view, false, NULL, err);
	json_t *j = rc == 0 ? ws_diff_json(&d, &st, false, err) : NULL;
	if (!d.nr)
		json_release(&ly->body);
	p->added += json_int(j, "added", 0);
	p->removed += json_int(j, "removed", 0);
	size_t k;
	json_t *f;
	json_array_foreach(json_object_get(j, "files"), k, f)
	{
		const char *what = json_str(f, "what", "text");
		p->hash_only |= !strncmp(what, "hash", 4);
		if (json_array_size(p->files) >= DRY_RUN_FILES_MAX) {
			p->more++;
			continue;
		}
		json_t *row = json_object();
		json_put_str(row, "op", json_str(f, "op", "M"));
		json_put(row, "path", json_incref(json_object_get(f, "path")));
		if (*ly->name)
			json_put_str(row, "repo", ly->name);
		json_put_int(row, "added", json_int(f, "added", 0));
		json_put_int(row, "removed", json_int(f, "removed", 0));
		json_put_str(row, "what", what);
		json_array_append_new(p->files, row);
	}
	json_decref(j);
	ws_diff_release(&d);
	ws_view_release(&view);
	return rc == 0 && j ? 0 : -1;
}

static void keep_object(void *self, const struct object_id *id, enum object_type type,
			const void *bytes, size_t len)
{
	struct object_id same;
	(void)id;
	objects_add(self, type, bytes, len, &same);
}

static void dry_run_box_look_work(void *self)
{
	struct dry_run *p = self;
	struct ws_store below;
	struct memstore *mem = memstore_new(tree_store(p->t, &below));
	p->files = json_array();
	if (p->driver->tree->fresh && p->driver->tree->fresh(p->over, true, &p->err) < 0)
		err_wrap(&p->err, "can't read its changes");
	for (size_t i = 0; p->err.code == ERR_NONE && i < p->nr_layers; i++)
		if (dry_run_box_look(p, i, mem, &p->err) < 0)
			break;
	p->objects = objects_new();
	memstore_each(mem, keep_object, p->objects);
	memstore_free(&mem);
}

static void dry_run_box_look_done(void *self)
{
	struct dry_run *p = self;
	if (p->err.code != ERR_NONE)
		p->end = "failed";
	dry_run_box_close_over(p);
}

static void on_over_frozen(void *self, json_t *result, const struct err *err)
{
	struct dry_run *p = self;
	(void)result;
	(void)err; /* what could still write there writes into what is thrown away */
	loop_job_run(p->s->loop, dry_run_box_look_work, dry_run_box_look_done, p);
}

static void walk_over(struct dry_run *p)
{
	p->stage = DRY_RUN_WALKING;
	loop_timer_free(&p->timer);
	if (p->run)
		p->driver->run_free(take(&p->run));
	failpoint_hit("preview.walk");
	if (p->cancelled || !strcmp(p->end, "failed"))
		dry_run_box_close_over(p);
	else
		p->driver->freeze(p->over, true, on_over_frozen, p);
}

/* --- asking: what did it want that it could not have? --- */

static void ask_output(void *self, int stream, const void *bytes, size_t len)
{
	struct dry_run *p = self;
	if (stream == STREAM_OUT && p->answer.len < ASK_MAX)
		buf_append(&p->answer, bytes, len);
}

static void ask_exit(void *self, int code, int signal, bool lost, int left)
{
	struct dry_run *p = self;
	const char *text = buf_cstr(&p->answer);
	(void)code;
	(void)signal;
	(void)left;
	if (!lost && !p->blind) {
		p->refused = dry_run_counter(text, "Ip", "OutNoRoutes") +
			     dry_run_counter(text, "", "Ip6OutNoRoutes");
		p->names = dry_run_counter(text, "Udp", "NoPorts") +
			   dry_run_counter(text, "", "Udp6NoPorts");
		p->local = dry_run_counter(text, "Tcp", "AttemptFails") +
			   dry_run_counter(text, "Tcp", "EstabResets");
	}
	const char *tmp = strstr(text, "tmp=");
	p->tmp = tmp ? strtoll(tmp + 4, NULL, 10) : 0;
	walk_over(p);
}

static void ask_late(void *self)
{
	struct dry_run *p = self;
	p->driver->run_signal(p->run, SIGKILL);
}

static void dry_run_box_ask(struct dry_run *p)
{
	static const struct run_ops ops = { .on_output = ask_output, .on_exit = ask_exit };
	char sh[] = "/bin/sh", dash_c[] = "-c",
	     text[] =
		     "PATH=/usr/bin:/bin; echo tmp=$(ls -A \"${TMPDIR:-/tmp}\" | wc -l); cat /proc/net/snmp /proc/net/snmp6 2>/dev/null";
	char *argv[] = { sh, dash_c, text, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3, .cwd = "/" };
	p->stage = DRY_RUN_ASKING;
	if (p->run)
		p->driver->run_free(take(&p->run));
	/* offline: it counts nothing, and its /tmp is not its own */
	if (!strcmp(p->end, "failed") || p->cancelled || p->offline) {
		walk_over(p);
		return;
	}
	p->run = p->driver->run_prepare(p->over, &o, &ops, p);
	p->driver->run_go(p->run);
	loop_timer_free(&p->timer);
	p->timer = loop_timer_new(p->s->loop, ask_late, p);
	loop_timer_set(p->timer, ASK_MS, 0);
}

/* --- the run --- */

static void dry_run_box_on_flood(void *self)
{
	struct dry_run *p = self;
	if (record_state(p->s->record) != RECORD_OK ||
	    record_backlog(p->s->record) > RECORD_FLOOD) {
		loop_timer_set(p->flood, FLOOD_POLL_MS, 0);
		return;
	}
	p->paused = false;
	p->driver->run_pause(p->run, false);
}

static void dry_run_box_on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct dry_run *p = self;
	if (p->flooded)
		return;
	p->bytes[stream == STREAM_ERR] += (int64_t)len;
	record_output(p->s->record, p->seq, (enum record_stream)stream, bytes, len);
	if (p->bytes[0] + p->bytes[1] > DRY_RUN_OUTPUT_MAX) {
		p->flooded = true;
		p->driver->run_signal(p->run, SIGKILL);
	} else if (!p->paused && record_backlog(p->s->record) > RECORD_FLOOD) {
		p->paused = true;
		p->driver->run_pause(p->run, true);
		if (!p->flood)
			p->flood = loop_timer_new(p->s->loop, dry_run_box_on_flood, p);
		loop_timer_set(p->flood, FLOOD_POLL_MS, 0);
	}
}

static void dry_run_box_on_exit_(void *self, int code, int signal, bool lost, int left)
{
	struct dry_run *p = self;
	p->took_us = clock_mono_us() - p->began_us;
	p->code = code;
	p->signal = signal;
	p->left = left;
	loop_timer_free(&p->flood);
	record_output_end(p->s->record, p->seq);
	if (lost && !p->cancelled) {
		p->end = "failed";
		err_set(&p->err, ERR_CLOSED, "the sandbox of the dry run died");
	}
	dry_run_box_ask(p);
}

static void dry_run_box_on_limit(void *self)
{
	struct dry_run *p = self;
	p->end = "timeout";
	p->driver->run_signal(p->run, SIGKILL);
}

static void dry_run_box_on_written(void *self, json_t *result, const struct err *err)
{
	struct dry_run *p = self;
	(void)result;
	p->took_us = clock_mono_us() - p->began_us;
	if (err) {
		p->end = "failed";
		p->err = *err;
	}
	walk_over(p);
}

static void dry_run_box_on_edit_read(void *self, json_t *result, const struct err *err)
{
	struct dry_run *p = self;
	CLEANUP(buf_release) struct buf was = BUF_INIT;
	struct edit_made made = { .text = BUF_INIT };
	struct err why = ERR_INIT;
	if (err || file_whole(result, p->path, &was, &why) < 0 ||
	    edit_make(p->path, &was, p->args, &made, &why) < 0) {
		dry_run_box_on_written(p, NULL, err ? err : &why);
		return;
	}
	buf_release(&p->data);
	p->data = made.text;
	p->driver->write(p->over, p->path, buf_cstr(&p->data), p->data.len,
			 (int)json_int(result, "mode", 0644) & 07777, dry_run_box_on_written, p);
}

static void dry_run_box_run(struct dry_run *p)
{
	static const struct run_ops ops = { .on_output = dry_run_box_on_output,
					    .on_exit = dry_run_box_on_exit_ };
	p->stage = DRY_RUN_RUNNING;
	p->began_us = clock_mono_us();
	p->end = "ok";
	failpoint_hit("preview.run");
	if (p->kind == ACT_WRITE) {
		p->driver->write(p->over, p->path, buf_cstr(&p->data), p->data.len, -1,
				 dry_run_box_on_written, p);
		return;
	}
	if (p->kind == ACT_EDIT) {
		p->driver->read(p->over, p->path, BOX_FILE_MAX, dry_run_box_on_edit_read, p);
		return;
	}
	struct run_opts o = {
		.argv = p->argv.item,
		.nr_argv = p->argv.nr,
		.cwd = p->cwd,
		.env = p->env.nr ? p->env.item : NULL,
		.pty = p->pty,
		.cols = 80,
		.rows = 24,
		.stdin_open = p->input.len > 0 || p->pty,
		.offline = p->offline,
	};
	p->run = p->driver->run_prepare(p->over, &o, &ops, p);
	p->driver->run_go(p->run);
	if (p->input.len || p->pty)
		p->driver->run_stdin(p->run, buf_cstr(&p->input), p->input.len, true);
	p->timer = loop_timer_new(p->s->loop, dry_run_box_on_limit, p);
	loop_timer_set(p->timer, DRY_RUN_LIMIT_MS, 0);
}

void dry_run_cut(struct dry_run *p)
{
	p->cancelled = true;
	if (p->stage == DRY_RUN_RUNNING && p->run)
		p->driver->run_signal(p->run, SIGKILL);
}

/* --- opening --- */

static void on_asked(void *self, uint64_t ticket, const struct egress_end *e)
{
	struct dry_run *p = self;
	(void)ticket;
	if (json_array_size(p->hosts) >= DRY_RUN_FILES_MAX)
		return;
	json_t *row = json_object();
	json_put_str(row, "host", e->host ? e->host : "?");
	json_put_int(row, "port", e->port);
	json_put_str(row, "why", e->why);
	json_array_append_new(p->hosts, row);
}

static void dry_run_box_on_ask(void *self, uint64_t ticket, const struct egress_want *w)
{
	struct dry_run *p = self;
	(void)w;
	egress_answer(p->egress, ticket, false, "a dry run has no network");
}

static void dry_run_box_on_listening(void *self, json_t *result, const struct err *err)
{
	static const struct egress_ops ops = { .ask = dry_run_box_on_ask, .ended = on_asked };
	static const struct egress_opts opts = { .http = true };
	struct dry_run *p = self;
	int fd = result ? (int)json_int(result, "fd", -1) : -1;
	(void)err; /* then the counters alone tell */
	if (fd >= 0)
		p->egress = egress_new(p->s->loop, fd, &opts, &ops, p);
	if (p->cancelled)
		dry_run_box_close_over(p);
	else
		dry_run_box_run(p);
}

static void begin_run(struct dry_run *p)
{
	if (p->cancelled) {
		dry_run_box_close_over(p);
	} else if (p->net && (p->driver->caps & CAP_LISTEN)) {
		p->driver->listen(p->over, PROXY_PORT, dry_run_box_on_listening, p);
	} else {
		dry_run_box_run(p);
	}
}

static void dry_run_box_primed(void *self)
{
	struct dry_run *p = self;
	if (p->err.code == ERR_NONE) {
		begin_run(p);
		return;
	}
	p->end = "failed";
	dry_run_box_close_over(p);
}

/* On a machine that is not its own, landlock alone keeps what it does inside of its copy: its files
 * from the first version on, the processes of its user (which elsewhere is not one of ours) from
 * SCOPE_ABI on. */
static bool held_in(struct dry_run *p, int abi)
{
	bool reduced = !strcmp(p->over->profile, "reduced");
	if (!strcmp(p->over->profile, "none"))
		err_set(&p->err, ERR_UNSUPPORTED,
			"the second sandbox has no isolation (backend %s): nothing would contain a dry run",
			p->driver->name);
	else if (reduced && !abi)
		err_set(&p->err, ERR_UNSUPPORTED,
			"the kernel has no landlock: writes outside the copy couldn't be undone");
	else if (reduced && p->offline && abi < SCOPE_ABI)
		err_set(&p->err, ERR_UNSUPPORTED,
			"landlock of that kernel has version %d; a dry run there requires version %d (Linux "
			"6.12)",
			abi, SCOPE_ABI);
	return p->err.code == ERR_NONE;
}

static void dry_run_box_on_opened(void *self, json_t *result, const struct err *err)
{
	struct dry_run *p = self;
	if (err) {
		p->over = NULL;
		p->err = *err;
		p->end = "failed";
		dry_run_closed(p);
		return;
	}
	note_uppers(p);
	/* it shares the machine's network stack and is kept from it: nothing is counted */
	p->blind = p->offline || !strcmp(p->over->profile, "reduced");
	if (!held_in(p, (int)json_int(result, "landlock", 0))) {
		p->end = "failed";
		dry_run_box_close_over(p);
	} else if (p->copy) {
		loop_job_run(p->s->loop, prime_work, dry_run_box_primed, p);
	} else {
		begin_run(p);
	}
}

void dry_run_open(struct dry_run *p)
{
	struct super *s = p->s;
	struct box_opts o = *boxes_opts(s->boxes, p->box);
	CLEANUP(json_release) json_t *seed = p->t->box->driver->tree->seed(p->t->box);
	CLEANUP(json_release) json_t *options = o.driver ? json_copy(o.driver) : json_object();
	json_object_update(options, seed);
	o.name = "preview";
	o.state_dir = p->dir;
	o.driver = options;
	o.limits.wall_us = 0;
	if (p->offline) {
		o.net = false;
		o.nr_hosts = 0;
	}
	p->net = o.net;
	p->hosts = json_array();
	p->stage = DRY_RUN_OPENING;
	failpoint_hit("preview.open");
	p->over = driver_open(p->driver, s->loop, &o, dry_run_box_on_opened, p);
}
