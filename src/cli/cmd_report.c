/* sandglass report: many sessions in figures: a line each, days with bars, rules that asked and
 * what users said. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/choice_options.h"
#include "check/past.h"
#include "check/summary.h"
#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/row.h"

enum { BAR = 24, HASTY_US = 2000000 };

struct day {
	char date[16];
	uint64_t sessions, actions, tokens;
	int64_t cost_uusd;
	bool cost_unknown;
};
struct rule {
	char *name;
	uint64_t asked, approved, denied, waited, hasty;
	int64_t wait_us;
};
struct figures {
	struct cmd_ctx *ctx;
	struct day *day;
	size_t nr_days, cap_days;
	struct rule *rule;
	size_t nr_rules, cap_rules;
	struct summary sum; /* of all; no strings */
	size_t sessions, good;
	struct catalog *catalog;
	struct past *past;
	struct buf leaks; /* "s-7k2m9q (4)", ... */
};

static struct day *day_of(struct figures *f, int64_t ts_us)
{
	time_t t = (time_t)(ts_us / 1000000);
	struct tm tm;
	char date[16];
	localtime_r(&t, &tm);
	if (!strftime(date, sizeof(date), "%Y-%m-%d", &tm))
		date[0] = 0;
	for (size_t i = 0; i < f->nr_days; i++)
		if (!strcmp(f->day[i].date, date))
			return &f->day[i];
	GROW(f->day, f->nr_days, f->cap_days);
	f->day[f->nr_days] = (struct day){ 0 };
	memcpy(f->day[f->nr_days].date, date, sizeof(date));
	return &f->day[f->nr_days++];
}

static struct rule *cmd_report_rule_of(struct figures *f, const char *name)
{
	for (size_t i = 0; i < f->nr_rules; i++)
		if (!strcmp(f->rule[i].name, name))
			return &f->rule[i];
	GROW(f->rule, f->nr_rules, f->cap_rules);
	f->rule[f->nr_rules] = (struct rule){ .name = mem_strdup(name) };
	return &f->rule[f->nr_rules++];
}

/* One action that was held, and what became of it. */
static void cmd_report_count(struct figures *f, const json_t *held)
{
	struct rule *r = cmd_report_rule_of(f, json_str(held, "rule", "(breakpoint, default)"));
	const char *d = json_str(held, "decision", "");
	r->asked++;
	if (strcmp(json_str(held, "by", ""), "human") != 0)
		return;
	bool approved = !strcmp(d, "approve") || !strcmp(d, "edit") || !strcmp(d, "promote");
	int64_t wait = json_int(held, "wait_us", 0);
	r->approved += approved;
	r->denied += !approved;
	r->wait_us += wait;
	r->waited++;
	r->hasty += approved && wait < HASTY_US;
}

static int take_held(void *self, const struct past_action *a, struct err *err)
{
	(void)err;
	if (!a->suite && json_flag(a->row, "held", false))
		cmd_report_count(self, a->row);
	return 0;
}

static void cmd_report_add(struct figures *f, const struct summary *m)
{
	struct day *d = day_of(f, m->begun_us);
	f->sessions++;
	f->good += !strcmp(m->state, "ok");
	d->sessions++;
	d->actions += m->actions;
	d->tokens += m->tokens;
	d->cost_uusd += m->cost_uusd;
	d->cost_unknown |= m->cost_unknown;
	f->sum.cost_unknown |= m->cost_unknown;
	f->sum.box_uusd += m->box_uusd;
	f->sum.actions += m->actions;
	f->sum.tokens += m->tokens;
	f->sum.cost_uusd += m->cost_uusd;
	f->sum.model_us += m->model_us;
	f->sum.box_us += m->box_us;
	f->sum.people_us += m->people_us;
	f->sum.took_us += m->took_us;
	f->sum.honeytokens += m->honeytokens;
	if (m->honeytokens)
		buf_printf(&f->leaks, "%s%s (%llu)", f->leaks.len ? ", " : "", m->id,
			   (unsigned long long)m->honeytokens);
}

static void tell_session(struct figures *f, const struct summary *m)
{
	CLEANUP(buf_release)
	struct buf took = BUF_INIT, name = BUF_INIT, when = BUF_INIT, cost = BUF_INIT;
	if (f->ctx->json) {
		cmd_json(f->ctx, summary_json(m));
		return;
	}
	progress_clear(&f->past->working);
	clock_span(m->took_us, &took);
	cmd_time(m->begun_us, &when);
	summary_cost(m->cost_uusd, m->cost_unknown, &cost);
	cmd_safe(&name, m->name, strlen(m->name), false);
	fprintf(f->ctx->out, "%-8s %-11s %-20s %6s %6llu %8llu %8s%s%s\n", m->id, m->state,
		buf_cstr(&when), buf_cstr(&took), (unsigned long long)m->actions,
		(unsigned long long)m->tokens, buf_cstr(&cost), name.len ? " " : "",
		buf_cstr(&name));
}

/* Reads a session from the catalog; false: the file must be read. */
static bool cmd_report_known(struct figures *f, const struct session_file *file)
{
	struct summary m;
	size_t i;
	json_t *one;
	CLEANUP(json_release) json_t *details = catalog_details(f->catalog, file);
	const json_t *summary = json_object_get(details, "summary");
	if (!summary)
		return false;
	summary_from_json(&m, summary);
	cmd_report_add(f, &m);
	tell_session(f, &m);
	json_array_foreach(json_object_get(details, "held"), i, one) cmd_report_count(f, one);
	summary_release(&m);
	return true;
}

static void cmd_report_one_file(struct figures *f, struct past *p, const char *path)
{
	struct session *s = NULL;
	struct summary m = { 0 };
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) < 0 || summary_of(s, &m, &err) < 0) {
		p->unread++;
		cmd_tell_error(f->ctx, "skipped", &err);
	} else {
		cmd_report_add(f, &m);
		tell_session(f, &m);
		if (past_held(s, &p->working, take_held, f, &err) < 0) {
			p->unread++;
			progress_clear(&p->working);
			fprintf(f->ctx->err, "sandglass: report: approvals of %s not counted: %s\n",
				session_id(s), err.text);
		}
		progress_clear(&p->working);
	}
	summary_release(&m);
	session_close(&s);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* @part of @whole as a bar of at most BAR cells; plain ASCII, so that it looks alike everywhere. */
static void cmd_report_bar(FILE *out, int64_t part, int64_t whole)
{
	int n = whole > 0 ? (int)((part * BAR + whole - 1) / whole) : 0;
	for (int i = 0; i < BAR; i++)
		fputc(i < n ? '#' : ' ', out);
}

static int by_date(const void *a, const void *b)
{
	return strcmp(((const struct day *)a)->date, ((const struct day *)b)->date);
}

static const char *s_of(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

static void cmd_report_days(struct figures *f)
{
	int64_t most_cost = 0, most_actions = 0;
	qsort(f->day, f->nr_days, sizeof(*f->day), by_date);
	for (size_t i = 0; i < f->nr_days; i++) {
		most_cost = f->day[i].cost_uusd > most_cost ? f->day[i].cost_uusd : most_cost;
		most_actions = (int64_t)f->day[i].actions > most_actions
				       ? (int64_t)f->day[i].actions
				       : most_actions;
	}
	fprintf(f->ctx->out, "\n%-37s %10s %8s %8s %11s\n",
		most_cost ? "by day (bar: cost)" : "by day (bar: actions)", "cost $", "sessions",
		"acts", "tokens");
	for (size_t i = 0; i < f->nr_days; i++) {
		const struct day *d = &f->day[i];
		CLEANUP(buf_release) struct buf cost = BUF_INIT;
		summary_cost(d->cost_uusd, d->cost_unknown, &cost);
		fprintf(f->ctx->out, "  %s ", d->date);
		cmd_report_bar(f->ctx->out, most_cost ? d->cost_uusd : (int64_t)d->actions,
			       most_cost ? most_cost : most_actions);
		fprintf(f->ctx->out, " %10s %8llu %8llu %11llu\n", buf_cstr(&cost),
			(unsigned long long)d->sessions, (unsigned long long)d->actions,
			(unsigned long long)d->tokens);
	}
}

static void cmd_report_times(struct figures *f)
{
	const struct {
		const char *name;
		int64_t us;
	} part[] = { { "models", f->sum.model_us },
		     { "sandboxes", f->sum.box_us },
		     { "users", f->sum.people_us } };
	int64_t most = 1;
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		most = part[i].us > most ? part[i].us : most;
	fprintf(f->ctx->out, "\ntime spent waiting for\n");
	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		clock_span(part[i].us, &b);
		fprintf(f->ctx->out, "  %-10s ", part[i].name);
		cmd_report_bar(f->ctx->out, part[i].us, most);
		fprintf(f->ctx->out, " %s\n", buf_cstr(&b));
	}
}

static int by_asked(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;
	return x->asked == y->asked ? strcmp(x->name, y->name) : x->asked < y->asked ? 1 : -1;
}

static void cmd_report_rules(struct figures *f)
{
	if (!f->nr_rules)
		return;
	qsort(f->rule, f->nr_rules, sizeof(*f->rule), by_asked);
	if (!f->ctx->json)
		fprintf(f->ctx->out, "\nasked by rule %20s %8s %8s %10s %12s\n", "asked",
			"approved", "denied", "mean wait", "within 2 s");
	for (size_t i = 0; i < f->nr_rules; i++) {
		const struct rule *r = &f->rule[i];
		int64_t mean = r->waited ? r->wait_us / (int64_t)r->waited : 0;
		if (f->ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "rule", r->name);
			json_put_int(o, "asked", (int64_t)r->asked);
			json_put_int(o, "approved", (int64_t)r->approved);
			json_put_int(o, "denied", (int64_t)r->denied);
			json_put_int(o, "mean_wait_us", mean);
			json_put_int(o, "approved_within_2s", (int64_t)r->hasty);
			cmd_json(f->ctx, o);
			continue;
		}
		CLEANUP(buf_release) struct buf name = BUF_INIT, wait = BUF_INIT;
		cmd_safe(&name, r->name, strlen(r->name), false);
		clock_span(mean, &wait);
		fprintf(f->ctx->out, "  %-25.25s %6llu %8llu %8llu %10s %12llu\n", buf_cstr(&name),
			(unsigned long long)r->asked, (unsigned long long)r->approved,
			(unsigned long long)r->denied, r->waited ? buf_cstr(&wait) : "-",
			(unsigned long long)r->hasty);
	}
}

static void cmd_report_tell(struct figures *f)
{
	if (f->ctx->json) {
		json_t *o = json_object();
		json_put_int(o, "sessions", (int64_t)f->sessions);
		json_put_int(o, "ok", (int64_t)f->good);
		json_put_int(o, "actions", (int64_t)f->sum.actions);
		json_put_int(o, "tokens", (int64_t)f->sum.tokens);
		summary_put_cost(o, f->sum.cost_uusd, f->sum.cost_unknown);
		json_put_int(o, "box_uusd", f->sum.box_uusd);
		json_put_int(o, "model_us", f->sum.model_us);
		json_put_int(o, "box_us", f->sum.box_us);
		json_put_int(o, "people_us", f->sum.people_us);
		json_put_int(o, "honeytokens", (int64_t)f->sum.honeytokens);
		cmd_report_rules(f);
		cmd_json(f->ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf cost = BUF_INIT;
	summary_cost(f->sum.cost_uusd, f->sum.cost_unknown, &cost);
	fprintf(f->ctx->out, "%zu session%s, %zu succeeded; %llu action%s, %llu token%s, $%s\n",
		f->sessions, s_of(f->sessions), f->good, (unsigned long long)f->sum.actions,
		s_of(f->sum.actions), (unsigned long long)f->sum.tokens, s_of(f->sum.tokens),
		buf_cstr(&cost));
	if (f->sum.box_uusd)
		fprintf(f->ctx->out, "of that, hosted sandboxes: $%.4f\n",
			(double)f->sum.box_uusd / 1e6);
	if (f->leaks.len)
		fprintf(f->ctx->out,
			"honeytokens were seen in %s; verify --check honeytokens shows where\n",
			buf_cstr(&f->leaks));
	if (!f->sessions)
		return;
	cmd_report_days(f);
	cmd_report_times(f);
	cmd_report_rules(f);
}

int cmd_report(struct cmd_ctx *ctx)
{
	struct past p = { 0 };
	struct figures f = { .ctx = ctx, .past = &p };
	struct err err = ERR_INIT;
	struct session_choice choice;
	if (session_choice_read(ctx, &choice, &err) < 0 || past_sessions(ctx, 0, &p, &err) < 0)
		return cmd_fail(ctx, &err);
	if (!ctx->json)
		fprintf(ctx->out, "%-8s %-11s %-20s %6s %6s %8s %8s %s\n", "session", "state",
			"begun", "time", "acts", "tokens", "cost $", "name");
	f.catalog = catalog_open(ctx->sessions);
	session_choice_past(&choice, f.catalog, &p);
	for (size_t i = 0; i < p.paths.nr; i++) {
		progress_at(&p.working, "report", i, p.paths.nr, "sessions");
		if (p.nr_files && cmd_report_known(&f, &p.file[i]))
			continue;
		cmd_report_one_file(&f, &p, p.paths.item[i]);
	}
	progress_clear(&p.working);
	choice_catalog_done(ctx, &f.catalog, &p);
	cmd_report_tell(&f);
	size_t unread = p.unread;
	past_release(&p);
	for (size_t i = 0; i < f.nr_rules; i++)
		free(f.rule[i].name);
	free(f.rule);
	buf_release(&f.leaks);
	free(f.day);
	return unread ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
