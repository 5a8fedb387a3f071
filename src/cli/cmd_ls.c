/* sandglass ls: sessions, newest first; agents or snapshots of one. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/choice_options.h"
#include "cli/lib/cmd_priv.h"
#include "cli/ls_rows.h"
#include "phrase/describe.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire/event_json.h"

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

/* --- one session's agents or snapshots --------------------------------------------------------
 */

static int ls_inside(struct cmd_ctx *ctx, enum event_kind kind)
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
		fprintf(ctx->err, "sandglass: ls: no %srunning session in '%s'\n",
			chosen ? "matching " : "", ctx->sessions);
	else
		fprintf(ctx->err, "sandglass: ls: no %s in '%s'\n",
			chosen ? "matching sessions" : "sessions", ctx->sessions);
	if (others)
		fprintf(ctx->err,
			"  %zu .glass file%s there %s not named DATE-NAME-ID.glass; name such a session by its path\n",
			others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

int cmd_ls(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct filter *filter = NULL;
	struct err err = ERR_INIT;
	int64_t max = cmd_has(ctx, "all") ? INT64_MAX : 50;
	size_t left = 0;
	struct session_choice choice;
	if (session_choice_read(ctx, &choice, &err) < 0 ||
	    command_opt_int(ctx->line, "max", 1, 1000000, &max, &err) < 0)
		return cmd_fail(ctx, &err);
	bool inside =
		cmd_has(ctx, "waiting") || cmd_has(ctx, "agents") || cmd_has(ctx, "snapshots");
	if (inside && session_choice_any(&choice))
		return cmd_usage(
			ctx,
			"--since, --until, --agent, --model, --repo, and --label can't be combined "
			"with --waiting, --agents, or --snapshots");
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
	struct verdicts *verdicts = verdicts_open();
	struct ls_rows rows = { .max = (size_t)max,
				.catalog = catalog,
				.verdicts = verdicts,
				.live = cmd_has(ctx, "live") };
	for (size_t i = 0; i < files.nr; i++) {
		size_t before = rows.nr;
		if (!cmd_ls_wanted(&files.item[i], cmd_word(ctx, 0)) ||
		    !session_choice_takes(&choice, catalog, &files.item[i]) ||
		    !cmd_ls_matches(catalog, &files.item[i], filter))
			continue;
		ls_rows_take(&rows, &files.item[i]);
		left += before == rows.max;
	}
	ls_rows_ask(&rows);
	ls_rows_print(ctx, &rows);
	size_t shown = rows.nr;
	ls_rows_release(&rows);
	verdicts_close(&verdicts);
	if (left && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: ls: %zu older sessions; list them with 'sandglass ls --all'\n",
			left);
	if (!shown && !ctx->quiet && !ctx->json)
		say_none(ctx, cmd_word(ctx, 0) || filter || session_choice_any(&choice),
			 files.others);
	choice_catalog_end(ctx, &catalog, &files);
	filter_free(&filter);
	session_files_release(&files);
	return EXIT_DONE;
}
