#include "cli/export_tables.h"

#include <string.h>

#include "base/mem.h"
#include "check/check.h"
#include "check/past.h"
#include "check/summary.h"
#include "cli/choice_options.h"
#include "cli/lib/cmd_priv.h"
#include "exchange/export.h"
#include "exchange/tables.h"

static void export_tables_int(json_t *row, const char *name, uint64_t value)
{
	json_put_int(row, name, (int64_t)value);
}

static int export_tables_summary(struct tables *t, struct session *s, int64_t *begun_out,
				 struct err *err)
{
	struct summary m = { 0 };
	struct session_end end;
	if (session_end(s, &end, err) < 0 || summary_counts(s, &m, err) < 0)
		return -1;
	CLEANUP(buf_release) struct buf uuid = BUF_INIT;
	json_t *row = json_object();
	hex_append(&uuid, end.uuid, UUID_LEN);
	json_put_str(row, "session", m.id);
	json_put_str(row, "uuid", buf_cstr(&uuid));
	json_put(row, "name", json_text(m.name, strlen(m.name)));
	json_put(row, "time", json_time(m.begun_us));
	json_put_str(row, "state", m.state);
	json_put_int(row, "duration_us", m.took_us);
	export_tables_int(row, "events", m.events);
	export_tables_int(row, "actions", m.actions);
	export_tables_int(row, "execs", m.execs);
	export_tables_int(row, "failed", m.failed);
	export_tables_int(row, "model_calls", m.model_calls);
	export_tables_int(row, "tokens_in", m.tokens_in);
	export_tables_int(row, "tokens_out", m.tokens_out);
	json_put(row, "cost_uusd", m.cost_unknown ? json_null() : json_integer(m.cost_uusd));
	export_tables_int(row, "asked", m.asked);
	export_tables_int(row, "approved", m.approved);
	export_tables_int(row, "denied", m.denied);
	export_tables_int(row, "denied_by_rule", m.denied_by_rule);
	*begun_out = m.begun_us;
	summary_release(&m);
	return tables_row(t, TABLE_SESSIONS, *begun_out, row, err);
}

static int export_tables_claims(struct tables *t, struct session *s, int64_t begun_us,
				struct err *err)
{
	static const char *const fields[] = { "agent", "agent_id", "event", "kind",
					      "text",  "verdict",  "why" };
	CLEANUP(json_release) json_t *list = NULL;
	size_t i;
	json_t *c;
	if (check_claims(s, &list, err) < 0)
		return err_wrap(err, "session %s, claims", session_id(s));
	json_array_foreach(list, i, c)
	{
		json_t *row = json_object();
		json_put_str(row, "session", session_id(s));
		json_put(row, "time", json_time(begun_us));
		for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
			json_t *v = json_object_get(c, fields[k]);
			json_put(row, fields[k], v ? json_incref(v) : json_null());
		}
		if (tables_row(t, TABLE_CLAIMS, begun_us, row, err) < 0)
			return -1;
	}
	return 0;
}

static int export_tables_one(struct tables *t, struct session *s, struct err *err)
{
	int64_t begun_us = 0;
	return export_tables_summary(t, s, &begun_us, err) < 0 || tables_session(t, s, err) < 0
		       ? -1
		       : export_tables_claims(t, s, begun_us, err);
}

static int export_tables_all(struct tables *t, struct past *p, struct err *err)
{
	for (size_t i = 0; i < p->paths.nr; i++) {
		struct session *s = NULL;
		struct err why = ERR_INIT;
		if (session_open(&s, p->paths.item[i], &why) < 0) {
			past_left_out(p, &why);
			continue;
		}
		int rc = export_tables_one(t, s, err);
		session_close(&s);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static void export_tables_tell(struct cmd_ctx *ctx, const struct tables *t, const struct past *p)
{
	json_t *o = json_object();
	json_put_str(o, "format", "tables");
	json_put_bytes(o, "directory", cmd_opt(ctx, "output"), strlen(cmd_opt(ctx, "output")));
	for (enum table table = 0; table < TABLE_NR; table++)
		export_tables_int(o, tables_name(table), tables_rows(t, table));
	export_tables_int(o, "left_out", p->unread);
	export_tables_int(o, "files_left_out", tables_files_left(t));
	if (tables_files_left(t) && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: export: left out of files: %llu changes beyond the lists of "
			"their events\n",
			(unsigned long long)tables_files_left(t));
	if (ctx->json) {
		cmd_json(ctx, o);
		return;
	}
	json_decref(o);
	for (enum table table = 0; table < TABLE_NR && !ctx->quiet; table++) {
		unsigned long long nr = tables_rows(t, table);
		fprintf(ctx->out, "%s: %llu %s\n", tables_name(table), nr,
			nr == 1 ? "row" : "rows");
	}
}

int export_tables(struct cmd_ctx *ctx)
{
	const char *dir = cmd_opt(ctx, "output");
	struct err err = ERR_INIT;
	struct past p = { 0 };
	struct tables *t = NULL;
	if (!dir)
		return cmd_usage(ctx, "missing argument: -o DIR");
	if (!cmd_word(ctx, 0) && !cmd_has(ctx, "all"))
		return cmd_usage(ctx, "missing argument: SESSION or --all");
	int rc = past_sessions(ctx, 0, &p, &err);
	if (rc == 0)
		rc = past_choose(ctx, &p, &err);
	if (rc == 0)
		rc = tables_begin(&t, dir, cmd_has(ctx, "force"), &err);
	if (rc == 0)
		rc = export_tables_all(t, &p, &err);
	if (rc == 0)
		rc = tables_finish(t, &err);
	int status = rc < 0 ? cmd_fail(ctx, &err) : p.unread ? EXIT_UNSUCCESSFUL : EXIT_DONE;
	if (rc == 0)
		export_tables_tell(ctx, t, &p);
	tables_free(&t);
	past_release(&p);
	return status;
}
