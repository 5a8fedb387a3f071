/* The ways to each command of the registry and to each verb of the screens: the ":" line, the palette (keys and mouse),
 * line mode, keys. What the tables hold is what is tried, so that a new row cannot be left out; that a supervisor knows
 * each command is read from its table of handlers. */
#include <unistd.h>

#include "base/fd.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/frame/cmdtable.h"
#include "ui/line.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

static char sent[64];

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self, (void)nr, (void)opts, (void)done, (void)done_self;
	snprintf(sent, sizeof(sent), "%s", words[0]);
}
static const struct act act = { .command = command };

static struct source *s;
static struct ui ui;

static void begin(void)
{
	struct err err = ERR_INIT;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, &act, 1, 36, 120, false);
	ui_sync(&ui);
	ui_draw(&ui);
	sent[0] = 0;
}

static void end(void)
{
	ui_release(&ui);
	source_close(&s);
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
	ui_draw(&ui);
}

/* The row of the screen that has @text; -1 none. */
static int row_with(const char *text)
{
	char *screen = NULL;
	size_t len = 0;
	int row = 0, found = -1;
	FILE *to = open_memstream(&screen, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	for (const char *p = screen; *p && row < ui.grid.rows; row++) {
		size_t n = strcspn(p, "\n");
		if (found < 0 && memmem(p, n, text, strlen(text)))
			found = row;
		p += n + (p[n] != 0);
	}
	free(screen);
	return found;
}

/* Gives each command valid arguments: it is sent, or its screen opens. */
static bool by_line(const struct cmd_row *c)
{
	begin();
	size_t depth = ui.depth;
	CLEANUP(free_ptr) char *text = mem_printf(":%s%s\n", c->name, !*c->usage ? "" : strcmp(c->name, "hold") == 0 ? " kind:exec" : " 767 x");
	press(text);
	bool is = strcmp(sent, c->name) == 0 || ui.depth > depth || ui.prompt.active || ui.quit;
	end();
	return is;
}

static bool by_palette(const struct cmd_row *c, bool mouse)
{
	begin();
	CLEANUP(free_ptr) char *text = mem_printf("\020%s", c->name), *shown = mem_printf(" :%s ", c->name);
	press(text);
	int row = row_with(shown);
	if (mouse && row >= 0) {
		for (int i = 0; i < 2 && strcmp(ui_top(&ui)->ops->name, "palette") == 0; i++)
			ui_mouse(&ui, (struct mouse){ MOUSE_PRESS, row, 40 });
		row = ui.prompt.active && strncmp(buf_cstr(&ui.prompt.text), c->name, strlen(c->name)) == 0	? row
		      : *sent ? row
			      : -1;
	}
	end();
	return row >= 0;
}

static bool by_words(const struct cmd_row *c)
{
	char *out = NULL;
	size_t len = 0;
	begin();
	FILE *to = open_memstream(&out, &len);
	struct line *l = line_new(s, &act, to, false, false);
	CLEANUP(free_ptr) char *text = mem_printf("%s 767 x", c->name);
	line_typed(l, text);
	bool is = strcmp(sent, c->name) == 0;
	line_free(&l);
	fclose(to);
	free(out);
	end();
	return is;
}

static void commands(void)
{
	CLEANUP(buf_release) struct buf handlers = BUF_INIT;
	struct err err = ERR_INIT;
	ok(file_read("src/supervisor/super_cmd.c", &handlers, 1 << 20, &err) == 0, "the table of handlers");
	for (size_t i = 0; i < cmd_count(); i++) {
		const struct cmd_row *c = cmd_at(i);
		if (!c->supervisor)
			continue;
		CLEANUP(free_ptr) char *handler = mem_printf("{ \"%s\", cmd_", c->name);
		ok(strstr(buf_cstr(&handlers), handler) != NULL, "%s: a supervisor knows it", c->name);
		if (c->hidden)
			continue;
		ok(by_line(c), "%s: the : line", c->name);
		ok(by_palette(c, false), "%s: the palette", c->name);
		ok(by_palette(c, true), "%s: the mouse, in the palette", c->name);
		ok(by_words(c), "%s: line mode", c->name);
	}
}

static bool has_key(enum verb v)
{
	for (size_t i = 0; i < keymap_count(); i++)
		if (keymap_row(i)->verb == v)
			return true;
	return false;
}

static void words_too_many(void)
{
	begin();
	press(":queue it\n");
	ok(strstr(ui.message, "takes only") != NULL, "an argument for a screen is reported, without proposing the same screen");
	end();
}

static void verbs(void)
{
	for (int v = 1; v < VERB_NR; v++) {
		const char *name = verb_name((enum verb)v);
		ok(has_key((enum verb)v) || view_find(name) || verb_group((enum verb)v) == GROUP_REPLAY || v == VERB_GROUP || v == VERB_AGENT,
		   "%s: a key, or a screen's name", name);
		if (verb_group((enum verb)v) == GROUP_DECIDE || verb_group((enum verb)v) == GROUP_REPLAY)
			continue; /* what decides is in its dialog only */
		begin();
		CLEANUP(free_ptr) char *text = mem_printf(":%s\n", name);
		press(text);
		ok(!strstr(ui.message, "unknown command"), "%s: the : line", name);
		end();
	}
}

static bool seen(const char *text)
{
	return row_with(text) >= 0;
}

/* Commands that print in a shell have a screen here. */
static void looked_at(void)
{
	begin();
	press(":out 697\n");
	ok(strcmp(ui_top(&ui)->ops->name, "agent") == 0 && seen("[o] output") && seen("#697 make test"), "out N: the output of the action");
	press(":show 748\n");
	ok(seen("[v] details") && seen("#748 git commit"), "show N: the same in full");
	press(":out nothing\n");
	ok(strstr(ui.message, "out needs the number of an action"), "%s", ui.message);
	press(":shell\n");
	is_int(ui.wish, 0, "shell: asks first, as s does");
	press("y");
	is_int(ui.wish, WISH_SHELL, "then it is one's own in the box");
	ui.wish = WISH_NONE;
	press(":events\n");
	is_str(ui_top(&ui)->ops->name, "log", "events: the log");
	press(":ls\n");
	is_str(ui_top(&ui)->ops->name, "fleet", "ls: the fleet");
	ui_say(&ui, ROLE_DIM, "by the way");
	press("L");
	ok(!strstr(ui.message, "by the way"), "the next screen drops the message");
	end();
}

/* Of a screen with files one is compared; where only an agent is shown, its files come first. */
static void difftool(void)
{
	begin();
	size_t at = 0;
	while (at + 1 < s->model.nr_agents && strcmp(s->model.agent[at].name, "fix-parser") != 0)
		at++;
	ui_open(&ui, "agent", &(struct subject){ .agent = s->model.agent[at].id });
	press("\x14");
	is_str(ui_top(&ui)->ops->name, "diff", "Ctrl-t beside an agent: its files");
	is_int(ui.wish, WISH_NONE, "nothing is run yet");
	press("]\x14");
	is_int(ui.wish, WISH_COMPARE, "and there: the file in the person's own tool");
	ok(ui.wish_text.len > 0 && strncmp(buf_cstr(&ui.wish_text), "empty.blk\n", 10) == 0, "the one that is shown: %.20s", buf_cstr(&ui.wish_text));
	ui.wish = WISH_NONE;
	press(":difftool\n");
	is_int(ui.wish, WISH_COMPARE, "by its name, too");
	end();
}

int main(void)
{
	char dir[] = "/tmp/t_ways-XXXXXX";
	struct err err = ERR_INIT;
	setenv("TZ", "UTC", 1);
	if (!mkdtemp(dir))
		return 99;
	setenv("XDG_STATE_HOME", dir, 1);
	setenv("XDG_CONFIG_HOME", dir, 1);
	commands();
	words_too_many();
	verbs();
	difftool();
	looked_at();
	ok(dir_remove(dir, &err) == 0, "tidy");
	return done_testing();
}
