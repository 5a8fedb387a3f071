#include "sandbox/workspace/merge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/gitchild.h"
#include "wire/frame.h"

enum { SILENCE_US = 120000000, TICK_MS = 200, UNDO_MAX = 256 << 20 };

static const char *const mode_name[] = {
	[MERGE_APPLY] = "apply",
	[MERGE_BRANCH] = "branch",
	[MERGE_COMMITS] = "commits",
	[MERGE_PATCH] = "patch",
};

const char *merge_mode_name(enum merge_mode m)
{
	return mode_name[m];
}

char *merge_message(const char *box, uint64_t seq, const char *session)
{
	return seq ? xasprintf("sandglass: box %s at #%" PRIu64 "\n\nSandglass-Session: %s\nSandglass-Event: #%" PRIu64 "\n", box, seq, session, seq) :
		     xasprintf("sandglass: work of box %s\n\nSandglass-Session: %s\n", box, session);
}

bool merge_mode_find(const char *name, enum merge_mode *out)
{
	for (size_t i = 0; i < ARRAY_LEN(mode_name); i++)
		if (!strcmp(mode_name[i], name)) {
			*out = (enum merge_mode)i;
			return true;
		}
	return false;
}

/* --- the children --- */

struct child {
	const struct merge_opts *o;
	const struct ws_store *store;
	int sock, pidfd;
	size_t k;	  /* number of the target: names its record */
	json_t *prepared; /* what CHILD_PREPARE said */
	bool committed;
};

static int spawn_self(int sock, int *pidfd_out, struct err *err)
{
	char name[] = "sandglass", arg[] = "--git-child", home[] = "HOME=/nonexistent", lang[] = "LC_ALL=C";
	char *argv[] = { name, arg, NULL }, *envp[] = { home, lang, NULL };
	const int fds[] = { -1, -1, 2, sock };
	int pid;
	return proc_spawn("/proc/self/exe", argv, envp, fds, ARRAY_LEN(fds), &pid, pidfd_out, err);
}

static int child_start(struct child *c, const struct merge_opts *o, const struct ws_store *store, size_t k,
		       struct err *err)
{
	int pair[2];
	*c = (struct child){ .o = o, .store = store, .sock = -1, .pidfd = -1, .k = k };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "merge: cannot make a socket");
	int rc = o->spawn ? o->spawn(o->self, pair[1], &c->pidfd, err) : spawn_self(pair[1], &c->pidfd, err);
	close(pair[1]);
	c->sock = pair[0];
	return rc < 0 ? err_wrap(err, "merge: cannot start the child") : 0;
}

static void child_end(struct child *c)
{
	siginfo_t info;
	fd_close(&c->sock);
	if (c->pidfd >= 0) { /* its socket is closed: it ends by itself, or is stuck and is ended */
		struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
		if (poll(&p, 1, 2000) <= 0)
			syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
		waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED);
		fd_close(&c->pidfd);
	}
	json_decref(c->prepared);
	c->prepared = NULL;
}

static void child_kill(struct child *c)
{
	if (c->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

static char *record_dir(const struct merge_opts *o, size_t k)
{
	return xasprintf("%s/%s-%zu", o->undo_dir, o->id, k);
}

static bool plain_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyz.", s[i]) || !s[i])
			return false;
	return len > 0 && len < 64 && s[0] != '.';
}

static int on_get(struct child *c, const struct frame *f, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct object_id id;
	enum object_type type;
	struct err why = ERR_INIT;
	if (f->len != sizeof(id.b))
		return err_set(err, ERR_PARSE, "merge: a name that is none");
	memcpy(id.b, f->body, sizeof(id.b));
	int rc = c->store->get(c->store->self, &id, &type, &b, &why);
	return frame_send(c->sock, rc < 0 ? CHILD_NONE : CHILD_BLOB, 0, buf_cstr(&b), b.len, NULL, 0, err);
}

static int on_save(struct child *c, const struct frame *f, struct err *err)
{
	const char *nul = memchr(f->body, 0, f->len);
	struct err why = ERR_INIT;
	int rc = -1;
	if (nul && plain_name(f->body, (size_t)(nul - f->body)) && c->o->undo_dir) {
		CLEANUP(free_ptr) char *dir = record_dir(c->o, c->k);
		CLEANUP(free_ptr) char *path = path_join(dir, f->body);
		rc = dir_make(dir, 0700, &why);
		if (rc == 0)
			rc = file_write_atomic(path, nul + 1, f->len - (size_t)(nul + 1 - f->body), 0600, &why);
	} else {
		err_set(&why, ERR_INVALID, "no place for the record of the merge");
	}
	return frame_send(c->sock, rc < 0 ? CHILD_ERR : CHILD_OK, 0, why.text, rc < 0 ? strlen(why.text) : 0, NULL, 0,
			  err);
}

static int on_load(struct child *c, const struct frame *f, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err why = ERR_INIT;
	int rc = -1;
	if (plain_name(f->body, f->len) && c->o->undo_dir) {
		CLEANUP(free_ptr) char *dir = record_dir(c->o, c->k);
		CLEANUP(free_ptr) char *name = xstrndup(f->body, f->len);
		CLEANUP(free_ptr) char *path = path_join(dir, name);
		rc = file_read(path, &b, UNDO_MAX, &why);
	}
	return frame_send(c->sock, rc < 0 ? CHILD_NONE : CHILD_BLOB, 0, buf_cstr(&b), b.len, NULL, 0, err);
}

static int wait_for(struct child *c, struct err *err)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	for (int64_t until = clock_mono_us() + SILENCE_US; clock_mono_us() < until;) {
		if (c->o->stop && c->o->stop(c->o->self)) {
			child_kill(c);
			return err_set(err, ERR_CANCELLED, "the merge was stopped");
		}
		int n = poll(&p, 1, TICK_MS);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(err, "merge: cannot wait");
	}
	child_kill(c);
	return err_set(err, ERR_TIMEOUT, "the repository did not answer within two minutes");
}

static int child_error(const struct frame *f, struct err *err)
{
	struct err why = ERR_INIT;
	json_t *o = json_parse(f->body, f->len, "merge", &why);
	int64_t code = json_int(o, "code", ERR_IO);
	err_set(err, code > ERR_NONE && code <= ERR_SCRIPT ? (enum err_code)code : ERR_IO, "%s",
		json_str(o, "text", "the merge failed"));
	json_decref(o);
	return -1;
}

/* Sends one request and serves the child until it has answered. */
static int ask(struct child *c, unsigned type, const json_t *request, json_t **out, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct frame f;
	size_t none = 0;
	json_dump_buf(request, &b);
	if (frame_send(c->sock, (uint16_t)type, 1, buf_cstr(&b), b.len, NULL, 0, err) < 0)
		return -1;
	for (;;) {
		int rc = wait_for(c, err);
		if (rc == 0 && frame_recv(c->sock, CHILD_MAX_BODY, &f, &b, NULL, &none, err) < 0)
			rc = err_wrap(err, "the process that opens the repository has gone");
		if (rc < 0)
			return -1;
		if (f.type == CHILD_GET)
			rc = on_get(c, &f, err);
		else if (f.type == CHILD_SAVE)
			rc = on_save(c, &f, err);
		else if (f.type == CHILD_LOAD)
			rc = on_load(c, &f, err);
		else if (f.type == CHILD_ERR)
			return child_error(&f, err);
		else {
			*out = json_parse(f.body, f.len, "merge", err);
			return *out ? 0 : -1;
		}
		if (rc < 0)
			return -1;
	}
}

/* --- what is asked for --- */

static json_t *side(const struct ws_state *s)
{
	char hex[41];
	if (s->kind == WS_NONE)
		return json_null();
	json_t *o = json_object();
	json_put_str(o, "kind", ws_kind_name((enum ws_kind)s->kind));
	json_put_int(o, "mode", s->mode);
	json_put_int(o, "flags", s->flags);
	object_hex(&s->oid, hex);
	if (!object_is_null(&s->oid))
		json_put_str(o, "oid", hex);
	return o;
}

static json_t *step_json(const struct ws_diff *d, const char *message)
{
	json_t *o = json_object(), *paths = json_array();
	for (size_t i = 0; i < d->nr; i++) {
		json_t *p = json_object();
		json_put_bytes(p, "path", d->item[i].path, d->item[i].len);
		json_put(p, "base", side(&d->item[i].was));
		json_put(p, "want", side(&d->item[i].now));
		json_array_append_new(paths, p);
	}
	json_put_str(o, "message", message);
	json_put(o, "paths", paths);
	return o;
}

/* Leaves out what a person left; a file of which only some hunks are taken gets a content of its own. */
static int apply_choices(struct ws_diff *d, const struct merge_target *t, const struct ws_store *st, struct err *err)
{
	size_t keep = 0;
	for (size_t i = 0; i < d->nr; i++) {
		struct ws_change *c = &d->item[i];
		const struct merge_choice *ch = NULL;
		for (size_t k = 0; k < t->nr_choices && !ch; k++)
			if (t->choice[k].len == c->len && !memcmp(t->choice[k].path, c->path, c->len))
				ch = &t->choice[k];
		if (ch && ch->leave)
			continue;
		if (ch && (ch->nr_left || ch->nr_ranges)) {
			struct ws_patch p;
			CLEANUP(buf_release) struct buf b = BUF_INIT;
			if (ws_patch_make(&p, st, c, 3, err) < 0)
				return -1;
			bool text = p.what == PATCH_TEXT && c->was.kind != WS_LINK && c->now.kind != WS_LINK;
			bool fits = true;
			if (ch->nr_ranges)
				fits = merge_take_ranges(&p.old, &p.new, ch->range, ch->nr_ranges, &b);
			else
				merge_take_hunks(&p, ch->left, ch->nr_left, &b);
			bool nothing = c->was.kind == WS_FILE && b.len == p.old.len &&
				       !memcmp(buf_cstr(&b), buf_cstr(&p.old), b.len);
			ws_patch_release(&p);
			if (!text)
				return err_set(err, ERR_INVALID, "'%s' has no hunks: take or leave it as a whole",
					       c->path);
			if (!fits)
				return err_set(err, ERR_INVALID, "'%s' is not what was shown: look at it again", c->path);
			if (nothing || (c->was.kind == WS_NONE && b.len == 0))
				continue;
			if (c->now.kind == WS_NONE) /* a removal of which something is left */
				c->now = c->was;
			st->add(st->self, OBJECT_BLOB, buf_cstr(&b), b.len, &c->now.oid);
		}
		d->item[keep++] = *c;
	}
	d->nr = keep;
	return 0;
}

static int total_diff(const struct merge_target *t, const struct ws_store *st, struct ws_diff *d, struct err *err)
{
	const struct ws_view base = WS_VIEW_INIT;
	if (ws_diff_views(d, &base, t->step[t->nr_steps - 1].view, false, NULL, err) < 0)
		return -1;
	if (apply_choices(d, t, st, err) == 0)
		return 0;
	ws_diff_release(d);
	return -1;
}

static int request_of(const struct merge_opts *o, const struct merge_target *t, const struct ws_store *st, json_t **out,
		      json_t **flags_out, struct err *err)
{
	struct ws_diff d;
	const char *last = t->step[t->nr_steps - 1].message;
	if (total_diff(t, st, &d, err) < 0)
		return -1;
	json_t *rq = json_object(), *steps = json_array(), *flags = json_array();
	CLEANUP(free_ptr)
	char *ref = o->mode == MERGE_BRANCH && o->branch ? xasprintf("refs/heads/%s", o->branch)
		    : o->mode == MERGE_BRANCH		 ? xasprintf("refs/heads/sandglass/%s", o->id)
							 : xasprintf("refs/sandglass/merge/%s", o->id);
	json_put_str(rq, "dir", t->dir);
	json_put_str(rq, "mode", mode_name[o->mode]);
	json_put_str(rq, "ref", ref);
	json_put_str(rq, "author", o->author);
	json_put_str(rq, "email", o->email);
	json_put_int(rq, "ts_us", o->ts_us);
	json_put_flag(rq, "dry", o->dry);
	json_put(rq, "all", step_json(&d, last));
	if (o->mode == MERGE_COMMITS && !t->nr_choices) {
		static const struct ws_view base;
		for (size_t i = 0; i < t->nr_steps; i++) {
			struct ws_diff part;
			if (ws_diff_views(&part, i ? t->step[i - 1].view : &base, t->step[i].view, false, NULL, err) <
			    0)
				continue; /* cannot fail */
			json_array_append_new(steps, step_json(&part, t->step[i].message));
			ws_diff_release(&part);
		}
	} else {
		json_array_append_new(steps, step_json(&d, last));
	}
	json_put(rq, "steps", steps);
	for (size_t i = 0; i < d.nr; i++) {
		const char *word[8];
		size_t nr = merge_flags(&d.item[i], st, word);
		for (size_t k = 0; k < nr; k++) {
			json_t *f = json_object();
			json_put_bytes(f, "path", d.item[i].path, d.item[i].len);
			json_put_str(f, "what", word[k]);
			json_array_append_new(flags, f);
		}
	}
	ws_diff_release(&d);
	*out = rq;
	*flags_out = flags;
	return 0;
}

/* --- the run --- */

static int prepare_one(struct child *c, const struct merge_target *t, json_t *targets, bool *clean, struct err *err)
{
	json_t *rq, *flags;
	if (request_of(c->o, t, c->store, &rq, &flags, err) < 0)
		return -1;
	int rc = ask(c, CHILD_PREPARE, rq, &c->prepared, err);
	json_decref(rq);
	if (rc < 0) {
		json_decref(flags);
		return -1;
	}
	json_t *o = json_object();
	json_put_str(o, "repo", t->repo);
	json_put_str(o, "dir", t->dir);
	json_object_update_missing(o, c->prepared);
	json_put(o, "flags", flags);
	json_array_append_new(targets, o);
	*clean &= json_flag(c->prepared, "clean", false);
	return 0;
}

static void back_out(struct child *c, size_t nr, const struct merge_opts *o)
{
	for (size_t i = 0; i < nr; i++) {
		struct err err = ERR_INIT;
		json_t *rq = json_object(), *out = NULL;
		json_put_str(rq, "dir", o->target[i].dir);
		if (c[i].sock >= 0 && c[i].prepared)
			(void)!ask(&c[i], c[i].committed ? CHILD_UNDO : CHILD_ABORT, rq, &out, &err);
		json_decref(rq);
		json_decref(out);
	}
}

static int commit_all(struct child *c, const struct merge_opts *o, json_t *targets, struct err *err)
{
	json_t *rq = json_object();
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->nr_targets; i++) {
		json_t *out = NULL;
		rc = ask(&c[i], CHILD_COMMIT, rq, &out, err);
		if (rc < 0) {
			err_wrap(err, "'%s'", o->target[i].dir);
			break;
		}
		c[i].committed = true;
		json_object_update(json_array_get(targets, i), out);
		json_decref(out);
	}
	json_decref(rq);
	return rc;
}

static int run_children(struct child *c, const struct merge_opts *o, const struct ws_store *st, json_t *targets,
			bool *clean, bool *done, struct err *err)
{
	for (size_t i = 0; i < o->nr_targets; i++)
		if (child_start(&c[i], o, st, i, err) < 0 || prepare_one(&c[i], &o->target[i], targets, clean, err) < 0)
			return -1;
	if (!*clean || o->dry)
		return 0;
	*done = true;
	return commit_all(c, o, targets, err);
}

static int write_patches(const struct merge_opts *o, const struct ws_store *st, json_t *targets, struct err *err)
{
	for (size_t i = 0; i < o->nr_targets; i++) {
		const struct merge_target *t = &o->target[i];
		struct ws_diff d;
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		CLEANUP(free_ptr)
		char *path = o->nr_targets == 1 || !o->patch ? xstrdup(o->patch ? o->patch : "")
							     : xasprintf("%s.%s", o->patch, t->repo);
		if (total_diff(t, st, &d, err) < 0)
			return -1;
		size_t keep = 0, files = 0;
		for (size_t k = 0; k < d.nr; k++) {
			if (ws_path_is_git(d.item[k].path, d.item[k].len))
				continue;
			files += d.item[k].now.kind != WS_DIR && (d.item[k].now.kind != WS_NONE || d.item[k].was.kind != WS_DIR);
			d.item[keep++] = d.item[k];
		}
		d.nr = keep;
		int rc = ws_diff_patch(&d, st, &b, err);
		ws_diff_release(&d);
		if (rc == 0 && !o->dry && !o->patch)
			rc = err_set(err, ERR_USAGE, "merge: the mode patch needs a file to write");
		if (rc == 0 && !o->dry)
			rc = file_write_atomic(path, buf_cstr(&b), b.len, 0644, err);
		if (rc < 0)
			return -1;
		json_t *e = json_object();
		json_put_str(e, "repo", t->repo);
		json_put_str(e, "dir", t->dir);
		json_put_str(e, "patch", path);
		json_put_int(e, "files", (int64_t)files);
		json_put_int(e, "bytes", (int64_t)b.len);
		json_array_append_new(targets, e);
	}
	return 0;
}

int merge_run(const struct merge_opts *o, struct merge_result *r, struct err *err)
{
	struct memstore *mem = memstore_new(o->store);
	struct ws_store st = memstore_store(mem);
	struct child *c = xcalloc(o->nr_targets + 1, sizeof(*c));
	json_t *targets = json_array();
	bool clean = true, done = false;
	int rc;
	for (size_t i = 0; i < o->nr_targets; i++)
		c[i].sock = c[i].pidfd = -1;
	if (o->mode == MERGE_PATCH) {
		rc = write_patches(o, &st, targets, err);
		done = rc == 0 && !o->dry;
	} else {
		rc = run_children(c, o, &st, targets, &clean, &done, err);
		if (rc < 0 || !clean)
			back_out(c, o->nr_targets, o);
		for (size_t i = 0; i < o->nr_targets; i++)
			child_end(&c[i]);
	}
	free(c);
	memstore_free(&mem);
	if (rc < 0) {
		json_decref(targets);
		return err_wrap(err, "merge");
	}
	json_t *body = json_object();
	json_put_str(body, "merge", o->id);
	json_put_str(body, "mode", mode_name[o->mode]);
	json_put(body, "targets", targets);
	json_put_flag(body, "clean", clean);
	if (done && o->mode != MERGE_PATCH)
		json_put_str(body, "undo", o->undo_dir);
	*r = (struct merge_result){ .clean = clean, .done = done && clean, .body = body };
	return 0;
}

void merge_result_release(struct merge_result *r)
{
	json_decref(r->body);
	*r = (struct merge_result){ 0 };
}

/* --- undo and look --- */

static int with_child(const struct merge_opts *o, size_t k, unsigned type, const char *dir, json_t **out,
		      struct err *err)
{
	struct child c;
	json_t *rq = json_object();
	struct ws_store none = { 0 };
	json_put_str(rq, "dir", dir);
	json_put_str(rq, "author", o->author);
	json_put_str(rq, "email", o->email);
	int rc = child_start(&c, o, o->store ? o->store : &none, k, err);
	if (rc == 0)
		rc = ask(&c, type, rq, out, err);
	child_end(&c);
	json_decref(rq);
	return rc;
}

int merge_look(const struct merge_opts *o, const char *dir, json_t **out, struct err *err)
{
	return with_child(o, 0, CHILD_LOOK, dir, out, err);
}

int merge_undo(const struct merge_opts *o, json_t **body_out, struct err *err)
{
	json_t *targets = json_array();
	size_t nr = 0;
	for (int rc = 0;; nr++) {
		CLEANUP(free_ptr) char *dir = record_dir(o, nr);
		CLEANUP(free_ptr) char *path = path_join(dir, "record.json");
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct err why = ERR_INIT;
		if (file_read(path, &b, UNDO_MAX, &why) < 0)
			break;
		json_t *rec = json_parse(buf_cstr(&b), b.len, "the record of the merge", err), *out = NULL;
		CLEANUP(buf_release) struct buf target_path = BUF_INIT;
		const char *target = json_get_bytes(json_object_get(rec, "dir"), &target_path) ? target_path.data : NULL;
		rc = target ? with_child(o, nr, CHILD_UNDO, target, &out, err) : -1;
		if (rc == 0) {
			json_put_str(out, "dir", target);
			json_array_append_new(targets, out);
		}
		json_decref(rec);
		if (rc < 0) {
			json_decref(targets);
			return err_wrap(err, "undo of merge %s", o->id);
		}
	}
	if (!nr) {
		json_decref(targets);
		return err_set(err, ERR_NOENT, "there is no record of a merge %s", o->id);
	}
	*body_out = json_object();
	json_put_str(*body_out, "merge", o->id);
	json_put(*body_out, "targets", targets);
	return 0;
}
