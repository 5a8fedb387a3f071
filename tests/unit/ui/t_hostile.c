/* Hostile text everywhere at once: the fixtures of the golden screens with every text in them (names, commands, paths,
 * messages, output, contents of files, keys of objects) full of escapes, C1, bidi, zero width, NUL, broken UTF-8 and a
 * line that is very long. Every view is opened over them and gets keys: after each, each cell of the screen holds one
 * plain glyph as wide as it says, judged by a list of its own. Words that choose what is drawn (kinds, verdicts,
 * ends) are left alone in a first round, so that all of each screen is reached, and are hostile too in a second. */
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/frame/ui.h"
#include "ui/views/table.h"

enum { LONG_LINE = 300000 };

static const struct {
	const char *text;
	size_t len;
} hostile[] = {
#define HOSTILE(s) { s, sizeof(s) - 1 }
	HOSTILE("\x1b[2J\x1b[1;1H\x1b]0;title\a"),
	HOSTILE("\x1b]52;c;cm0=\a\x1bP$qm\x1b\\\x1b[6n"),
	HOSTILE("\xc2\x9b" "31m\xc2\x9d" "0;x\xc2\x9c\xc2\x85"),
	HOSTILE("\xe2\x80\xaegnp.tac\xe2\x80\xac\xe2\x81\xa6x\xe2\x81\xa9\xd8\x9c"),
	HOSTILE("zero\xe2\x80\x8bwidth\xef\xbb\xbf\xe2\x81\xa0\xc2\xad\xe2\x80\x8d"),
	HOSTILE("\r\b\b\b\x0e\x0f\x7f\v\f\a"),
	HOSTILE("\xcc\x81\xcc\x81" "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"),
	HOSTILE("\xf3\xa0\x80\xa1\xf3\xa0\x81\xbf\xef\xbf\xb9\xe3\x85\xa4\xef\xb8\x8f"),
	HOSTILE("two\nlines\n\n\xe6\x96\x87\xe5\xad\x97\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"),
	HOSTILE("nul\0after"),
	HOSTILE("\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe6\x96"),
#undef HOSTILE
};
enum { BROKEN_UTF8 = ARRAY_LEN(hostile) - 1 };

/* Words by which the console decides what it draws. */
static bool steers(const char *key)
{
	static const char *const keys[] = { "kind", "verdict", "end", "decision", "op", "tree", "under", "base", "by", "profile",
					    "driver", "stop", "mode", "state", "stream", "risk", "reasons", "oid", "level", "what" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static size_t next;

/* @text with something hostile before, in the middle and after it. Only a text that may be any bytes gets broken
 * UTF-8. */
static json_t *poisoned(const char *text, size_t len, bool any_bytes)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t half = len / 2;
	while (half > 0 && ((unsigned char)text[half] & 0xc0) == 0x80)
		half--;
	size_t from = next++;
	for (size_t i = 0; i < 3; i++) {
		size_t h = (from + i * 4) % (any_bytes ? ARRAY_LEN(hostile) : BROKEN_UTF8);
		buf_append(&b, hostile[h].text, hostile[h].len);
		buf_append(&b, text + (i == 0 ? 0 : i == 1 ? half : len), i == 0 ? half : i == 1 ? len - half : 0);
	}
	return json_bytes(b.data, b.len);
}

static json_t *poison(json_t *v, bool all, bool any_bytes);

static json_t *poison_object(const json_t *o, bool all)
{
	static const char *const bytes[] = { "argv", "path", "data", "cmd", "old", "new", "text", "message" };
	json_t *to = json_object(), *v;
	const char *key;
	json_object_foreach((json_t *)(uintptr_t)o, key, v) {
		bool any = false;
		for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
			any = any || strcmp(key, bytes[i]) == 0;
		json_put(to, key, !all && steers(key) ? json_incref(v) : poison(v, all, any));
	}
	json_put_str(to, "\x1b[31mkey\xe2\x80\xae", "\x1b]0;value\a");
	return to;
}

static json_t *poison(json_t *v, bool all, bool any_bytes)
{
	if (json_is_string(v) && json_string_value(v)[0] != '@')
		return poisoned(json_string_value(v), json_string_length(v), any_bytes);
	if (json_is_object(v))
		return poison_object(v, all);
	if (!json_is_array(v))
		return json_incref(v);
	json_t *to = json_array();
	for (size_t i = 0; i < json_array_size(v); i++)
		json_array_append_new(to, poison(json_array_get(v, i), all, any_bytes));
	return to;
}

static void poison_files(json_t *files)
{
	CLEANUP(json_release) json_t *to = json_object();
	const char *path;
	json_t *v;
	json_object_foreach(files, path, v) {
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		buf_printf(&name, "%s%s", path, hostile[next % (BROKEN_UTF8 - 1)].text); /* a key has no NUL */
		json_put(to, buf_cstr(&name), poison(v, true, true));
	}
	json_object_clear(files);
	json_object_update(files, to);
}

static void poison_line(json_t *o, bool all)
{
	json_t *body = json_object_get(o, "body"), *out = json_object_get(o, "out");
	if (json_object_get(o, "tree")) {
		poison_files(json_object_get(o, "files"));
		return;
	}
	if (out) {
		CLEANUP(buf_release) struct buf b = BUF_INIT, clean = BUF_INIT;
		json_get_bytes(out, &clean);
		CLEANUP(json_release) json_t *bad = poisoned(clean.data, clean.len, true);
		json_get_bytes(bad, &b);
		for (size_t i = 0; next % 40 == 0 && i < LONG_LINE; i++)
			buf_putc(&b, "0123456789\x1b"[i % 11]);
		json_put(o, "out", json_bytes(b.data, b.len));
	}
	if (body)
		json_put(o, "body", poison_object(body, all));
}

/* A hostile copy of tests/screens/@name.jsonl at @path. */
static bool make(const char *name, bool all, const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, to = BUF_INIT;
	struct err err = ERR_INIT;
	char from[128];
	snprintf(from, sizeof(from), "tests/screens/%s.jsonl", name);
	if (file_read(from, &text, 16 << 20, &err) < 0)
		return false;
	for (char *p = text.data, *nl; (nl = strchr(p, '\n')); p = nl + 1) {
		if (nl == p || *p == '#')
			continue;
		CLEANUP(json_release) json_t *o = json_parse(p, (size_t)(nl - p), from, &err);
		if (!o)
			return false;
		poison_line(o, all);
		json_dump_buf(o, &to);
		buf_putc(&to, '\n');
	}
	return file_write_atomic(path, to.data, to.len, 0600, &err) == 0;
}

/* --- what is on the screen ---------------------------------------------------------------------------------------- */

static bool is_in(uint32_t cp, uint32_t from, uint32_t to)
{
	return cp >= from && cp <= to;
}

/* Moves, hides or commands, or takes no room and stands alone. */
static bool bad_char(uint32_t cp, bool first)
{
	return cp < 0x20 || is_in(cp, 0x7f, 0x9f) || cp == 0xad || cp == 0x61c || cp == 0x115f || cp == 0x1160 || cp == 0x180e ||
	       is_in(cp, 0x200b, 0x200c) || is_in(cp, 0x200e, 0x200f) || is_in(cp, 0x2028, 0x202e) || is_in(cp, 0x2060, 0x206f) ||
	       cp == 0x3164 || cp == 0xfeff || cp == 0xffa0 || is_in(cp, 0xfff9, 0xfffb) || is_in(cp, 0xe0000, 0xe0fff) ||
	       is_in(cp, 0xd800, 0xdfff) || (first && (cp == 0x200d || is_in(cp, 0x300, 0x36f)));
}

static const char *bad_cell(const struct grid *g, size_t i)
{
	const struct cell *c = &g->cell[i];
	int width = 0;
	if (c->width == 0)
		return c->len == 0 && i % (size_t)g->cols > 0 && c[-1].width == 2 ? NULL : "half a glyph";
	if (c->width == 2 && (i + 1) % (size_t)g->cols == 0)
		return "wider than the screen";
	for (size_t k = 0, used; k < c->len; k += used) {
		uint32_t cp;
		if (utf8_next(c->s + k, c->len - k, &cp, &used) != UTF8_OK)
			return "broken UTF-8";
		if (bad_char(cp, k == 0))
			return "a character that hides, moves or commands";
		if (g->ascii && cp >= 0x80)
			return "not ASCII";
		width = k == 0 ? text_width(cp) : width;
	}
	return width == c->width ? NULL : "another width than it says";
}

static int nr_screens, nr_bad, nr_marked;

static void look(struct ui *ui, const char *fixture, const char *view, uint32_t key)
{
	ui_draw(ui);
	nr_screens++;
	for (size_t i = 0; i < (size_t)ui->grid.rows * (size_t)ui->grid.cols; i++) {
		const char *why = bad_cell(&ui->grid, i);
		nr_marked += ui->grid.cell[i].role == ROLE_HIDDEN;
		if (why && nr_bad++ < 8)
			printf("# %s, %s, key %x, on %s, row %zu column %zu, '%s' %d wide: %s\n", fixture, view, key,
			       ui_top(ui)->ops->name, i / (size_t)ui->grid.cols, i % (size_t)ui->grid.cols, ui->grid.cell[i].s,
			       ui->grid.cell[i].width, why);
	}
}

/* --- every view --------------------------------------------------------------------------------------------------- */

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self, (void)words, (void)nr, (void)opts, (void)done, (void)done_self; /* no answer comes */
}

static const struct act act = { .command = command };

static void press(struct ui *ui, const char *fixture, const char *view, const uint32_t *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		ui->mono_us += 1000000;
		ui_key(ui, keys[i]);
		free(ui->edit);
		ui->edit = NULL;
		ui->edited = NULL;
		ui->wish = WISH_NONE;
		buf_reset(&ui->wish_text);
		look(ui, fixture, view, keys[i]);
	}
}

static void over_view(struct source *s, const char *fixture, const char *view, int rows, int cols, bool ascii)
{
	static const uint32_t keys[] = { 'j', 'j', 'o', 'o', 'o', K_TAB, 't', 'v', K_PGDN, 'k', 'X', K_ESC, 'z', '=', 's', K_ESC,
					 'p', K_ESC, 'M', K_ESC, ']', 'S', 'i', K_ESC, '/', 'a', K_ENTER, 'f', 'a', K_ESC, 'G', K_ENTER, 'd',
					 'j', ']', '?', 'q', 'L', K_ENTER, K_CTRL('p'), 'a', K_ESC, ':', 'k', K_TAB, K_TAB };
	struct ui ui;
	ui_init(&ui, &s, &act, 1, rows, cols, ascii);
	ui.trust = true;
	ui_sync(&ui);
	look(&ui, fixture, view, 0);
	if (strcmp(view, "table") == 0) {
		table_open(&ui, 0, "SELECT seq, name AS \"na\x1b[2Jme\", body FROM bad");
		is_str(ui_top(&ui)->ops->name, "table", "a statement has its table");
	} else {
		ui_open(&ui, view, &(struct subject){ .agent = s->model.nr_agents ? s->model.agent[0].id : 0 });
	}
	look(&ui, fixture, view, 0);
	press(&ui, fixture, view, keys, ARRAY_LEN(keys));
	ui_release(&ui);
}

static void over_fixture(const char *fixture, bool all, const char *path)
{
	static const struct {
		int rows, cols;
		bool ascii;
	} sizes[] = { { 36, 120, false }, { 24, 80, true }, { 16, 60, false } };
	static size_t turn; /* each view over each fixture at one size; over all of them at each */
	struct err err = ERR_INIT;
	struct source *s = NULL;
	if (!ok(make(fixture, all, path) && source_open(&s, path, &err) == 0, "%s is made hostile%s", fixture, all ? " in every word" : ""))
		return;
	for (size_t i = 0; i < view_count(); i++) {
		nr_bad = nr_marked = 0;
		size_t z = turn++ % ARRAY_LEN(sizes);
		over_view(s, fixture, view_at(i)->name, sizes[z].rows, sizes[z].cols, sizes[z].ascii);
		ok(nr_bad == 0 && nr_marked > 0, "%s: each cell is plain and each hidden character is marked", view_at(i)->name);
	}
	source_close(&s);
}

/* A database for ":sql" with hostile values. */
static bool bad_table(sqlite3 **db)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_open(":memory:", db) != SQLITE_OK ||
	    sqlite3_exec(*db, "CREATE TABLE bad(seq INTEGER, name TEXT, body BLOB)", NULL, NULL, NULL) != SQLITE_OK)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		sqlite3_prepare_v2(*db, "INSERT INTO bad VALUES(?1, ?2, ?2)", -1, &st, NULL);
		sqlite3_bind_int64(st, 1, (sqlite3_int64)i + 1);
		sqlite3_bind_text(st, 2, hostile[i].text, (int)hostile[i].len, SQLITE_STATIC);
		sqlite3_step(st);
		sqlite3_finalize(st);
	}
	return true;
}

int main(void)
{
	static const char *const fixtures[] = { "hostile", "fleet", "steer", "review", "redo", "preview", "wide" };
	char path[] = "/tmp/t_hostile.XXXXXX";
	sqlite3 *db = NULL;
	int fd = mkstemp(path);
	setenv("TZ", "UTC", 1);
	setenv("HOME", "/nonexistent", 1);
	ok(fd >= 0 && bad_table(&db), "a table with hostile values");
	fake_handle = db;
	for (size_t i = 0; i < ARRAY_LEN(fixtures); i++)
		over_fixture(fixtures[i], false, path);
	over_fixture("steer", true, path);
	over_fixture("hostile", true, path);
	printf("# %d screens\n", nr_screens);
	close(fd);
	unlink(path);
	sqlite3_close(db);
	return done_testing();
}
