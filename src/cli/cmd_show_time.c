/* Where time went: of one action as one line (show ID), of a session as bars (show SESSION
 * --time). */
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "cli/show.h"
#include "base/clock.h"
#include "base/mem.h"

/* --- one action --- */

static const struct {
	const char *key, *name;
} cmd_show_time_parts[] = { { "gate_us", "policy" }, { "people_us", "approval" },
			    { "queue_us", "queue" }, { "disk_us", "disk" },
			    { "out_us", "out" },     { "box_us", "in sandbox" },
			    { "back_us", "back" } };

static void cmd_show_time_part(struct buf *out, const char *name, int64_t us)
{
	buf_printf(out, "%s%s ", out->len ? " | " : "", name);
	if (us < 1000)
		buf_printf(out, "%lldus", (long long)us);
	else
		clock_span(us, out);
}

void show_times_add(struct show_times *t, const struct event *ev, const json_t *body)
{
	if (ev->kind == EV_ACTION_REQUESTED) {
		free(t->kind);
		t->kind = mem_strdup(json_str(body, "kind", ""));
	} else if (ev->kind == EV_ACTION_ENDED) {
		t->dur_us = json_int(body, "dur_us", 0);
		t->box = ev->box;
		t->action = ev->action;
		t->ended = ev->seq;
		json_decref(t->times);
		t->times = json_incref(json_object_get(body, "times"));
	}
}

static bool is_of(const struct event *ev, uint64_t action, int64_t *took_out)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	const json_t *by = json_object_get(body, "by"), *v;
	size_t i;
	*took_out = json_int(body, "took_us", 0);
	json_array_foreach(by, i, v) if ((uint64_t)json_integer_value(v) == action) return true;
	return false;
}

/* the number of events of its sandbox after its end to search: the snapshot is there, if it was
 * taken */
enum { LOOK = 500 };

void show_times_snapshot(struct show_times *t, struct session *s)
{
	struct err err = ERR_INIT;
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	if (!t->ended || !t->box || feed_new(&feed, s, FEED_BOX, t->box, &err) < 0)
		return;
	feed_seek(feed, t->ended);
	for (int i = 0; i < LOOK && feed_next(feed, &ev, &arena, 0, &err) > 0; i++) {
		if (ev.kind == EV_SNAPSHOT_TAKEN && is_of(&ev, t->action, &t->snapshot_us))
			break;
		t->snapshot_us = 0;
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
}

void show_times_line(const struct show_times *t, struct buf *out)
{
	if (!t->times)
		return; /* it has not ended, or was recorded by a version that did not measure */
	bool model = t->kind && !strcmp(t->kind, "model"),
	     apart = json_object_get(t->times, "box_us") != NULL;
	for (size_t i = 0; i < ARRAY_LEN(cmd_show_time_parts); i++) {
		bool whole = !strcmp(cmd_show_time_parts[i].key, "box_us") && !apart;
		int64_t us = whole ? t->dur_us : json_int(t->times, cmd_show_time_parts[i].key, 0);
		if (us > 0)
			cmd_show_time_part(out,
					   whole ? (model ? "model" : "in sandbox")
						 : cmd_show_time_parts[i].name,
					   us);
	}
	if (t->snapshot_us)
		cmd_show_time_part(out, "snapshot", t->snapshot_us);
}

void show_times_release(struct show_times *t)
{
	free(t->kind);
	json_decref(t->times);
	*t = (struct show_times){ 0 };
}

/* --- a session --- */

enum where { MODEL, BOX, NETWORK, PEOPLE, OWN, NR_WHERE };
static const char *const where_name[] = { "model", "box", "network", "people", "sandglass" };

struct sums {
	int64_t us[NR_WHERE], begun_us, last_us;
	uint64_t actions;
	struct open {
		uint64_t id;
		enum where where;
	} * open; /* actions that have not ended */
	size_t nr, cap;
};

static enum where where_of(const char *kind)
{
	static const char *const far[] = { "fetch", "connect", "mcp", "host", "put", "get" };
	for (size_t i = 0; i < ARRAY_LEN(far); i++)
		if (!strcmp(kind, far[i]))
			return NETWORK;
	return !strcmp(kind, "model")				? MODEL
	       : !strcmp(kind, "ask") || !strcmp(kind, "shell") ? PEOPLE
								: BOX;
}

static enum where cmd_show_time_closed(struct sums *s, uint64_t id)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->open[i].id == id) {
			enum where w = s->open[i].where;
			s->open[i] = s->open[--s->nr];
			return w;
		}
	return BOX;
}

static void cmd_show_time_ended(struct sums *s, uint64_t id, const json_t *body)
{
	const json_t *t = json_object_get(body, "times");
	enum where w = cmd_show_time_closed(s, id);
	int64_t box = json_int(t, "box_us", -1), dur = json_int(body, "dur_us", 0);
	s->actions++;
	s->us[w] += box < 0 ? dur : box;
	s->us[NETWORK] += box < 0 ? 0 : dur - box;
	s->us[PEOPLE] += json_int(t, "people_us", 0);
	s->us[OWN] += json_int(t, "gate_us", 0) + json_int(t, "disk_us", 0);
}

static void cmd_show_time_see(struct sums *s, const struct event *ev)
{
	struct err err = ERR_INIT;
	if (!s->begun_us)
		s->begun_us = ev->ts_us;
	s->last_us = ev->ts_us;
	if (ev->kind != EV_ACTION_REQUESTED && ev->kind != EV_ACTION_ENDED &&
	    ev->kind != EV_SNAPSHOT_TAKEN)
		return;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
	if (ev->kind == EV_ACTION_REQUESTED) {
		GROW(s->open, s->nr, s->cap);
		s->open[s->nr++] = (struct open){ ev->seq, where_of(json_str(body, "kind", "")) };
	} else if (ev->kind == EV_ACTION_ENDED) {
		cmd_show_time_ended(s, ev->action, body);
	} else {
		s->us[OWN] += json_int(body, "took_us", 0);
	}
}

enum { BAR = 40 };

static void print_bar(FILE *out, const char *name, int64_t us, int64_t most, int64_t all)
{
	CLEANUP(buf_release) struct buf span = BUF_INIT;
	char bar[BAR + 1];
	int n = most ? (int)((us * BAR + most - 1) / most) : 0;
	memset(bar, '#', (size_t)n);
	bar[n] = 0;
	clock_span(us, &span);
	fprintf(out, "%-9s %-*s %8s %3d%%\n", name, BAR, bar, buf_cstr(&span),
		all ? (int)((us * 100 + all / 2) / all) : 0);
}

static void print_sums(struct cmd_ctx *ctx, const struct sums *s)
{
	int64_t most = 0, all = 0;
	CLEANUP(buf_release) struct buf wall = BUF_INIT, busy = BUF_INIT;
	for (int w = 0; w < NR_WHERE; w++) {
		most = s->us[w] > most ? s->us[w] : most;
		all += s->us[w];
	}
	clock_span(s->last_us - s->begun_us, &wall);
	clock_span(all, &busy);
	fprintf(ctx->out, "%-9s %llu actions, together %s; from the first event to the last %s\n",
		"time", (unsigned long long)s->actions, buf_cstr(&busy), buf_cstr(&wall));
	for (int w = 0; w < NR_WHERE; w++)
		print_bar(ctx->out, where_name[w], s->us[w], most, all);
}

int show_session_time(struct cmd_ctx *ctx, struct session *session)
{
	struct sums s = { 0 };
	struct err err = ERR_INIT;
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc = feed_new(&feed, session, FEED_ALL, 0, &err);
	while (rc >= 0 && (rc = feed_next(feed, &ev, &arena, 0, &err)) > 0) {
		cmd_show_time_see(&s, &ev);
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	free(s.open);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	if (!ctx->json) {
		print_sums(ctx, &s);
		return EXIT_DONE;
	}
	json_t *o = json_object();
	json_put_str(o, "session", session_id(session));
	json_put_int(o, "actions", (int64_t)s.actions);
	json_put_int(o, "dur_us", s.last_us - s.begun_us);
	for (int w = 0; w < NR_WHERE; w++) {
		CLEANUP(free_ptr) char *key = mem_printf("%s_us", where_name[w]);
		json_put_int(o, key, s.us[w]);
	}
	cmd_json(ctx, o);
	return EXIT_DONE;
}
