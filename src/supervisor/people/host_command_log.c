#include "supervisor/people/host_command_log.h"

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
	json_t *body = json_object();
	json_put(body, "cmd", json_bytes_z(rq->line->words.item[0]));
	json_put(body, "who", json_incref(rq->who));
	if (of) {
		json_put_int(body, "of", of);
		json_put_int(body, "status", status);
	}
	struct waiting *w = NEW(struct waiting);
	w->s = s;
	w->ticket = rq->ticket;
	w->seq = record_append_json(s->record, EV_CONTROL_HOST, of ? (uint64_t)of : rq->cause, 0, 0,
				    0, body);
	record_barrier(s->record, w->seq, host_command_log_committed, w);
	return 0;
}
