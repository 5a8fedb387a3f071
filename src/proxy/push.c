#include "proxy/push.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PKT_MOST = 65520 - 5, WHY_MAX = 400 }; /* of a line of git's, without its length and band */

void push_release(struct push *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->ref[i].name);
	free(p->ref);
	*p = (struct push){ 0 };
}

static bool push_ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);
	return n > m && !strcmp(s + n - m, with);
}

static int push_hex4(const char *p)
{
	int v = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef",
			   *at = p[i] ? strchr(digits, p[i] | 0x20) : NULL;
		if (!at)
			return -1;
		v = v * 16 + (int)(at - digits);
	}
	return v;
}

static size_t push_object_name(const char *p, size_t len)
{
	size_t n = 0;
	while (n < len && strchr("0123456789abcdef", p[n]) && p[n])
		n++;
	return n == 40 || n == 64 ? n : 0;
}

/* "OLD NEW REF", perhaps with NUL and capabilities, perhaps with a line end. */
static const char *push_command(struct push *out, const char *line, size_t len)
{
	size_t n = push_object_name(line, len);
	if (len > 8 && !memcmp(line, "shallow ", 8))
		return NULL;
	if (len > 9 && !memcmp(line, "push-cert", 9))
		return "can't read a signed push; push without --signed";
	if (!n || len < 2 * n + 3 || line[n] != ' ' ||
	    push_object_name(line + n + 1, len - n - 1) != n || line[2 * n + 1] != ' ')
		return "not a push that git makes";
	const char *name = line + 2 * n + 2;
	size_t size = len - 2 * n - 2;
	const char *nul = memchr(name, 0, size);
	if (nul && !out->nr) {
		size_t rest = size - (size_t)(nul - name);
		out->reports = memmem(nul, rest, "report-status", 13) != NULL;
		out->bands = memmem(nul, rest, "side-band-64k", 13) != NULL;
	}
	size = nul ? (size_t)(nul - name) : size;
	while (size && (name[size - 1] == '\n'))
		size--;
	if (!size || out->nr == PUSH_REFS_MAX)
		return out->nr ? "a push of too many refs at once" : "not a push that git makes";
	GROW(out->ref, out->nr, out->cap);
	struct push_ref *r = &out->ref[out->nr++];
	*r = (struct push_ref){ .name = mem_strndup(name, size) };
	memcpy(r->old, line, n);
	memcpy(r->new, line + n + 1, n);
	return NULL;
}

static const char *push_commands(struct push *out, const char *p, size_t len)
{
	while (len >= 4) {
		int n = push_hex4(p);
		if (n == 0) /* the pack follows */
			return out->nr ? NULL : "a push that moves nothing";
		if (n < 5 || (size_t)n > len)
			return "not a push that git makes";
		const char *why = push_command(out, p + 4, (size_t)n - 4);
		if (why)
			return why;
		p += n;
		len -= (size_t)n;
	}
	return "a push without its end";
}

const char *push_request(struct push *out, const char *method, const char *path, const char *query,
			 const char *body, size_t len)
{
	bool get = !strcmp(method, "GET"), post = !strcmp(method, "POST");
	*out = (struct push){ 0 };
	if (get && push_ends(path, "/info/refs"))
		return strstr(query, "service=git-upload-pack") ||
				       strstr(query, "service=git-receive-pack")
			       ? NULL
			       : "only git's smart protocol passes";
	if (post && push_ends(path, "/git-upload-pack"))
		return NULL;
	if (!post || !push_ends(path, "/git-receive-pack"))
		return "not a request that git makes";
	if (len == 4 && !memcmp(body, "0000", 4))
		return NULL; /* git asks whether it is let in before it sends much */
	return push_commands(out, body, len);
}

static void push_put_line(struct buf *out, const char *band, const char *text, size_t len)
{
	buf_printf(out, "%04zx%s", len + strlen(band) + 4, band);
	buf_append(out, text, len);
}

bool push_refusal(const struct push *p, const char *why, struct buf *out)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT, line = BUF_INIT, plain = BUF_INIT;
	if (!p->reports || !p->nr)
		return false;
	size_t most = strnlen(why, WHY_MAX + 1);
	if (most > WHY_MAX)
		/* no half character */
		for (most = WHY_MAX; most && ((unsigned char)why[most] & 0xc0) == 0x80;)
			most--;
	for (size_t i = 0; i < most; i++)
		buf_putc(&plain, (unsigned char)why[i] < ' ' ? ' ' : why[i]);
	push_put_line(&all, "", "unpack ok\n", 10);
	for (size_t i = 0; i < p->nr; i++) {
		buf_reset(&line);
		buf_printf(&line, "ng %.4096s %s\n", p->ref[i].name, buf_cstr(&plain));
		push_put_line(&all, "", line.data, line.len);
	}
	buf_puts(&all, "0000");
	if (!p->bands) {
		buf_append(out, all.data, all.len);
		return true;
	}
	for (size_t at = 0, n; at < all.len; at += n) {
		n = all.len - at < PKT_MOST ? all.len - at : PKT_MOST;
		push_put_line(out, "\1", all.data + at, n);
	}
	buf_puts(out, "0000");
	return true;
}
