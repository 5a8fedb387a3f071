/* Finds rows and gives commands by keys over a fixture. Checks the screen and the commands sent. */
#include <sys/stat.h>
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/frame/cmdtable.h"
#include "ui/frame/finder_priv.h"
#include "ui/frame/keymap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/frame/verifying.h"

static struct source *s;
static struct ui ui;
static struct buf sent, screen;

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self, (void)done, (void)done_self;
	buf_reset(&sent);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&sent, "%s[%s]", i ? " " : "", words[i]);
	if (opts && json_object_size(opts) > 0) {
		buf_putc(&sent, ' ');
		json_dump_buf(opts, &sent);
	}
}
static const struct act act = { .command = command };

static void keys(const char *text)
{
	for (; *text; text++) {
		ui.mono_us += 1000;
		ui_key(&ui, (uint32_t)(unsigned char)*text);
	}
}

static const char *shot(void)
{
	char *text = NULL;
	size_t len = 0;
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	buf_reset(&screen);
	buf_puts(&screen, text);
	free(text);
	return buf_cstr(&screen);
}

static void begin(const char *view)
{
	struct err err = ERR_INIT;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, &act, 1, 36, 120, false);
	ui_sync(&ui);
	ui_draw(&ui);
	if (strcmp(view, "fleet") != 0)
		ui_open(&ui, view, &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
}

static void end(void)
{
	ui_release(&ui);
	source_close(&s);
}

static void filters(void)
{
	begin("log");
	size_t all = ui_rows(&ui, 0, &s->model.rows)->nr;
	keys("fkind:exec\n");
	is_str(ui_filter(&ui), "kind:exec", "Enter sets the filter");
	const struct rows *r = ui_rows(&ui, 0, &s->model.rows);
	ok(r->nr > 0 && r->nr < all, "and some rows go");
	for (size_t i = 0; i < r->nr; i++)
		if (strcmp(model_action(&s->model, r->row[i].seq)->kind, "exec") != 0)
			ok(false, "row %lu is not an exec", (unsigned long)r->row[i].seq);
	ok(strstr(shot(), "f: kind:exec"), "the second line shows the filter");
	keys("\033");
	is_str(ui_filter(&ui), "", "Esc takes it away");
	ok(ui_rows(&ui, 0, &s->model.rows) == &s->model.rows, "all rows are back");
	keys("fkind:exce\n");
	ok(ui.prompt.active && strstr(shot(), "did you mean \"exec\"?"), "an unknown value is reported and not applied");
	keys("\033");
	ok(!ui.prompt.active, "Esc leaves the line");
	keys("fki\t");
	is_str(buf_cstr(&ui.prompt.text), "kind:", "Tab completes a field");
	keys("ex\t");
	is_str(buf_cstr(&ui.prompt.text), "kind:exec", "and a value");
	keys(" agent:\t\t");
	ok(strncmp(buf_cstr(&ui.prompt.text), "kind:exec agent:", 16) == 0 && ui.prompt.text.len > 16, "agents by name");
	keys("\033f\v");
	ui_key(&ui, K_UP);
	is_str(buf_cstr(&ui.prompt.text), "kind:exec", "Up brings the last one back");
	keys("\n:filter save runs\n");
	keys("\033f\x15@runs is:error\n");
	is_str(ui_filter(&ui), "@runs is:error", "a saved one by its name");
	keys(":filter @runs and exce:\n");
	is_str(ui_filter(&ui), "@runs is:error", "an invalid filter leaves the old one in force");
	keys(":filter save\n");
	is_str(ui_filter(&ui), "@runs is:error", "saving without a name keeps the filter");
	ok(strstr(ui.message, ":filter save NAME"), "and shows the syntax: %s", ui.message);
	for (size_t i = 0; i < ui_rows(&ui, 0, &s->model.rows)->nr; i++) {
		const struct model_action *a =
			model_action(&s->model, ui_rows(&ui, 0, &s->model.rows)->row[i].seq);
		ok(a && a->ended && !a->ok, "#%lu has failed", (unsigned long)a->id);
	}
	end();
}

static void searching(void)
{
	begin("log");
	keys("/MAKE\n");
	ok(strstr(ui.message, "not found"), "capitals count when typed: %s", ui.message);
	keys("/make\n");
	ok(strstr(ui.message, "/make  "), "found: %s", ui.message);
	CLEANUP(free_ptr) char *first = mem_strdup(ui.message);
	unsigned at = 0, of = 0;
	ok(sscanf(ui.message, "/make %u/%u", &at, &of) == 2 && at >= 1 && of > 1, "counted");
	for (unsigned i = 0; i < of; i++)
		keys("n");
	ok(strncmp(ui.message, first, strlen("/make  1/9")) == 0 || strstr(ui.message, "again"), "round: %s", ui.message);
	keys("\033");
	ok(!ui.find->needle, "Esc forgets it");
	end();
}

static void jumping(void)
{
	struct subject on = { 0 };
	begin("log");
	keys("gg]e");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	const struct model_action *a = model_action(&s->model, on.action);
	ok(a && a->ended && !a->ok, "]e goes to an error");
	keys("ma");
	uint64_t marked = on.action;
	keys("G'a");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	is_int((int64_t)on.action, (int64_t)marked, "'a comes back to the mark");
	keys("gg]");
	ui.mono_us += 600000;
	ok(strstr(shot(), "a approval"), "after half a second the choices of ] are shown");
	keys("\033");
	keys("m\nthis one\n");
	ok(strstr(buf_cstr(&sent), "[mark] ["), "a mark with a text is sent: %s", buf_cstr(&sent));
	end();
}

static void commands(void)
{
	begin("fleet");
	keys(":aprove 5\n");
	ok(strstr(ui.message, "did you mean 'approve'?"), "%s", ui.message);
	keys(":approve 5 --session 'git fetch *' -m ok\n");
	is_str(buf_cstr(&sent), "[approve] [5] {\"session\":\"git fetch *\",\"message\":\"ok\"}", "options and quotes");
	keys(":approve 5 --sesion x\n");
	ok(strstr(ui.message, "has no option '--sesion'"), "%s", ui.message);
	buf_reset(&sent);
	keys(":!ls\n");
	ok(sent.len == 0 && ui.message_role == ROLE_ERROR, "nothing of this machine is run");
	keys(":hold kind:exec exit:1\n");
	ok(sent.len == 0 && strstr(ui.message, "exit"), "a hold knows only what is known before: %s", ui.message);
	keys(":hold kind:exec cmd~\"git push\"\n");
	is_str(buf_cstr(&sent), "[hold] [kind:exec cmd~\"git push\"]", "a hold goes as it was typed");
	keys(":budg\t");
	is_str(buf_cstr(&ui.prompt.text), "budget ", "Tab completes a command");
	keys("\033:approve --se\t");
	is_str(buf_cstr(&ui.prompt.text), "approve --session ", "and its options");
	keys("\033:theme light\n");
	ok(strstr(ui.message, ":set theme"), "a setting is not a command: %s", ui.message);
	keys(":set keys em");
	ui_key(&ui, K_TAB);
	is_str(buf_cstr(&ui.prompt.text), "set keys emacs ", "Tab completes the value of a setting, after a space, too");
	keys("\n");
	ok(keymap_is_emacs(), "which is set so");
	keys(":set keys own\n");
	ok(!keymap_is_emacs(), "and back");
	keys(":set keys\n");
	ok(strstr(ui.message, "keys=own") && strstr(ui.message, "ambiwidth=1"), "what the settings are: %s", ui.message);
	keys(":set\n");
	ok(strstr(ui.message, " mouse noascii "), "without a name, too");
	keys(":set nonsense\n");
	ok(ui.message_role == ROLE_ERROR && strstr(ui.message, "no setting 'nonsense'"), "%s", ui.message);
	keys(":set ascii\n");
	ok(ui.grid.ascii && ui.redraw, "rules in ASCII: %s", ui.message);
	keys(":set noascii\n");
	ok(!ui.grid.ascii, "and back");
	keys(":set mouse=maybe\n");
	is_str(ui.message, "mouse is on or off", "a switch that is neither");
	keys(":set ascii=on\n");
	ok(ui.grid.ascii, "a switch with a value");
	keys(":set ascii off\n");
	ok(!ui.grid.ascii, "either way");
	keys(":set popup=true\n");
	ok(ui.popup, "as the list of settings says it");
	keys(":set popup=false\n");
	ui.ascii_only = ui.grid.ascii = true;
	keys(":set noascii\n");
	ok(ui.grid.ascii, "not where the terminal shows nothing else: %s", ui.message);
	ui.ascii_only = ui.grid.ascii = false;
	keys(":set approvals.arm_ms=20\n");
	ok(ui.dead_us != 20000 && ui.message_role == ROLE_ERROR, "%s", ui.message);
	keys(":set approvals.arm_ms=700\n");
	is_int(ui.dead_us, 700000, "how long a question takes no keys");
	keys(":agent fix-l");
	ui_key(&ui, K_TAB);
	is_str(buf_cstr(&ui.prompt.text), "agent fix-lexer ", "the name of an agent is completed for a screen");
	keys("\n");
	struct subject on = { 0 };
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	is_str(model_agent(&s->model, on.agent)->name, "fix-lexer", "and it is opened on that one");
	keys("\033:agent nobody\n");
	ok(ui.message_role == ROLE_ERROR && strstr(ui.message, "takes only the name of an agent or a sandbox: ") && strstr(ui.message, "fix-lexer"), "%s", ui.message);
	size_t open = ui.depth;
	keys(":tree nowhere\n");
	ok(ui.message_role == ROLE_ERROR && strstr(ui.message, "sandbox or file 'nowhere' not found here; sandboxes: fix-1, "), "%s", ui.message);
	is_int((long long)ui.depth, (long long)open, "and no other box's files are opened for it");
	keys(":tree fix-2 nowhere\n");
	ok(strstr(ui.message, "sandbox 'fix-2' has no file 'nowhere' here"), "%s", ui.message);
	keys(":tree fix-2\n");
	ok(strstr(shot(), "files  process:fix-2"), "the files of the box that is named");
	keys("\033");
	keys(":approve ");
	is_int((long long)ui.find->nr_choices, (long long)s->model.nr_held, "approve completes pending actions");
	for (size_t i = 0; i < ui.find->nr_choices; i++)
		is_int(atoll(ui.find->choice[i]), (long long)s->model.held[i], "its number");
	keys("\033:kill 4");
	for (size_t i = 0; i < ui.find->nr_choices; i++)
		ok(!model_action(&s->model, strtoull(ui.find->choice[i], NULL, 10))->ended, "kill completes running actions: %s", ui.find->choice[i]);
	keys("\033:goto 99999\n");
	ok(strstr(ui.message, "99999 not found"), "goto: %s", ui.message);
	keys(":diff 99999\n");
	ok(strstr(ui.message, "'99999' not found"), "diff: %s", ui.message);
	keys(":goto ");
	ok(ui.find->nr_choices > s->model.nr_held, "goto completes every action");
	keys("\033:sql SELECT 1\n");
	ok(strstr(ui.message, "sql:"), "no SQL over a fixture: %s", ui.message);
	keys(":export\n");
	ok(strstr(ui.message, "sandglass export"), "%s", ui.message);
	keys(":report\n");
	ok(strstr(ui.message, "in another terminal: sandglass report s-0192ab"), "the message gives the whole command line: %s", ui.message);
	keys(":when isdigit(peek\n");
	ok(strstr(ui.message, "sandglass when --at s-0192ab isdigit(peek"), "with the typed expression: %s", ui.message);
	keys(":search kind:exec is:error\n");
	is_str(ui_top(&ui)->ops->name, "log", "search is the log here");
	is_str(ui_filter(&ui), "kind:exec is:error", "with the search text as its filter");
	keys("\033\033");
	keys(":blame nowhere.c\n");
	ok(strstr(ui.message, "file 'nowhere.c' not found here"), "%s", ui.message);
	keys(":verify x\n");
	ok(strstr(ui.message, "opens a screen") && strstr(ui.message, "sandglass verify x"), "the message names the screen and the command: %s", ui.message);
	end();
}

/* The wheel scrolls what it turns over, whichever pane has the keys. */
static void wheel(void)
{
	struct subject before = { 0 }, after = { 0 };
	begin("fleet");
	ui_open(&ui, "agent", &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
	keys("\n");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &before);
	ui_mouse(&ui, (struct mouse){ MOUSE_WHEEL_UP, 8, 100 });
	ui_draw(&ui);
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &after);
	is_int((long long)after.action, (long long)before.action, "over the text the timeline stays");
	ui_mouse(&ui, (struct mouse){ MOUSE_WHEEL_UP, 8, 5 });
	ui_draw(&ui);
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &after);
	ok(after.action < before.action, "over the timeline it moves");
	ui_say(&ui, ROLE_HELD, "look at it, then y");
	keys("\033\033");
	ok(!strstr(ui.message, "then y"), "what a screen wants of a person goes with it");
	end();
}

/* Scrolling with it over the text is not looking at the next part: that would count as seen. */
static void wheel_review(void)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf was = BUF_INIT;
	if (source_open(&s, "tests/screens/review.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, &act, 1, 36, 120, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, "review", &(struct subject){ .agent = s->model.agent[0].id });
	buf_puts(&was, shot());
	ui_mouse(&ui, (struct mouse){ MOUSE_WHEEL_DOWN, 10, 5 });
	ok(strcmp(shot(), buf_cstr(&was)) != 0, "over the parts the next is chosen");
	ui_mouse(&ui, (struct mouse){ MOUSE_WHEEL_UP, 10, 5 });
	buf_reset(&was);
	buf_puts(&was, shot());
	ui_mouse(&ui, (struct mouse){ MOUSE_WHEEL_DOWN, 10, 90 });
	ok(strcmp(shot(), buf_cstr(&was)) == 0, "over a text that is seen whole nothing happens");
	ui_mouse(&ui, (struct mouse){ MOUSE_PRESS, 5, 5 });
	ok(strstr(shot(), "hunk 1 of 3"), "a click on a part chooses it");
	ui_open(&ui, "diff", &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
	ui_mouse(&ui, (struct mouse){ MOUSE_PRESS, 4, 5 });
	ok(strstr(shot(), "file 2 of "), "and one on a file, its changes");
	end();
}

static void palette(void)
{
	begin("fleet");
	keys("\020log of\n");
	is_str(ui_top(&ui)->ops->name, "log", "the palette runs a verb");
	keys("\020");
	is_str(ui_top(&ui)->ops->name, "palette", "Ctrl-p opens it anywhere");
	keys("budget\t");
	ok(ui.prompt.active && strcmp(buf_cstr(&ui.prompt.text), "budget ") == 0, "Tab puts it on the line");
	keys("\033\020approve once");
	ui_draw(&ui);
	buf_reset(&sent);
	ok(strstr(shot(), "nothing has these") || !strstr(shot(), "approve once"), "decisions are not in it");
	end();
}

static void history(void)
{
	struct stat st;
	char dir[] = "/tmp/t_finder-XXXXXX";
	struct err err = ERR_INIT;
	ok(mkdtemp(dir), "a folder");
	CLEANUP(free_ptr) char *path = mem_printf("%s/state/history", dir);
	begin("log");
	history_file(&ui, path);
	keys("fkind:exec\n:secret set x\n: say fix hello\n:goto 3\n");
	end();
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "0600");
	begin("log");
	history_file(&ui, path);
	keys(":");
	ui_key(&ui, K_UP);
	is_str(buf_cstr(&ui.prompt.text), "goto 3", "the next run has it");
	ui_key(&ui, K_UP);
	is_str(buf_cstr(&ui.prompt.text), "goto 3", "and nothing that may be secret");
	end();
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
}

static void verifying(void)
{
	begin("fleet");
	keys(":verify\n");
	is_str(ui_top(&ui)->ops->name, "verify", "\":verify\" opens the screen at once");
	for (struct verify_seen seen = { 0 }; !seen.over;) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		verifying_look(ui.verifying, &seen, &a);
	}
	ok(strstr(shot(), "FAILED  8 passed  1 failed  1 skipped"), "which says how it went");
	keys("jy");
	keys("s");
	ok(ui.wish == WISH_COPY && strstr(buf_cstr(&ui.wish_text), "skip  anchor"), "it can be taken along");
	ui.wish = WISH_NONE;
	ui_key(&ui, K_ENTER);
	is_str(ui_top(&ui)->ops->name, "verify", "a check that is about no event leads nowhere");
	keys("/order\n");
	ui_draw(&ui);
	ui_key(&ui, K_ENTER);
	struct subject on = { 0 };
	ui_draw(&ui);
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	ok(strcmp(ui_top(&ui)->ops->name, "log") == 0 && on.action >= 742 && on.action <= 748, "one that failed to its event");
	keys("C");
	ok(strstr(shot(), "1 failed"), "the earlier findings are shown again");
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct verify_seen was, is;
	verifying_look(ui.verifying, &was, &a);
	keys("r");
	verifying_look(ui.verifying, &is, &a);
	ok(is.since_us > was.since_us, "r runs them again");
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	verifying();
	filters();
	searching();
	jumping();
	commands();
	wheel();
	wheel_review();
	palette();
	history();
	buf_release(&sent);
	buf_release(&screen);
	return done_testing();
}
