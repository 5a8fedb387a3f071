/* Output of millions of empty lines, tabs, or changes of style takes bounded memory in the console's
 * output view. */
#include <malloc.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/rows/pane.h"

enum { BYTES = 4 << 20, BOUND_KB = 32 << 10, ACTION = 4, SCROLL = 256 << 10, COPY = 1 << 20 };

static void put_stream(struct buf *out, int stream, const char *piece, size_t bytes)
{
	buf_printf(out,
		   "{\"at\": \"5\", \"kind\": \"output\", \"action\": %d, \"out\": \"", ACTION);
	size_t from = out->len;
	while (out->len - from < bytes)
		buf_puts(out, piece);
	buf_printf(out, "\", \"body\": {\"stream\": %d}}\n", stream);
}

/* @piece: as JSON. */
static struct source *session_of(const char *piece)
{
	char path[] = "/tmp/t_output_memory-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_puts(&text,
		 "{\"at\": \"0\", \"kind\": \"session.start\", \"body\": {\"id\": \"s-0many\", \"name\": \"m\"}}\n"
		 "{\"at\": \"1\", \"kind\": \"agent.start\", \"agent\": 2, \"body\": {\"name\": \"a\"}}\n"
		 "{\"at\": \"2\", \"kind\": \"box.open\", \"body\": {\"name\": \"b\", \"driver\": \"process\"}}\n"
		 "{\"at\": \"3\", \"kind\": \"action.requested\", \"agent\": 2, \"box\": 3, \"body\": {\"kind\": \"exec\", "
		 "\"argv\": [\"x\"]}}\n"
		 "{\"at\": \"4\", \"kind\": \"action.started\", \"action\": 4, \"body\": {}}\n");
	put_stream(&text, 1, piece, BYTES);
	put_stream(&text, 2, piece, BYTES / 4);
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, text.data, text.len, &err) < 0 || source_open(&s, path, &err) < 0)
		exit(99);
	close(fd);
	unlink(path);
	source_sync(s, 0, 0);
	return s;
}

static long peak_kb(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

struct pane_case {
	int width;
	size_t max;
	bool render, hold;
};

/* Rows of the view; KB by which the peak grew, in a process of its own. */
static void watch_growth(struct source *s, const struct pane_case *l, long *rows, long *kb)
{
	long got[2] = { 0 };
	int fd[2];
	if (pipe(fd) < 0)
		exit(99);
	malloc_trim(0); /* what is free already would hide growth */
	pid_t pid = fork();
	if (pid == 0) {
		struct arena a = ARENA_INIT;
		struct text t;
		struct pane_hold hold = { 0 };
		long before = peak_kb();
		text_init(&t, &a, l->width, 2, false);
		pane_output(&t, s, ACTION, l->max, l->render, l->hold ? &hold : NULL);
		got[0] = (long)t.nr;
		got[1] = peak_kb() - before;
		_exit(write(fd[1], got, sizeof(got)) != sizeof(got));
	}
	close(fd[1]);
	if (read(fd[0], got, sizeof(got)) != sizeof(got))
		exit(99);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	*rows = got[0];
	*kb = got[1];
}

int main(void)
{
	static const struct {
		const char *what, *piece;
	} of[] = {
		{ "empty lines", "\\n" },
		{ "tabs", "\\t" },
		{ "changes of color", "\\u001b[31mx\\u001b[0m" },
		{ "changes of color without text", "\\u001b[1m\\u001b[7m" },
		{ "control characters", "\\u0001" },
		{ "short lines", "ab\\n" },
		{ "ordinary lines", "gcc -O2 -Wall -c -o build/src/base/text/width.o src/base/text/width.c\\n" },
		{ "wide characters", "\\u4e2d" },
		{ "lines that start again", "50%\\r" },
	};
	static const struct pane_case look[] = {
		{ 100, SCROLL, false, true }, { 100, SCROLL, true, true }, { 24, SCROLL, false, true },
		{ 4000, COPY, false, false }, { 4000, COPY, true, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct source *s = session_of(of[i].piece);
		long rows = 0, kb = 0;
		for (size_t k = 0; k < ARRAY_LEN(look); k++) {
			watch_growth(s, &look[k], &rows, &kb);
#ifdef __SANITIZE_ADDRESS__
			ok(rows > 0, "%s: a view", of[i].what);
#else
			ok(rows > 0 && kb < BOUND_KB, "%s, %zu KB, %d columns%s: %ld rows, %ld KB more", of[i].what,
			   look[k].max >> 10, look[k].width, look[k].render ? ", with colors" : "", rows, kb);
#endif
		}
		source_close(&s);
	}
	return done_testing();
}
