#include "terminal/overlay.h"

#include <inttypes.h>
#include <string.h>

#include "terminal/prefix_keys.h"
#include "base/text/sanitize.h"

enum { QUEUE_ROWS = 5, ROW_MAX = 400 };

static bool row_waits(const json_t *row)
{
	const json_t *why = json_object_get(row, "reasons");
	const char *first = json_string_value(json_array_get(why, 0));
	return !(json_array_size(why) == 1 && first && !strcmp(first, "pause"));
}

static bool is_mine(const json_t *row, uint64_t agent)
{
	return !agent || (uint64_t)json_int(row, "agent", 0) == agent || !json_int(row, "agent", 0);
}

const json_t *overlay_oldest(const json_t *state, uint64_t agent)
{
	const json_t *held = json_object_get(state, "held"), *oldest = NULL;
	for (size_t i = 0; i < json_array_size(held); i++) {
		const json_t *row = json_array_get(held, i);
		if (row_waits(row) && is_mine(row, agent) &&
		    (!oldest || json_int(row, "action", 0) < json_int(oldest, "action", 0)))
			oldest = row;
	}
	return oldest;
}

size_t overlay_waiting(const json_t *state, uint64_t agent)
{
	const json_t *held = json_object_get(state, "held");
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(held); i++)
		n += row_waits(json_array_get(held, i)) && is_mine(json_array_get(held, i), agent);
	return n;
}

/* A phone's width: the pending approval comes first. */
static bool is_narrow(const struct overlay_facts *f)
{
	enum { NARROW = 60 };
	return f->cols < NARROW;
}

/* "exec  git push origin main", "connect  example.org:443"; @bare: without the first word, if
 * there is another. */
static void overlay_put_what(const json_t *row, bool bare, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const char *cmd = json_str(row, "cmd", NULL), *path = json_str(row, "path", NULL),
		   *host = json_str(row, "host", NULL);
	const json_t *argv = json_object_get(row, "argv");
	if (!bare || !(cmd || json_array_size(argv) || path || host))
		buf_printf(&text, "%s  ", json_str(row, "tool", json_str(row, "kind", "action")));
	if (cmd)
		buf_puts(&text, cmd);
	for (size_t i = 0; !cmd && i < json_array_size(argv); i++) {
		const char *word = json_string_value(json_array_get(argv, i));
		buf_printf(&text, "%s%s", i ? " " : "", word ? word : "?");
	}
	if (!cmd && !json_array_size(argv) && (path || host))
		buf_printf(&text, "%s", path ? path : host);
	sanitize_line(buf_cstr(&text), text.len, 0, out);
}

static void overlay_put_row(const struct overlay_facts *f, int row, const char *style,
			    const char *text, struct buf *out)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &safe);
	size_t at = 0, width = 0;
	/* a column for each character: near enough for a row of ours */
	while (at < safe.len && width < (size_t)f->cols) {
		at++;
		while (at < safe.len && ((unsigned char)safe.data[at] & 0xc0) == 0x80)
			at++;
		width++;
	}
	buf_printf(out, "\x1b[%d;1H\x1b[0%sm\x1b[2K%.*s", row, style, (int)at, buf_cstr(&safe));
	for (; width < (size_t)f->cols; width++)
		buf_putc(out, ' ');
}

static const char *overlay_state_word(const struct overlay_facts *f)
{
	const json_t *paused = json_object_get(f->state, "paused");
	for (size_t i = 0; i < json_array_size(paused); i++) {
		uint64_t id = (uint64_t)json_integer_value(json_array_get(paused, i));
		if (!id || id == f->agent)
			return "paused";
	}
	return "run";
}

void overlay_line(const struct overlay_facts *f, struct buf *out)
{
	const json_t *oldest = overlay_oldest(f->state, f->agent);
	bool bare = is_narrow(f);
	if (!bare || !oldest)
		buf_printf(out, " %s  %s ", f->name, f->session);
	if (oldest) {
		buf_printf(out, " HELD %zu: #%" PRId64 " ", overlay_waiting(f->state, f->agent),
			   json_int(oldest, "action", 0));
		overlay_put_what(oldest, bare, out);
	} else {
		buf_printf(out, " %s", overlay_state_word(f));
	}
	if (f->note && *f->note)
		buf_printf(out, "  | %s", f->note);
}

static int put_queue(const struct overlay_facts *f, int row, struct buf *out)
{
	const json_t *held = json_object_get(f->state, "held");
	int shown = 0;
	for (size_t i = 0; i < json_array_size(held) && shown < QUEUE_ROWS; i++) {
		const json_t *h = json_array_get(held, i);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		if (!row_waits(h))
			continue;
		buf_printf(&text, " #%" PRId64 "  %s  ", json_int(h, "action", 0),
			   json_str(h, "agent_name", "script"));
		overlay_put_what(h, is_narrow(f), &text);
		if (*json_str(h, "rule", ""))
			buf_printf(&text, "  (rule %s)", json_str(h, "rule", ""));
		overlay_put_row(f, row++, ";44;97", buf_cstr(&text), out);
		shown++;
	}
	if (!shown)
		overlay_put_row(f, row++, ";44;97", " nothing is pending approval", out);
	return row;
}

/* As many keys as the width holds: help and the way back always. */
static void put_keys(const struct overlay_facts *f, struct buf *out)
{
	static const char *const keys[] = { "d detach",	 "y approve", "n deny..", "a queue",
					    "f console", "v file..",  "s status" };
	static const char last[] = "  ? help  Esc back";
	size_t width = sizeof(last) - 1;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		width += 2 + strlen(keys[i]);
		if (width > (size_t)f->cols)
			break;
		buf_printf(out, "%s%s", i ? "  " : " ", keys[i]);
	}
	buf_puts(out, last);
}

/* The end of the text that is typed, as much as the row holds. */
static const char *typed_end(const struct overlay_facts *f)
{
	enum { SAYS = 64, LEAST = 12 };
	size_t len = strlen(f->typing), most = LEAST;
	if (f->cols > SAYS + LEAST)
		most = (size_t)f->cols - SAYS;
	const char *at = f->typing + (len > most ? len - most : 0);
	while (((unsigned char)*at & 0xc0) == 0x80)
		at++;
	return at;
}

static const char *const overlay_help[] = {
	"d  detach; 'sandglass attach' returns", "a  what is pending approval",
	"y  approve the oldest of this agent",	 "n  deny it, with a reason",
	"f  the console of the session",	 "s  status in the window title",
	"v  copy a host file in, type its path",
};

/* Two keys a row if there is room. */
static int help_rows(const struct overlay_facts *f)
{
	int nr = (int)ARRAY_LEN(overlay_help);
	return 1 + (is_narrow(f) ? nr : (nr + 1) / 2);
}

static int put_help(const struct overlay_facts *f, int row, struct buf *out)
{
	CLEANUP(buf_release) struct buf twice = BUF_INIT;
	size_t each = is_narrow(f) ? 1 : 2;
	char prefix[16];
	prefix_keys_name(f->prefix, prefix);
	for (size_t i = 0; i < ARRAY_LEN(overlay_help); i += each) {
		CLEANUP(buf_release) struct buf keys = BUF_INIT;
		bool two = each == 2 && i + 1 < ARRAY_LEN(overlay_help);
		buf_printf(&keys, " %-39s %s", overlay_help[i], two ? overlay_help[i + 1] : "");
		overlay_put_row(f, row++, ";44;97", buf_cstr(&keys), out);
	}
	buf_printf(&twice, " %s once more  types %s", prefix, prefix);
	overlay_put_row(f, row++, ";44;97", buf_cstr(&twice), out);
	return row;
}

void overlay_paint(const struct overlay_facts *f, struct buf *out)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, keys = BUF_INIT;
	size_t waiting = overlay_waiting(f->state, 0);
	int extra = f->queue  ? (int)(waiting > QUEUE_ROWS ? QUEUE_ROWS
				      : waiting		   ? waiting
							   : 1)
		    : f->help ? help_rows(f)
			      : 0;
	int row = f->rows - 1 - extra < 1 ? 1 : f->rows - 1 - extra;
	overlay_line(f, &line);
	overlay_put_row(f, row++, ";7", buf_cstr(&line), out);
	if (f->queue)
		row = put_queue(f, row, out);
	else if (f->help)
		row = put_help(f, row, out);
	if (f->typing && f->denying)
		buf_printf(&keys, " deny #%" PRIu64 ", reason: %s_   Enter denies, Esc goes back",
			   f->denying, typed_end(f));
	else if (f->typing)
		buf_printf(&keys, " file of the host: %s_   Enter copies it, Esc goes back",
			   typed_end(f));
	else
		put_keys(f, &keys);
	overlay_put_row(f, row, ";7", buf_cstr(&keys), out);
	buf_puts(out, "\x1b[0m");
}
