#include "http/url.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void url_release(struct url *u)
{
	free(u->text);
	free(u->host);
	*u = (struct url){ 0 };
}

static void no_blanks(const char *text, struct err *err)
{
	if (strlen(text) > URL_MAX) {
		err_set(err, ERR_INVALID, "the address is longer than %d bytes", URL_MAX);
		return;
	}
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\') {
			err_set(err, ERR_INVALID,
				"an address can't contain blanks, controls, or backslashes");
			return;
		}
}

static char *url_part(CURLU *h, CURLUPart what, unsigned flags)
{
	char *s = NULL;
	if (curl_url_get(h, what, &s, flags) != CURLUE_OK)
		return NULL;
	char *copy = mem_strdup(s);
	curl_free(s);
	return copy;
}

static bool url_has(CURLU *h, CURLUPart what)
{
	CLEANUP(free_ptr) char *s = url_part(h, what, 0);
	return s != NULL;
}

/* Without brackets and final dots, in lower case, so that rules see one name for one place. */
static char *plain_host(const char *host)
{
	size_t len = strlen(host);
	bool brackets = len > 2 && host[0] == '[' && host[len - 1] == ']';
	while (len && host[len - 1] == '.')
		len--;
	char *s = brackets ? mem_strndup(host + 1, len - 2) : mem_strndup(host, len);
	for (char *p = s; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + 32);
	return s;
}

static int url_fill(CURLU *h, struct url *out, struct err *err)
{
	CLEANUP(free_ptr) char *scheme = url_part(h, CURLUPART_SCHEME, 0);
	CLEANUP(free_ptr) char *host = url_part(h, CURLUPART_HOST, CURLU_PUNYCODE);
	CLEANUP(free_ptr) char *port = url_part(h, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return err_set(err, ERR_INVALID, "only http and https addresses can be fetched");
	if (url_has(h, CURLUPART_USER) || url_has(h, CURLUPART_PASSWORD))
		return err_set(
			err, ERR_INVALID,
			"an address can't contain a user or password; use a header with sg.secret");
	if (!host || !*host || !port || url_has(h, CURLUPART_ZONEID))
		return err_set(err, ERR_INVALID, "the address has no valid host");
	struct url u = { .host = plain_host(host),
			 .port = (uint16_t)strtoul(port, NULL, 10),
			 .tls = scheme[4] == 's' };
	for (const char *p = u.host; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("%/\\@?#", *p)) {
			url_release(&u);
			return err_set(err, ERR_INVALID, "the address has no valid host");
		}
	CLEANUP(free_ptr) char *as_set = mem_printf(strchr(host, '[') ? "[%s]" : "%s", u.host);
	curl_url_set(h, CURLUPART_FRAGMENT, NULL, 0);
	if (*u.host)
		curl_url_set(h, CURLUPART_HOST, as_set, 0);
	u.text = *u.host ? url_part(h, CURLUPART_URL, CURLU_NO_DEFAULT_PORT) : NULL;
	if (!u.text) {
		url_release(&u);
		return err_set(err, ERR_INVALID, "invalid address");
	}
	*out = u;
	return 0;
}

int url_parse(struct url *out, const struct url *base, const char *text, struct err *err)
{
	struct err bad = ERR_INIT;
	no_blanks(text, &bad);
	if (bad.code) {
		*err = bad;
		return -1;
	}
	if (!base && strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0)
		return err_set(err, ERR_INVALID, "'%.80s' is not an http or https address", text);
	CURLU *h = curl_url();
	CURLUcode rc = base ? curl_url_set(h, CURLUPART_URL, base->text, 0) : CURLUE_OK;
	if (rc == CURLUE_OK)
		rc = curl_url_set(h, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
	int n = rc == CURLUE_OK ? url_fill(h, out, err)
				: err_set(err, ERR_INVALID, "invalid address '%.80s': %s", text,
					  curl_url_strerror(rc));
	curl_url_cleanup(h);
	/* the parser takes "0x7f.1." for a number only without its last dot */
	size_t len = n == 0 ? strlen(out->host) : 0;
	if (len && strspn(out->host, "0123456789abcdefx.") == len) {
		struct url again = { 0 };
		n = strcmp(out->text, text) == 0 ? 0 : url_parse(&again, NULL, out->text, err);
		if (n < 0)
			url_release(out);
		else if (again.text) {
			url_release(out);
			*out = again;
		}
	}
	return n;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
	return a->tls == b->tls && a->port == b->port && !strcmp(a->host, b->host);
}

void url_escape(const void *bytes, size_t len, struct buf *out)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < len; i++) {
		bool plain = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
			     (p[i] >= '0' && p[i] <= '9') || (p[i] && strchr("-_.~", p[i]));
		if (plain)
			buf_putc(out, (char)p[i]);
		else
			buf_printf(out, "%%%02X", p[i]);
	}
}
