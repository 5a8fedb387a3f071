#include "cli/choice_options.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/lib/cmd_priv.h"
#include "record/archive_reach.h"
#include "sessions/archive_places.h"
#include "sessions/labels.h"

/* "2026-11-21" or "2026-11-21T10:30", of the local zone. */
static bool choice_options_date(const char *text, int64_t *us_out)
{
	static const char *const form[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	/* strptime takes "26" for a year of the Roman empire */
	for (size_t i = 0; i < ARRAY_LEN(form) && strspn(text, "0123456789") == 4; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, form[i], &tm);
		if (end && !*end) {
			*us_out = (int64_t)mktime(&tm) * 1000000;
			return true;
		}
	}
	return false;
}

static bool choice_options_span(const char *text, int64_t *us_out)
{
	int64_t us;
	if (!clock_parse_span(text, &us) || us <= 0)
		return false;
	*us_out = clock_wall_us() - us;
	return true;
}

static int choice_options_time(struct cmd_ctx *ctx, const char *option, int64_t *out,
			       struct err *err)
{
	const char *text = cmd_opt(ctx, option);
	if (!text || choice_options_span(text, out) || choice_options_date(text, out))
		return 0;
	return err_set(err, ERR_USAGE,
		       "--%s: expected a span such as 30d, 12h or 90m, or a date, got '%s'", option,
		       text);
}

int session_choice_read(struct cmd_ctx *ctx, struct session_choice *out, struct err *err)
{
	*out = (struct session_choice){ .agent = cmd_opt(ctx, "agent"),
					.model = cmd_opt(ctx, "model"),
					.repo = cmd_opt(ctx, "repo") };
	const char *label;
	for (size_t i = 0; (label = command_opt_nth(ctx->line, "label", i)); i++) {
		if (i == CHOICE_LABELS)
			return err_set(err, ERR_USAGE, "--label: at most %d", CHOICE_LABELS);
		if (labels_wish_check(label, err) < 0)
			return -1;
		out->label[out->labels++] = label;
	}
	return choice_options_time(ctx, "since", &out->since_us, err) < 0
		       ? -1
		       : choice_options_time(ctx, "until", &out->until_us, err);
}

/* Its sessions are in no list while it is away. */
static void choice_tell_archives(struct cmd_ctx *ctx)
{
	CLEANUP(strv_release) struct strv places = STRV_INIT;
	archive_places(ctx->sessions, &places);
	for (size_t i = 0; i < places.nr && !ctx->quiet; i++) {
		struct err why = ERR_INIT;
		if (archive_reach(places.item[i], &why) < 0)
			cmd_tell_error(ctx, NULL, &why);
	}
}

void choice_catalog_end(struct cmd_ctx *ctx, struct catalog **c, const struct session_files *files)
{
	size_t damaged = catalog_damaged(*c);
	if (damaged && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: catalog: %zu damaged %s ignored; 'sandglass index --catalog' "
			"replaces damaged shards\n",
			damaged, damaged == 1 ? "shard is" : "shards are");
	choice_tell_archives(ctx);
	if (files->nr)
		catalog_finish_later(*c, files, ctx->sessions);
	catalog_close(c);
}

void choice_catalog_done(struct cmd_ctx *ctx, struct catalog **c, const struct past *p)
{
	const struct session_files files = { .item = p->file, .nr = p->nr_files };
	choice_catalog_end(ctx, c, &files);
}

int past_choose_changed(struct cmd_ctx *ctx, struct past *p,
			bool (*looks_at)(void *self, const char *path), void *self, struct err *err)
{
	struct session_choice choice;
	if (session_choice_read(ctx, &choice, err) < 0)
		return -1;
	choice.looks_at = looks_at;
	choice.self = self;
	struct catalog *c = catalog_open(ctx->sessions);
	session_choice_past(&choice, c, p);
	choice_catalog_done(ctx, &c, p);
	return 0;
}

int past_choose(struct cmd_ctx *ctx, struct past *p, struct err *err)
{
	return past_choose_changed(ctx, p, NULL, NULL, err);
}

bool choice_given(const struct cmd_ctx *ctx)
{
	static const char *const choices[] = {
		"since", "until", "agent", "model", "repo", "label"
	};
	bool given = false;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		given |= cmd_has(ctx, choices[i]);
	return given;
}

int choice_all_check(struct cmd_ctx *ctx)
{
	if (cmd_has(ctx, "all") && cmd_has(ctx, "at"))
		return cmd_usage(ctx, "--at names one session; --all looks at every session");
	if (!cmd_has(ctx, "all") && choice_given(ctx))
		return cmd_usage(ctx, "options that choose sessions need --all");
	return EXIT_DONE;
}
