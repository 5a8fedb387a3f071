/* Sessions side by side while they run. The cursor stays on its action when rows appear before it. Running actions are
 * not realigned after each event. */
#include <unistd.h>

#include "base/text/utf8.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/frame/ui.h"

static struct source *src[2];
static struct ui ui;

/* Two actions of one agent, then one of an agent whose name comes first. The second of these ends with @last. */
static struct source *make(const char *last)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(fd_close) int fd = mkstemp(path);
	buf_puts(&text, "{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n"
			"{\"at\":\"0\",\"kind\":\"agent.start\",\"body\":{\"name\":\"zed\"}}\n"
			"{\"at\":\"1\",\"kind\":\"action.requested\",\"agent\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"one\"}}\n"
			"{\"at\":\"2\",\"kind\":\"action.requested\",\"agent\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"x");
	for (int i = 0; i < 100; i++)
		buf_puts(&text, "\xc3\xa9");
	buf_printf(&text, "%s\"}}\n"
			  "{\"at\":\"3\",\"kind\":\"agent.start\",\"body\":{\"name\":\"abe\"}}\n"
			  "{\"at\":\"4\",\"kind\":\"action.requested\",\"agent\":5,\"body\":{\"kind\":\"exec\",\"cmd\":\"three\"}}\n", last);
	if (fd_write_all(fd, text.data, text.len, &err) < 0 || source_open(&s, path, &err) < 0)
		exit(99);
	unlink(path);
	s->session->committed = 4;
	return s;
}

static uint64_t chosen(void)
{
	struct subject on = { 0 };
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	return on.action;
}

static size_t rows(void)
{
	struct looked l = { 0 };
	ui_top(&ui)->ops->look(ui_top(&ui)->self, &ui, &l);
	return l.nr;
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	src[0] = make("1");
	src[1] = make("2");
	ui_init(&ui, src, NULL, 2, 24, 80, false);
	ui.mono_us = 1000000;
	ui_sync(&ui);
	ui_open(&ui, "compare", &(struct subject){ 0 });
	ui_draw(&ui);
	is_int((int64_t)rows(), 2, "two actions each");
	is_int((int64_t)chosen(), 4, "the cursor is where they part, far behind what is shown of it");
	src[0]->session->committed = 0;
	ui.mono_us += 300000;
	ui_sync(&ui);
	ui_draw(&ui);
	ok(rows() == 2 && ui_next(&ui) <= 2000000, "an event: it is read again, but not at once");
	ui.mono_us += 800000;
	ui_draw(&ui);
	is_int((int64_t)rows(), 3, "a second after the last time it is");
	is_int((int64_t)chosen(), 4, "a row has come before it: the cursor is on the same action");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	ui_top(&ui)->ops->text(ui_top(&ui)->self, &ui, &text);
	ok(utf8_valid(text.data, text.len) && strstr(text.data, "\xc3\xa9..."), "a long text is cut between two characters");
	ui_release(&ui);
	source_close(&src[0]);
	source_close(&src[1]);
	return done_testing();
}
