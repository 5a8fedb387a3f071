#include "sessions/loose_commit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum { COMMIT_TEXT_MAX = 1 << 20 };

static bool inflate_text(const struct buf *file, struct buf *out)
{
	uLongf len = COMMIT_TEXT_MAX;
	CLEANUP(free_ptr) char *text = mem_calloc(1, COMMIT_TEXT_MAX);
	if (uncompress((Bytef *)text, &len, (const Bytef *)buf_cstr(file), file->len) != Z_OK)
		return false;
	buf_append(out, text, len);
	return true;
}

/* "author NAME <ADDRESS> SECONDS ZONE" */
static void read_author(struct loose_commit *c, const char *line, size_t len)
{
	const char *end = line + len, *lt = memchr(line, '<', len), *gt = memrchr(line, '>', len);
	if (!lt || !gt || gt < lt || end - gt < 3)
		return;
	size_t name = lt > line ? (size_t)(lt - line) - 1 : 0;
	c->author = mem_strndup(line, name);
	c->email = mem_strndup(lt + 1, (size_t)(gt - lt) - 1);
	c->ts_us = strtoll(gt + 2, NULL, 10) * 1000000;
}

static void read_message(struct loose_commit *c, const char *at, const char *end)
{
	while (at < end && *at == '\n')
		at++;
	while (end > at && end[-1] == '\n')
		end--;
	c->message = mem_strndup(at, (size_t)(end - at));
}

bool loose_commit_read(struct loose_commit *out, const struct buf *file)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	static const char author[] = "author ";
	*out = (struct loose_commit){ 0 };
	if (!inflate_text(file, &text) || text.len < 8 || strncmp(text.data, "commit ", 7) != 0)
		return false;
	const char *end = buf_cstr(&text) + text.len, *at = memchr(text.data, 0, text.len);
	if (at)
		at++;
	while (at && at < end && *at != '\n') {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = nl ? (size_t)(nl - at) : (size_t)(end - at);
		if (len > strlen(author) && !memcmp(at, author, strlen(author)) && !out->author)
			read_author(out, at + strlen(author), len - strlen(author));
		at = nl ? nl + 1 : end;
	}
	if (at)
		read_message(out, at, end);
	if (out->author && *out->author && out->message && *out->message)
		return true;
	loose_commit_release(out);
	return false;
}

void loose_commit_release(struct loose_commit *c)
{
	free(c->author);
	free(c->email);
	free(c->message);
	*c = (struct loose_commit){ 0 };
}
