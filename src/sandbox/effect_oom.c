/* Has the memory limit of a sandbox killed a process of a run? The kernel counts kills for the
 * whole sandbox; the count is read when a run ends badly, or has lasted long enough that reading
 * costs little, and kills since the last reading count as the run's own. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/effect_priv.h"

enum { LONG_US = 50000 };

struct oom_look {
	struct job *job; /* NULL: nobody waits for it */
	struct run_end end;
	run_over_fn *over;
};

static void on_count(void *self, json_t *result, const struct err *err)
{
	struct oom_look *l = self;
	struct job *j = l->job;
	(void)err; /* then it says no number: not known now, which may change */
	int64_t n = json_int(result, "oom", -1);
	if (j) {
		struct slot *s = j->slot;
		l->end.oom = n > s->oom ? n - s->oom : 0;
		s->oom = n > s->oom ? n : s->oom;
		j->look = NULL;
		l->over(j, &l->end);
	}
	free(l);
}

bool oom_look(struct job *j, const struct run_end *e, run_over_fn *over)
{
	struct slot *s = j->slot;
	bool bad = e->code || (e->signal && e->signal != j->stopped);
	if (!s->driver->oom || s->closing || (!bad && clock_mono_us() - j->begun_us < LONG_US))
		return false;
	loop_timer_free(&j->timer);
	j->look = NEW(struct oom_look);
	*j->look = (struct oom_look){ .job = j, .end = *e, .over = over };
	s->driver->oom(s->box, on_count, j->look);
	return true;
}

void oom_over(struct job *j)
{
	const struct run_end e = j->look->end;
	run_over_fn *over = j->look->over;
	oom_forget(j);
	over(j, &e);
}

void oom_forget(struct job *j)
{
	if (j->look)
		j->look->job = NULL;
	j->look = NULL;
}
