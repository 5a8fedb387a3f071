/* Reads files: lines, documents, several files in the order of time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/import_priv.h"
#include "exchange/import.h"
#include "exchange/export.h"
#include "base/fd.h"
#include "base/mem.h"

/* --- reading --- */

/* The next line of a source, read ahead. */
struct pending {
	char *line;
	size_t cap, len, nr;
	json_t *value; /* NULL: the source has ended */
};

static void read_ahead(struct import *im, struct pending *p, FILE *in)
{
	ssize_t n;
	json_decref(p->value);
	p->value = NULL;
	while (!p->value && (n = getline(&p->line, &p->cap, in)) >= 0) {
		struct err why = ERR_INIT;
		p->len = (size_t)n;
		p->nr++;
		while (p->len && (p->line[p->len - 1] == '\n' || p->line[p->len - 1] == '\r'))
			p->len--;
		if (!p->len)
			continue;
		im->sums->lines++;
		p->value =
			p->len > IMPORT_LINE_MAX ? NULL : json_parse(p->line, p->len, "line", &why);
		if (!p->value)
			import_gap(im, p->nr, p->len,
				   p->len > IMPORT_LINE_MAX ? "the line is too long" : why.text);
	}
}

/* A line without a time keeps its place. */
static size_t import_earliest(const struct pending *p, size_t nr)
{
	size_t best = nr;
	const char *first = NULL;
	for (size_t i = 0; i < nr; i++) {
		const char *ts = json_str(p[i].value, "timestamp", "");
		if (p[i].value && (!first || strcmp(ts, first) < 0)) {
			first = ts;
			best = i;
		}
	}
	return best;
}

int import_sources(struct import *im, const struct import_source *source, size_t nr,
		   import_line_fn *fn, struct err *err)
{
	struct pending *p = mem_calloc(nr, sizeof(*p));
	size_t i;
	int rc = 0;
	for (i = 0; i < nr; i++)
		read_ahead(im, &p[i], source[i].in);
	while ((i = import_earliest(p, nr)) < nr) {
		fn(source[i].self, im, p[i].nr, p[i].value, p[i].line, p[i].len);
		read_ahead(im, &p[i], source[i].in);
	}
	for (i = 0; i < nr; i++) {
		free(p[i].line);
		if (rc == 0 && ferror(source[i].in))
			rc = err_sys(err, "can't read the file");
	}
	free(p);
	return rc;
}

int import_lines(struct import *im, FILE *in, import_line_fn *fn, void *self, struct err *err)
{
	const struct import_source one = { in, self };
	return import_sources(im, &one, 1, fn, err);
}

/* The length of a number that JSON has not, at @s; 0 = there is none. */
static size_t no_number(const char *s, size_t left)
{
	static const char *const word[] = { "NaN", "Infinity", "-Infinity" };
	for (size_t i = 0; i < ARRAY_LEN(word); i++) {
		size_t n = strlen(word[i]);
		if (n <= left && !memcmp(s, word[i], n))
			return n;
	}
	return 0;
}

json_t *import_json(const char *text, size_t len, const char *what, struct err *err)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	bool quoted = false, found = false;
	json_t *j = json_parse(text, len, what, err);
	if (j || (!memmem(text, len, "NaN", 3) && !memmem(text, len, "Infinity", 8)))
		return j;
	for (size_t i = 0; i < len; i++) {
		size_t n = quoted ? 0 : no_number(text + i, len - i);
		if (n) {
			buf_puts(&plain, "null");
			i += n - 1;
			found = true;
			continue;
		}
		buf_putc(&plain, text[i]);
		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted && text[i] == '\\' && i + 1 < len)
			buf_putc(&plain, text[++i]);
	}
	if (!found)
		return NULL;
	*err = ERR_INIT;
	return json_parse(buf_cstr(&plain), plain.len, what, err);
}

json_t *import_document(FILE *in, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char bytes[65536];
	size_t n;
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0 && text.len < IMPORT_FILE_MAX)
		buf_append(&text, bytes, n);
	if (text.len >= IMPORT_FILE_MAX) {
		err_set(err, ERR_FULL, "the file is larger than %d MB", IMPORT_FILE_MAX >> 20);
		return NULL;
	}
	return import_json(buf_cstr(&text), text.len, "the file", err);
}

char *import_text(const json_t *content)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	size_t i;
	json_t *part;
	if (json_is_string(content))
		return mem_strdup(json_string_value(content));
	json_array_foreach(content, i, part)
	{
		const char *text = json_is_string(part) ? json_string_value(part)
							: json_str(part, "text", NULL);
		if (out.len)
			buf_putc(&out, '\n');
		if (text)
			buf_puts(&out, text);
		else
			buf_printf(&out, "[%.40s]", json_str(part, "type", "?"));
	}
	if (json_is_object(content)) {
		if (json_str(content, "text", NULL))
			buf_puts(&out, json_str(content, "text", ""));
		else
			json_dump_buf(content, &out);
	}
	return buf_take(&out);
}
