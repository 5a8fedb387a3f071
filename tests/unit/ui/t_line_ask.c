/* Line mode's prompts. An edited command is printed and runs only after a yes (two at high risk). A pattern is
 * confirmed only after its matches are printed. */
#include "base/fd.h"
#include "fake_session.h"
#include "held_anew.h"
#include "tap.h"
#include "ui/line_priv.h"

static char sent[256];
static act_done_fn *told; /* what hears the answer to the last command */
static void *told_self;

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	(void)self;
	told = done;
	told_self = done_self;
	snprintf(sent, sizeof(sent), "%s %s %s", words[0], nr > 1 ? words[1] : "", json_str(opts, "cmd", "-"));
}
static const struct act act = { .command = command };

static struct source *s;
static struct line *l;
static FILE *to;
static char *out;
static size_t len;

static void begin_on(const char *fixture)
{
	struct err err = ERR_INIT;
	to = open_memstream(&out, &len);
	if (source_open(&s, fixture, &err) < 0)
		exit(99);
	l = line_new(s, &act, to, false, true);
	if (line_sync(l, 0, &err) < 0)
		exit(99);
	sent[0] = 0;
}

static void begin(void)
{
	begin_on("tests/screens/fleet.jsonl");
}

static void end(void)
{
	line_free(&l);
	source_close(&s);
	fclose(to);
	free(out);
}

/* The output after @text was typed. */
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

/* A refused decision (the action has changed, its dry run is stale) leaves the action pending, and its prompt
 * returns. */
static void refused(void)
{
	struct err err = ERR_INIT;
	begin();
	types("11");
	types("11"); /* its risk is high */
	has(sent, "apply", "it asks to apply the dry run");
	err_set(&err, ERR_NOENT, "dry run not found");
	fflush(to);
	size_t before = len;
	told(told_self, NULL, &err);
	fflush(to);
	has(out + before, "failed: dry run not found\n", "the refusal is printed");
	has(out + before, "1 approve once", "and the prompt appears again");
	has(types("12"), "note", "a number still answers it");
	end();
}

/* A late refusal belongs to its own action, even if another decision was sent since. */
static void crossing(void)
{
	struct err err = ERR_INIT;
	begin_on("tests/screens/steer.jsonl");
	uint64_t first = l->asked, second;
	types("8"); /* later: the next is asked */
	second = l->asked;
	types("6");
	void *of_second = told_self;
	line_prompt(l);
	uint64_t third = l->asked;
	types("6");
	ok(first && second && third && first != second && second != third && told_self != of_second, "two decisions on their way (%d, %d, %d)", (int)first, (int)second, (int)third);
	err_set(&err, ERR_NOENT, "no");
	told(of_second, NULL, &err);
	is_int(l->asked, second, "the one that is refused is asked again");
	told(told_self, NULL, NULL);
	end();
}

/* A deferred action hides no other pending one, whether older or newer. */
static void put_off(const char *fixture)
{
	begin_on(fixture);
	const struct model *m = &l->s->model;
	size_t nr = 0, all = m->nr_held + m->nr_asks;
	uint64_t seen[16] = { 0 };
	for (; nr < ARRAY_LEN(seen) && l->asked; nr++) {
		seen[nr] = l->asked;
		line_later(l);
		line_prompt(l);
	}
	ok(nr > 0, "%s: something waits", fixture);
	is_int(nr, all, "each of them is asked once");
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < i; k++)
			ok(seen[i] != seen[k], "%d is not asked twice", (int)seen[i]);
	end();
}

static void answer_refused(void)
{
	struct err err = ERR_INIT;
	begin_on("tests/screens/asks.jsonl");
	const struct model *m = &l->s->model;
	for (size_t i = 0; i < m->nr_held; i++) {
		line_later(l);
		line_prompt(l);
	}
	uint64_t question = l->asked;
	ok(m->nr_asks && question == m->ask[0].seq, "a question is asked");
	types("= such");
	has(sent, "answer", "its answer is sent");
	err_set(&err, ERR_INVALID, "unknown choice 'such'");
	told(told_self, NULL, &err);
	is_int(l->asked, question, "after the refusal the question is open again");
	end();
}

static void edited(void)
{
	begin();
	has(types("4"), "run this instead", "4 asks for the command");
	const char *shown = types("echo \xe2\x80\xaeother");
	has(shown, "runs instead: echo <U+202E>other", "it is shown as it would run, with what hides in it");
	has(shown, "yes to approve", "and asked for");
	is_str(sent, "", "nothing is approved by typing it");
	has(types("no"), "stays pending", "anything but yes leaves it");
	types("4");
	has(types(""), "> ", "empty: back");
	is_str(sent, "", "neither has decided anything");
	types("4");
	types("echo other");
	has(types("yes"), "type yes again to approve", "high risk requires two yes answers");
	types(": state");
	has(types("yes"), "type yes again to approve", "the two yes answers are consecutive");
	sent[0] = 0;
	types("yes");
	is_str(sent, "approve 767 echo other", "then it is approved as it was edited");
	end();
}

/* The output when the answer to the last command comes. */
static const char *answered(const char *json)
{
	CLEANUP(json_release) json_t *result = json_loads(json, 0, NULL);
	fflush(to);
	size_t before = len;
	told(told_self, result, NULL);
	fflush(to);
	return out + before;
}

static void pattern(void)
{
	static const char looked[] = "{\"tried\":{\"matched\":3,\"tried\":4,\"denied\":0,\"file\":\"added.lua\",\"line\":5}}";
	begin();
	has(types("3"), "pattern of the rule", "3 asks for a pattern");
	ok(!strstr(types("git push *"), "yes to save"), "no yes is asked for before what it matches is known");
	is_str(sent, "waivers 767 -", "which is asked");
	has(types("yes"), "ignored: ", "one that was typed already is thrown away");
	is_str(sent, "waivers 767 -", "and saves nothing");
	const char *shown = answered(looked);
	has(shown, "matches 3 of 4", "the answer is shown");
	has(strstr(shown, "matches"), "yes to save", "and then the yes asked for");
	has(types("no"), "nothing saved", "no saves nothing");
	end();
}

/* Held by a budget alone: the choices are those that make sense. */
static void of_a_budget(void)
{
	char path[] = "/tmp/t_line_ask-XXXXXX";
	held_anew("{\"reasons\":[\"budget\"],\"intent\":\"ab\"}", path);
	begin_on(path);
	unlink(path);
	fflush(to);
	has(out, "1 approve once  5 deny", "what makes no sense is not offered");
	has(out, "extend it with \"budget fix-parser --usd 1\"", "what does is");
	for (const char *k = "2\0003\0"; *k; k += strlen(k) + 1)
		has(types(k), "\"budget\" extends it, 1 approves once", k);
	is_str(sent, "", "nothing was sent");
	end();
}

/* A merge has no command line and no dry run to apply. */
static void of_a_merge(void)
{
	char path[] = "/tmp/t_line_ask-XXXXXX";
	held_kind("merge", path);
	begin_on(path);
	unlink(path);
	has(types("4"), "only for command lines", "4");
	has(types("11"), "only for commands, writes, and edits", "11");
	is_str(sent, "", "nothing was sent");
	end();
}

/* With --json, each command prints a result, even one without text. */
static void objects(void)
{
	struct err err = ERR_INIT;
	to = open_memstream(&out, &len);
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	l = line_new(s, &act, to, true, true);
	if (line_sync(l, 0, &err) < 0)
		exit(99);
	types("mark 700 here");
	is_str(answered("{\"event\":771}"), "{\"schema\":1,\"result\":{\"event\":771}}\n", "--json prints the result of a command without text");
	is_str(answered("{\"text\":\"done so\"}"), "{\"schema\":1,\"text\":\"done so\"}\n", "and the text of a command that has one");
	end();
}

/* A filter's quotes are its own, and the prompt does not run ahead of the answer. */
static void steers(void)
{
	begin();
	const char *shown = types("hold kind:exec cmd~\"git push\"");
	is_str(sent, "hold kind:exec cmd~\"git push\" -", "a filter goes as it was typed");
	ok(!strstr(shown, "767> "), "nothing is asked before the answer");
	told(told_self, NULL, NULL);
	line_prompt(l);
	fflush(to);
	has(shown, "767> ", "then it is");
	types("hold 'kind:exec cmd~\"git push\"'");
	is_str(sent, "hold kind:exec cmd~\"git push\" -", "also one that is quoted as for a shell");
	told(told_self, NULL, NULL);
	types("hold \"\"");
	is_str(sent, "hold  -", "an empty one clears");
	told(told_self, NULL, NULL);
	types("hold -S other kind:exec");
	is_str(sent, "hold kind:exec -", "options are options");
	told(told_self, NULL, NULL);
	types("search segmentation fault");
	is_str(sent, "search segmentation -", "words are words");
	types("search 'permission denied' kind:exec");
	is_str(sent, "search permission denied -", "single quotes are a shell's");
	types("search \"permission denied\" kind:exec");
	is_str(sent, "search \"permission denied\" kind:exec -", "double ones the filter's");
	types("search cmd~\"git push\" -n 3");
	is_str(sent, "search cmd~git push -", "beside options it is as on the command line");
	end();
}

int main(void)
{
	steers();
	edited();
	refused();
	put_off("tests/screens/steer.jsonl");
	put_off("tests/screens/asks.jsonl");
	answer_refused();
	crossing();
	pattern();
	of_a_budget();
	of_a_merge();
	objects();
	return done_testing();
}
