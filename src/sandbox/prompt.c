#include "sandbox/prompt.h"

#include <string.h>

#include "base/mem.h"

enum { LOOKED_AT = 4096 };

void prompt_feed(struct prompt *p, const void *bytes, size_t len)
{
	const char *s = bytes, *last;
	size_t from = len > LOOKED_AT ? len - LOOKED_AT : 0;
	if (len && (last = memrchr(s + from, '\n', len - from))) /* a prompt starts after it */
		from = (size_t)(last - s);
	for (size_t i = from; i < len; i++) {
		char c = s[i];
		if (c == '\n' || c == '\r') {
			p->len = 0;
			continue;
		}
		if ((unsigned char)c < ' ')
			continue;
		if (p->len == sizeof p->tail)
			memmove(p->tail, p->tail + 1, --p->len);
		p->tail[p->len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
}

bool prompt_secret(const struct prompt *p)
{
	static const char *const words[] = { "password", "passphrase", "passwd",
					     "passcode", "pin",	       "secret",
					     "token",	 "api key",    "verification code",
					     "one-time", "otp" };
	size_t len = p->len;
	while (len && p->tail[len - 1] == ' ')
		len--;
	if (!len || !strchr(":?>", p->tail[len - 1]))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (memmem(p->tail, len, words[i], strlen(words[i])))
			return true;
	return false;
}
