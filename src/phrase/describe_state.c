/* The numeric rows of `state`: paused agents, remaining budgets, commands running in sandboxes. */
#include <string.h>

#include "phrase/describe.h"
#include "base/clock.h"
#include "base/mem.h"

static void describe_state_agent(const json_t *state, int64_t id, struct buf *out)
{
	const json_t *list = json_object_get(state, "agents");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_int(json_array_get(list, i), "agent", -1) == id) {
			buf_puts(out, json_str(json_array_get(list, i), "name", "?"));
			return;
		}
	buf_printf(out, "#%lld", (long long)id);
}

/* "4 of 20 steps", "$0.12 of $0.50", "6.4s of 20:00". */
static void describe_state_limit(const char *what, int64_t used, int64_t of, struct buf *out)
{
	if (!strcmp(what, "uusd")) {
		buf_printf(out, "$%lld.%02lld of $%lld.%02lld", (long long)(used / 1000000),
			   (long long)(used % 1000000 / 10000), (long long)(of / 1000000),
			   (long long)(of % 1000000 / 10000));
	} else if (!strcmp(what, "time_us")) {
		clock_span(used, out);
		buf_puts(out, " of ");
		clock_span(of, out);
	} else {
		size_t n = strlen(what);
		buf_printf(out, "%lld of %lld %.*s", (long long)used, (long long)of,
			   (int)(of == 1 && n ? n - 1 : n), what);
	}
}

static void describe_state_budget(const json_t *state, const json_t *row, struct buf *out)
{
	const json_t *limits = json_object_get(row, "limits"), *used = json_object_get(row, "used");
	const char *what;
	json_t *of;
	bool first = true;
	buf_puts(out, "budget ");
	if (json_int(row, "agent", 0)) {
		buf_puts(out, "of ");
		describe_state_agent(state, json_int(row, "agent", 0), out);
	} else if (json_int(row, "budget", 0)) {
		buf_printf(out, "#%lld", (long long)json_int(row, "budget", 0));
	} else {
		buf_puts(out, "of the session");
	}
	json_object_foreach((json_t *)(uintptr_t)limits, what, of)
	{
		buf_puts(out, first ? ": " : ", ");
		describe_state_limit(what, json_int(used, what, 0), json_integer_value(of), out);
		first = false;
	}
	if (first)
		buf_puts(out, ": no limit");
}

/* "approved for the session: exec git push *, of fix, 5 more times, for 29m (#121)". */
static void describe_state_waiver(const json_t *state, const json_t *row, struct buf *out)
{
	int64_t until = json_int(row, "until_us", 0), uses = json_int(row, "uses", 0);
	buf_printf(out, "approved for the session: %s %s", json_str(row, "kind", ""),
		   json_str(row, "pattern", ""));
	if (json_int(row, "agent", 0)) {
		buf_puts(out, ", of ");
		describe_state_agent(state, json_int(row, "agent", 0), out);
	}
	if (uses)
		buf_printf(out, ", %lld more %s", (long long)uses, uses == 1 ? "time" : "times");
	if (until) {
		buf_puts(out, ", for ");
		clock_span(until > clock_wall_us() ? until - clock_wall_us() : 0, out);
	}
	buf_printf(out, " (#%lld)", (long long)json_int(row, "event", 0));
}

bool describe_state(const json_t *state, const char *key, const json_t *row, struct buf *out)
{
	if (!strcmp(key, "agents"))
		return true; /* their names stand where they are meant */
	if (!strcmp(key, "paused")) {
		buf_puts(out, "paused: ");
		if (json_integer_value(row) == 0)
			buf_puts(out, "all agents");
		else
			describe_state_agent(state, json_integer_value(row), out);
		return true;
	}
	if (!strcmp(key, "budgets")) {
		describe_state_budget(state, row, out);
		return true;
	}
	if (!strcmp(key, "waivers")) {
		describe_state_waiver(state, row, out);
		return true;
	}
	if (!strcmp(key, "boxes")) {
		int64_t alive = json_int(row, "alive", 0);
		buf_printf(out, "sandbox %s: ", json_str(row, "name", "?"));
		if (alive > 0)
			buf_printf(out, "%lld %s", (long long)alive,
				   alive == 1 ? "process" : "processes");
		else
			buf_puts(out, "no command is running");
		return true;
	}
	return false;
}
