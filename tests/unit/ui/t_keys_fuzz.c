/* Random keys, pastes, clicks, and sizes while high-risk actions are pending. An approval leaves the console only by
 * the rules of the dialog. The test checks these rules from outside, by the keys and times that went in:
 *
 *   approve        y (or its number, 1) twice in a row on the approval screen, open for 0.4 s before the first
 *   promote        the same with m
 *   with a pattern s on that screen, then Enter on the second screen, open for 0.4 s
 *   with a rule    p and Enter in the same way
 *   with another command: e, and then an edited text
 *   several        Space on each in the queue, y, then y to the question after 0.4 s; no action of high risk
 *   with a name    if a rule requires typing the name: only from its prompt
 *   typed          ":approve N" and Enter
 *
 * Sends 20,000 keys. FUZZ_SECONDS=600 continues for 600 s with other seeds (tests/fuzz/keys.sh). */
#include <unistd.h>

#include "base/clock.h"
#include "fake_session.h"
#include "fake_waivers.h"
#include "tap.h"
#include "ui/frame/ui.h"

enum { KEYS = 20000, DEAD_US = 400000, HISTORY = 24 };

static struct source *src;
static struct ui ui;
static uint64_t chance_state;
static uint32_t key_now, key_before;
static bool dialog_now, dialog_before; /* the approval screen was on top, no prompt, when the key was pressed */
static int64_t opened_us, opened_before_us;
static uint64_t asked_s, asked_p; /* actions on whose screen s, p were pressed */
static uint64_t edited[64];       /* actions that came back from the editor as something else */
static size_t nr_edited;
static int64_t second_us, batch_us;    /* since when the second screen, the question about several is there */
static bool queue_question;            /* that question was open when the key was pressed */
static uint64_t marked[64], named;     /* Space in the queue; the action whose rule wants a name typed */
static size_t nr_marked;
static bool name_asked;                /* its prompt was open when the key was pressed */
static int nr_widened, nr_several, nr_named;
static char typed[256];                /* the prompt's text when Enter was pressed */
static int nr_approved, nr_wrong, nr_other;
static uint32_t history[HISTORY];
static size_t at_history;

static uint64_t chance(uint64_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (chance_state >> 33) % below;
}

static void wrong(const char *why, const char *word, const char *id)
{
	if (nr_wrong++ > 5)
		return;
	printf("# %s %s: %s; keys:", word, id, why);
	for (size_t i = 0; i < HISTORY; i++)
		printf(" %x", history[(at_history + i) % HISTORY]);
	printf("; dialog %d %d, opened %" PRId64 " %" PRId64 "\n", dialog_before, dialog_now, opened_before_us, opened_us);
}

static bool twice(uint32_t key)
{
	return key_now == key && key_before == key && dialog_now && dialog_before && opened_us == opened_before_us;
}

static bool was_edited(const struct model_action *a)
{
	size_t i = 0;
	while (i < nr_edited && !(a && edited[i] == a->id))
		i++;
	return i < nr_edited;
}

static void judge(const char *word, const char *id, const json_t *opts)
{
	const struct model_action *a = model_action(&src->model, strtoull(id, NULL, 10));
	bool promote = strcmp(word, "apply") == 0;
	nr_approved++;
	if (key_now == K_ENTER && strstr(typed, word))
		return;
	if (a && a->id == named && (!name_asked || strcmp(json_str(opts, "confirm", ""), "gate") != 0)) {
		wrong("without the name", word, id);
	} else if (a && a->id == named) {
		nr_named++;
	} else if (json_object_get(opts, "session") || json_object_get(opts, "rule")) {
		nr_widened++;
		if ((json_object_get(opts, "rule") ? asked_p : asked_s) != (a ? a->id : 0) || key_now != K_ENTER)
			wrong("widened without s or p and Enter", word, id);
		else if (ui.mono_us < second_us + DEAD_US)
			wrong("within 0.4 s of the second screen", word, id);
	} else if (queue_question) {
		bool is = false;
		for (size_t i = 0; i < nr_marked; i++)
			is |= a && marked[i] == a->id;
		nr_several++;
		if (!is || a->high_risk || key_now != 'y' || ui.mono_us < batch_us + DEAD_US)
			wrong("several at once against the rules", word, id);
	} else if (json_object_get(opts, "cmd") && !was_edited(a)) {
		wrong("an edited command without e", word, id);
	} else if (!a) {
		wrong("unknown action", word, id);
	} else if (a->high_risk && !twice(promote ? 'm' : 'y')) {
		wrong("high risk without a second key", word, id);
	} else if (key_now != (promote ? 'm' : 'y') || !dialog_now) {
		wrong("not on its screen", word, id);
	} else if (ui.mono_us < opened_us + DEAD_US) {
		wrong("within 0.4 s", word, id);
	}
}

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self;
	if (fake_waivers(words, nr, opts, done, done_self))
		return;
	if (strcmp(words[0], "approve") == 0 || strcmp(words[0], "apply") == 0)
		judge(words[0], nr > 1 ? words[1] : "", opts);
	else
		nr_other++;
}

static const struct act act = { .command = command };

/* The fixture with more that waits: of high risk all of it. */
static void fixture(char *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	uint64_t seq;
	if (file_read("tests/screens/fleet.jsonl", &text, 16 << 20, &err) < 0)
		exit(99);
	struct source *s = NULL;
	if (file_write_atomic(path, text.data, text.len, 0600, &err) < 0 || source_open(&s, path, &err) < 0)
		exit(99);
	seq = session_head(s->session);
	source_close(&s);
	for (int i = 0; i < 6; i++, seq += 3) {
		buf_printf(&text, "{\"at\": \"400.000\", \"kind\": \"action.requested\", \"agent\": 18, \"box\": 6, \"body\": {\"kind\": "
			   "\"exec\", \"argv\": [\"rm\", \"-rf\", \"/x%d\"], \"cwd\": \"/workspace\", \"intent\": \"ab\"}}\n", i);
		buf_printf(&text, "{\"at\": \"400.000\", \"kind\": \"action.judged\", \"agent\": 18, \"action\": %lu, \"body\": {\"verdict\": "
			   "\"ask\", \"rules\": []}}\n", (unsigned long)seq + 1);
		named = i == 5 ? seq + 1 : named;
		buf_printf(&text, "{\"at\": \"400.000\", \"kind\": \"action.held\", \"agent\": 18, \"action\": %lu, \"body\": {\"reasons\": "
			   "[\"ask\"], \"rule\": \"rm\", \"risk\": \"%s\", %s\"intent\": \"ab\"}}\n", (unsigned long)seq + 1,
			   i < 3 ? "high" : "normal", i == 5 ? "\"confirm\": \"type\", \"type\": \"gate\", " : "");
	}
	if (file_write_atomic(path, text.data, text.len, 0600, &err) < 0)
		exit(99);
}

static uint32_t any_key(void)
{
	static const uint32_t likely[] = { 'a', 'y', 'y', '1', 'y', 'm', 'A', 's', 'p', ' ', ' ', 'e', 'n', 'x', 'j', 'k', ']', 'q', 'd', 't', 'v', 'G',
					   K_ENTER, K_ENTER, K_ESC, K_TAB, K_UP, K_DOWN, K_PGDN, K_F10, K_END, ':', '/', 'f' };
	static const uint32_t keys[] = { K_LEFT, K_RIGHT, K_PGUP, K_HOME, K_DEL, K_BACKSPACE, K_STAB, K_F1, K_F2, K_F3, K_F4,
					 K_F5, K_F6, K_F7, K_F8, K_F9 };
	switch (chance(10)) {
	case 0:
	case 1:
	case 2:
		return (uint32_t)(' ' + chance(95));
	case 3:
		return (uint32_t)chance(32);
	case 4:
		return keys[chance(ARRAY_LEN(keys))];
	case 5:
		return (uint32_t)(' ' + chance(95)) | K_PASTED;
	case 6:
		return chance(8) ? 'y' : (uint32_t)(0x80 + chance(0x3000));
	default:
		return likely[chance(ARRAY_LEN(likely))];
	}
}

static bool on_dialog(void)
{
	return strcmp(ui_top(&ui)->ops->name, "approval") == 0 && !ui.prompt.active;
}

/* Another screen than before, or the same kind anew, has its own 0.4 s: whether a key, a click or an event put it
 * there. */
static void note_opening(void)
{
	static const void *screen;
	const void *now = strcmp(ui_top(&ui)->ops->name, "approval") == 0 ? ui_top(&ui)->self : NULL;
	if (now && (now != screen || ui.flush))
		opened_us = ui.mono_us;
	screen = now;
}

static void a_key(uint32_t key)
{
	struct subject on = { 0 };
	struct view *top = ui_top(&ui);
	if (top->ops->subject)
		top->ops->subject(top->self, &ui, &on);
	if (key == 0 || (key & K_PASTED && !ui.prompt.active)) { /* has no effect and is not a key */
		ui_key(&ui, key);
		return;
	}
	key_before = key_now;
	dialog_before = dialog_now;
	opened_before_us = opened_us;
	dialog_now = on_dialog();
	key_now = dialog_now && key >= '1' && key <= '7' ? (uint32_t)"yspenxX"[key - '1'] : key; /* two names of one key */
	history[at_history++ % HISTORY] = key;
	if (dialog_now && key_now == 's')
		asked_s = on.action;
	if (dialog_now && key_now == 'p')
		asked_p = on.action;
	if (strcmp(top->ops->name, "queue") == 0 && !ui.prompt.active && key == ' ' && nr_marked < ARRAY_LEN(marked))
		marked[nr_marked++] = on.action;
	queue_question = strcmp(top->ops->name, "queue") == 0 && ui.prompt.active && ui.prompt.choice;
	name_asked = ui.prompt.active && ui.prompt.by_hand && key == K_ENTER;
	bool was_asked = ui.prompt.active;
	snprintf(typed, sizeof(typed), "%s", key == K_ENTER && ui.prompt.active ? buf_cstr(&ui.prompt.text) : "");
	ui_key(&ui, key);
	if (dialog_now && (key_now == 's' || key_now == 'p') && ui.flush)
		second_us = ui.mono_us;
	if (!was_asked && ui.prompt.active && ui.prompt.choice)
		batch_us = ui.mono_us;
	note_opening();
}

static void between(void)
{
	static const int64_t waits[] = { 0, 0, 1000, 20000, 100000, 390000, 410000, 700000, 2000000 };
	ui.mono_us += waits[chance(ARRAY_LEN(waits))];
	ui.now_us = (int64_t)FAKE_START_S * 1000000 + ui.mono_us;
	ui.quit = ui.flush = ui.redraw = ui.bell = false;
	ui.wish = WISH_NONE;
	buf_reset(&ui.wish_text);
	if (ui.edited) {
		struct subject on = { 0 };
		bool back = chance(2), shown = on_dialog();
		int before = nr_approved;
		if (shown)
			ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
		if (shown && back && nr_edited < ARRAY_LEN(edited) && !was_edited(model_action(&src->model, on.action)))
			edited[nr_edited++] = on.action;
		ui_edited(&ui, back ? "rm -rf /y" : NULL);
		if (nr_approved != before)
			wrong("approved when the editor closed", "approve", "");
	}
	typed[0] = 0;
	if (chance(50) == 0) {
		struct mouse m = { (enum mouse_kind)chance(5), (int)chance(40), (int)chance(130) };
		if (m.kind == MOUSE_PRESS && !ui.no_mouse && ui.grid.rows >= UI_MIN_ROWS && ui.grid.cols >= UI_MIN_COLS)
			key_now = 0;
		ui_mouse(&ui, m);
	}
	note_opening();
	if (chance(200) == 0)
		ui_resize(&ui, 1 + (int)chance(50), 1 + (int)chance(150));
	else if (chance(20) == 0)
		ui_resize(&ui, 36, 120);
	if (chance(3) == 0) {
		ui_sync(&ui);
		ui_draw(&ui);
	}
}

/* Keys of a user who decides several actions at once and sometimes mistypes. */
static void several(void)
{
	for (const char *p = "AGk kk y"; *p; p++) {
		a_key((uint32_t)*p);
		if (chance(20) == 0)
			a_key(any_key());
	}
	between();
	a_key('y');
	between();
}

static void session(const char *path, uint64_t seed, int keys)
{
	struct err err = ERR_INIT;
	if (source_open(&src, path, &err) < 0)
		exit(99);
	chance_state = seed;
	ui_init(&ui, &src, &act, 1, 36, 120, false);
	ui_sync(&ui);
	ui.mono_us = 1000000;
	ui_draw(&ui);
	key_now = key_before = 0;
	dialog_now = dialog_before = false;
	nr_marked = 0;
	for (int i = 0; i < keys; i++) {
		a_key(any_key());
		between();
		if (!ui.prompt.active && chance(200) == 0)
			several();
		if (!ui.prompt.active || !ui.prompt.by_hand || chance(3) == 0)
			continue;
		for (const char *name = chance(4) ? "gate" : "gat"; *name; name++) /* who knows what is asked for */
			a_key((uint32_t)*name);
		a_key(K_ENTER);
		between();
	}
	ui_release(&ui);
	source_close(&src);
}

int main(void)
{
	char path[] = "/tmp/t_keys_fuzz.XXXXXX", dir[] = "/tmp/t_keys_fuzz-dir.XXXXXX";
	struct err err = ERR_INIT;
	const char *text = getenv("FUZZ_SECONDS");
	int64_t until = clock_mono_us() + (text ? atoll(text) * 1000000 : 0);
	const char *from = getenv("FUZZ_SEED");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1, seed = first;
	int fd = mkstemp(path);
	setenv("TZ", "UTC", 1);
	setenv("HOME", "/nonexistent", 1);
	fixture(path);
	if (!mkdtemp(dir) || chdir(dir) < 0) /* the screen can save what it shows: under any name */
		return 99;
	do
		session(path, seed++, KEYS / 4);
	while (seed < first + 4 || clock_mono_us() < until ||
	       (seed < first + 40 && !(nr_widened && nr_several && nr_named))); /* which keys chance takes is not what is tested */
	ok(nr_approved > 0, "%d approvals in %lu keys, %d other commands", nr_approved, (unsigned long)(seed - first) * KEYS / 4, nr_other);
	ok(nr_widened > 0 && nr_several > 0 && nr_named > 0, "%d of them with a pattern, %d in the queue, %d with a name", nr_widened,
	   nr_several, nr_named);
	is_int(nr_wrong, 0, "each approval follows the rules");
	close(fd);
	unlink(path);
	ok(dir_remove(dir, &err) == 0, "the saved files are removed");
	return done_testing();
}
