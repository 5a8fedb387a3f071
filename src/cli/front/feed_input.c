#include "cli/front/feed_input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "control/client.h"

/* Small pieces of input are gathered for a moment, so that a megabyte is not a hundred commands. */
enum { PIECE = 512 << 10, GATHER_MS = 2 };

struct feeder {
	char *socket;
	uint64_t action;
	struct control_client *client;
	char piece[PIECE];
	size_t len;
	bool eof;
};

static int send_piece(struct feeder *f, size_t len, bool eof, struct err *err)
{
	CLEANUP(buf_release) struct buf b64 = BUF_INIT;
	json_t *words = json_array(), *o = json_object(), *reply = NULL;
	char id[24];
	snprintf(id, sizeof(id), "%llu", (unsigned long long)f->action);
	json_array_append_new(words, json_string("input"));
	json_array_append_new(words, json_string(id));
	base64_append(&b64, f->piece, len);
	json_put_str(o, "base64", buf_cstr(&b64));
	if (eof)
		json_put_flag(o, "eof", true);
	int rc = control_client_call(f->client, words, o, -1, &reply, err);
	json_decref(reply);
	memmove(f->piece, f->piece + len, f->len - len);
	f->len -= len;
	return rc;
}

/* false when nothing more comes at the moment, or ever. */
static bool feed_input_fill(struct feeder *f)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	if (f->len == PIECE || f->eof || (f->len && poll(&p, 1, GATHER_MS) == 0))
		return false;
	ssize_t n = read(0, f->piece + f->len, PIECE - f->len);
	if (n > 0)
		f->len += (size_t)n;
	else
		f->eof = n == 0 || (errno != EINTR && errno != EAGAIN);
	return n > 0;
}

/* A secret on a line of its own is recognized in one piece, not in two halves: a full piece ends
 * with a line. */
static size_t whole_lines(const struct feeder *f)
{
	const char *eol = f->len == PIECE ? memrchr(f->piece, '\n', f->len) : NULL;
	return eol ? (size_t)(eol - f->piece) + 1 : f->len;
}

static void *feed_input_feed(void *self)
{
	struct feeder *f = self;
	struct err err = ERR_INIT;
	bool more = control_client_open(&f->client, f->socket, NULL, NULL, NULL, &err) == 0 &&
		    send_piece(f, 0, false, &err) == 0;
	while (more) {
		struct pollfd p[2] = { { .fd = 0, .events = POLLIN },
				       { .fd = control_client_fd(f->client), .events = POLLIN } };
		if (!f->len && poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents && !control_client_pump(f->client))
			break;
		if (!f->len && !p[0].revents)
			continue;
		while (feed_input_fill(f))
			;
		size_t n = whole_lines(f);
		bool last = f->eof && n == f->len;
		if (n || last)
			more = send_piece(f, n, last, &err) == 0 && !last;
	}
	/* a command that has ended takes no more: that is its right */
	control_client_free(&f->client);
	free(f->socket);
	free(f);
	return NULL;
}

void feed_input(const char *socket, uint64_t action)
{
	struct feeder *f = NEW(struct feeder);
	pthread_t thread;
	f->socket = mem_strdup(socket);
	f->action = action;
	if (pthread_create(&thread, NULL, feed_input_feed, f) == 0) {
		pthread_detach(thread);
	} else {
		free(f->socket);
		free(f);
	}
}
