/* The command table: every row is well formed, and lines are taken apart as the table says. */
#include "control/registry.h"

#include "base/mem.h"
#include "tap.h"

static void check_rows(void)
{
	for (size_t i = 0; i < command_count(); i++) {
		const struct command *c = command_at(i);
		const char *text = c->options;
		struct option_row r;
		bool good = *c->name && *c->summary && strlen(c->summary) <= 90;
		while (option_next(&text, &r))
			good = good && (r.letter || r.name[0]) && r.text_len > 0 &&
			       r.text[0] != ' ';
		ok(good, "row '%s' is well formed", c->name);
		if (!(c->flags & COMMAND_HIDDEN))
			ok(strstr(c->help, "  $ sandglass ") != NULL, "row '%s' has an example",
			   c->name);
		ok(command_find(c->name) == c, "row '%s' is found", c->name);
	}
}

/* A bar within brackets is a choice of one form, not the end of it. */
static void check_usage(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	command_help_short(command_find("merge"), &b);
	ok(strstr(buf_cstr(&b), "usage: sandglass merge [SANDBOX... | SESSION[/SANDBOX]...]\n") !=
		   NULL,
	   "one form, whole");
	buf_reset(&b);
	command_help_short(command_find("kill"), &b);
	ok(strstr(buf_cstr(&b), "usage: sandglass kill ID\n   or: sandglass kill AGENT\n") != NULL,
	   "two forms");
}

/* How often @word occurs in @text as a word of its own. */
static int count_word(const char *text, const char *word)
{
	int n = 0;
	size_t len = strlen(word);
	for (const char *p = text; (p = strstr(p, word)); p += len)
		n += (p == text || p[-1] == ' ') && (!p[len] || p[len] == ' ' || p[len] == '\n');
	return n;
}

/* Every command that is not hidden is in exactly one group, and in the list. */
static void check_list(void)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT;
	command_help_list(&list);
	int lines = 0;
	for (const char *p = buf_cstr(&list); *p; p++)
		lines += *p == '\n';
	ok(lines <= 60, "the list fits 60 lines, has %d", lines);
	for (size_t i = 0; i < command_count(); i++) {
		const struct command *c = command_at(i);
		const char *names;
		int in_groups = 0;
		for (size_t g = 0; command_group(g, &names); g++)
			in_groups += count_word(names, c->name);
		bool hidden = c->flags & COMMAND_HIDDEN;
		ok(in_groups == !hidden, "'%s' is in one group", c->name);
		ok(hidden || count_word(buf_cstr(&list), c->name) > 0, "'%s' is listed", c->name);
	}
}

/* Parses a typed line; "" = parsed, else the error. */
static const char *parse(struct command_line *l, const char *text)
{
	static struct err err;
	command_line_release(l);
	return command_parse_text(l, text, &err) < 0 ? err.text : "";
}

static void check_former_names(void)
{
	static const char *const old[] = { "redo", "rerun", "preview", "promote", "later", "pick" };
	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		ok(!command_find(old[i]), "'%s' is not a command now", old[i]);
		ok(command_renamed(old[i]) != NULL, "and its error names the new one");
	}
	ok(command_find("dry-run") != NULL, "a name may have a dash");
}

static void check_lines(void)
{
	static const struct {
		const char *line, *error;
	} bad[] = {
		{ "evnts", "unknown command 'evnts'; did you mean 'events'?" },
		{ "xyzzy", "unknown command 'xyzzy'" },
		{ "events --folow", "events: unknown option '--folow'; did you mean '--follow'?" },
		{ "events --zzz", "events: unknown option '--zzz'" },
		{ "events -z", "events: unknown option '-z'" },
		{ "events --filter", "events: missing value: --filter FILTER" },
		{ "events -n", "events: missing value: -n N" },
		{ "events --follow=yes", "events: option '--follow' takes no value" },
		{ "events --f", "events: ambiguous option '--f': --follow, --filter" },
		{ "approve", "approve: missing argument: ID" },
		{ "defer 1 2", "defer: unexpected argument: '2'" },
		{ "undo --again", "undo: option '--again' was removed" },
		{ "say 'abc", "missing closing quote: '" },
		{ "stop s-7k2m9q", "stop: unexpected argument: 's-7k2m9q'" },
		{ "blame s-7k2m9q#4 a.c", "blame: unexpected argument: 's-7k2m9q#4'" },
		{ "version s-7k2m9q", "version: unexpected argument: 's-7k2m9q'" },
		{ "version 1", "version: unexpected argument: '1'" },
	};
	struct command_line l = COMMAND_LINE_INIT;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_str(parse(&l, bad[i].line), bad[i].error, bad[i].line);

	is_str(parse(&l, ":events s-7k -fn 5 --filter='kind:exec cmd:\"a b\"' -q"), "",
	       "options may follow operands");
	is_str(l.command->name, "events", "its command");
	is_int(l.words.nr, 1, "one operand");
	is_str(l.words.item[0], "s-7k", "the operand");
	ok(command_has(&l, "follow") && command_has(&l, "quiet") && !command_has(&l, "json"),
	   "switches");
	is_str(command_opt(&l, "last"), "5", "-fn 5");
	is_str(command_opt(&l, "filter"), "kind:exec cmd:\"a b\"", "quotes inside quotes");

	is_str(parse(&l, "events --fo --last=3 --last 4"), "", "short forms of long options");
	ok(command_has(&l, "follow"), "--fo is --follow");
	is_str(command_opt(&l, "last"), "4", "the last one counts");

	is_str(parse(&l, "say fix-parser do -not touch --this"), "",
	       "options end at the first operand of say");
	is_int(l.words.nr, 5, "all are words");
	is_str(l.words.item[4], "--this", "untouched");
	is_str(parse(&l, "say fix leave them alone -S s-7k2m9q"), "", "a session named last");
	is_int(l.words.nr, 4, "is not text");
	is_str(command_opt(&l, "in"), "s-7k2m9q", "but the option");
	is_str(parse(&l, "say fix leave them --in=s-7k2m9q"), "", "a session named last, joined");
	is_int(l.words.nr, 3, "is not text");
	is_str(command_opt(&l, "in"), "s-7k2m9q", "but the option");
	is_str(parse(&l, "say fix -S s-7k2m9q leave them alone"), "",
	       "a session named before the text");
	is_int(l.words.nr, 4, "is not text");
	is_str(command_opt(&l, "in"), "s-7k2m9q", "but the option");
	is_str(parse(&l, "say -S s-7k2m9q fix leave them"), "", "a session named first");
	is_int(l.words.nr, 3, "is not text");
	is_str(command_opt(&l, "in"), "s-7k2m9q", "but the option");
	is_str(parse(&l, "say fix -S s-7k2m9q"), "say: missing argument: TEXT",
	       "a session is not text");
	is_str(parse(&l, "say fix -- use -S s-7k2m9q"), "", "-- ends options");
	is_int(l.words.nr, 4, "and is not text itself");
	ok(!command_has(&l, "in"), "a session behind it is text");
	is_str(parse(&l, "say -S s-7k2m9q fix -- use -S s-other"), "",
	       "a session, and -- before the text");
	is_int(l.words.nr, 4, "text");
	is_str(command_opt(&l, "in"), "s-7k2m9q", "the option");
	is_str(parse(&l, "say fix -S s-7k2m9q -- use --in"), "", "a session, and -- behind it");
	is_int(l.words.nr, 3, "text");
	is_str(parse(&l, "say fix use -S here"), "", "-S elsewhere");
	is_int(l.words.nr, 4, "is text");

	is_str(parse(&l, "deny -m 'no, \\' 405"), "", "single quotes keep backslashes");
	is_str(command_opt(&l, "message"), "no, \\", "the text");
	is_str(parse(&l, "show -- -5"), "", "-- ends options");
	is_str(l.words.item[0], "-5", "the operand begins with a dash");
	is_str(parse(&l, "show -5"), "", "a number is an operand");
	is_str(parse(&l, "--json"), "", "no command at all");
	ok(!l.command && command_has(&l, "json"), "only options");
	is_str(parse(&l, "approve --help"), "", "help needs no words");

	struct err err = ERR_INIT;
	int64_t n = 7;
	is_str(parse(&l, "events -n 12x"), "", "numbers are checked later");
	is_int(command_opt_int(&l, "last", 1, 100, &n, &err), -1, "12x is not a number");
	is_str(err.text, "--last: expected a number from 1 to 100, got '12x'",
	       "and the error names the option");
	is_int(n, 7, "nothing was filled in");
	is_str(parse(&l, "events -n 12"), "", "a number");
	is_int(command_opt_int(&l, "last", 1, 100, &n, &err), 0, "parsed");
	is_int(n, 12, "filled in");
	command_line_release(&l);
}

static void check_json(void)
{
	struct command_line l = COMMAND_LINE_INIT, back = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	char *argv[] = { (char[]){ "deny" }, (char[]){ "405" }, (char[]){ "-m" },
			 (char[]){ "no \xff" }, (char[]){ "--pause" } };
	is_int(command_parse(&l, argv, ARRAY_LEN(argv), &err), 0, "parsed");
	CLEANUP(json_release) json_t *words = command_line_words(&l);
	CLEANUP(json_release) json_t *opts = command_line_opts(&l);
	CLEANUP(free_ptr) char *text = json_dump_str(opts);
	is_str(text, "{\"message\":{\"b64\":\"bm8g/w==\"},\"pause\":true}",
	       "options as JSON, bytes kept");
	is_int(command_line_from_json(&back, words, opts, &err), 0, "and back");
	is_str(back.command->name, "deny", "command");
	is_str(back.words.item[0], "405", "operand");
	is_str(command_opt(&back, "message"), "no \xff", "bytes");
	ok(command_has(&back, "pause"), "switch");

	static const struct {
		const char *words, *opts, *error;
	} bad[] = {
		{ "[]", "{}", "missing command name" },
		{ "[7]", "{}", "missing command name" },
		{ "[\"--version\"]", "{}", "invalid command: '--version'" },
		{ "[\"deny\",7]", "{}", "argument 1 of 'deny': expected a text" },
		{ "[\"deny\",\"a\\u0000b\"]", "{}", "argument 1 of 'deny': expected a text" },
		{ "[\"deny\",\"1\"]", "{\"message\":{}}", "option 'message': expected a text" },
		{ "[\"deny\",\"1\"]", "{\"a=b\":\"x\"}", "invalid option name: 'a=b'" },
		{ "[\"defer\"]", "{}", "defer: missing argument: ID" },
		{ "[\"deny\",\"1\"]", "{\"mesage\":\"x\"}",
		  "deny: unknown option '--mesage'; did you mean '--message'?" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(json_release)
		json_t *w = json_parse(bad[i].words, strlen(bad[i].words), "words", &err);
		CLEANUP(json_release)
		json_t *o = json_parse(bad[i].opts, strlen(bad[i].opts), "opts", &err);
		command_line_release(&back);
		ok(command_line_from_json(&back, w, o, &err) < 0, "refused: %s", bad[i].words);
		is_str(err.text, bad[i].error, "with its reason");
	}
	command_line_release(&back);
	const char *dashes = "[\"say\",\"fix\",\"--force\",\"-x\"]";
	CLEANUP(json_release) json_t *w = json_parse(dashes, strlen(dashes), "words", &err);
	is_int(command_line_from_json(&back, w, NULL, &err), 0,
	       "words that look like options are words");
	is_str(back.words.item[1], "--force", "kept");
	command_line_release(&back);
	command_line_release(&l);
}

int main(void)
{
	check_rows();
	check_former_names();
	check_list();
	check_usage();
	check_lines();
	check_json();
	is_str(word_nearest("plicy", (const char *const[]){ "policy", "prune" }, 2), "policy",
	       "nearest word");
	ok(!word_nearest("zzzz", (const char *const[]){ "policy" }, 1), "nothing near");
	return done_testing();
}
