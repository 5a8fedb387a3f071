#include "supervisor/people/host_command_log.h"
#include "record/record_event.h"

#include <stdlib.h>

struct waiting {
	struct super *s;
	uint64_t ticket, seq;
};

static void host_command_log_committed(void *self)
{
	struct waiting *w = self;
	json_t *out = json_object();
	json_put_int(out, "event", (int64_t)w->seq);
	control_answer(w->s->server, w->ticket, out);
	free(w);
}

int host_command_log(struct super *s, const struct control_request *rq, struct err *err)
{
	int64_t of = 0, status = 0;
	if (command_opt_int(rq->line, "of", 1, INT64_MAX, &of, err) < 0 ||
	    command_opt_int(rq->line, "status", 0, 255, &status, err) < 0)
		return -1;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct waiting *w = NEW(struct waiting);
	w->s = s;
	w->ticket = rq->ticket;
	w->seq = record_ev_control_host(
		s->record, &(struct event){ .cause = of ? (uint64_t)of : rq->cause },
		&(struct ev_control_host){ .cmd = ev_text_of(rq->line->words.item[0]),
					   .who = ev_who_from(&mem, rq->who),
					   .of = of,
					   .has_status = of != 0,
					   .status = status });
	record_barrier(s->record, w->seq, host_command_log_committed, w);
	return 0;
}
