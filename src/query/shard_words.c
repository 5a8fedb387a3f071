#include "query/shard_words.h"

#include <ctype.h>
#include <string.h>

static bool shard_word_has(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

size_t shard_word_next(const char *text, size_t len, size_t *at)
{
	size_t from = *at;
	while (from < len && !shard_word_has(text[from]))
		from++;
	size_t end = from;
	while (end < len && shard_word_has(text[end]))
		end++;
	*at = end;
	return end - from;
}

bool shard_word_hex(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!memchr("0123456789abcdef", word[i], 16))
			return false;
	return true;
}

const char *shard_word_instead(const char *word, size_t len)
{
	bool digit = false;
	if (len > SHARD_WORD_MOST)
		return SHARD_WORD_LONG;
	if (len < 5 || !shard_word_hex(word, len))
		return NULL;
	for (size_t i = 0; i < len && !digit; i++)
		digit = word[i] <= '9';
	return digit ? SHARD_WORD_HEX : NULL;
}
