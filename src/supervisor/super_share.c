/* run --share: from which event on a group may read the session and decide what waits. */
#include "supervisor/super_priv.h"
#include "base/exit.h"
#include "supervisor/core/core.h"
#include "control/share.h"
#include "record/record_event.h"

/* It is in the record, so its companions are there as well, and others may read and decide from
 * here on. */
static void super_share_shared(void *self)
{
	struct super *s = self;
	struct share share;
	struct err err = ERR_INIT;
	if (!s->ending && (share_parse(s->opts->share, &share, &err) < 0 ||
			   share_open(record_path(s->record), &share, &err) < 0 ||
			   control_server_share(s->server, &share, &err) < 0))
		super_end(s, EXIT_UNSUCCESSFUL, "%s", err.text);
}

int super_share(struct super *s, struct err *err)
{
	struct share share;
	if (!s->opts->share)
		return 0;
	if (share_parse(s->opts->share, &share, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *socket = share_socket(record_path(s->record));
	uint64_t seq = record_ev_control_share(
		s->record, &(struct event){ .cause = s->start_seq },
		&(struct ev_control_share){ .group = ev_text_of(share.group),
					    EV_SET(gid, share.gid),
					    .role = ev_text_of(share.decide ? "decide" : "watch"),
					    .socket = ev_text_of(socket) });
	record_barrier(s->record, seq, super_share_shared, s);
	return 0;
}
