/* Three sessions on one screen, driven by keys: what a test presses, sees, and finds sent. */
#ifndef TEST_SEVERAL_SESSIONS_H
#define TEST_SEVERAL_SESSIONS_H

#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

enum { SESSIONS = 3 };

static struct buf sent; /* "1:freeze 2:.." : the source, the words, the options */
static act_done_fn *done_last;
static void *done_self_last;
static size_t where[SESSIONS] = { 0, 1, 2 };

static void command(void *self, const char *const *words, size_t nr, json_t *opts,
		    act_done_fn *done, void *done_self)
{
	buf_printf(&sent, "%s%zu:", sent.len ? " " : "", *(size_t *)self);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&sent, "%s%s", i ? "," : "", words[i]);
	if (opts && json_object_size(opts) > 0)
		json_dump_buf(opts, &sent);
	done_last = done;
	done_self_last = done_self;
}

static struct source *src[SESSIONS];
static struct act act[SESSIONS];
static struct ui ui;

static void line(FILE *f, uint64_t at, const char *kind, uint64_t agent, uint64_t action,
		 const char *body)
{
	fprintf(f,
		"{\"at\":\"%lu.000\",\"kind\":\"%s\",\"agent\":%lu,\"action\":%lu,\"body\":%s}\n",
		(unsigned long)at, kind, (unsigned long)agent, (unsigned long)action, body);
}

/* A session of one agent with @held actions that wait, and @asks questions of it; the k-th
 * session's wait since second k. */
static void make(const char *path, size_t k, size_t held, size_t asks, bool ended)
{
	FILE *f = fopen(path, "w");
	char body[200];
	uint64_t seq = 2;
	snprintf(body, sizeof(body), "{\"id\":\"s-00000%zu\",\"name\":\"n%zu\"}", k, k);
	line(f, 0, "session.start", 0, 0, body);
	line(f, 0, "agent.start", 0, 0, "{\"name\":\"fix\",\"task\":\"t\"}");
	for (size_t i = 0; i < held; i++) {
		snprintf(body, sizeof(body),
			 "{\"kind\":\"exec\",\"cmd\":\"rm %zu\",\"intent\":\"ab\"}", i);
		line(f, 10 * i + k, "action.requested", 2, 0, body);
		line(f, 10 * i + k, "action.held", 2, ++seq,
		     "{\"reasons\":[\"ask\"],\"rule\":\"r\",\"intent\":\"ab\"}");
		seq++;
	}
	for (size_t i = 0; i < asks; i++)
		line(f, 500, "ask", 2, 0,
		     i ? "{\"text\":\"which?\",\"choices\":[\"red\",\"blue\"]}"
		       : "{\"text\":\"what?\"}");
	if (ended)
		line(f, 600, "session.end", 0, 0, "{\"status\":\"done\"}");
	fclose(f);
}

static char dir[] = "/tmp/several_sessions-XXXXXX";

static void begin(size_t held, size_t asks, bool first_ended)
{
	struct err err = ERR_INIT;
	for (size_t i = 0; i < SESSIONS; i++) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%zu.jsonl", dir, i);
		make(path, i, i == 1 ? held : 1, i == 2 ? asks : 0, first_ended && i == 0);
		if (source_open(&src[i], path, &err) < 0)
			exit(99);
		act[i] = (struct act){ .command = command, .self = &where[i] };
	}
	ui_init(&ui, src, act, SESSIONS, 24, 80, false);
	ui_sync(&ui);
	ui.mono_us = 1000000;
	ui_draw(&ui);
	buf_reset(&sent);
}

static void end(void)
{
	ui_release(&ui);
	for (size_t i = 0; i < SESSIONS; i++)
		source_close(&src[i]);
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
}

static const char *took(void)
{
	static char text[600];
	snprintf(text, sizeof(text), "%s", buf_cstr(&sent));
	buf_reset(&sent);
	return text;
}

static struct subject subject(void)
{
	struct subject on = { 0 };
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	return on;
}

static bool seen(const char *what)
{
	char *text = NULL;
	size_t len = 0;
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	bool yes = strstr(text, what);
	free(text);
	return yes;
}

#endif
