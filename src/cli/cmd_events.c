/* sandglass events: the events of a session, one a line. */
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "sessions/follow.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/filter.h"
#include "wire/event_json.h"

struct lister {
	struct cmd_ctx *ctx;
	struct session *s;
	struct filter *filter; /* NULL = all */
	struct agent_names names;
	struct arena arena;
	uint64_t seq; /* last one looked at */
	/* with a filter */
	uint64_t *printed, *open;
	size_t nr_printed, cap_printed, nr_open, cap_open;
	uint64_t seen;	/* open[] is right up to here */
	uint64_t again; /* look again from this one on; 0 = from seq */
};

/* The frames between a script and the supervisor: hundreds of lines that don't help to find an
 * action. They are listed with --json, --all, or a filter that names them. */
static bool cmd_events_left_out(const struct lister *l, const struct event *ev)
{
	return !l->filter && !l->ctx->json && !cmd_has(l->ctx, "all") &&
	       (ev->kind == EV_HOST_FRAME || ev->kind == EV_HOST_CALL ||
		ev->kind == EV_HOST_MODULE);
}

static void cmd_events_print(struct lister *l, const struct event *ev)
{
	FILE *out = l->ctx->out;
	if (l->ctx->json) {
		cmd_json(l->ctx, event_json(ev));
		return;
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT, line = BUF_INIT;
	const char *agent = agent_name(&l->names, l->s, ev->agent);
	describe_event(ev, &text);
	clock_local_hms(ev->ts_us, true, &line);
	buf_printf(&line, " %6llu ", (unsigned long long)ev->seq);
	if (*agent) {
		cmd_safe(&line, agent, strlen(agent), false);
		buf_putc(&line, ' ');
	}
	cmd_safe(&line, buf_cstr(&text), text.len, false);
	buf_putc(&line, '\n');
	fwrite(line.data, 1, line.len, out);
}

/* --- all, or those that match -----------------------------------------------------------------
 */

static int cmd_events_print_all(struct lister *l, struct err *err)
{
	struct feed *feed;
	struct event ev;
	int rc;
	if (feed_new(&feed, l->s, FEED_ALL, 0, err) < 0)
		return -1;
	feed_seek(feed, l->seq);
	while ((rc = feed_next(feed, &ev, &l->arena, 0, err)) > 0) {
		if (!cmd_events_left_out(l, &ev))
			cmd_events_print(l, &ev);
		l->seq = ev.seq;
		arena_reset(&l->arena);
		if (ferror(l->ctx->out))
			break;
	}
	feed_free(&feed);
	return rc < 0 ? -1 : 0;
}

enum { PAGE = 512 };

static bool cmd_events_printed(const struct lister *l, uint64_t seq)
{
	/* ascending but for the few that matched late: looked at from the end */
	for (size_t i = l->nr_printed; i-- > 0;)
		if (l->printed[i] == seq)
			return true;
	return false;
}

static int print_match(struct lister *l, uint64_t seq, struct err *err)
{
	struct event ev;
	if (seq <= l->seq && cmd_events_printed(l, seq))
		return 0;
	if (session_event(l->s, seq, &ev, &l->arena, err) < 0)
		return -1;
	cmd_events_print(l, &ev);
	arena_reset(&l->arena);
	GROW(l->printed, l->nr_printed, l->cap_printed);
	l->printed[l->nr_printed++] = seq;
	return 0;
}

/* An action matches by its later events, perhaps long after its request: open actions are
 * checked again. Fills the oldest action that has not ended by @head. */
static int find_open(struct lister *l, uint64_t head, uint64_t *oldest_out, struct err *err)
{
	struct feed *feed;
	struct event ev;
	int rc;
	if (feed_new(&feed, l->s, FEED_ALL, 0, err) < 0)
		return -1;
	feed_seek(feed, l->seen);
	while ((rc = feed_next(feed, &ev, &l->arena, head, err)) > 0) {
		l->seen = ev.seq;
		if (ev.kind == EV_ACTION_REQUESTED) {
			GROW(l->open, l->nr_open, l->cap_open);
			l->open[l->nr_open++] = ev.seq;
		} else if (ev.kind == EV_ACTION_ENDED) {
			for (size_t i = 0; i < l->nr_open; i++)
				if (l->open[i] == ev.action)
					memmove(&l->open[i], &l->open[i + 1],
						(--l->nr_open - i) * sizeof(*l->open));
		}
		arena_reset(&l->arena);
	}
	feed_free(&feed);
	*oldest_out = l->nr_open ? l->open[0] : head + 1;
	return rc < 0 ? -1 : 0;
}

static int print_matching(struct lister *l, struct err *err)
{
	uint64_t seqs[PAGE], head = session_head(l->s), at = l->again ? l->again - 1 : l->seq;
	size_t nr;
	if (cmd_has(l->ctx, "follow") && find_open(l, head, &l->again, err) < 0)
		return -1;
	do {
		if (filter_search(l->filter, l->s, clock_wall_us(), at, PAGE, seqs, &nr, err) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++) {
			if (print_match(l, seqs[i], err) < 0)
				return -1;
			at = seqs[i];
		}
	} while (nr == PAGE && !ferror(l->ctx->out));
	if (head > l->seq)
		l->seq = head;
	return 0;
}

static int print_new(struct lister *l, struct err *err)
{
	return l->filter ? print_matching(l, err) : cmd_events_print_all(l, err);
}

/* --- the last N -------------------------------------------------------------------------------
 */

static int seek_last(struct lister *l, uint64_t nr, struct err *err)
{
	struct feed *feed;
	struct event ev;
	uint64_t first = 0;
	int rc = 0;
	if (feed_new(&feed, l->s, FEED_ALL, 0, err) < 0)
		return -1;
	feed_seek(feed, INT64_MAX); /* past the last one, whichever it is */
	while (nr && (rc = feed_prev(feed, &ev, &l->arena, err)) > 0) {
		nr -= !cmd_events_left_out(l, &ev);
		first = ev.seq;
		arena_reset(&l->arena);
	}
	feed_free(&feed);
	if (rc >= 0 && first > l->seq + 1)
		l->seq = first - 1;
	return rc < 0 ? -1 : 0;
}

static int seek_last_matching(struct lister *l, size_t nr, struct err *err)
{
	uint64_t page[PAGE], at = l->seq, seen = 0;
	uint64_t *ring = mem_calloc(nr, sizeof(*ring));
	size_t got;
	int rc;
	do {
		rc = filter_search(l->filter, l->s, clock_wall_us(), at, PAGE, page, &got, err);
		for (size_t i = 0; rc == 0 && i < got; i++)
			ring[seen++ % nr] = at = page[i];
	} while (rc == 0 && got == PAGE);
	if (rc == 0 && seen > nr)
		l->seq = ring[seen % nr] - 1;
	free(ring);
	return rc;
}

static int cmd_events_list(struct lister *l, struct err *err)
{
	int64_t last = 0;
	if (command_opt_int(l->ctx->line, "last", 1, 10000000, &last, err) < 0)
		return -1;
	if (last && (l->filter ? seek_last_matching(l, (size_t)last, err)
			       : seek_last(l, (uint64_t)last, err)) < 0)
		return -1;
	if (print_new(l, err) < 0)
		return -1;
	if (!cmd_has(l->ctx, "follow"))
		return 0;
	struct follow *f = follow_new(l->s);
	int rc = 0;
	fflush(l->ctx->out);
	while (rc == 0 && !ferror(l->ctx->out) && follow_wait(f, l->seq)) {
		rc = print_new(l, err);
		fflush(l->ctx->out);
	}
	follow_free(&f);
	return rc;
}

static int cmd_events_since(struct lister *l, struct err *err)
{
	const char *text = cmd_opt(l->ctx, "since");
	char *end;
	if (!text)
		return 0;
	if (*text == '#')
		text++;
	l->seq = strtoull(text, &end, 10);
	return *end || !*text ? err_set(err, ERR_USAGE,
					"--since: expected an event number, got '%s'", text)
			      : 0;
}

int cmd_events(struct cmd_ctx *ctx)
{
	struct lister l = { .ctx = ctx };
	struct err err = ERR_INIT;
	uint64_t seq;
	int rc = cmd_filter(ctx, &l.filter, &err);
	if (rc == 0 && (rc = session_open_ref(ctx, cmd_word(ctx, 0), &l.s, &seq, &err)) == 0) {
		l.seq = seq ? seq - 1 : 0;
		rc = cmd_events_since(&l, &err);
		if (rc == 0)
			rc = cmd_events_list(&l, &err);
	}
	free(l.printed);
	free(l.open);
	agent_names_release(&l.names);
	arena_release(&l.arena);
	session_close(&l.s);
	filter_free(&l.filter);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
