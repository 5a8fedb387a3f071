/* Public certificates in PEM form (RFC 7468) are no secret, whatever their file is called. Strict:
 * a file in which anything else could be a secret is none of them. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/view/masks.h"

static bool line_starts(const char *p, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && !memcmp(p, with, n);
}

static bool is_public(const char *p, size_t len, const char *what)
{
	static const char *const labels[] = { "CERTIFICATE", "X509 CERTIFICATE",
					      "TRUSTED CERTIFICATE" };
	if (!line_starts(p, len, what))
		return false;
	p += strlen(what), len -= strlen(what);
	for (size_t i = 0; i < ARRAY_LEN(labels); i++)
		if (len == strlen(labels[i]) + 5 && line_starts(p, len, labels[i]) &&
		    !memcmp(p + len - 5, "-----", 5))
			return true;
	return false;
}

static bool is_base64(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)p[i]) && !strchr("+/=", p[i]))
			return false;
	return len <= 128;
}

/* Beside the blocks: names, comments, what openssl writes above them; nothing that gives a value to
 * a name. */
static bool is_remark(const char *p, size_t len)
{
	static const char *const known[] = {
		"#",   "subject", "issuer", "Bag Attributes", "    localKeyID", "    friendlyName",
		" s:", " i:"
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (line_starts(p, len, known[i]))
			return true;
	size_t underline = 0;
	while (underline < len && p[underline] == '=')
		underline++;
	return underline == len || (!memchr(p, '=', len) && !memchr(p, ':', len));
}

bool masks_certificates_only(const char *text, size_t len)
{
	bool inside = false;
	size_t nr = 0;
	if (memchr(text, 0, len))
		return false;
	for (size_t at = 0; at < len;) {
		const char *p = text + at, *nl = memchr(p, '\n', len - at);
		size_t n = nl ? (size_t)(nl - p) : len - at;
		at += n + 1;
		while (n && isspace((unsigned char)p[n - 1]))
			n--;
		if (!inside && is_public(p, n, "-----BEGIN "))
			inside = true;
		else if (inside && is_public(p, n, "-----END "))
			inside = false, nr++;
		else if (memmem(p, n, "-----", 5) || (inside ? !is_base64(p, n) : !is_remark(p, n)))
			return false;
	}
	return nr && !inside && !masks_text_suspect(text, len) && !masks_token_form(text, len);
}
