/* Line mode's prompt for an edit: what was typed is shown as it would run and runs only after a yes, where the risk is
 * high after two. */
#include "base/fd.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/line.h"

static char sent[256];

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self, (void)done, (void)done_self;
	snprintf(sent, sizeof(sent), "%s %s %s", words[0], nr > 1 ? words[1] : "", json_str(opts, "cmd", "-"));
}
static const struct act act = { .command = command };

static struct source *s;
static struct line *l;
static FILE *to;
static char *out;
static size_t len;

static void begin(void)
{
	struct err err = ERR_INIT;
	to = open_memstream(&out, &len);
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	l = line_new(s, &act, to, false, true);
	if (line_sync(l, 0, &err) < 0)
		exit(99);
	sent[0] = 0;
}

static void end(void)
{
	line_free(&l);
	source_close(&s);
	fclose(to);
	free(out);
}

/* What is printed after @text was typed. */
static const char *types(const char *text)
{
	fflush(to);
	size_t before = len;
	line_typed(l, text);
	fflush(to);
	return out + before;
}

static void has(const char *text, const char *want, const char *what)
{
	ok(strstr(text, want) != NULL, "%s", what);
}

static void edited(void)
{
	begin();
	has(types("4"), "run this instead", "4 asks for the command");
	const char *shown = types("echo \xe2\x80\xaeother");
	has(shown, "would run instead: echo <U+202E>other", "it is shown as it would run, with what hides in it");
	has(shown, "yes approves it", "and asked for");
	is_str(sent, "", "nothing is approved by typing it");
	has(types("no"), "stays held", "anything but yes leaves it");
	types("4");
	has(types(""), "> ", "empty: back");
	is_str(sent, "", "neither has decided anything");
	types("4");
	types("echo other");
	has(types("yes"), "yes once more approves it", "the risk is high: yes is said twice");
	types(": state");
	has(types("yes"), "yes once more approves it", "with nothing between");
	sent[0] = 0;
	types("yes");
	is_str(sent, "approve 767 echo other", "then it is approved as it was edited");
	end();
}

int main(void)
{
	edited();
	return done_testing();
}
