/* Selects lines with "v" over fixtures and checks the lines and the copied text. */
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/frame/select.h"
#include "ui/term/text.h"

static struct source *s;
static struct ui ui;
static uint64_t head; /* events after it are not there yet when the next screen begins; 0 all are */

static void keys(const char *text)
{
	for (; *text; text++) {
		ui.mono_us += 1000;
		ui_key(&ui, (uint32_t)(unsigned char)*text);
	}
}

static void begin_at(const char *path, const char *view, int rows, int cols)
{
	struct err err = ERR_INIT;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	fake_last->committed = head;
	head = 0;
	ui_init(&ui, &s, NULL, 1, rows, cols, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, view, &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
}

static void begin(const char *fixture, const char *view, int rows, int cols)
{
	CLEANUP(free_ptr) char *path = mem_printf("tests/screens/%s.jsonl", fixture);
	begin_at(path, view, rows, cols);
}

/* Of a fixture that is made here: session, agent 2 and box 3, then what is in @events. */
static void begin_with(const struct buf *events, const char *view, int rows, int cols)
{
	static const char start[] =
		"{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{\"id\":\"s-0choose\",\"name\":\"b\"}}\n"
		"{\"at\":\"1\",\"kind\":\"agent.start\",\"body\":{\"name\":\"a\",\"task\":\"t\"}}\n"
		"{\"at\":\"2\",\"kind\":\"box.open\",\"body\":{\"name\":\"b\",\"driver\":\"process\"}}\n"
		"{\"at\":\"3\",\"kind\":\"box.ready\",\"box\":3,\"body\":{\"profile\":\"enforced\"}}\n";
	char path[] = "/tmp/t_select-XXXXXX";
	struct err err = ERR_INIT;
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, start, strlen(start), &err) < 0 || fd_write_all(fd, events->data, events->len, &err) < 0)
		exit(99);
	close(fd);
	begin_at(path, view, rows, cols);
	unlink(path);
}

static void put_action(struct buf *out, const char *name)
{
	buf_printf(out, "{\"at\":\"4\",\"kind\":\"action.requested\",\"agent\":2,\"box\":3,\"body\":{\"kind\":\"exec\",\"cmd\":\"%s\"}}\n", name);
}

static void put_output(struct buf *out, int action, const char *name, int lines)
{
	buf_printf(out, "{\"at\":\"5\",\"kind\":\"output\",\"agent\":2,\"box\":3,\"action\":%d,\"body\":{\"stream\":1},\"out\":\"", action);
	for (int i = 0; i < lines; i++)
		buf_printf(out, "%s %d, and some words to fill it up\\n", name, i);
	buf_puts(out, "\"}\n");
}

/* As if no more had been written yet; 0 all. */
static void upto(uint64_t seq)
{
	fake_last->committed = seq;
	ui_sync(&ui);
	ui_draw(&ui);
}

static const char *chosen(void)
{
	static struct buf b;
	buf_reset(&b);
	select_text(&ui, &b);
	return buf_cstr(&b);
}

static void end(void)
{
	ui_release(&ui);
	source_close(&s);
}

/* The text copied since the last time; "" none. */
static const char *copied(void)
{
	static struct buf got;
	buf_reset(&got);
	if (ui.wish == WISH_COPY)
		buf_append(&got, ui.wish_text.data, ui.wish_text.len);
	ui.wish = WISH_NONE;
	buf_reset(&ui.wish_text);
	return buf_cstr(&got);
}

static size_t lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Rows of the grid that are marked at column @col. */
static int marked(int col)
{
	int n = 0;
	ui_draw(&ui);
	for (int row = 0; row < ui.grid.rows; row++)
		n += (ui.grid.cell[row * ui.grid.cols + col].flags & GRID_CURSOR) != 0;
	return n;
}

static void a_diff(void)
{
	begin("fleet", "diff", 24, 80);
	is_int(marked(5), 0, "nothing is chosen before");
	keys("vjj");
	is_int(marked(5), 3, "v and two lines more");
	keys("k");
	is_int(marked(5), 2, "and one less");
	keys("y");
	const char *text = copied();
	is_int((int64_t)lines(text), 2, "y copies them");
	ok(strncmp(text, "@@", 2) == 0 || strchr("+-@ ", *text), "with their marks");
	is_int(marked(5), 0, "then none are chosen");
	keys("v3j");
	is_int(marked(5), 4, "a number before a key");
	keys(":copy\n");
	is_int((int64_t)lines(copied()), 4, "\":copy\" does the same");
	keys("vj");
	ui_key(&ui, K_ESC);
	is_str(ui_top(&ui)->ops->name, "diff", "Esc leaves the choice, not the screen");
	keys("vG\n");
	ok(lines(copied()) > 4, "to the end, Enter copies");
	keys("v|");
	ok(ui.wish == WISH_PAGE && lines(buf_cstr(&ui.wish_text)) == 1, "the pager has what is chosen");
	ui.wish = WISH_NONE;
	ui_resize(&ui, 24, 70);
	ok(!select_on(&ui), "another width is another text");
	end();
}

static void a_log(void)
{
	begin("fleet", "log", 36, 120);
	keys("gvjj");
	is_int(marked(5), 3, "rows of the log");
	uint64_t third = s->model.rows.row[2].seq;
	CLEANUP(free_ptr) char *name = mem_printf("#%llu ", (unsigned long long)third);
	keys("y");
	const char *text = copied();
	ok(lines(text) == 3 && strstr(text, name), "are copied with their numbers");
	keys("gv/make\n");
	ok(marked(5) > 1, "a search chooses as far as its hit");
	keys("F");
	ok(!select_on(&ui), "another verb ends it");
	end();
}

static void an_agent(void)
{
	begin("fleet", "agent", 24, 80);
	keys("v");
	ok(!select_on(&ui), "beside the timeline v is the details");
	keys("tv");
	ok(select_on(&ui), "in the text it chooses");
	keys("jy");
	ok(lines(copied()) >= 2, "the transcript");
	keys("vv");
	ok(!select_on(&ui), "once more: the details");
	keys("vy");
	ok(strstr(copied(), "#"), "which are lines, too");
	keys("vGy");
	ok(strstr(copied(), "\nverdict      ask\n"), "each with its name");
	keys("dvGy");
	ok(strstr(copied(), "@@"), "and the difference");
	end();
}

/* A line of 300 cells on a screen of 80 is one line. */
static void wrapped(void)
{
	struct arena a = ARENA_INIT;
	struct text t;
	CLEANUP(buf_release) struct buf out = BUF_INIT, line = BUF_INIT;
	for (int i = 0; i < 300; i++)
		buf_putc(&line, (char)('a' + i % 26));
	text_init(&t, &a, 80, 3, false);
	text_add(&t, ROLE_TEXT, "+", line.data, line.len, 0);
	text_puts(&t, ROLE_TEXT, "next");
	text_plain_rows(&t, 0, t.nr, true, &out);
	CLEANUP(free_ptr) char *want = mem_printf("+%s\n next\n", buf_cstr(&line));
	is_str(buf_cstr(&out), want, "a wrapped line is one line again");
	is_int(t.row[1].wrapped, true, "and is marked as wrapped");
	text_init(&t, &a, 14, 0, false);
	static const char wide[] = " bbbbbbbbbbbbb\xe6\xbc\xa2 end";
	text_add(&t, ROLE_TEXT, NULL, wide, strlen(wide), TEXT_SOFT);
	buf_reset(&out);
	text_plain(&t, false, &out);
	is_str(buf_cstr(&out), " bbbbbbbbbbbbb\xe6\xbc\xa2 end\n", "also if the last word leaves no room for a wide character");
	arena_release(&a);
}

/* Output longer than the live window starts at the selected place, not at the beginning. */
static void long_output(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT, top = BUF_INIT;
	put_action(&f, "make");
	put_output(&f, 5, "line", 1000);
	begin_with(&f, "agent", 24, 80);
	keys("o");
	ui_draw(&ui);
	struct looked l = { 0 };
	ui_top(&ui)->ops->look(ui_top(&ui)->self, &ui, &l);
	ok(l.text->nr < 900, "%zu of 1000 lines are read while it follows", l.text->nr);
	text_plain_rows(l.text, l.seen.first, l.seen.first + 1, l.gutters, &top);
	keys("v");
	ui_draw(&ui);
	is_str(chosen(), buf_cstr(&top), "the text stands where it was");
	end();
}

/* New rows, and a click: the selected lines stay, or none are selected. */
static void meanwhile(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	put_action(&f, "first");
	put_output(&f, 5, "first", 30);
	put_output(&f, 5, "more", 300);
	put_action(&f, "second");
	put_output(&f, 8, "second", 400);
	head = 6;
	begin_with(&f, "agent", 36, 120);
	keys("ovjj");
	CLEANUP(free_ptr) char *was = mem_strdup(chosen());
	ok(strncmp(was, "first ", 6) == 0 && lines(was) == 3, "three lines of the output");
	upto(7);
	is_str(chosen(), was, "more of it comes: the same lines");
	upto(0);
	is_str(chosen(), was, "another action comes: the same lines");
	keys("y");
	is_str(copied(), was, "they are copied");
	keys("vj");
	ui_mouse(&ui, (struct mouse){ .kind = MOUSE_PRESS, .row = 4, .col = 5 });
	ui_draw(&ui);
	ok(!select_on(&ui), "a click ends the choice");
	keys("y");
	is_int(ui.wish == WISH_COPY, false, "then nothing is copied");
	end();
}

/* More comes than is looked at of an output: it still begins where it did, and says that there is more. */
static void much_more(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	put_action(&f, "first");
	put_output(&f, 5, "first", 100);
	put_output(&f, 5, "more", 8000);
	put_output(&f, 5, "much", 20000);
	head = 6;
	begin_with(&f, "agent", 36, 120);
	keys("ovj");
	CLEANUP(free_ptr) char *was = mem_strdup(chosen());
	is_int((int64_t)lines(was), 2, "two lines of the output");
	upto(7);
	is_str(chosen(), was, "they stay selected");
	upto(0);
	is_str(chosen(), was, "and stay selected as more comes");
	keys("G");
	ok(strstr(chosen(), "more 7999,") && strstr(chosen(), "G jumps to the end"), "the end of the shown output reports that there is more");
	keys("\x1bG");
	ui_draw(&ui);
	keys("v");
	ok(strncmp(chosen(), "much ", 5) == 0, "G jumps to the end");
	end();
}

/* A copy of a long output has its end, and names how much is before it. */
static void long_copy(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	unsigned long long before = 0, action = 0;
	put_action(&f, "make");
	put_output(&f, 5, "line", 40000);
	begin_with(&f, "agent", 36, 120);
	uint64_t size = session_output_size(s->session, 5, 1);
	keys("yo");
	const char *text = copied(), *rest = strchr(text, '\n');
	is_int(sscanf(text, "(%llu bytes before this: 'out %llu'", &before, &action), 2, "a line names what is left out");
	is_int((int64_t)action, 5, "of its action");
	ok(rest && strlen(rest + 1) + before == size, "the rest is all of the end");
	end();
	buf_reset(&f);
	put_action(&f, "make");
	put_output(&f, 5, "line", 10);
	begin_with(&f, "agent", 36, 120);
	keys("yo");
	is_int((int64_t)lines(copied()), 10, "a short one has its lines alone");
	end();
}

/* A model's call: its words and the tools that it calls, not the bytes on the wire. */
static void a_model(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	buf_puts(&f, "{\"at\":\"4\",\"kind\":\"action.requested\",\"agent\":2,\"body\":{\"kind\":\"model\"}}\n"
		     "{\"at\":\"5\",\"kind\":\"output\",\"agent\":2,\"action\":5,\"body\":{\"stream\":5},\"out\":\"data: {}\\n\"}\n"
		     "{\"at\":\"5\",\"kind\":\"output\",\"agent\":2,\"action\":5,\"body\":{\"stream\":6},\"out\":\"I look first.\"}\n"
		     "{\"at\":\"6\",\"kind\":\"model.reply\",\"agent\":2,\"action\":5,\"body\":{\"text\":\"I look first.\","
		     "\"calls\":[{\"name\":\"shell\",\"args\":{\"cmd\":\"ls -l\"}},"
		     "{\"name\":\"edit\",\"bad\":\"{broken\",\"why\":\"no JSON\"},{\"name\":\"none\"}]}}\n"
		     "{\"at\":\"6\",\"kind\":\"action.ended\",\"agent\":2,\"action\":5,\"body\":{\"end\":\"ok\"}}\n");
	head = 7;
	begin_with(&f, "agent", 36, 120);
	keys("ov");
	is_str(chosen(), "I look first.\n", "what a model says, while it says it");
	keys("\x1b");
	upto(0);
	keys("gvjj");
	ok(strstr(chosen(), "I look first.") && strstr(chosen(), "calls shell") && strstr(chosen(), "\"cmd\":\"ls -l\""),
	   "and which tools it calls, with what");
	ok(!strstr(chosen(), "data:"), "not in the wire format");
	keys("\x1b");
	keys("gvjjjjjjjj");
	ok(strstr(chosen(), "calls edit with invalid JSON") && strstr(chosen(), "{broken") && strstr(chosen(), "calls none with"),
	   "invalid JSON is shown as written");
	end();
}

/* The sandbox's difference has changed: the same row holds another text. */
static void moved_away(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	buf_puts(&f, "{\"tree\":\"A\",\"files\":{\"f\":\"one\\ntwo\\n\"}}\n{\"tree\":\"B\",\"files\":{\"f\":\"ONE\\ntwo\\n\"}}\n"
		     "{\"tree\":\"C\",\"files\":{\"f\":\"three\\ntwo\\n\"}}\n");
	put_action(&f, "first");
	for (char tree = 'B'; tree <= 'C'; tree++)
		buf_printf(&f, "{\"at\":\"6\",\"kind\":\"snapshot.taken\",\"agent\":2,\"box\":3,\"action\":5,\"body\":{\"tree\":\"@%c\",\"under\":\"@A\","
			   "\"repo\":\"\",\"by\":[5],\"prev\":0,\"changes\":[{\"op\":\"M\",\"path\":\"f\"}]}}\n", tree);
	head = 6;
	begin_with(&f, "diff", 36, 120);
	keys("gvG");
	ok(strstr(chosen(), "ONE"), "all of a difference: %s", chosen());
	upto(0);
	ok(!select_on(&ui) && strstr(ui.message, "have changed"), "a changed difference clears the selection with a message");
	is_str(chosen(), "", "nothing is copied");
	end();
}

static void many_rows(void)
{
	CLEANUP(buf_release) struct buf f = BUF_INIT;
	for (int i = 0; i < 20000; i++)
		buf_printf(&f, "{\"at\":\"4\",\"kind\":\"note\",\"agent\":2,\"body\":{\"text\":\"note %d of many, with some words to fill it up\"}}\n", i);
	begin_with(&f, "log", 36, 120);
	keys("gvG");
	const char *text = chosen();
	ok(strlen(text) < SELECT_MAX + 1000 && strstr(text, "\n.. and "), "text past the limit is left out with a line");
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	a_diff();
	a_log();
	an_agent();
	wrapped();
	long_output();
	meanwhile();
	much_more();
	long_copy();
	a_model();
	moved_away();
	many_rows();
	return done_testing();
}
