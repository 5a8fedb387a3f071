#include "terminal/prefix_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ESC = 0x1b };

/* The character of the key as kitty numbers it: the unshifted one. */
static int prefix_character(int prefix)
{
	return prefix >= 1 && prefix <= 26 ? prefix + 'a' - 1 : prefix + '@';
}

int prefix_keys_parse(const char *text)
{
	const char *p = text;
	if (!strncmp(p, "Ctrl-", 5) || !strncmp(p, "ctrl-", 5))
		p += 5;
	else if (!strncmp(p, "C-", 2))
		p += 2;
	else if (*p == '^')
		p++;
	else
		return 0;
	char c = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
	int byte = c - '@';
	/* Ctrl-C, Tab, Enter, Escape */
	bool taken = byte == 3 || byte == 9 || byte == 10 || byte == 13 || byte == 27;
	return p[0] && !p[1] && byte >= 1 && byte <= 31 && !taken ? byte : 0;
}

void prefix_keys_name(int prefix, char out[16])
{
	snprintf(out, 16, "Ctrl-%c", prefix + '@');
}

enum match { MATCH_NO, MATCH_MAYBE, MATCH_PREFIX, MATCH_RELEASE };

/* <s, n> begins with ESC. CSI 92[:..] ; 5[:event] u, CSI 27;5;92~; lock keys may add 64 and 128 to
 * the modifiers. */
static enum match match_sequence(int prefix, const char *s, size_t n, size_t *used)
{
	size_t i = 2;
	if (n < 2)
		return MATCH_NO; /* a lone Escape must not wait */
	if (s[1] != '[')
		return MATCH_NO;
	while (i < n && i < 30 && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';' || s[i] == ':'))
		i++;
	if (i == n)
		return n > 2 && n < 30 ? MATCH_MAYBE : MATCH_NO;
	char text[32];
	memcpy(text, s + 2, i - 2);
	text[i - 2] = 0;
	int character = -1, modifiers = 1, event = 1;
	*used = i + 1;
	if (s[i] == '~')
		return sscanf(text, "27;%d;%d", &modifiers, &character) == 2 &&
				       character == prefix_character(prefix) &&
				       ((modifiers - 1) & 63) == 4
			       ? MATCH_PREFIX
			       : MATCH_NO;
	if (s[i] != 'u')
		return MATCH_NO;
	character = atoi(text);
	const char *semi = strchr(text, ';'), *colon = semi ? strchr(semi, ':') : NULL;
	modifiers = semi ? atoi(semi + 1) : 1;
	event = colon ? atoi(colon + 1) : 1;
	if (character != prefix_character(prefix) || ((modifiers - 1) & 63) != 4)
		return MATCH_NO;
	return event == 3 ? MATCH_RELEASE : MATCH_PREFIX;
}

static bool begins_with(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);
	return n >= len && !memcmp(s, word, len);
}

/* One step at the beginning of <s, n>: how many bytes it takes; 0: more must come. */
static size_t scan_one(struct prefix_keys *k, const char *s, size_t n, struct buf *out, bool *hit)
{
	size_t used = 1;
	if (k->pasting) {
		if (begins_with(s, n, "\x1b[201~"))
			k->pasting = false;
		buf_putc(out, s[0]);
		return 1;
	}
	if (s[0] == k->prefix) {
		*hit = true;
		return 1;
	}
	if (s[0] != ESC) {
		buf_putc(out, s[0]);
		return 1;
	}
	if (begins_with(s, n, "\x1b[200~"))
		k->pasting = true;
	switch (match_sequence(k->prefix, s, n, &used)) {
	case MATCH_MAYBE:
		return 0;
	case MATCH_PREFIX:
		*hit = true;
		return used;
	case MATCH_RELEASE:
		return used;
	case MATCH_NO:
		break;
	}
	buf_putc(out, s[0]);
	return 1;
}

size_t prefix_keys_scan(struct prefix_keys *k, const char *bytes, size_t len, struct buf *out,
			bool *hit)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	size_t before = k->nr_begun, at = 0;
	buf_append(&all, k->begun, k->nr_begun);
	buf_append(&all, bytes, len);
	k->nr_begun = 0;
	*hit = false;
	while (at < all.len && !*hit) {
		size_t n = scan_one(k, all.data + at, all.len - at, out, hit);
		if (!n) {
			k->nr_begun = all.len - at;
			memcpy(k->begun, all.data + at, k->nr_begun);
			return len;
		}
		at += n;
	}
	return at > before ? at - before : 0;
}

void prefix_keys_flush(struct prefix_keys *k, struct buf *out)
{
	buf_append(out, k->begun, k->nr_begun);
	k->nr_begun = 0;
}
