/* sandglass-screen: makes keyframes of terminals' screens, for a supervisor that holds the other
 * end of descriptor 3 (wire/screen.h). Not for users to start. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "screen/keyframes.h"
#include "screen/screen_lockdown.h"
#include "wire/frame.h"
#include "wire/screen.h"

enum { LOST = 1, MISUSED = 2, NICE = 10 };

struct one_screen {
	uint64_t id;
	struct keyframes *keys;
};

static struct one_screen screen_all[SCREEN_TERMINALS];

static struct one_screen *screen_of(uint64_t id)
{
	for (size_t i = 0; i < SCREEN_TERMINALS; i++)
		if (screen_all[i].keys && screen_all[i].id == id)
			return &screen_all[i];
	return NULL;
}

static void screen_begin(const struct frame *f)
{
	int rows = 24, cols = 80, bare = 0;
	CLEANUP(free_ptr) char *text = mem_strndup(f->body, f->len);
	if (sscanf(text, "%d %d %d", &rows, &cols, &bare) != 3)
		return;
	for (size_t i = 0; i < SCREEN_TERMINALS; i++)
		if (!screen_all[i].keys) {
			screen_all[i] =
				(struct one_screen){ f->id, keyframes_new(rows, cols, bare) };
			return;
		}
}

static void screen_resize(struct one_screen *o, const struct frame *f)
{
	int rows, cols;
	CLEANUP(free_ptr) char *text = mem_strndup(f->body, f->len);
	if (o && sscanf(text, "%d %d", &rows, &cols) == 2)
		keyframes_resize(o->keys, rows, cols);
}

static void on_keyframe(void *self, uint64_t offset, int rows, int cols, const struct buf *key)
{
	const struct one_screen *o = self;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	struct err none = ERR_INIT;
	buf_printf(&body, "%" PRIu64 " %d %d\n", offset, rows, cols);
	buf_append(&body, key->data, key->len);
	if (body.len <= SCREEN_BODY_MAX)
		(void)!frame_send(SCREEN_FD, SCREEN_KEY, o->id, body.data, body.len, NULL, 0,
				  &none);
}

/* -1: the supervisor has gone. */
static int screen_output(struct one_screen *o, const struct frame *f)
{
	struct err none = ERR_INIT;
	bool more = o && keyframes_feed(o->keys, f->body, f->len, on_keyframe, o);
	if (o && !more)
		keyframes_free(&o->keys);
	return frame_send(SCREEN_FD, SCREEN_DONE, f->id, more ? "1" : "0", 1, NULL, 0, &none);
}

static void screen_serve(void)
{
	for (;;) {
		CLEANUP(buf_release) struct buf body = BUF_INIT;
		struct err none = ERR_INIT;
		struct frame f;
		if (frame_recv(SCREEN_FD, SCREEN_PIECE, &f, &body, NULL, NULL, &none) < 0)
			return;
		struct one_screen *o = screen_of(f.id);
		if (f.type == SCREEN_BEGIN && !o)
			screen_begin(&f);
		else if (f.type == SCREEN_SIZE)
			screen_resize(o, &f);
		else if (f.type == SCREEN_OUTPUT && screen_output(o, &f) < 0)
			return;
		else if (f.type == SCREEN_END && o)
			keyframes_free(&o->keys);
	}
}

int main(void)
{
	struct err err = ERR_INIT;
	struct stat st;
	if (fstat(SCREEN_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr,
			"sandglass-screen is started by sandglass, with a socket on descriptor 3\n");
		return MISUSED;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a user's Ctrl-C is the supervisor's business */
	setpriority(PRIO_PROCESS, 0, NICE);
	if (screen_lockdown_enter(&err) < 0) {
		fprintf(stderr, "sandglass-screen: %s\n", err.text);
		return LOST;
	}
	screen_serve();
	_exit(0);
}
