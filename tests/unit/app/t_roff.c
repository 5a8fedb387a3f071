/* Text with roff syntax comes out of a manual page unchanged. */
#include "cli/lib/roff.h"

#include <string.h>

#include "base/mem.h"
#include "tap.h"

static void prose(const char *text, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	roff_prose(&b, text, strlen(text));
	is_str(buf_cstr(&b), want, text);
}

static void layout(const char *text, const char *want, const char *what)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	roff_layout(&b, text);
	is_str(buf_cstr(&b), want, what);
}

static void example(const char *line, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	roff_example(&b, line, strlen(line));
	is_str(buf_cstr(&b), want, line);
}

int main(void)
{
	prose(".SH is not a macro here", "\\&.SH is not a macro here");
	prose("a\\fBb", "a\\efBb");
	prose("the user's own, people's", "the user\\(aqs own, people\\(aqs");
	prose("see 'help lua' and `git apply`.", "see \\fBhelp lua\\fR and \\fBgit apply\\fR.");
	prose("default: ours; '' for none", "default: ours; \\(aq\\(aq for none");
	prose("with --redo, -y or -- behind", "with \\fB\\-\\-redo\\fR, \\fB\\-y\\fR or \\-\\- behind");
	prose("read-only, s-7k2m9q, -1", "read-only, s\\-7k2m9q, \\-1");
	prose("two  blanks~ and ^ \"", "two blanks\\(ti and \\(ha \\(dq");

	layout("One\n.two\n\nThree.\n", ".PP\nOne .two\n.PP\nThree.\n", "paragraphs are filled");
	layout(".a\n", ".PP\n\\&.a\n", "a paragraph that begins with a dot");
	layout("  .a/   text\n        more\n  b     x\n", ".TP\n\\fB.a/\\fR\ntext more\n.TP\n\\fBb\\fR\nx\n", "rows");
	layout("See:\n\n  $ a -b\n  $ 'c'\n", ".PP\nSee:\n.PP\n.RS 2\n.nf\n$ a \\-b\n$ \\(aqc\\(aq\n.fi\n.RE\n", "examples");

	example("$ a -b 'c d' e", "$ a \\-b \\(aqc d\\(aq e\n");
	example("$ sandglass run --agent custom --control acp -e 'make the tests pass now' -- my-agent",
		"$ sandglass run \\-\\-agent custom \\-\\-control acp \\e\n      \\-e \\(aqmake the tests pass now\\(aq \\-\\- my\\-agent\n");
	example("$ sandglass fork -d s-7k2m9q    # continues in the background and prints the new session's id",
		"  # continues in the background and prints the new session\\(aqs id\n$ sandglass fork \\-d s\\-7k2m9q\n");
	return done_testing();
}
