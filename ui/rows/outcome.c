#include "ui/rows/outcome.h"

#include <inttypes.h>
#include <string.h>

#include "ui/term/fmt.h"

bool outcome_holds(const json_t *claim)
{
	const char *verdict = json_str(claim, "verdict", "");
	return strcmp(verdict, "supported") == 0 || strcmp(verdict, "seen") == 0;
}

static size_t outcome_count(const json_t *claims, size_t *failing_out)
{
	const json_t *claim;
	size_t i, all = 0;
	*failing_out = 0;
	json_array_foreach(claims, i, claim)
	{
		all += strcmp(json_str(claim, "verdict", ""), "seen") != 0;
		*failing_out += !outcome_holds(claim);
	}
	return all;
}

static const char *outcome_word(const struct model *m)
{
	return !m->ended ? "no end recorded" : m->good ? "ended" : m->how ? m->how : "failed";
}

/* What to do next: a command. */
static void outcome_next(const struct outcome *o, struct buf *out)
{
	const struct model *m = o->model;
	if (o->unmerged > 0)
		buf_printf(out, "sandglass merge %s", m->id);
	else if (!m->ended || (m->how && strcmp(m->how, "stopped") == 0))
		buf_printf(out, "sandglass resume %s", m->id);
	else
		buf_printf(out, "sandglass fork %s#%" PRIu64, m->id, m->head);
}

void outcome_short(const struct outcome *o, struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model *m = o->model;
	size_t failing, all = outcome_count(o->claims, &failing);
	buf_printf(out, "%s, %s", outcome_word(m), fmt_cost(&a, m->uusd, m->cost_unknown));
	if (failing)
		buf_printf(out, ", %zu of %zu claims not supported (K)", failing, all);
	else if (all)
		buf_printf(out, ", %s supported", fmt_plural(&a, (int64_t)all, "claim", "claims"));
	if (o->unmerged > 0)
		buf_printf(out, ", %s unmerged", fmt_plural(&a, o->unmerged, "file", "files"));
	buf_puts(out, ": ");
	outcome_next(o, out);
}

void outcome_long(const struct outcome *o, struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model *m = o->model;
	const json_t *claim;
	size_t failing, i, all = outcome_count(o->claims, &failing);
	buf_printf(out, "summary: session %s, %s, cost %s\n", outcome_word(m),
		   fmt_plural(&a, (int64_t)m->nr_agents, "agent", "agents"),
		   m->cost_unknown && !m->uusd ? "unknown"
					       : fmt_cost(&a, m->uusd, m->cost_unknown));
	if (o->claims && !all)
		buf_puts(out, "claims: none\n");
	else if (o->claims)
		buf_printf(out, "claims: %zu, %zu not supported\n", all, failing);
	else
		buf_puts(out, "claims: not checked\n");
	json_array_foreach(o->claims, i, claim)
	{
		if (!outcome_holds(claim))
			buf_printf(out, "  %s: %s: %s\n", json_str(claim, "verdict", "?"),
				   json_str(claim, "agent", ""), json_str(claim, "text", ""));
	}
	buf_printf(out, "unmerged: %s\n",
		   o->unmerged < 0 ? "unknown" : fmt_plural(&a, o->unmerged, "file", "files"));
	buf_puts(out, "continue: ");
	outcome_next(o, out);
	buf_putc(out, '\n');
}
