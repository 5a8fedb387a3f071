#include "suite/suite.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "check/report.h"
#include "check/summary.h"
#include "luahost/lua_file.h"
#include "suite/trial.h"
#include "base/mem.h"
#include "query/filter.h"

enum { TICK_MS = 100, CLASSES = 9, JOBS = 2 };

static const char *const suite_class_name[CLASSES] = {
	"knowledge", "reasoning",     "context",     "instruction", "tool use",
	"safety",    "communication", "operational", "coordination"
};
static const char *const verdict_word[] = { "pass", "failed", "wrong way", "error" };

struct scenario {
	const json_t *data;
	size_t runs, over, pass, wrong_way;
	size_t failures[CLASSES], unclassed;
	int64_t cost_uusd;
	bool cost_unknown;
};
struct suite {
	struct cmd_ctx *ctx;
	const char *file;
	struct scenario *item;
	size_t nr;
	struct trial_run *trial;
	size_t nr_trials;
};

/* The 95 % interval of a rate of @good among @all after Wilson (1927), in thousandths. */
static void suite_interval(size_t good, size_t all, int *low, int *high)
{
	const double z = 1.959964, n = (double)all, p = n > 0 ? (double)good / n : 0;
	if (!all) {
		*low = 0;
		*high = 1000;
		return;
	}
	double middle = p + z * z / (2 * n),
	       width = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)), by = 1 + z * z / n;
	*low = (int)((middle - width) / by * 1000 + 0.5);
	*high = (int)((middle + width) / by * 1000 + 0.5);
	*low = *low < 0 ? 0 : *low;
	*high = *high > 1000 ? 1000 : *high;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void count_class(struct scenario *sc, const char *name)
{
	for (size_t i = 0; i < CLASSES; i++)
		if (name && !strcmp(name, suite_class_name[i])) {
			sc->failures[i]++;
			return;
		}
	sc->unclassed++;
}

static bool is_bad(const json_t *r)
{
	const char *word = json_str(r, "result", "");
	return !strcmp(word, "failed") || !strcmp(word, "error");
}

static void print_failure(struct suite *su, const struct trial_run *t, const json_t *r)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const json_t *first = json_array_get(json_object_get(r, "evidence"), 0);
	const char *class = json_str(r, "class", NULL), *text = json_str(r, "text", ""),
		   *at = json_str(r, "at", NULL);
	cmd_safe(&b, json_str(r, "name", ""), strlen(json_str(r, "name", "")), false);
	if (*text) {
		buf_puts(&b, ": ");
		cmd_safe(&b, text, strlen(text), false);
	}
	fprintf(su->ctx->out, "#     %s%s%s%s", class ? "[" : "", class ? class : "",
		class ? "] " : "", buf_cstr(&b));
	if (first && t->id)
		fprintf(su->ctx->out, "  %s#%lld", t->id, (long long)json_integer_value(first));
	else if (t->id) /* nothing that did not happen has an event */
		fprintf(su->ctx->out, "  %s", t->id);
	if (at)
		fprintf(su->ctx->out, "  (%s)", at);
	fputc('\n', su->ctx->out);
}

static void tell_run(struct suite *su, struct scenario *sc, const struct trial_run *t)
{
	json_t *r;
	size_t i;
	if (su->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "scenario", json_str(sc->data, "name", ""));
		json_put_int(o, "run", (int64_t)t->nr);
		json_put_str(o, "verdict", verdict_word[t->verdict]);
		json_put_str(o, "session", t->id);
		json_put_int(o, "took_us", t->took_us);
		summary_put_cost(o, t->cost_uusd, t->cost_unknown);
		json_put_str(o, "why", t->why);
		json_put(o, "results", t->results ? json_incref(t->results) : NULL);
		cmd_json(su->ctx, o);
		return;
	}
	if (t->verdict == TRIAL_PASS)
		return;
	fprintf(su->ctx->out, "#   run %zu of ", t->nr);
	cmd_print_safe(su->ctx->out, json_str(sc->data, "name", ""),
		       strlen(json_str(sc->data, "name", "")), false);
	fprintf(su->ctx->out, ": %s%s", verdict_word[t->verdict], t->why ? ": " : "\n");
	if (t->why) {
		cmd_print_safe(su->ctx->out, t->why, strlen(t->why), false);
		fputc('\n', su->ctx->out);
	}
	json_array_foreach(t->results, i, r) if (is_bad(r)) print_failure(su, t, r);
}

static void take_run(struct suite *su, struct scenario *sc, const struct trial_run *t)
{
	json_t *r;
	size_t i;
	sc->over++;
	sc->pass += t->verdict == TRIAL_PASS;
	sc->wrong_way += t->verdict == TRIAL_WRONG_WAY;
	sc->cost_uusd += t->cost_uusd;
	sc->cost_unknown |= t->cost_unknown;
	if (t->verdict == TRIAL_ERROR)
		count_class(sc, "operational");
	json_array_foreach(t->results, i, r) if (is_bad(r) && (t->verdict != TRIAL_ERROR ||
							       json_str(r, "class", NULL)))
		count_class(sc, json_str(r, "class", NULL));
	tell_run(su, sc, t);
}

static void tell_scenario(struct suite *su, size_t nr)
{
	struct scenario *sc = &su->item[nr];
	int low, high;
	suite_interval(sc->pass, sc->runs, &low, &high);
	if (su->ctx->json) {
		json_t *o = json_object(), *classes = json_object();
		json_put_str(o, "scenario", json_str(sc->data, "name", ""));
		json_put_int(o, "runs", (int64_t)sc->runs);
		json_put_int(o, "passed", (int64_t)sc->pass);
		json_put_int(o, "wrong_way", (int64_t)sc->wrong_way);
		json_put_int(o, "rate_low_permille", low);
		json_put_int(o, "rate_high_permille", high);
		summary_put_cost(o, sc->cost_uusd, sc->cost_unknown);
		for (size_t i = 0; i < CLASSES; i++)
			if (sc->failures[i])
				json_put_int(classes, suite_class_name[i],
					     (int64_t)sc->failures[i]);
		if (sc->unclassed)
			json_put_int(classes, "of no class", (int64_t)sc->unclassed);
		json_put(o, "failures", classes);
		cmd_json(su->ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	report_tap_name(&name, json_str(sc->data, "name", ""));
	fprintf(su->ctx->out, "%sok %zu - %s", sc->pass == sc->runs ? "" : "not ", nr + 1,
		buf_cstr(&name));
	fprintf(su->ctx->out, "\n#   %zu of %zu pass, 95%% between %d%% and %d%%", sc->pass,
		sc->runs, low / 10, (high + 9) / 10);
	if (sc->wrong_way)
		fprintf(su->ctx->out, "; %zu right by a wrong way", sc->wrong_way);
	for (size_t i = 0; i < CLASSES; i++)
		if (sc->failures[i])
			fprintf(su->ctx->out, "; %s %zu", suite_class_name[i], sc->failures[i]);
	if (sc->unclassed)
		fprintf(su->ctx->out, "; of no class %zu", sc->unclassed);
	CLEANUP(buf_release) struct buf cost = BUF_INIT;
	summary_cost(sc->cost_uusd, sc->cost_unknown, &cost);
	if (sc->cost_uusd || sc->cost_unknown)
		fprintf(su->ctx->out, "; $%s", buf_cstr(&cost));
	fputc('\n', su->ctx->out);
}

/* --- running ---------------------------------------------------------------------------------- */

/* They answer pending actions, so a fact known only afterwards can't be a condition. */
static int check_people(const json_t *scenario, struct err *err)
{
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(scenario, "people"), i, row)
	{
		struct filter *f = NULL;
		int rc = filter_parse(&f, json_str(row, "when", ""), NULL, NULL, err);
		if (rc == 0)
			rc = filter_known_before(f, err);
		filter_free(&f);
		if (rc < 0) {
			err->code = ERR_SCRIPT;
			err_wrap(err, "scenario '%s': people[%zu]: when",
				 json_str(scenario, "name", ""), i + 1);
			return -1;
		}
	}
	return 0;
}

static int suite_load(struct suite *su, json_t **data, struct err *err)
{
	const struct lua_file_run r = { .mode = "suite", .path = su->file };
	int64_t times = 0;
	if (lua_file_run(&r, data, err) < 0)
		return -1;
	const json_t *list = json_object_get(*data, "scenarios");
	if (command_opt_int(su->ctx->line, "runs", 1, 1000, &times, err) < 0)
		return -1;
	su->nr = json_array_size(list);
	su->item = mem_calloc(su->nr, sizeof(*su->item));
	for (size_t i = 0; i < su->nr; i++) {
		struct scenario *sc = &su->item[i];
		sc->data = json_array_get(list, i);
		sc->runs = times ? (size_t)times : (size_t)json_int(sc->data, "runs", 1);
		su->nr_trials += sc->runs;
		if (check_people(sc->data, err) < 0)
			return -1;
	}
	su->trial = mem_calloc(su->nr_trials, sizeof(*su->trial));
	size_t at = 0;
	for (size_t i = 0; i < su->nr; i++)
		for (size_t k = 0; k < su->item[i].runs; k++)
			su->trial[at++] = (struct trial_run){ .ctx = su->ctx,
							      .suite = su->file,
							      .scenario = su->item[i].data,
							      .nr = k + 1,
							      .pidfd = -1 };
	return 0;
}

static struct scenario *scenario_of(struct suite *su, const struct trial_run *t)
{
	for (size_t i = 0; i < su->nr; i++)
		if (su->item[i].data == t->scenario)
			return &su->item[i];
	return su->item;
}

/* As many at once as --jobs says, begun in order; told as they end. */
static void suite_run_all(struct suite *su, size_t jobs)
{
	size_t over = 0, running = 0, next = 0;
	bool keep = cmd_has(su->ctx, "keep");
	while (over < su->nr_trials) {
		for (; running < jobs && next < su->nr_trials; running++)
			trial_start(&su->trial[next++]);
		for (size_t i = 0; i < next; i++) {
			struct trial_run *t = &su->trial[i];
			if (!t->scenario)
				continue; /* told already */
			trial_tick(t);
			if (t->state != TRIAL_OVER)
				continue;
			take_run(su, scenario_of(su, t), t);
			if (keep && t->dir)
				fprintf(su->ctx->err, "%s\n", t->dir);
			trial_end(t, keep);
			over++;
			running--;
		}
		fflush(su->ctx->out);
		if (over < su->nr_trials)
			poll(NULL, 0, TICK_MS);
	}
}

int suite_test(struct cmd_ctx *ctx, const char *file)
{
	struct suite su = { .ctx = ctx, .file = file };
	struct err err = ERR_INIT;
	json_t *data = NULL;
	int64_t jobs = JOBS;
	size_t bad = 0;
	int rc = command_opt_int(ctx->line, "jobs", 1, 64, &jobs, &err);
	if (rc == 0)
		rc = suite_load(&su, &data, &err);
	if (rc == 0) {
		if (!ctx->json)
			fprintf(ctx->out, "1..%zu\n", su.nr);
		suite_run_all(&su, (size_t)jobs);
		for (size_t i = 0; i < su.nr; i++) {
			tell_scenario(&su, i);
			bad += su.item[i].pass != su.item[i].runs;
		}
	}
	free(su.item);
	free(su.trial);
	json_decref(data);
	return rc < 0 ? cmd_fail(ctx, &err) : bad ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
