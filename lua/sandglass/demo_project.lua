-- The project of the demo: a C function with a bug in it, a test that shows it, a manual that says too little.
return {
  [".gitignore"] = "test_words\n",
  ["Makefile"] = [[
CC = cc
CFLAGS = -Wall -Wextra -g

test: test_words
	./test_words

test_words: test_words.c words.c
	$(CC) $(CFLAGS) -o $@ test_words.c words.c

clean:
	rm -f test_words
]],
  ["words.c"] = [[
#include <ctype.h>

/* Counts the words of a text: runs of characters that are not white space. */
int count_words(const char *s)
{
	int n = 0;

	for (; *s; s++)
		if (!isspace((unsigned char)s[0]) && isspace((unsigned char)s[1]))
			n++;
	return n;
}
]],
  ["test_words.c"] = [[
#include <stdio.h>

int count_words(const char *s);

static int check(const char *text, int want)
{
	int got = count_words(text);

	printf("%s - \"%s\" has %d words", got == want ? "ok" : "not ok", text, want);
	if (got != want)
		printf(", got %d", got);
	putchar('\n');
	return got != want;
}

int main(void)
{
	int failed = check("", 0) + check("one two ", 2) + check("the last word", 3);

	printf("%d failed\n", failed);
	return failed != 0;
}
]],
  ["MANUAL.md"] = [[
# words

`count_words` counts the words of a text.
]],
}
