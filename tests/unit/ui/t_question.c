/* Drives the screen of a question by its keys. Checks which answers it sends and, above all, which ones it doesn't. */
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/frame/ui.h"

static char sent[2048];
static int nr_sent;

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	size_t at = 0;
	(void)self;
	(void)done;
	(void)done_self;
	nr_sent++;
	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(sent + at, sizeof(sent) - at, "%s%s", i ? " " : "", words[i]);
	CLEANUP(free_ptr) char *text = opts ? json_dump_str(opts) : mem_strdup("");
	snprintf(sent + at, sizeof(sent) - at, "%s%s", *text ? " " : "", text);
}

static struct source *src;
static struct ui ui;
static const struct act act = { .command = command };

/* A session of one agent (event 2) with these questions (events 3, 4, ..). */
static void begin(const char *const *body, size_t nr, int rows, int cols)
{
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(fd_close) int fd = mkstemp(path);
	buf_puts(&text, "{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n"
			"{\"at\":\"0\",\"kind\":\"agent.start\",\"body\":{\"name\":\"fix\"}}\n");
	for (size_t i = 0; i < nr; i++)
		buf_printf(&text, "{\"at\":\"1\",\"kind\":\"ask\",\"agent\":2,\"body\":%s}\n", body[i]);
	if (fd_write_all(fd, text.data, text.len, &err) < 0 || source_open(&src, path, &err) < 0)
		exit(99);
	unlink(path);
	ui_init(&ui, &src, &act, 1, rows, cols, false);
	ui_sync(&ui);
	ui.mono_us = 1000000;
	ui_draw(&ui);
	sent[0] = 0;
	nr_sent = 0;
}

static void end(void)
{
	ui_release(&ui);
	source_close(&src);
}

static void later(void)
{
	ui.mono_us += 500000;
}

static void open_one(uint64_t seq)
{
	ui_open(&ui, "question", &(struct subject){ .action = seq });
	ui_draw(&ui);
	later();
}

static void begin_one(const char *body, int rows, int cols)
{
	begin(&body, 1, rows, cols);
	open_one(3);
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
}

static bool on_screen(const char *what)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	bool there = strstr(text, what) != NULL;
	free(text);
	return there;
}

/* An answer arrives as an event, as it does from the recorder. */
static void answer_comes(uint64_t cause, const char *choice)
{
	struct session *s = src->session;
	char *body = mem_printf("{\"choice\":\"%s\",\"who\":{\"name\":\"ann\"}}", choice);
	GROW(s->event, s->nr, s->cap);
	s->event[s->nr] = (struct event){ .seq = s->nr + 1, .cause = cause, .agent = 2, .kind = EV_ASK_ANSWERED, .body = body,
					  .len = strlen(body), .ts_us = s->event[s->nr - 1].ts_us };
	s->nr++;
	ui_sync(&ui);
	ui_draw(&ui);
}

static void answered_meanwhile(void)
{
	begin((const char *const[]){ "{\"text\":\"drop it?\",\"choices\":[\"yes\",\"no\"]}", "{\"text\":\"continue?\",\"choices\":[\"red\",\"blue\"]}" }, 2,
	      24, 80);
	answer_comes(4, "blue");
	open_one(4);
	ok(on_screen("continue?") && on_screen("answered: blue"), "an answered question shows its answer");
	press("1");
	is_int(nr_sent, 0, "and no key answers the other question");
	end();
	begin((const char *const[]){ "{\"text\":\"a\"}", "{\"text\":\"b\"}" }, 2, 24, 80);
	answer_comes(4, "second");
	answer_comes(3, "first");
	open_one(3);
	ok(on_screen("answered: first"), "two of one agent: the answer is by its cause");
	end();
	begin((const char *const[]){ "{\"text\":\"drop it?\"}" }, 1, 24, 80);
	open_one(0);
	ok(on_screen("drop it?"), "none was chosen: the first is shown");
	end();
}

static void form(void)
{
	begin_one("{\"text\":\"where?\",\"form\":{\"host\":\"prod\",\"dry\":\"no\"}}", 24, 80);
	press("\n\n\n\n\n\n\n");
	later();
	press("\n\n");
	is_int(nr_sent, 0, "Enter, held down, sends no form");
	ok(ui.prompt.active && ui.prompt.choice, "it is asked");
	press("n");
	ok(nr_sent == 0 && !ui.prompt.active, "n sends nothing");
	press("\n\n\ny");
	is_int(nr_sent, 0, "y is dead for a moment");
	ok(ui.flush, "and the screen discards keys typed ahead");
	later();
	press("y");
	is_str(sent, "answer 3 {\"field\":[\"host=prod\",\"dry=no\"]}", "then it sends the answers on the screen");
	end();
}

/* A form with many fields scrolls. */
static void long_form(void)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	buf_puts(&body, "{\"text\":\"who?\",\"form\":[");
	for (int i = 1; i <= 40; i++)
		buf_printf(&body, "%s\"field%d\"", i > 1 ? "," : "", i);
	buf_puts(&body, "]}");
	begin_one(buf_cstr(&body), 24, 80);
	later();
	press("\n");
	for (int i = 1; i <= 40; i++)
		press("x\n");
	later();
	press("y");
	ok(strstr(sent, "\"field1=x\"") && strstr(sent, "\"field33=x\"") && strstr(sent, "\"field40=x\""), "all of 40 fields are asked for and sent");
	end();
}

static void high_risk(void)
{
	begin_one("{\"text\":\"which?\",\"choices\":[\"a\",\"b\"],\"risk\":\"high\"}", 24, 80);
	press("22222\n");
	is_int(nr_sent, 0, "high risk: the number alone does not do");
	later();
	press("\n\x1b");
	is_int(nr_sent, 0, "nor does Enter");
	press("2");
	later();
	press("y");
	is_str(sent, "answer 3 2", "y does");
	end();
	begin_one("{\"text\":\"what?\",\"risk\":\"high\"}", 24, 80);
	press("\nsome words\n");
	is_int(nr_sent, 0, "nor a text");
	later();
	press("y");
	is_str(sent, "answer 3 some words", "before y");
	end();
}

static void many(void)
{
	static const char body[] = "{\"text\":\"which?\",\"choices\":[\"c1\",\"c2\",\"c3\",\"c4\",\"c5\",\"c6\",\"c7\",\"c8\",\"c9\",\"c10\",\"c11\",\"c12\"]}";
	begin_one(body, 24, 80);
	ok(on_screen("c12"), "all of twelve choices are shown");
	press("1");
	ok(nr_sent == 0 && ui.prompt.active, "one digit is not a number yet");
	press("2\n");
	is_str(sent, "answer 3 12", "the number is typed");
	press("13\n");
	press("1x\n");
	is_int(nr_sent, 1, "an invalid number is not sent");
	end();
	begin_one("{\"text\":\"which?\",\"choices\":[\"2\",\"1\"]}", 24, 80);
	press("1");
	is_str(sent, "answer 3 2", "a choice that equals another's number is selected by its text");
	end();
}

static void out_of_sight(void)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	buf_puts(&body, "{\"text\":\"");
	for (int i = 0; i < 200; i++)
		buf_puts(&body, "long words ");
	buf_puts(&body, "\",\"choices\":[\"keep\",\"drop\"]}");
	begin_one(buf_cstr(&body), 16, 60);
	ok(!on_screen("drop") && on_screen("more below"), "a text longer than the screen");
	press("2");
	is_int(nr_sent, 0, "a choice that has not been shown cannot be taken");
	for (int i = 0; i < 40 && !on_screen("drop"); i++)
		press(" ");
	press("2");
	is_str(sent, "answer 3 2", "once it has been, it can");
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	answered_meanwhile();
	form();
	long_form();
	high_risk();
	many();
	out_of_sight();
	return done_testing();
}
