#include "base/text/screen_words.h"

#include <string.h>

#include "tap.h"

static void words_are(const char *output, const char *want, const char *what)
{
	struct buf out = BUF_INIT;
	screen_words(output, strlen(output), &out);
	is_str(buf_cstr(&out), want, what);
	buf_release(&out);
}

int main(void)
{
	words_are("plain text", "plain text", "plain text stays");
	words_are("\x1b[1mall\x1b[1C\x1b[22mis\x1b[Cdone", "all is done",
		  "a move to the right is spaces");
	words_are("Opus\x1b[6G5\x1b[9GMax\x1b[1Gover", "Opus 5  Max\nover",
		  "so is a move to a column further right");
	words_are("\x1b[3;5Hx\x1b[7Gy\x1b[3Gz", "x y\nz", "from the column where the line began");
	words_are("\x1b[3;1Hone\x1b[4;1Htwo\r\n\r\nthree", "one\ntwo\nthree",
		  "other moves are line breaks");
	words_are("a\x1b]0;title\ab\x1b]8;;x\x1b\\c\x1bPq\x1b\\d", "abcd", "strings leave");
	words_are("\x1b(Ba\x1b=b\x1b[?2026hc", "abc", "other sequences leave");
	words_are("cut \x1b[3", "cut ", "a sequence that is cut off");
	words_are("cut \x1b]0;ti", "cut ", "a string that is cut off");
	words_are("\x1b", "", "an escape alone");
	words_are("\x1b[999999999999Cx", " x", "a move too large to be one");
	return done_testing();
}
