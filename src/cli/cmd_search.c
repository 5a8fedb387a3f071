/* sandglass search: the filter language over all sessions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/choice_options.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/progress.h"
#include "cli/search_hit.h"
#include "phrase/describe.h"
#include "sessions/index_background.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/filter.h"
#include "query/row.h"
#include "record/deferred_index.h"
#include "wire/event_json.h"

enum { PATIENCE_US = 1000000, GLANCE_US = 200000 /* on a terminal */ };

struct search {
	struct cmd_ctx *ctx;
	struct filter *filter;
	int64_t left;			  /* results still to be shown */
	size_t found, unread, in_scripts; /* in_scripts: only there, not shown */
	struct session *s;		  /* the one that is being searched */
	int64_t since_us;		  /* since when it is read through; 0 it is not */
	bool told;			  /* that it is */
	char *first;			  /* path of the file in which the first was found; owned */
	uint64_t first_seq;
	struct working all; /* over the sessions */
	struct session_choice choice;
	struct search_texts texts;
	int64_t context; /* lines around a hit */
	size_t printed;
	char **due; /* paths: their index is finished afterwards; owned */
	size_t dues, due_cap;
};

/* The shell has taken the quotes away: words that hold blanks and nothing of the language are a
 * phrase. */
static void cmd_search_put_term(struct buf *out, const char *word)
{
	bool phrase = strpbrk(word, " \t") && !strpbrk(word, "\":()=<>~!@");
	buf_printf(out, "%s%s%s%s", out->len ? " " : "", phrase ? "\"" : "", word,
		   phrase ? "\"" : "");
}

/* Of an action that a user has edited: what ran. */
static void cmd_search_put_ran(struct session *s, const struct event *ev, struct buf *out)
{
	CLEANUP(json_release) json_t *row = NULL;
	CLEANUP(buf_release) struct buf what = BUF_INIT;
	struct err none = ERR_INIT;
	if (ev->kind != EV_ACTION_REQUESTED || row_of(s, ev->seq, &row, &none) < 0 ||
	    !json_flag(row, "edited", false))
		return;
	row_what(row, &what);
	buf_puts(out, "  (edited; ran: ");
	buf_append(out, what.data, what.len);
	buf_putc(out, ')');
}

static json_t *cmd_search_lines(const struct strv *lines)
{
	json_t *a = json_array();
	for (size_t i = 0; i < lines->nr; i++)
		json_array_append_new(a, json_bytes(lines->item[i], lines->len[i]));
	return a;
}

static void cmd_search_json(struct search *q, struct session *s, const char *agent,
			    const struct event *ev, const struct search_hit *h)
{
	json_t *o = json_object(), *e = event_json(ev), *match = json_object();
	json_put_str(o, "session", session_id(s));
	json_object_update(o, e);
	json_decref(e);
	if (*agent)
		json_put_str(o, "agent_name", agent);
	json_put_str(match, "stream", h->stream);
	json_put_bytes(match, "line", h->line.data, h->line.len);
	json_put_int(match, "from", (int64_t)h->from);
	json_put_int(match, "len", (int64_t)h->len);
	if (h->cut_before || h->cut_after)
		json_put_flag(match, "cut", true);
	if (q->context) {
		json_put(match, "before", cmd_search_lines(&h->before));
		json_put(match, "after", cmd_search_lines(&h->after));
	}
	json_put(o, "match", match);
	cmd_json(q->ctx, o);
}

static void cmd_search_put_context(struct search *q, const struct strv *lines)
{
	for (size_t i = 0; i < lines->nr; i++) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		cmd_safe(&line, lines->item[i], lines->len[i], false);
		fprintf(q->ctx->out, "  | %s\n", buf_cstr(&line));
	}
}

/* "2026-11-28 11:50:13" */
static void cmd_search_put_time(struct buf *out, int64_t us)
{
	CLEANUP(buf_release) struct buf date = BUF_INIT;
	cmd_time(us, &date);
	buf_append(out, date.data, date.len < 11 ? date.len : 11);
	clock_local_hms(us, false, out);
}

static void cmd_search_print(struct search *q, struct session *s, const char *agent,
			     const struct event *ev, const struct search_hit *h)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, ran = BUF_INIT;
	const char *text = buf_cstr(&h->line), *color = q->ctx->color ? "\x1b[1;31m" : "",
		   *plain = q->ctx->color ? "\x1b[0m" : "";
	buf_printf(&line, "%s#%llu: ", session_id(s), (unsigned long long)ev->seq);
	cmd_search_put_time(&line, ev->ts_us);
	buf_putc(&line, ' ');
	if (*agent) {
		cmd_safe(&line, agent, strlen(agent), false);
		buf_putc(&line, ' ');
	}
	buf_printf(&line, "%s  %s", h->stream, h->cut_before ? ".. " : "");
	cmd_safe(&line, text, h->from, false);
	buf_puts(&line, h->len ? color : "");
	cmd_safe(&line, text + h->from, h->len, false);
	buf_puts(&line, h->len ? plain : "");
	cmd_safe(&line, text + h->from + h->len, h->line.len - h->from - h->len, false);
	buf_puts(&line, h->cut_after ? " .." : "");
	cmd_search_put_ran(s, ev, &ran);
	cmd_safe(&line, buf_cstr(&ran), ran.len, false);
	if (q->context && q->printed++)
		fputs("--\n", q->ctx->out);
	cmd_search_put_context(q, &h->before);
	fprintf(q->ctx->out, "%s\n", buf_cstr(&line));
	cmd_search_put_context(q, &h->after);
}

/* False: only the text of the script has it, which was not asked for. */
static bool cmd_search_show(struct search *q, struct session *s, struct agent_names *names,
			    const struct event *ev)
{
	struct search_hit h;
	const char *agent = agent_name(names, s, ev->agent);
	search_hit_find(s, ev, &q->texts, (size_t)q->context, &h);
	bool shown = cmd_has(q->ctx, "script") || strcmp(h.stream, "script") != 0;
	if (shown && q->ctx->json)
		cmd_search_json(q, s, agent, ev, &h);
	else if (shown)
		cmd_search_print(q, s, agent, ev, &h);
	q->in_scripts += !shown;
	search_hit_release(&h);
	return shown;
}

/* Events are read one by one, beyond the index or because the index has no entry for the filter.
 * A long read prints a notice, and on a terminal its progress. */
static void on_reading(void *self, uint64_t at, uint64_t head)
{
	struct search *q = self;
	bool shows = isatty(fileno(q->ctx->err));
	int64_t now_us = clock_mono_us();
	if (!q->since_us)
		q->since_us = now_us;
	if (q->ctx->quiet || now_us - q->since_us < (shows ? GLANCE_US : PATIENCE_US) ||
	    (q->told && !shows))
		return;
	uint64_t indexed = session_indexed(q->s);
	fprintf(q->ctx->err, "%ssandglass: %s: ", shows ? "\r" : "", session_id(q->s));
	if (at > indexed)
		fprintf(q->ctx->err,
			"the index covers %" PRIu64 " of %" PRIu64 " events, searching the rest",
			indexed, head);
	else
		fprintf(q->ctx->err, "no index leads there, reading %" PRIu64 " events", head);
	if (shows)
		fprintf(q->ctx->err, ": %" PRIu64 " %%, ^C ends it\x1b[K", at * 100 / head);
	else
		fputc('\n', q->ctx->err);
	q->told = true;
}

static void reading_ended(struct search *q)
{
	if (q->told && isatty(fileno(q->ctx->err)))
		fprintf(q->ctx->err, "\r\x1b[K");
	q->told = false;
}

/* Requests an index, so that the next search need not read these events. */
static void cmd_search_note_due(struct search *q)
{
	if (!q->since_us || clock_mono_us() - q->since_us < PATIENCE_US / 10 ||
	    !deferred_index_due(q->s))
		return;
	GROW(q->due, q->dues, q->due_cap);
	q->due[q->dues++] = mem_strdup(session_path(q->s));
}

static void finish_due(struct search *q)
{
	index_background((const char *const *)q->due, q->dues);
	for (size_t i = 0; i < q->dues; i++)
		free(q->due[i]);
	free(q->due);
}

enum { PAGE = 256 };

static int search_session(struct search *q, struct session *s, struct err *err)
{
	struct agent_names names = { 0 };
	struct arena arena = ARENA_INIT;
	uint64_t seqs[PAGE], at = 0;
	size_t nr;
	int rc = 0;
	q->s = s;
	session_on_reading(s, on_reading, q);
	while (rc == 0 && at < INT64_MAX && q->left > 0) {
		nr = 0;
		rc = filter_search_soon(q->filter, s, clock_wall_us(), at, GLANCE_US,
					q->left < PAGE ? (size_t)q->left : PAGE, seqs, &nr, &at,
					err);
		reading_ended(q);
		for (size_t i = 0; rc == 0 && i < nr && q->left > 0; i++) {
			struct event ev;
			rc = session_event(s, seqs[i], &ev, &arena, err);
			progress_clear(&q->all);
			if (rc == 0 && !cmd_search_show(q, s, &names, &ev)) {
				arena_reset(&arena);
				continue;
			}
			if (!q->found++) {
				q->first = mem_strdup(session_path(s));
				q->first_seq = seqs[i];
			}
			q->left--;
			arena_reset(&arena);
		}
		fflush(q->ctx->out); /* as it is found */
	}
	arena_release(&arena);
	agent_names_release(&names);
	return rc;
}

/* One that cannot be read must not hide the others; it is named. */
static void search_file(struct search *q, const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	q->since_us = 0;
	if (session_open(&s, path, &err) < 0 || search_session(q, s, &err) < 0) {
		q->unread++;
		progress_clear(&q->all);
		cmd_tell_error(q->ctx, "not searched", &err);
	}
	if (s)
		cmd_search_note_due(q);
	session_close(&s);
}

static int search_all(struct search *q, struct err *err)
{
	struct session_files files = SESSION_FILES_INIT;
	const char *in = cmd_opt(q->ctx, "in");
	if (in && session_choice_any(&q->choice))
		return err_set(err, ERR_USAGE,
			       "--in can't be combined with --since, --until, --agent, --model, "
			       "--repo, or --label");
	if (in) {
		CLEANUP(free_ptr) char *path = NULL;
		if (session_find(q->ctx->sessions, in, &path, err) < 0)
			return -1;
		search_file(q, path);
		return 0;
	}
	if (session_files_list(&files, q->ctx->sessions, err) < 0)
		return -1;
	struct catalog *catalog = catalog_open(q->ctx->sessions);
	catalog_ask(catalog, q->filter);
	for (size_t i = 0; i < files.nr && q->left > 0; i++) {
		progress_at(&q->all, "searching", i, files.nr, "sessions");
		if (!catalog_may_match(catalog, &files.item[i]) ||
		    !session_choice_takes(&q->choice, catalog, &files.item[i]))
			continue;
		search_file(q, files.item[i].path);
	}
	progress_clear(&q->all);
	choice_catalog_end(q->ctx, &catalog, &files);
	session_files_release(&files);
	return 0;
}

/* A script's frames hold the text of an action, too; the search looks for the action itself. */
static int leave_out_frames(struct filter **f, struct buf *text, struct err *err)
{
	if (!filter_words(*f) || filter_asks_kind(*f, "host.frame") ||
	    filter_asks_kind(*f, "host.call"))
		return 0;
	CLEANUP(buf_release) struct buf less = BUF_INIT;
	buf_printf(&less, "(%s) kind!=host.frame kind!=host.call", buf_cstr(text));
	filter_free(f);
	return cmd_filter_text(buf_cstr(&less), f, err);
}

int cmd_search(struct cmd_ctx *ctx)
{
	struct search q = { .ctx = ctx, .left = 100, .all = { .ctx = ctx } };
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; cmd_word(ctx, i); i++)
		cmd_search_put_term(&text, cmd_word(ctx, i));
	if (command_opt_int(ctx->line, "max", 1, 10000000, &q.left, &err) < 0 ||
	    command_opt_int(ctx->line, "context", 0, 1000, &q.context, &err) < 0 ||
	    session_choice_read(ctx, &q.choice, &err) < 0 ||
	    cmd_filter_text(buf_cstr(&text), &q.filter, &err) < 0 ||
	    leave_out_frames(&q.filter, &text, &err) < 0)
		return cmd_fail(ctx, &err);
	if (cmd_has(ctx, "open"))
		q.left = 1;
	search_texts_of(q.filter, &q.texts);
	int rc = search_all(&q, &err);
	search_texts_release(&q.texts);
	CLEANUP(free_ptr) char *first = q.first;
	filter_free(&q.filter);
	finish_due(&q);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	if (first && cmd_has(ctx, "open"))
		return replay_at(ctx, first, q.first_seq);
	if (!q.left && !ctx->quiet)
		fprintf(ctx->err, "sandglass: search: limit reached; show more with --max N\n");
	if (q.in_scripts && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: search: %zu hit%s only in the text of agent scripts; show %s with "
			"--script\n",
			q.in_scripts, q.in_scripts == 1 ? "" : "s",
			q.in_scripts == 1 ? "it" : "them");
	if (!q.found && !q.in_scripts && !ctx->quiet && isatty(fileno(ctx->err)))
		fprintf(ctx->err, "sandglass: search: nothing found\n");
	/* like grep: nothing found is not success */
	return q.found ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
