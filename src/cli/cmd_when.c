/* sandglass when: at which events a text came into the files, and at which it went. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/choice_options.h"
#include "cli/files_at.h"
#include "exchange/export.h"
#include "exchange/changes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/workspace/state.h"

struct hit {
	struct file_version at;
	uint64_t box;
	int64_t ts_us;
	char *box_name, *path;
	size_t was, now; /* how often TEXT occurs in it */
};

struct counted { /* the result for one content */
	struct object_id oid;
	size_t times;
	uint64_t unread_in; /* number of the session that lacks the content; 0: it was read */
};

struct pickaxe {
	struct cmd_ctx *ctx;
	struct session *s;
	const struct layer_at *layer;
	const char *text;
	size_t len;
	struct counted *known; /* a ring: a content comes up as "now" and next as "was" */
	size_t nr_known;
	uint64_t nr_sessions; /* so far, with this one */
	struct hit *hit;      /* of this session */
	size_t nr, cap, unread, found;
	struct past *past; /* with --all; borrowed */
	bool left_out;	   /* a session could not be read */
};

enum { KNOWN = 1024 };

static size_t times_in(const struct buf *b, const char *text, size_t len)
{
	size_t nr = 0;
	for (const char *p = buf_cstr(b), *end = p + b->len;
	     (p = memmem(p, (size_t)(end - p), text, len)); p += len)
		nr++;
	return nr;
}

static size_t cmd_when_times(struct pickaxe *x, const json_t *state)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct object_id oid;
	struct err none = ERR_INIT;
	if (!object_parse(json_str(state, "oid", ""), &oid))
		return 0;
	for (size_t i = 0; i < x->nr_known && i < KNOWN; i++)
		if (!memcmp(&x->known[i].oid, &oid, sizeof(oid)) &&
		    (!x->known[i].unread_in || x->known[i].unread_in == x->nr_sessions))
			return x->known[i].times;
	bool there = session_object(x->s, &oid, NULL, &bytes, &none) == 0;
	size_t nr = there ? times_in(&bytes, x->text, x->len) : 0;
	x->unread += !there;
	x->known[x->nr_known++ % KNOWN] = (struct counted){ oid, nr, there ? 0 : x->nr_sessions };
	return nr;
}

static void cmd_when_look_at(struct pickaxe *x, uint64_t seq, const struct event *ev,
			     const json_t *body, const json_t *change)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	const char *op = json_str(change, "op", "");
	if (!json_get_bytes(json_object_get(change, "path"), &path) ||
	    ws_path_is_git(buf_cstr(&path), path.len) || !files_wanted(x->ctx, buf_cstr(&path)))
		return;
	size_t was = *op == 'A' ? 0 : cmd_when_times(x, json_object_get(change, "was")),
	       now = *op == 'D' ? 0 : cmd_when_times(x, change);
	if (was == now)
		return;
	GROW(x->hit, x->nr, x->cap);
	struct hit *h = &x->hit[x->nr++];
	*h = (struct hit){ .box = ev->box,
			   .ts_us = ev->ts_us,
			   .box_name = mem_strdup(x->layer->box_name),
			   .was = was,
			   .now = now };
	h->at.action = states_author(x->s, ev, body, buf_cstr(&path), &h->at.shared);
	h->path = buf_take(&path);
	h->at.snapshot = seq;
	snprintf(h->at.why, sizeof(h->at.why), "%s", json_str(body, "why", ""));
}

static bool cmd_when_on_snapshot(void *self, uint64_t seq, const struct event *ev,
				 const json_t *body)
{
	struct pickaxe *x = self;
	size_t i;
	json_t *change;
	for (i = 0; i < x->nr; i++)
		/* of a box that several were copied from: told once */
		if (x->hit[i].at.snapshot == seq)
			return false;
	CLEANUP(json_release) json_t *changes = NULL;
	struct err none = ERR_INIT;
	if (snapshot_changes(x->s, body, &changes, &none) < 0) {
		x->unread += (size_t)json_int(body, "more", 0);
		changes = json_incref(json_object_get(body, "changes"));
	}
	json_array_foreach(changes, i, change) cmd_when_look_at(x, seq, ev, body, change);
	return true;
}

static int by_time(const void *pa, const void *pb)
{
	const struct hit *a = pa, *b = pb;
	if (a->at.snapshot != b->at.snapshot)
		return a->at.snapshot < b->at.snapshot ? -1 : 1;
	return strcmp(a->path, b->path);
}

static void print_hit(struct pickaxe *x, const struct hit *h)
{
	const char *word = h->was == 0	     ? "appeared"
			   : h->now == 0     ? "vanished"
			   : h->now > h->was ? "more"
					     : "fewer";
	if (x->ctx->json) {
		json_t *o = json_object(), *who = files_who_json(x->s, &h->at);
		if (x->past)
			json_put_str(o, "session", session_id(x->s));
		json_put_str(o, "what", word);
		json_put_bytes(o, "path", h->path, strlen(h->path));
		json_put_int(o, "box", (int64_t)h->box);
		json_put_int(o, "was", (int64_t)h->was);
		json_put_int(o, "now", (int64_t)h->now);
		json_put(o, "who", who);
		cmd_json(x->ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf line = BUF_INIT, who = BUF_INIT, at = BUF_INIT;
	clock_local_hms(h->ts_us, false, &at);
	files_who(x->s, &h->at, &who);
	if (x->past)
		buf_printf(&line, "%-9s ", session_id(x->s));
	buf_printf(&line, "%-8s %s %s", word, buf_cstr(&at), h->box_name);
	buf_printf(&line, "%s%s  (%zu -> %zu)  by %s", *h->box_name ? ":" : "", h->path, h->was,
		   h->now, buf_cstr(&who));
	cmd_print_safe(x->ctx->out, buf_cstr(&line), line.len, false);
	fputc('\n', x->ctx->out);
}

static void cmd_when_tell(struct pickaxe *x, bool prints)
{
	if (x->nr)
		qsort(x->hit, x->nr, sizeof(*x->hit), by_time);
	for (size_t i = 0; i < x->nr; i++) {
		if (prints)
			print_hit(x, &x->hit[i]);
		free(x->hit[i].box_name);
		free(x->hit[i].path);
	}
	x->found += prints ? x->nr : 0;
	x->nr = 0;
}

static int cmd_when_session(struct pickaxe *x, const char *ref, struct err *err)
{
	struct files_at f;
	int rc = files_at_open(&f, x->ctx, ref, err);
	x->s = f.s;
	x->nr_sessions++;
	for (size_t i = 0; rc == 0 && i < f.layers.nr; i++) {
		x->layer = &f.layers.item[i];
		rc = snapshots_back(f.s, x->layer->snapshot, cmd_when_on_snapshot, x, err);
	}
	if (x->past)
		progress_clear(&x->past->working);
	cmd_when_tell(x, rc == 0);
	files_at_release(&f);
	return rc;
}

static bool cmd_when_looks_at(void *self, const char *path)
{
	return files_wanted(self, path);
}

/* Every session that the options choose, oldest first; one that can't be read is named. */
static int cmd_when_all(struct pickaxe *x, struct err *err)
{
	struct past past = { 0 };
	int rc = past_sessions(x->ctx, 1, &past, err);
	if (rc == 0)
		rc = past_choose_changed(x->ctx, &past, cmd_when_looks_at, x->ctx, err);
	x->past = &past;
	for (size_t i = 0; rc == 0 && i < past.paths.nr; i++) {
		struct err why = ERR_INIT;
		progress_at(&past.working, "all sessions", i, past.paths.nr, "sessions");
		if (cmd_when_session(x, past.paths.item[i], &why) < 0 && why.code != ERR_NOENT)
			past_left_out(&past, &why);
	}
	progress_clear(&past.working);
	if (rc == 0 && past.unread)
		x->left_out = true;
	past_release(&past);
	return rc;
}

static int cmd_when_check(struct cmd_ctx *ctx, const struct pickaxe *x)
{
	if (!x->len)
		return cmd_usage(ctx, "expected a text, got an empty one");
	return choice_all_check(ctx);
}

int cmd_when(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	struct pickaxe x = { .ctx = ctx,
			     .text = cmd_word(ctx, 0),
			     .len = strlen(cmd_word(ctx, 0)) };
	int status = cmd_when_check(ctx, &x);
	if (status != EXIT_DONE)
		return status;
	x.known = mem_calloc(KNOWN, sizeof(*x.known));
	int rc = cmd_has(ctx, "all") ? cmd_when_all(&x, &err)
				     : cmd_when_session(&x, cmd_opt(ctx, "at"), &err);
	if (rc == 0 && x.unread && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: when: %zu contents not searched: only their hashes are recorded\n",
			x.unread);
	if (rc == 0 && !x.found && !ctx->quiet && !ctx->json)
		fputs("sandglass: when: no recorded file change adds or removes this text\nSearch everything else with 'sandglass search'.\n",
		      ctx->err);
	free(x.hit);
	free(x.known);
	return rc < 0			? cmd_fail(ctx, &err)
	       : x.found && !x.left_out ? EXIT_DONE
					: EXIT_UNSUCCESSFUL;
}
