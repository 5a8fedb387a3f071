/* sandglass ls: sessions, newest first; agents or snapshots of one. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "action/gate.h"
#include "catalog/choice.h"
#include "cli/ask_all.h"
#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "record/read/ended.h"
#include "wire/event_json.h"

struct row {
	const struct session_file *file;
	/* running, waiting, stalled, ended, stopped, failed, broken off, unreadable */
	const char *state;
	/* it is unreadable, has not ended well, or cannot write its record: owned; may be NULL */
	char *why;
	uint64_t events;
	int64_t begun_us, last_us;
	size_t held, asks;
	bool watch; /* it is shared with us to watch only */
	/* silent: it runs, and its supervisor does not answer */
	bool live, silent, broken_off, unreadable;
};

static json_t *cmd_ls_body_of(const struct event *ev)
{
	struct err err = ERR_INIT;
	return ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
}

static void fill_from(struct row *r, struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err err = ERR_INIT;
	r->events = session_head(s);
	r->live = session_live(s);
	if (session_event(s, 1, &ev, &arena, &err) == 0)
		r->begun_us = ev.ts_us;
	bool ended = false;
	if (r->events && session_event(s, r->events, &ev, &arena, &err) == 0) {
		r->last_us = ev.ts_us;
		ended = ev.kind == EV_SESSION_END;
		CLEANUP(json_release) json_t *body = ended ? cmd_ls_body_of(&ev) : NULL;
		size_t len;
		const char *why = ended_why(body, &len);
		r->state = ended_word(body);
		r->why = len ? mem_strndup(why, len) : NULL;
	}
	r->broken_off = !r->live && !ended;
	r->state = r->live ? "running" : !ended ? "broken off" : r->state;
	arena_release(&arena);
}

static struct row cmd_ls_look(const struct catalog *c, const struct session_file *f)
{
	struct row r = { .file = f, .state = "unreadable" };
	const struct shard_session *known = catalog_find(c, f);
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (known) {
		r.state = known->state;
		r.why = known->why ? mem_strdup(known->why) : NULL;
		r.events = known->events;
		r.begun_us = known->begun_us;
		r.last_us = known->last_us;
		return r;
	}
	if (session_open(&s, f->path, &err) < 0) {
		r.unreadable = true;
		r.why = mem_strdup(err.text);
		return r;
	}
	fill_from(&r, s);
	session_close(&s);
	return r;
}

/* How many actions wait for a person, and what we may do there: only a supervisor knows. */
static void ask_supervisors(struct row *row, size_t nr)
{
	struct asked *a = mem_calloc(nr + 1, sizeof(*a));
	size_t live = 0;
	for (size_t i = 0; i < nr; i++)
		if (row[i].live)
			a[live++].file = row[i].file;
	ask_all(a, live);
	for (size_t i = 0, k = 0; i < nr; i++) {
		if (!row[i].live)
			continue;
		json_t *welcome = a[k++].welcome;
		row[i].silent = !welcome;
		const json_t *state = json_object_get(welcome, "state");
		row[i].held = gate_state_waits(state);
		row[i].asks = json_array_size(json_object_get(state, "asks"));
		row[i].watch = !strcmp(json_str(welcome, "role", ""), "watch");
		row[i].state = row[i].held + row[i].asks ? "waiting" : row[i].state;
		/* then nothing goes on there, whatever waits */
		if (*json_str(state, "record", "")) {
			free(row[i].why);
			row[i].why = mem_strdup(
				json_str(state, "record_why", "its record cannot be written"));
			row[i].state = "stalled";
		}
		json_decref(welcome);
	}
	free(a);
}

/* Does anything in it match? One that cannot be asked is not hidden. */
static bool cmd_ls_matches(const struct catalog *c, const struct session_file *f,
			   const struct filter *filter)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	uint64_t seq;
	size_t nr = 1;
	if (!filter)
		return true;
	if (!catalog_may_match(c, f))
		return false;
	if (session_open(&s, f->path, &err) == 0 &&
	    filter_search(filter, s, clock_wall_us(), 0, 1, &seq, &nr, &err) < 0)
		nr = 1;
	session_close(&s);
	return nr > 0;
}

static bool cmd_ls_wanted(const struct session_file *f, const char *pattern)
{
	if (!pattern)
		return true;
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, f->name, 0) == 0 || fnmatch(pattern, f->id, 0) == 0;
	return strstr(f->name, pattern) || strstr(f->id, pattern);
}

static void cmd_ls_print_json(struct cmd_ctx *ctx, const struct row *r)
{
	json_t *o = json_object();
	json_put_str(o, "session", r->file->id);
	json_put_str(o, "name", r->file->name);
	json_put_str(o, "state", r->state);
	json_put(o, "path", json_bytes_z(r->file->path));
	json_put_int(o, "size_bytes", r->file->size);
	if (r->why)
		json_put_str(o, "why", r->why);
	json_put_str(o, "shared_by", r->file->shared_by);
	if (r->file->shared_by && r->live)
		json_put_str(o, "role", r->watch ? "watch" : "decide");
	if (!r->unreadable) {
		json_put_int(o, "events", (int64_t)r->events);
		cmd_json_time(o, "begun", r->begun_us);
		json_put_int(o, "dur_us", r->last_us - r->begun_us);
		json_put_flag(o, "live", r->live);
		json_put_int(o, "held", (int64_t)r->held);
		json_put_int(o, "asks", (int64_t)r->asks);
		if (r->broken_off)
			json_put(o, "resume",
				 json_pack("[sss]", "sandglass", "resume", r->file->id));
	}
	cmd_json(ctx, o);
}

static void cmd_ls_print_row(struct cmd_ctx *ctx, const struct row *r)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, span = BUF_INIT, size = BUF_INIT;
	cmd_size((uint64_t)r->file->size, &size);
	if (r->unreadable) {
		buf_printf(&b, "%-9s %-10s ", r->file->id, r->state);
		cmd_safe(&b, r->file->name, strlen(r->file->name), false);
		buf_puts(&b, ": ");
		cmd_safe(&b, r->why, strlen(r->why), false);
	} else {
		/* of one that runs: until now */
		clock_span((r->live ? clock_wall_us() : r->last_us) - r->begun_us, &span);
		buf_printf(&b, "%-9s %-10s ", r->file->id, r->state);
		cmd_time(r->begun_us, &b);
		buf_printf(&b, " %7s %8llu events %10s  ", buf_cstr(&span),
			   (unsigned long long)r->events, buf_cstr(&size));
		cmd_safe(&b, r->file->name, strlen(r->file->name), false);
		if (r->why) {
			buf_puts(&b, ": ");
			cmd_safe(&b, r->why, strlen(r->why), false);
		}
		if (r->held)
			buf_printf(&b, "  (%zu held)", r->held);
		if (r->asks)
			buf_printf(&b, "  (%zu %s)", r->asks,
				   r->asks == 1 ? "question" : "questions");
		if (r->silent)
			buf_puts(&b, "  (does not answer)");
		if (r->file->shared_by)
			buf_printf(&b, "  (shared by %s%s)", r->file->shared_by,
				   r->watch ? ", to watch" : "");
		if (r->broken_off)
			buf_printf(&b, "  (goes on with 'sandglass resume %s')", r->file->id);
	}
	fprintf(ctx->out, "%s\n", buf_cstr(&b));
}

/* --- one session's agents or snapshots --------------------------------------------------------
 */

static int ls_inside(struct cmd_ctx *ctx, uint16_t kind)
{
	struct session *s;
	struct feed *feed;
	struct err err = ERR_INIT;
	uint64_t seq;
	if (session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	if (feed_new(&feed, s, FEED_ALL, 0, &err) < 0) {
		session_close(&s);
		return cmd_fail(ctx, &err);
	}
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc;
	while ((rc = feed_next(feed, &ev, &arena, 0, &err)) > 0) {
		if (ev.kind == kind && ctx->json) {
			cmd_json(ctx, event_json(&ev));
		} else if (ev.kind == kind) {
			CLEANUP(buf_release) struct buf text = BUF_INIT, line = BUF_INIT;
			clock_local_hms(ev.ts_us, true, &line);
			buf_printf(&line, " #%llu ", (unsigned long long)ev.seq);
			ev.action = 0;
			describe_event(&ev, &text);
			cmd_safe(&line, buf_cstr(&text), text.len, false);
			fprintf(ctx->out, "%s\n", buf_cstr(&line));
		}
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	session_close(&s);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}

static void say_none(struct cmd_ctx *ctx, bool chosen, size_t others)
{
	if (cmd_has(ctx, "live"))
		fprintf(ctx->err, "sandglass: no %ssession in '%s' runs\n", chosen ? "such " : "",
			ctx->sessions);
	else
		fprintf(ctx->err, "sandglass: no %s in '%s'\n",
			chosen ? "such session" : "sessions", ctx->sessions);
	if (others)
		fprintf(ctx->err,
			"  %zu .glass file%s there %s not named DATE-NAME-ID.glass: sessions all the same, meant by their path\n",
			others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

int cmd_ls(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct filter *filter = NULL;
	struct err err = ERR_INIT;
	int64_t max = cmd_has(ctx, "all") ? INT64_MAX : 50;
	size_t shown = 0, left = 0;
	struct session_choice choice;
	if (session_choice_read(ctx, &choice, &err) < 0 ||
	    command_opt_int(ctx->line, "max", 1, 1000000, &max, &err) < 0)
		return cmd_fail(ctx, &err);
	bool inside =
		cmd_has(ctx, "waiting") || cmd_has(ctx, "agents") || cmd_has(ctx, "snapshots");
	if (inside && session_choice_any(&choice))
		return cmd_usage(ctx,
				 "--since, --until, --agent, --model, and --repo choose sessions; "
				 "they don't go with --waiting, --agents, or --snapshots");
	if (cmd_has(ctx, "waiting"))
		return ls_waiting(ctx);
	if (cmd_has(ctx, "agents") || cmd_has(ctx, "snapshots"))
		return ls_inside(ctx, cmd_has(ctx, "agents") ? EV_AGENT_START : EV_SNAPSHOT_TAKEN);
	if (cmd_filter(ctx, &filter, &err) < 0 ||
	    session_files_list(&files, ctx->sessions, &err) < 0) {
		filter_free(&filter);
		return cmd_fail(ctx, &err);
	}
	session_files_shared(&files);
	session_files_sort(&files);
	struct catalog *catalog = catalog_open(ctx->sessions);
	if (filter)
		catalog_ask(catalog, filter);
	struct row *row = mem_calloc(files.nr + 1, sizeof(*row));
	for (size_t i = 0; i < files.nr; i++) {
		if (!cmd_ls_wanted(&files.item[i], cmd_word(ctx, 0)) ||
		    !session_choice_takes(&choice, catalog, &files.item[i]) ||
		    !cmd_ls_matches(catalog, &files.item[i], filter))
			continue;
		if ((int64_t)shown >= max) {
			left++;
			continue;
		}
		row[shown] = cmd_ls_look(catalog, &files.item[i]);
		if (!cmd_has(ctx, "live") || row[shown].live)
			shown++;
		else
			free(row[shown].why);
	}
	catalog_finish_later(catalog, &files, ctx->sessions);
	ask_supervisors(row, shown);
	for (size_t i = 0; i < shown; i++) {
		if (ctx->json)
			cmd_ls_print_json(ctx, &row[i]);
		else
			cmd_ls_print_row(ctx, &row[i]);
		free(row[i].why);
	}
	free(row);
	if (left && !ctx->quiet && !ctx->json)
		fprintf(ctx->err, "sandglass: %zu older ones, 'sandglass ls --all' shows them\n",
			left);
	if (!shown && !ctx->quiet && !ctx->json)
		say_none(ctx, cmd_word(ctx, 0) || filter || session_choice_any(&choice),
			 files.others);
	catalog_close(&catalog);
	filter_free(&filter);
	session_files_release(&files);
	return EXIT_DONE;
}
