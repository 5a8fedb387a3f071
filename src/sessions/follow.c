#include "sessions/follow.h"

#include <poll.h>

#include "base/mem.h"
#include "control/client.h"
#include "control/share.h"

enum { LOOK_MS = 200, SURE_MS = 5000 };

struct follow {
	struct session *session;
	struct control_client *client; /* NULL: nobody to ask */
	uint64_t told;		       /* newest head heard of */
};

static void follow_on_head(void *self, uint64_t seq)
{
	struct follow *f = self;
	f->told = seq;
}

static const struct control_client_ops follow_ops = { .head = follow_on_head };

struct follow *follow_new(struct session *s)
{
	struct follow *f = NEW(struct follow);
	struct control_client_opts o = { .watch = true };
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = share_find(session_id(s), session_path(s));
	f->session = s;
	if (!session_live(s) || control_client_open(&f->client, path, &o, &follow_ops, f, &err) < 0)
		f->client = NULL;
	return f;
}

void follow_free(struct follow **f)
{
	if (*f) {
		control_client_free(&(*f)->client);
		free_ptr(f);
	}
}

bool follow_wait(struct follow *f, uint64_t seq)
{
	return follow_wait_mask(f, seq, NULL);
}

bool follow_wait_mask(struct follow *f, uint64_t seq, const sigset_t *mask)
{
	while (session_head(f->session) <= seq) {
		/* asked before the last look, so that what came in between is seen */
		bool live = session_live(f->session);
		if (session_head(f->session) > seq)
			return true;
		if (!live)
			return false;
		struct pollfd p = { .fd = f->client ? control_client_fd(f->client) : -1,
				    .events = POLLIN };
		int ms = f->client ? SURE_MS : LOOK_MS;
		struct timespec wait = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
		if (ppoll(&p, 1, &wait, mask) < 0)
			return true; /* a signal: the caller may react to it */
		if (f->client && !control_client_pump(f->client))
			control_client_free(&f->client);
	}
	return true;
}
