/* sandglass export: a session in a third-party format. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/evidence.h"
#include "cli/export_tables.h"
#include "cli/lib/cmd_priv.h"
#include "exchange/export.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "query/filter.h"

static void cmd_export_list_one(struct cmd_ctx *ctx, const struct exporter *e)
{
	bool needs_output = e->where != EXPORT_STREAM;
	if (!ctx->json) {
		fprintf(ctx->out, "%-14s .%-6s %s%s\n", e->name, e->ext, e->about,
			needs_output ? " (needs -o)" : "");
		return;
	}
	json_t *o = json_object();
	json_put_str(o, "format", e->name);
	json_put_str(o, "extension", e->ext);
	json_put_str(o, "about", e->about);
	json_put_flag(o, "needs_output", needs_output);
	json_put_flag(o, "one_action", e->parts);
	json_put_flag(o, "filter", e->parts);
	cmd_json(ctx, o);
}

static int cmd_export_list_formats(struct cmd_ctx *ctx)
{
	/* of many sessions, so export_tables.h writes it and not an exporter */
	static const struct exporter tables = {
		.name = "tables",
		.ext = "jsonl",
		.about = "many sessions as tables of JSON lines, by date",
		.where = EXPORT_FOLDER,
	};
	const struct exporter *e;
	for (size_t i = 0; (e = exporter_at(i)); i++)
		cmd_export_list_one(ctx, e);
	cmd_export_list_one(ctx, &tables);
	return EXIT_DONE;
}

/* The only form whose files end so: "md". */
static const struct exporter *by_ending(const char *ext)
{
	const struct exporter *found = NULL, *e;
	for (size_t i = 0; (e = exporter_at(i)); i++)
		if (!strcmp(e->ext, ext)) {
			if (found)
				return NULL;
			found = e;
		}
	return found;
}

/* Other words for two. */
static const struct exporter *by_other_name(const char *name)
{
	static const char *const others[][2] = { { "otel", "otlp" }, { "sandglass", "glass" } };
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (!strcmp(others[i][0], name))
			return exporter_find(others[i][1]);
	return NULL;
}

static const struct exporter *wanted_format(struct cmd_ctx *ctx)
{
	const char *names[64] = { NULL }, *name = cmd_opt(ctx, "format");
	const struct exporter *e;
	if (!name) {
		cmd_usage(
			ctx,
			"missing option: --format FORMAT\n'sandglass export --list' names the formats.");
		return NULL;
	}
	if ((e = exporter_find(name)) || (e = by_ending(name)) || (e = by_other_name(name)))
		return e;
	for (size_t i = 0; (e = exporter_at(i)) && i + 1 < ARRAY_LEN(names); i++)
		names[i] = e->name;
	const char *near = nearest_name(name, names);
	if (near)
		cmd_usage(
			ctx,
			"unknown format '%s'; did you mean '%s'?\n'sandglass export --list' names the formats.",
			name, near);
	else
		cmd_usage(ctx, "unknown format '%s'\n'sandglass export --list' names the formats.",
			  name);
	return NULL;
}

/* Everything that can be known before the session is opened. */
static int cmd_export_check(struct cmd_ctx *ctx, const struct exporter *e, struct err *err)
{
	const char *to = cmd_opt(ctx, "output");
	if (!to && e->where != EXPORT_STREAM)
		return err_set(err, ERR_USAGE,
			       "%s: a %s can't go to standard output\nName the output with -o.",
			       e->name,
			       e->where == EXPORT_FOLDER ? "directory"
							 : "file that is not written in order");
	if (!to && ctx->json)
		return err_set(err, ERR_USAGE, "--json requires -o FILE");
	if (!to && isatty(fileno(ctx->out)) && e->where == EXPORT_STREAM && !strcmp(e->ext, "cast"))
		return err_set(
			err, ERR_USAGE,
			"a terminal recording can't go to this terminal\nWrite it with -o, or pipe it to a player.");
	if (to && !cmd_has(ctx, "force") && access(to, F_OK) == 0)
		return err_set(err, ERR_EXISTS, "'%s' already exists\nOverwrite it with --force.",
			       to);
	if (cmd_has(ctx, "filter") && !e->parts)
		return err_set(err, ERR_USAGE, "%s holds whole sessions\nLeave out --filter.",
			       e->name);
	if (cmd_has(ctx, "redact") && strcmp(e->name, "glass") != 0)
		return err_set(
			err, ERR_USAGE,
			"--redact requires the format glass\n'sandglass redact' removes data from the session itself.");
	return 0;
}

static void cmd_export_tell(struct cmd_ctx *ctx, const struct exporter *e, const struct export *x)
{
	const char *to = cmd_opt(ctx, "output");
	struct stat st;
	if (ctx->json) {
		json_t *o = json_object(), *lacks = json_array();
		json_put_str(o, "session", session_id(x->s));
		json_put_str(o, "format", e->name);
		json_put_bytes(o, "file", to, strlen(to));
		if (stat(to, &st) == 0 && S_ISREG(st.st_mode))
			json_put_int(o, "bytes", st.st_size);
		for (size_t i = 0; i < x->nr_lacks && i < EXPORT_LACKS_MAX; i++)
			json_array_append_new(lacks, json_text(x->lacks[i], strlen(x->lacks[i])));
		json_put(o, "lacks", lacks);
		json_put_int(o, "nr_lacks", (int64_t)x->nr_lacks);
		cmd_json(ctx, o);
		return;
	}
	for (size_t i = 0; i < x->nr_lacks && i < EXPORT_LACKS_MAX && !ctx->quiet; i++) {
		fputs("sandglass: export: left out: ", ctx->err);
		cmd_print_safe(ctx->err, x->lacks[i], strlen(x->lacks[i]), false);
		fputc('\n', ctx->err);
	}
	if (x->nr_lacks > EXPORT_LACKS_MAX && !ctx->quiet)
		fprintf(ctx->err, "sandglass: export: left out: %zu more\n",
			x->nr_lacks - EXPORT_LACKS_MAX);
	if (to && !ctx->quiet) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "%s as %s: ", session_id(x->s), e->name);
		cmd_safe(&line, to, strlen(to), false);
		if (stat(to, &st) == 0 && S_ISREG(st.st_mode)) {
			buf_puts(&line, ", ");
			cmd_size((uint64_t)st.st_size, &line);
		}
		fprintf(ctx->out, "%s\n", buf_cstr(&line));
	}
}

/* Reports of whole sessions state the cost, the verification, and the claims. */
static bool cmd_export_states(const struct exporter *e, const struct export *x)
{
	return (!strcmp(e->name, "markdown") || !strcmp(e->name, "html")) && !x->action &&
	       !x->picked;
}

static int export_session(struct cmd_ctx *ctx, const struct exporter *e, struct err *err)
{
	struct strv redact = STRV_INIT;
	struct export x = { .box = cmd_opt(ctx, "box"),
			    .no_content = cmd_has(ctx, "no-content"),
			    .redact = &redact };
	const char *id;
	for (size_t i = 0; (id = command_opt_nth(ctx->line, "redact", i)); i++)
		strv_push(&redact, id);
	struct filter *f;
	int rc = cmd_filter(ctx, &f, err);
	if (rc == 0)
		rc = session_open_ref(ctx, cmd_word(ctx, 0), &x.s, &x.action, err);
	if (rc == 0 && x.action && !e->parts)
		rc = err_set(err, ERR_USAGE,
			     "%s holds whole sessions\nLeave out '#' and the number.", e->name);
	if (rc == 0 && x.action && !session_row_of(x.s, "event", x.action, NULL))
		rc = err_set(err, ERR_NOENT, "event #%llu not found in session %s",
			     (unsigned long long)x.action, session_id(x.s));
	if (rc == 0 && f)
		rc = export_pick(&x, f, err);
	if (rc == 0 && f && !x.nr_picked && !ctx->quiet)
		fputs("sandglass: export: nothing matches the filter\n", ctx->err);
	CLEANUP(json_release)
	json_t *evidence = rc == 0 && cmd_export_states(e, &x) ? evidence_of(x.s) : NULL;
	x.evidence = evidence;
	if (rc == 0)
		rc = export_to(e, &x, cmd_opt(ctx, "output"), ctx->out, err);
	if (rc == 0)
		cmd_export_tell(ctx, e, &x);
	export_release(&x);
	filter_free(&f);
	session_close(&x.s);
	strv_release(&redact);
	return rc;
}

int cmd_export(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	if (cmd_has(ctx, "list"))
		return cmd_export_list_formats(ctx);
	const char *format = cmd_opt(ctx, "format");
	if (format && !strcmp(format, "tables"))
		return export_tables(ctx);
	if (cmd_has(ctx, "all"))
		return cmd_usage(ctx, "--all: expected -F tables");
	if (cmd_word(ctx, 1))
		return cmd_usage(ctx, "one session: only -F tables takes more, got '%s'",
				 cmd_word(ctx, 1));
	const struct exporter *e = wanted_format(ctx);
	if (!e)
		return EXIT_USAGE;
	if (cmd_export_check(ctx, e, &err) < 0 || export_session(ctx, e, &err) < 0)
		return cmd_fail(ctx, &err);
	return EXIT_DONE;
}
