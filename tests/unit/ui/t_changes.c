/* A difference with sides too large for a screen is not read; a line reports this. */
#include <stdlib.h>
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/rows/pane.h"

static void put_text(struct buf *out, const char *name, size_t bytes)
{
	buf_printf(out, "{\"tree\": \"%s\", \"files\": {\"log\": \"", name);
	for (size_t i = 0; i < bytes / 10; i++)
		buf_puts(out, "123456789\\n");
	buf_printf(out, "%s\\n\"}}\n", name);
}

static void put_events(struct buf *out)
{
	buf_puts(
		out,
		"{\"at\": \"0\", \"kind\": \"session.start\", \"body\": {\"id\": \"s-0large\", \"name\": \"l\"}}\n"
		"{\"at\": \"2\", \"kind\": \"box.open\", \"body\": {\"name\": \"b\", \"driver\": \"process\"}}\n"
		"{\"at\": \"3\", \"kind\": \"box.ready\", \"box\": 2, \"body\": {\"profile\": \"enforced\"}}\n"
		"{\"at\": \"4\", \"kind\": \"snapshot.taken\", \"box\": 2, \"body\": {\"repo\": \"\", \"n\": 1, \"why\": \"action\", \"by\": [], "
		"\"tree\": \"@now\", \"under\": \"@then\", \"touched\": 1, \"changed\": 1}}\n");
}

static void put_fixture(struct buf *out, size_t bytes)
{
	put_text(out, "then", bytes);
	put_text(out, "now", bytes);
	put_events(out);
}

/* The text for a difference of files of @bytes; returns owned. */
static char *shown(size_t bytes, struct change *first)
{
	char path[] = "/tmp/t_changes-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct change *c;
	struct text t;
	struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT, out = BUF_INIT;
	put_fixture(&text, bytes);
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, text.data, text.len, &err) < 0 ||
	    source_open(&s, path, &err) < 0)
		exit(99);
	close(fd);
	unlink(path);
	source_sync(s, 0, 0);
	is_int(changes_list(s, 2, &c, &a), 1, "one file has changed");
	text_init(&t, &a, 200, 2, false);
	pane_change(&t, s, c, 1);
	text_plain(&t, true, &out);
	*first = (struct change){ .counted = c->counted, .note = c->note };
	arena_release(&a);
	source_close(&s);
	return mem_strdup(buf_cstr(&out));
}

/* Of one side the record has no more than the hash: there is nothing to hand to another tool. */
static void one_sided(void)
{
	char path[] = "/tmp/t_changes-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct change *c;
	struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT, old = BUF_INIT, now = BUF_INIT;
	buf_puts(
		&text,
		"{\"tree\": \"then\", \"files\": {\"log\": 7}}\n{\"tree\": \"now\", \"files\": {\"log\": \"x\", \"new\": \"y\"}}\n");
	put_events(&text);
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, text.data, text.len, &err) < 0 ||
	    source_open(&s, path, &err) < 0)
		exit(99);
	close(fd);
	unlink(path);
	source_sync(s, 0, 0);
	is_int(changes_list(s, 2, &c, &a), 2, "a file that has changed and a new one");
	ok(!change_contents(s, &c[0], &old, &now), "%s: not all is in the record", c[0].path);
	ok(change_contents(s, &c[1], &old, &now) && old.len == 0 &&
		   strcmp(buf_cstr(&now), "y") == 0,
	   "%s: a new file has one side", c[1].path);
	arena_release(&a);
	source_close(&s);
}

/* All changed files are deleted, so no tree is left and the difference is empty. The same applies to a dry run. */
static void only_gone(void)
{
	char path[] = "/tmp/t_changes-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct change *c;
	struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_puts(
		&text,
		"{\"tree\": \"then\", \"files\": {\"log\": \"x\"}}\n"
		"{\"at\": \"0\", \"kind\": \"session.start\", \"body\": {\"id\": \"s-00gone\", \"name\": \"l\"}}\n"
		"{\"at\": \"2\", \"kind\": \"box.open\", \"body\": {\"name\": \"b\", \"driver\": \"process\"}}\n"
		"{\"at\": \"4\", \"kind\": \"snapshot.taken\", \"box\": 2, \"body\": {\"repo\": \"\", \"n\": 1, \"under\": \"@then\"}}\n"
		"{\"at\": \"5\", \"kind\": \"preview.tree\", \"box\": 2, \"body\": {\"repo\": \"\", \"under\": \"@then\"}}\n"
		"{\"at\": \"5\", \"kind\": \"preview.ended\", \"box\": 2, \"body\": {\"trees\": [4]}}\n"
		"{\"at\": \"6\", \"kind\": \"snapshot.taken\", \"box\": 2, \"body\": {\"repo\": \"\", \"n\": 2}}\n");
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, text.data, text.len, &err) < 0 ||
	    source_open(&s, path, &err) < 0)
		exit(99);
	close(fd);
	unlink(path);
	fake_last->committed = 3;
	source_sync(s, 0, 0);
	ok(changes_list(s, 2, &c, &a) == 1 && c[0].op == 'D' && strcmp(c[0].path, "log") == 0,
	   "a file that is gone, and nothing else, is a change");
	fake_last->committed = 0;
	source_sync(s, 0, 0);
	ok(changes_dry_run(s, 5, &c) == 1 && c[0].op == 'D', "in a preview, too");
	is_int(changes_list(s, 2, &c, &a), 0, "it is back: nothing has changed");
	ok(changes_between(s, 2, 3, 6, &c) == 1 && c[0].op == 'A',
	   "which between the two is a file that has come");
	arena_release(&a);
	source_close(&s);
}

int main(void)
{
	struct change c;
	CLEANUP(free_ptr) char *small = shown(1000, &c);
	ok(c.counted && strstr(small, "+now") && strstr(small, "-then"),
	   "a small one by its lines");
	CLEANUP(free_ptr) char *middle = shown(2 << 20, &c);
	ok(!c.counted && c.note && strcmp(c.note, "large") == 0,
	   "past 1 MB lines are not counted in the list");
	ok(strstr(middle, "+now"), "but shown");
	CLEANUP(free_ptr) char *large = shown(CHANGE_READ_MAX, &c);
	is_str(large, " 4.1M bytes: too large to compare here; 'sandglass diff' prints it\n",
	       "a side over 4 MB gets one line");
	one_sided();
	only_gone();
	return done_testing();
}
