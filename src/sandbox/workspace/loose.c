#include "sandbox/workspace/loose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum { HEAD_MAX = 32, PIECE = 64 << 10 };

static bool inflate_all(const struct buf *file, size_t max, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)buf_cstr(file), .avail_in = (uInt)file->len };
	CLEANUP(free_ptr) char *piece = mem_calloc(1, PIECE);
	int rc = file->len <= UINT32_MAX ? inflateInit(&z) : Z_DATA_ERROR;
	if (rc != Z_OK)
		return false;
	while (rc == Z_OK && out->len <= max + HEAD_MAX) {
		z.next_out = (Bytef *)piece;
		z.avail_out = PIECE;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_append(out, piece, PIECE - z.avail_out);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END;
}

bool loose_read(const struct buf *file, size_t max, enum loose_type *type_out, struct buf *out)
{
	static const char *const name[] = { "commit", "tree", "blob", "tag" };
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	if (!inflate_all(file, max, &all))
		return false;
	const char *end = memchr(buf_cstr(&all), 0, all.len < HEAD_MAX ? all.len : HEAD_MAX);
	if (!end)
		return false;
	size_t head = (size_t)(end - all.data) + 1;
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		char want[HEAD_MAX + 1];
		snprintf(want, sizeof(want), "%s %zu", name[i], all.len - head);
		if (strcmp(want, all.data) != 0 || all.len - head > max)
			continue;
		*type_out = (enum loose_type)i;
		buf_reset(out);
		buf_append(out, all.data + head, all.len - head);
		return true;
	}
	return false;
}

bool loose_is_blob(const struct buf *file)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)buf_cstr(file),
		       .avail_in = file->len < PIECE ? (uInt)file->len : PIECE };
	char head[5] = "";
	if (inflateInit(&z) != Z_OK)
		return false;
	z.next_out = (Bytef *)head;
	z.avail_out = sizeof(head);
	(void)inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return !z.avail_out && !memcmp(head, "blob ", 5);
}

bool loose_name(const char *path, size_t len, struct object_id *out)
{
	char hex[41];
	if (len != 41 || path[2] != '/')
		return false;
	memcpy(hex, path, 2);
	memcpy(hex + 2, path + 3, 38);
	hex[40] = 0;
	return object_parse(hex, out);
}

/* --- commits --- */

int64_t loose_time_us(const char *seconds)
{
	const int64_t most = (int64_t)1 << 40;
	int64_t s = strtoll(seconds, NULL, 10);
	return (s < 0 ? 0 : s > most ? most : s) * 1000000;
}

/* "NAME <ADDRESS> SECONDS ZONE" */
static void read_author(struct loose_commit *c, const char *line, size_t len)
{
	const char *end = line + len, *lt = memchr(line, '<', len), *gt = memrchr(line, '>', len);
	if (c->author || !lt || !gt || gt < lt || end - gt < 3)
		return;
	size_t name = lt > line ? (size_t)(lt - line) - 1 : 0;
	c->author = mem_strndup(line, name);
	c->email = mem_strndup(lt + 1, (size_t)(gt - lt) - 1);
	c->ts_us = loose_time_us(gt + 2);
}

static void read_message(struct loose_commit *c, const char *at, const char *end)
{
	while (at < end && *at == '\n')
		at++;
	const char *nul =
		at < end ? memchr(at, 0, (size_t)(end - at)) : NULL; /* git shows no more of it */
	end = nul ? nul : end;
	while (end > at && end[-1] == '\n')
		end--;
	c->message = mem_strndup(at, (size_t)(end - at));
}

static bool read_header(struct loose_commit *c, const char *line, size_t len, bool first)
{
	CLEANUP(free_ptr) char *copy = mem_strndup(line, len);
	struct object_id id;
	if (first)
		return !strncmp(copy, "tree ", 5) && object_parse(copy + 5, &c->tree);
	if (!strncmp(copy, "parent ", 7)) {
		if (!object_parse(copy + 7, &id))
			return false;
		GROW(c->parent, c->nr, c->cap);
		c->parent[c->nr++] = id;
	}
	if (!strncmp(copy, "author ", 7))
		read_author(c, copy + 7, len - 7);
	return true;
}

bool loose_commit_read(struct loose_commit *out, const struct buf *text)
{
	const char *begin = buf_cstr(text), *at = begin, *end = at + text->len;
	bool good = text->len > 0;
	*out = (struct loose_commit){ 0 };
	while (good && at < end && *at != '\n') {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = nl ? (size_t)(nl - at) : (size_t)(end - at);
		good = !memchr(at, 0, len) && read_header(out, at, len, at == begin);
		at = nl ? nl + 1 : end;
	}
	if (!good || object_is_null(&out->tree)) {
		loose_commit_release(out);
		return false;
	}
	read_message(out, at, end);
	return true;
}

void loose_commit_release(struct loose_commit *c)
{
	free(c->author);
	free(c->email);
	free(c->message);
	free(c->parent);
	*c = (struct loose_commit){ 0 };
}
